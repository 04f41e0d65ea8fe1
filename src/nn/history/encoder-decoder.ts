/**
 * The model that attention was invented for (Bahdanau, Cho & Bengio 2015): a bidirectional recurrent network reads a sentence,
 * another one writes its translation, and attends to the source before each word.
 *
 *   hⱼ = [→hⱼ, ←hⱼ]                    the annotation of source word j
 *   s₀ = tanh(W·←h₁)
 *   cᵢ = attention(s_{i−1}, h)         the context of word i
 *   sᵢ = GRU([y_{i−1}, cᵢ], s_{i−1})
 *   logitsᵢ = W^o·[sᵢ, cᵢ, y_{i−1}]    (the paper has a maxout layer here)
 */

import { checkArgument, checkCount, refuseValue } from "../../core/errors.ts";
import { checkNames, checkOptionNames } from "../../core/option-names.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { Embedding } from "../embedding.ts";
import { checkLayerOptions, checkSizes, generatorOf, type LayerOptions } from "../initialize.ts";
import { Linear } from "../linear.ts";
import { Module } from "../module.ts";
import { tanh } from "../ops/activations.ts";
import type { WithWeights } from "../ops/attend.ts";
import type { Ids } from "../ops/lookup.ts";
import type { FloatTensor } from "../ops/operand.ts";
import { concat, reshape, slice } from "../ops/shapes.ts";
import { AdditiveAttention } from "./additive.ts";
import { GRU, GRUCell } from "./gru.ts";
import { LuongAttention } from "./luong.ts";

/** Options of a `RecurrentEncoderDecoder`. */
export interface RecurrentOptions extends LayerOptions {
  /** Vocabulary size of the source language. */
  sourceWords: number;
  /** Vocabulary size of the target language. */
  targetWords: number;
  /** Size of a word vector. Default 64. */
  embedDim?: number;
  /** Size of a state. Default 64. */
  hidden?: number;
  /** The score: Bahdanau's "additive" (default) or Luong's "general". */
  score?: "additive" | "general";
}

/** An encoded sentence. */
export interface EncoderOutput {
  /** [B, N, 2·hidden] */
  readonly annotations: FloatTensor;
  /** Which source words are real, bool [B, N]; undefined where all are. */
  readonly keyMask?: TensorLike | Tensor;
}

/** One decoding step. */
export interface DecoderStep {
  /** [B, targetWords] */
  readonly logits: FloatTensor;
  /** [B, hidden] */
  readonly state: FloatTensor;
  /** Attention weights [B, N]. */
  readonly weights?: FloatTensor;
}

/**
 * A recurrent encoder and decoder with attention between them.
 *
 * @example
 * const translator = new RecurrentEncoderDecoder({ sourceWords: 50, targetWords: 40, seed: 1 });
 * const words = tensor([[1, 2, 3]], "int32");
 * translator.forward(words, words, { returnWeights: true }).weights.shape; // → [1, 3, 3]
 */
export class RecurrentEncoderDecoder extends Module {
  readonly source_embedding: Embedding;
  readonly target_embedding: Embedding;
  readonly encoder: GRU;
  readonly initial: Linear;
  readonly attention: AdditiveAttention | LuongAttention;
  readonly cell: GRUCell;
  readonly output: Linear;

  constructor(options: RecurrentOptions) {
    super();
    checkLayerOptions("RecurrentEncoderDecoder", arguments, 1, options, [
      "sourceWords",
      "targetWords",
      "embedDim",
      "hidden",
      "score",
    ]);
    const { sourceWords, targetWords, embedDim = 64, hidden = 64, score = "additive", dtype } = options;
    checkSizes("RecurrentEncoderDecoder", { sourceWords, targetWords, embedDim, hidden });
    if (score !== "additive" && score !== "general")
      refuseValue("RecurrentEncoderDecoder", "score", '"additive" or "general"', score);
    const layerOptions = { dtype, seed: generatorOf(options.seed) };
    this.source_embedding = new Embedding(sourceWords, embedDim, layerOptions);
    this.target_embedding = new Embedding(targetWords, embedDim, layerOptions);
    this.encoder = new GRU(embedDim, hidden, { ...layerOptions, bidirectional: true });
    this.initial = new Linear(hidden, hidden, layerOptions);
    this.attention =
      score === "additive"
        ? new AdditiveAttention(hidden, 2 * hidden, hidden, layerOptions)
        : new LuongAttention(hidden, 2 * hidden, layerOptions);
    this.cell = new GRUCell(embedDim + 2 * hidden, hidden, layerOptions);
    this.output = new Linear(3 * hidden + embedDim, targetWords, layerOptions);
  }

  /** Encodes source words [B, N]; `keyMask` bool [B, N] is true for real words. Returns the memory and the first state [B, hidden]. */
  read(
    source: Ids,
    options: { keyMask?: TensorLike | Tensor } = {},
  ): { memory: EncoderOutput; state: FloatTensor } {
    checkCount("RecurrentEncoderDecoder.read", arguments, 2);
    checkOptionNames("RecurrentEncoderDecoder", options, ["keyMask"]);
    const { keyMask } = options;
    const { output, last } = this.encoder.forward(this.source_embedding.forward(source), { keyMask });
    return { memory: { annotations: output, keyMask }, state: tanh(this.initial.forward(last[1])) };
  }

  /** One decoding step: the word after `previous` [B] (ids), from `state` [B, hidden]. */
  write(
    previous: Ids,
    state: FloatTensor,
    memory: EncoderOutput,
    options: { returnWeights: true },
  ): WithWeights<DecoderStep>;
  write(
    previous: Ids,
    state: FloatTensor,
    memory: EncoderOutput,
    options?: { returnWeights?: boolean },
  ): DecoderStep;
  write(
    previous: Ids,
    state: FloatTensor,
    memory: EncoderOutput,
    options: { returnWeights?: boolean } = {},
  ): DecoderStep {
    const what = "RecurrentEncoderDecoder.write";
    checkCount(what, arguments, 4);
    checkOptionNames(what, options, ["returnWeights"]);
    checkNames(`${what}: memory`, memory, ["annotations", "keyMask"]);
    checkArgument(
      state instanceof Tensor && state.shape.length === 2,
      what,
      "a state [B, hidden], as read returns",
      state,
    );
    const { annotations, keyMask } = memory;
    return this.#write(this.target_embedding.forward(previous), state, annotations, keyMask, options);
  }

  /**
   * Encodes source words [B, N] and predicts the word after each of the known target words [B, T] (teacher forcing): `target`
   * begins with the start token, and the result is logits [B, T, targetWords].
   *
   * @param options `keyMask` bool [B, N]: which source words are real; `returnWeights`: attention weights as well, [B, T, N]
   */
  forward(
    source: Ids,
    target: Ids,
    options: { keyMask?: TensorLike | Tensor; returnWeights: true },
  ): { logits: FloatTensor; weights: FloatTensor };
  forward(
    source: Ids,
    target: Ids,
    options?: { keyMask?: TensorLike | Tensor; returnWeights?: boolean },
  ): { logits: FloatTensor; weights?: FloatTensor };
  forward(
    source: Ids,
    target: Ids,
    options: { keyMask?: TensorLike | Tensor; returnWeights?: boolean } = {},
  ): { logits: FloatTensor; weights?: FloatTensor } {
    checkCount("RecurrentEncoderDecoder.forward", arguments, 3);
    checkOptionNames("RecurrentEncoderDecoder", options, ["keyMask", "returnWeights"]);
    const { returnWeights = false, keyMask } = options;
    const { memory, state: first } = this.read(source, { keyMask });
    const words = this.target_embedding.forward(target);
    const [B, T, C] = words.shape;
    const written: DecoderStep[] = [];
    for (let n = 0, state = first; n < T; n++) {
      const word = reshape(slice(words, 1, n, n + 1), [B, C]);
      const one = this.#write(word, state, memory.annotations, keyMask, { returnWeights });
      written.push(one);
      state = one.state;
    }
    const stacked = (ts: FloatTensor[]) =>
      concat(
        ts.map((t) => reshape(t, [B, 1, t.shape[1]])),
        1,
      );
    return {
      logits: stacked(written.map(({ logits }) => logits)),
      ...(returnWeights && { weights: stacked(written.map(({ weights }) => weights!)) }),
    };
  }

  #write(
    word: FloatTensor,
    state: FloatTensor,
    annotations: FloatTensor,
    keyMask: EncoderOutput["keyMask"],
    options: { returnWeights?: boolean },
  ): DecoderStep {
    const [B, hidden] = state.shape;
    const query = reshape(state, [B, 1, hidden]);
    const looked = this.attention.forward(query, annotations, annotations, { keyMask, ...options });
    const context = reshape(looked.output, [B, 2 * hidden]);
    const next = this.cell.forward(concat([word, context], -1), state);
    return {
      logits: this.output.forward(concat([next, context, word], -1)),
      state: next,
      ...(looked.weights && { weights: reshape(looked.weights, [B, annotations.shape[1]]) }),
    };
  }
}
