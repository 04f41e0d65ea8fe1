/** The asynchronous calls: the bits of the synchronous ones, in slices of bounded work, ended by a signal without a trace. */
import { Tape } from "heed/train";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { LEVELS, restore, use } from "../../tests/support/backends/levels.ts";
import { expectBits, expectSame, normal } from "../../tests/support/cases/call.ts";
import type { AttentionOptions } from "../backend/problem.ts";
import { configure } from "../backend/settings.ts";
import type { SliceOptions } from "../core/slices.ts";
import { alibi, and, causal, documents, slidingWindow, softcap } from "../masks/index.ts";
import { discardEngine, getEngine } from "../wasm/engine/engine.ts";
import { attentionBackwardAsync, scaledDotProductAttentionAsync } from "./asynchronous.ts";
import { scaledDotProductAttention } from "./attention.ts";
import { type AttentionGradients, attentionBackward } from "./backward.ts";
import { prepare } from "./dispatch/engine.ts";
import { tidy } from "./tidy.ts";

afterAll(() => {
  configure({ bytesPerThread: undefined, backend: "auto" });
  restore();
});

const KERNELS = LEVELS.filter((level) => level !== "reference");
const q = normal(1, [8, 4, 150, 32]);
const [k, v] = [2, 3].map((seed) => normal(seed, [8, 2, 200, 32]));
const dOutput = normal(4, [8, 4, 150, 32]);
const ids = Int32Array.from({ length: 200 }, (_, n) => Math.floor(n / 30));

const OPTIONS: readonly AttentionOptions[] = [
  {},
  { isCausal: "lower-right", sinks: [0.5, 1, -1, 2] },
  { attnMask: [normal(5, [4, 150, 200]), slidingWindow(30, 20)], scoreMod: [softcap(5), alibi([0.5, 0.25, 0.1, 1])] },
  { attnMask: and(causal(), documents(ids)), dropoutP: 0.2, seed: 3 },
]; // biome-ignore format: a call a line

const expectSameGradients = (got: AttentionGradients, want: AttentionGradients) => {
  expect(Object.keys(got)).toEqual(Object.keys(want));
  const tensorsOf = ({ dMasks = [], dTables = [], ...named }: AttentionGradients) =>
    [...Object.values(named), ...dMasks, ...dTables].filter((one) => one !== undefined);
  for (const [n, tensor] of tensorsOf(want).entries()) expectBits(tensorsOf(got)[n], tensor, `gradient ${n}`);
};

/** Options that collect the shares. */
const collect = (onProgress?: (share: number) => void) => {
  const shares: number[] = [];
  const options: SliceOptions = {
    onProgress(share) {
      shares.push(share);
      onProgress?.(share);
    },
  };
  return { shares, options };
};

const expectShares = (shares: readonly number[], atLeast: number) => {
  expect(shares.length).toBeGreaterThanOrEqual(atLeast);
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares.at(-1)).toBeCloseTo(1, 10);
};

describe("the bits of the synchronous call", () => {
  it.each(KERNELS.map((level, n) => [level, 1 + (n % 2)] as const))(
    "%s, %i threads, with calls in between and in several stages",
    async (level, threads) => {
      for (const bytesPerThread of [undefined, 2 ** 20]) {
        use(level, threads);
        configure({ bytesPerThread });
        for (const options of OPTIONS) {
          const want = scaledDotProductAttention(q, k, v, options);
          const wantGradients = attentionBackward(dOutput, q, k, v, want, options);
          // Each slice is followed by another call, which uses the same memory, workspaces and threads.
          const between = () =>
            void scaledDotProductAttention(v, v, v, { scale: 0.1, attnMask: slidingWindow(9, 9) });
          const [forward, backward] = [collect(between), collect()];
          const [got, gradients] = await Promise.all([
            scaledDotProductAttentionAsync(q, k, v, { ...options, ...forward.options }),
            attentionBackwardAsync(dOutput, q, k, v, want, { ...options, ...backward.options }),
          ]);
          expectSame(got, want, level);
          expectSameGradients(gradients, wantGradients);
          expectShares(forward.shares, 1);
          expectShares(backward.shares, 3);
        }
      }
    },
  );

  it("of a head whose work is more than one slice", async () => {
    use(KERNELS[0], 2);
    configure({ bytesPerThread: undefined });
    const x = normal(7, [1536, 128]);
    const want = scaledDotProductAttention(x, x, x);
    const [forward, backward] = [collect(), collect()];
    expectSame(await scaledDotProductAttentionAsync(x, x, x, forward.options), want);
    expectShares(forward.shares, 3);
    const gradients = await attentionBackwardAsync(x, x, x, x, want, backward.options);
    expectSameGradients(gradients, attentionBackward(x, x, x, x, want));
    expectShares(backward.shares, 6);
  });

  it("on the reference backend", async () => {
    configure({ backend: "reference", bytesPerThread: undefined });
    const [a, b] = [normal(1, [2, 4, 40, 8]), normal(2, [2, 2, 800, 8])];
    for (const options of [{}, { sinks: [1, 0, 1, 0], attnMask: slidingWindow(20, 700) }]) {
      const want = scaledDotProductAttention(a, b, b, options);
      const [forward, backward] = [collect(), collect()];
      expectSame(await scaledDotProductAttentionAsync(a, b, b, { ...options, ...forward.options }), want);
      const gradients = await attentionBackwardAsync(a, a, b, b, want, { ...options, ...backward.options });
      expectSameGradients(gradients, attentionBackward(a, a, b, b, want, options));
      expect(forward.shares.length).toBeGreaterThanOrEqual(2);
      expect(backward.shares.length).toBeGreaterThanOrEqual(5);
    }
  });

  it("where another call replaces the engine in the middle", async () => {
    use("strict", 1);
    configure({ bytesPerThread: 2 ** 20 });
    const want = scaledDotProductAttention(q, k, v);
    let count = 0;
    const onProgress = () => {
      if (count++ === 1) discardEngine();
    };
    expectSame(await scaledDotProductAttentionAsync(q, k, v, { onProgress }), want);
    expect(count).toBeGreaterThan(2);
  });

  it("without queries, without keys, and in layout bshd", async () => {
    use("strict", 1);
    const of = (n: number) => normal(6, [2, n, 4, 8]);
    for (const [rows, keys] of [
      [0, 3],
      [3, 0],
      [5, 7],
    ]) {
      // biome-ignore format: one line
      const args = [of(rows), of(keys), of(keys), { layout: "bshd" as const, sinks: [1, 2, 3, 4] }] as const;
      expectSame(await scaledDotProductAttentionAsync(...args), scaledDotProductAttention(...args));
    }
  });
});

describe("a signal", () => {
  beforeEach(() => {
    // Without workers, whose workspaces would be allocated when they are ready.
    use(KERNELS[0], 1);
    configure({ bytesPerThread: 2 ** 20 });
  });

  const calls = {
    forward: (options: SliceOptions) => scaledDotProductAttentionAsync(q, k, v, options),
    backward: (options: SliceOptions) =>
      attentionBackwardAsync(dOutput, q, k, v, scaledDotProductAttention(q, k, v), options),
  };

  it.each(Object.entries(calls))(
    "ends a %s call before its next slice, and frees its memory",
    async (_, call) => {
      const all = collect();
      await call(all.options);
      expect(all.shares.length).toBeGreaterThanOrEqual(3);
      const used = getEngine()?.memory.resetPeak();
      const want = scaledDotProductAttention(q, k, v);
      for (let last = 1; last <= all.shares.length; last += 4) {
        const stop = new AbortController();
        const reason = new Error(`stopped after ${last}`);
        const { shares, options } = collect(() => {
          if (shares.length === last) stop.abort(reason);
        });
        await expect(call({ ...options, signal: stop.signal })).rejects.toBe(reason);
        expect(shares.length).toBe(last);
        expect(getEngine()?.memory.resetPeak()).toBe(used);
      }
      expectSame(scaledDotProductAttention(q, k, v), want);
    },
  );

  it("leaves the threads ready for the next call", async () => {
    use(KERNELS[0], 2);
    expect(await prepare()).toBe(2);
    const want = scaledDotProductAttention(q, k, v);
    for (const call of Object.values(calls)) {
      const stop = new AbortController();
      const onProgress = () => stop.abort();
      await expect(call({ signal: stop.signal, onProgress })).rejects.toThrow("aborted");
      expect(getEngine()?.pool.ready(2)).toBe(2);
      expectSame(scaledDotProductAttention(q, k, v), want);
    }
  });

  it("that is aborted before the call lets no slice run, and its reason is an AbortError by default", async () => {
    const { shares, options } = collect();
    const error = await scaledDotProductAttentionAsync(q, k, v, {
      ...options,
      signal: AbortSignal.abort(),
    }).catch((reason) => reason);
    expect(error.name).toBe("AbortError");
    expect(shares).toEqual([]);
  });

  it("of a timer is handled between slices, and an error of onProgress ends the call", async () => {
    const stop = new AbortController();
    setImmediate(() => stop.abort());
    await expect(scaledDotProductAttentionAsync(q, k, v, { signal: stop.signal })).rejects.toThrow("aborted");
    const used = getEngine()?.memory.resetPeak();
    const onProgress = () => {
      throw new Error("a mistake");
    };
    await expect(scaledDotProductAttentionAsync(q, k, v, { onProgress })).rejects.toThrow("a mistake");
    expect(getEngine()?.memory.resetPeak()).toBe(used);
  });
});

it("a wrong option, a scope and a recording are refused before any work", async () => {
  const call = (options: object) => scaledDotProductAttentionAsync(q, k, v, options);
  await expect(call({ signal: {} })).rejects.toMatchObject({ name: "OptionError", code: "signal" });
  await expect(call({ onProgress: 1 })).rejects.toMatchObject({ name: "OptionError", code: "on-progress" });
  await expect(call({ returnWeights: true })).rejects.toMatchObject({ code: "return-weights" });
  await expect(call({ is_causal: true })).rejects.toMatchObject({ code: "option-name" });
  const wrong = { name: "UnsupportedError", code: "synchronous" };
  let inside: Promise<unknown> | undefined;
  tidy(() => {
    inside = call({});
    return undefined;
  });
  await expect(inside).rejects.toMatchObject(wrong);
  new Tape().run(() => {
    inside = call({});
    return q;
  });
  await expect(inside).rejects.toMatchObject(wrong);
});
