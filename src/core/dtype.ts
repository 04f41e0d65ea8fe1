/**
 * Number formats: their names, the arrays that hold them, and the exact conversions between 16-bit and
 * 32-bit floats. One table maps the names that other libraries use (`float`, `F32`, `f4`, `bfloat16` …).
 *
 * 16-bit tensors hold their bits in a Uint16Array (a native Float16Array is accepted where it exists).
 * binary16: IEEE 754-2019; bfloat16: the upper half of a binary32. Rounding is to nearest, ties to even.
 */
import { DTypeError, formatValue } from "./errors.ts";

/** Float dtypes for values, `bool` for masks, `int32` and `int64` for ids. */
export type DType = "float32" | "float64" | "float16" | "bfloat16" | "bool" | "int32" | "int64";
/** Dtypes that attention computes with. */
export type FloatDType = "float32" | "float64" | "float16" | "bfloat16";

const ALIASES: Readonly<Record<string, DType>> = {
  float32: "float32",
  float: "float32",
  f32: "float32",
  F32: "float32",
  f4: "float32",
  "<f4": "float32",
  float64: "float64",
  double: "float64",
  f64: "float64",
  F64: "float64",
  f8: "float64",
  "<f8": "float64",
  float16: "float16",
  half: "float16",
  f16: "float16",
  F16: "float16",
  f2: "float16",
  "<f2": "float16",
  bfloat16: "bfloat16",
  bf16: "bfloat16",
  BF16: "bfloat16",
  bool: "bool",
  BOOL: "bool",
  boolean: "bool",
  uint8: "bool",
  "|b1": "bool",
  int32: "int32",
  I32: "int32",
  i4: "int32",
  "<i4": "int32",
  int64: "int64",
  I64: "int64",
  i8: "int64",
  "<i8": "int64",
};

/** The dtype named by `name`, or undefined. Accepts the spellings of ONNX Runtime, safetensors and NumPy. */
export function dtypeOf(name: string): DType | undefined {
  return Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
}

/** Throws unless `dtype` is one of heed's own names. */
export function checkDType(what: string, dtype: DType): void {
  if (typeof dtype !== "string" || !Object.hasOwn(BYTES, dtype))
    throw new DTypeError("dtype", `${what}: dtype must be one of ${DTYPES}, got ${formatValue(dtype)}`, {
      got: dtype,
    });
}

/** The dtype named by `name`, in any of the known spellings; undefined where no name is given. */
export function dtypeNamed(what: string, name: string | undefined): DType | undefined {
  const dtype = name === undefined ? undefined : dtypeOf(name);
  if (name !== undefined && dtype === undefined)
    throw new DTypeError("dtype", `${what}: unknown dtype ${formatValue(name)}; expected one of ${DTYPES}`, {
      dtype: name,
    });
  return dtype;
}

/** Bytes of one element. */
export const BYTES: Readonly<Record<DType, number>> = {
  float32: 4,
  float64: 8,
  float16: 2,
  bfloat16: 2,
  bool: 1,
  int32: 4,
  int64: 8,
};

const DTYPES = /* @__PURE__ */ Object.keys(BYTES).join(", ");

/** True for the dtypes that attention computes with. */
export function isFloat(dtype: DType): dtype is FloatDType {
  return dtype === "float32" || dtype === "float64" || dtype === "float16" || dtype === "bfloat16";
}

/** Arrays a tensor may hold. */
export type TypedData = Float32Array | Float64Array | Uint16Array | Uint8Array | Int32Array | BigInt64Array;

/** The array that holds a dtype. */
export type DataOf<D extends DType> = D extends "float32" ? Float32Array
  : D extends "float64" ? Float64Array
  : D extends "float16" | "bfloat16" ? Uint16Array
  : D extends "bool" ? Uint8Array
  : D extends "int32" ? Int32Array
  : BigInt64Array; // biome-ignore format: a row a dtype

/** A new zero-filled array that holds `length` elements of `dtype`. */
export function arrayFor(dtype: DType, length: number): TypedData {
  switch (dtype) {
    case "float32":
      return new Float32Array(length);
    case "float64":
      return new Float64Array(length);
    case "float16":
    case "bfloat16":
      return new Uint16Array(length);
    case "bool":
      return new Uint8Array(length);
    case "int32":
      return new Int32Array(length);
    case "int64":
      return new BigInt64Array(length);
  }
}

/** A new zero-filled array for elements of `dtype`: a native Float16Array where `like` is one. */
export function arrayLike(like: TypedData, dtype: DType, length: number): TypedData {
  return arrayName(like) === "Float16Array"
    ? new (like.constructor as new (length: number) => TypedData)(length)
    : arrayFor(dtype, length);
}

/** Name of the array class. Works for arrays of other realms, and for Float16Array, which older engines lack. */
export function arrayName(data: unknown): string {
  return Object.prototype.toString.call(data).slice(8, -1);
}

/** The dtype that an array class implies; undefined for a Uint16Array, which holds either 16-bit format. */
export function dtypeOfArray(data: unknown): DType | undefined {
  switch (arrayName(data)) {
    case "Float32Array":
      return "float32";
    case "Float64Array":
      return "float64";
    case "Float16Array":
      return "float16";
    case "Uint8Array":
    case "Uint8ClampedArray":
      return "bool";
    case "Int32Array":
      return "int32";
    case "BigInt64Array":
      return "int64";
    default:
      return undefined;
  }
}

/** Throws unless `data` is an array class that can hold `dtype`. */
export function checkArray(what: string, data: unknown, dtype: DType): void {
  const name = arrayName(data);
  const fits =
    dtype === "float16"
      ? name === "Uint16Array" || name === "Float16Array"
      : dtype === "bfloat16"
        ? name === "Uint16Array"
        : dtype === "bool"
          ? name === "Uint8Array" || name === "Uint8ClampedArray"
          : dtypeOfArray(data) === dtype;
  if (!fits) {
    const want =
      dtype === "float16" || dtype === "bfloat16" ? "a Uint16Array of bits" : arrayName(arrayFor(dtype, 0));
    throw new DTypeError(
      "dtype-array",
      `${what}: dtype ${dtype} is stored in ${want}, got ${formatValue(data)}`,
      {
        dtype,
        got: name,
      },
    );
  }
}

const F32 = new Float32Array(1);
const U32 = new Uint32Array(F32.buffer);

/** binary16 bits to a number, exactly. */
export function fromFloat16(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return (bits & 0x8000 ? -1 : 1) * fraction * 2 ** -24;
  // binary32 has an exponent with the bias 127 instead of 15, and 255 instead of 31 for infinities and NaN.
  U32[0] = ((bits & 0x8000) << 16) | ((exponent === 31 ? 255 : exponent + 112) << 23) | (fraction << 13);
  return F32[0];
}

/** A number to binary16 bits, rounded once to nearest even (from the float64, not by way of float32). NaN stays quiet NaN. */
export function toFloat16(value: number): number {
  if (value !== value) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const abs = Math.abs(value);
  if (abs >= 65520) return sign | 0x7c00;
  // Below 2^-14 the spacing is fixed at 2^-24; above, it follows the exponent: scale so that the spacing is 1 and round.
  const exponent = abs < 2 ** -14 ? -14 : exponentOf(abs);
  const scaled = roundHalfEven(abs * 2 ** (10 - exponent));
  return sign | (abs < 2 ** -14 ? scaled : ((exponent + 14) << 10) + scaled);
}

/** bfloat16 bits to a number, exactly. */
export function fromBfloat16(bits: number): number {
  U32[0] = bits << 16;
  return F32[0];
}

/** A number to bfloat16 bits, rounded once to nearest even. NaN stays quiet NaN. */
export function toBfloat16(value: number): number {
  if (value !== value) return 0x7fc0;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const abs = Math.abs(value);
  if (abs >= 2 ** 127 * (2 - 2 ** -8)) return sign | 0x7f80;
  const exponent = abs < 2 ** -126 ? -126 : exponentOf(abs);
  const scaled = roundHalfEven(abs * 2 ** (7 - exponent));
  return sign | (abs < 2 ** -126 ? scaled : ((exponent + 126) << 7) + scaled);
}

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

/** Reads element `i` of an array as a number, by dtype. `int64` above 2^53 loses digits, as any number would. */
export function readerOf(dtype: DType, data: TypedData): (i: number) => number {
  if (arrayName(data) === "Float16Array") return (i) => (data as unknown as Float32Array)[i];
  switch (dtype) {
    case "float16": {
      // Engines with Float16Array decode in hardware: 1 ns a number; the table takes up to 10 ns (Node 24).
      if (typeof Float16Array === "function") {
        const floats = new Float16Array(data.buffer as ArrayBuffer, data.byteOffset, data.length);
        return (i) => floats[i];
      }
      const values = float16Values();
      return (i) => values[(data as Uint16Array)[i]];
    }
    case "bfloat16":
      return (i) => fromBfloat16((data as Uint16Array)[i]);
    case "int64":
      return (i) => Number((data as BigInt64Array)[i]);
    default:
      return (i) => (data as Float32Array)[i];
  }
}

/** Writes a number as element `i`, rounded once to the dtype. */
export function writerOf(dtype: DType, data: TypedData): (i: number, value: number) => void {
  if (arrayName(data) === "Float16Array") return (i, x) => void ((data as unknown as Float32Array)[i] = x);
  switch (dtype) {
    case "float16":
      return (i, x) => void ((data as Uint16Array)[i] = toFloat16(x));
    case "bfloat16":
      return (i, x) => void ((data as Uint16Array)[i] = toBfloat16(x));
    case "int64":
      return (i, x) => void ((data as BigInt64Array)[i] = BigInt(x));
    case "bool":
      return (i, x) => void ((data as Uint8Array)[i] = Number(x !== 0));
    default:
      return (i, x) => void ((data as Float32Array)[i] = x);
  }
}

let float16: Float32Array | undefined;

/** Every binary16 value by its bits, for engines without Float16Array. Computed when it is first needed. */
function float16Values(): Float32Array {
  return (float16 ??= Float32Array.from({ length: 65536 }, (_, bits) => fromFloat16(bits)));
}

/** Rounds float32 numbers once, to nearest even, into 16-bit ones at `start`; infinities and NaN kept. */
export function narrow(dtype: "float16" | "bfloat16", from: Float32Array, to: Uint16Array, start = 0): void {
  const bits = new Uint32Array(from.buffer as ArrayBuffer, from.byteOffset, from.length);
  for (let i = 0; i < bits.length; i++) {
    const x = bits[i];
    const sign = (x >>> 16) & 0x8000;
    const magnitude = x & 0x7fffffff;
    if (dtype === "bfloat16") {
      // The upper half, plus one where the lower half is past the middle, or on it and the upper is odd.
      to[start + i] = magnitude > 0x7f800000 ? sign | 0x7fc0 : (x + 0x7fff + ((x >>> 16) & 1)) >>> 16;
    } else if (magnitude > 0x7f800000) to[start + i] = sign | 0x7e00;
    else if (magnitude >= 0x477ff000) to[start + i] = sign | 0x7c00;
    else if (magnitude >= 0x38800000) {
      const half = magnitude - 0x38000000;
      to[start + i] = sign | ((half + 0xfff + ((half >>> 13) & 1)) >>> 13);
    } else to[start + i] = toFloat16(from[i]);
  }
}
