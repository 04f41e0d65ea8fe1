/** How kernels read and write the elements of each dtype. Storages of float32 are arrays of `f32`, all others arrays of words. */
import { DTYPES, type DType } from "../core/dtype.ts";

/** Reads element i of the array NAME as an `f32`, by dtype. */
const LOADS: Partial<Record<DType, (name: string) => string>> = {
  float32: (name) => `${name}[i]`,
  float16: (name) => `unpack2x16float(${name}[i >> 1u])[i & 1]`,
  bfloat16: (name) => `bitcast<f32>((${name}[i >> 1u] >> (16u * (u32(i) & 1u))) << 16u)`,
  int32: (name) => `f32(bitcast<i32>(${name}[i]))`,
  bool: (name) => `f32((${name}[i >> 2u] >> (8u * (u32(i) & 3u))) & 255u)`,
  uint8: (name) => `f32((${name}[i >> 2u] >> (8u * (u32(i) & 3u))) & 255u)`,
};

/** The bits of an `f32` in a dtype, rounded to nearest even, as in core/dtype.ts. */
const BITS: Partial<Record<DType, string>> = {
  float32: "bitcast<u32>(x)",
  float16: "float16Bits(x)",
  bfloat16: "bfloat16Bits(x)",
  int32: "bitcast<u32>(i32(x))",
  bool: "select(1u, 0u, x == 0.0)",
};

/** True for dtypes that kernels read. */
export const isReadable = (dtype: DType): boolean => LOADS[dtype] !== undefined;
/** True for dtypes that kernels write. */
export const isWritable = (dtype: DType): boolean => BITS[dtype] !== undefined;

/** The WGSL type of the elements of a storage. */
export const arrayType = (dtype: DType): string => (dtype === "float32" ? "f32" : "u32");

/** A function `load_NAME(i)` over the variable of a storage. */
export const loadFunction = (name: string, variable: string, dtype: DType): string =>
  LOADS[dtype] ? `fn load_${name}(i: i32) -> f32 { return ${LOADS[dtype](variable)}; }` : "";

/** A function `store_NAME(i, x)` over the variable of a float32 storage. */
export const storeFunction = (name: string, variable: string, dtype: DType): string =>
  dtype === "float32" ? `fn store_${name}(i: i32, x: f32) { ${variable}[i] = x; }` : "";

/** Elements in a word of 32 bits. */
export const perWord = (dtype: DType): number => Math.max(1, 4 / DTYPES[dtype].bytes);

/** A function `bitsOf(x)` for a dtype, with what it calls. */
export const bitsFunction = (dtype: DType): string => `
fn float16Bits(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let s = (b >> 16u) & 0x8000u;
  let a = b & 0x7fffffffu;
  if (a > 0x7f800000u) { return s | 0x7e00u; }
  if (a >= 0x477ff000u) { return s | 0x7c00u; }
  if (a >= 0x38800000u) { return s | ((a + 0xfffu + ((a >> 13u) & 1u) - 0x38000000u) >> 13u); }
  // Below 2^-14: multiples of 2^-24.
  let e = a >> 23u;
  if (e < 102u) { return s; }
  let m = (a & 0x7fffffu) | 0x800000u;
  let shift = 126u - e;
  let q = m >> shift;
  let rest = m & ((1u << shift) - 1u);
  let half = 1u << (shift - 1u);
  return s | (q + select(0u, 1u, rest > half || (rest == half && (q & 1u) == 1u)));
}
fn bfloat16Bits(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) { return ((b >> 16u) & 0x8000u) | 0x7fc0u; }
  return (b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u;
}
fn bitsOf(x: f32) -> u32 { return ${BITS[dtype]}; }`;
