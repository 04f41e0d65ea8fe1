/** The cell a head is first looked at by: its strongest link between two different tokens that are both of the text. */
import type { Cell, Session } from "../app/session.ts";

/** Rows that are looked at. */
const ROWS = 256;

export function interestingCell({ store, block, ref }: Session): Cell | undefined {
  if (store === undefined || block === undefined || !store.ready(ref) || block.Nq === 0) return undefined;
  const { special, kind, queryOffset } = block;
  let best: Cell | undefined;
  let most = 0;
  const step = Math.max(1, Math.floor(block.Nq / ROWS));
  // What is said last has most to look back on: of equals the later one is taken.
  for (let query = block.Nq - 1; query >= 0; query -= step) {
    if (special.query[query]) continue;
    const row = store.row(ref, query, "weights");
    for (let key = 0; key < row.length; key++) {
      const self = kind === "self" && key === query + queryOffset;
      if (row[key] > most && !special.key[key] && !self && (key > 0 || row.length < 3)) {
        most = row[key];
        best = { query, key };
      }
    }
  }
  return best;
}
