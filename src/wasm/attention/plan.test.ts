/** Cached plans: they keep no tensor of the call that made them. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { attentionWeights, scaledDotProductAttention } from "../../api/attention.ts";
import { attentionBackward } from "../../api/backward.ts";
import { Tensor } from "../../core/tensor.ts";
import { causal } from "../../masks/index.ts";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

const rows = (n: number) => new Tensor(new Float32Array(n * 24).fill(0.5), [1, n, 24], "float32");

/** Runs a pass, and keeps weak references to what it reads alone. */
function pass(n: number, run: (q: Tensor, k: Tensor, v: Tensor) => unknown): WeakRef<object>[] {
  const operands = [rows(n), rows(n), rows(n)] as const;
  run(...operands);
  return operands.map(({ data }) => new WeakRef(data));
}

const options = { attnMask: causal() };
const PASSES: Readonly<Record<string, (q: Tensor, k: Tensor, v: Tensor) => unknown>> = {
  forward: (q, k, v) => scaledDotProductAttention(q, k, v, options),
  weights: (q, k, v) =>
    attentionWeights(q, k, scaledDotProductAttention(q, k, v, options).lse, { ...options, rows: [3] }),
  backward: (q, k, v) =>
    attentionBackward(q, q, k, v, scaledDotProductAttention(q, k, v, options), options).dQuery,
};

it.each(Object.entries(PASSES))(
  "%s: the first call's tensors are collected while its plan stays",
  async (_, run) => {
    const references = pass(37, run);
    for (let n = 0; n < 25 && references.some((one) => one.deref()); n++) {
      // Another call of the same kind: nothing but the plan is of the first one.
      pass(37, run);
      await new Promise((resolve) => setTimeout(resolve, 1));
      gc();
    }
    expect(references.filter((one) => one.deref())).toEqual([]);
  },
);
