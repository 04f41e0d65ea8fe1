/**
 * Shapes: one call of attention with the sizes that the reader pulled, and a multi-head layer on one sentence. Every shape, count
 * and message on the page is what heed gives for tensors of these sizes; the numbers inside the tensors are zeros.
 */
import { HeedError } from "../../src/core/errors.ts";
import { explain, explainMatmul, scaledDotProductAttention, type TensorLike } from "../../src/index.ts";
import { MultiHeadAttention } from "../../src/nn/index.ts";

/** What a reader changes. */
export type Shapes = {
  /** "call": one call of attention; "layer": a layer with its projections. */
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
  readonly guess1: number;
  readonly guess5: number;
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
  readonly layer: LayerNumbers;
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

/** A tensor of zeros that takes no memory: one number, read everywhere. */
const nothing = (shape: readonly number[]): TensorLike => ({
  data: new Float32Array(1),
  shape,
  strides: shape.map(() => 0),
  dtype: "float32",
});

/** The shapes that the call is given. One head has no axis of its own. */
export function shapesOf({ b, h, n, m, dk, dv, wrong, kd }: Shapes) {
  const of = (words: number, width: number) =>
    wrong === "axes" ? [b, words, h, width] : h === 1 ? [b, words, width] : [b, h, words, width];
  const query = of(n, dk);
  const key = of(m, wrong === "key" ? kd : dk);
  const value = wrong === "value" ? of(dv, m) : of(m, dv);
  return { query, key, value };
}

/** The message of an error of heed's; anything else is a defect of this page and goes on. */
function messageOf(error: unknown): string {
  if (error instanceof HeedError) return error.message;
  throw error;
}

function call(state: Shapes): Omit<ShapesNumbers, "layer"> {
  const { query, key, value } = shapesOf(state);
  const tensors = [query, key, value].map(nothing) as [TensorLike, TensorLike, TensorLike];
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

function layer({ n, d, h }: Shapes): LayerNumbers {
  try {
    const module = new MultiHeadAttention(d, h, { bias: false, seed: 1 });
    const x = nothing([n, d]);
    const { query, key, value, output } = module.forward(x);
    const parameters = [...module.parameters().values()].reduce((sum, one) => sum + one.size, 0);
    // Four projections: to queries, keys and values, and of the heads' outputs.
    const projection = explainMatmul(x, nothing([d, d])).operations;
    return {
      query: query.shape,
      output: output.shape,
      parameters,
      operations: 4 * projection + explain(query, key, value).operations,
      error: "",
    };
  } catch (error) {
    return { query: [], output: [], parameters: 0, operations: 0, error: messageOf(error) };
  }
}

/** The numbers of a state. */
export function compute(state: Shapes): ShapesNumbers {
  return { ...call(state), layer: layer(state) };
}
