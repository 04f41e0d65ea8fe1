/** Vectors of four 32-bit floats. */
import { laneOf, simd } from "./instruction.ts";

export const splat = simd(0x13, ["f32"], "v128");
export const eq = simd(0x41, ["v128", "v128"], "v128");
export const ne = simd(0x42, ["v128", "v128"], "v128");
export const lt = simd(0x43, ["v128", "v128"], "v128");
export const gt = simd(0x44, ["v128", "v128"], "v128");
export const le = simd(0x45, ["v128", "v128"], "v128");
export const ge = simd(0x46, ["v128", "v128"], "v128");
export const abs = simd(0xe0, ["v128"], "v128");
export const neg = simd(0xe1, ["v128"], "v128");
export const sqrt = simd(0xe3, ["v128"], "v128");
export const add = simd(0xe4, ["v128", "v128"], "v128");
export const sub = simd(0xe5, ["v128", "v128"], "v128");
export const mul = simd(0xe6, ["v128", "v128"], "v128");
export const div = simd(0xe7, ["v128", "v128"], "v128");
export const min = simd(0xe8, ["v128", "v128"], "v128");
export const max = simd(0xe9, ["v128", "v128"], "v128");
export const pmin = simd(0xea, ["v128", "v128"], "v128");
export const pmax = simd(0xeb, ["v128", "v128"], "v128");
export const convert_i32x4_s = simd(0xfa, ["v128"], "v128");
export const relaxed_madd = simd(0x105, ["v128", "v128", "v128"], "v128");
export const extract_lane = laneOf(0x1f, ["v128"], "f32");
export const replace_lane = laneOf(0x20, ["v128", "f32"], "v128");
