/**
 * Pipelines over arrays, one pass, row by row: functions of one number, norms, the loss, the optimizer. Chunks of rows are
 * copied into the engine's memory, processed by the threads, and copied out; the copies of one chunk overlap the work on
 * another. Tasks have a fixed number of rows, and their sums are added in order: the same bits for any number of threads.
 */

import { settings } from "../../backend/settings.ts";
import type { Engine } from "../engine/engine.ts";
import type { CachedKernel } from "../engine/kernel-cache.ts";
import { AllocationScope, type EngineMemory } from "../engine/memory.ts";
import { addressOf } from "../engine/transfer.ts";
import { type PipelineSpec, PipelineStruct } from "../kernels/rowwise/row-pipeline.ts";

/** An array with one row for each row of the pipeline. */
export interface RowArray {
  readonly data: Float32Array | Int32Array;
  /** Numbers of a row. */
  readonly width: number;
  /** Rows are padded to full vectors in the engine's memory, with this number. Default: no padding. */
  readonly padValue?: number;
}

/** A kernel and its arrays, which are passed to it in the order of these fields. */
export interface RowPipeline {
  /** Name of the kernel in its key. */
  readonly name: string;
  readonly write: (spec: PipelineSpec) => Uint8Array<ArrayBuffer>;
  readonly rows: number;
  /** Elements of a row, as passed to the kernel. */
  readonly count: number;
  readonly inputs: readonly RowArray[];
  /** Written; an output is the array of an input, or does not overlap any. */
  readonly outputs: readonly RowArray[];
  /** Sums over rows: each task has its own copy, which is added to these arrays. */
  readonly partial?: readonly Float64Array[];
  /** Read by all rows: weights, scalars. */
  readonly shared: readonly Float32Array[];
  /** Rows of a task, a multiple of four where a row is one number. */
  readonly taskRows: number;
  /** Approximate operations of a row. */
  readonly rowWork: number;
  /** The last step, after all rows. */
  finish?(): void;
}

/** Approximate bytes of all arrays in one chunk: they stay in the L2 cache. */
const CHUNK_BYTES = 2 ** 20;

const roundUpToVector = (width: number): number => Math.ceil(width / 4) * 4;
/** Numbers from row to row in the engine's memory. */
const strideOf = ({ width, padValue }: RowArray): number =>
  padValue === undefined ? width : roundUpToVector(width);

/** An array in the engine's memory: the addresses of its two alternating buffers, or its own address where it is there already. */
interface Placed {
  readonly at?: readonly number[];
  readonly start?: number;
}

/** Completed rows, kept when a thread is lost: rows that were written in place must not be read again. */
export interface CollectedRows {
  rows: number;
}

/** The kernel of a pipeline. */
export function pipelineKernelOf(engine: Engine, { name, write }: RowPipeline, fused: boolean): CachedKernel {
  const wide = fused && settings().simd === "wide";
  const { shared } = engine.memory;
  const key = `${name} ${wide ? "wide " : ""}${fused ? "fma" : "mul+add"}${shared ? "" : " unshared"}`;
  return engine.kernels.keep(key, 64, wide, () => write({ fused, shared }));
}

/** Runs a pipeline. */
export function runPipeline(
  engine: Engine,
  s: RowPipeline,
  fused: boolean,
  threads: number,
  done: CollectedRows,
): void {
  const { memory } = engine;
  const kernel = pipelineKernelOf(engine, s, fused);
  engine.pool.reserve(kernel.workspaceBytes, threads);
  const rowBytes = [...s.inputs, ...s.outputs].reduce((n, x) => n + 4 * strideOf(x), 0);
  const tasks = Math.max(threads > 1 ? 4 * threads : 1, Math.floor(CHUNK_BYTES / rowBytes / s.taskRows));
  const chunk = tasks * s.taskRows;
  const bufferRows = Math.min(chunk, Math.ceil(s.rows / s.taskRows) * s.taskRows);
  const regions = new AllocationScope(memory);
  try {
    const doubleBuffer = (x: RowArray) =>
      [0, 1].map(() => regions.alloc(4 * roundUpToVector(strideOf(x) * bufferRows)));
    const inputs: Placed[] = s.inputs.map(
      (x) => residentRows(memory, x, s.outputs) ?? { at: doubleBuffer(x) },
    );
    const outputs: Placed[] = s.outputs.map(
      (x) => residentRows(memory, x, s.inputs) ?? { at: doubleBuffer(x) },
    );
    const partial = (s.partial ?? []).map((sums) =>
      [0, 1].map(() => regions.alloc(4 * roundUpToVector(sums.length) * tasks)),
    );
    const shared = s.shared.map((data) => {
      const at = regions.alloc(4 * roundUpToVector(data.length));
      memory.f32.fill(0, at / 4, at / 4 + roundUpToVector(data.length));
      memory.f32.set(data, at / 4);
      return at;
    });
    const taskAt = regions.alloc(PipelineStruct.size * tasks);
    const rowsOf = (from: number) => Math.min(chunk, s.rows - from);

    const copyIn = (from: number, bufferIndex: number) => {
      if (from >= s.rows) return;
      s.inputs.forEach((x, n) => {
        const { at } = inputs[n];
        if (at) copyRowsIn(memory, x, from, rowsOf(from), at[bufferIndex]);
      });
    };
    const copyOut = (from: number, bufferIndex: number) => {
      const count = rowsOf(from);
      const { f32 } = memory;
      s.outputs.forEach((x, n) => {
        const { at } = outputs[n];
        if (at) copyRowsOut(memory, x, from, count, at[bufferIndex]);
      });
      s.partial?.forEach((sums, n) => {
        for (let task = 0; task < Math.ceil(count / s.taskRows); task++) {
          const at = partial[n][bufferIndex] / 4 + task * roundUpToVector(sums.length);
          for (let i = 0; i < sums.length; i++) sums[i] += f32[at + i];
        }
      });
      done.rows = from + count;
    };
    /** Writes the tasks of a chunk; returns how many. */
    const buildTasks = (from: number, bufferIndex: number): number => {
      const { i32 } = memory;
      const count = rowsOf(from);
      const address = (x: RowArray, { at, start = 0 }: Placed, row: number) =>
        at ? at[bufferIndex] + 4 * row * strideOf(x) : start + 4 * (from + row) * x.width;
      let task = 0;
      // No array for each task: a pass over a model builds hundreds.
      for (let row = 0; row < count; row += s.taskRows, task++) {
        const word = (taskAt + task * PipelineStruct.size) / 4;
        i32[word + PipelineStruct.rows / 4] = Math.min(s.taskRows, count - row);
        i32[word + PipelineStruct.count / 4] = s.count;
        let next = word + PipelineStruct.arrays / 4;
        for (let n = 0; n < inputs.length; n++) i32[next++] = address(s.inputs[n], inputs[n], row);
        for (let n = 0; n < outputs.length; n++) i32[next++] = address(s.outputs[n], outputs[n], row);
        for (let n = 0; n < partial.length; n++)
          i32[next++] = partial[n][bufferIndex] + 4 * task * roundUpToVector(s.partial?.[n].length ?? 0);
        for (let n = 0; n < shared.length; n++) i32[next++] = shared[n];
      }
      return task;
    };

    let bufferIndex = 0;
    let pending: number | undefined;
    copyIn(done.rows, bufferIndex);
    for (let from = done.rows; from < s.rows; from += chunk, bufferIndex = 1 - bufferIndex) {
      const count = buildTasks(from, bufferIndex);
      engine.pool.run(kernel, taskAt, PipelineStruct.size, count, threads, s.rowWork * s.taskRows, () => {
        if (pending !== undefined) copyOut(pending, 1 - bufferIndex);
        copyIn(from + chunk, 1 - bufferIndex);
      });
      pending = from;
    }
    if (pending !== undefined) copyOut(pending, 1 - bufferIndex);
  } finally {
    regions.free();
  }
}

/** The address of an array that is in the engine's memory; undefined where its rows need padding or it is both read and written. */
function residentRows(memory: EngineMemory, x: RowArray, others: readonly RowArray[]): Placed | undefined {
  const { data, width } = x;
  if (strideOf(x) !== width || others.some((y) => y.data === data)) return undefined;
  const start = addressOf(memory, data);
  return start === undefined ? undefined : { start };
}

function copyRowsIn(memory: EngineMemory, x: RowArray, from: number, count: number, target: number): void {
  const { data, width, padValue = 0 } = x;
  const view = (data instanceof Int32Array ? memory.i32 : memory.f32) as Float32Array;
  const stride = strideOf(x);
  if (stride === width) {
    view.set(data.subarray(from * width, (from + count) * width), target / 4);
    return;
  }
  for (let row = 0; row < count; row++) {
    const at = target / 4 + row * stride;
    view.set(data.subarray((from + row) * width, (from + row + 1) * width), at);
    view.fill(padValue, at + width, at + stride);
  }
}

function copyRowsOut(memory: EngineMemory, x: RowArray, from: number, count: number, source: number): void {
  const { data, width } = x;
  const view = memory.f32;
  const stride = strideOf(x);
  const at = source / 4;
  if (stride === width) data.set(view.subarray(at, at + count * width), from * width);
  else
    for (let row = 0; row < count; row++)
      data.set(view.subarray(at + row * stride, at + row * stride + width), (from + row) * width);
}
