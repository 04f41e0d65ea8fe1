/** The backward pass on the engine: gradients of the reference, the same bits for any number of threads, zeros where fully masked. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { has, restore, use } from "../../../../tests/support/backends/levels.ts";
import { expectBits } from "../../../../tests/support/cases/call.ts";
import { random } from "../../../../tests/support/cases/random.ts";
import { scaledDotProductAttention } from "../../../api/attention.ts";
import { type AttentionGradients, attentionBackward, type BackwardOptions } from "../../../api/backward.ts";
import { prepare } from "../../../api/dispatch/engine.ts";
import { explain } from "../../../api/explain.ts";
import { configure } from "../../../backend/settings.ts";
import { Tensor } from "../../../core/tensor.ts";
import {
  and,
  causal,
  documents,
  maskMod,
  queryLengths,
  slidingWindow,
  softcap,
} from "../../../masks/index.ts";
import { getEngine } from "../../engine/engine.ts";

afterAll(restore);
beforeAll(async () => {
  configure({ threads: 3 });
  await prepare();
});

const r = random(11);
const normal = (shape: readonly number[]): Tensor =>
  new Tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => r.normal()),
    shape,
    "float32",
  );

interface Sizes {
  B?: number;
  Hq?: number;
  Hkv?: number;
  Nq?: number;
  Nk?: number;
  dk?: number;
  dv?: number;
}

function inputs({ B = 1, Hq = 2, Hkv = Hq, Nq = 130, Nk = Nq, dk = 16, dv = dk }: Sizes) {
  return {
    q: normal([B, Hq, Nq, dk]),
    k: normal([B, Hkv, Nk, dk]),
    v: normal([B, Hkv, Nk, dv]),
    dO: normal([B, Hq, Nq, dv]),
  };
}
type Inputs = ReturnType<typeof inputs>;

function gradients({ q, k, v, dO }: Inputs, options: BackwardOptions): AttentionGradients {
  const { wanted: _, ...forward } = options;
  return attentionBackward(dO, q, k, v, scaledDotProductAttention(q, k, v, forward), options);
}

const NAMES = ["dQuery", "dKey", "dValue"] as const;

/** Relative norm of the difference. */
function off(got: Tensor, want: Tensor): number {
  const [a, b] = [got.toFloat64(), want.toFloat64()];
  const size = (x: (n: number) => number) => Math.sqrt(b.reduce((sum, _, n) => sum + x(n) ** 2, 0));
  return size((n) => a[n] - b[n]) / (size((n) => b[n]) || 1);
}
const CLOSE = 2e-6;

const CASES: Record<string, [Sizes, BackwardOptions]> = {
  plain: [{}, {}],
  "a group of three, dk ≠ dv, odd sizes": [{ B: 2, Hq: 6, Hkv: 2, Nq: 77, Nk: 133, dk: 21, dv: 10 }, {}],
  causal: [{}, { isCausal: true }],
  "a window of documents, negative scale": [
    {},
    { attnMask: and(causal(), slidingWindow(30, 0), documents(Array.from({ length: 130 }, (_, n) => n >> 5))), scale: -0.4 },
  ],
  "a mask by head": [{ Hq: 4, Hkv: 2 }, { attnMask: maskMod(({ h, q, k }) => k.le(q.add(h.mul(7)))) }],
  "a bool tensor": [{}, { attnMask: new Tensor(Uint8Array.from({ length: 130 * 130 }, (_, n) => (n % 7 ? 1 : 0)), [130, 130], "bool") }],
  "soft cap": [{}, { scoreMod: softcap(1.5) }],
  dropout: [{}, { dropoutP: 0.3, seed: 9, isCausal: true }],
  "dropout of heads in groups": [{ Hq: 6, Hkv: 2 }, { dropoutP: 0.3, seed: 9 }],
  sinks: [{}, { sinks: [0.5, 2], isCausal: true }],
  "more keys than rows": [{ Nq: 5, Nk: 700 }, { queryOffset: 300, isCausal: true }],
  "many heads, several stages": [{ B: 8, Hq: 8, Hkv: 8, Nq: 40 }, { isCausal: true }],
  "one head, several waves": [{ Hq: 1, Nq: 500 }, { isCausal: true }],
}; // biome-ignore format: a row a case

/** A head that is divided into pieces where threads have little memory, and its gradients. */
const long = inputs({ Hq: 1, Nq: 400, Nk: 450, dk: 100, dv: 90 });
const LONG: readonly BackwardOptions[] = [{}, { isCausal: "lower-right", sinks: [1] }];
const results = new Map<BackwardOptions, AttentionGradients>();

for (const level of ["wide", "relaxed", "strict"] as const)
  describe.runIf(has(level))(level, () => {
    it.each(Object.entries(CASES))("gradients are the reference's: %s", (_, [sizes, options]) => {
      const call = inputs(sizes);
      use(level, 1);
      const got = gradients(call, options);
      use("reference", 1);
      const want = gradients(call, options);
      for (const name of NAMES) expect([name, off(got[name], want[name]) < CLOSE]).toEqual([name, true]);
      if (want.dSinks) expect(off(got.dSinks as Tensor, want.dSinks)).toBeLessThan(5 * CLOSE);
    });

    it("the output and its gradient in a fully masked row may be anything", () => {
      const call = inputs({});
      const rows = (t: Tensor, x: number) =>
        new Tensor(
          (t.data as Float32Array).map((y, n) => (Math.floor(n / 16) % 130 > 66 ? x : y)),
          t.shape,
          "float32",
        );
      use(level, 1);
      for (const options of [
        { attnMask: queryLengths(67) },
        {
          attnMask: new Tensor(
            Uint8Array.from({ length: 130 ** 2 }, (_, n) => +(n < 67 * 130)),
            [130, 130],
            "bool",
          ),
        },
      ]) {
        const { output, lse } = scaledDotProductAttention(call.q, call.k, call.v, options);
        const of = (x: number) =>
          attentionBackward(
            rows(call.dO, x),
            call.q,
            call.k,
            call.v,
            { output: rows(output, x), lse },
            options,
          );
        const want = of(0);
        for (const x of [Number.NaN, Infinity, 3.4e38])
          for (const name of NAMES) expectBits(of(x)[name], want[name], `${x}: ${name}`);
      }
    });

    it("the same bits on 1, 2 and 3 threads", async () => {
      for (const [sizes, options] of Object.values(CASES)) {
        const call = inputs({ ...sizes, Nq: 2 * (sizes.Nq ?? 130), Nk: 2 * (sizes.Nk ?? sizes.Nq ?? 130) });
        const { attnMask: _, ...same } = options;
        use(level, 1);
        const want = gradients(call, same);
        for (const threads of [2, 3]) {
          use(level, threads);
          await prepare();
          const got = gradients(call, same);
          for (const name of NAMES) expectBits(got[name], want[name], name);
        }
      }
    });

    it("pieces of a long problem give the reference's gradients too, in little memory", () => {
      const call = long;
      for (const options of LONG) {
        use("reference", 1);
        let want = results.get(options);
        if (!want) results.set(options, (want = gradients(call, options)));
        use(level, 1);
        configure({ bytesPerThread: 2 ** 20 });
        const memory = getEngine()?.memory;
        const before = memory?.resetPeak() ?? 0;
        const got = gradients(call, options);
        expect((memory?.peak ?? 0) - before).toBeLessThan(1.6 * 2 ** 20);
        for (const name of NAMES) expect(off(got[name], want[name])).toBeLessThan(CLOSE);
        if (want.dSinks) expect(off(got.dSinks as Tensor, want.dSinks)).toBeLessThan(5 * CLOSE);
        restore();
      }
    });

    it("fully masked rows and keys have gradients of exactly 0, whatever their values", () => {
      const call = inputs({ Nq: 60, Nk: 70 });
      // Rows 50 … are fully masked, keys 40 … are masked for all rows, and key 5 for all rows but row 5.
      const attnMask = maskMod(({ i, k }) =>
        i
          .lt(50)
          .and(k.lt(40))
          .and(k.ne(5).or(i.eq(5))),
      );
      use(level, 1);
      const want = gradients(call, { attnMask });
      const poison = (t: Tensor, from: number, N: number) => {
        const data = Float32Array.from(t.data as Float32Array);
        const d = t.shape[3];
        for (let n = 0; n < data.length; n++) if (Math.floor(n / d) % N >= from) data[n] = Number.NaN;
        return new Tensor(data, t.shape, "float32");
      };
      const got = gradients(
        { q: poison(call.q, 50, 60), k: poison(call.k, 40, 70), v: poison(call.v, 40, 70), dO: poison(call.dO, 50, 60) },
        { attnMask },
      ); // biome-ignore format: one call
      for (const name of NAMES) expectBits(got[name], want[name], name);
      const zero = (t: Tensor, from: number, N: number) =>
        (t.data as Float32Array).every((x, n) => Math.floor(n / t.shape[3]) % N < from || Object.is(x, 0));
      expect([zero(got.dQuery, 50, 60), zero(got.dKey, 40, 70), zero(got.dValue, 40, 70)]).toEqual([
        true,
        true,
        true,
      ]);
    });

    it("NaN in a visible query, key or row of dO reaches only the gradients that depend on it", () => {
      const { q, k, v, dO } = inputs({ Hq: 1, Nq: 60 });
      const at = (t: Tensor, row: number) => {
        const data = Float32Array.from(t.data as Float32Array);
        data[row * t.shape[3]] = Number.NaN;
        return new Tensor(data, t.shape, "float32");
      };
      use(level, 1);
      const state = scaledDotProductAttention(q, k, v, { isCausal: true });
      const want = attentionBackward(dO, q, k, v, state, { isCausal: true });
      for (const [call, dead] of [
        [[at(dO, 30), q, k, v], { dQuery: [30, 31], dKey: [0, 31], dValue: [0, 31] }],
        [[dO, at(q, 30), k, v], { dQuery: [30, 31], dKey: [0, 31], dValue: [0, 31] }],
        [[dO, q, at(k, 30), v], { dQuery: [30, 60], dKey: [0, 60], dValue: [30, 60] }],
        [[dO, q, k, at(v, 30)], { dQuery: [30, 60], dKey: [0, 60], dValue: [60, 60] }],
      ] as [Tensor[], Record<string, [number, number]>][]) {
        const [a, b, c, d] = call;
        const got = attentionBackward(a, b, c, d, state, { isCausal: true });
        for (const name of NAMES)
          for (let row = 0; row < 60; row++) {
            if (row >= dead[name][0] && row < dead[name][1]) continue;
            const part = (t: Tensor) => (t.data as Float32Array).slice(row * 16, row * 16 + 16);
            expect([name, row, part(got[name])]).toEqual([name, row, part(want[name])]);
          }
      }
    });
  });

it("the plan of the backward pass shares the visible cells of a mask, not the tasks, among threads", () => {
  use("strict", 2);
  const q = normal([1, 1, 600, 64]);
  const [full, masked] = [false, true].map((isCausal) => explain(q, q, q, { pass: "backward", isCausal }));
  expect([masked.threads, masked.tasks]).toEqual([2, full.tasks]);
  // Equal tasks would give the same shares with and without the mask.
  expect(masked.threadShares).not.toEqual(full.threadShares);
  expect(masked.threadShares?.reduce((sum, x) => sum + x, 0)).toBeCloseTo(1, 12);
});
