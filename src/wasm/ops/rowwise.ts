/** Row-wise operations as pipelines: the kernel, the arrays and the rows of a task. */
import type { BackendPart, Operation } from "../../backend/contract.ts";
import type { AdamWScalars, NormShape, RowwiseOperation } from "../../backend/rowwise.ts";
import type { Engine } from "../engine/engine.ts";
import {
  currentEngine,
  getEngine,
  isRelaxed,
  missingKernel,
  replaceEngine,
  warnIfUnavailable,
} from "../engine/engine.ts";
import { retryOnWorkerLoss } from "../engine/worker-pool.ts";
import { ADAMW, adamwKernel } from "../kernels/rowwise/adamw.ts";
import { columnSumsKernel } from "../kernels/rowwise/column-sums.ts";
import { crossEntropyKernel } from "../kernels/rowwise/cross-entropy.ts";
import { addKernel, type KernelMapName, MAPS, mapKernel } from "../kernels/rowwise/elementwise.ts";
import { normBackwardKernel, normKernel } from "../kernels/rowwise/norm.ts";
import { pipelineKernelOf, type RowPipeline, runPipeline } from "./row-pipeline.ts";

/** Approximate numbers of a task: some ten microseconds of work. */
const TASK_NUMBERS = 8192;

const taskRowsFor = (width: number): number => Math.max(1, Math.floor(TASK_NUMBERS / width));

/** y = f(x). */
export const mapPipeline = (name: KernelMapName, x: Float32Array, y: Float32Array): RowPipeline => ({
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
const mapBackwardPipeline = (
  name: KernelMapName,
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

/** y = a + b. */
const addPipeline = (a: Float32Array, b: Float32Array, y: Float32Array): RowPipeline => ({
  name: "add",
  write: addKernel,
  rows: y.length,
  count: 1,
  inputs: [a, b].map((data) => ({ data, width: 1 })),
  outputs: [{ data: y, width: 1 }],
  shared: [],
  taskRows: 4 * TASK_NUMBERS,
  rowWork: 2,
});

const lanes = (C: number): Float32Array =>
  new Float32Array(Int32Array.from({ length: 4 }, (_, n) => (n < ((C - 1) % 4) + 1 ? -1 : 0)).buffer);

/** y = x̂·weight + bias; stats [rows, 4] for the backward operation. */
const normPipeline = (
  x: Float32Array,
  y: Float32Array,
  stats: Float32Array,
  weight: Float32Array | undefined,
  bias: Float32Array | undefined,
  { C, centered, eps }: NormShape,
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

/** dx; dWeight and dBias are accumulated. */
const normBackwardPipeline = (
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

/** Column sums, accumulated in `sums`. */
const columnSumsPipeline = (x: Float32Array, sums: Float64Array): RowPipeline => ({
  name: "column sums",
  write: columnSumsKernel,
  rows: x.length / sums.length,
  count: sums.length,
  inputs: [{ data: x, width: sums.length, padValue: 0 }],
  outputs: [],
  partial: [sums],
  shared: [],
  // More rows than elsewhere, because the calling thread adds up the sums of the tasks.
  taskRows: 4 * taskRowsFor(sums.length),
  rowWork: 2 * sums.length,
});

/** Gradients (softmax − onehot)·weight and the two parts of each loss. */
const crossEntropyPipeline = (
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

/** Minimum number of elements for a kernel: below it, starting one costs more than the loop (measured). */
const MIN_ELEMENTS = 1024;
/** The same for a sum, whose loop takes less time (measured: equal at 2,500). */
const MIN_SUM = 4096;

/** Row-wise operations. */
export const wasmRowwise: BackendPart<"rowwise"> = {
  name: "wasm",
  device: "cpu",
  supports({ operation }: Extract<Operation, { kind: "rowwise" }>) {
    const reason = currentEngine ? undefined : warnIfUnavailable();
    return (
      reason ??
      unsupportedRowwise(operation) ??
      (currentEngine?.filesOnly
        ? missingKernel((engine) => pipelineKernelOf(engine, pipelineOf(operation).pipeline, isRelaxed()))
        : undefined)
    );
  },
  rowwise(operation) {
    const { pipeline, finish } = pipelineOf(operation);
    if (pipeline.rows > 0) {
      const done = { rows: 0 };
      retryOnWorkerLoss(currentEngine ?? (getEngine() as Engine), replaceEngine, (engine, singleThreaded) => {
        const threads = singleThreaded ? 1 : engine.pool.threadsFor(pipeline.rows * pipeline.rowWork);
        runPipeline(engine, pipeline, isRelaxed(), threads, done);
      });
    }
    finish?.();
  },
};

/** Why the kernels do not run an operation; undefined where they do. */
function unsupportedRowwise(operation: RowwiseOperation): string | undefined {
  switch (operation.name) {
    case "add":
      return operation.scale === 1
        ? unsupportedArray(operation.y, MIN_SUM)
        : "the wasm backend has no kernel for a + scale·b";
    case "map":
    case "map-backward":
      if (!MAPS.includes(operation.map as KernelMapName))
        return `the wasm backend has no kernel for ${operation.map}`;
      return unsupportedArray(operation.x, MIN_ELEMENTS);
    case "norm":
    case "norm-backward":
      return unsupportedArray(operation.x, MIN_ELEMENTS);
    case "column-sums":
      return unsupportedArray(operation.x, 0);
    case "cross-entropy":
      return unsupportedArray(operation.logits, 0);
    case "adamw":
      return unsupportedArray(operation.w, 0);
  }
}

const unsupportedArray = (x: unknown, min: number): string | undefined =>
  !(x instanceof Float32Array)
    ? "the kernels compute float32 only"
    : x.length < min
      ? `a kernel is slower than the loop below ${min} elements`
      : undefined;

/** An operation as a pipeline, and the last step after it has run. */
export function pipelineOf(operation: RowwiseOperation): { pipeline: RowPipeline; finish?: () => void } {
  // `unsupportedRowwise` accepts float32 arrays only.
  const array = (x: unknown): Float32Array => x as Float32Array;
  switch (operation.name) {
    case "map":
      return {
        pipeline: mapPipeline(operation.map as KernelMapName, array(operation.x), array(operation.y)),
      };
    case "map-backward": {
      const [x, dy, dx] = [operation.x, operation.dy, operation.dx].map(array);
      return { pipeline: mapBackwardPipeline(operation.map as KernelMapName, x, dy, dx) };
    }
    case "norm": {
      const [x, y, stats] = [operation.x, operation.y, operation.stats].map(array);
      const { weight, bias } = operation;
      return { pipeline: normPipeline(x, y, stats, weight && array(weight), bias && array(bias), operation) };
    }
    case "norm-backward": {
      const [x, dy, stats, dx] = [operation.x, operation.dy, operation.stats, operation.dx].map(array);
      const { C, weight } = operation;
      const [dWeight, dBias] = [new Float64Array(C), new Float64Array(C)];
      return {
        pipeline: normBackwardPipeline(x, dy, stats, weight && array(weight), dx, dWeight, dBias, operation),
        finish() {
          array(operation.dWeight).set(dWeight);
          array(operation.dBias).set(dBias);
        },
      };
    }
    case "column-sums": {
      const sums = new Float64Array(array(operation.sums).length);
      return {
        pipeline: columnSumsPipeline(array(operation.x), sums),
        finish: () => array(operation.sums).set(sums),
      };
    }
    case "cross-entropy": {
      const { targets, V, count } = operation;
      const losses = new Float32Array(2 * targets.length);
      const [logits, dLogits] = [array(operation.logits), array(operation.dLogits)];
      return {
        pipeline: crossEntropyPipeline(logits, targets, V, 1 / count, dLogits, losses),
        finish() {
          let sum = 0;
          for (let n = 0; n < losses.length; n += 2) sum += losses[n] - losses[n + 1];
          array(operation.loss)[0] = sum / count;
        },
      };
    }
    case "adamw": {
      const [w, g, m, v] = [operation.w, operation.g, operation.m, operation.v].map(array);
      return { pipeline: adamwPipeline(w, g, m, v, operation.scalars) };
    }
    case "add": {
      const [a, b, y] = [operation.a, operation.b, operation.y].map(array);
      return { pipeline: addPipeline(a, b, y) };
    }
  }
}
