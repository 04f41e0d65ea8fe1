/**
 * Random bits by key, not by sequence: dropout computes the bits of a cell from (seed, b, h, q, k), so forward,
 * backward and any tiling use the same bits. The mixer is MurmurHash3's 32-bit finalizer (Appleby 2011, public
 * domain), which a kernel runs on four keys at a time.
 */

/** Odd constants that spread consecutive numbers over 32 bits; the kernels use the same. */
const SPREAD = { b: 0x9e3779b1, h: 0x85ebca77, q: 0xc2b2ae3d, k: 0x27d4eb2f } as const;

/** Mixes 32 bits: flipping one input bit flips about half of the output bits. */
export function mix(x: number): number {
  x ^= x >>> 16;
  x = Math.imul(x, 0x85ebca6b);
  x ^= x >>> 13;
  x = Math.imul(x, 0xc2b2ae35);
  return x ^ (x >>> 16);
}

/** Key of one head of one batch entry; the seed is any safe integer. */
export function headKey(seed: number, b: number, h: number): number {
  const low = seed | 0;
  const high = Math.floor(seed / 2 ** 32) | 0;
  const start = mix(mix(low) ^ Math.imul(high, SPREAD.k));
  return mix((mix((start + Math.imul(b, SPREAD.b)) | 0) + Math.imul(h, SPREAD.h)) | 0);
}

/** Key of one row of scores: query position `q` of a head. */
export function rowKey(head: number, q: number): number {
  return mix((head + Math.imul(q, SPREAD.q)) | 0);
}

/** The 32 bits of a cell, as an unsigned number; a weight is kept where they are ≥ `dropoutThreshold(p)`. */
export function cellBits(row: number, k: number): number {
  return mix((row + Math.imul(k, SPREAD.k)) | 0) >>> 0;
}

/** Cells whose bits are below this threshold are dropped: a share p of them. */
export function dropoutThreshold(p: number): number {
  return Math.min(2 ** 32 - 1, Math.round(p * 2 ** 32));
}
