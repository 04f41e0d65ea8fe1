/**
 * The two models that `heed train` trains, from heed/models: a decoder of GPT-2's architecture that predicts the next
 * token, and an encoder of BERT's that predicts masked ones; their losses, and their sizes in one vocabulary.
 *
 * An encoder's scores are computed at the positions that count only, an eighth of the work of its last layer.
 */

import { formatValue, OptionError } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import { Tensor } from "../core/tensor.ts";
import type { BertConfig, Gpt2Config } from "../models/config.ts";
import { Bert } from "../models/families/bert.ts";
import { Gpt2 } from "../models/families/gpt2.ts";
import type { Tokenizer } from "../models/tokenizer/index.ts";
import { embedding } from "../nn/ops/lookup.ts";
import type { FloatTensor } from "../nn/ops/operand.ts";
import { sinusoidalPositions } from "../nn/ops/rope.ts";
import { reshape } from "../nn/ops/shapes.ts";
import type { Batch } from "./data.ts";
import type { Trainable } from "./loop.ts";
import { crossEntropy, IGNORE_INDEX } from "./loss.ts";

/** What kind of model: `decoder` predicts the next token, `encoder` masked ones. */
export type LanguageKind = "decoder" | "encoder";

/** Sizes of a model and how it starts. */
export interface LanguageOptions {
  /** Token ids. */
  readonly vocabulary: number;
  /** Most tokens of a sequence. */
  readonly context: number;
  readonly layers: number;
  readonly heads: number;
  /** Numbers of a token's vector; `heads` divides it. */
  readonly width: number;
  /** Numbers of the hidden layer between two attentions; default 4 · width. */
  readonly inner?: number;
  /** Share dropped after embeddings, in attention and after each sub-layer, while training; default 0. */
  readonly dropout?: number;
  /** Seed of the first weights; default 0. */
  readonly seed?: number;
  /** Default float32. */
  readonly dtype?: "float32" | "float64";
  /** Ids of special tokens for config.json: `bos_token_id`, `eos_token_id`, `pad_token_id`. */
  readonly ids?: Readonly<Record<string, number>>;
}

/** A model of text that can be trained, and saved under Hugging Face's names. */
export interface LanguageModel<M extends Gpt2 | Bert = Gpt2 | Bert> extends Trainable<Batch> {
  readonly kind: LanguageKind;
  /** What `modelToFiles` of heed/models takes. */
  readonly model: M;
}

/**
 * A new model: `"decoder"` is a GPT-2, `"encoder"` a BERT. Throws OptionError where the sizes make none.
 *
 * @example
 * const sizes = { vocabulary: decoder.tokenizer.size, context: 16, layers: 1, heads: 2, width: 16, seed: 1 };
 * const { model } = languageModel("decoder", sizes); // a Gpt2
 * [...generate(model, decoder.tokenizer.ids("The"), { maxTokens: 3 })].length; // → 3
 */
export function languageModel(kind: "decoder", options: LanguageOptions): LanguageModel<Gpt2>;
export function languageModel(kind: "encoder", options: LanguageOptions): LanguageModel<Bert>;
export function languageModel(kind: LanguageKind, options: LanguageOptions): LanguageModel;
export function languageModel(kind: LanguageKind, options: LanguageOptions): LanguageModel {
  if (kind !== "decoder" && kind !== "encoder")
    throw new OptionError(
      "kind",
      `languageModel: kind must be decoder or encoder, got ${formatValue(kind)}`,
      {
        got: kind,
      },
    );
  checkOptionNames("languageModel", options, [
    "vocabulary",
    "context",
    "layers",
    "heads",
    "width",
    "inner",
    "dropout",
    "seed",
    "dtype",
    "ids",
  ]);
  const { vocabulary, context, layers, heads, width, inner = 4 * width, dropout = 0, seed, dtype } = options;
  for (const [name, value] of Object.entries({ vocabulary, context, layers, heads, width, inner }))
    if (!(Number.isSafeInteger(value) && value > 0))
      throw new OptionError(
        name,
        `languageModel: ${name} must be an integer > 0, got ${formatValue(value)}`,
        {
          got: value,
        },
      );
  if (width % heads !== 0)
    throw new OptionError("heads", `languageModel: ${heads} heads do not divide a width of ${width}`, {
      heads,
      width,
    });
  if (!(dropout >= 0 && dropout < 1))
    throw new OptionError(
      "dropout",
      `languageModel: dropout must be in [0, 1), got ${formatValue(dropout)}`,
      {
        got: dropout,
      },
    );
  if (kind === "decoder") {
    const config: Gpt2Config = {
      vocab_size: vocabulary,
      n_positions: context,
      n_embd: width,
      n_layer: layers,
      n_head: heads,
      n_inner: inner,
      activation_function: "gelu_new",
      layer_norm_epsilon: 1e-5,
      initializer_range: spreadOf(width),
      embd_pdrop: dropout,
      attn_pdrop: dropout,
      resid_pdrop: dropout,
      tie_word_embeddings: true,
      ...options.ids,
    };
    const model = new Gpt2(config, { seed, dtype });
    neighborly(model.parameters().get("transformer.wpe.weight") as FloatTensor);
    return {
      kind,
      model,
      parameters: () => model.parameters(),
      loss: ({ inputs, targets }) => crossEntropy(model.forward(inputs), targets),
    };
  }
  const config: BertConfig = {
    vocab_size: vocabulary,
    hidden_size: width,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    intermediate_size: inner,
    max_position_embeddings: context,
    type_vocab_size: 2,
    hidden_act: "gelu",
    layer_norm_eps: 1e-12,
    hidden_dropout_prob: dropout,
    attention_probs_dropout_prob: dropout,
    initializer_range: spreadOf(width),
    ...options.ids,
  };
  const model = new Bert(config, { seed, dtype });
  neighborly(model.parameters().get("bert.embeddings.position_embeddings.weight") as FloatTensor);
  return {
    kind,
    model,
    parameters: () => model.parameters(),
    loss: (batch) => maskedLoss(model, batch),
  };
}

/** Standard deviation of first weights: the 0.02 of BERT and GPT-2 at their width of 768, so that products stay as large. */
const spreadOf = (width: number): number => 0.02 * Math.sqrt(768 / width);

/** Size of the waves that positions start as. */
const WAVE = 0.15;

/**
 * Positions [N, C] start as waves instead of noise (Vaswani et al. 2017, section 3.5, with the slowest wave as long as the
 * context), so that neighbors are alike before anything is learned, and a head that looks nearby is a small step away.
 * From noise, both models kept to single tokens' frequencies for as long as they were tried.
 */
function neighborly(positions: FloatTensor): void {
  const [N, C] = positions.shape;
  if (C % 2 !== 0) return; // sines and cosines come in pairs; an odd width keeps its noise
  const waves = sinusoidalPositions(N, C, { base: Math.max(2, N), dtype: positions.dtype });
  for (let n = 0; n < positions.size; n++) positions.data[n] = WAVE * waves.data[n];
}

/**
 * Ids of a tokenizer's special tokens, as config.json names them.
 *
 * @example
 * specialIds("decoder", decoder.tokenizer); // for config.json
 */
export function specialIds(kind: LanguageKind, tokenizer: Tokenizer): Record<string, number> {
  const names: readonly (readonly [field: string, token: string])[] =
    kind === "encoder"
      ? [["pad_token_id", "[PAD]"]]
      : [
          ["bos_token_id", "<|endoftext|>"],
          ["eos_token_id", "<|endoftext|>"],
        ];
  const ids: Record<string, number> = {};
  for (const [field, token] of names) {
    const id = tokenizer.id(token);
    if (id !== undefined) ids[field] = id;
  }
  return ids;
}

/** Cross-entropy at the positions that have a target. */
function maskedLoss(model: Bert, { inputs, targets }: Batch): Tensor {
  const places: number[] = [];
  const classes: number[] = [];
  for (let i = 0; i < targets.size; i++)
    if (targets.data[i] !== IGNORE_INDEX) {
      places.push(i);
      classes.push(targets.data[i]);
    }
  const states: FloatTensor = reshape(model.hidden(inputs), [targets.size, -1]);
  const logits = model.logits(embedding(places, states));
  return crossEntropy(logits, new Tensor(Int32Array.from(classes), [classes.length], "int32"));
}
