/**
 * DeBERTa's scores (He et al. 2020, arXiv 2006.03654; version 2 and 3): beside content and content, the content of one token and the
 * relative position of the other.
 *
 *     score[i, j] = (q_i·k_j + q_i·kr[b] + k_j·qr[b]) / √(d · terms)      b = bucket(i − j)
 *
 * kr [H, S, d] and qr [H, S, d] are projections of one table of S relative positions; both sums are tables [H, N, S] that a score mod
 * reads, so that no array of N × N numbers is made.
 */
import { type ScoreMod, scoreMod, table } from "../../index.ts";
import { tableOf } from "../../masks/expression/table.ts";
import { type FloatTensor, matmul, reshape, scale as scaled, transpose } from "../../nn/index.ts";

/** How distances become rows of the table of relative positions. */
export interface RelativePositions {
  /** Rows on each side of distance 0. */
  readonly span: number;
  /** Half of the buckets count distances one by one, the others by their logarithm; undefined: one by one. */
  readonly buckets?: number;
  /** Distance of the last bucket. */
  readonly maxDistance: number;
}

/** The terms of a layer's scores with relative positions, for the distances of a text. */
export interface Disentangled {
  /** [H, S, d]: row b is for the distances whose bucket is first + b. One or both. */
  readonly positionKeys?: FloatTensor;
  readonly positionQueries?: FloatTensor;
  /** Bucket of each distance i − j from −(N − 1) to N − 1. */
  readonly rows: Int32Array;
}

/** The row of a distance i − j in the complete table, with the logarithm in float32 as in the published models. */
function rowOf(distance: number, { span, buckets, maxDistance }: RelativePositions): number {
  const clamped = (bucket: number) => Math.max(0, Math.min(2 * span - 1, bucket + span));
  const size = Math.abs(distance);
  const half = Math.floor((buckets ?? 0) / 2);
  if (buckets === undefined || size <= half) return clamped(distance);
  const f = Math.fround;
  const share = f(f(Math.log(f(size / half))) / f(Math.log(f((maxDistance - 1) / half))));
  return clamped(Math.sign(distance) * (Math.ceil(f(share * (half - 1))) + half));
}

/** The first row of the table that a text of N tokens reads, the row after the last, and the row of each distance from the first on. */
export function rowsOf(
  N: number,
  positions: RelativePositions,
): { first: number; end: number; rows: Int32Array } {
  const all = Int32Array.from({ length: 2 * N - 1 }, (_, n) => rowOf(n - (N - 1), positions));
  const [first, last] = [all[0], all[all.length - 1]];
  return { first, end: last + 1, rows: all.map((row) => row - first) };
}

/** The terms as score mods, each times `factor`: query and key are [..., H, N, d]. */
export function disentangledMods(
  { positionKeys, positionQueries, rows }: Disentangled,
  query: FloatTensor,
  key: FloatTensor,
  factor: number,
): ScoreMod[] {
  const distances = table({ data: rows, shape: [rows.length] }, { name: "distances" });
  const last = (rows.length - 1) / 2;
  const sums = (x: FloatTensor, positions: FloatTensor) => {
    const all = matmul(x, transpose(scaled(positions, factor), -2, -1)); // [..., H, N, S]
    const source = reshape(all, [-1, ...all.shape.slice(-3)]);
    return tableOf(source, source.device === "cpu" ? (source.data as Float32Array) : undefined);
  };
  const mods: ScoreMod[] = [];
  if (positionKeys) {
    const terms = sums(query, positionKeys);
    mods.push(
      scoreMod(({ score, b, h, q, k }) =>
        score.add(terms.at(b, h, q, distances.at(q.sub(k).add(last))).toFloat()),
      ),
    );
  }
  if (positionQueries) {
    const terms = sums(key, positionQueries);
    mods.push(
      scoreMod(({ score, b, h, q, k }) =>
        score.add(terms.at(b, h, k, distances.at(q.sub(k).add(last))).toFloat()),
      ),
    );
  }
  return mods;
}
