/** Calls of the same kind share a plan, others do not: results do not depend on earlier calls. */
import { afterAll, expect, it } from "vitest";
import { restore, use } from "../../../../tests/support/backends/levels.ts";
import { expectSame, normal } from "../../../../tests/support/cases/call.ts";
import { scaledDotProductAttention } from "../../../api/attention.ts";
import { attentionBackward } from "../../../api/backward.ts";
import { empty } from "../../../api/dispatch/engine.ts";
import type { AttentionOptions } from "../../../backend/problem.ts";
import {
  alibi,
  and,
  causal,
  documents,
  keyLengths,
  maskMod,
  slidingWindow,
  softcap,
} from "../../../masks/index.ts";
import { getEngine } from "../../engine/engine.ts";
import { clearForwardPlans } from "./forward.ts";

afterAll(restore);

const [B, H, N, d] = [2, 2, 200, 16];
const [q, k, v, dOutput] = [1, 2, 3, 4].map((seed) => normal(seed, [B, H, N, d]));
const ids = (step: number) => Int32Array.from({ length: N }, (_, n) => Math.floor(n / step));

/** Calls that differ in one thing each: constants, tables, offsets, kinds of masks, dropout, layout, scale. */
const VARIANTS: readonly AttentionOptions[] = [
  {},
  { isCausal: true },
  { isCausal: true, queryOffset: 3 },
  { isCausal: true, queryOffset: [0, 70] },
  { attnMask: causal() },
  { attnMask: slidingWindow(8, 0) },
  { attnMask: slidingWindow(9, 0) },
  { attnMask: documents(ids(50)) },
  { attnMask: documents(ids(25)) },
  { attnMask: keyLengths([60, 200]) },
  { attnMask: keyLengths([200, 60]) },
  {
    attnMask: and(
      causal(),
      maskMod(({ h, k: key }) => key.ge(h.mul(40))),
    ),
  },
  {
    attnMask: and(
      causal(),
      maskMod(({ h, k: key }) => key.ge(h.mul(90))),
    ),
  },
  { scoreMod: softcap(5) },
  { scoreMod: softcap(6) },
  { scoreMod: alibi([0.5, 0.25]) },
  { scoreMod: alibi([0.25, 0.5]) },
  { attnMask: normal(5, [N, N]) },
  { attnMask: normal(5, [1, N]) },
  { dropoutP: 0.3, seed: 1 },
  { dropoutP: 0.3, seed: 1, keyOffset: 5, isCausal: "upper-left" },
  { scale: 0.7 },
  { layout: "bshd" },
];

const run = (options: AttentionOptions) => {
  const state = scaledDotProductAttention(q, k, v, options);
  const shape = state.output.shape;
  const gradients = attentionBackward(dOutput.reshape(shape), q, k, v, state, options);
  return { state, gradients };
};

it("results do not depend on earlier calls", () => {
  use("strict", 1);
  const fresh = VARIANTS.map((options) => {
    clearForwardPlans();
    return run(options);
  });
  for (const order of [VARIANTS, [...VARIANTS].reverse()])
    for (const options of order) {
      const n = VARIANTS.indexOf(options);
      const { state, gradients } = run(options);
      expectSame(state, fresh[n].state, `variant ${n}`);
      for (const name of ["dQuery", "dKey", "dValue"] as const)
        expect(gradients[name].data, `variant ${n} ${name}`).toEqual(fresh[n].gradients[name].data);
    }
});

it("operands in the engine's memory have a separate plan", () => {
  use("strict", 1);
  const resident = [q, k, v].map((t) => {
    const copy = empty(t.shape);
    copy.data.set(t.data as Float32Array);
    return copy;
  });
  const want = scaledDotProductAttention(q, k, v);
  expectSame(scaledDotProductAttention(resident[0], resident[1], resident[2]), want);
  expectSame(scaledDotProductAttention(q, resident[1], resident[2]), want);
  expectSame(scaledDotProductAttention(q, k, v), want);
});

it("the second call of a kind plans and compiles nothing", () => {
  use("strict", 1);
  const kernels = () => getEngine()?.kernels.keys.length;
  scaledDotProductAttention(q, k, v, { attnMask: slidingWindow(31, 2) });
  const before = kernels();
  scaledDotProductAttention(q, k, v, { attnMask: slidingWindow(31, 2) });
  expect(kernels()).toBe(before);
});
