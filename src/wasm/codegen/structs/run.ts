/** A run of keys: first key, end key, kind, and the range of keys for which the mask is evaluated. */

export const full = 0;
export const partial = 1;
export const from = 0;
export const to = 4;
export const kind = 8;
export const maskFrom = 12;
export const maskTo = 16;
export const size = 20;
