/** The keys of random bits for backends of other devices: the functions of random.ts, which heed's own loops call, with their arguments checked. */
import { argumentError } from "../errors.ts";
import * as bits from "./random.ts";

const refuse = (what: string, got: readonly unknown[]): never => {
  throw argumentError(what, "integers", got);
};

/** Key of one head of one batch entry; the seed is any safe integer. @beta */
export function headKey(seed: number, b: number, h: number): number {
  if (!(Number.isSafeInteger(seed) && Number.isInteger(b) && Number.isInteger(h)))
    refuse("headKey", [seed, b, h]);
  return bits.headKey(seed, b, h);
}

/** Key of one row of scores: query position `q` of a head. @beta */
export function rowKey(head: number, q: number): number {
  if (!(Number.isInteger(head) && Number.isInteger(q))) refuse("rowKey", [head, q]);
  return bits.rowKey(head, q);
}

/** The 32 bits of a cell, as an unsigned number; a weight is kept where they are ≥ `dropoutThreshold(p)`. @beta */
export function cellBits(row: number, k: number): number {
  if (!(Number.isInteger(row) && Number.isInteger(k))) refuse("cellBits", [row, k]);
  return bits.cellBits(row, k);
}

/** Cells whose bits are below this threshold are dropped: a share p of them. @beta */
export function dropoutThreshold(p: number): number {
  if (!(typeof p === "number" && p >= 0 && p <= 1))
    throw argumentError("dropoutThreshold", "a share from 0 to 1", p);
  return bits.dropoutThreshold(p);
}
