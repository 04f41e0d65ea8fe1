/** Stores in memory for the tests of figures and pages: seeded heads of every kind of mask, token and size. */
import { type Tensor, tensor } from "../../../src/index.ts";
import type { Segment } from "../../../src/store/block.ts";
import type { HeadStore } from "../../../src/store/head-store.ts";
import { type BlockInput, type StoreInput, storeFrom } from "../../../src/store/layout/from.ts";
import type { ScoreRecipe } from "../../../src/store/recipe/recipe.ts";
import { random } from "../../support/cases/random.ts";

export interface Made {
  readonly layers?: number;
  readonly heads?: number;
  readonly Nq?: number;
  readonly Nk?: number;
  readonly d?: number;
  readonly recipe?: ScoreRecipe;
  readonly tokens?: readonly string[];
  readonly segments?: readonly Segment[];
  readonly seed?: number;
  /** Scales the queries: larger is sharper. */
  readonly sharp?: number;
}

/** Queries, keys and values of one block, `self`. */
export function madeInput(options: Made = {}): StoreInput {
  const { layers = 2, heads = 2, Nq = 9, Nk = Nq, d = 8, seed = 1, sharp = 2, segments } = options;
  const draw = random(seed);
  const normal = (rows: number, size: number): Tensor =>
    tensor(
      Float32Array.from({ length: heads * rows * d }, () => size * draw.normal()),
      [heads, rows, d],
    );
  const tokens = options.tokens ?? Array.from({ length: Math.max(Nq, Nk) }, (_, i) => `t${i}`);
  const block: BlockInput = {
    kind: "self",
    queryTokens: tokens.slice(0, Nq),
    keyTokens: tokens.slice(0, Nk),
    recipe: options.recipe ?? { mask: "causal" },
    segments,
    layers: Array.from({ length: layers }, () => ({
      query: normal(Nq, sharp),
      key: normal(Nk, 1),
      value: normal(Nk, 1),
    })),
  };
  return { blocks: [block] };
}

/** A store over such a block, computed on this thread. */
export const madeStore = (options: Made = {}): HeadStore => storeFrom(madeInput(options));
