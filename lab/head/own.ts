/**
 * The reader's own sentence, read by the small encoder that heed ships (3.8 MB, fetched on first use). It splits rare words
 * into pieces. Of its 16 heads, the pages show the one with the strongest link between two pieces that are not neighbors.
 */
import { OptionError } from "../../src/core/errors.ts";
import { attentionWeights, type Tensor, tensor } from "../../src/index.ts";
import { type LayerAttention, modelFromFiles, type TextModel } from "../../src/models/index.ts";
import { fileAddress } from "../frame/runtime/base.ts";
import type { Head } from "./head.ts";

const FILES = ["config.json", "tokenizer.json", "model.safetensors"];

let loading: Promise<LoadedModel> | undefined;

/** Longer sentences are cut: the model has 128 positions. */
const MAX_CHARACTERS = 120;

/** The tokens of a sentence, which of them are marks around it, and the attention of the model's layers on them. */
interface EncodedSentence {
  readonly tokens: readonly string[];
  readonly marks: readonly boolean[];
  readonly layers: readonly LayerAttention[];
}

/** The strongest link between two pieces that are not neighbors. */
export interface StrongestLink {
  readonly layer: number;
  readonly head: number;
  /** The piece that looks, and the one it looks at. */
  readonly from: number;
  readonly to: number;
}

/** Vectors of the head with the strongest link. Throws where the model cannot be fetched. */
export const ownSentence = (text: string) => ownHead(text, Number.POSITIVE_INFINITY, 0);

/** The same for the first `pieces` pieces between the two marks, and padding up to `size` tokens, which is not masked. */
export async function ownHead(
  text: string,
  pieces: number,
  size: number,
): Promise<Head & { readonly link: StrongestLink }> {
  const encoded = await readTokens(text, pieces, size);
  const link = strongest(encoded);
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

/** All heads of the layer with the strongest link, [heads, tokens, 32] each, on the first `pieces` pieces. */
export async function ownLayer(text: string, pieces: number) {
  const encoded = await readTokens(text, pieces, 0);
  const link = strongest(encoded);
  const { query, key, value } = encoded.layers[link.layer];
  return { tokens: encoded.tokens, link, query, key, value };
}

/** Reads a sentence: its first `pieces` pieces between the two marks, then padding up to `size` tokens. */
async function readTokens(text: string, pieces: number, size: number): Promise<EncodedSentence> {
  loading ??= load();
  let loaded: LoadedModel;
  try {
    loaded = await loading;
  } catch (error) {
    loading = undefined;
    throw error;
  }
  const { model, pad } = loaded;
  const { ids, tokens, special } = model.tokenize(text.slice(0, MAX_CHARACTERS));
  // The marks are the first and the last token. What the model does not know is a special token too, but it is a piece.
  const isMark = (i: number) => i === 0 || i === ids.length - 1;
  let left = pieces;
  const positions = [...ids.keys()].filter((i) => isMark(i) || left-- > 0);
  const pads = Math.max(0, size - positions.length);
  return {
    tokens: [
      ...positions.map((i) =>
        isMark(i)
          ? i === 0
            ? "start"
            : "end"
          : special[i]
            ? "[?]"
            : tokens[i].startsWith("##")
              ? `·${tokens[i].slice(2)}`
              : tokens[i],
      ),
      ...Array<string>(pads).fill("pad"),
    ],
    marks: [...positions.map(isMark), ...Array<boolean>(pads).fill(true)],
    layers: model.attentionOf([...positions.map((i) => ids[i]), ...Array<number>(pads).fill(pad)]),
  };
}

function strongest({ layers, marks }: EncodedSentence): StrongestLink {
  let best = { layer: 0, head: 0, from: Math.min(1, marks.length - 1), to: 0 };
  let largest = -1;
  for (const [layer, { query, key, lse, options }] of layers.entries()) {
    const weights = attentionWeights(query, key, lse, options);
    const [heads, n] = weights.shape;
    for (let head = 0; head < heads; head++)
      for (let from = 0; from < n; from++)
        for (let to = 0; to < n; to++) {
          if (Math.abs(from - to) < 2 || marks[from] || marks[to]) continue;
          const weight = weights.at(head, from, to);
          if (weight > largest) [largest, best] = [weight, { layer, head, from, to }];
        }
  }
  return best;
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
