/** Vectors of eight 16-bit integers. */
import { simd } from "./instruction.ts";

export const extend_low_i8x16_u = simd(0x89, ["v128"], "v128");
