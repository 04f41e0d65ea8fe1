/**
 * Row-wise operations: the operations of training other than products and attention. Each passes over its arrays once, row by
 * row. reference/rowwise.ts defines each operation, in float64.
 *
 * Arrays are row-major, and their sizes are trusted. An output is one of the inputs, or does not overlap any.
 */

import type { TensorStorage } from "../core/device/device.ts";
import { checkArgument } from "../core/errors.ts";

/** Functions of one number: `gelu` is exact, `elu1` is elu(x) + 1. @beta */
export type MapName = "relu" | "gelu" | "gelu-tanh" | "silu" | "sigmoid" | "tanh" | "elu1";

/** y = f(x), element by element. @beta */
export interface MapOperation {
  readonly name: "map";
  readonly map: MapName;
  readonly x: TensorStorage;
  readonly y: TensorStorage;
}

/** dx = f′(x)·dy, where y = f(x). @beta */
export interface MapBackwardOperation {
  readonly name: "map-backward";
  readonly map: MapName;
  readonly x: TensorStorage;
  readonly y: TensorStorage;
  readonly dy: TensorStorage;
  readonly dx: TensorStorage;
}

/** Rows of C numbers: layer norm where `centered`, else RMS norm. @beta */
export interface NormShape {
  readonly C: number;
  readonly centered: boolean;
  readonly eps: number;
}

/** y = (x − mean)·r·weight + bias, r = 1/√(variance + eps), over rows x [rows, C]; without means where not `centered`. @beta */
export interface NormOperation extends NormShape {
  readonly name: "norm";
  readonly x: TensorStorage;
  readonly y: TensorStorage;
  /** float32 [rows, 4], read by the backward operation of the same backend: the two parts of the mean, r, unused. */
  readonly stats: TensorStorage;
  /** [C], default ones. */
  readonly weight?: TensorStorage;
  /** [C], default zeros. */
  readonly bias?: TensorStorage;
}

/** dx [rows, C], dWeight and dBias [C] of a norm, summed in float64 and rounded once. @beta */
export interface NormBackwardOperation extends NormShape {
  readonly name: "norm-backward";
  readonly x: TensorStorage;
  readonly dy: TensorStorage;
  readonly stats: TensorStorage;
  readonly weight?: TensorStorage;
  readonly dx: TensorStorage;
  readonly dWeight: TensorStorage;
  readonly dBias: TensorStorage;
}

/** sums [C] = Σ over rows of x [rows, C], summed in float64 and rounded once. @beta */
export interface ColumnSumsOperation {
  readonly name: "column-sums";
  readonly x: TensorStorage;
  readonly sums: TensorStorage;
}

/**
 * loss [1] = Σ over counted rows of (ln Σ_v e^(x_v) − x_target) / count, and its gradient
 * dLogits = (softmax(x) − onehot(target)) / count. A row of negative target does not count; its gradient is 0.
 * @beta
 */
export interface CrossEntropyOperation {
  readonly name: "cross-entropy";
  /** [rows, V] */
  readonly logits: TensorStorage;
  /** [rows] */
  readonly targets: Int32Array;
  readonly V: number;
  readonly count: number;
  /** [rows, V]; may be `logits`. */
  readonly dLogits: TensorStorage;
  readonly loss: TensorStorage;
}

/** Scalars of one step of AdamW. @beta */
export interface AdamWScalars {
  /** Multiplies the gradient first. */
  readonly scale: number;
  readonly beta1: number;
  readonly oneMinusBeta1: number;
  readonly beta2: number;
  readonly oneMinusBeta2: number;
  /** 1 − lr·decay */
  readonly weightDecayFactor: number;
  /** lr/(1 − β₁ᵗ) */
  readonly rate: number;
  /** 1/√(1 − β₂ᵗ) */
  readonly biasCorrection2: number;
  readonly eps: number;
}

/**
 * One step of AdamW in place:
 *
 *   g ← scale·g   m ← β₁·m + (1 − β₁)·g   v ← β₂·v + (1 − β₂)·g²
 *   w ← weightDecayFactor·w − rate·m/(√v·biasCorrection2 + eps)
 * @beta
 */
export interface AdamWOperation {
  readonly name: "adamw";
  readonly w: TensorStorage;
  readonly g: TensorStorage;
  readonly m: TensorStorage;
  readonly v: TensorStorage;
  readonly scalars: AdamWScalars;
}

/** y = a + scale·b, element by element; y may be a. @beta */
export interface AddOperation {
  readonly name: "add";
  readonly a: TensorStorage;
  readonly b: TensorStorage;
  readonly scale: number;
  readonly y: TensorStorage;
}

/** Any row-wise operation. @beta */
export type RowwiseOperation =
  | MapOperation
  | MapBackwardOperation
  | NormOperation
  | NormBackwardOperation
  | ColumnSumsOperation
  | CrossEntropyOperation
  | AdamWOperation
  | AddOperation;

/** Fields of the operations that are storage. */
const FIELDS = [
  "x", "a", "b", "dy", "weight", "bias", "logits", "w", "g", "m", "v", "y", "dx", "stats", "dWeight", "dBias", "sums", "dLogits", "loss",
] as const; // biome-ignore format: one list

/** The storage that an operation reads or writes, by field name. @beta */
export function storageOf(operation: RowwiseOperation): Record<string, TensorStorage> {
  checkArgument(typeof operation === "object" && operation !== null, "storageOf", "an operation", operation);
  const fields = operation as Partial<Record<(typeof FIELDS)[number], TensorStorage>>;
  const storages: Record<string, TensorStorage> = {};
  for (const name of FIELDS) {
    const storage = fields[name];
    if (storage !== undefined) storages[name] = storage;
  }
  return storages;
}
