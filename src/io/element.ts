/**
 * Elements of files: number formats by their safetensors and NumPy names, and the conversion between bytes and
 * arrays. A tensor read from a file is heed's `Tensor` where the dtype is one of heed's; the others
 * (integers of other widths, 8-bit floats as raw bytes) are plain objects `{ data, shape, dtype }`. Always
 * row-major; where byte order and alignment allow, `data` is a view of the bytes.
 */
import type { ArrayClass, DType, DTypeRow, TypedData } from "../core/dtype.ts";
import { arrayName, checkArray, DTYPES, dtypeOf, FILE_ROWS, isDType } from "../core/dtype.ts";
import { DTypeError, formatValue, isMap } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";
import { asTensor, FIELDS, sizeOf, Tensor, type TensorLike, type TensorObject } from "../core/tensor.ts";

/** Dtypes of files: heed's own, the other integers, and 8-bit floats under their safetensors name. */
export type FileDType = DType | keyof typeof FILE_ROWS;

/** Arrays of tensors of files. */
export type FileData = TypedData | Int8Array | Int16Array | Uint32Array | BigUint64Array;

/** A tensor of a file: heed's `Tensor` where the dtype is heed's, otherwise a plain object; row-major, no offset. `tensor(t)` has `at`, `toArray` and `toFloat64` in the types too. */
export interface FileTensor {
  readonly data: FileData;
  readonly shape: readonly number[];
  readonly dtype: FileDType;
}

/** Tensors by name, to write. */
export type NamedTensors = ReadonlyMap<string, TensorLike> | Readonly<Record<string, TensorLike>>;

/** The columns of a dtype that files need. */
type Element = Pick<DTypeRow, "bytes" | "safetensors" | "npy"> & { readonly array: ArrayClass<FileData> };

/** Every dtype of files. */
export const ELEMENTS: Readonly<Record<FileDType, Element>> = { ...DTYPES, ...FILE_ROWS };

/** Their names. */
export const FILE_DTYPES = /* @__PURE__ */ Object.keys(ELEMENTS) as FileDType[];

/** The dtype named `name` in the given column of the table. */
export function dtypeNamed(column: "safetensors" | "npy", name: string): FileDType | undefined {
  return FILE_DTYPES.find((dtype) => ELEMENTS[dtype][column] === name);
}

/** True where this machine stores the high byte first. */
const HOST_BIG = /* @__PURE__ */ new Uint8Array(/* @__PURE__ */ new Uint16Array([1]).buffer)[0] === 0;

/** Integer arrays of each width, to copy elements as bits: a copy through a number could change NaN payloads. */
const BITS = { 1: Uint8Array, 2: Uint16Array, 4: Int32Array, 8: BigInt64Array } as const;
const BITS_DTYPE = { 1: "uint8", 2: "float16", 4: "int32", 8: "int64" } as const;

/** The byte layout of a file's elements. */
export interface Order {
  /** High byte first. */
  readonly bigEndian?: boolean;
  /** First axis fastest. */
  readonly fortran?: boolean;
  /** Elements from one index of an axis to the next. */
  readonly strides?: readonly number[];
}

/** The tensor that `bytes` hold: a view of them where they are aligned, row-major and of this machine's byte order. */
export function fromBytes(
  dtype: FileDType,
  shape: readonly number[],
  bytes: Uint8Array,
  order: Order = {},
): FileTensor {
  const width = ELEMENTS[dtype].bytes;
  if (width > 1 && (order.bigEndian ?? false) !== HOST_BIG) bytes = swapped(bytes, width);
  else if (bytes.byteOffset % width !== 0) bytes = bytes.slice();
  if (order.strides || (order.fortran && shape.length > 1))
    bytes = rowMajorBytes(width, shape, bytes, order.strides);
  const data = new ELEMENTS[dtype].array(bytes.buffer, bytes.byteOffset, bytes.byteLength / width);
  return isDType(dtype)
    ? (new Tensor(data as TypedData, shape, dtype) as FileTensor)
    : { data, shape, dtype };
}

/** A copy with the bytes of each element in the opposite order. (Reversing subarrays is 20 times slower: measured, Node 20.) */
function swapped(bytes: Uint8Array, width: 1 | 2 | 4 | 8): Uint8Array {
  const out = bytes.slice();
  const view = new DataView(out.buffer);
  if (width === 2) for (let at = 0; at < out.length; at += 2) view.setUint16(at, view.getUint16(at, true));
  else if (width === 4)
    for (let at = 0; at < out.length; at += 4) view.setUint32(at, view.getUint32(at, true));
  else if (width === 8)
    for (let at = 0; at < out.length; at += 8) {
      const low = view.getUint32(at, true);
      view.setUint32(at, view.getUint32(at + 4, true));
      view.setUint32(at + 4, low);
    }
  return out;
}

/** Bytes of a tensor of other strides, by default column-major, reordered row-major. */
function rowMajorBytes(
  width: 1 | 2 | 4 | 8,
  shape: readonly number[],
  bytes: Uint8Array,
  strides: readonly number[] = shape.map((_, axis) => sizeOf(shape.slice(0, axis))),
): Uint8Array {
  const bits = new BITS[width](bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength / width);
  const dense = new Tensor(bits as TypedData, shape, BITS_DTYPE[width], strides).contiguous();
  return new Uint8Array(dense.data.buffer, dense.data.byteOffset, dense.size * width);
}

/** A tensor ready to be written: dense little-endian bytes. */
export interface Dense {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** The bytes of a tensor-like, checked; copied only where its strides require it. */
export function toBytes(what: string, value: TensorLike): Dense {
  const isBytes = ArrayBuffer.isView((value as TensorObject | undefined | null)?.data);
  const checked = value instanceof Tensor || !isBytes ? asTensor(what, value) : undefined;
  const like: TensorObject = checked ?? (value as TensorObject);
  if (Object.getPrototypeOf(like) === Object.prototype) checkNames(`${what}: a tensor`, like, FIELDS);
  const data = like.data as FileData;
  const dtype = checked?.dtype ?? nameOf(what, like);
  const { bytes: width, array } = ELEMENTS[dtype];
  const name = arrayName(data);
  if (isDType(dtype)) checkArray(what, data, dtype);
  else if (name !== array.name)
    throw new DTypeError(
      "dtype-array",
      `${what}: dtype ${dtype} is stored in ${array.name}, got ${formatValue(data)}`,
      { dtype, got: name },
    );
  // The buffer of an empty array can be one that was transferred: the check of the shape says so.
  const buffer = data.length === 0 ? new ArrayBuffer(0) : (data.buffer as ArrayBuffer);
  const raw = new BITS[width](
    buffer,
    buffer.byteLength === 0 ? 0 : data.byteOffset,
    data.length,
  ) as TypedData;
  const { shape = like.dims, strides = like.stride, offset } = like;
  const view = asTensor(what, { data: raw, shape, strides, offset, dtype: BITS_DTYPE[width] });
  const dense = view.dense();
  const start = dense.data.byteOffset + dense.offset * width;
  const bytes = new Uint8Array(dense.data.buffer, dense.size === 0 ? 0 : start, dense.size * width);
  return { dtype, shape: dense.shape, bytes: HOST_BIG ? swapped(bytes, width) : bytes };
}

/** The dtype of a tensor-like: its own name, else from its array class. A Uint8Array is `uint8` here. */
function nameOf(what: string, value: TensorObject): FileDType {
  const name = value.dtype ?? value.type;
  if (name !== undefined) {
    const dtype = FILE_DTYPES.find((one) => one === name) ?? dtypeNamed("safetensors", name) ?? dtypeOf(name);
    if (dtype !== undefined) return dtype;
    throw new DTypeError(
      "dtype",
      `${what}: unknown dtype ${formatValue(name)}; files hold ${FILE_DTYPES.join(", ")}`,
      { dtype: name },
    );
  }
  const array = arrayName(value.data);
  if (array === "Float16Array") return "float16";
  if (array === "Uint8Array") return "uint8";
  const dtypes = FILE_DTYPES.filter((dtype) => ELEMENTS[dtype].array.name === array);
  if (dtypes.length === 1) return dtypes[0];
  throw new DTypeError(
    "dtype",
    `${what}: ${formatValue(value.data)} does not say its dtype; pass one of ${(dtypes.length ? dtypes : FILE_DTYPES).join(", ")}`,
    { got: value.data },
  );
}

/** Name and value of each tensor, from a Map or a plain object. */
export function entriesOf(what: string, tensors: NamedTensors): [string, TensorLike][] {
  if (!isMap(tensors) && Object.prototype.toString.call(tensors) !== "[object Object]")
    throw new DTypeError(
      "tensors",
      `${what}: expected a Map or an object of tensors by name, { x: tensor }, got ${formatValue(tensors)}`,
      { got: tensors },
    );
  if (!(tensors instanceof Map) && ArrayBuffer.isView((tensors as { data?: unknown }).data))
    throw new DTypeError("tensors", `${what}: one tensor needs a name: { x: tensor }`, { got: tensors });
  return tensors instanceof Map ? [...tensors] : Object.entries(tensors);
}
