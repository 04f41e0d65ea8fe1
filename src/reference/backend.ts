/**
 * The backend in plain TypeScript: every option and dtype, in float64, one row of scores at a time. Linear memory,
 * no WebAssembly, so it also runs under the strictest Content-Security-Policy. It is what the kernels are tested
 * against, and what float64 calls and `configure({ backend: "reference" })` use.
 */

import type { Backend, BackendPart, LseReader, Operation, Result } from "../backend/contract.ts";
import type { Plan } from "../backend/plan.ts";
import type { Problem } from "../backend/problem.ts";
import { allocateResult } from "../backend/product.ts";
import { computeGradients, computeState, computeWeights } from "../backend/results.ts";
import { zeros } from "../core/construct.ts";
import { readerOf, type TypedData, writerOf } from "../core/dtype.ts";
import { matmul } from "./matmul.ts";
import { backward } from "./problem-backward.ts";
import { rowsOf, rowWeights } from "./rows.ts";
import { rowwise } from "./rowwise.ts";

/** Fills the output and lse of a problem. */
export function forward(problem: Problem, out: Result): void {
  const { B, Hq, Nq, Nk, dv, G, value } = problem.shape;
  const rows = rowsOf(problem);
  const readV = readerOf(value.tensor.dtype, value.tensor.data);
  const write = writerOf(problem.dtype, out.output);
  const scores = new Float64Array(Nk);
  const o = new Float64Array(dv);
  let at = 0;
  for (let b = 0; b < B; b++)
    for (let h = 0; h < Hq; h++) {
      const vHead = value.base[b] + Math.floor(h / G) * value.head;
      for (let row = 0; row < Nq; row++, at++) {
        const highest = rows.scores(b, h, row, scores);
        const sink = problem.sinks ? problem.sinks[h] : -Infinity;
        const m = Math.max(highest, sink);
        let l = 0;
        o.fill(0);
        for (let k = 0; k < Nk; k++) {
          if (scores[k] === -Infinity) continue;
          const p = Math.exp(scores[k] - m);
          l += p;
          const w = p * rows.dropoutFactor(b, h, row, k);
          const vAt = vHead + k * value.row;
          for (let e = 0; e < dv; e++) o[e] += w * readV(vAt + e * value.column);
        }
        if (sink !== -Infinity) l += Math.exp(sink - m);
        const start = b * out.batch + h * out.head + row * out.row;
        for (let e = 0; e < dv; e++) write(start + e, l === 0 ? 0 : o[e] / l);
        out.lse[at] = l === 0 ? -Infinity : m + Math.log(l);
      }
    }
}

/** Fills `out` [B, heads, rows, Nk] with the weights of chosen heads and rows: exp(score − lse), with dropout's factor. */
function weights(
  problem: Problem,
  lse: LseReader,
  heads: readonly number[],
  rows: readonly number[],
  out: TypedData,
): void {
  const { B, Nk } = problem.shape;
  const walker = rowsOf(problem);
  const scores = new Float64Array(Nk);
  const p = new Float64Array(Nk);
  const write = writerOf(problem.dtype, out);
  let at = 0;
  for (let b = 0; b < B; b++)
    for (const h of heads)
      for (const row of rows) {
        rowWeights(problem, h, lse(b, h, row), walker.scores(b, h, row, scores), scores, p);
        for (let k = 0; k < Nk; k++, at++) write(at, p[k] * walker.dropoutFactor(b, h, row, k));
      }
}

const supports = (): undefined => undefined;

/** The forward pass. */
export const referenceForward: BackendPart<"forward"> = {
  name: "reference",
  device: "cpu",
  supports,
  forward: (problem) => computeState(problem, (result) => forward(problem, result)),
};

/** The weights of some heads and rows. */
export const referenceWeights: BackendPart<"weights"> = {
  name: "reference",
  device: "cpu",
  supports,
  weights: (problem, lse, selection) =>
    computeWeights(problem, lse, selection, (read, data) =>
      weights(problem, read, selection.heads, selection.rows, data),
    ),
};

/** The backward pass. */
export const referenceBackward: BackendPart<"backward"> = {
  name: "reference",
  device: "cpu",
  supports,
  backward: (problem, tensors, wanted) =>
    computeGradients(problem, tensors, wanted, (inputs, gradients) => backward(problem, inputs, gradients)),
};

/** Matrix products. */
export const referenceMatmul: BackendPart<"matmul"> = {
  name: "reference",
  device: "cpu",
  supports,
  matmul(product) {
    const { product: into, result } = allocateResult(product);
    matmul(into);
    return result;
  },
};

/** Row-wise operations. */
export const referenceRowwise: BackendPart<"rowwise"> = {
  name: "reference",
  device: "cpu",
  supports,
  rowwise,
};

/** Plans of every operation. */
export const referencePlans: BackendPart<"plan"> = { name: "reference", device: "cpu", supports, plan };

/** The reference backend. It supports every operation. */
export const reference: Backend = {
  name: "reference",
  device: "cpu",
  supports,
  allocate: zeros,
  plan,
  forward: (problem) => referenceForward.forward(problem),
  weights: (problem, lse, selection) => referenceWeights.weights(problem, lse, selection),
  backward: (problem, tensors, wanted) => referenceBackward.backward(problem, tensors, wanted),
  matmul: (product) => referenceMatmul.matmul(product),
  rowwise,
};

function plan(operation: Operation): Plan {
  const common = { backend: "reference", threads: 1, rowTile: 1, splits: 1, stages: 1 };
  if (operation.kind === "rowwise") {
    const { name } = operation.operation;
    return {
      ...common,
      operation: name,
      kernel: `reference ${name}`,
      tasks: 1,
      keyTile: 1,
      bytes: 0,
      operations: 0,
    };
  }
  if (operation.kind === "matmul") {
    const { batch, M, N, K, dtype } = operation.product;
    return {
      ...common,
      operation: "matmul",
      kernel: `reference ${dtype} product in float64 loops`,
      tasks: batch * M,
      keyTile: N,
      bytes: 8 * (K * N + K + 2 * N),
      operations: 2 * batch * M * N * K,
    };
  }
  const { shape, dtype } = operation.problem;
  const { B, Hq, Nq, Nk, dk, dv } = shape;
  const backward = operation.kind === "backward";
  return {
    ...common,
    operation: backward ? "backward" : "forward",
    kernel: `reference ${dtype} in float64 loops`,
    tasks: B * Hq,
    keyTile: Nk,
    bytes: 8 * (Nk + dk + dv),
    operations: (backward ? 5 : 2) * B * Hq * Nq * Nk * (dk + dv),
    weightsBytes: 4 * B * Hq * Nq * Nk,
  };
}
