/**
 * The two models that `heed train` trains: what they share, and their sizes. decoder.ts is GPT-2's architecture,
 * encoder.ts is BERT's; both save under the names, shapes and configuration that Hugging Face's library has for them.
 */
import { came, OptionError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Batch } from "./data.ts";
import type { Trainable } from "./loop.ts";

/** Sizes of a model. */
export interface LanguageSizes {
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
}

/** How a model starts. */
export interface LanguageOptions extends LanguageSizes {
  /** Seed of the first weights; default 0. */
  readonly seed?: number;
  /** Share dropped after embeddings, attention and each sub-layer, while training; default 0. */
  readonly dropout?: number;
  readonly dtype?: "float32" | "float64";
}

/** A model of text that can be trained and saved. */
export interface LanguageModel extends Trainable<Batch> {
  readonly kind: "decoder" | "encoder";
  /** Scores of each token id at each position: inputs [B, T] int32, result [B, T, vocabulary]. */
  logits(inputs: Tensor): Tensor;
  /** config.json, by Hugging Face's names. `ids` are those of special tokens. */
  config(ids: Readonly<Record<string, number>>): Record<string, unknown>;
  /** Parameters by Hugging Face's names and in its shapes. */
  tensors(): Map<string, Tensor>;
}

/** Throws unless the sizes make a model. */
export function checkSizes(what: string, options: LanguageOptions): Required<LanguageOptions> {
  const { inner = 4 * options.width, seed = 0, dropout = 0, dtype = "float32" } = options;
  const { vocabulary, context, layers, heads, width } = options;
  for (const [name, value] of Object.entries({ vocabulary, context, layers, heads, width, inner }))
    if (!(Number.isSafeInteger(value) && value > 0))
      throw new OptionError(name, `${what}: ${name} must be an integer > 0, got ${came(value)}`, {
        got: value,
      });
  if (width % heads !== 0)
    throw new OptionError("heads", `${what}: ${heads} heads do not divide a width of ${width}`, {
      heads,
      width,
    });
  if (!(dropout >= 0 && dropout < 1))
    throw new OptionError("dropout", `${what}: dropout must be in [0, 1), got ${came(dropout)}`);
  return { vocabulary, context, layers, heads, width, inner, seed, dropout, dtype };
}
