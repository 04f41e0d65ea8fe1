/** Words of a task of the backward kernel: rows × keys of one key head, all query heads of its group. */

export const call = 0;
/** First row of the first head, bytes from row to row and from head to head. */
export const query = 4;
export const queryRow = 8;
export const queryHead = 12;
export const dOutput = 16;
export const dOutputRow = 20;
export const dOutputHead = 24;
export const output = 28;
export const outputRow = 32;
export const outputHead = 36;
/** lse of the first row, δ of the same, bytes from head to head. */
export const lse = 40;
export const delta = 44;
export const lseHead = 48;
export const dQuery = 52;
export const dQueryHead = 56;
/** Packed keys and values, and keys in rows, at the first key. */
export const key = 60;
export const value = 64;
export const keyRows = 68;
export const keyRow = 72;
export const dKey = 76;
export const dValue = 80;
export const rows = 84;
export const row0 = 88;
export const heads = 92;
export const head = 96;
export const batch = 100;
export const offset = 104;
export const keyBase = 108;
/** Keys of the task. */
export const keys = 112;
/** Runs of keys of each row tile (address, count), and bytes from tile to tile and from head to head. */
export const index = 116;
export const indexBlock = 120;
export const indexHead = 124;
/** Dropout keys of the heads. */
export const dropKeys = 128;
export const flags = 132;
/** Mask tensors at (row0, keyBase) of the first head, and bytes from head to head, up to 8 each. */
export const tensor = 136;
export const tensorHead = 168;
/** Targets of kernels/attention/bias-gradients.ts: for each the address of the first row of the first head, bytes from head to head and row to row. */
export const sums = 200;
export const size = 204;
