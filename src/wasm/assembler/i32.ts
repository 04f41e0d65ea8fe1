/** 32-bit integers. */
import { loadOf, plain } from "./instruction.ts";

export const eqz = plain(0x45, ["i32"], "i32");
export const eq = plain(0x46, ["i32", "i32"], "i32");
export const ne = plain(0x47, ["i32", "i32"], "i32");
export const lt_s = plain(0x48, ["i32", "i32"], "i32");
export const lt_u = plain(0x49, ["i32", "i32"], "i32");
export const gt_s = plain(0x4a, ["i32", "i32"], "i32");
export const le_s = plain(0x4c, ["i32", "i32"], "i32");
export const ge_s = plain(0x4e, ["i32", "i32"], "i32");
export const add = plain(0x6a, ["i32", "i32"], "i32");
export const sub = plain(0x6b, ["i32", "i32"], "i32");
export const mul = plain(0x6c, ["i32", "i32"], "i32");
export const div_s = plain(0x6d, ["i32", "i32"], "i32");
export const rem_s = plain(0x6f, ["i32", "i32"], "i32");
export const and = plain(0x71, ["i32", "i32"], "i32");
export const or = plain(0x72, ["i32", "i32"], "i32");
export const xor = plain(0x73, ["i32", "i32"], "i32");
export const shl = plain(0x74, ["i32", "i32"], "i32");
export const shr_s = plain(0x75, ["i32", "i32"], "i32");
export const shr_u = plain(0x76, ["i32", "i32"], "i32");
export const load = loadOf("i32", [0x28], 2);
export const load8_u = loadOf("i32", [0x2d], 0);
export const load16_s = loadOf("i32", [0x2e], 1);
