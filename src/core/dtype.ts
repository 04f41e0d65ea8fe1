/**
 * Dtypes: one table, a row each, with its names in other libraries and files, the array that holds it and what its bits mean.
 * Every decision by dtype reads a column of this table.
 *
 * Floats of 16 and 8 bits are stored as their bits, in a Uint16Array or a Uint8Array (a native Float16Array is accepted where it
 * exists). binary16: IEEE 754-2019; bfloat16: the upper half of a binary32; float8: Micikevicius et al. 2022, arXiv:2209.05433.
 * Rounding is to nearest, ties to even.
 */
import { DTypeError, formatValue } from "./errors.ts";

/** Dtypes that attention computes with. */
export type FloatDType = "float32" | "float64" | "float16" | "bfloat16";
/** Float dtypes of values, `bool` of masks, integers of ids and bytes, and 8-bit floats, which `cast` widens. */
export type DType = FloatDType | "bool" | "uint8" | "int32" | "int64" | "float8_e4m3fn" | "float8_e5m2";
/** Float dtypes that compute in float32: the dtypes that compiled kernels read. */
export type StoredDType = Exclude<FloatDType, "float64">;
/** Float dtypes that are stored as bits. */
export type BitsDType = Exclude<StoredDType, "float32">;

/** Arrays a tensor may hold. @beta */
export type TypedData = DataOf<DType>;

/** The array that holds a dtype. @beta */
export type DataOf<D extends DType> = D extends "float32" ? Float32Array
  : D extends "float64" ? Float64Array
  : D extends "float16" | "bfloat16" ? Uint16Array
  : D extends "int32" ? Int32Array
  : D extends "int64" ? BigInt64Array
  : Uint8Array; // biome-ignore format: a row a dtype

/** A float of 8 or 16 bits: sign, exponent, fraction. */
export interface BitFormat {
  /** Bits of the fraction. */
  readonly fraction: number;
  /** Exponent of the smallest normal number; smaller numbers are spaced like those from it on. */
  readonly lowest: number;
  /** The bits of ∞, which larger numbers become; in a format without ∞, of NaN. */
  readonly overflow: number;
  /** The bits of the quiet NaN that is written. */
  readonly nan: number;
}

/** A class of typed arrays. */
export interface ArrayClass<T = TypedData> {
  new (length: number): T;
  new (buffer: ArrayBufferLike, offset?: number, length?: number): T;
  readonly name: string;
}

/** One dtype. */
export interface DTypeRow<D extends DType = DType> {
  /** `float`: attention computes with it; `stored`: a float that is read, written and cast. */
  readonly kind: D extends FloatDType ? "float" : "bool" | "int" | "stored";
  /** Bytes of an element. */
  readonly bytes: 1 | 2 | 4 | 8;
  readonly array: ArrayClass<DataOf<D>>;
  /** Its name in a safetensors file. */
  readonly safetensors: string;
  /** Kind and size in an npy header; absent where NumPy has no such dtype. */
  readonly npy?: string;
  /** Its names in other libraries. */
  readonly aliases?: readonly string[];
  /** Of a float that is stored as its bits. */
  readonly bits?: BitFormat;
  /** Of an integer: the smallest number, and the first that is too large. */
  readonly range?: readonly [low: number, end: number];
  /** Reads and writes elements as numbers; absent where the array does, or the format of the bits says how. */
  reader?(data: TypedData): (i: number) => number;
  writer?(data: TypedData): (i: number, value: number) => void;
}

const FLOAT16: BitFormat = { fraction: 10, lowest: -14, overflow: 0x7c00, nan: 0x7e00 };

const ROWS = {
  float32: { kind: "float", bytes: 4, array: Float32Array, safetensors: "F32", npy: "f4", aliases: ["float"] },
  float64: { kind: "float", bytes: 8, array: Float64Array, safetensors: "F64", npy: "f8", aliases: ["double"] },
  float16: {
    kind: "float", bytes: 2, array: Uint16Array, safetensors: "F16", npy: "f2", aliases: ["half"], bits: FLOAT16,
    reader: float16Reader,
  },
  bfloat16: {
    kind: "float", bytes: 2, array: Uint16Array, safetensors: "BF16",
    bits: { fraction: 7, lowest: -126, overflow: 0x7f80, nan: 0x7fc0 },
    reader: (data: Uint16Array) => (i) => fromBfloat16(data[i]),
  },
  bool: {
    kind: "bool", bytes: 1, array: Uint8Array, safetensors: "BOOL", npy: "b1", aliases: ["boolean"],
    writer: (data: Uint8Array) => (i, x) => void (data[i] = Number(x !== 0)),
  },
  uint8: { kind: "int", bytes: 1, array: Uint8Array, safetensors: "U8", npy: "u1", range: [0, 256] },
  int32: { kind: "int", bytes: 4, array: Int32Array, safetensors: "I32", npy: "i4", range: [-(2 ** 31), 2 ** 31] },
  int64: {
    kind: "int", bytes: 8, array: BigInt64Array, safetensors: "I64", npy: "i8", range: [-(2 ** 63), 2 ** 63],
    reader: (data: BigInt64Array) => (i) => Number(data[i]),
    writer: (data: BigInt64Array) => (i, x) => void (data[i] = BigInt(x)),
  },
  float8_e4m3fn: {
    kind: "stored", bytes: 1, array: Uint8Array, safetensors: "F8_E4M3",
    bits: { fraction: 3, lowest: -6, overflow: 0x7f, nan: 0x7f },
  },
  float8_e5m2: {
    kind: "stored", bytes: 1, array: Uint8Array, safetensors: "F8_E5M2",
    bits: { fraction: 2, lowest: -14, overflow: 0x7c, nan: 0x7f },
  },
} satisfies { readonly [D in DType]: DTypeRow<D> }; // biome-ignore format: a row a dtype

/** Dtypes that only files have: integers of other widths, and 8-bit floats as raw bytes, under their safetensors name. */
export const FILE_ROWS = {
  int8: { bytes: 1, array: Int8Array, safetensors: "I8", npy: "i1" },
  F8_E8M0: { bytes: 1, array: Uint8Array, safetensors: "F8_E8M0" },
  F8_E4M3FNUZ: { bytes: 1, array: Uint8Array, safetensors: "F8_E4M3FNUZ" },
  F8_E5M2FNUZ: { bytes: 1, array: Uint8Array, safetensors: "F8_E5M2FNUZ" },
  int16: { bytes: 2, array: Int16Array, safetensors: "I16", npy: "i2" },
  uint16: { bytes: 2, array: Uint16Array, safetensors: "U16", npy: "u2" },
  uint32: { bytes: 4, array: Uint32Array, safetensors: "U32", npy: "u4" },
  uint64: { bytes: 8, array: BigUint64Array, safetensors: "U64", npy: "u8" },
} as const;

/** The table: one row a dtype. */
export const DTYPES: Readonly<Record<DType, DTypeRow>> = ROWS;

const NAMES = /* @__PURE__ */ Object.keys(DTYPES) as readonly DType[];

/** The dtype named `name`, or undefined. Accepts the spellings of ONNX Runtime, safetensors and NumPy. */
export function dtypeOf(name: string): DType | undefined {
  return NAMES.find((dtype) => {
    const { safetensors, npy, bytes, aliases } = DTYPES[dtype];
    return (
      name === dtype ||
      name === safetensors ||
      (bytes > 1 && name === safetensors.toLowerCase()) ||
      (npy !== undefined && (name === (bytes > 1 ? "<" : "|") + npy || (bytes > 1 && name === npy))) ||
      aliases?.includes(name)
    );
  });
}

const namesOf = (dtypes: readonly DType[]): string => dtypes.join(", ");

/** Throws unless `dtype` is one of heed's own names. */
export function checkDType(what: string, dtype: DType): void {
  if (!NAMES.includes(dtype))
    throw new DTypeError(
      "dtype",
      `${what}: dtype must be one of ${namesOf(NAMES)}, got ${formatValue(dtype)}`,
      { got: dtype },
    );
}

/** The dtype named `name`, in any of the known spellings; undefined where no name is given. */
export function dtypeNamed(what: string, name: string | undefined): DType | undefined {
  const dtype = name === undefined ? undefined : dtypeOf(name);
  if (name !== undefined && dtype === undefined)
    throw new DTypeError(
      "dtype",
      `${what}: unknown dtype ${formatValue(name)}; expected one of ${namesOf(NAMES)}`,
      { dtype: name },
    );
  return dtype;
}

/** The row of a dtype whose name comes from elsewhere, such as a file; undefined where heed has no such dtype. */
const rowOf = (dtype: string): DTypeRow | undefined =>
  typeof dtype === "string" && Object.hasOwn(DTYPES, dtype) ? DTYPES[dtype as DType] : undefined;

/** True for heed's own dtypes. */
export const isDType = (dtype: string): dtype is DType => rowOf(dtype) !== undefined;

/** True for the dtypes that attention computes with. */
export const isFloat = (dtype: string): dtype is FloatDType => rowOf(dtype)?.kind === "float";

/** True for the floats that are stored as bits. */
export const isHalf = (dtype: string): dtype is BitsDType =>
  isFloat(dtype) && DTYPES[dtype].bits !== undefined;

/** True for the float dtypes that compute in float32. */
export const isStored = (dtype: string): dtype is StoredDType => isFloat(dtype) && DTYPES[dtype].bytes < 8;

/** The dtypes that attention computes with. */
export const FLOAT_DTYPES: readonly FloatDType[] = /* @__PURE__ */ NAMES.filter(isFloat);

/** The float dtypes that compute in float32. */
export const STORED_DTYPES: readonly StoredDType[] = /* @__PURE__ */ NAMES.filter(isStored);

/** True for dtypes whose numbers are all integers. */
export const isInteger = (dtype: string): boolean => rowOf(dtype)?.kind === "int";

/** True for the dtypes of a mask: every number but 0 is true. */
export const isMask = (dtype: DType): boolean => dtype === "bool" || dtype === "uint8";

/** Largest relative error of rounding a number to a float dtype: half the distance between 1 and the next number. */
export function roundingOf(dtype: FloatDType): number {
  const { bits, bytes } = DTYPES[dtype];
  return 2 ** -(bits ? bits.fraction + 1 : bytes === 4 ? 24 : 53);
}

/** A new zero-filled array that holds `length` elements of `dtype`. @beta */
export function arrayFor(dtype: DType, length: number): TypedData {
  checkDType("arrayFor", dtype);
  return new DTYPES[dtype].array(length);
}

/** A new zero-filled array for elements of `dtype`: a native Float16Array where `like` is one. */
export function arrayLike(like: TypedData, dtype: DType, length: number): TypedData {
  return arrayName(like) === "Float16Array"
    ? new (like.constructor as ArrayClass)(length)
    : arrayFor(dtype, length);
}

/** Name of the array class. Works for arrays of other realms, and for Float16Array, which older engines lack. */
export function arrayName(data: unknown): string {
  return Object.prototype.toString.call(data).slice(8, -1);
}

/** The dtypes that an array may hold. */
const dtypesIn = (data: unknown): readonly DType[] => {
  const name = arrayName(data);
  if (name === "Float16Array") return ["float16"];
  return NAMES.filter((dtype) => DTYPES[dtype].array.name === name.replace("Clamped", ""));
};

/**
 * The dtype of an array that names none: the only one that its class holds.
 *
 * @throws DTypeError for a Uint16Array, a Uint8Array and what is no such array
 */
export function dtypeOfArray(what: string, data: unknown): DType {
  const dtypes = dtypesIn(data);
  if (dtypes.length === 1) return dtypes[0];
  throw new DTypeError(
    "dtype",
    dtypes.length
      ? `${what}: ${formatValue(data)} does not say its dtype; pass dtype ${dtypes.map(formatValue).join(" or ")}, or for float32 numbers a Float32Array`
      : `${what}: no dtype is stored in ${formatValue(data)}; pass a Float32Array`,
    { got: data },
  );
}

/** Throws unless `data` is an array class that can hold `dtype`. */
export function checkArray(what: string, data: unknown, dtype: DType): void {
  if (dtypesIn(data).includes(dtype)) return;
  const { array, bits } = DTYPES[dtype];
  throw new DTypeError(
    "dtype-array",
    `${what}: dtype ${dtype} is stored in ${bits ? `a ${array.name} of bits` : array.name}, got ${formatValue(data)}`,
    { dtype, got: arrayName(data) },
  );
}

/** Reads element `i` of an array as a number, by dtype. `int64` above 2^53 loses digits, as any number would. */
export function readerOf(dtype: DType, data: TypedData): (i: number) => number {
  const { reader, bits } = DTYPES[dtype];
  const numbers = data as Float32Array;
  if (arrayName(data) === "Float16Array") return (i) => numbers[i];
  if (reader) return reader(data);
  if (!bits) return (i) => numbers[i];
  const values = valuesOf(bits, 8);
  return (i) => values[numbers[i]];
}

/** Writes a number as element `i`, rounded once to the dtype. */
export function writerOf(dtype: DType, data: TypedData): (i: number, value: number) => void {
  const { writer, bits } = DTYPES[dtype];
  const numbers = data as Float32Array;
  if (arrayName(data) === "Float16Array") return (i, x) => void (numbers[i] = x);
  if (writer) return writer(data);
  if (!bits) return (i, x) => void (numbers[i] = x);
  const sign = signOf(data);
  return (i, x) => void (numbers[i] = toBits(bits, sign, x));
}

function float16Reader(data: Uint16Array): (i: number) => number {
  // Engines with Float16Array decode in hardware: 1 ns a number; the table takes up to 10 ns (Node 24).
  if (typeof Float16Array === "function") {
    const floats = new Float16Array(data.buffer as ArrayBuffer, data.byteOffset, data.length);
    return (i) => floats[i];
  }
  const values = valuesOf(FLOAT16, 16);
  return (i) => values[data[i]];
}

const tables = /* @__PURE__ */ new Map<BitFormat, Float32Array>();

/** Every value of a format by its bits. Computed when it is first needed. */
function valuesOf(format: BitFormat, width: number): Float32Array {
  let values = tables.get(format);
  if (!values) {
    const sign = 2 ** (width - 1);
    values = Float32Array.from({ length: 2 * sign }, (_, bits) => fromBits(format, sign, bits));
    tables.set(format, values);
  }
  return values;
}

/** The number that bits mean, exactly. `sign` is the bit of the sign. */
function fromBits({ fraction, lowest, overflow, nan }: BitFormat, sign: number, bits: number): number {
  const magnitude = bits & (sign - 1);
  const exponent = magnitude >> fraction;
  const significand = magnitude - (exponent && (exponent - 1) << fraction);
  const value =
    magnitude < overflow
      ? significand * 2 ** (lowest - fraction + Math.max(exponent - 1, 0))
      : magnitude === overflow && overflow !== nan
        ? Infinity
        : Number.NaN;
  return bits & sign ? -value : value;
}

/** The bits of a number, rounded once to nearest even (from the float64, not by way of float32). NaN stays quiet NaN. */
function toBits({ fraction, lowest, overflow, nan }: BitFormat, sign: number, value: number): number {
  if (value !== value) return nan;
  const abs = Math.min(Math.abs(value), Number.MAX_VALUE);
  // Below 2^lowest the spacing is fixed; above, it follows the exponent: scale so that the spacing is 1 and round.
  const exponent = abs < 2 ** lowest ? lowest : exponentOf(abs);
  const rounded = roundHalfEven(abs * 2 ** (fraction - exponent)) + (exponent - lowest) * 2 ** fraction;
  return (value < 0 || Object.is(value, -0) ? sign : 0) | Math.min(rounded, overflow);
}

/** The bit of the sign of floats that an array holds as bits. */
const signOf = (data: { readonly BYTES_PER_ELEMENT: number }): number =>
  2 ** (8 * data.BYTES_PER_ELEMENT - 1);

/** binary16 bits to a number, exactly. */
export const fromFloat16 = (bits: number): number => fromBits(FLOAT16, 0x8000, bits);

/** A number to binary16 bits, rounded once to nearest even. */
export const toFloat16 = (value: number): number => toBits(FLOAT16, 0x8000, value);

const F32 = /* @__PURE__ */ new Float32Array(1);
const U32 = /* @__PURE__ */ new Uint32Array(F32.buffer);

/** bfloat16 bits to a number, exactly. */
export function fromBfloat16(bits: number): number {
  U32[0] = bits << 16;
  return F32[0];
}

/** A number to bfloat16 bits, rounded once to nearest even. */
export const toBfloat16 = (value: number): number => toBits(ROWS.bfloat16.bits, 0x8000, value);

/** ⌊log2 x⌋ of a positive normal number. */
function exponentOf(x: number): number {
  const e = Math.floor(Math.log2(x));
  return 2 ** e > x ? e - 1 : 2 ** (e + 1) <= x ? e + 1 : e;
}

function roundHalfEven(x: number): number {
  const down = Math.floor(x);
  const rest = x - down;
  return rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down;
}

/** The numbers that bits mean, exactly. */
export function widen(dtype: BitsDType, from: TypedData, to: Float32Array | Float64Array): void {
  const { fraction, lowest } = ROWS[dtype].bits;
  const bits = from as Uint16Array;
  if (lowest === -126 && to instanceof Float32Array) {
    // The exponent is that of binary32: only the fraction is shorter.
    const words = new Uint32Array(to.buffer, to.byteOffset, to.length);
    for (let i = 0; i < words.length; i++) words[i] = bits[i] << (23 - fraction);
    return;
  }
  const read = readerOf(dtype, from);
  for (let i = 0; i < to.length; i++) to[i] = read(i);
}

/** Rounds float32 numbers once, to nearest even, into the bits of a smaller float at `start`; NaN stays NaN. */
export function narrow(dtype: DType, from: Float32Array, to: TypedData, start = 0): void {
  const format = DTYPES[dtype].bits as BitFormat;
  const { fraction, lowest, overflow, nan } = format;
  const sign = signOf(to);
  const out = to as Uint16Array;
  const shift = 23 - fraction;
  // The exponents of binary32 are larger by 126 + lowest; from `normal` on the result is a normal number.
  const bias = (126 + lowest) << 23;
  const normal = bias && bias + (1 << 23);
  const half = (1 << (shift - 1)) - 1;
  const values = new Uint32Array(from.buffer as ArrayBuffer, from.byteOffset, from.length);
  for (let i = 0; i < values.length; i++) {
    const x = values[i];
    const magnitude = x & 0x7fffffff;
    const negative = x >>> 31 && sign;
    if (magnitude > 0x7f800000) out[start + i] = negative | nan;
    else if (magnitude < normal) out[start + i] = toBits(format, sign, from[i]);
    else {
      const rebased = magnitude - bias;
      const rounded = (rebased + half + ((rebased >>> shift) & 1)) >>> shift;
      out[start + i] = negative | (rounded < overflow ? rounded : overflow);
    }
  }
}
