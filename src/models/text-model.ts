/**
 * A model with its tokenizer, as a viewer uses it: tokenizes a text, and returns the inputs of each layer's attention. Q, K, V
 * and one log-sum-exp per row are enough to compute any weight, so no weights are stored.
 */

import {
  checkArgument,
  checkCount,
  checkMethods,
  formatValue,
  OptionError,
  refuseValue,
  UnsupportedError,
} from "../core/errors.ts";
import { checkKinds, checkNames, KINDS } from "../core/option-names.ts";
import type { Tensor } from "../core/tensor.ts";
import { concat, type FloatTensor, slice } from "../nn/index.ts";
import { tokenIds } from "../nn/ops/lookup.ts";
import { type ChatFormat, checkChat } from "./chat/format.ts";
import type { EncoderOptions } from "./encoder/encoder.ts";
import type { EncoderDecoder } from "./encoder-decoder/encoder-decoder.ts";
import { generateTarget } from "./encoder-decoder/target.ts";
import type { ModelNote } from "./files/weights.ts";
import type { Tokenizer } from "./tokenizer/index.ts";
import { type ForwardOptions, type LayerAttention, layerWeights } from "./transformer/attend.ts";
import type { Architecture, DecoderModel, TransformerModel } from "./transformer/model.ts";

/** A text, or a pair, as tokens. Each list has one entry per token. */
export interface TextTokens {
  /** The texts that the offsets refer to: the given ones, or the tokenizer's normalized ones. */
  readonly texts: readonly string[];
  readonly ids: Int32Array;
  /** Display texts of the tokens, with their spaces; `##` and `▁` as in the vocabulary. */
  readonly tokens: readonly string[];
  /** `[start, end)` in the token's own text, in UTF-16 units; [0, 0] for a token without text. */
  readonly offsets: readonly (readonly [start: number, end: number])[];
  /** Index of the token's text: 0, 1, or −1 for neither. */
  readonly sequences: Int8Array;
  /** True for `[CLS]`, `[SEP]` and other special tokens. */
  readonly special: readonly boolean[];
  readonly typeIds: Int32Array;
  /** Number of tokens left out, because the model reads no more. */
  readonly leftOut: number;
}

/** A text with the attention of a model on it. */
export interface TextAttention extends TextTokens {
  /** Query, key, value [H, N, d] and lse [H, N] of each layer, with the options of the call. */
  readonly layers: readonly LayerAttention[];
  /** The text of an encoder–decoder's decoder; `layers` and the tokens above are the encoder's. */
  readonly target?: TargetAttention;
}

/** The text that a decoder reads, with its attention over itself and over the encoder's text. */
export interface TargetAttention extends TextTokens {
  readonly self: readonly LayerAttention[];
  /** Rows are tokens of this text, columns those of the encoder's. */
  readonly cross: readonly LayerAttention[];
}

/** A model whose attention can be inspected. */
export interface AttentionModel {
  /** Its name. */
  readonly name: string;
  readonly architecture: Architecture;
  readonly layers: number;
  readonly heads: number;
  /** Maximum tokens of a text, special ones included. */
  readonly maxTokens: number;
  /** The tokens of a text or a pair that the model reads. */
  tokenize(text: string, pair?: string): TextTokens;
  /**
   * Runs the model. For an encoder–decoder `pair` is the text that the decoder reads; without it the decoder writes one, greedily.
   * Throws an OptionError for a text without a token.
   */
  attention(text: string, pair?: string): TextAttention;
  /** Facts about the checkpoint that a user should know. */
  readonly notes?: readonly ModelNote[];
}

/** A language model with its tokenizer. */
export interface TextModel<M extends TransformerModel = TransformerModel> extends AttentionModel {
  readonly model: M;
  readonly tokenizer: Tokenizer;
  readonly notes: readonly ModelNote[];
  /** The template of conversations, where the model's files have one: `chatPrompt` uses it. */
  readonly chat?: ChatFormat;
  /** Query heads per key head: 1 except in grouped-query attention. */
  readonly group: number;
  /** The attention on given tokens; `onAttention` may change what a layer computes. `globals` is for encoders that have global tokens. */
  attentionOf(
    ids: ArrayLike<number>,
    typeIds?: ArrayLike<number>,
    options?: ForwardOptions & Pick<EncoderOptions, "globals">,
  ): readonly LayerAttention[];
}

/** Throws an OptionError unless `model` is a model with its tokenizer; unless `pairs`, also for an encoder–decoder. */
export function checkTextModel(what: string, model: TextModel, { pairs = false } = {}): void {
  const { tokenize, attentionOf, tokenizer, model: network } = (model ?? {}) as Partial<TextModel>;
  const parts = [tokenize, attentionOf, tokenizer?.encode, network?.hidden];
  if (!parts.every(KINDS["a function"])) refuseValue(what, "model", "what readModel returns", model);
  if (!pairs) checkOnePart(what, model);
}

/** Throws an UnsupportedError for an encoder–decoder. */
export function checkOnePart(what: string, { architecture, name }: AttentionModel): void {
  if (architecture === "encoder-decoder")
    throw new UnsupportedError(
      "architecture",
      `${what}: ${name} is an encoder–decoder, which writes a new text from one (translate, heed translate, heed summarize); this needs an encoder or a decoder`,
    );
}

/**
 * True for a decoder, a model that generates text.
 *
 * @example
 * isDecoder(decoder.model); // → true
 */
export function isDecoder(model: TransformerModel): model is DecoderModel {
  checkCount("isDecoder", arguments, 1);
  checkArgument(
    (model as { readonly model?: unknown } | undefined)?.model === undefined,
    "isDecoder",
    "the network, the field model of what readModel returns",
    model,
  );
  return (model as Partial<TransformerModel> | undefined)?.architecture === "decoder";
}

/**
 * Combines a model with its tokenizer. Throws an OptionError if the tokenizer has an id without a row in the model.
 *
 * @example
 * const spoken = textModel(decoder.model, decoder.tokenizer, { name: "whale" });
 * spoken.name; // → "whale"
 */
export function textModel<M extends TransformerModel>(
  model: M,
  tokenizer: Tokenizer,
  options: { readonly name?: string; readonly notes?: readonly ModelNote[]; readonly chat?: ChatFormat } = {},
): TextModel<M> {
  checkCount("textModel", arguments, 3);
  checkKinds("textModel", options, { "a text": "name", "a list of objects": "notes", "an object": "chat" });
  for (const note of options.notes ?? [])
    checkKinds("textModel: notes", note, { "a text": "severity code text" });
  if (options.chat) checkChat("textModel", options.chat);
  if (typeof (model as Partial<M> | undefined)?.sizes !== "object")
    throw new OptionError(
      "model",
      `textModel: model must be the network, the field \`model\` of what readModel or languageModel returns, got ${formatValue(model)}`,
      { got: model },
    );
  if (typeof (tokenizer as Partial<Tokenizer> | undefined)?.encode !== "function")
    refuseValue("textModel", "tokenizer", "what readTokenizer returns", tokenizer);
  const { layers, heads, keyHeads, vocabulary, positions: maxTokens } = model.sizes;
  if (tokenizer.size > vocabulary)
    throw new OptionError(
      "tokenizer",
      `textModel: the tokenizer has ids up to ${tokenizer.size - 1}, the model ${vocabulary} rows (vocab_size)`,
      { tokenizer: tokenizer.size, model: vocabulary },
    );

  const tokenize = (text: string, pair?: string): TextTokens => {
    const encoding = tokenizer.encode(text, pair);
    const indices = fitting(encoding.sequences, maxTokens);
    const pick = <T>(list: ArrayLike<T>): T[] => indices.map((i) => list[i]);
    const ids = Int32Array.from(pick(encoding.ids));
    return {
      texts: pair === undefined ? [text] : [text, pair],
      ids,
      tokens: Array.from(ids, (id) => tokenizer.display(id)),
      offsets: pick(encoding.offsets),
      sequences: Int8Array.from(pick(encoding.sequences)),
      special: pick(encoding.special),
      typeIds: Int32Array.from(pick(encoding.typeIds)),
      leftOut: encoding.ids.length - indices.length,
    };
  };
  const attentionOf: TextModel["attentionOf"] = (ids, typeIds, options = {}) => {
    checkNames("attentionOf", options, ["onAttention", "onFeedForward", "onHidden", "globals"]);
    const { onAttention, onFeedForward, onHidden, globals } = options;
    const list = tokenIds("attentionOf", ids);
    const types = typeIds === undefined ? undefined : tokenIds("attentionOf: typeIds", typeIds);
    if (types && types.length !== list.length)
      throw new OptionError(
        "typeIds",
        `attentionOf: typeIds must be one for each of ${list.length} ids, got ${types.length}`,
        { got: types.length },
      );
    if (globals && model.architecture !== "encoder")
      throw new UnsupportedError(
        "globals",
        `attentionOf: ${model.type} has no global tokens, which a Longformer has; leave out globals`,
      );
    if (list.length === 0) throw new OptionError("empty-text", "attention: there is no token to read");
    const layerAttentions: LayerAttention[] = [];
    const run: EncoderOptions = {
      onHidden,
      onFeedForward,
      onAttention: (layer, layerAttention) => {
        layerAttentions.push(layerAttention);
        return onAttention?.(layer, layerAttention);
      },
      ...(model.architecture === "encoder" && { typeIds: types }),
      ...(globals && { globals }),
    };
    // Of an encoder–decoder, the encoder.
    if (model.architecture === "encoder-decoder") (model as unknown as EncoderDecoder).encode(list, run);
    else model.hidden(list, run);
    return withEqualKeyHeads(layerAttentions);
  };
  const combined: TextModel<M> = {
    name: options.name ?? model.type,
    architecture: model.architecture,
    layers,
    heads,
    group: heads / keyHeads,
    maxTokens,
    model,
    tokenizer,
    notes: options.notes ?? [],
    ...(options.chat && { chat: options.chat }),
    tokenize,
    attentionOf,
    attention(text, pair) {
      if (model.architecture === "encoder-decoder")
        return translationAttention(combined as unknown as TextModel<EncoderDecoder>, text, pair);
      const tokens = tokenize(text, pair);
      return { ...tokens, layers: attentionOf(tokens.ids, tokens.typeIds) };
    },
  };
  return checkMethods("TextModel", combined, { tokenize: 2, attention: 2, attentionOf: 3 });
}

/** Throws an OptionError for a word that a vocabulary of whole words does not have. */
export function checkWords(what: string, name: string, tokenizer: Tokenizer, text: string): void {
  const { spec } = tokenizer;
  const unknown = spec.kind === "pipeline" ? spec.pipeline.model.unknownWord : undefined;
  if (unknown === undefined) return;
  const { ids, offsets } = tokenizer.encode(text);
  const words = offsets.filter((_, i) => ids[i] === unknown).map(([from, to]) => text.slice(from, to));
  if (words.length > 0)
    throw new OptionError(
      "unknown-word",
      `${what}: ${name} does not know ${words.map(formatValue).join(", ")}; it reads the words of its vocabulary only ("heed translate translator --words" lists those of the shipped translator)`,
      { words },
    );
}

/** The text of the ids that a model wrote. Rows beyond the vocabulary (padding of the embedding) have no text. */
export const writtenText = (tokenizer: Tokenizer, ids: readonly number[]): string =>
  tokenizer.decode(ids.filter((id) => tokenizer.token(id) !== undefined)).trim();

/** The attention of both parts of an encoder–decoder on a source text and a target text. */
function translationAttention(
  { model, tokenizer, tokenize, name }: TextModel<EncoderDecoder>,
  text: string,
  pair: string | undefined,
): TextAttention {
  for (const one of pair === undefined ? [text] : [text, pair]) checkWords("attention", name, tokenizer, one);
  const source = tokenize(text);
  if (source.ids.length === 0) throw new OptionError("empty-text", "attention: there is no token to read");
  const layers: LayerAttention[] = [];
  const memory = model.encode(source.ids, {
    onAttention: (_, layerAttention) => void layers.push(layerAttention),
  });
  const ends = new Set(model.endIds);
  // The decoder reads its first id and the text, without the id that ends it.
  const words =
    pair === undefined
      ? generateTarget(model, source.ids)
      : [...tokenizer.encode(pair).ids].filter((id) => !ends.has(id));
  const { decoder_start_token_id: first, forced_bos_token_id: forced } = model.config;
  const begin = pair !== undefined && forced !== undefined && words[0] !== forced ? [first, forced] : [first];
  const all = [...begin, ...words];
  const ids = Int32Array.from(all.slice(0, model.sizes.positions));
  const self: LayerAttention[] = [];
  const cross: LayerAttention[] = [];
  model.hidden(ids, {
    memory,
    onAttention: (_, layerAttention) =>
      void (layerAttention.kind === "cross" ? cross : self).push(layerAttention),
  });
  const special = Array.from(ids, (id) => tokenizer.token(id) === undefined || tokenizer.isSpecial(id));
  const target: TargetAttention = {
    texts: [pair ?? writtenText(tokenizer, words)],
    ids,
    tokens: Array.from(ids, (id) => (tokenizer.token(id) === undefined ? `[${id}]` : tokenizer.display(id))),
    offsets: Array.from(ids, () => [0, 0] as const),
    sequences: Int8Array.from(special, (isSpecial) => (isSpecial ? -1 : 0)),
    special,
    typeIds: new Int32Array(ids.length),
    leftOut: all.length - ids.length,
    self,
    cross,
  };
  return { ...source, layers, target };
}

/** Indices of the tokens to read: if there are too many, tokens are dropped from the end of the longer text. */
function fitting(sequences: Int8Array, limit: number): number[] {
  const counts = [0, 0];
  for (const sequence of sequences) if (sequence >= 0) counts[sequence]++;
  for (let excess = sequences.length - limit; excess > 0 && counts[0] + counts[1] > 0; excess--)
    counts[counts[1] > counts[0] ? 1 : 0]--;
  const used = [0, 0];
  const indices: number[] = [];
  sequences.forEach((sequence, i) => {
    if (sequence < 0 || used[sequence]++ < counts[sequence]) indices.push(i);
  });
  return indices.slice(0, limit);
}

/** A layer with all of its weights, [H, N, N]: for short texts. */
export interface LayerWithWeights {
  readonly weights: Tensor;
  readonly lse: Tensor;
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
}

/** The layers, with the key heads of some repeated where others have more of them: the weights are the same, and all have one shape. */
function withEqualKeyHeads(layers: readonly LayerAttention[]): readonly LayerAttention[] {
  const count = ({ key }: LayerAttention) => key.shape[key.shape.length - 3];
  const maximum = Math.max(0, ...layers.map(count));
  return layers.map((layer) => {
    const times = maximum / count(layer);
    if (times === 1 || !Number.isInteger(times)) return layer;
    const repeated = (x: FloatTensor) =>
      concat(
        Array.from({ length: maximum }, (_, n) => Math.floor(n / times)).map((h) => slice(x, -3, h, h + 1)),
        -3,
      );
    return { ...layer, key: repeated(layer.key), value: repeated(layer.value) };
  });
}

/**
 * The attention on a text with all weights rebuilt.
 *
 * @example
 * const { layers } = materializeWeights(decoder.attention("the old ship"));
 */
export function materializeWeights(textAttention: TextAttention): {
  readonly text: string;
  readonly pieces: readonly string[];
  readonly layers: readonly LayerWithWeights[];
} {
  checkCount("materializeWeights", arguments, 1);
  checkArgument(
    [textAttention?.layers, textAttention?.texts, textAttention?.tokens].every(KINDS["a list"]),
    "materializeWeights",
    "what model.attention(text) returns",
    textAttention,
  );
  return {
    text: textAttention.texts.join("\n"),
    pieces: textAttention.tokens,
    layers: textAttention.layers.map((layer) => ({
      weights: layerWeights(layer),
      lse: layer.lse,
      q: layer.query,
      k: layer.key,
      v: layer.value,
    })),
  };
}
