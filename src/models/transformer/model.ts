/** The interface of every model in this folder: its sizes, its parameters, and a forward pass in two steps. */
import type { Tensor } from "../../core/tensor.ts";
import type { FloatTensor, Ids, Precision } from "../../nn/index.ts";
import type { ModelConfig } from "../config/types.ts";
import type { KeyValueCache } from "../decoder/cache.ts";
import { FORWARD_OPTIONS, type ForwardOptions } from "./attend.ts";

/** Sizes of a model, independent of the names in its config.json. */
export interface ModelSizes {
  readonly layers: number;
  readonly heads: number;
  /** Heads of keys and values; they divide `heads`. */
  readonly keyHeads: number;
  /** Length of a query or key vector. */
  readonly headSize: number;
  /** C: length of a state of the residual stream. */
  readonly width: number;
  /** Rows of the embedding. */
  readonly vocabulary: number;
  /** Maximum tokens, special ones included. */
  readonly positions: number;
}

/** What a token of a model attends to. */
export type Architecture = "encoder" | "decoder" | "encoder-decoder";

/** A language model. */
export interface TransformerModel {
  /** `model_type` of its config.json: `bert`, `llama`, … */
  readonly type: string;
  readonly config: ModelConfig["config"];
  /**
   * `decoder`: a token attends to itself and to earlier tokens. `encoder`: it attends to all. `encoder-decoder`: a decoder whose
   * layers also attend to an encoder's states.
   */
  readonly architecture: Architecture;
  readonly sizes: ModelSizes;
  readonly dtype: Precision;
  /** False for a checkpoint without a language-modeling head. */
  readonly hasHead: boolean;
  /** True for a checkpoint with the head for spans of answers. */
  readonly hasSpanHead?: boolean;
  /** The config's ids that end a text; empty if it has none. */
  readonly endIds: readonly number[];
  /** Every parameter by its Hugging Face name, in `dtype`; training updates them in place. */
  parameters(): ReadonlyMap<string, FloatTensor>;
  /** Moves every parameter to a device, and resolves to the model, which then computes there. */
  to(device: string | { readonly name: string }): Promise<this>;
  /** The logits of the token at each position (encoder) or after it (decoder): ids [B, N] or [N], result [..., N, V]. */
  forward(ids: Ids, options?: ForwardOptions): FloatTensor;
  /** The last states, [..., N, C]: the head's input. */
  hidden(ids: Ids, options?: ForwardOptions): FloatTensor;
  /** Logits of states [..., C]. Throws an UnsupportedError where the model has no head. */
  logits(hidden: FloatTensor): FloatTensor;
}

/** A model that generates text, with a key/value cache. */
export interface DecoderModel extends TransformerModel {
  readonly architecture: "decoder";
  /** An empty cache for one sequence of up to `capacity` tokens; default the number of positions. */
  cache(capacity?: number): KeyValueCache;
  forward(ids: Ids, options?: DecoderOptions): FloatTensor;
  hidden(ids: Ids, options?: DecoderOptions): FloatTensor;
}

/** How to run a decoder. */
export interface DecoderOptions extends ForwardOptions {
  /** Keys and values of earlier tokens; ids [N] follow them, and are added. */
  readonly cache?: KeyValueCache;
  /**
   * Tokens of a padded batch, [B, N] bool: false for padding, on the left or on the right. Each text is then computed as if alone:
   * positions count from its first token. Not together with a cache. Default all.
   */
  readonly keyMask?: Tensor;
}

/** How to run the decoder of an encoder–decoder. */
export interface CrossOptions extends DecoderOptions {
  /** The encoder's states [..., S, C], as `encode` returns them. Required; with a cache the first call's are used. */
  readonly memory?: FloatTensor;
  /** States that may be read, [B, S] or [S] bool: false for padding. Default all. */
  readonly memoryMask?: Tensor;
}

/** Names of `DecoderOptions`. */
export const DECODER_OPTIONS: readonly (keyof DecoderOptions)[] = [...FORWARD_OPTIONS, "cache", "keyMask"];
