/** The recipe of a decoder, as data: that of a transformer, and what is around its layers. */
import type { TransformerConfig } from "../transformer/config.ts";

/** The recipe of a decoder. */
export interface DecoderConfig extends TransformerConfig {
  /** Multiplies the logits. Default 1. */
  readonly logit_scale?: number;
  /** c·tanh(logit / c). */
  readonly final_logit_softcapping?: number;
  readonly bos_token_id?: number;
  /** Ids that end a text. */
  readonly eos_token_ids: readonly number[];
}
