/**
 * What a recipe means for one head, in plain arithmetic: which keys a query may see, and how a score is changed. It says
 * what heed's masks and score changes say (`engine.ts` builds those from the same recipe, and a test holds the two
 * together, cell by cell), in a few kilobytes, so that a page can show heads without the engine.
 *
 *     soft cap  c·tanh(s / c)      ALiBi  s − slope·|p − j|      relative bias  s + table[bucket(j − p)]      p = i + queryOffset
 */
import { relativeBucket } from "../../masks/relative.ts";
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
  /** The score after it. */
  apply(score: number, i: number, j: number): number;
}

/** A recipe ready to run. */
export interface Rules {
  /** In the order they are made. */
  readonly changes: readonly Change[];
  /** True where the mask, without the head's tensors, lets query i see key j. */
  allows(i: number, j: number): boolean;
  /** Fills `runs` with the keys query i may see: from, to, from, to … ascending, apart from each other. */
  runs(i: number, Nk: number, runs: number[]): void;
}

/** Makes a recipe ready. */
export function rulesOf(recipe: HeadRecipe): Rules {
  const { mask, keyLength = Infinity, queryOffset } = recipe;
  const window = typeof mask === "object" && "window" in mask ? mask : undefined;
  const globals = [...new Set(window?.globals)].sort((a, b) => a - b);
  const isGlobal = new Set(globals);
  const prefix = typeof mask === "object" && "prefix" in mask ? mask.prefix : undefined;
  const isCausal = mask === "causal" || window?.causal === true;
  /** One past the last key that position p may see, window aside. */
  const end = (p: number) =>
    Math.min(keyLength, isCausal ? p + 1 : prefix === undefined ? Infinity : Math.max(prefix, p + 1));

  return {
    changes: changesOf(recipe),
    allows(i, j) {
      const p = i + queryOffset;
      if (j >= end(p)) return false;
      return !window || Math.abs(p - j) <= window.window || isGlobal.has(p) || isGlobal.has(j);
    },
    runs(i, Nk, runs) {
      runs.length = 0;
      const p = i + queryOffset;
      const last = Math.min(Nk, end(p));
      if (!window || isGlobal.has(p)) {
        add(runs, 0, last);
        return;
      }
      const [from, to] = [Math.max(0, p - window.window), Math.min(last, p + window.window + 1)];
      for (const g of globals) if (g < from) add(runs, g, Math.min(last, g + 1));
      add(runs, from, to);
      for (const g of globals) if (g >= Math.max(from, to)) add(runs, g, Math.min(last, g + 1));
    },
  };
}

/** Adds a run behind the others, or makes the last one longer; an empty one is none. */
function add(runs: number[], from: number, to: number): void {
  if (from >= to) return;
  if (runs.length > 0 && runs[runs.length - 1] === from) runs[runs.length - 1] = to;
  else runs.push(from, to);
}

function changesOf({ softcap, slope, relative, queryOffset }: HeadRecipe): Change[] {
  const changes: Change[] = [];
  if (softcap !== undefined)
    changes.push({ step: "softcap", apply: (s) => softcap * Math.tanh(s / softcap) });
  if (slope !== undefined)
    changes.push({ step: "alibi", apply: (s, i, j) => s - slope * Math.abs(i + queryOffset - j) });
  if (relative) {
    const { table, maxDistance = 128, bidirectional = true } = relative;
    // Farther keys share the bucket of the greatest distance.
    const added = Float64Array.from(
      { length: 2 * maxDistance + 1 },
      (_, n) => table[relativeBucket(n - maxDistance, table.length, maxDistance, bidirectional)],
    );
    const at = (far: number) => Math.max(0, Math.min(2 * maxDistance, far + maxDistance));
    changes.push({ step: "relative", apply: (s, i, j) => s + added[at(j - i - queryOffset)] });
  }
  return changes;
}
