/** Vectors of 128 bits, whatever their lanes. */
import { loadOf, simd } from "./instruction.ts";

export const not = simd(0x4d, ["v128"], "v128");
export const and = simd(0x4e, ["v128", "v128"], "v128");
export const andnot = simd(0x4f, ["v128", "v128"], "v128");
export const or = simd(0x50, ["v128", "v128"], "v128");
export const xor = simd(0x51, ["v128", "v128"], "v128");
export const bitselect = simd(0x52, ["v128", "v128", "v128"], "v128");
export const any_true = simd(0x53, ["v128"], "i32");
export const load = loadOf("v128", [0xfd, 0x00], 4);
export const load16x4_s = loadOf("v128", [0xfd, 0x03], 3);
export const load32_splat = loadOf("v128", [0xfd, 0x09], 2);
export const load32_zero = loadOf("v128", [0xfd, 0x5c], 2);
