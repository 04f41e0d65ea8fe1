/**
 * The recipe of one head: plain data that can be posted to a worker, and heed's mask and score mods built from it
 * (`src/masks`). Every computation of the head uses the same expressions.
 */
import type { BoolExpression, NumberExpression, ScoreMod, ScoreVars } from "../../masks/expression/expr.ts";
import { alibi, and, keyLengths, relativeBias, scoreMod, softcap, table } from "../../masks/index.ts";
import { maskFromJson } from "../../masks/registry.ts";
import { maskJsonOf, type RecipeMask } from "./recipe.ts";

/** A recipe resolved for one head of one layer. */
export interface HeadRecipe {
  readonly scale: number;
  /** A mask in a tensor is `HeadData.keep` instead. */
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
  /** DeBERTa's rows of this head, [S, d] each, and the row of each distance. */
  readonly disentangled?: {
    readonly keys?: Float64Array;
    readonly queries?: Float64Array;
    readonly rows: Int32Array;
  };
  readonly sink?: number;
}

/** The vectors of a head that terms of content and position read: [Nq, d] and [Nk, d], and what multiplies every term. */
export interface HeadVectors {
  readonly query: ArrayLike<number>;
  readonly key: ArrayLike<number>;
  readonly d: number;
  readonly scale: number;
}

/** The recipe's mask without mask tensors; undefined if it has none. */
export function maskOf({ mask, keyLength }: HeadRecipe): BoolExpression | undefined {
  const parts: BoolExpression[] = [];
  const json = maskJsonOf(mask);
  if (json !== undefined) parts.push(maskFromJson(json));
  if (keyLength !== undefined) parts.push(keyLengths(keyLength));
  return parts.length === 0 ? undefined : parts.length === 1 ? parts[0] : and(...parts);
}

/** A score mod and its step in the ledger. */
export interface NamedMod {
  readonly step: "softcap" | "alibi" | "relative" | "content-position" | "position-content";
  readonly mod: (vectors: HeadVectors) => ScoreMod;
}

/** The recipe's score mods in the order they are applied. The head is batch 0, head 0. */
export function namedMods(recipe: HeadRecipe): NamedMod[] {
  const mods: NamedMod[] = [];
  if (recipe.softcap !== undefined) mods.push({ step: "softcap", mod: () => softcap(recipe.softcap!) });
  if (recipe.slope !== undefined)
    mods.push({ step: "alibi", mod: () => alibi(Float64Array.of(recipe.slope!)) });
  if (recipe.relative) {
    const { table, ...options } = recipe.relative;
    const mod = relativeBias({ data: table, shape: [table.length, 1] }, options);
    mods.push({ step: "relative", mod: () => mod });
  }
  const { keys, queries, rows } = recipe.disentangled ?? {};
  const offset = recipe.queryOffset;
  if (keys)
    mods.push({
      step: "content-position",
      mod: (x) => positionTerm(x, x.query, keys, rows!, ({ q }) => q.sub(offset)),
    });
  if (queries)
    mods.push({ step: "position-content", mod: (x) => positionTerm(x, x.key, queries, rows!, ({ k }) => k) });
  return mods;
}

/** Adds scale · content[n]·positions[rows[i − j]], where `of` is the index n of the query or of the key. */
function positionTerm(
  { d, scale }: HeadVectors,
  content: ArrayLike<number>,
  positions: Float64Array,
  rows: Int32Array,
  of: (at: ScoreVars) => NumberExpression,
): ScoreMod {
  const [N, S] = [content.length / d, positions.length / d];
  const products = new Float64Array(N * S);
  for (let n = 0; n < N; n++)
    for (let row = 0; row < S; row++) {
      let sum = 0;
      for (let c = 0; c < d; c++) sum += content[n * d + c] * positions[row * d + c];
      products[n * S + row] = sum * scale;
    }
  const terms = table({ data: products, shape: [N, S] });
  const distances = table({ data: rows, shape: [rows.length] });
  const last = (rows.length - 1) / 2;
  return scoreMod((at) => at.score.add(terms.at(of(at), distances.at(at.q.sub(at.k).add(last))).toFloat()));
}
