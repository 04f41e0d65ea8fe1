/** What every model of this folder is to the rest of heed: its sizes, its parameters, and a forward pass in two steps. */
import type { FloatTensor, Ids, Precision } from "../../nn/index.ts";
import type { KeyValueCache } from "../cache.ts";
import type { ModelConfig } from "../config.ts";
import { FORWARD_OPTIONS, type ForwardOptions } from "./attend.ts";

/** Sizes of a model, whatever its config.json calls them. */
export interface ModelSizes {
  readonly layers: number;
  readonly heads: number;
  /** Heads of keys and values; they divide `heads`. */
  readonly keyHeads: number;
  /** Numbers of a query or key. */
  readonly headSize: number;
  /** C: numbers of a state of the residual stream. */
  readonly width: number;
  /** Rows of the embedding. */
  readonly vocabulary: number;
  /** Tokens it reads at most, special ones included. */
  readonly positions: number;
}

/** A language model. */
export interface TransformerModel {
  /** `model_type` of its config.json: `bert`, `llama`, … */
  readonly type: string;
  readonly config: ModelConfig["config"];
  /** `decoder`: a token sees itself and those before it. `encoder`: it sees all. */
  readonly architecture: "encoder" | "decoder";
  readonly sizes: ModelSizes;
  readonly dtype: Precision;
  /** False where the checkpoint has no matrix that turns states into logits. */
  readonly hasHead: boolean;
  /** Ids that end a text, by the config; empty where it names none. */
  readonly endIds: readonly number[];
  /** Every parameter by its Hugging Face name, in `dtype`; training updates them in place. */
  parameters(): ReadonlyMap<string, FloatTensor>;
  /** The logits of the token at each position (encoder) or after it (decoder): ids [B, N] or [N], result [..., N, V]. */
  forward(ids: Ids, options?: ForwardOptions): FloatTensor;
  /** The last states, [..., N, C]: what the head reads. */
  hidden(ids: Ids, options?: ForwardOptions): FloatTensor;
  /** Logits of states [..., C]. Throws an UnsupportedError where the model has no head. */
  logits(hidden: FloatTensor): FloatTensor;
}

/** A model that writes: its past can be kept. */
export interface DecoderModel extends TransformerModel {
  readonly architecture: "decoder";
  /** An empty cache for one sequence of up to `capacity` tokens; by default as many as there are positions. */
  cache(capacity?: number): KeyValueCache;
  forward(ids: Ids, options?: DecoderOptions): FloatTensor;
  hidden(ids: Ids, options?: DecoderOptions): FloatTensor;
}

/** How to run a decoder. */
export interface DecoderOptions extends ForwardOptions {
  /** Keys and values of the tokens before; ids [N] follow them, and are added. */
  readonly cache?: KeyValueCache;
}

/** Names of `DecoderOptions`. */
export const DECODER_OPTIONS: readonly (keyof DecoderOptions)[] = [...FORWARD_OPTIONS, "cache"];
