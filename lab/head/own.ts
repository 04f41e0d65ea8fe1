/**
 * The reader's own sentence, read by the small encoder that heed ships (3.8 MB, fetched on first use). It splits rare words
 * into pieces. Of its 16 heads, the pages show the one that the reader chose, or the one with the link of the largest contrast: a
 * weight that the head gives neither from every word nor at every distance.
 */
import { OptionError } from "../../src/core/errors.ts";
import { attentionWeights, type Tensor, tensor } from "../../src/index.ts";
import {
  type InterventionHooks,
  intervene,
  type LayerAttention,
  modelFromFiles,
  type TextModel,
} from "../../src/models/index.ts";
import { storeFromModel } from "../../src/store/layout/from.ts";
import { type TellingLink, tellingLink } from "../../src/store/sentences/telling.ts";
import { fileAddress } from "../frame/runtime/base.ts";
import { MAX_CHARACTERS } from "../frame/words.ts";
import type { Head } from "./head.ts";
import type { OwnLink } from "./link.ts";

const FILES = ["config.json", "tokenizer.json", "model.safetensors"];

let loading: Promise<LoadedModel> | undefined;

/** The model, fetched once; after a failure the next call tries again. */
async function loaded(): Promise<LoadedModel> {
  loading ??= load();
  try {
    return await loading;
  } catch (error) {
    loading = undefined;
    throw error;
  }
}

/** The tokens of a sentence as the pages show them and as the model has them, and the attention of its layers on them. */
interface EncodedSentence {
  readonly tokens: readonly string[];
  readonly names: readonly string[];
  readonly ids: readonly number[];
  readonly layers: readonly LayerAttention[];
  /** True if the sentence has more pieces than these. */
  readonly cut: boolean;
}

/** Vectors of one head on a sentence: of `head`, counted through all layers, or of the one with the largest contrast (−1). Throws where the model cannot be fetched. */
export const ownSentence = (text: string, head: number) => ownHead(text, Number.POSITIVE_INFINITY, 0, head);

/** The same for the first `pieces` pieces between the two marks, and padding up to `size` tokens, which is not masked. */
export async function ownHead(
  text: string,
  pieces: number,
  size: number,
  chosen = -1,
): Promise<Head & { readonly link: OwnLink }> {
  const encoded = await readTokens(text, pieces, size);
  const link = await linkIn(encoded, chosen);
  const { layer, head } = link;
  const { query, key, value } = encoded.layers[layer];
  return {
    link,
    tokens: encoded.tokens,
    query: headFrom(query, head),
    key: headFrom(key, head),
    value: headFrom(value, head),
  };
}

/** All heads of the layer with the link of the largest contrast, [heads, tokens, 32] each, on the first `pieces` pieces; its W^O, and the states before it. */
export async function ownLayer(text: string, pieces: number) {
  const { model } = await loaded();
  const encoded = await readTokens(text, pieces, 0);
  const link = await linkIn(encoded, -1);
  const { query, key, value } = encoded.layers[link.layer];
  let states = new Float64Array();
  model.attentionOf(encoded.ids, undefined, {
    onHidden(layer, state) {
      if (layer === link.layer) states = state.toFloat64().slice();
    },
  });
  const name = `bert.encoder.layer.${link.layer}.attention.output.dense.weight`;
  const projection = model.model.parameters().get(name)!.toFloat64();
  return { tokens: encoded.tokens, link, query, key, value, projection, states };
}

/** Every link of a word: [layers · heads · tokens] numbers each. */
export interface WordLinks {
  readonly tokens: readonly string[];
  readonly layers: number;
  readonly heads: number;
  /** The word whose links they are. */
  readonly query: number;
  readonly weights: ArrayLike<number>;
  /** The length of weight × value. */
  readonly moves: ArrayLike<number>;
  /** How far the word's last state turns when the link's weight is 0: 1 − cosine. */
  readonly turns: ArrayLike<number>;
  /** True if the sentence has more pieces than are read. */
  readonly cut: boolean;
}

/** All links of the word from which the link of the largest contrast starts; `renormalize`: the row's other weights grow to a sum of 1. */
export async function ownWordLinks(text: string, pieces: number, renormalize: boolean): Promise<WordLinks> {
  const { model } = await loaded();
  const encoded = await readTokens(text, pieces, 0);
  const { layers, heads, from: query } = await linkIn(encoded, -1);
  const lastOf = (hooks: Partial<InterventionHooks>): Float64Array => {
    let last: Float64Array | undefined;
    model.attentionOf(encoded.ids, undefined, {
      ...hooks,
      onHidden(_, state) {
        const width = state.shape[state.shape.length - 1];
        last = state.toFloat64().slice(query * width, (query + 1) * width);
      },
    });
    return last!;
  };
  const before = lastOf({});
  const links = { weights: [] as number[], moves: [] as number[], turns: [] as number[] };
  for (const [layer, { query: q, key, value, lse, options }] of encoded.layers.entries()) {
    const all = attentionWeights(q, key, lse, options);
    const width = value.shape[value.shape.length - 1];
    const numbers = value.toFloat64();
    for (let head = 0; head < heads; head++)
      for (let j = 0; j < encoded.tokens.length; j++) {
        const weight = all.at(head, query, j);
        const at = (head * encoded.tokens.length + j) * width;
        const link = { part: "link", layer, head, query, key: j, renormalize } as const;
        links.weights.push(weight);
        links.moves.push(weight * Math.hypot(...numbers.subarray(at, at + width)));
        links.turns.push(1 - cosine(before, lastOf(intervene(model, [link]))));
      }
  }
  return { tokens: encoded.tokens, layers, heads, query, ...links, cut: encoded.cut };
}

const cosine = (a: Float64Array, b: Float64Array) =>
  a.reduce((sum, x, i) => sum + x * b[i], 0) / (Math.hypot(...a) * Math.hypot(...b));

/** The model's attention on the first `pieces` pieces of a sentence: for the explorer. */
export async function ownAttention(text: string, pieces: number) {
  const { names, layers } = await readTokens(text, pieces, 0);
  return { tokens: names, layers };
}

/** Reads a sentence: its first `pieces` pieces between the two marks, then padding up to `size` tokens. */
async function readTokens(text: string, pieces: number, size: number): Promise<EncodedSentence> {
  const { model, pad } = await loaded();
  const { ids, tokens, special } = model.tokenize(text.slice(0, MAX_CHARACTERS));
  // The marks are the first and the last token. What the model does not know is a special token too, but it is a piece.
  const isMark = (i: number) => i === 0 || i === ids.length - 1;
  let left = pieces;
  const positions = [...ids.keys()].filter((i) => isMark(i) || left-- > 0);
  const pads = Math.max(0, size - positions.length);
  const shown = (i: number) => {
    if (isMark(i)) return i === 0 ? "start" : "end";
    if (special[i]) return "[?]";
    return tokens[i].startsWith("##") ? `·${tokens[i].slice(2)}` : tokens[i];
  };
  const all = [...positions.map((i) => ids[i]), ...Array<number>(pads).fill(pad)];
  return {
    tokens: [...positions.map(shown), ...Array<string>(pads).fill("pad")],
    names: [...positions.map((i) => tokens[i]), ...Array<string>(pads).fill("[PAD]")],
    ids: all,
    layers: model.attentionOf(all),
    cut: positions.length < ids.length || text.length >= MAX_CHARACTERS,
  };
}

/** The link of the largest contrast: of one head, counted through all layers, or of all (−1). */
async function linkIn({ layers, names, cut }: EncodedSentence, chosen: number): Promise<OwnLink> {
  const heads = layers[0].query.shape[0];
  const only = chosen < 0 ? {} : { layer: Math.floor(chosen / heads), head: chosen % heads };
  const store = storeFromModel({ tokens: names, layers });
  const link = (await tellingLink(store, only)) as TellingLink;
  store.dispose();
  const { layer, head, query, key, verdict } = link;
  return { layers: layers.length, heads, layer, head, from: query, to: key, verdict, cut };
}

/** One head of [heads, n, d]. */
function headFrom(all: Tensor, head: number): Tensor {
  const [, n, d] = all.shape;
  const numbers = Float32Array.from({ length: n * d }, (_, i) => all.at(head, Math.floor(i / d), i % d));
  return tensor(numbers, [n, d]);
}

/** The model, and the id of its padding token. */
interface LoadedModel {
  readonly model: TextModel;
  readonly pad: number;
}

async function load(): Promise<LoadedModel> {
  const files = new Map<string, Uint8Array>();
  for (const name of FILES) {
    const response = await fetch(fileAddress(`model/${name}`)).catch(() => undefined);
    if (!response?.ok)
      throw new OptionError(
        "model",
        `the model for your own sentence could not be loaded (${name}: ${response === undefined ? "no answer" : response.status}). Check the connection, then press Enter in the field again`,
      );
    files.set(name, new Uint8Array(await response.arrayBuffer()));
  }
  const { pad_token_id: pad } = JSON.parse(new TextDecoder().decode(files.get("config.json"))) as {
    pad_token_id: number;
  };
  return { model: await modelFromFiles(files, { name: "encoder" }), pad };
}
