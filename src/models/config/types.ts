/** The configs of families that have a class of their own, named as in config.json of Hugging Face's models. */
import type { DecoderConfig, EncoderConfig, EncoderDecoderConfig } from "../transformer/config.ts";

/** Sizes and constants of a BERT, named as in its config.json. */
export interface BertConfig {
  readonly vocab_size: number;
  /** Width of the residual stream; the heads divide it. */
  readonly hidden_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly intermediate_size: number;
  readonly max_position_embeddings: number;
  /** Default 2. */
  readonly type_vocab_size?: number;
  /** `gelu` (default), `gelu_new`, `relu`, `silu`. */
  readonly hidden_act?: string;
  /** Default 1e-12. */
  readonly layer_norm_eps?: number;
  /** Dropped inside `withDropout` only; default 0. */
  readonly hidden_dropout_prob?: number;
  readonly attention_probs_dropout_prob?: number;
  /** Standard deviation of new weights; default 0.02. */
  readonly initializer_range?: number;
  /** Row of the embedding that begins as zeros; default 0. */
  readonly pad_token_id?: number;
  /** The output matrix is the embedding; default true. */
  readonly tie_word_embeddings?: boolean;
}

/** Sizes and constants of a RoBERTa, XLM-RoBERTa or CamemBERT: BERT's fields; the default of `pad_token_id` is 1. */
export type RobertaConfig = BertConfig;

/** Sizes and constants of an MPNet: BERT's fields without token types; the default of `pad_token_id` is 1. */
export type MpnetConfig = Omit<BertConfig, "type_vocab_size">;

/** Sizes and constants of an ELECTRA: BERT's fields and the width of the embeddings. */
export interface ElectraConfig extends BertConfig {
  /** Default 128. */
  readonly embedding_size?: number;
}

/** Sizes and constants of a DistilBERT, named as in its config.json. */
export interface DistilbertConfig {
  readonly vocab_size: number;
  /** Width of the residual stream; the heads divide it. */
  readonly dim: number;
  readonly n_layers: number;
  readonly n_heads: number;
  readonly hidden_dim: number;
  readonly max_position_embeddings: number;
  /** `gelu` (default), `gelu_new`, `relu`, `silu`. */
  readonly activation?: string;
  /** Dropped inside `withDropout` only; default 0. */
  readonly dropout?: number;
  readonly attention_dropout?: number;
  /** Standard deviation of new weights; default 0.02. */
  readonly initializer_range?: number;
  /** Row of the embedding that begins as zeros; default 0. */
  readonly pad_token_id?: number;
  /** The output matrix is the embedding; default true. */
  readonly tie_word_embeddings?: boolean;
}

/** Sizes and constants of a GPT-2, named as in its config.json. */
export interface Gpt2Config {
  readonly vocab_size: number;
  readonly n_positions: number;
  /** Width of the residual stream; the heads divide it. */
  readonly n_embd: number;
  readonly n_layer: number;
  readonly n_head: number;
  /** Default 4 · n_embd. */
  readonly n_inner?: number | null;
  /** `gelu_new` (default), `gelu`, `relu`, `silu`. */
  readonly activation_function?: string;
  /** Default 1e-5. */
  readonly layer_norm_epsilon?: number;
  /** Dropped inside `withDropout` only; default 0. */
  readonly embd_pdrop?: number;
  readonly attn_pdrop?: number;
  readonly resid_pdrop?: number;
  /** Standard deviation of new weights; default 0.02. */
  readonly initializer_range?: number;
  /** The output map is the embedding; default true. */
  readonly tie_word_embeddings?: boolean;
  readonly bos_token_id?: number | null;
  readonly eos_token_id?: number | null;
}

/**
 * A config.json as read. `type` names the class of the model; families without a class of their own are `encoder` or `decoder`,
 * and their config is the model's recipe.
 */
export type ModelConfig =
  | { readonly type: "bert"; readonly config: BertConfig }
  | { readonly type: "roberta"; readonly config: RobertaConfig }
  | { readonly type: "distilbert"; readonly config: DistilbertConfig }
  | { readonly type: "electra"; readonly config: ElectraConfig }
  | { readonly type: "mpnet"; readonly config: MpnetConfig }
  | { readonly type: "gpt2"; readonly config: Gpt2Config }
  | { readonly type: "encoder"; readonly config: EncoderConfig }
  | { readonly type: "decoder"; readonly config: DecoderConfig }
  | { readonly type: "encoder-decoder"; readonly config: EncoderDecoderConfig };
