/**
 * The encoder–decoder of "Attention Is All You Need" (Vaswani et al. 2017, arXiv 1706.03762), as T5, BART, Marian and their
 * relatives have it: an encoder reads one text, and each layer of a decoder attends to its own earlier tokens, then to the states
 * of the encoder (cross-attention: queries from the decoder, keys and values from the encoder).
 *
 *     memory = encoder(source)                                        [..., S, C]
 *     logits = decoder(target, memory)                                [..., N, V]
 */
import { checkCount, checkMethods } from "../../core/errors.ts";
import type { FloatTensor, Ids, Precision } from "../../nn/index.ts";
import type { KeyValueCache } from "../decoder/cache.ts";
import { Decoder } from "../decoder/decoder.ts";
import { Encoder, type EncoderOptions } from "../encoder/encoder.ts";
import type { EncoderDecoderConfig } from "../transformer/config.ts";
import { checkTransformerConfig } from "../transformer/config.ts";
import type { CrossOptions, ModelSizes, TransformerModel } from "../transformer/model.ts";
import { checkStart, Parameters } from "../transformer/parameters.ts";
import { planOf } from "../transformer/plan.ts";
import type { ModelStart } from "../transformer/transformer.ts";

/**
 * An encoder–decoder that a recipe describes.
 *
 * @example
 * const { model } = await readModel("./opus-mt-en-de", { family: "encoder-decoder" }); // an EncoderDecoder
 */
export class EncoderDecoder implements TransformerModel {
  readonly architecture = "encoder-decoder";
  /** `model_type` of its config.json: `t5`, `bart`, … */
  readonly type: string;
  /** All that the model computes, as data. */
  readonly config: EncoderDecoderConfig;
  /** Sizes of the decoder; those of the encoder are `encoder.sizes`. */
  readonly sizes: ModelSizes;
  readonly dtype: Precision;
  readonly hasHead: boolean;
  readonly endIds: readonly number[];
  readonly encoder: Encoder;
  readonly decoder: Decoder<EncoderDecoderConfig>;

  /** A model with the weights given, or with new ones from a seed: normal with the config's standard deviation. */
  constructor(recipe: EncoderDecoderConfig, options: ModelStart = {}) {
    checkCount("EncoderDecoder", arguments, 2);
    checkTransformerConfig(recipe);
    checkTransformerConfig(recipe.encoder);
    checkStart("EncoderDecoder", options);
    const { hasHead = true } = options;
    const weights = new Parameters(recipe.model_type, planOf(recipe, hasHead), options);
    const shared = { dtype: options.dtype, weights };
    this.encoder = new Encoder(recipe.encoder, { ...shared, hasHead: false });
    this.decoder = new Decoder<EncoderDecoderConfig>(recipe, { ...shared, hasHead }, recipe);
    this.config = recipe;
    this.type = recipe.model_type;
    this.sizes = this.decoder.sizes;
    this.dtype = this.decoder.dtype;
    this.hasHead = hasHead;
    this.endIds = recipe.eos_token_ids;
  }

  /** Every parameter by its Hugging Face name, in `dtype`; training updates them in place. */
  parameters(): ReadonlyMap<string, FloatTensor> {
    return this.decoder.parameters();
  }

  /**
   * Moves every parameter to a device, as `to` of encoders and decoders does.
   *
   * @throws OptionError where no device has that name; then nothing has changed
   */
  async to(device: string | { readonly name: string }): Promise<this> {
    await this.decoder.to(device); // both parts have one set of parameters
    return this;
  }

  /** The encoder's states of a source text, ids [B, S] or [S] to [..., S, C]. */
  encode(ids: Ids, options: Omit<EncoderOptions, "typeIds"> = {}): FloatTensor {
    return this.encoder.hidden(ids, options);
  }

  /** The logits of the token after each token of a target text, [..., N, V]; `memory` is what `encode` returns. */
  forward(ids: Ids, options: CrossOptions): FloatTensor {
    return this.decoder.forward(ids, options);
  }

  /** The decoder's last states of a target text, [..., N, C]; `memory` is what `encode` returns. */
  hidden(ids: Ids, options: CrossOptions): FloatTensor {
    return this.decoder.hidden(ids, options);
  }

  /** Logits of the decoder's states [..., C]. */
  logits(hidden: FloatTensor): FloatTensor {
    return this.decoder.logits(hidden);
  }

  /** An empty cache for one target text of up to `capacity` tokens; it also stores the keys and values of the encoder's states. */
  cache(capacity?: number): KeyValueCache {
    return this.decoder.cache(capacity);
  }
}

// biome-ignore format: a table
checkMethods("EncoderDecoder", EncoderDecoder.prototype, {
  to: 1, parameters: 0, encode: 2, forward: 2, hidden: 2, logits: 1, cache: 1,
});
