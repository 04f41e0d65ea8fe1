/** The first cursor of a head: its strongest link between two different tokens, neither of them a special token. */
import type { HeadRef } from "../../src/store/block.ts";
import type { HeadStore } from "../../src/store/head-store.ts";
import type { TokenPair } from "../app/session.ts";

/** The maximum number of rows that are read. */
const ROWS = 256;

export function interestingCell(store: HeadStore, ref: HeadRef): TokenPair | undefined {
  const block = store.blocks[ref.block];
  if (!store.ready(ref) || block.Nq === 0) return undefined;
  const { special, kind, queryOffset } = block;
  let best: TokenPair | undefined;
  let maximum = 0;
  const step = Math.max(1, Math.floor(block.Nq / ROWS));
  // Of equal weights, the one of the later query wins: later queries have more keys.
  for (let query = block.Nq - 1; query >= 0; query -= step) {
    if (special.query[query]) continue;
    const row = store.row(ref, query, "weights");
    for (let key = 0; key < row.length; key++) {
      const self = kind === "self" && key === query + queryOffset;
      if (row[key] > maximum && !special.key[key] && !self && (key > 0 || row.length < 3)) {
        maximum = row[key];
        best = { query, key };
      }
    }
  }
  return best;
}
