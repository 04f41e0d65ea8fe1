/**
 * A backend for tests whose data JavaScript cannot access, like a GPU's: tensors have handles, a queue runs the work later and in
 * order, and only `read` returns numbers, asynchronously. Code that passes with it depends only on the contract. The queued work
 * uses the reference backend.
 */
import { Tensor, UnsupportedError } from "heed";
import {
  type ArrayOperation,
  arrayFor,
  type Backend,
  cellsShape,
  type Device,
  type DeviceData,
  type DType,
  type Expression,
  isDeviceData,
  type Operand,
  outputShape,
  type Problem,
  type RowwiseOperation,
  registerBackend,
  rowMajor,
  rowShape,
  selectionShape,
  sizeOf,
  storageOf,
  type Table,
  type TensorStorage,
  type TypedData,
  tablesOf,
  tensorOver,
} from "heed/backend";
import { mapByRows } from "../../../src/backend/map.ts";
import { reference } from "../../../src/reference/backend.ts";
import { placeOn } from "./place.ts";

/** A handle, which gives no access to the numbers. */
class Handle implements DeviceData {
  readonly device: Device = device;
  readonly dtype: DType;
  readonly length: number;
  constructor(dtype: DType, length: number) {
    this.dtype = dtype;
    this.length = length;
  }
}

/** The memory of the device, which only queued work accesses. */
const memory = new Map<DeviceData, TypedData>();
/** Number of storages with numbers, when the queue is empty. */
export async function stored(): Promise<number> {
  await queue;
  return memory.size;
}
/** How often the device was started. */
export let starts = 0;
let queue: Promise<void> = Promise.resolve();
/** Number of operations that were enqueued. */
export let enqueued = 0;

function enqueue(work: () => void): void {
  enqueued++;
  queue = queue.then(work);
}

const dataOf = (storage: TensorStorage): TypedData =>
  isDeviceData(storage) ? (memory.get(storage) as TypedData) : storage;

/** The device. */
export const device: Device = {
  name: "opaque",
  async prepare() {
    if (starts === 0) await Promise.resolve();
    starts++;
  },
  allocate(dtype, length) {
    if (starts === 0) throw new UnsupportedError("device", "opaque: not started; await prepare() first");
    const handle = new Handle(dtype, length);
    enqueue(() => memory.set(handle, arrayFor(dtype, length)));
    return handle;
  },
  write(target, values) {
    const copy = values.slice() as TypedData;
    enqueue(() => memory.set(target as Handle, copy));
  },
  async read(source) {
    await queue;
    return dataOf(source).slice() as TypedData;
  },
  copy(source, shape, strides, offset) {
    const from = source as Handle;
    const target = new Handle(from.dtype, sizeOf(shape));
    enqueue(() => {
      const view = new Tensor(dataOf(from), shape, from.dtype, strides, offset);
      memory.set(target, view.contiguous().data);
    });
    return target;
  },
  dispose: (storage) => enqueue(() => memory.delete(storage as Handle)),
};

/** A tensor on the device with the strides and the offset of `t`, over a copy of its full array. */
export const onDevice = placeOn(device);

/**
 * A CPU tensor over the numbers of a device tensor, for queued work. It keeps the handle, because the tensor may be disposed
 * before the work runs.
 */
function onCpu({ storage, shape, dtype, strides, offset }: Tensor): () => Tensor {
  return () => new Tensor(dataOf(storage), shape, dtype, strides, offset);
}

function operandOnCpu(x: Operand): () => Operand {
  const tensor = onCpu(x.tensor);
  return () => ({ ...x, tensor: tensor() });
}

/** An expression with some tables replaced. */
function withTables<E extends Expression>(expr: E, tables: ReadonlyMap<Table, Table>): E {
  const args = expr.args.map((x) => withTables(x, tables));
  const value = tables.get(expr.value as Table) ?? expr.value;
  if (value === expr.value && args.every((x, n) => x === expr.args[n])) return expr;
  return new (expr.constructor as new (...fields: unknown[]) => E)(expr.op, expr.type, args, value);
}

/** A problem over the numbers of the device, for queued work, and the tables that replace those of the device. */
function problemOnCpu(problem: Problem): () => { problem: Problem; tables: ReadonlyMap<Table, Table> } {
  const { shape, mask, score, deviceSinks, deviceTables } = problem;
  const [query, key, value] = [shape.query, shape.key, shape.value].map(operandOnCpu);
  const masks = problem.tensors.map((t) => onCpu(t.tensor));
  const sinks = deviceSinks && onCpu(deviceSinks);
  const sources = deviceTables.map((t) => onCpu(t.source));
  return () => {
    const tables = new Map(
      deviceTables.map((t, n) => {
        const { type, shape, name, strict, dtype } = t;
        const source = sources[n]();
        return [t, { type, shape, name, strict, dtype, source, data: source.toFloat64() }] as const;
      }),
    );
    const hostProblem: Problem = {
      ...problem,
      ...(mask && { mask: withTables(mask, tables) }),
      ...(score && { score: withTables(score, tables) }),
      ...(sinks && { sinks: sinks().toFloat64() }),
      shape: { ...shape, query: query(), key: key(), value: value() },
      tensors: problem.tensors.map((t, n) => ({ ...t, tensor: masks[n]() })),
    };
    return { problem: hostProblem, tables };
  };
}

/** An array operation whose tensors are views of the numbers of the device, for queued work. */
function tensorsOnCpu(x: unknown): () => unknown {
  if (x instanceof Tensor) return onCpu(x);
  if (Array.isArray(x)) {
    const list = x.map(tensorsOnCpu);
    return () => list.map((later) => later());
  }
  if (typeof x !== "object" || x === null || ArrayBuffer.isView(x)) return () => x;
  const fields = Object.entries(x).map(([name, value]) => [name, tensorsOnCpu(value)] as const);
  return () => Object.fromEntries(fields.map(([name, later]) => [name, later()]));
}

/** A new tensor of the device, and the function that fills it. */
function promised(shape: readonly number[], dtype: DType): { tensor: Tensor; fill: (from: Tensor) => void } {
  const handle = new Handle(dtype, sizeOf(shape));
  return {
    tensor: tensorOver(handle, shape, dtype),
    fill: (from) => memory.set(handle, from.contiguous().data),
  };
}

/** The backend of the device. */
export const opaque: Backend = {
  name: "opaque",
  device: device.name,
  supports: (operation) =>
    operation.kind === "weights" && operation.problem.dropoutP > 0
      ? "it has no dropout for weights"
      : undefined,
  allocate: (shape, dtype) => tensorOver(device.allocate(dtype, sizeOf(shape)), shape, dtype),
  plan: (operation) => ({ ...reference.plan(operation), backend: "opaque" }),
  forward(problem) {
    const dtype = problem.dtype === "float64" ? "float64" : "float32";
    const output = promised(outputShape(problem.shape), problem.dtype);
    const lse = promised(rowShape(problem.shape), dtype);
    const onQueue = problemOnCpu(problem);
    enqueue(() => {
      const state = reference.forward(onQueue().problem);
      output.fill(state.output);
      lse.fill(state.lse);
    });
    return { output: output.tensor, lse: lse.tensor };
  },
  weights(problem, lse, selection) {
    const weights = promised(selectionShape(problem.shape, selection), problem.dtype);
    const [onQueue, hostProblem] = [problemOnCpu(problem), onCpu(lse)];
    enqueue(() => weights.fill(reference.weights(onQueue().problem, hostProblem(), selection)));
    return weights.tensor;
  },
  map(problem, lse, cells) {
    const { heads, rows, columns } = cells;
    const map = promised(
      cellsShape(problem.shape, heads.length, rows.length - 1, columns.length - 1),
      "float32",
    );
    const [onQueue, hostProblem] = [problemOnCpu(problem), onCpu(lse)];
    enqueue(() => {
      const host = onQueue().problem;
      map.fill(mapByRows(host, cells, (selection) => reference.weights(host, hostProblem(), selection)));
    });
    return map.tensor;
  },
  backward(problem, tensors, wanted) {
    const like = (t: Tensor) => promised(t.shape, t.dtype);
    const { query, key, value } = problem.shape;
    const [dQuery, dKey, dValue] = [query, key, value].map((x) => like(x.tensor));
    const masks = problem.tensors.map((t) =>
      wanted.includes("mask") && t.kind === "float" ? like(t.tensor) : undefined,
    );
    const sinks =
      wanted.includes("sinks") && (problem.sinks ?? problem.deviceSinks)
        ? promised([problem.shape.Hq], problem.dtype === "float64" ? "float64" : "float32")
        : undefined;
    const read = wanted.includes("tables") && problem.score ? tablesOf(problem.score) : [];
    const tables = read
      .filter((t) => t.type === "float")
      .map((t) => [t, promised(t.shape, t.dtype)] as const);
    const onQueue = problemOnCpu(problem);
    const [dOutput, output, lse] = [tensors.dOutput, tensors.output, tensors.lse].map(onCpu);
    enqueue(() => {
      const { problem: hostProblem, tables: replaced } = onQueue();
      const cpu = { dOutput: dOutput(), output: output(), lse: lse() };
      const result = reference.backward(hostProblem, cpu, wanted);
      dQuery.fill(result.dQuery);
      dKey.fill(result.dKey);
      dValue.fill(result.dValue);
      masks.forEach((mask, n) => mask?.fill(result.masks[n] as Tensor));
      sinks?.fill(result.sinks as Tensor);
      for (const [t, table] of tables) table.fill(result.tables.get(replaced.get(t) ?? t) as Tensor);
    });
    return {
      dQuery: dQuery.tensor,
      dKey: dKey.tensor,
      dValue: dValue.tensor,
      masks: masks.map((mask) => mask?.tensor),
      ...(sinks && { sinks: sinks.tensor }),
      tables: new Map(tables.map(([t, { tensor }]) => [t, tensor])),
    };
  },
  matmul(product) {
    const { accumulate, shape, dtype } = product;
    const result = accumulate ? undefined : promised(shape, dtype);
    const [a, b] = [product.a, product.b].map(operandOnCpu);
    const bias = product.bias && operandOnCpu(product.bias);
    const into = accumulate && onCpu(accumulate);
    enqueue(() => {
      const cpu = { ...product, a: a(), b: b(), bias: bias?.() };
      const filled = reference.matmul({ ...cpu, ...(into && { accumulate: into() }) });
      result?.fill(filled);
    });
    return accumulate ?? (result as { tensor: Tensor }).tensor;
  },
  rowwise(operation) {
    const storage = storageOf(operation);
    enqueue(() => {
      const cpu: Record<string, unknown> = { ...operation };
      for (const [name, s] of Object.entries(storage)) cpu[name] = dataOf(s);
      reference.rowwise(cpu as unknown as RowwiseOperation);
    });
  },
  array(operation) {
    const onQueue = tensorsOnCpu(operation);
    enqueue(() => reference.array(onQueue() as ArrayOperation));
  },
};

registerBackend(opaque, device);

/** The numbers of a tensor of any device, as a CPU tensor. */
export async function read<D extends DType>(t: Tensor<D>): Promise<Tensor<D>> {
  return new Tensor(await t.read(), t.shape, t.dtype, rowMajor(t.shape));
}
