/**
 * Shapes: one call of attention with the sizes that the reader pulled, and a multi-head layer on one sentence. Every shape, count
 * and message on the page is what heed gives for tensors of these sizes; the numbers inside the tensors are zeros.
 */
import { explain, scaledDotProductAttention, type TensorLike } from "../../src/index.ts";
import { zerosOf } from "../frame/zeros.ts";
import { messageOf } from "./message.ts";

/** What a reader changes. */
export type Shapes = {
  /** "call": one call of attention; "layer": a layer with its projections; "translation": a call of a trained translator. */
  readonly view: string;
  /** Sentences and heads. */
  readonly b: number;
  readonly h: number;
  /** Query words, key words, numbers of a query, numbers of a value. */
  readonly n: number;
  readonly m: number;
  readonly dk: number;
  readonly dv: number;
  /** Whether queries and keys are the same words, so that n and m are one edge. */
  readonly self: boolean;
  /** What does not fit: "", "key" (keys of another length), "value" (V turned over), "axes" (heads and words swapped). */
  readonly wrong: string;
  /** Numbers of a key, where `wrong` is "key". */
  readonly kd: number;
  /** Numbers of a word in the layer. */
  readonly d: number;
};

/** What the picture shows. */
export interface ShapesNumbers {
  readonly query: readonly number[];
  readonly key: readonly number[];
  readonly value: readonly number[];
  /** Empty where the call was refused. */
  readonly weights: readonly number[];
  readonly output: readonly number[];
  /** What the library says to these shapes, "" where it accepts them. */
  readonly error: string;
  /** Multiplications and additions, and bytes of all weights. */
  readonly operations: number;
  readonly bytes: number;
  /** Empty where the call is shown. */
  readonly layer: LayerNumbers;
  /** Empty unless it is shown. */
  readonly translation: TranslationNumbers;
}

/** Shares of a head of a translator: a row for each German word, a column for each English one. */
export interface TranslationNumbers {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly weights: readonly (readonly number[])[];
}

/** A multi-head layer on one sentence. */
export interface LayerNumbers {
  /** [heads, words, numbers of a head]; empty where the layer was refused. */
  readonly query: readonly number[];
  readonly output: readonly number[];
  readonly parameters: number;
  readonly operations: number;
  readonly error: string;
}

/** The shapes that the call is given. One head has no axis of its own. */
function shapesOf({ b, h, n, m, dk, dv, wrong, kd }: Shapes) {
  const of = (words: number, width: number) =>
    wrong === "axes" ? [b, words, h, width] : h === 1 ? [b, words, width] : [b, h, words, width];
  const query = of(n, dk);
  const key = of(m, wrong === "key" ? kd : dk);
  const value = wrong === "value" ? of(dv, m) : of(m, dv);
  return { query, key, value };
}

function call(state: Shapes): Omit<ShapesNumbers, "layer" | "translation"> {
  const { query, key, value } = shapesOf(state);
  const tensors = [query, key, value].map(zerosOf) as [TensorLike, TensorLike, TensorLike];
  try {
    const { output, weights } = scaledDotProductAttention(...tensors, { returnWeights: true });
    const { operations, weightsBytes } = explain(...tensors);
    return {
      query,
      key,
      value,
      weights: weights!.shape,
      output: output.shape,
      error: "",
      operations,
      bytes: weightsBytes!,
    };
  } catch (error) {
    return { query, key, value, weights: [], output: [], error: messageOf(error), operations: 0, bytes: 0 };
  }
}

const NO_LAYER: LayerNumbers = { query: [], output: [], parameters: 0, operations: 0, error: "" };
const NO_TRANSLATION: TranslationNumbers = { rows: [], columns: [], weights: [] };

/** The numbers of a state. */
export async function compute(state: Shapes): Promise<ShapesNumbers> {
  // The layers of heed/nn are loaded when a layer is shown.
  const layer = state.view === "layer" ? (await import("./layer.ts")).layerOf(state) : NO_LAYER;
  const translation =
    state.view === "translation" ? (await import("./translation.ts")).translationOf() : NO_TRANSLATION;
  return { ...call(state), layer, translation };
}
