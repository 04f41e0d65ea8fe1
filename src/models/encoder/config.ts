/** The recipe of an encoder, as data: that of a transformer, and how tokens are embedded. */
import type { TransformerConfig } from "../transformer/config.ts";

/** The recipe of an encoder. */
export interface EncoderConfig extends TransformerConfig {
  /** Width of the embeddings, where it is not that of the layers. */
  readonly embedding_size?: number;
  /** Kinds of token types; a family without them has no name for their table. */
  readonly type_vocab_size?: number;
  /**
   * Rows of the position table. With this and without `position_offset` the first rows belong to padding: real tokens are counted
   * from pad_token_id + 1 on.
   */
  readonly position_rows?: number;
}
