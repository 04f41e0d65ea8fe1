/** 64-bit floats. */
import { loadOf, plain } from "./instruction.ts";

export const add = plain(0xa0, ["f64", "f64"], "f64");
export const promote_f32 = plain(0xbb, ["f32"], "f64");
export const load = loadOf("f64", [0x2b], 3);
