/** The recipe of an encoder–decoder, as data: that of its decoder, with the encoder's inside. */
import type { DecoderConfig } from "../decoder/config.ts";
import type { EncoderConfig } from "../encoder/config.ts";

/** The recipe of an encoder–decoder. */
export interface EncoderDecoderConfig extends DecoderConfig {
  readonly encoder: EncoderConfig;
  /** The id that the decoder reads first. */
  readonly decoder_start_token_id: number;
  /** The id that every text begins with, after the first one: a language, or the beginning of a text. */
  readonly forced_bos_token_id?: number;
  /** The id at the last position of a text that reaches its maximum length. */
  readonly forced_eos_token_id?: number;
  /** Ids that are never generated. */
  readonly suppressed_ids: readonly number[];
}
