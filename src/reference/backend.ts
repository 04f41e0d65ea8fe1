/**
 * The backend in plain TypeScript: every option and dtype, in float64, one row of scores at a time. Linear memory,
 * no WebAssembly, so it also runs under the strictest Content-Security-Policy. The kernels are tested
 * against it; it runs float64 calls and `configure({ backend: "reference" })`. Each operation is a separate part in a separate
 * file, so that a program bundles only those that it calls; `reference` has all of them.
 */

import type { Backend, BackendPart, Operation } from "../backend/contract.ts";
import type { Plan } from "../backend/plan/plan.ts";
import { zeros } from "../core/create/construct.ts";
import { referenceMatmul } from "./matmul.ts";
import { arrayOperation } from "./order.ts";
import { referenceBackward } from "./problem-backward.ts";
import { referenceForward, referenceWeights } from "./problem-forward.ts";
import { referenceRowwise } from "./rowwise.ts";

export { referenceBackward, referenceForward, referenceMatmul, referenceRowwise, referenceWeights };

const supports = (): undefined => undefined;

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
  rowwise: (operation) => referenceRowwise.rowwise(operation),
  array: arrayOperation,
};

function plan(operation: Operation): Plan {
  const common = { backend: "reference", threads: 1, rowTile: 1, splits: 1, stages: 1 };
  if (operation.kind === "rowwise" || operation.kind === "array") {
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
