/**
 * One head of a store: its rows by the row engine (`src/rows`), from q, k and the recipe; or, if the file has weights, those
 * weights. Masks and score mods are the expressions of `src/masks`. `row-source.ts` computes many rows, `ledger.ts` explains one
 * weight.
 */
import { type FloatDType, readerOf, type TypedData } from "../../core/dtype.ts";
import { compile } from "../../masks/expression/js.ts";
import type { FloatArray, HeadInputs } from "../../rows/head-rows.ts";
import { floatProducts } from "../../rows/products.ts";
import { runFinder } from "../../rows/runs.ts";
import { RowSteps } from "../../rows/steps.ts";
import type { Stage } from "../block.ts";
import { type HeadRecipe, type HeadVectors, maskOf, namedMods } from "../recipe/head-recipe.ts";

/** The data of one head. Plain data, which can be posted to a worker. */
export interface HeadArrays {
  readonly Nq: number;
  readonly Nk: number;
  readonly d: number;
  readonly dv: number;
  /** [Nq, d] and [Nk, d]; both or neither. */
  readonly query?: FloatArray;
  readonly key?: FloatArray;
  /** [Nq, Nk] as stored in the file; uint8 means n/255. */
  readonly weights?: { readonly data: TypedData; readonly dtype: WeightDType };
  /** [Nk, dv] */
  readonly value?: FloatArray;
  /** `[Nk]`: ‖v‖, or ‖v·W_O‖ where the file has W_O. */
  readonly valueNorm?: Float64Array;
  readonly recipe: HeadRecipe;
  /** `[Nq, Nk]`: nonzero elements mark cells that are attended ("keep"), or masked ("drop"). */
  readonly keep?: { readonly data: ArrayLike<number>; readonly polarity: "keep" | "drop" };
  /** [Nq, Nk], added to the score; −∞ masks. */
  readonly bias?: FloatArray;
  /** `[Nq]`: the model's own log-sum-exp. */
  readonly lse?: Float64Array;
}

export type WeightDType = FloatDType | "uint8";

/** A head without queries and keys is never multiplied. */
const NONE = new Float32Array(0);

/** Rows of `width` numbers, one after the other. */
const elementsOf = (data: ArrayLike<number>, width: number) => ({
  read: (at: number) => data[at],
  start: 0,
  rowStride: width,
  columnStride: 1,
});

const keysOf = (floats: FloatArray, d: number) => ({
  ...elementsOf(floats, d),
  products: floatProducts(floats),
});

const modsOf = (recipe: HeadRecipe, vectors: HeadVectors) =>
  namedMods(recipe).map(({ mod }) => compile(mod(vectors).expr));

/** The head as the row engine reads it: batch entry 0, head 0. */
function inputsOf({ Nk, d, query = NONE, key = NONE, recipe, keep, bias }: HeadArrays): HeadInputs {
  const mask = maskOf(recipe);
  return {
    b: 0,
    h: 0,
    offset: recipe.queryOffset,
    Nk,
    d,
    scale: recipe.scale,
    sink: recipe.sink,
    query: elementsOf(query, d),
    key: keysOf(key, d),
    mask: mask && compile(mask),
    findRuns: mask && runFinder(mask, recipe.queryOffset, Nk),
    mods: modsOf(recipe, { query, key, d, scale: recipe.scale }),
    tensors: [
      ...(keep ? [{ ...elementsOf(keep.data, Nk), kind: keep.polarity }] : []),
      ...(bias ? [{ ...elementsOf(bias, Nk), kind: "add" as const }] : []),
    ],
  };
}

/** Changes to a row: its query, one key, the scale. */
export interface Edits {
  readonly query?: ArrayLike<number>;
  readonly key?: { readonly index: number; readonly values: ArrayLike<number> };
  readonly scale?: number;
}

/** The inputs with the changes to row i. A changed key costs a copy of the keys in float64. */
function editedInputs(
  data: HeadArrays,
  inputs: HeadInputs,
  i: number,
  { query, key, scale = inputs.scale }: Edits,
): HeadInputs {
  const { d } = inputs;
  let keys = inputs.key;
  let floats: ArrayLike<number> = data.key!;
  if (key) {
    const changed = Float64Array.from(data.key!);
    changed.set(key.values, key.index * d);
    floats = changed;
    keys = keysOf(changed, d);
  }
  const row = query && { ...elementsOf(query, d), start: -i * d };
  const edited = { ...inputs, scale, query: row ?? inputs.query, key: keys };
  if (!data.recipe.disentangled) return edited;
  // Terms of positions are made of the changed vectors too.
  const queries = Float64Array.from(data.query!);
  if (query) queries.set(Float64Array.from(query), i * d);
  return { ...edited, mods: modsOf(data.recipe, { query: queries, key: floats, d, scale }) };
}

/** Computes rows of one head. Rows are i, keys j. */
export class StoreHead extends RowSteps {
  readonly data: HeadArrays;
  private readonly readWeight: ((at: number) => number) | undefined;

  constructor(data: HeadArrays, inputs = inputsOf(data)) {
    super(inputs);
    this.data = data;
    const { data: array, dtype } = data.weights ?? {};
    if (array && dtype)
      this.readWeight = dtype === "uint8" ? (at) => (array as Uint8Array)[at] / 255 : readerOf(dtype, array);
  }

  /** The head with changes to row i. */
  edited(i: number, edits: Edits | undefined): StoreHead {
    return edits ? new StoreHead(this.data, editedInputs(this.data, this.inputs, i, edits)) : this;
  }

  /** True if the head has q and k, so that scores can be computed. */
  get scored(): boolean {
    return this.data.query !== undefined;
  }

  /** A weight of the file. */
  fileWeight(i: number, j: number): number {
    return this.readWeight!(i * this.data.Nk + j);
  }

  /** Weights of a row: computed, or read from the file's weights. */
  weights(i: number, out: Float64Array = new Float64Array(this.data.Nk)): Float64Array {
    const { readWeight } = this;
    if (readWeight) for (let j = 0, at = i * out.length; j < out.length; j++, at++) out[j] = readWeight(at);
    else this.softmax(i, out);
    return out;
  }

  /** A row at a stage, [Nk]. `contrast` needs other rows: see `subject.ts`. */
  row(i: number, stage: Exclude<Stage, "contrast">): Float64Array {
    const { Nk, valueNorm } = this.data;
    if (stage === "weights") return this.weights(i);
    const out = new Float64Array(Nk);
    if (stage === "contribution") {
      const weights = this.weights(i);
      this.eachRead(i, (j) => {
        out[j] = weights[j] * valueNorm![j];
      });
    } else if (stage === "masked") this.scores(i, out);
    else this.products(this.query(i), stage === "scores" ? 1 : this.inputs.scale, out, 0, 0, Nk);
    return out;
  }

  /** Σ weight·v of a row, [dv]. */
  output(i: number): Float64Array {
    const { value, dv } = this.data;
    const weights = this.weights(i);
    const o = new Float64Array(dv);
    this.eachRead(i, (j) => {
      for (let e = 0; e < dv; e++) o[e] += weights[j] * value![j * dv + e];
    });
    return o;
  }

  /** Visits the keys whose values a row reads: the unmasked ones, or all keys of a file's weights. */
  private eachRead(i: number, visit: (j: number) => void): void {
    const runs = this.readWeight ? [0, this.data.Nk] : this.runs(i);
    for (let n = 0; n < runs.length; n += 2) for (let j = runs[n]; j < runs[n + 1]; j++) visit(j);
  }
}
