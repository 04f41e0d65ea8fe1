/**
 * The reader's own sentence, read by the small encoder that heed ships (3.8 MB, fetched when it is first asked for). It
 * cuts rare words into pieces. Of its 16 heads the one is shown that has the strongest link between two pieces that are
 * not neighbors.
 */
import { OptionError } from "../../src/core/errors.ts";
import { attentionWeights, type Tensor, tensor } from "../../src/index.ts";
import { modelFromFiles, type TextModel } from "../../src/models/index.ts";
import { fileAddress } from "../frame/base.ts";
import type { Head } from "./head.ts";

const FILES = ["config.json", "tokenizer.json", "model.safetensors"];

let opened: Promise<TextModel> | undefined;

/** Most characters that are read: the model has 64 places. */
const MOST = 120;

/** A head's vectors of the sentence. Throws where the model cannot be fetched. */
export async function ownSentence(text: string): Promise<Head> {
  opened ??= open();
  let model: TextModel;
  try {
    model = await opened;
  } catch (error) {
    opened = undefined;
    throw error;
  }
  const { tokens, layers, special } = model.attention(text.slice(0, MOST));
  let best = { layer: 0, head: 0, weight: -1 };
  for (const [layer, { query, key, lse, options }] of layers.entries()) {
    const weights = attentionWeights(query, key, lse, options);
    const [heads, n] = weights.shape;
    for (let head = 0; head < heads; head++)
      for (let i = 0; i < n; i++)
        for (let j = 0; j < n; j++) {
          const weight = Math.abs(i - j) > 1 && !special[i] && !special[j] ? weights.at(head, i, j) : -1;
          if (weight > best.weight) best = { layer, head, weight };
        }
  }
  const { query, key, value } = layers[best.layer];
  const one = (all: Tensor) => {
    const [, n, d] = all.shape;
    const numbers = Float32Array.from({ length: n * d }, (_, i) =>
      all.at(best.head, Math.floor(i / d), i % d),
    );
    return tensor(numbers, [n, d]);
  };
  return {
    tokens: tokens.map((token, i) =>
      special[i] ? (i === 0 ? "start" : "end") : token.startsWith("##") ? `·${token.slice(2)}` : token,
    ),
    query: one(query),
    key: one(key),
    value: one(value),
  };
}

async function open(): Promise<TextModel> {
  const files = new Map<string, Uint8Array>();
  for (const name of FILES) {
    const response = await fetch(fileAddress(`model/${name}`));
    if (!response.ok)
      throw new OptionError(
        "model",
        `the model for your own sentence could not be loaded: ${name} answered ${response.status}`,
      );
    files.set(name, new Uint8Array(await response.arrayBuffer()));
  }
  return modelFromFiles(files, { name: "encoder" });
}
