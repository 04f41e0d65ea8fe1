/** Random stores for tests: heads with every recipe a bundle can describe, as arrays. */
import type { BlockInput, StoreInput } from "../../../../src/store/layout/input.ts";
import type { RecipeMask, ScoreRecipe } from "../../../../src/store/recipe/recipe.ts";
import { type Random, random } from "../random.ts";

export interface RandomOptions {
  readonly Nq?: number;
  readonly Nk?: number;
  readonly heads?: number;
  readonly keyHeads?: number;
  readonly d?: number;
  readonly dv?: number;
  readonly layers?: number;
  readonly recipe?: ScoreRecipe;
  readonly wide?: boolean;
  readonly values?: boolean;
}

/** Numbers drawn from a normal distribution. */
export function normals(r: Random, count: number, size = 1, wide = false): Float32Array | Float64Array {
  const out = wide ? new Float64Array(count) : new Float32Array(count);
  for (let n = 0; n < count; n++) out[n] = size * r.normal();
  return out;
}

/** A block of random heads, with the tensors that its recipe names. */
function randomBlock(seed: number, options: RandomOptions = {}): BlockInput {
  const r = random(seed);
  const { wide = false, layers = 1 } = options;
  const Nk = options.Nk ?? r.int(1, 24);
  const Nq = options.Nq ?? (r.chance(0.6) ? Nk : r.int(1, 24));
  const keyHeads = options.keyHeads ?? r.int(1, 3);
  const heads = options.heads ?? keyHeads * r.int(1, 3);
  const d = options.d ?? r.int(1, 12);
  const dv = options.dv ?? r.int(1, 9);
  const recipe = options.recipe ?? randomRecipe(r, Nq, Nk, heads);
  const words = Array.from({ length: Math.max(Nq, Nk) }, (_, n) => (n === 0 ? "<s>" : `t${r.int(0, 6)}`));
  return {
    kind: "self",
    queryTokens: words.slice(0, Nq),
    keyTokens: words.slice(0, Nk),
    recipe,
    tensors: tensorsFor(r, recipe, Nq, Nk, heads, wide),
    layers: Array.from({ length: layers }, () => ({
      query: { data: normals(r, heads * Nq * d, 1.5, wide), shape: [heads, Nq, d] },
      key: { data: normals(r, keyHeads * Nk * d, 1.5, wide), shape: [keyHeads, Nk, d] },
      ...(options.values === false
        ? {}
        : { value: { data: normals(r, keyHeads * Nk * dv, 1, wide), shape: [keyHeads, Nk, dv] } }),
    })),
  };
}

export const randomInput = (seed: number, options: RandomOptions = {}): StoreInput => ({
  blocks: [randomBlock(seed, options)],
});

/** Any recipe, including masks that mask full rows. */
function randomRecipe(r: Random, Nq: number, Nk: number, heads: number): ScoreRecipe {
  const masks: RecipeMask[] = [
    "none",
    "causal",
    { window: r.int(0, 5), causal: r.chance(0.5) },
    { window: r.int(0, 3), causal: r.chance(0.5), globals: [r.int(0, Nk), r.int(0, 3)] },
    { prefix: r.int(0, Nk) },
    { tensor: "self.mask", polarity: r.pick(["keep", "drop"]) },
  ];
  const biases: NonNullable<ScoreRecipe["bias"]>[] = [
    { alibi: Array.from({ length: heads }, () => 2 ** -r.int(0, 6)) },
    { relative: "self.relative", maxDistance: r.int(8, 20), bidirectional: r.chance(0.5) },
    { dense: "self.bias" },
  ];
  return {
    mask: r.pick(masks),
    ...(r.chance(0.5) ? { scale: r.pick([0.3, 1, -0.5, 0.125]) } : {}),
    ...(r.chance(0.3) ? { softcap: r.pick([1.5, 5, 30]) } : {}),
    ...(r.chance(0.6) ? { bias: r.pick(biases) } : {}),
    ...(r.chance(0.3) ? { sinks: "self.sinks" } : {}),
    ...(r.chance(0.3)
      ? { keyLengths: r.chance(0.5) ? r.int(0, Nk) : Array.from({ length: heads }, () => r.int(0, Nk)) }
      : {}),
    ...(r.chance(0.4) ? { queryOffset: r.int(-2, Math.max(0, Nk - Nq)) } : {}),
  };
}

function tensorsFor(
  r: Random,
  recipe: ScoreRecipe,
  Nq: number,
  Nk: number,
  heads: number,
  wide: boolean,
): NonNullable<BlockInput["tensors"]> {
  const perHead = r.chance(0.5);
  const shape = perHead ? [heads, Nq, Nk] : [Nq, Nk];
  const cells = (perHead ? heads : 1) * Nq * Nk;
  const bias = normals(r, cells, 1, wide);
  for (let n = 0; n < cells; n++) if (r.chance(0.1)) bias[n] = -Infinity;
  const { mask, bias: recipeBias, sinks } = recipe;
  return {
    ...(typeof mask === "object" && "tensor" in mask
      ? { [mask.tensor]: { data: Uint8Array.from({ length: cells }, () => (r.chance(0.6) ? 1 : 0)), shape } }
      : {}),
    ...(recipeBias && "dense" in recipeBias ? { [recipeBias.dense]: { data: bias, shape } } : {}),
    ...(recipeBias && "relative" in recipeBias
      ? { [recipeBias.relative]: { data: normals(r, 8 * heads, 1, wide), shape: [8, heads] } }
      : {}),
    ...(sinks === undefined ? {} : { [sinks]: { data: normals(r, heads, 1, wide), shape: [heads] } }),
  };
}
