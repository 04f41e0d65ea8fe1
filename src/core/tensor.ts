/**
 * A tensor: an array with a shape, strides and an offset, and its views. Anything of the shape
 * `{ data, shape | dims, dtype | type, strides | stride?, offset? }` is read as one: ONNX Runtime, transformers.js, ndarray,
 * zarrita, plain objects. Reading one copies nothing. construct.ts makes new tensors; device/tensor.ts implements tensors on
 * other devices.
 */
// long: a tensor and the strides that describe it; a call enters this one file for both.

import { activeScope, disposeTensor, resultArray } from "./arena.ts";
import {
  fromFlat,
  fromNested,
  isNested,
  type NestedBigints,
  type NestedBooleans,
  type NestedNumbers,
} from "./create/nested.ts";
import { placed, placementOn, type TensorStorage } from "./device/device.ts";
import {
  arrayLike,
  checkArray,
  checkDType,
  type DataOf,
  DTYPES,
  type DType,
  dtypeNamed,
  dtypeOfArray,
  type FloatDType,
  isFloat,
  readerOf,
  type TypedData,
} from "./dtype.ts";
import {
  argumentError,
  checkCount,
  formatValue,
  isList,
  OptionError,
  refuseValue,
  ShapeError,
  UnsupportedError,
} from "./errors.ts";
import {
  type FormatOptions,
  type NestedValues,
  nestedArray,
  type TensorJson,
  tensorJson,
  tensorText,
} from "./format.ts";
import { checkKnown } from "./known-names.ts";
import { activeRecording, isResult, recordMove } from "./recording/recording.ts";

/** Nested arrays of numbers, booleans or bigints, read as a tensor. */
export type NestedList = readonly (NestedNumbers | NestedBooleans | NestedBigints)[];

/** Anything heed reads as a tensor: an object with data and shape, or nested arrays. */
export type TensorLike = TensorObject | NestedList;

/** An object that heed reads as a tensor. `strides` and `offset` count elements. */
export interface TensorObject {
  readonly data: unknown;
  readonly shape?: readonly number[];
  readonly dims?: readonly number[];
  readonly dtype?: string;
  readonly type?: string;
  readonly strides?: readonly number[];
  readonly stride?: readonly number[];
  readonly offset?: number;
  /** True where the first axis runs fastest and no strides are given (npyjs, NumPy files). */
  readonly fortranOrder?: boolean;
}

/** The dtype in the type of a tensor or a list, if it is one of `Allowed`; all of these where the type does not say. */
export type DTypeIn<T, Allowed extends FloatDType> = T extends readonly unknown[]
  ? "float32"
  : T extends { readonly dtype: infer D }
    ? D extends Allowed
      ? D
      : Allowed
    : T extends { readonly data: Float32Array }
      ? "float32"
      : T extends { readonly data: Float64Array }
        ? "float64"
        : Allowed;

/** The float dtype in the type of a tensor; all four where the type does not say. */
export type FloatDTypeOf<T> = DTypeIn<T, FloatDType>;

/** Keys of the methods that device/tensor.ts overrides. Not public. */
export const VIEW: unique symbol = /* @__PURE__ */ Symbol("view");
export const COPY: unique symbol = /* @__PURE__ */ Symbol("copy");

/** heed's own tensor; `tensor(data, shape)` makes one and checks it. Row-major unless `strides` say otherwise; `dims` and `type` are what ONNX Runtime calls `shape` and `dtype`. */
export class Tensor<D extends DType = DType> {
  readonly data: DataOf<D>;
  readonly shape: readonly number[];
  readonly dtype: D;
  /** Distance in elements between neighbors along each axis. */
  readonly strides: readonly number[];
  /** Element of `data` at which the tensor begins. */
  readonly offset: number;

  /**
   * Over a typed array, without a copy; `tensor` also takes lists, and finds the dtype. Public, not private, because tensors of other devices
   * extend the class.
   *
   * @throws ShapeError, DTypeError, OptionError
   */
  constructor(data: TypedData, shape: readonly number[], dtype: D, strides?: readonly number[], offset = 0) {
    if (arguments.length > 5) checkCount("new Tensor", arguments, 5);
    const row = typeof dtype === "string" ? DTYPES[dtype] : undefined;
    if (!(row && data instanceof row.array && Array.isArray(shape))) checkFields(data, shape, dtype);
    this.data = data as DataOf<D>;
    this.shape = Object.isFrozen(shape) ? shape : Object.freeze(shape.slice());
    this.dtype = dtype;
    this.strides = strides === undefined ? rowMajor(shape) : (strides ?? []);
    this.offset = offset;
    const { length } = data as Float32Array;
    // A tensor of another device has no array, and brings its strides.
    if (
      !isWithin(length, shape, this.strides, offset) &&
      (length > 0 || strides === undefined || new.target === Tensor)
    ) {
      checkShape("new Tensor", shape);
      checkExtent("new Tensor", this, length);
    }
    activeScope?.tensors.push(this);
  }

  /** The same as `shape`: the name that onnxruntime and transformers.js use. */
  get dims(): readonly number[] {
    return this.shape;
  }
  /** The same as `dtype`: the name that onnxruntime and transformers.js use. */
  get type(): D {
    return this.dtype;
  }
  /** Number of elements. */
  get size(): number {
    return sizeOf(this.shape);
  }
  /** Name of the device that stores the elements: `"cpu"`, or one that `to` takes. */
  get device(): string {
    return "cpu";
  }
  /** What the elements are stored in: `data` on the CPU, a handle on another device. */
  get storage(): TensorStorage {
    return this.data;
  }

  /** The element at `index`, one number for each axis; negative numbers count from the end. */
  at(...index: number[]): number {
    if (index.length !== this.shape.length)
      throw new ShapeError(
        "rank",
        `Tensor.at: ${index.length} indices for a tensor of ${this.shape.length} axes; pick of heed/nn takes rows and columns`,
      );
    let position = this.offset;
    for (let axis = 0; axis < index.length; axis++) {
      const n = this.shape[axis];
      const i = Number.isInteger(index[axis]) && index[axis] < 0 ? index[axis] + n : index[axis];
      if (!(Number.isInteger(i) && i >= 0 && i < n))
        throw new ShapeError(
          "index",
          `Tensor.at: index ${formatValue(index[axis])} on axis ${axis} of length ${n}`,
        );
      position += i * this.strides[axis];
    }
    return readerOf(this.dtype, attached(this).data)(position);
  }

  /** A view with two axes exchanged (the last two by default); nothing is copied. Other orders are several exchanges. Recorded. */
  transpose(a?: number, b?: number): Tensor<D>;
  transpose(a = -2, b = -1, ...more: unknown[]): Tensor<D> {
    if (more.length > 0) throw axesError([a, b, ...more]);
    const y = transposed(this, a, b);
    recordMove("transpose", this, y, (d) => transposed(d, a, b));
    return y;
  }

  /** The same elements in another shape; copies only where the strides require it. One axis may be −1. Recorded. */
  reshape(shape: readonly number[]): Tensor<D> {
    checkCount("Tensor.reshape", arguments, 1);
    const y = reshaped(this, shape);
    recordMove("reshape", this, y, (d) => reshaped(d, this.shape));
    return y;
  }

  /** True where the elements are stored in row-major order without gaps. */
  isContiguous(): boolean {
    if (arguments.length > 0) checkCount("Tensor.isContiguous", arguments, 0);
    const { shape, strides } = this;
    let step = 1;
    let dense = true;
    for (let i = shape.length - 1; i >= 0; step *= shape[i--])
      if (shape[i] !== 1 && strides[i] !== step) dense = false;
    return dense || step === 0;
  }

  /** A row-major copy. Recorded. */
  contiguous(): Tensor<D> {
    checkCount("Tensor.contiguous", arguments, 0);
    const y = this[COPY]();
    recordMove("contiguous", this, y, (d) => d);
    return y;
  }

  /** The tensor itself where its elements are stored in row-major order without gaps, else a row-major copy. Recorded. */
  dense(): Tensor<D> {
    if (arguments.length > 0) checkCount("Tensor.dense", arguments, 0);
    return this.isContiguous() ? this : this.contiguous();
  }

  /** @internal See `viewOf`. */
  [VIEW](shape: readonly number[], strides?: readonly number[], offset?: number): Tensor<D> {
    return new Tensor(attached(this).data, shape, this.dtype, strides, offset);
  }

  /** @internal A row-major copy, not recorded. */
  [COPY](): Tensor<D> {
    const out =
      this.dtype === "float32" ? resultArray(this.size) : arrayLike(this.data, this.dtype, this.size);
    const from = attached(this).data as Float32Array;
    const to = out as Float32Array;
    let next = 0;
    eachRow(this.shape, this.strides, this.offset, (start, count, step) => {
      if (step === 1 && count >= 8) to.set(from.subarray(start, start + count), next);
      else for (let i = 0; i < count; i++) to[next + i] = from[start + i * step];
      next += count;
    });
    return new Tensor(out, this.shape, this.dtype);
  }

  /** The elements in row-major order as numbers. Tensors of another device: `read`. */
  toFloat64(): Float64Array {
    checkCount("Tensor.toFloat64", arguments, 0);
    const out = new Float64Array(this.size);
    const read = readerOf(this.dtype, attached(this).data);
    let next = 0;
    eachRow(this.shape, this.strides, this.offset, (start, count, step) => {
      for (let i = 0; i < count; i++) out[next++] = read(start + i * step);
    });
    return out;
  }

  /**
   * The elements as nested arrays: numbers, booleans for bool, bigints for int64 numbers above 2^53.
   *
   * @example
   * tensor([[1, 2], [3, 4]]).transpose().toArray(); // [[1, 3], [2, 4]]
   */
  toArray(): NestedValues {
    checkCount("Tensor.toArray", arguments, 0);
    return nestedArray(attached(this));
  }

  /** What `JSON.stringify` writes: dtype, shape and a flat list. `tensor(JSON.parse(text))` reads it again. */
  toJSON(): TensorJson {
    return tensorJson(attached(this));
  }

  /** Shape, dtype and the elements in rows that line up; long tensors by their edges. */
  toString(options: FormatOptions = {}): string {
    checkCount("Tensor.toString", arguments, 1);
    return tensorText(attached(this), options);
  }

  /** `${x}` is the text of `toString`; in arithmetic, where JavaScript would make NaN, it throws. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.toString();
    throw new UnsupportedError(
      "arithmetic",
      "Tensor: JavaScript's operators do not compute with tensors; use multiply(x, 2), add(x, y) … of heed/nn, or x.at(0) for one number",
    );
  }

  /** What `console.log` shows in Node, Bun and Deno. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    try {
      return this.toString();
    } catch (error) {
      return `tensor [${this.shape.join(", ")}] ${this.dtype} (${(error as Error).message})`;
    }
  }

  /**
   * The elements in row-major order, in an array of the tensor's dtype: a copy. On another device it resolves when the work
   * that was enqueued before has run.
   */
  async read(): Promise<DataOf<D>> {
    checkCount("Tensor.read", arguments, 0);
    const { data, offset, size } = denseOf(attached(this));
    return data.slice(offset, offset + size) as DataOf<D>;
  }

  /**
   * A copy of the tensor on another device: `"cpu"`, or a device that a backend registered, by its name or as an object with that
   * name, such as the result of `webgpu()`. Not recorded: move
   * tensors before `tape.run`.
   *
   * @throws OptionError where no device has that name
   */
  async to(device: string | { readonly name: string }): Promise<Tensor<D>> {
    checkCount("Tensor.to", arguments, 1);
    if (typeof device === "object" && device?.name) return this.to(device.name);
    if (device === this.device) return this;
    if (device === "cpu") return new Tensor(await this.read(), this.shape, this.dtype);
    const target = placementOn("Tensor.to", device as string);
    const data = await this.read();
    await target.device.prepare?.();
    return target.place(data, this.shape, this.dtype) as Tensor<D>;
  }

  /**
   * Releases the elements of this tensor, not of its views: reading them throws afterwards. A device frees the memory
   * when all tensors over it are disposed; on the CPU the garbage collector frees it, with or without this call. Work that
   * is already enqueued still runs. Disposing twice does nothing.
   *
   * @example
   * const x = ones([2]);
   * x.dispose();
   */
  dispose(): void {
    checkCount("Tensor.dispose", arguments, 0);
    disposeTensor(this);
  }
}

/** Fields of an object that is read as a tensor. */
export const FIELDS = [
  "data",
  "shape",
  "dims",
  "dtype",
  "type",
  "strides",
  "stride",
  "offset",
  "fortranOrder",
  "size",
];

/**
 * Reads anything tensor-like as a Tensor, checked: dtype, array class, that the elements are those of the array. Nested arrays take the
 * dtype and the device of `like`.
 */
export function asTensor(what: string, value: TensorLike | Tensor, like?: Tensor): Tensor {
  if (value instanceof Tensor) {
    return attached(value, what);
  }
  if (isNested(value)) {
    const nested = fromNested(what, value, like && isFloat(like.dtype) ? like.dtype : undefined);
    const t = new Tensor(nested.data, nested.shape, nested.dtype);
    return like ? placed(what, t, like.device) : t;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new ShapeError(
      "tensor",
      `${what}: expected a tensor { data, shape } or nested arrays, got ${formatValue(value)}${value === undefined ? "; a name that a Map or an object does not have gives undefined (x[0] is pick(x, 0) of heed/nn)" : ArrayBuffer.isView((value as unknown as unknown[] | null)?.[0]) ? "; rows that are typed arrays: stack(rows.map((row) => tensor(row)))" : ""}`,
      { got: value },
    );
  const object = value as TensorObject;
  if (typeof object.data === "function")
    throw new UnsupportedError(
      "lazy-tensor",
      `${what}: its data is a function; pass { data: await t.data(), shape: t.shape }`,
    );
  const shape = object.shape ?? object.dims;
  if (!isList(shape))
    throw new ShapeError(
      "tensor",
      `${what}: expected a tensor { data, shape }, got ${formatValue(value)} without a shape`,
      { got: value },
    );
  if (Object.getPrototypeOf(object) === Object.prototype) checkKnown(`${what}: a tensor`, object, FIELDS);
  const lengths = Array.from(shape as readonly number[]);
  checkShape(what, lengths);
  const label = object.dtype ?? object.type;
  // A tape does not record the operations of another copy of heed: the gradient would be lost silently.
  const isForeign = "isContiguous" in object && isFloat(label as DType);
  if (activeRecording && (isForeign || isResult(object.data)))
    throw new UnsupportedError(
      "derivative",
      `${what}: ${isForeign ? "no gradient is defined through a tensor of another copy of heed; a constant is tensor(x.data, x.shape)" : "these are the numbers of a recorded result, through which no gradient would flow; use the tensor itself, with reshape, or stopGradient(x) of heed/nn for a constant"}`,
    );
  const named = dtypeNamed(what, label);
  checkAgreement(what, object, named);
  const flat = Array.isArray(object.data) ? fromFlat(what, object.data, named) : undefined;
  const data = flat?.data ?? (object.data as TypedData);
  const dtype = flat?.dtype ?? named ?? dtypeOfArray(what, data);
  checkArray(what, data, dtype);
  const strides =
    object.strides ??
    object.stride ??
    (object.fortranOrder ? rowMajor([...lengths].reverse()).reverse() : undefined);
  const offset = object.offset ?? 0;
  const place = {
    shape: lengths,
    strides: strides === undefined ? rowMajor(lengths) : Array.from(strides),
    offset,
  };
  checkExtent(what, place, data.length);
  const view = new Tensor(data, lengths, dtype, place.strides, offset);
  const isPart = object.strides ?? object.stride ?? object.offset;
  if (isPart === undefined && data.length !== view.size)
    throw new ShapeError(
      "extent",
      `${what}: [${lengths.join(", ")}] has ${view.size} numbers, the array has ${data.length}; a part of it is data.subarray(0, ${view.size}), or { data, shape, offset }`,
      { shape: lengths, length: data.length },
    );
  return view;
}

/** Throws where two fields with one meaning disagree. */
function checkAgreement(what: string, object: TensorObject, named: DType | undefined): void {
  const { shape, dims, dtype, type, strides, stride, fortranOrder } = object;
  const differ = (a?: readonly number[], b?: readonly number[]) =>
    a !== undefined && b !== undefined && Array.from(a).join() !== Array.from(b).join();
  const pair = differ(shape, dims)
    ? "shape and dims"
    : differ(strides, stride)
      ? "strides and stride"
      : dtype !== undefined && type !== undefined && dtypeNamed(what, type) !== named
        ? "dtype and type"
        : fortranOrder && (strides ?? stride) !== undefined
          ? "fortranOrder and strides"
          : undefined;
  if (pair)
    throw new ShapeError("tensor", `${what}: ${pair} contradict each other; leave one of them out`, { pair });
}

/** Whether all elements of a tensor are those of an array of this length, and its numbers are integers. */
function isWithin(
  length: number,
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
): boolean {
  if (!(Number.isSafeInteger(offset) && offset >= 0 && strides.length === shape.length)) return false;
  let size = 1;
  let low = offset;
  let high = offset;
  // `elementRange` without its array: every tensor comes this way.
  for (let axis = 0; axis < shape.length; axis++) {
    const n = shape[axis];
    if (!(Number.isSafeInteger(n) && n >= 0 && Number.isSafeInteger(strides[axis]))) return false;
    size *= n;
    const reach = (n - 1) * strides[axis];
    if (reach < 0) low += reach;
    else high += reach;
  }
  return size === 0 || (low >= 0 && high < length);
}

function checkFields(data: unknown, shape: unknown, dtype: unknown): void {
  if (!ArrayBuffer.isView(data))
    throw argumentError("new Tensor", "a typed array; tensor(…) makes a tensor of anything else", data);
  if (!Array.isArray(shape))
    throw argumentError("new Tensor", "a list of lengths as shape; tensor(data, shape) checks it", shape);
  checkDType("new Tensor", dtype as DType);
  // A tensor of another device has no array.
  if ((data as Uint8Array).length > 0) checkArray("new Tensor", data, dtype as DType);
}

/** The tensor. Throws where its array was transferred to another thread or shrank, or another shape was assigned. */
function attached<T extends Tensor>(t: T, what = "Tensor"): T {
  const { length } = t.storage;
  if (t.size === 0) return t;
  if (length === 0)
    throw new ShapeError(
      "detached",
      `${what}: the array of [${t.shape.join(", ")}] was transferred to another thread; send a copy`,
    );
  if (t.device === "cpu" && (t.strides.length !== t.shape.length || elementRange(t)[1] >= length))
    checkExtent(what, t, length);
  return t;
}

function checkExtent(what: string, t: Pick<Tensor, "shape" | "strides" | "offset">, length: number): void {
  if (!Array.isArray(t.strides)) refuseValue(what, "strides", "a list of integers", t.strides);
  if (t.strides.length !== t.shape.length || !Array.from(t.strides).every(Number.isSafeInteger))
    throw new ShapeError(
      "strides",
      `${what}: strides ${formatValue(t.strides)} must be one integer for each axis of [${t.shape.join(", ")}]`,
    );
  if (!(Number.isSafeInteger(t.offset) && t.offset >= 0))
    throw new ShapeError("offset", `${what}: offset must be an integer ≥ 0, got ${formatValue(t.offset)}`, {
      got: t.offset,
    });
  const size = sizeOf(t.shape);
  if (size === 0) return;
  const [low, high] = elementRange(t);
  const isPlain = t.offset === 0 && t.strides.join() === rowMajor(t.shape).join();
  if (low < 0 || high >= length)
    throw new ShapeError(
      "extent",
      isPlain
        ? `${what}: [${t.shape.join(", ")}] needs ${size} numbers, the array has ${length}`
        : `${what}: shape [${t.shape.join(", ")}] with strides [${t.strides.join(", ")}] and offset ${t.offset} reads elements ${low} to ${high}, the array has ${length}`,
      { shape: t.shape, strides: t.strides, offset: t.offset, length },
    );
}

/** The device that all tensors are on. Throws an error that names the conversion where they are on several. */
export function sameDevice(caller: string, tensors: readonly (readonly [string, string])[]): string {
  const [[first, device]] = tensors;
  for (const [name, other] of tensors)
    if (other !== device)
      throw new OptionError(
        "device",
        `${caller}: ${first} is on the device "${device}", but ${name} is on "${other}"; move one of them, e.g. await ${name}.to("${device}")`,
        { devices: Object.fromEntries(tensors) },
      );
  return device;
}

/** A view of a tensor's elements in another shape, not recorded: for use inside an operation. @beta */
export function viewOf<T extends Tensor>(
  x: T,
  shape: readonly number[],
  strides?: readonly number[],
  offset?: number,
): T {
  if (!(x instanceof Tensor)) throw argumentError("viewOf", "a Tensor", x);
  return x[VIEW](shape, strides, offset) as T;
}

/** `Tensor.dense`, not recorded: for use inside an operation. */
export function denseOf<T extends Tensor>(x: T): T {
  return x.isContiguous() ? x : (x[COPY]() as T);
}

const axesError = (got: unknown) =>
  argumentError(
    "Tensor.transpose",
    "two axes to exchange as numbers, x.transpose(0, 1); any order of axes is permute(x, [1, 0]) of heed/nn",
    got,
  );

/** `Tensor.transpose`, not recorded: for use inside an operation. */
export function transposed<T extends Tensor>(x: T, a = -2, b = -1): T {
  const order = x.shape.map((_, i) => i);
  if (!(Number.isInteger(a) && Number.isInteger(b))) throw axesError(Number.isInteger(a) ? b : a);
  const [i, j] = [a, b].map((axis) => (axis < 0 ? axis + order.length : axis));
  if (!(i in order && j in order))
    throw new ShapeError("axis", `Tensor.transpose: axes ${a}, ${b} of a tensor of ${order.length} axes`);
  [order[i], order[j]] = [order[j], order[i]];
  return viewOf(
    x,
    order.map((axis) => x.shape[axis]),
    order.map((axis) => x.strides[axis]),
    x.offset,
  );
}

/** `Tensor.reshape`, not recorded: for use inside an operation. */
export function reshaped<T extends Tensor>(x: T, shape: readonly number[]): T {
  if (!(Array.isArray(shape) && shape.every(Number.isSafeInteger)))
    throw new ShapeError(
      "shape",
      `Tensor.reshape: shape must be a list of lengths such as [2, -1], got ${formatValue(shape)}`,
      { got: shape },
    );
  const open = shape.indexOf(-1);
  if (shape.indexOf(-1, open + 1) > open)
    throw new ShapeError("reshape", `Tensor.reshape: only one axis may be -1, got [${shape.join(", ")}]`);
  const count = shape.reduce((n, length) => (length === -1 ? n : n * length), 1);
  const full = open < 0 ? [...shape] : shape.map((length, i) => (i === open ? x.size / count : length));
  if (sizeOf(full) !== x.size || !full.every((length) => Number.isInteger(length) && length >= 0))
    throw new ShapeError(
      "reshape",
      `Tensor.reshape: [${x.shape.join(", ")}] has ${x.size} elements, [${shape.join(", ")}] does not`,
    );
  const dense = denseOf(x);
  return viewOf(dense, full, undefined, dense.offset);
}

/** Throws unless every axis is an integer ≥ 0 and the product is an exact integer. */
export function checkShape(what: string, shape: readonly number[]): void {
  if (!isList(shape))
    throw new ShapeError("shape", `${what}: shape must be a list of lengths, got ${formatValue(shape)}`);
  let size = 1;
  for (const n of shape) {
    if (!(Number.isSafeInteger(n) && n >= 0))
      throw new ShapeError(
        "shape",
        `${what}: every axis must be an integer ≥ 0, got ${formatValue([...shape])}`,
        { shape },
      );
    size *= n;
  }
  if (!Number.isSafeInteger(size))
    throw new ShapeError("size", `${what}: [${shape.join(", ")}] has more than 2^53 elements`, { shape });
}

/** The lowest and the highest element of its array that a tensor with elements reads. */
export function elementRange({
  shape,
  strides,
  offset,
}: {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}): [low: number, high: number] {
  let low = offset;
  let high = offset;
  for (let axis = 0; axis < shape.length; axis++) {
    const reach = (shape[axis] - 1) * strides[axis];
    if (reach < 0) low += reach;
    else high += reach;
  }
  return [low, high];
}

/** Strides of a row-major tensor. */
export function rowMajor(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

/** Number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (let axis = 0; axis < shape.length; axis++) size *= shape[axis];
  return size;
}

/** Calls `visit(start, count, step)` for each innermost row of a strided tensor, in row-major order. */
export function eachRow(
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  visit: (start: number, count: number, step: number) => void,
): void {
  if (sizeOf(shape) === 0) return;
  if (shape.length === 0) {
    visit(offset, 1, 1);
    return;
  }
  const last = shape.length - 1;
  const index = new Array<number>(last).fill(0);
  let start = offset;
  for (;;) {
    visit(start, shape[last], strides[last]);
    let axis = last - 1;
    for (; axis >= 0; axis--) {
      start += strides[axis];
      if (++index[axis] < shape[axis]) break;
      start -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}
