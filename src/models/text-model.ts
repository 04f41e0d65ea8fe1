/**
 * What a viewer needs of a model, whichever it is: cut a text into tokens, and say what each layer's attention read. Q, K,
 * V and one log-sum-exp a row are enough to draw any weight; no weights are kept.
 */
import { attentionWeights } from "../attention.ts";
import { OptionError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { Bert } from "./bert.ts";
import type { Gpt2, LayerAttention } from "./gpt2.ts";
import type { Tokenizer } from "./tokenizer/index.ts";
import type { UseLite } from "./use-lite.ts";

/** A text, or a pair, as tokens. One entry a token in each list. */
export interface TextTokens {
  /** The texts that the offsets count in: the given ones, or what the tokeniser made of them. */
  readonly texts: readonly string[];
  readonly ids: Int32Array;
  /** What a person reads: the text of a token, with its space; `##` and `▁` as the vocabulary has them. */
  readonly tokens: readonly string[];
  /** `[start, end)` in the token's own text, in UTF-16 units; [0, 0] of a token that stands for no text. */
  readonly offsets: readonly (readonly [start: number, end: number])[];
  /** Which text a token is of: 0, 1, or −1. */
  readonly sequences: Int8Array;
  /** True for `[CLS]`, `[SEP]` and their like. */
  readonly special: readonly boolean[];
  readonly typeIds: Int32Array;
  /** Tokens left out, because the model reads no more. */
  readonly leftOut: number;
}

/** What a model's attention did with a text. */
export interface TextAttention extends TextTokens {
  /** Query, key, value [H, N, d] and lse [H, N] of each layer, with the options of the call. */
  readonly layers: readonly LayerAttention[];
}

/** A model whose attention can be looked at. */
export interface AttentionModel {
  /** What it is called. */
  readonly name: string;
  /** `decoder`: a token sees itself and those before it. `encoder`: it sees all. */
  readonly architecture: "encoder" | "decoder";
  readonly layers: number;
  readonly heads: number;
  /** Most tokens it reads at once, special ones included. */
  readonly maxTokens: number;
  /** The tokens the model would read of a text or a pair. */
  tokenize(text: string, pair?: string): TextTokens;
  /** Runs the model. Throws an OptionError where there is no token to read. */
  attention(text: string, pair?: string): TextAttention;
}

/** A BERT or GPT-2 with its tokeniser. */
export interface TextModel extends AttentionModel {
  readonly model: Bert | Gpt2;
  readonly tokenizer: Tokenizer;
  /** The same for tokens of one's own. */
  attentionOf(ids: ArrayLike<number>, typeIds?: ArrayLike<number>): readonly LayerAttention[];
}

/** A model and its tokeniser as one. Throws an OptionError where the tokeniser has ids the model has no row for. */
export function textModel(
  model: Bert | Gpt2,
  tokenizer: Tokenizer,
  options: { readonly name?: string } = {},
): TextModel {
  const bert = model instanceof Bert;
  if (tokenizer.size > model.config.vocab_size)
    throw new OptionError(
      "tokenizer",
      `textModel: the tokeniser has ids up to ${tokenizer.size - 1}, the model ${model.config.vocab_size} rows (vocab_size)`,
      { tokenizer: tokenizer.size, model: model.config.vocab_size },
    );
  const [layers, heads, maxTokens] = bert
    ? [model.config.num_hidden_layers, model.config.num_attention_heads, model.config.max_position_embeddings]
    : [model.config.n_layer, model.config.n_head, model.config.n_positions];

  const tokenize = (text: string, pair?: string): TextTokens => {
    const encoding = tokenizer.encode(text, pair);
    const kept = fitting(encoding.sequences, maxTokens);
    const pick = <T>(list: ArrayLike<T>): T[] => kept.map((i) => list[i]);
    const ids = Int32Array.from(pick(encoding.ids));
    return {
      texts: pair === undefined ? [text] : [text, pair],
      ids,
      tokens: Array.from(ids, (id) => tokenizer.display(id)),
      offsets: pick(encoding.offsets),
      sequences: Int8Array.from(pick(encoding.sequences)),
      special: pick(encoding.special),
      typeIds: Int32Array.from(pick(encoding.typeIds)),
      leftOut: encoding.ids.length - kept.length,
    };
  };
  const attentionOf = (ids: ArrayLike<number>, typeIds?: ArrayLike<number>): LayerAttention[] => {
    const list = Int32Array.from(ids);
    if (list.length === 0) throw new OptionError("empty-text", "attention: there is no token to read");
    const seen: LayerAttention[] = [];
    const onAttention = (_: number, layer: LayerAttention) => seen.push(layer);
    if (model instanceof Bert)
      model.hidden(list, { onAttention, typeIds: typeIds && Int32Array.from(typeIds) });
    else model.hidden(list, { onAttention });
    return seen;
  };
  return {
    name: options.name ?? (bert ? "bert" : "gpt2"),
    architecture: bert ? "encoder" : "decoder",
    layers,
    heads,
    maxTokens,
    model,
    tokenizer,
    tokenize,
    attentionOf,
    attention(text, pair) {
      const tokens = tokenize(text, pair);
      return { ...tokens, layers: attentionOf(tokens.ids, tokens.typeIds) };
    },
  };
}

/** Places of the tokens that are read: where there are too many, the last of the longer text go first. */
function fitting(sequences: Int8Array, most: number): number[] {
  const counts = [0, 0];
  for (const sequence of sequences) if (sequence >= 0) counts[sequence]++;
  for (let excess = sequences.length - most; excess > 0 && counts[0] + counts[1] > 0; excess--)
    counts[counts[1] > counts[0] ? 1 : 0]--;
  const taken = [0, 0];
  const kept: number[] = [];
  sequences.forEach((sequence, i) => {
    if (sequence < 0 || taken[sequence]++ < counts[sequence]) kept.push(i);
  });
  return kept.slice(0, most);
}

/** The Universal Sentence Encoder lite as a model like the others. It reads one text at a time. */
export function useLiteModel(model: UseLite): AttentionModel {
  const tokenize = (text: string, pair?: string): TextTokens => {
    if (pair !== undefined)
      throw new OptionError("pair", "useLiteModel: this encoder reads one text at a time, not a pair");
    const { normalized, tokens } = model.tokenize(text);
    const read = tokens.slice(0, model.maxPieces);
    return {
      texts: [normalized],
      ids: Int32Array.from(read, ({ id }) => id),
      tokens: read.map(({ piece }) => piece),
      offsets: read.map(({ start, end }) => [start, end]),
      sequences: new Int8Array(read.length),
      special: read.map(() => false),
      typeIds: new Int32Array(read.length),
      leftOut: tokens.length - read.length,
    };
  };
  return {
    name: "universal-sentence-encoder-lite",
    architecture: "encoder",
    layers: model.layers,
    heads: model.heads,
    maxTokens: model.maxPieces,
    tokenize,
    attention(text, pair) {
      const tokens = tokenize(text, pair);
      const layers = model
        .run(text)
        .layers.map(({ q, k, v, lse }) => ({ query: q, key: k, value: v, lse, options: {} }));
      return { ...tokens, layers: layers as unknown as LayerAttention[] };
    },
  };
}

/** A layer with its weights in full, [H, N, N]: for short texts, which are drawn whole. */
export interface WeighedLayer {
  readonly weights: Tensor;
  readonly lse: Tensor;
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
}

/** What a text's attention did, with all weights rebuilt: what `headsOf`, `renderText` and `renderSvg` of heed/view take. */
export function withWeights(seen: TextAttention): {
  readonly text: string;
  readonly pieces: readonly string[];
  readonly layers: readonly WeighedLayer[];
} {
  return {
    text: seen.texts.join("\n"),
    pieces: seen.tokens,
    layers: seen.layers.map(({ query, key, value, lse, options }) => ({
      weights: attentionWeights(query, key, lse, options),
      lse,
      q: query,
      k: key,
      v: value,
    })),
  };
}
