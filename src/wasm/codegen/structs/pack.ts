/** Words of a pack task: rows of K into panels, rows of V into padded rows. */

export const source = 0;
export const row = 4;
export const keys = 8;
export const target = 12;
export const valueSource = 16;
export const valueRow = 20;
export const valueTarget = 24;
export const size = 32;
