/** Flash on one query, tile by tile. */
import { mergeStates, scaledDotProductAttention, tensor } from "../../src/index.ts";
import { online } from "../../src/reference/index.ts";
import type { TileStep } from "./compute.ts";
import type { HeadData } from "./data.ts";
import { TILES } from "./shown.ts";

const round = (x: number) => Math.round(x * 1000) / 1000;

/** The tiles of a row, and what is merged after each: log-sum-exp and first number of the output. */
export function tilesOf(head: HeadData, row: number): { each: TileStep[]; merged: [number, number][] } {
  const each = eachOf(head, row);
  return { each, merged: merge(each) };
}

/** Flash on one query: its keys in eight tiles. */
function eachOf({ query, key, value }: HeadData, row: number): TileStep[] {
  const [n, d] = query.shape;
  const each = n / TILES;
  const [q, k, v] = [query, key, value].map((t) => t.toFloat64());
  const one = q.slice(row * d, (row + 1) * d);
  return Array.from(online(one, k, v, { Nq: 1, Nk: n, dk: d, dv: d }, { tileN: each }), (step) => {
    const [from, to] = step.keys;
    const ownText = scaledDotProductAttention(
      tensor(one, [1, d]),
      tensor(k.slice(from * d, to * d), [each, d]),
      tensor(v.slice(from * d, to * d), [each, d]),
    );
    return {
      scores: [...step.s],
      maximum: step.m[0],
      rescale: step.rescale[0],
      sum: step.l[0],
      output: step.o[0] / step.l[0],
      ownText: { lse: round(ownText.lse.at(0)), output: round(ownText.output.at(0, 0)) },
    };
  });
}

/** Merges the tiles one after another, as the listing does. */
function merge(tiles: readonly TileStep[]): [number, number][] {
  const state = ({ ownText }: TileStep) => ({
    output: tensor(Float64Array.of(ownText.output), [1, 1]),
    lse: tensor(Float64Array.of(ownText.lse), [1]),
  });
  let all = state(tiles[0]);
  return tiles.map((tile, j) => {
    if (j > 0) all = mergeStates([all, state(tile)]) as typeof all;
    return [all.lse.at(0), all.output.at(0, 0)];
  });
}
