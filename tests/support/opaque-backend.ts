/**
 * A backend for tests whose data JavaScript cannot reach: tensors hold handles, work runs in order on a queue, later, and only
 * `read` brings numbers back, asynchronously. It stands for a GPU: whatever passes with it needs nothing but the contract. It
 * computes with the reference backend, behind the queue.
 */
import { Tensor, UnsupportedError } from "heed";
import {
  type ArrayOperation,
  arrayFor,
  type Backend,
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
  sizeOf,
  storageOf,
  type Table,
  type TensorStorage,
  type TypedData,
  tablesOf,
  tensorOver,
  viewOf,
} from "heed/backend";
import { reference } from "../../src/reference/backend.ts";

/** A handle: no field of it leads to the numbers. */
class Handle implements DeviceData {
  readonly device: Device = device;
  readonly dtype: DType;
  readonly length: number;
  constructor(dtype: DType, length: number) {
    this.dtype = dtype;
    this.length = length;
  }
}

/** The memory of the device, which only queued work looks at. */
const memory = new Map<DeviceData, TypedData>();
/** Number of storages that hold numbers, once the queue is empty. */
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

const device: Device = {
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

/** A tensor on the device with the strides and the offset of `t`, over a copy of all of its array. */
export function onDevice<D extends DType>(t: Tensor<D>): Tensor<D> {
  const handle = device.allocate(t.dtype, t.data.length) as Handle;
  device.write(handle, t.data);
  return viewOf(tensorOver(handle, [t.data.length], t.dtype), t.shape, t.strides, t.offset);
}

/** A CPU tensor over the numbers of a device tensor: for use in queued work. */
const onCpu = (t: Tensor): Tensor => new Tensor(dataOf(t.storage), t.shape, t.dtype, t.strides, t.offset);
const operandOnCpu = (x: Operand): Operand => ({ ...x, tensor: onCpu(x.tensor) });

/** An expression over tables whose numbers are on the CPU, each with the table that it stands for. */
function expressionOnCpu<E extends Expression>(expr: E, originals: Map<Table, Table>): E {
  const args = expr.args.map((x) => expressionOnCpu(x, originals));
  let { value } = expr;
  if (expr.op === "table" && (value as Table).source.device !== "cpu") {
    const table = value as Table;
    const source = onCpu(table.source);
    const known = [...originals].find(([, original]) => original === table)?.[0];
    const { type, shape, name, strict, dtype } = table;
    value = known ?? { type, shape, name, strict, dtype, source, data: source.toFloat64() };
    originals.set(value, table);
  }
  if (value === expr.value && args.every((x, n) => x === expr.args[n])) return expr;
  return new (expr.constructor as new (...fields: unknown[]) => E)(expr.op, expr.type, args, value);
}

/** A problem over the numbers of the device; `originals` collects the tables that were replaced. */
function problemOnCpu(problem: Problem, originals = new Map<Table, Table>()): Problem {
  const { shape, tensors, mask, score, deviceSinks } = problem;
  const { query, key, value } = shape;
  return {
    ...problem,
    ...(mask && { mask: expressionOnCpu(mask, originals) }),
    ...(score && { score: expressionOnCpu(score, originals) }),
    ...(deviceSinks && { sinks: onCpu(deviceSinks).toFloat64() }),
    shape: { ...shape, query: operandOnCpu(query), key: operandOnCpu(key), value: operandOnCpu(value) },
    tensors: tensors.map((t) => ({ ...t, tensor: onCpu(t.tensor) })),
  };
}

/** An operation whose tensors are views of the numbers of the device. */
function tensorsOnCpu(x: unknown): unknown {
  if (x instanceof Tensor) return onCpu(x);
  if (Array.isArray(x)) return x.map(tensorsOnCpu);
  if (typeof x !== "object" || x === null || ArrayBuffer.isView(x)) return x;
  return Object.fromEntries(Object.entries(x).map(([name, value]) => [name, tensorsOnCpu(value)]));
}

/** A new tensor of the device, and what fills it. */
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
    enqueue(() => {
      const state = reference.forward(problemOnCpu(problem));
      output.fill(state.output);
      lse.fill(state.lse);
    });
    return { output: output.tensor, lse: lse.tensor };
  },
  weights(problem, lse, selection) {
    const { shape, dtype } = problem;
    const full = rowShape(shape, shape.Nk);
    full[full.length - 2] = selection.rows.length;
    if (shape.heads) full[full.length - 3] = selection.heads.length;
    const weights = promised(full, dtype);
    enqueue(() => weights.fill(reference.weights(problemOnCpu(problem), onCpu(lse), selection)));
    return weights.tensor;
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
    enqueue(() => {
      const { dOutput, output, lse } = tensors;
      const cpu = { dOutput: onCpu(dOutput), output: onCpu(output), lse: onCpu(lse) };
      const originals = new Map<Table, Table>();
      const result = reference.backward(problemOnCpu(problem, originals), cpu, wanted);
      const gradients = new Map([...result.tables].map(([t, g]) => [originals.get(t) ?? t, g]));
      dQuery.fill(result.dQuery);
      dKey.fill(result.dKey);
      dValue.fill(result.dValue);
      masks.forEach((mask, n) => mask?.fill(result.masks[n] as Tensor));
      sinks?.fill(result.sinks as Tensor);
      for (const [t, table] of tables) table.fill(gradients.get(t) as Tensor);
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
    enqueue(() => {
      const into = accumulate && onCpu(accumulate);
      const { a, b, bias } = product;
      const cpu = { ...product, a: operandOnCpu(a), b: operandOnCpu(b), bias: bias && operandOnCpu(bias) };
      const filled = reference.matmul({ ...cpu, ...(into && { accumulate: into }) });
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
    enqueue(() => reference.array(tensorsOnCpu(operation) as ArrayOperation));
  },
};

registerBackend(opaque, device);

/** The numbers of a tensor of any device, as a CPU tensor. */
export async function read<D extends DType>(t: Tensor<D>): Promise<Tensor<D>> {
  return new Tensor(await t.read(), t.shape, t.dtype, rowMajor(t.shape));
}
