/** Row-wise operations as pipelines: the kernel, the arrays and the rows of a task. */
import type { BackendPart, Operation } from "../../backend/contract.ts";
import type { RowwiseOperation } from "../../backend/rowwise.ts";
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

/** Lanes of the last vector of a row: all bits set in those that hold a number. */
const lanes = (C: number): Float32Array =>
  new Float32Array(Int32Array.from({ length: 4 }, (_, n) => (n < ((C - 1) % 4) + 1 ? -1 : 0)).buffer);

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
        ? missingKernel((engine) => pipelineKernelOf(engine, pipelineOf(operation), isRelaxed()))
        : undefined)
    );
  },
  rowwise(operation) {
    const pipeline = pipelineOf(operation);
    if (pipeline.rows > 0) {
      const done = { rows: 0 };
      retryOnWorkerLoss(currentEngine ?? (getEngine() as Engine), replaceEngine, (engine, singleThreaded) => {
        const threads = singleThreaded ? 1 : engine.pool.threadsFor(pipeline.rows * pipeline.rowWork);
        runPipeline(engine, pipeline, isRelaxed(), threads, done);
      });
    }
    pipeline.finish?.();
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

// `unsupportedRowwise` accepts float32 arrays only.
const array = (x: unknown): Float32Array => x as Float32Array;
/** Arrays of numbers, or of rows of C, which are padded with `padValue`. */
const numbers = (...all: readonly unknown[]) => all.map((x) => ({ data: array(x), width: 1 }));
const padded = (x: unknown, C: number, padValue = 0) => ({ data: array(x), width: C, padValue });
/** Shape of an operation on each number. */
const elements = { count: 1, shared: [], taskRows: TASK_NUMBERS };

function normPipeline(operation: Extract<RowwiseOperation, { name: "norm" | "norm-backward" }>): RowPipeline {
  const { C, centered, x } = operation;
  const stats = { data: array(operation.stats), width: 4 };
  const weight = array(operation.weight ?? new Float32Array(C).fill(1));
  const name = centered ? "layer norm" : "rms norm";
  const shape = { rows: array(x).length / C, count: C, taskRows: taskRowsFor(C) };
  if (operation.name === "norm")
    return {
      ...shape,
      name,
      write: (spec) => normKernel(spec, centered),
      inputs: [padded(x, C)],
      outputs: [padded(operation.y, C), stats],
      shared: [
        weight,
        array(operation.bias ?? new Float32Array(C)),
        Float32Array.of(1 / C, operation.eps),
        lanes(C),
      ],
      rowWork: 12 * C,
    };
  const [dWeight, dBias] = [new Float64Array(C), new Float64Array(C)];
  return {
    ...shape,
    name: `${name} backward`,
    write: (spec) => normBackwardKernel(spec, centered),
    inputs: [padded(x, C), padded(operation.dy, C), stats],
    outputs: [padded(operation.dx, C)],
    partial: [dWeight, dBias],
    shared: [weight, Float32Array.of(1 / C)],
    rowWork: 20 * C,
    finish() {
      array(operation.dWeight).set(dWeight);
      array(operation.dBias).set(dBias);
    },
  };
}

/** An operation as a pipeline. */
export function pipelineOf(operation: RowwiseOperation): RowPipeline {
  switch (operation.name) {
    case "map":
    case "map-backward": {
      const map = operation.map as KernelMapName;
      const backward = operation.name === "map-backward" ? operation : undefined;
      return {
        ...elements,
        name: backward ? `${map} backward` : map,
        write: (spec) => mapKernel(spec, map, backward !== undefined),
        rows: array(operation.x).length,
        inputs: backward ? numbers(operation.x, backward.dy) : numbers(operation.x),
        outputs: numbers(backward?.dx ?? operation.y),
        rowWork: backward ? 50 : 40,
      };
    }
    case "norm":
    case "norm-backward":
      return normPipeline(operation);
    case "column-sums": {
      const sums = new Float64Array(array(operation.sums).length);
      return {
        name: "column sums",
        write: columnSumsKernel,
        rows: array(operation.x).length / sums.length,
        count: sums.length,
        inputs: [padded(operation.x, sums.length)],
        outputs: [],
        partial: [sums],
        shared: [],
        // More rows than elsewhere, because the calling thread adds up the sums of the tasks.
        taskRows: 4 * taskRowsFor(sums.length),
        rowWork: 2 * sums.length,
        finish: () => array(operation.sums).set(sums),
      };
    }
    case "cross-entropy": {
      const { logits, dLogits, targets, V, count } = operation;
      // The two parts of each loss.
      const losses = new Float32Array(2 * targets.length);
      return {
        name: "cross-entropy",
        write: crossEntropyKernel,
        rows: targets.length,
        count: V,
        inputs: [padded(logits, V, -Infinity), { data: targets, width: 1 }],
        outputs: [padded(dLogits, V), { data: losses, width: 2 }],
        shared: [Float32Array.of(1 / count)],
        taskRows: taskRowsFor(V),
        rowWork: 30 * V,
        finish() {
          let sum = 0;
          for (let n = 0; n < losses.length; n += 2) sum += losses[n] - losses[n + 1];
          array(operation.loss)[0] = sum / count;
        },
      };
    }
    case "adamw": {
      const { w, g, m, v, scalars } = operation;
      return {
        ...elements,
        name: "adamw",
        write: adamwKernel,
        rows: array(w).length,
        inputs: numbers(w, g, m, v),
        outputs: numbers(w, m, v),
        shared: [Float32Array.from(ADAMW, (name) => scalars[name])],
        rowWork: 20,
      };
    }
    case "add": {
      const { a, b, y } = operation;
      return {
        ...elements,
        name: "add",
        write: addKernel,
        rows: array(y).length,
        inputs: numbers(a, b),
        outputs: numbers(y),
        taskRows: 4 * TASK_NUMBERS,
        rowWork: 2,
      };
    }
  }
}
