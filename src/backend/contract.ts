/**
 * The contract of a backend: what it supports, how it would run an operation, its storage, and the operations themselves.
 * An operation returns immediately. On the CPU it is then complete; another device has enqueued it, and its results are
 * tensors of that device. dispatch/ chooses the backend, so no caller has a fallback of its own.
 */

import type { DType, TypedData } from "../core/dtype.ts";
import type { CellStrides, Operand } from "../core/shape.ts";
import type { WorkSlices } from "../core/slices.ts";
import type { State } from "../core/state.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Table } from "../masks/expression/expr.ts";
import type { ArrayOperation } from "./array.ts";
import type { Plan } from "./plan/plan.ts";
import type { Problem } from "./problem.ts";
import type { Product } from "./product.ts";
import type { RowwiseOperation } from "./rowwise.ts";

/** A pass over an attention problem. @beta */
export interface AttentionOperation {
  readonly kind: "forward" | "weights" | "backward";
  readonly problem: Problem;
}

/** A matrix product. @beta */
export interface MatmulOperation {
  readonly kind: "matmul";
  readonly product: Product;
}

/** An operation that a caller requests. */
export type Operation =
  | AttentionOperation
  | MatmulOperation
  | { readonly kind: "rowwise"; readonly operation: RowwiseOperation }
  | { readonly kind: "array"; readonly operation: ArrayOperation };

/** Heads and rows whose weights are computed. @beta */
export interface Selection {
  readonly heads: readonly number[];
  readonly rows: readonly number[];
}

/** The cells of a map of weights: of which heads, where each row and column of cells begins, and after these the end of the last one. @beta */
export interface MapCells {
  readonly heads: readonly number[];
  readonly rows: readonly number[];
  readonly columns: readonly number[];
}

/** Inputs of the backward pass besides its problem. @beta */
export interface BackwardTensors {
  /** In the shape of the output, with any strides, as the output. */
  readonly dOutput: Tensor;
  readonly output: Tensor;
  /** [..., Hq, Nq], row-major, with an offset. It may be that of a state merged with other keys: Σ p·dp is then Σ output·dOutput. */
  readonly lse: Tensor;
}

/** Gradients that can be computed besides those of query, key and value. @beta */
export type Extra = "mask" | "sinks" | "tables";

/** Gradients, each in the shape and dtype of the tensor it belongs to, summed over axes that were broadcast. @beta */
export interface BackwardResult {
  readonly dQuery: Tensor;
  readonly dKey: Tensor;
  readonly dValue: Tensor;
  /** One for each of `problem.tensors`; undefined for bool masks and where it is not requested. */
  readonly masks: readonly (Tensor | undefined)[];
  /** [Hq] */
  readonly sinks?: Tensor;
  /** By table of the score expression. */
  readonly tables: ReadonlyMap<Table, Tensor>;
}

/** A way to compute attention, matrix products and row-wise operations on one device. @beta */
export interface Backend {
  readonly name: string;
  /** Name of the device of its tensors: `"cpu"`, or that of a registered device (core/device/device.ts). */
  readonly device: string;
  /** Why the backend cannot run an operation, as a clause for an error message; undefined where it can. */
  supports(operation: Operation): string | undefined;
  /** A zero-filled tensor in the backend's storage. */
  allocate(shape: readonly number[], dtype: DType): Tensor;
  /** How the backend would run an operation. */
  plan(operation: Operation): Plan;
  /** Attention: the output and the log-sum-exp of its rows. */
  forward(problem: Problem): State;
  /** The weights of some heads and rows, rebuilt from lse [..., Hq, Nq], row-major with an offset: [..., heads, rows, Nk]. */
  weights(problem: Problem, lse: Tensor, selection: Selection): Tensor;
  /**
   * The largest weight of each cell, then the mean over its queries and keys, [2, ..., heads, rows, columns], float32. Another device
   * has it where it makes maps; the CPU makes them from `weights` of some rows at a time.
   */
  map?(problem: Problem, lse: Tensor, cells: MapCells): Tensor;
  /** Gradients of Σ output·dOutput. */
  backward(problem: Problem, tensors: BackwardTensors, wanted: readonly Extra[]): BackwardResult;
  /** `forward` in slices, with the same bits; only a backend whose calls block has it. */
  forwardSlices?(problem: Problem): WorkSlices<State>;
  /** `backward` in slices, with the same bits; only a backend whose calls block has it. */
  backwardSlices?(
    problem: Problem,
    tensors: BackwardTensors,
    wanted: readonly Extra[],
  ): WorkSlices<BackwardResult>;
  /** A matrix product: a new tensor, or `product.accumulate` with the product added to it. */
  matmul(product: Product): Tensor;
  /** A row-wise operation, which fills the storage named in it. */
  rowwise(operation: RowwiseOperation): void;
  /** An array operation, which fills the result named in it. */
  array(operation: ArrayOperation): void;
}

/**
 * The part of a backend that one public function needs. The CPU's backends are dispatched part by part, so that a program
 * bundles the kernels of the operations that it calls, and no others.
 */
export type BackendPart<K extends keyof Backend> = Pick<
  Backend,
  "name" | "device" | "supports" | K | Extract<keyof Backend, `${K}Slices`>
>;

/** A part whose pass is also computed in slices. */
export type SlicedPart<K extends "forward" | "backward"> = BackendPart<K> &
  Required<Pick<Backend, `${K}Slices`>>;

/** Where a pass on the CPU writes: element e of row n, head h, batch b is output[b·batch + h·head + n·row + e]; lse is [B, Hq, Nq]. */
export interface Result {
  readonly output: TypedData;
  readonly batch: number;
  readonly head: number;
  readonly row: number;
  readonly lse: Float32Array | Float64Array;
  /**
   * Makes output and lse as copies of a pass's own float32 arrays, in one step instead of zeros that are then overwritten. Returns
   * false where output or lse exist already, or are no plain float32 arrays: the pass then writes to them.
   */
  copyFrom?(output: Float32Array, lse: Float32Array): boolean;
}

/** The log-sum-exp of a row. */
export type LseReader = (b: number, h: number, row: number) => number;

/** Inputs of a backward pass on the CPU: `BackwardTensors`, resolved. */
export interface BackwardInputs {
  /** [B, Hq, Nq, dv], as the output. */
  readonly dOutput: Operand;
  readonly output: Operand;
  /** As the forward call returned it. A float32 lse of 10⁴ has an error of up to 5e-4; so would weights rebuilt from it alone. */
  readonly lse: LseReader;
}

/** Where a pass on the CPU adds the gradient of a float mask; the strides are those of the row-major `data`. */
export interface MaskGradient extends CellStrides {
  readonly data: Float64Array;
}

/** Where a backward pass on the CPU writes, row-major. All arrays start at zero; masks, sinks and tables are added to. */
export interface Gradients {
  /** [B, Hq, Nq, dk], float64 in float64 calls. */
  readonly dQuery: Float32Array | Float64Array;
  /** [B, Hkv, Nk, dk]: the sum over the query heads of a group. */
  readonly dKey: Float32Array | Float64Array;
  /** [B, Hkv, Nk, dv] */
  readonly dValue: Float32Array | Float64Array;
  /** One for each of `problem.tensors`; undefined for bool masks and where it is not requested. */
  readonly masks: readonly (MaskGradient | undefined)[];
  /** [Hq] */
  readonly sinks?: Float64Array;
  /** By table of the score expression, in the table's own shape. */
  readonly tables: ReadonlyMap<Table, Float64Array>;
}
