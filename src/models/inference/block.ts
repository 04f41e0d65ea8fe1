/**
 * What one block adds to the state of a token: the state after it as the sum of the state before, the output of its attention, that of its
 * feed-forward network, and its biases, each with the statistics of the block's norms frozen (residual.ts).
 */
import { UnsupportedError } from "../../core/errors.ts";
import { dot } from "../../core/numbers.ts";
import { Tensor } from "../../core/tensor.ts";
import { type FloatTensor, slice } from "../../nn/index.ts";
import type { TextModel } from "../text-model.ts";
import { checkIndex } from "./intervene.ts";
import { type Predicted, predictedToken, spellMasks } from "./prediction.ts";
import { Residual, recordRun } from "./residual.ts";
import { finiteLogits, largest, sharesOf } from "./sampling.ts";

/** A summand of the state after a block. */
export interface BlockPart {
  readonly part: "before" | "attention" | "head" | "mlp" | "biases";
  /** Of heads. */
  readonly head?: number;
  readonly length: number;
  /** Its part of the state after the block: x·state ÷ state·state. The parts add up to 1; heads are part of `attention`. */
  readonly share: number;
  /** The probability of `token` if the model ended after the block without this summand. Not of heads and of the state before. */
  readonly without?: number;
}

/** What a block adds to the state of a token. */
export interface BlockParts {
  readonly layer: number;
  readonly position: number;
  /** Length of the state after the block. */
  readonly length: number;
  /** What that state predicts; undefined for a model without a head. */
  readonly token?: Predicted;
  /** The probability of that token by the state before the block. */
  readonly prior?: number;
  /** `before`, `attention`, `mlp`, `biases`, then the heads. */
  readonly parts: readonly BlockPart[];
}

/**
 * What a block adds to the state of a token.
 *
 * @throws OptionError where there is no such layer or token; UnsupportedError for a model whose layers are not split
 */
export function blockParts(model: TextModel, text: string, layer: number, position: number): BlockParts {
  const what = "blockParts";
  const tokens = model.tokenize(spellMasks(model.tokenizer, text));
  checkIndex(what, "layer", layer, model.layers);
  checkIndex(what, "position", position, tokens.ids.length);
  const run = recordRun(what, model, tokens);
  const { x } = new Residual(run, layer + 1, layer).all(); // [1 + H + 2, N, C]
  const [K, , C] = x.shape;
  const rowOf = (states: FloatTensor) => states.toFloat64().subarray(position * C, (position + 1) * C);
  const vectors = Array.from({ length: K }, (_, k) => rowOf(slice(x, 0, k, k + 1) as FloatTensor));
  const heads = vectors.slice(1, K - 2);
  const attention = new Float64Array(C).map((_, c) => heads.reduce((sum, head) => sum + head[c], 0));
  const added = { attention, mlp: vectors[K - 2], biases: vectors[K - 1] };
  const after = vectors[0].map((value, c) => value + attention[c] + added.mlp[c] + added.biases[c]);
  const state = rowOf(run.states[layer + 1]);
  if (!(Math.hypot(...after.map((value, c) => value - state[c])) <= 1e-3 * Math.hypot(...state)))
    throw new UnsupportedError(
      "model",
      `${what}: what layer ${layer} of ${model.name} adds is no sum of its attention and its feed-forward network`,
    );
  const described = (part: BlockPart["part"], vector: Float64Array): BlockPart => ({
    ...{ part, length: Math.hypot(...vector), share: dot(vector, after) / dot(after, after) },
  });
  const names = Object.keys(added) as (keyof typeof added)[];
  const shares = !model.model.hasHead
    ? undefined
    : [
        rowOf(run.states[layer]),
        after,
        ...names.map((name) => after.map((value, c) => value - added[name][c])),
      ].map((row) => {
        const data = run.model.dtype === "float64" ? row : Float32Array.from(row);
        const one = new Tensor(data, [1, C], run.model.dtype) as FloatTensor;
        return sharesOf(finiteLogits(what, run.model.logits(run.model.finalStates(one)).toFloat64()));
      });
  const token = shares && largest(shares[1]);
  return {
    ...{ layer, position, length: Math.hypot(...after) },
    ...(shares && { token: predictedToken(model.tokenizer, shares[1], token as number) }),
    ...(shares && { prior: shares[0][token as number] }),
    parts: [
      described("before", vectors[0]),
      ...names.map((name, n) => ({
        ...described(name, added[name]),
        ...(shares && { without: shares[n + 2][token as number] }),
      })),
      ...heads.map((vector, head) => ({ ...described("head", vector), head })),
    ],
  };
}
