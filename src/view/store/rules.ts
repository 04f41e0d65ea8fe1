/**
 * What a recipe means for one head: heed's own mask and score expressions, so that what is explained, drawn and
 * computed by the engine is one thing. A head stands alone here (batch 1, head 0): its slope, sink and table are its own,
 * and nothing speaks of row numbers, only of positions, so that any rows can be computed by themselves.
 */
import { type Box, classer, type TileClass } from "../../score/bounds.ts";
import type { BoolExpression, ScoreMod } from "../../score/expr.ts";
import {
  alibi,
  and,
  causal,
  globalTokens,
  keyLengths,
  or,
  prefixLm,
  relativeBias,
  slidingWindow,
  softcap,
} from "../../score/index.ts";
import { type Cell, compile } from "../../score/js.ts";
import type { RecipeMask } from "./recipe.ts";

/** A recipe resolved for one head of one layer: plain numbers, nothing to look up. It can be sent to a worker as it is. */
export interface HeadRecipe {
  readonly scale: number;
  /** Masks in tensors are the head's `keep`. */
  readonly mask: Exclude<RecipeMask, { readonly tensor: string }>;
  readonly keyLength?: number;
  readonly queryOffset: number;
  readonly softcap?: number;
  /** ALiBi's slope. */
  readonly slope?: number;
  /** T5's buckets of this head. */
  readonly relative?: {
    readonly table: Float64Array;
    readonly maxDistance?: number;
    readonly bidirectional?: boolean;
  };
  readonly sink?: number;
}

/** One change of the score. */
export interface Change {
  readonly step: "softcap" | "alibi" | "relative";
  readonly mod: ScoreMod;
  /** The score after it. */
  apply(score: number, i: number, j: number): number;
}

/** A recipe ready to run. */
export interface Rules {
  readonly changes: readonly Change[];
  readonly mask: BoolExpression | undefined;
  /** True where the mask, without the head's tensors, lets query i see key j. */
  allows(i: number, j: number): boolean;
  /** Fills `runs` with the keys query i may see: from, to, from, to … ascending, apart from each other. */
  runs(i: number, Nk: number, runs: number[]): void;
}

/** Keys looked at one by one, where a range is neither hidden nor seen as a whole. */
const FEW = 8;

/** Builds the expressions of a recipe. */
export function rulesOf(recipe: HeadRecipe): Rules {
  const { queryOffset } = recipe;
  const cell: Cell = { b: 0, h: 0, i: 0, q: 0, k: 0, score: 0 };
  const changes: Change[] = [];
  const add = (step: Change["step"], mod: ScoreMod) => {
    const run = compile(mod.expr);
    changes.push({
      step,
      mod,
      apply(score, i, j) {
        cell.i = i;
        cell.q = i + queryOffset;
        cell.k = j;
        cell.score = score;
        return run(cell);
      },
    });
  };
  if (recipe.softcap !== undefined) add("softcap", softcap(recipe.softcap));
  if (recipe.slope !== undefined) add("alibi", alibi(Float64Array.of(recipe.slope)));
  if (recipe.relative) {
    const { table, ...options } = recipe.relative;
    add("relative", relativeBias({ data: table, shape: [table.length, 1] }, options));
  }

  const mask = maskOf(recipe);
  const statement = mask && compile(mask);
  const classOf = mask && classer(mask);
  const box: Box = {
    b0: 0,
    b1: 0,
    h0: 0,
    h1: 0,
    i0: 0,
    i1: 0,
    k0: 0,
    k1: 0,
    offset0: queryOffset,
    offset1: queryOffset,
  };
  const allows = (i: number, j: number): boolean => {
    if (!statement) return true;
    cell.i = i;
    cell.q = i + queryOffset;
    cell.k = j;
    return statement(cell) === 1;
  };
  return {
    changes,
    mask,
    allows,
    runs(i, Nk, runs) {
      runs.length = 0;
      if (Nk === 0) return;
      if (!classOf) {
        runs.push(0, Nk);
        return;
      }
      box.i0 = box.i1 = i;
      halve(classOf, box, 0, Nk, runs, (j) => allows(i, j));
    },
  };
}

/** Ranges of keys, halved until they are hidden or seen as a whole. */
function halve(
  classOf: (box: Box) => TileClass,
  box: Box,
  from: number,
  to: number,
  runs: number[],
  allows: (j: number) => boolean,
): void {
  box.k0 = from;
  box.k1 = to - 1;
  const kind = classOf(box);
  if (kind === "skip") return;
  if (kind === "full") join(runs, from, to);
  else if (to - from <= FEW) {
    for (let j = from; j < to; j++) if (allows(j)) join(runs, j, j + 1);
  } else {
    const middle = from + ((to - from) >> 1);
    halve(classOf, box, from, middle, runs, allows);
    halve(classOf, box, middle, to, runs, allows);
  }
}

/** Adds a run behind the others, or makes the last one longer. */
function join(runs: number[], from: number, to: number): void {
  if (runs.length > 0 && runs[runs.length - 1] === from) runs[runs.length - 1] = to;
  else runs.push(from, to);
}

function maskOf({ mask, keyLength }: HeadRecipe): BoolExpression | undefined {
  const parts: BoolExpression[] = [];
  if (mask === "causal") parts.push(causal());
  else if (mask !== "none" && "window" in mask) {
    const { window, globals } = mask;
    const near = slidingWindow(window, mask.causal ? -1 : window);
    parts.push(globals?.length ? or(near, globalTokens(globals)) : near);
    if (mask.causal) parts.push(causal());
  } else if (mask !== "none") parts.push(prefixLm(mask.prefix));
  if (keyLength !== undefined) parts.push(keyLengths(keyLength));
  return parts.length === 0 ? undefined : and(...parts);
}
