/**
 * GPT-2 (Radford et al. 2019), a decoder: every token attends to itself and to earlier tokens, and predicts the next token.
 * Parameters have the names and layouts of Hugging Face's GPT2LMHeadModel.
 *
 *     x = embedding[id] + position
 *     x = x + W·heads(softmax(q·kᵀ / √d, causal)·v)        with q, k, v = W·norm(x)
 *     x = x + W₂·gelu(W₁·norm(x))                          gelu by tanh
 *     logits = embedding·norm(x)                           the embedding is the output matrix too
 *
 * B sequences of N tokens; C = n_embd, H = n_head, d = C/H. Weights of the layers are [in, out] (Hugging Face's `Conv1D`): the
 * transpose of a linear layer's.
 */

import { formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import {
  activate,
  add,
  type FloatTensor,
  type Ids,
  layerNorm,
  mergeHeads,
  type Precision,
  split,
  splitHeads,
} from "../../nn/index.ts";
import { layerDropout } from "../../nn/ops/dropout.ts";
import { KeyValueCache } from "../cache.ts";
import { activationNamed } from "../config/activation.ts";
import { checkConfig, type Gpt2Config } from "../config/config.ts";
import { Parameters, type Plan, type Planned, type StartOptions } from "../files/parameters.ts";
import { attend } from "./attend.ts";
import { inPassMemory, layerMemory } from "./memory.ts";
import { DECODER_OPTIONS, type DecoderModel, type DecoderOptions, type ModelSizes } from "./model.ts";

/**
 * The decoder.
 *
 * @example
 * const { model } = await readModel(locateShipped("decoder")); // a Gpt2
 * model.forward(tensor([[1, 2, 3]], "int32")).shape; // → [1, 3, 1024]
 */
export class Gpt2 implements DecoderModel {
  readonly type = "gpt2";
  readonly architecture = "decoder";
  readonly hasHead = true;
  readonly sizes: ModelSizes;
  readonly endIds: readonly number[];
  readonly config: Gpt2Config;
  readonly dtype: Precision;
  readonly #weights: Parameters;

  /**
   * A model with the weights given, or with new ones from a seed: normal with standard deviation 0.02, GPT-2's initialization.
   */
  constructor(config: Gpt2Config, options: StartOptions = {}) {
    checkConfig({ type: "gpt2", config });
    this.config = { ...config };
    this.dtype = options.dtype ?? "float32";
    this.sizes = {
      layers: config.n_layer,
      heads: config.n_head,
      keyHeads: config.n_head,
      headSize: config.n_embd / config.n_head,
      width: config.n_embd,
      vocabulary: config.vocab_size,
      positions: config.n_positions,
    };
    this.endIds = config.eos_token_id == null ? [] : [config.eos_token_id];
    this.#weights = new Parameters("Gpt2", gpt2Plan(config), options);
  }

  /** Every parameter by its Hugging Face name; training updates them in place. */
  parameters(): ReadonlyMap<string, FloatTensor> {
    return this.#weights.all();
  }

  /** An empty cache for one sequence of up to `capacity` tokens; default the number of positions. */
  cache(capacity = this.config.n_positions): KeyValueCache {
    const { n_layer: layers, n_head: heads, n_embd } = this.config;
    return new KeyValueCache({ layers, heads, d: n_embd / heads, capacity, dtype: this.dtype });
  }

  /** The logits of the token after each: ids [B, N] or [N], result [..., N, vocab_size]. */
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
    checkOptionNames("Gpt2", options, DECODER_OPTIONS);
    const reuse = layerMemory(options);
    const { cache } = options;
    const { n_positions, n_layer, embd_pdrop = 0 } = this.config;
    const tokens = this.#weights.lookup(ids, "transformer.wte.weight"); // [..., N, C]
    const N = tokens.shape[tokens.shape.length - 2];
    const start = cache?.length ?? 0;
    if (start + N > n_positions)
      throw new OptionError("length", `Gpt2: ${start + N} tokens; the model has ${n_positions} positions`, {
        got: start + N,
        most: n_positions,
      });
    if (cache !== undefined && tokens.shape.length !== 2)
      throw new ShapeError(
        "ids",
        `Gpt2: with a cache ids must be one sequence [N], got ${formatValue(tokens.shape.slice(0, -1))}`,
      );
    const places = Int32Array.from({ length: N }, (_, i) => start + i);
    const embedded = add(tokens, this.#weights.lookup(places, "transformer.wpe.weight"));
    let x = reuse(layerDropout(embedded, embd_pdrop));
    options.onHidden?.(0, x);
    for (let layer = 0; layer < n_layer; layer++) {
      x = add(x, this.#attend(layer, this.#norm(`transformer.h.${layer}.ln_1`, x), options));
      x = reuse(add(x, this.#feedForward(layer, this.#norm(`transformer.h.${layer}.ln_2`, x))));
      options.onHidden?.(layer + 1, x);
    }
    cache?.advance(N);
    return this.#norm("transformer.ln_f", x);
  }

  /** Logits of states [..., C]: their products with every row of the output matrix, or of the embedding if there is none. */
  logits(hidden: FloatTensor): FloatTensor {
    const own = this.#weights.has("lm_head.weight");
    return this.#weights.linear(hidden, own ? "lm_head.weight" : "transformer.wte.weight");
  }

  #attend(layer: number, x: FloatTensor, { cache, onAttention }: DecoderOptions): FloatTensor {
    const { n_embd: C, n_head: H, attn_pdrop = 0, resid_pdrop = 0 } = this.config;
    const name = `transformer.h.${layer}.attn`;
    const [q, k, v] = split(this.#conv1d(`${name}.c_attn`, x), [C, C, C]); // [..., N, C] each
    const query = splitHeads(q, H); // [..., H, N, d]
    const [key, value] = cache?.append(layer, splitHeads(k, H), splitHeads(v, H)) ?? [
      splitHeads(k, H),
      splitHeads(v, H),
    ];
    const queryOffset = cache?.length;
    const input = { recipe: { mask: "causal" }, queryOffset, dropoutP: attn_pdrop, onAttention } as const;
    const heads = attend(layer, { query, key, value }, input);
    return layerDropout(this.#conv1d(`${name}.c_proj`, mergeHeads(heads)), resid_pdrop);
  }

  #feedForward(layer: number, x: FloatTensor): FloatTensor {
    const { activation_function = "gelu_new", resid_pdrop = 0 } = this.config;
    const name = `transformer.h.${layer}.mlp`;
    const inner = activate(this.#conv1d(`${name}.c_fc`, x), activationNamed(activation_function));
    return layerDropout(this.#conv1d(`${name}.c_proj`, inner), resid_pdrop);
  }

  /** x·W + b, W [in, out]. */
  #conv1d(name: string, x: FloatTensor): FloatTensor {
    return this.#weights.linear(x, `${name}.weight`, `${name}.bias`);
  }

  #norm(name: string, x: FloatTensor): FloatTensor {
    const eps = this.config.layer_norm_epsilon ?? 1e-5;
    return layerNorm(x, this.#get(`${name}.weight`), this.#get(`${name}.bias`), { eps });
  }

  #get(name: string): FloatTensor {
    return this.#weights.get(name);
  }
}

/** Every parameter of a GPT-2 with its shape and initialization. */
export function gpt2Plan(config: Gpt2Config): Plan {
  const { vocab_size, n_positions, n_embd: C, n_layer, initializer_range: std = 0.02 } = config;
  const inner = config.n_inner ?? 4 * C;
  const plan = new Map<string, Planned>();
  const conv1d = (name: string, rows: number, columns: number, deviation = std) => {
    plan.set(`${name}.weight`, { shape: [rows, columns], start: deviation, map: "in-out" });
    plan.set(`${name}.bias`, { shape: [columns], start: "zeros" });
  };
  const norm = (name: string) => {
    plan.set(`${name}.weight`, { shape: [C], start: "ones" });
    plan.set(`${name}.bias`, { shape: [C], start: "zeros" });
  };
  plan.set("transformer.wte.weight", { shape: [vocab_size, C], start: std });
  plan.set("transformer.wpe.weight", { shape: [n_positions, C], start: std });
  // The 2·n_layer projections that add to the residual stream are initialized smaller (Radford et al. 2019, 2.3).
  const residual = std / Math.sqrt(2 * n_layer);
  for (let layer = 0; layer < n_layer; layer++) {
    const name = `transformer.h.${layer}`;
    norm(`${name}.ln_1`);
    conv1d(`${name}.attn.c_attn`, C, 3 * C);
    conv1d(`${name}.attn.c_proj`, C, C, residual);
    norm(`${name}.ln_2`);
    conv1d(`${name}.mlp.c_fc`, C, inner);
    conv1d(`${name}.mlp.c_proj`, inner, C, residual);
  }
  norm("transformer.ln_f");
  if (config.tie_word_embeddings === false)
    plan.set("lm_head.weight", { shape: [vocab_size, C], start: std });
  return plan;
}
