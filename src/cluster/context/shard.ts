/**
 * Which positions of a sequence each rank holds. The cost of attention depends on the mask, so equal numbers of tokens are not
 * equal work: under a causal mask the last rank of a contiguous split has the largest part of it. Three distributions:
 *
 *   contiguous  no mask: equal parts
 *   zigzag      causal: 2P chunks; rank r holds chunks r and 2P − 1 − r, an early and a late one
 *   dealt       any mask: blocks of rows, the most expensive first, each to the rank with the least work so far
 *
 * The cost of a block is the number of visible tiles of its rows, from the same classifier with which the engine skips tiles.
 */

import { TileMap } from "../../backend/plan/tiles.ts";
import { type AttentionOptions, maskMembers, resolve } from "../../backend/problem.ts";
import {
  checkArgument,
  checkCount,
  checkInteger,
  checkMethods,
  formatTensor,
  refuseGot,
  refuseValue,
  ShapeError,
} from "../../core/errors.ts";
import { checkKind, checkOptionNames } from "../../core/option-names.ts";
import { asTensor, Tensor, type TensorLike } from "../../core/tensor.ts";
import { causal } from "../../masks/causal.ts";
import { BoolExpression, textOf } from "../../masks/expression/expr.ts";

/** How positions are distributed. @beta */
export type ShardKind = "contiguous" | "zigzag" | "dealt";

/** Options of `shardSequence`. @beta */
export interface ShardOptions {
  /** Number of tokens of the sequence. */
  readonly length: number;
  readonly ranks: number;
  /** The mask of the attention: as `scaledDotProductAttention` takes it. Mask tensors do not change the cost. Default none. */
  readonly attnMask?: AttentionOptions["attnMask"];
  /** Causal attention. Default false. */
  readonly isCausal?: boolean;
  /** `"tiles"`: equal work under the mask (default). `"tokens"`: contiguous parts of equal length, for any mask. */
  readonly cost?: "tiles" | "tokens";
  /** Batch entries and query heads, where the mask differs between them. Default 1. */
  readonly batch?: number;
  readonly heads?: number;
}

/** Positions from `from` to `to` (excluded). @beta */
export type PositionRange = readonly [from: number, to: number];

/** Rows and keys of a tile for counting. Blocks consist of full tiles of rows, as the engine computes them. */
const TILE_ROWS = 48;
const TILE_KEYS = 128;
const PANEL = 16;
/** Minimum number of blocks per rank, where the sequence is long enough. */
const BLOCKS_PER_RANK = 16;

/** Which rank holds which positions. The same options give the same plan on every rank. @beta */
export class ShardPlan {
  readonly length: number;
  readonly ranks: number;
  readonly kind: ShardKind;
  /** Work of each rank's queries: visible tiles of 48 rows × 128 keys. */
  readonly costs: readonly number[];
  readonly #ranges: readonly (readonly PositionRange[])[];
  readonly #positions: (Int32Array | undefined)[] = [];

  constructor(
    length: number,
    kind: ShardKind,
    ranges: readonly (readonly PositionRange[])[],
    costs: readonly number[],
  ) {
    checkCount("ShardPlan", arguments, 4);
    checkArgument(
      Array.isArray(ranges),
      "ShardPlan",
      "a length, a kind, and ranges by rank; shardSequence makes a plan",
      ranges,
    );
    checkInteger("ShardPlan", "length", length, 0);
    if (!["contiguous", "zigzag", "dealt"].includes(kind))
      refuseValue("ShardPlan", "kind", '"contiguous", "zigzag" or "dealt"', kind);
    checkKind("ShardPlan", "costs", "a list of numbers", costs);
    for (const list of ranges) {
      checkKind("ShardPlan", "ranges", "a list of lists", list);
      for (const range of list) checkKind("ShardPlan", "a range", "a list of integers ≥ 0", range);
    }
    let next = 0;
    for (const [from, to] of ranges.flat().toSorted(([a], [b]) => a - b))
      next = from === next && to >= from ? to : NaN;
    if (next !== length)
      refuseValue("ShardPlan", "ranges", `[from, to) that hold each of ${length} positions once`, ranges);
    if (costs.length !== ranges.length)
      refuseValue("ShardPlan", "costs", `one number for each of ${ranges.length} ranks`, costs);
    this.length = length;
    this.ranks = ranges.length;
    this.kind = kind;
    this.#ranges = ranges;
    this.costs = costs;
  }

  /** Positions that a rank holds, as increasing ranges. */
  ranges(rank: number): readonly PositionRange[] {
    return this.#ranges[this.#check(rank)];
  }

  /** Number of tokens that a rank holds. */
  size(rank: number): number {
    return this.ranges(rank).reduce((n, [from, to]) => n + to - from, 0);
  }

  /** Positions that a rank holds, as a list: for `queryPositions`, `keyPositions`, and `positions` of `rope`. */
  positions(rank: number): Int32Array {
    const cached = this.#positions[this.#check(rank)];
    if (cached) return cached;
    const list = new Int32Array(this.size(rank));
    let n = 0;
    for (const [from, to] of this.ranges(rank)) for (let at = from; at < to; at++) list[n++] = at;
    this.#positions[rank] = list;
    return list;
  }

  /** Largest work of a rank divided by the mean: 1 is perfect balance, and 1/imbalance the best possible efficiency. */
  get imbalance(): number {
    const mean = this.costs.reduce((sum, x) => sum + x, 0) / this.ranks;
    return mean === 0 ? 1 : Math.max(...this.costs) / mean;
  }

  /** A text that is equal for equal plans. */
  get key(): string {
    return `${this.length} ${this.#ranges.map((ranges) => ranges.map((range) => range.join("-")).join(",")).join(" ")}`;
  }

  /**
   * A rank's rows of a tensor over the whole sequence, a copy.
   * @param axis axis of positions; default −2: [..., N, d]
   */
  take(rank: number, sequence: TensorLike, axis = -2): Tensor {
    const rows = asTensor("ShardPlan.take: sequence", sequence);
    if (!Number.isInteger(axis)) refuseValue("ShardPlan.take", "axis", "an integer", axis);
    const at = axis < 0 ? rows.shape.length + axis : axis;
    if (rows.shape[at] !== this.length)
      throw new ShapeError(
        "shard",
        `ShardPlan.take: axis ${axis} must have the ${this.length} positions of the plan, got [${rows.shape.join(", ")}]`,
        { got: rows.shape, length: this.length },
      );
    return takeRanges(rows, at, this.ranges(rank));
  }

  /**
   * The plan of the same sequence extended to `length`: each new position is assigned to the rank with the fewest. Existing
   * positions keep their rank, so caches grow in place: for decoding.
   */
  extend(length: number): ShardPlan {
    if (!(Number.isSafeInteger(length) && length >= this.length))
      refuseValue("ShardPlan.extend", "length", `an integer ≥ ${this.length}`, length);
    const ranges = this.#ranges.map((list) => list.map(([from, to]): [number, number] => [from, to]));
    const sizes = Array.from({ length: this.ranks }, (_, rank) => this.size(rank));
    for (let at = this.length; at < length; at++) {
      const rank = sizes.indexOf(Math.min(...sizes));
      const last = ranges[rank].at(-1);
      if (last?.[1] === at) last[1]++;
      else ranges[rank].push([at, at + 1]);
      sizes[rank]++;
    }
    return new ShardPlan(length, this.kind, ranges, this.costs);
  }

  /** One line per rank: its positions, up to six ranges of them. */
  toString(): string {
    const lines = this.#ranges.map((ranges, rank) => {
      const shown = ranges.slice(0, 6).map(([from, to]) => `${from}–${to - 1}`);
      if (ranges.length > 6) shown.push(`and ${ranges.length - 6} more`);
      return `rank ${rank}  ${shown.join(", ") || "nothing"}  (${this.size(rank)} tokens, ${Math.round(this.costs[rank])} tiles)`;
    });
    const balance = `max/mean ${this.imbalance.toFixed(3)}`;
    return [
      `${this.kind}, ${this.length} tokens over ${this.ranks} rank${this.ranks === 1 ? "" : "s"}, ${balance}`,
      ...lines,
    ].join("\n");
  }

  #check(rank: number): number {
    if (Number.isInteger(rank) && rank >= 0 && rank < this.ranks) return rank;
    refuseValue("ShardPlan", "rank", `an integer from 0 to ${this.ranks - 1}`, rank);
  }
}

// biome-ignore format: a table
checkMethods("ShardPlan", ShardPlan.prototype, {
  ranges: 1, size: 1, positions: 1, take: 3, extend: 1, toString: 0,
});

/**
 * Distributes the positions of a sequence over ranks so that each has the same work under the mask.
 *
 * @example
 * const plan = shardSequence({ length: 8192, ranks: 4, isCausal: true });
 * plan.ranges(0); // [[0, 1008], [7152, 8192]]
 * plan.imbalance; // 1.01
 * @beta
 */
export function shardSequence(options: ShardOptions): ShardPlan {
  checkCount("shardSequence", arguments, 1);
  checkOptionNames("shardSequence", options, "length ranks attnMask isCausal cost batch heads");
  const { length, ranks, attnMask, isCausal = false, cost = "tiles", batch = 1, heads = 1 } = options;
  for (const [name, value, least] of [
    ["length", length, 0],
    ["ranks", ranks, 1],
    ["batch", batch, 1],
    ["heads", heads, 1],
  ] as const)
    if (!(Number.isSafeInteger(value) && value >= least && value < 2 ** 30))
      refuseValue("shardSequence", name, `an integer ≥ ${least} and below 2^30`, value);
  if (typeof isCausal !== "boolean")
    refuseGot("causal", "shardSequence: isCausal must be true or false", isCausal);
  if (cost !== "tiles" && cost !== "tokens")
    refuseValue("shardSequence", "cost", '"tiles" or "tokens"', cost);
  const members = maskMembers("shardSequence", attnMask);
  for (const member of members)
    if (member instanceof Tensor && member.shape.slice(-2).some((n) => n !== 1 && n !== length))
      throw new ShapeError(
        "mask-shape",
        `shardSequence: attnMask must broadcast, right-aligned, to [..., ${length}, ${length}], as length says, got ${formatTensor("attnMask", member)}`,
        { mask: member.shape, length },
      );
  const masks = members.filter((member): member is BoolExpression => member instanceof BoolExpression);
  if (isCausal) masks.unshift(causal());
  const mask = masks.length > 0 ? masks[0].and(...masks.slice(1)) : undefined;
  const tiles = tileCounter(length, mask, batch, heads);
  const plain = mask === undefined || cost === "tokens";
  const kind: ShardKind = plain ? "contiguous" : isCausalAlone(mask) ? "zigzag" : "dealt";
  const ranges =
    kind === "contiguous"
      ? contiguous(length, ranks)
      : kind === "zigzag"
        ? zigzag(length, ranks)
        : dealt(length, ranks, tiles);
  const costs = ranges.map((list) => list.reduce((sum, [from, to]) => sum + tiles(from, to), 0));
  return new ShardPlan(length, kind, ranges, costs);
}

const isCausalAlone = (mask: BoolExpression): boolean => textOf(mask) === textOf(causal());

/** Boundaries of `parts` parts of equal length, at full tiles where a tile is at most a sixteenth of a part. */
function edges(length: number, parts: number): number[] {
  const step = length / parts >= 16 * TILE_ROWS ? TILE_ROWS : length / parts >= 64 ? 4 : 1;
  return Array.from({ length: parts + 1 }, (_, n) =>
    n === parts ? length : Math.min(length, Math.round((n * length) / parts / step) * step),
  );
}

const contiguous = (length: number, ranks: number): PositionRange[][] => {
  const at = edges(length, ranks);
  return Array.from({ length: ranks }, (_, rank) => joined([[at[rank], at[rank + 1]]]));
};

const zigzag = (length: number, ranks: number): PositionRange[][] => {
  const at = edges(length, 2 * ranks);
  return Array.from({ length: ranks }, (_, rank) => {
    const other = 2 * ranks - 1 - rank;
    return joined([
      [at[rank], at[rank + 1]],
      [at[other], at[other + 1]],
    ]);
  });
};

/** Blocks to ranks: the most expensive first, each to the rank with the least work that is not full. */
function dealt(
  length: number,
  ranks: number,
  tiles: (from: number, to: number) => number,
): PositionRange[][] {
  const tileRows = Math.floor(length / (ranks * BLOCKS_PER_RANK) / TILE_ROWS) * TILE_ROWS;
  const size = Math.max(1, tileRows || Math.floor(length / (ranks * BLOCKS_PER_RANK)) || 1);
  const blocks = Array.from({ length: Math.ceil(length / size) }, (_, n) => {
    const range: PositionRange = [n * size, Math.min(length, (n + 1) * size)];
    return { range, cost: tiles(...range) };
  });
  const order = blocks.map((_, n) => n).sort((a, b) => blocks[b].cost - blocks[a].cost || a - b);
  const capacity = Math.ceil(blocks.length / ranks);
  const shares = Array.from({ length: ranks }, () => ({ cost: 0, ranges: [] as PositionRange[] }));
  for (const n of order) {
    let best: (typeof shares)[number] | undefined;
    for (const share of shares)
      if (share.ranges.length < capacity && (best === undefined || share.cost < best.cost)) best = share;
    if (best === undefined) throw new RangeError("shardSequence: all ranks are full");
    best.ranges.push(blocks[n].range);
    best.cost += blocks[n].cost;
  }
  return shares.map(({ ranges }) => joined(ranges));
}

/** Ranges in order, with adjacent ones joined and empty ones removed. */
function joined(ranges: readonly PositionRange[]): PositionRange[] {
  const result: [number, number][] = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (to <= from) continue;
    if (last?.[1] === from) last[1] = to;
    else result.push([from, to]);
  }
  return result;
}

/** Visible tiles of rows `from` … `to` under a mask, with fractions of partial tiles. */
function tileCounter(
  length: number,
  mask: BoolExpression | undefined,
  batch: number,
  heads: number,
): (from: number, to: number) => number {
  const like = new Tensor(new Float32Array(1), [batch, heads, length, 1], "float32", [0, 0, 0, 0]);
  const problem = resolve("shardSequence", like, like, like, mask === undefined ? {} : { attnMask: mask });
  const map = new TileMap(problem, TILE_KEYS, PANEL);
  const [bs, hs] = [map.perBatch ? batch : 1, map.perHead ? heads : 1];
  return (from, to) => {
    let cells = 0;
    for (let b = 0; b < bs; b++)
      for (let h = 0; h < hs; h++)
        for (let row = from; row < to; row += TILE_ROWS) {
          const end = Math.min(to, row + TILE_ROWS);
          for (const run of map.runs(b, h, row, end, 0, length)) cells += (end - row) * (run.to - run.from);
        }
    return (cells * batch * heads) / (bs * hs) / (TILE_ROWS * TILE_KEYS);
  };
}

/** A dense copy of ranges of one axis of a tensor, concatenated. */
export function takeRanges(t: Tensor, axis: number, ranges: readonly PositionRange[]): Tensor {
  const source = t.dense();
  const count = ranges.reduce((n, [from, to]) => n + to - from, 0);
  const shape = source.shape.map((n, i) => (i === axis ? count : n));
  const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const outer = shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const data = emptyLike(source, outer * count * inner);
  const { data: numbers, offset } = source;
  for (let o = 0; o < outer; o++) {
    let at = o * count * inner;
    const first = offset + o * source.shape[axis] * inner;
    for (const [from, to] of ranges) {
      (data as Float32Array).set(
        (numbers as Float32Array).subarray(first + from * inner, first + to * inner),
        at,
      );
      at += (to - from) * inner;
    }
  }
  return new Tensor(data, shape, t.dtype);
}

/** An array of the same class as a tensor's. */
export const emptyLike = (t: Tensor, n: number): Tensor["data"] =>
  new (t.data.constructor as new (n: number) => Tensor["data"])(n);
