/**
 * The two models that `heed train` trains, from heed/models: a decoder with GPT-2's architecture that predicts the next
 * token, and an encoder with BERT's that predicts masked tokens; their losses, and common option names for their sizes.
 *
 * An encoder's logits are computed only at positions with a target, an eighth of the work of its last layer.
 */
import { checkArgument, checkCount, checkInteger, OptionError, refuseValue } from "../core/errors.ts";
import { checkKind, checkOptionNames } from "../core/option-names.ts";
import { awaitSteps } from "../core/synchronous.ts";
import { Tensor } from "../core/tensor.ts";
import type { BertConfig, Gpt2Config } from "../models/config/types.ts";
import { Bert } from "../models/families/encoders/bert.ts";
import { Gpt2 } from "../models/families/gpt/gpt2.ts";
import type { Tokenizer } from "../models/tokenizer/index.ts";
import { hiddenSlices } from "../models/transformer/attend.ts";
import { scale } from "../nn/ops/arithmetic.ts";
import { embedding } from "../nn/ops/lookup.ts";
import type { FloatTensor } from "../nn/ops/operand.ts";
import { sinusoidalPositions } from "../nn/ops/rope.ts";
import { reshape } from "../nn/ops/shapes.ts";
import type { Batch } from "./data/data.ts";
import type { ContextTape } from "./loop/context.ts";
import { type LossPart, setLossInParts, type TapeOf, type Trainable } from "./loop/options.ts";
import { crossEntropy, IGNORE_INDEX } from "./loss.ts";

/** The kind of model: `decoder` predicts the next token, `encoder` predicts masked tokens. */
export type LanguageKind = "decoder" | "encoder";

/** Sizes and initialization of a model. */
export interface LanguageOptions {
  /** Vocabulary size. */
  readonly vocabulary: number;
  /** Maximum number of tokens of a sequence. */
  readonly context: number;
  readonly layers: number;
  readonly heads: number;
  /** Size of a token vector; `heads` divides it. */
  readonly width: number;
  /** Size of the hidden layer of the feed-forward network; default 4 · width. */
  readonly inner?: number;
  /** Dropout probability after embeddings, in attention and after each sublayer, during training; default 0. */
  readonly dropout?: number;
  /** Seed of the initial weights; default 0. */
  readonly seed?: number;
  /** Default float32. */
  readonly dtype?: "float32" | "float64";
  /** Ids of special tokens for config.json: `bos_token_id`, `eos_token_id`, `pad_token_id`. */
  readonly ids?: Readonly<Record<string, number>>;
}

/** A language model that can be trained, and saved with Hugging Face's names. */
export interface LanguageModel<M extends Gpt2 | Bert = Gpt2 | Bert> extends Trainable<Batch> {
  readonly kind: LanguageKind;
  /** The argument of `modelToFiles` of heed/models. */
  readonly model: M;
}

/**
 * A new model: `"decoder"` is a GPT-2, `"encoder"` a BERT. Throws OptionError for invalid sizes.
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
  checkCount("languageModel", arguments, 2);
  if (kind !== "decoder" && kind !== "encoder")
    refuseValue("languageModel", "kind", "decoder or encoder", kind);
  checkOptionNames(
    "languageModel",
    options,
    "vocabulary context layers heads width inner dropout seed dtype ids",
  );
  const { vocabulary, context, layers, heads, width, dropout = 0, seed, dtype } = options;
  const { ids = {}, inner = 4 * width } = options;
  for (const [name, value] of Object.entries({ vocabulary, context, layers, heads, width, inner }))
    if (!(Number.isSafeInteger(value) && value > 0))
      refuseValue("languageModel", name, "an integer > 0", value);
  if (width % heads !== 0)
    throw new OptionError("heads", `languageModel: ${heads} heads do not divide a width of ${width}`, {
      heads,
      width,
    });
  checkKind("languageModel", "ids", "an object", ids);
  for (const [name, id] of Object.entries(ids)) {
    if (!/^(?:bos|eos|pad)_token_id$/.test(name))
      refuseValue("languageModel", "ids", "what specialIds returns, { eos_token_id: id }", ids);
    checkInteger("languageModel", `ids.${name}`, id, 0, vocabulary - 1);
  }
  if (!(typeof dropout === "number" && dropout >= 0 && dropout < 1))
    refuseValue("languageModel", "dropout", "in [0, 1)", dropout);
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
    initializePositions(model.parameters().get("transformer.wpe.weight") as FloatTensor);
    const loss = (batch: Batch) => {
      checkKind("loss", "batch", "an object", batch);
      return crossEntropy(model.forward(batch.inputs), batch.targets);
    };
    setLossInParts(loss, async ({ inputs, targets }, parts) => {
      const states = await awaitSteps(hiddenSlices(model, inputs, {}, parts.run), parts.pause);
      const logits = parts.run(() => model.logits(states));
      await parts.pause();
      return parts.run(() => crossEntropy(logits, targets));
    });
    return {
      kind,
      model,
      parameters: () => model.parameters(),
      loss,
      lossOver: (tapeOf, batch) =>
        lossPartOf(tapeOf, batch, async (tape, ids, classes) => {
          const logits = await model.forwardOver(tape, ids);
          return () => crossEntropy(logits, classes);
        }),
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
  initializePositions(model.parameters().get("bert.embeddings.position_embeddings.weight") as FloatTensor);
  const loss = ({ inputs, targets }: Batch) => maskedLoss(model, model.hidden(inputs), targets);
  setLossInParts(loss, async ({ inputs, targets }, parts) => {
    const states = await awaitSteps(hiddenSlices(model, inputs, {}, parts.run), parts.pause);
    return parts.run(() => maskedLoss(model, states, targets));
  });
  return {
    kind,
    model,
    parameters: () => model.parameters(),
    loss,
    lossOver: (tapeOf, batch) =>
      lossPartOf(tapeOf, batch, async (tape, ids, classes) => {
        const states = await model.hiddenOver(tape, ids);
        return () => maskedLoss(model, states, classes);
      }),
  };
}

/**
 * This rank's part of a mean loss. `lossOf` gets this rank's ids and targets; a rank without a target takes part in the backward pass
 * with gradients of 0.
 */
async function lossPartOf(
  tapeOf: TapeOf,
  { inputs, targets }: Batch,
  lossOf: (tape: ContextTape, ids: Tensor<"int32">, classes: Tensor<"int32">) => Promise<() => Tensor>,
): Promise<LossPart> {
  const tape = tapeOf(inputs.shape[1]);
  const [ids, classes] = [inputs, targets].map((t) => columnsAt(t, tape.positions));
  const [part, total] = [classes, targets].map(countedTargets);
  // Any class: its loss is multiplied by 0.
  if (part === 0) classes.data[0] = 0;
  const loss = await lossOf(tape, ids, classes);
  return { tape, loss: tape.run(() => scale(loss() as FloatTensor, part / total)) };
}

/** Standard deviation of initial weights: 0.02 at width 768, as in BERT and GPT-2, scaled so that products keep their size. */
const spreadOf = (width: number): number => 0.02 * Math.sqrt(768 / width);

/** Amplitude of the sinusoids that initialize positions. */
const AMPLITUDE = 0.15;

/**
 * Initializes positions [N, C] with sinusoids instead of noise (Vaswani et al. 2017, section 3.5, with the longest wavelength
 * equal to the context), so that adjacent positions have similar vectors from the start, and a head learns to attend nearby
 * quickly. With noise, neither model learned more than the frequencies of single tokens in our runs.
 */
function initializePositions(positions: FloatTensor): void {
  const [N, C] = positions.shape;
  if (C % 2 !== 0) return; // sines and cosines are pairs; an odd width keeps the noise
  const waves = sinusoidalPositions(N, C, { base: Math.max(2, N), dtype: positions.dtype });
  for (let n = 0; n < positions.size; n++) positions.data[n] = AMPLITUDE * waves.data[n];
}

/**
 * Ids of a tokenizer's special tokens, as config.json names them.
 *
 * @example
 * specialIds("decoder", decoder.tokenizer); // for config.json
 */
export function specialIds(kind: LanguageKind, tokenizer: Tokenizer): Record<string, number> {
  checkCount("specialIds", arguments, 2);
  checkArgument(
    typeof (tokenizer as Partial<Tokenizer> | undefined)?.id === "function",
    "specialIds",
    "a kind and a tokenizer, as readTokenizer returns it",
    tokenizer,
  );
  if (kind !== "decoder" && kind !== "encoder")
    refuseValue("specialIds", "kind", '"decoder" or "encoder"', kind);
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

/** The columns of ids [B, N] at positions: [B, n]. */
function columnsAt(ids: Batch["inputs"], positions: ArrayLike<number>): Tensor<"int32"> {
  const [B, N] = ids.shape;
  const n = positions.length;
  const { data: list, offset } = ids.dense();
  const data = Int32Array.from(
    { length: B * n },
    (_, i) => list[offset + Math.floor(i / n) * N + positions[i % n]],
  );
  return new Tensor(data, [B, n], "int32");
}

const countedTargets = (targets: Tensor): number =>
  targets.toFloat64().reduce((count, id) => (id === IGNORE_INDEX ? count : count + 1), 0);

/** Cross-entropy at the positions with a target, from the states of all. */
function maskedLoss(model: Bert, hidden: FloatTensor, targets: Batch["targets"]): Tensor {
  const positions: number[] = [];
  const classes: number[] = [];
  for (let i = 0; i < targets.size; i++)
    if (targets.data[i] !== IGNORE_INDEX) {
      positions.push(i);
      classes.push(targets.data[i]);
    }
  const states: FloatTensor = reshape(hidden, [targets.size, -1]);
  const logits = model.logits(embedding(positions, states));
  return crossEntropy(logits, new Tensor(Int32Array.from(classes), [classes.length], "int32"));
}
