/** Words of one task. */

export const call = 0;
export const query = 4;
export const key = 8;
export const value = 12;
export const out = 16;
export const lse = 20;
export const rows = 24;
/** Index of the first row; its position is row + offset. */
export const row0 = 28;
export const offset = 32;
export const batch = 36;
export const head = 40;
/** Runs of keys (`RunStruct`) and their number. */
export const runs = 44;
export const runCount = 48;
export const flags = 52;
/** Address of the sinks of the task's heads, or 0. */
export const sinks = 56;
export const state = 60;
export const dropKey = 64;
/** Index of the first staged key. */
export const keyBase = 68;
/** Address of (row0, keyBase) in each mask tensor, up to 8. */
export const tensor = 72;
export const size = 112;
