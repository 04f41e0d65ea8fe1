/**
 * The decoder that Llama made common (Touvron et al. 2023, arXiv 2302.13971), with the variations of its relatives: Llama 2 and
 * 3, Mistral, Qwen 2.5 and 3, SmolLM, Gemma 2 and 3, and Phi-3 are one module, configured by `DecoderConfig` (decoder-config.ts).
 * Parameters have the names of Hugging Face's …ForCausalLM.
 *
 *     x = embedding[id]                                    · √C (Gemma)
 *     x = x + W·heads(attention(rope(norm(q)), rope(norm(k)), v))      q, k, v = W·norm(x) (+ b)
 *     x = x + W_down·(act(W_gate·norm(x)) · (W_up·norm(x)))
 *     logits = output·norm(x)                              c·tanh(… / c) (Gemma 2)
 *
 * norm(x) = x / √(mean(x²) + eps)·w, or ·(1 + w) (Gemma). Norms of q and k only in Qwen 3, Gemma 3. `rope`: rotary positions, or
 * none in some layers (SmolLM3). Gemma also normalizes the output of each branch. In each layer a query attends to all tokens up
 * to itself, or to those of a window. H query heads share Hkv key heads; d is the size of a head, and H·d need not be C.
 */

import { formatValue, OptionError, ShapeError, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { Tensor } from "../../core/tensor.ts";
import {
  activate,
  add,
  type FloatTensor,
  type Ids,
  mergeHeads,
  multiply,
  type Precision,
  rmsNorm,
  rope,
  scale,
  split,
  splitHeads,
  tanh,
} from "../../nn/index.ts";
import { layerDropout } from "../../nn/ops/dropout.ts";
import { KeyValueCache } from "../cache.ts";
import { activationNamed } from "../config/activation.ts";
import { checkConfig, type DecoderConfig } from "../config/config.ts";
import { Parameters, type Plan, type Planned, type StartOptions } from "../files/parameters.ts";
import { anglesOf } from "./angles.ts";
import { type AttentionRecipe, attend } from "./attend.ts";
import { inPassMemory, layerMemory } from "./memory.ts";
import { DECODER_OPTIONS, type DecoderModel, type DecoderOptions, type ModelSizes } from "./model.ts";

/**
 * A decoder of the Llama kind.
 *
 * @example
 * const { model } = await readModel("./SmolLM2-135M", { family: "decoder" }); // a Decoder
 */
export class Decoder implements DecoderModel {
  readonly type: string;
  readonly architecture = "decoder";
  readonly config: DecoderConfig;
  readonly sizes: ModelSizes;
  readonly dtype: Precision;
  /** False for a checkpoint without an output matrix (a base model alone). */
  readonly hasHead: boolean;
  readonly endIds: readonly number[];
  readonly #weights: Parameters;

  /** A model with the weights given, or with new ones from a seed: normal with the config's standard deviation. */
  constructor(config: DecoderConfig, options: StartOptions & { readonly hasHead?: boolean } = {}) {
    checkConfig({ type: "decoder", config });
    this.config = config;
    this.type = config.model_type;
    this.dtype = options.dtype ?? "float32";
    this.hasHead = options.hasHead ?? true;
    this.endIds = config.eos_token_ids;
    this.sizes = {
      layers: config.layers.length,
      heads: config.num_attention_heads,
      keyHeads: config.num_key_value_heads,
      headSize: config.head_dim,
      width: config.hidden_size,
      vocabulary: config.vocab_size,
      positions: config.max_position_embeddings,
    };
    this.#weights = new Parameters(this.type, decoderPlan(config, this.hasHead), options);
  }

  /** Every parameter by its Hugging Face name, in `dtype`; training updates them in place. */
  parameters(): ReadonlyMap<string, FloatTensor> {
    return this.#weights.all();
  }

  /** An empty cache for one sequence of up to `capacity` tokens; default the number of positions. */
  cache(capacity = this.sizes.positions): KeyValueCache {
    const { layers, keyHeads: heads, headSize: d } = this.sizes;
    return new KeyValueCache({ layers, heads, d, capacity, dtype: this.dtype });
  }

  /** The logits of the token after each: ids [B, N] or [N], result [..., N, V]. */
  forward(ids: Ids, options: DecoderOptions = {}): FloatTensor {
    return inPassMemory(options, () => this.logits(this.hidden(ids, options)));
  }

  /**
   * The last layer's states after the final norm, [..., N, C]. With a `cache`, ids [N] follow its tokens, and are added to it.
   */
  hidden(ids: Ids, options: DecoderOptions = {}): FloatTensor {
    return inPassMemory(options, () => this.#states(ids, options));
  }

  #states(ids: Ids, options: DecoderOptions): FloatTensor {
    checkOptionNames(this.type, options, DECODER_OPTIONS);
    const reuse = layerMemory(options);
    const { cache } = options;
    const { config } = this;
    let x = this.#weights.lookup(ids, "model.embed_tokens.weight"); // [..., N, C]
    if (config.embedding_scale !== 1) x = scale(x, config.embedding_scale);
    const N = x.shape[x.shape.length - 2];
    const start = cache?.length ?? 0;
    const { positions } = this.sizes;
    if (start + N > positions)
      throw new OptionError(
        "length",
        `${this.type}: ${start + N} tokens; the model has ${positions} positions`,
        {
          got: start + N,
          most: positions,
        },
      );
    if (cache !== undefined && x.shape.length !== 2)
      throw new ShapeError(
        "ids",
        `${this.type}: with a cache ids must be one sequence [N], got ${formatValue(x.shape.slice(0, -1))}`,
      );
    options.onHidden?.(0, x);
    for (let layer = 0; layer < this.sizes.layers; layer++) {
      const place = `model.layers.${layer}`;
      const attended = this.#attention(layer, this.#norm(`${place}.input_layernorm`, x), start, options);
      if (config.four_norms) {
        x = add(x, this.#norm(`${place}.post_attention_layernorm`, attended));
        const inner = this.#feedForward(place, this.#norm(`${place}.pre_feedforward_layernorm`, x));
        x = add(x, this.#norm(`${place}.post_feedforward_layernorm`, inner));
      } else {
        x = add(x, attended);
        x = add(x, this.#feedForward(place, this.#norm(`${place}.post_attention_layernorm`, x)));
      }
      x = reuse(x);
      options.onHidden?.(layer + 1, x);
    }
    cache?.advance(N);
    return this.#norm("model.norm", x);
  }

  /** Logits of states [..., C]. Throws an UnsupportedError where the checkpoint has no output matrix. */
  logits(hidden: FloatTensor): FloatTensor {
    if (!this.hasHead)
      throw new UnsupportedError(
        "head",
        `${this.type}: this checkpoint has no output matrix (lm_head.weight); \`hidden\` gives its states`,
      );
    const { final_logit_softcapping: cap } = this.config;
    const own = this.#weights.has("lm_head.weight");
    const logits = this.#weights.linear(hidden, own ? "lm_head.weight" : "model.embed_tokens.weight");
    return cap === undefined ? logits : scale(tanh(scale(logits, 1 / cap)), cap);
  }

  #attention(
    layer: number,
    x: FloatTensor,
    start: number,
    { cache, onAttention }: DecoderOptions,
  ): FloatTensor {
    const { config } = this;
    const { heads: H, keyHeads: Hkv, headSize: d } = this.sizes;
    const place = `model.layers.${layer}.self_attn`;
    const [q, k, v] = config.fused
      ? split(this.#linear(`${place}.qkv_proj`, x), [H * d, Hkv * d, Hkv * d])
      : ["q", "k", "v"].map((name) => this.#linear(`${place}.${name}_proj`, x)); // [..., N, heads·d] each
    let query = splitHeads(q, H); // [..., H, N, d]
    let key = splitHeads(k, Hkv);
    let value = splitHeads(v, Hkv);
    if (config.qk_norm) {
      query = this.#norm(`${place}.q_norm`, query);
      key = this.#norm(`${place}.k_norm`, key);
    }
    const { rotary, window } = config.layers[layer];
    if (rotary) {
      const { frequencies, amplitude } = anglesOf(rotary, start + x.shape[x.shape.length - 2]);
      const turn = { offset: start, rotaryDim: rotary.rotaryDim, frequencies, amplitude };
      query = rope(query, turn);
      key = rope(key, turn);
    }
    if (cache) [key, value] = cache.append(layer, key, value);
    const recipe: AttentionRecipe = {
      mask: window === undefined ? "causal" : { window: window - 1, causal: true },
      ...(config.query_scale !== undefined && { scale: config.query_scale }),
      ...(config.attn_logit_softcapping !== undefined && { softcap: config.attn_logit_softcapping }),
    };
    const dropoutP = config.attention_dropout;
    const out = attend(
      layer,
      { query, key, value },
      { recipe, queryOffset: cache?.length, dropoutP, onAttention },
    );
    return layerDropout(this.#linear(`${place}.o_proj`, mergeHeads(out)), config.resid_pdrop);
  }

  #feedForward(place: string, x: FloatTensor): FloatTensor {
    const { fused, intermediate_size: inner, hidden_act, resid_pdrop } = this.config;
    const [gate, up] = fused
      ? split(this.#linear(`${place}.mlp.gate_up_proj`, x), [inner, inner])
      : ["gate", "up"].map((name) => this.#linear(`${place}.mlp.${name}_proj`, x));
    const hidden = multiply(activate(gate, activationNamed(hidden_act)), up);
    return layerDropout(this.#linear(`${place}.mlp.down_proj`, hidden), resid_pdrop);
  }

  #linear(name: string, x: FloatTensor): FloatTensor {
    const bias = `${name}.bias`;
    return this.#weights.linear(x, `${name}.weight`, this.#weights.has(bias) ? bias : undefined);
  }

  #norm(name: string, x: FloatTensor): FloatTensor {
    const weight = this.#weights.get(`${name}.weight`);
    return rmsNorm(x, this.config.norm_offset ? add(weight, ones(weight)) : weight, {
      eps: this.config.rms_norm_eps,
    });
  }
}

/** A tensor of ones like another. */
function ones({ shape, dtype }: FloatTensor): FloatTensor {
  const data = dtype === "float64" ? new Float64Array(shape[0]) : new Float32Array(shape[0]);
  return new Tensor(data.fill(1), shape, dtype);
}

/** Every parameter of a decoder with its shape and initialization. */
export function decoderPlan(config: DecoderConfig, hasHead = true): Plan {
  const { hidden_size: C, intermediate_size: inner, head_dim: d, initializer_range: std } = config;
  const { num_attention_heads: H, num_key_value_heads: Hkv } = config;
  const plan = new Map<string, Planned>();
  const linear = (name: string, out: number, width: number, bias: boolean) => {
    plan.set(`${name}.weight`, { shape: [out, width], start: std, map: "out-in" });
    if (bias) plan.set(`${name}.bias`, { shape: [out], start: "zeros" });
  };
  const norm = (name: string, width: number) =>
    plan.set(`${name}.weight`, { shape: [width], start: config.norm_offset ? "zeros" : "ones" });
  plan.set("model.embed_tokens.weight", { shape: [config.vocab_size, C], start: std });
  config.layers.forEach((_, layer) => {
    const place = `model.layers.${layer}`;
    norm(`${place}.input_layernorm`, C);
    if (config.fused) linear(`${place}.self_attn.qkv_proj`, (H + 2 * Hkv) * d, C, config.qkv_bias);
    else
      for (const [name, heads] of [
        ["q", H],
        ["k", Hkv],
        ["v", Hkv],
      ] as const)
        linear(`${place}.self_attn.${name}_proj`, heads * d, C, config.qkv_bias);
    linear(`${place}.self_attn.o_proj`, C, H * d, config.output_bias);
    if (config.qk_norm) for (const name of ["q_norm", "k_norm"]) norm(`${place}.self_attn.${name}`, d);
    norm(`${place}.post_attention_layernorm`, C);
    if (config.four_norms)
      for (const name of ["pre", "post"]) norm(`${place}.${name}_feedforward_layernorm`, C);
    if (config.fused) linear(`${place}.mlp.gate_up_proj`, 2 * inner, C, config.mlp_bias);
    else for (const name of ["gate", "up"]) linear(`${place}.mlp.${name}_proj`, inner, C, config.mlp_bias);
    linear(`${place}.mlp.down_proj`, C, inner, config.mlp_bias);
  });
  norm("model.norm", C);
  if (hasHead && config.tie_word_embeddings === false)
    plan.set("lm_head.weight", { shape: [config.vocab_size, C], start: std });
  return plan;
}
