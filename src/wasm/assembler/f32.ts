/** 32-bit floats. */
import { loadOf, plain } from "./instruction.ts";

export const eq = plain(0x5b, ["f32", "f32"], "i32");
export const gt = plain(0x5e, ["f32", "f32"], "i32");
export const add = plain(0x92, ["f32", "f32"], "f32");
export const mul = plain(0x94, ["f32", "f32"], "f32");
export const max = plain(0x97, ["f32", "f32"], "f32");
export const load = loadOf("f32", [0x2a], 2);
