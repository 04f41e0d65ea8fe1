/** Vectors of four 32-bit integers. */
import { laneOf, simd } from "./instruction.ts";

export const splat = simd(0x11, ["i32"], "v128");
export const eq = simd(0x37, ["v128", "v128"], "v128");
export const ne = simd(0x38, ["v128", "v128"], "v128");
export const lt_s = simd(0x39, ["v128", "v128"], "v128");
export const le_s = simd(0x3d, ["v128", "v128"], "v128");
export const ge_u = simd(0x40, ["v128", "v128"], "v128");
export const abs = simd(0xa0, ["v128"], "v128");
export const neg = simd(0xa1, ["v128"], "v128");
export const extend_low_i16x8_u = simd(0xa9, ["v128"], "v128");
export const shl = simd(0xab, ["v128", "i32"], "v128");
export const shr_s = simd(0xac, ["v128", "i32"], "v128");
export const shr_u = simd(0xad, ["v128", "i32"], "v128");
export const add = simd(0xae, ["v128", "v128"], "v128");
export const sub = simd(0xb1, ["v128", "v128"], "v128");
export const mul = simd(0xb5, ["v128", "v128"], "v128");
export const min_s = simd(0xb6, ["v128", "v128"], "v128");
export const max_s = simd(0xb8, ["v128", "v128"], "v128");
export const extract_lane = laneOf(0x1b, ["v128"], "i32");
export const replace_lane = laneOf(0x1c, ["v128", "i32"], "v128");
