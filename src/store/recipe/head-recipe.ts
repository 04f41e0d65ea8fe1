/**
 * The recipe of one head: plain data that can be posted to a worker, and heed's mask and score mods built from it
 * (`src/masks`). Every computation of the head uses the same expressions.
 */
import type { BoolExpression, ScoreMod } from "../../masks/expression/expr.ts";
import { alibi, and, keyLengths, relativeBias, softcap } from "../../masks/index.ts";
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
  readonly sink?: number;
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
  readonly step: "softcap" | "alibi" | "relative";
  readonly mod: ScoreMod;
}

/** The recipe's score mods in the order they are applied. The head is batch 0, head 0. */
export function namedMods(recipe: HeadRecipe): NamedMod[] {
  const mods: NamedMod[] = [];
  if (recipe.softcap !== undefined) mods.push({ step: "softcap", mod: softcap(recipe.softcap) });
  if (recipe.slope !== undefined) mods.push({ step: "alibi", mod: alibi(Float64Array.of(recipe.slope)) });
  if (recipe.relative) {
    const { table, ...options } = recipe.relative;
    mods.push({ step: "relative", mod: relativeBias({ data: table, shape: [table.length, 1] }, options) });
  }
  return mods;
}
