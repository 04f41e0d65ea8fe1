/** The rowwise work of training as streams: which kernel, which arrays, how many rows a task has. */
import { ADAMW, adamwKernel } from "../kernels/adamw.ts";
import { columnSumsKernel } from "../kernels/column-sums.ts";
import { crossEntropyKernel } from "../kernels/cross-entropy.ts";
import { type MapName, mapKernel } from "../kernels/elementwise.ts";
import { normBackwardKernel, normKernel } from "../kernels/norm.ts";
import type { RowPipeline } from "./row-pipeline.ts";

export type { MapName } from "../kernels/elementwise.ts";

/** Numbers of a task, about: some ten microseconds of work. */
const TASK_NUMBERS = 8192;

const taskRowsFor = (width: number): number => Math.max(1, Math.floor(TASK_NUMBERS / width));

/** y = f(x). */
export const mapPipeline = (name: MapName, x: Float32Array, y: Float32Array): RowPipeline => ({
  name,
  write: (spec) => mapKernel(spec, name, false),
  rows: x.length,
  count: 1,
  inputs: [{ data: x, width: 1 }],
  outputs: [{ data: y, width: 1 }],
  shared: [],
  taskRows: TASK_NUMBERS,
  rowWork: 40,
});

/** dx = f′(x)·dy. */
export const mapBackwardPipeline = (
  name: MapName,
  x: Float32Array,
  dy: Float32Array,
  dx: Float32Array,
): RowPipeline => ({
  name: `${name} backward`,
  write: (spec) => mapKernel(spec, name, true),
  rows: x.length,
  count: 1,
  inputs: [x, dy].map((data) => ({ data, width: 1 })),
  outputs: [{ data: dx, width: 1 }],
  shared: [],
  taskRows: TASK_NUMBERS,
  rowWork: 50,
});

/** Sizes of a norm. */
export interface NormShape {
  /** Numbers of a row. */
  readonly C: number;
  /** True for layer norm, false for RMS norm. */
  readonly centered: boolean;
}

const lanes = (C: number): Float32Array =>
  new Float32Array(Int32Array.from({ length: 4 }, (_, n) => (n < ((C - 1) % 4) + 1 ? -1 : 0)).buffer);

/** y = x̂·weight + bias; stats [rows, 4] for the way back. */
export const normPipeline = (
  x: Float32Array,
  y: Float32Array,
  stats: Float32Array,
  weight: Float32Array | undefined,
  bias: Float32Array | undefined,
  eps: number,
  { C, centered }: NormShape,
): RowPipeline => ({
  name: centered ? "layer norm" : "rms norm",
  write: (spec) => normKernel(spec, centered),
  rows: x.length / C,
  count: C,
  inputs: [{ data: x, width: C, padValue: 0 }],
  outputs: [
    { data: y, width: C, padValue: 0 },
    { data: stats, width: 4 },
  ],
  shared: [
    weight ?? new Float32Array(C).fill(1),
    bias ?? new Float32Array(C),
    Float32Array.of(1 / C, eps),
    lanes(C),
  ],
  taskRows: taskRowsFor(C),
  rowWork: 12 * C,
});

/** dx, and dWeight and dBias added to. */
export const normBackwardPipeline = (
  x: Float32Array,
  dy: Float32Array,
  stats: Float32Array,
  weight: Float32Array | undefined,
  dx: Float32Array,
  dWeight: Float64Array,
  dBias: Float64Array,
  { C, centered }: NormShape,
): RowPipeline => ({
  name: `${centered ? "layer norm" : "rms norm"} backward`,
  write: (spec) => normBackwardKernel(spec, centered),
  rows: x.length / C,
  count: C,
  inputs: [
    { data: x, width: C, padValue: 0 },
    { data: dy, width: C, padValue: 0 },
    { data: stats, width: 4 },
  ],
  outputs: [{ data: dx, width: C, padValue: 0 }],
  partial: [dWeight, dBias],
  shared: [weight ?? new Float32Array(C).fill(1), Float32Array.of(1 / C)],
  taskRows: taskRowsFor(C),
  rowWork: 20 * C,
});

/** `sums` added to, column by column. */
export const columnSumsPipeline = (x: Float32Array, sums: Float64Array): RowPipeline => ({
  name: "column sums",
  write: columnSumsKernel,
  rows: x.length / sums.length,
  count: sums.length,
  inputs: [{ data: x, width: sums.length, padValue: 0 }],
  outputs: [],
  partial: [sums],
  shared: [],
  // More than elsewhere, because a task's sums are added up by the calling thread.
  taskRows: 4 * taskRowsFor(sums.length),
  rowWork: 2 * sums.length,
});

/** Slopes (softmax − onehot)·weight and the two parts of each loss. */
export const crossEntropyPipeline = (
  logits: Float32Array,
  targets: Int32Array,
  V: number,
  weight: number,
  dLogits: Float32Array,
  losses: Float32Array,
): RowPipeline => ({
  name: "cross-entropy",
  write: crossEntropyKernel,
  rows: targets.length,
  count: V,
  inputs: [
    { data: logits, width: V, padValue: -Infinity },
    { data: targets, width: 1 },
  ],
  outputs: [
    { data: dLogits, width: V, padValue: 0 },
    { data: losses, width: 2 },
  ],
  shared: [Float32Array.of(weight)],
  taskRows: taskRowsFor(V),
  rowWork: 30 * V,
});

/** Scalars of a step of AdamW by name. */
export type AdamWScalars = Readonly<Record<(typeof ADAMW)[number], number>>;

/** w, m and v, in place. */
export const adamwPipeline = (
  w: Float32Array,
  g: Float32Array,
  m: Float32Array,
  v: Float32Array,
  scalars: AdamWScalars,
): RowPipeline => ({
  name: "adamw",
  write: adamwKernel,
  rows: w.length,
  count: 1,
  inputs: [w, g, m, v].map((data) => ({ data, width: 1 })),
  outputs: [w, m, v].map((data) => ({ data, width: 1 })),
  shared: [Float32Array.from(ADAMW, (name) => scalars[name])],
  taskRows: TASK_NUMBERS,
  rowWork: 20,
});
