/** Merging neighbors by rank, which every kind of byte-pair encoding shares (bpe.ts, pipeline/models.ts). */
import { Heap } from "./heap.ts";

/** Pairs of ids that may be merged. */
export interface Joins {
  /** rank.get(a·size + b): index of the merge of ids a and b. */
  readonly rank: ReadonlyMap<number, number>;
  /** The resulting id of each merge, by its index. */
  readonly product: Int32Array;
  /** One more than the largest id. */
  readonly size: number;
}

/** One more than the largest id of a vocabulary. */
export function endOfIds(vocab: ReadonlyMap<string, number>): number {
  let end = 0;
  // `for … of` over a Map would allocate an array for each entry.
  vocab.forEach((id) => {
    end = Math.max(end, id + 1);
  });
  return end;
}

/**
 * Merges symbols: of all neighbors that have a merge, those of the lowest rank first, the leftmost of equals, until none is left.
 * Returns the ids, and how many symbols each covers. Negative symbols have no merge.
 */
export function join(
  symbols: Int32Array,
  { rank, product, size }: Joins,
): { ids: number[]; lengths: number[] } {
  const n = symbols.length;
  // A doubly linked list of symbols; one that was merged into its left neighbor is removed from it.
  const next = Int32Array.from(symbols, (_, i) => i + 1);
  const previous = Int32Array.from(symbols, (_, i) => i - 1);
  const gone = new Uint8Array(n);
  // The queue has rank·n + position: by rank, the leftmost of equals. Entries that a merge has made obsolete are skipped.
  const queue = new Heap<number>((a, b) => a < b);
  const rankOf = (left: number, right: number) =>
    symbols[left] < 0 || symbols[right] < 0 ? undefined : rank.get(symbols[left] * size + symbols[right]);
  const offer = (left: number, right: number) => {
    if (left < 0 || right >= n) return;
    const rank = rankOf(left, right);
    if (rank !== undefined) queue.push(rank * n + left);
  };
  for (let i = 0; i + 1 < n; i++) offer(i, i + 1);
  for (let top = queue.pop(); top !== undefined; top = queue.pop()) {
    const left = top % n;
    const place = (top - left) / n;
    const right = next[left];
    if (gone[left] || right >= n || rankOf(left, right) !== place) continue;
    symbols[left] = product[place];
    gone[right] = 1;
    next[left] = next[right];
    if (next[left] < n) previous[next[left]] = left;
    offer(previous[left], left);
    offer(left, next[left]);
  }
  const ids: number[] = [];
  const lengths: number[] = [];
  for (let i = 0; i < n; i = next[i]) {
    ids.push(symbols[i]);
    lengths.push(next[i] - i);
  }
  return { ids, lengths };
}
