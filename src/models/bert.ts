/**
 * BERT (Devlin et al. 2018, arXiv 1810.04805), an encoder: every token attends to every other, and the last layer says
 * which token stood where a mask stands. Parameters have the names of Hugging Face's BertForMaskedLM.
 *
 *     x = norm(embedding[id] + position + type)
 *     x = norm(x + W·heads(softmax(q·kᵀ / √d)·v))          with q, k, v = W·x + b
 *     x = norm(x + W₂·gelu(W₁·x))
 *     logits = embedding·norm(gelu(W·x)) + b               the embedding is the output map, too
 *
 * B sequences of N tokens; C = hidden_size, H = num_attention_heads, d = C/H. Norms stand behind the sums (post-norm).
 */
import { formatValue, OptionError, ShapeError, UnsupportedError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import type { AttentionOptions } from "../index.ts";
import {
  activate,
  add,
  attention,
  dropoutSeed,
  embedding,
  type FloatTensor,
  type Ids,
  layerNorm,
  linear,
  mergeHeads,
  type Precision,
  splitHeads,
} from "../nn/index.ts";
import { layerDropout } from "../nn/ops/dropout.ts";
import { activationNamed, type BertConfig, checkConfig } from "./config.ts";
import type { ForwardOptions } from "./gpt2.ts";
import { makeParameters, type Plan, type Planned, type StartOptions } from "./parameters.ts";

/** How to run a BERT. */
export interface BertOptions extends ForwardOptions {
  /** Token types, in the shape of the ids: 0 for the first text, 1 for the second. Default all 0. */
  readonly typeIds?: Ids;
  /** Keys that may be read, [B, N] or [N] bool: false for padding. Default all. */
  readonly keyMask?: Tensor;
}

/** The encoder. */
export class Bert {
  readonly config: BertConfig;
  readonly dtype: Precision;
  /** False for a model without the head that predicts masked tokens. */
  readonly hasHead: boolean;
  readonly #parameters: ReadonlyMap<string, FloatTensor>;

  /** A model with the weights given, or with new ones from a seed: normal of deviation 0.02, as BERT began. */
  constructor(config: BertConfig, options: StartOptions & { readonly hasHead?: boolean } = {}) {
    checkConfig({ type: "bert", config });
    this.config = { ...config };
    this.dtype = options.dtype ?? "float32";
    this.hasHead = options.hasHead ?? true;
    this.#parameters = makeParameters("Bert", bertPlan(config, this.hasHead), options);
  }

  /** Every parameter by its Hugging Face name; training updates them in place. */
  parameters(): ReadonlyMap<string, FloatTensor> {
    return this.#parameters;
  }

  /** The logits of the token at each place: ids [B, N] or [N], result [..., N, vocab_size]. */
  forward(ids: Ids, options: BertOptions = {}): FloatTensor {
    return this.logits(this.hidden(ids, options));
  }

  /** The last layer's states, [..., N, C]. */
  hidden(ids: Ids, options: BertOptions = {}): FloatTensor {
    const { num_hidden_layers, max_position_embeddings, hidden_dropout_prob = 0 } = this.config;
    const name = "bert.embeddings";
    const words = embedding(ids, this.#get(`${name}.word_embeddings.weight`)); // [..., N, C]
    const N = words.shape[words.shape.length - 2];
    if (N > max_position_embeddings)
      throw new OptionError(
        "length",
        `Bert: ${N} tokens; the model has ${max_position_embeddings} positions`,
        {
          got: N,
          most: max_position_embeddings,
        },
      );
    const places = Int32Array.from({ length: N }, (_, i) => i);
    const types = embedding(
      options.typeIds ?? new Int32Array(N),
      this.#get(`${name}.token_type_embeddings.weight`),
    );
    const sum = add(add(words, types), embedding(places, this.#get(`${name}.position_embeddings.weight`)));
    let x = layerDropout(this.#norm(`${name}.LayerNorm`, sum), hidden_dropout_prob);
    const mask = options.keyMask && forKeys(options.keyMask, words.shape.slice(0, -1));
    for (let layer = 0; layer < num_hidden_layers; layer++) {
      const place = `bert.encoder.layer.${layer}`;
      x = this.#norm(`${place}.attention.output.LayerNorm`, add(x, this.#attend(layer, x, mask, options)));
      x = this.#norm(`${place}.output.LayerNorm`, add(x, this.#feedForward(place, x)));
    }
    return x;
  }

  /** Logits of states [..., C]. Throws an UnsupportedError where the model has no head. */
  logits(hidden: FloatTensor): FloatTensor {
    if (!this.hasHead)
      throw new UnsupportedError(
        "head",
        "Bert: this model has no head for masked tokens; `hidden` gives its states",
      );
    const name = "cls.predictions";
    const dense = this.#activate(this.#linear(`${name}.transform.dense`, hidden));
    const x = this.#norm(`${name}.transform.LayerNorm`, dense);
    return linear(x, this.#get("bert.embeddings.word_embeddings.weight"), this.#get(`${name}.bias`));
  }

  #attend(
    layer: number,
    x: FloatTensor,
    attnMask: Tensor | undefined,
    { onAttention }: BertOptions,
  ): FloatTensor {
    const {
      num_attention_heads: H,
      attention_probs_dropout_prob: p = 0,
      hidden_dropout_prob = 0,
    } = this.config;
    const name = `bert.encoder.layer.${layer}.attention`;
    const [query, key, value] = ["query", "key", "value"].map((one) =>
      splitHeads(this.#linear(`${name}.self.${one}`, x), H),
    ); // [..., H, N, d]
    const how: AttentionOptions = attnMask ? { attnMask } : {};
    const seed = p > 0 ? dropoutSeed() : undefined;
    const drop = seed === undefined ? {} : { dropoutP: p, seed };
    const { output, lse } = attention(query, key, value, { ...how, ...drop });
    onAttention?.(layer, { query, key, value, lse, options: how });
    return layerDropout(this.#linear(`${name}.output.dense`, mergeHeads(output)), hidden_dropout_prob);
  }

  #feedForward(place: string, x: FloatTensor): FloatTensor {
    const inner = this.#activate(this.#linear(`${place}.intermediate.dense`, x));
    return layerDropout(this.#linear(`${place}.output.dense`, inner), this.config.hidden_dropout_prob ?? 0);
  }

  #activate(x: FloatTensor): FloatTensor {
    return activate(x, activationNamed(this.config.hidden_act ?? "gelu"));
  }

  #linear(name: string, x: FloatTensor): FloatTensor {
    return linear(x, this.#get(`${name}.weight`), this.#get(`${name}.bias`));
  }

  #norm(name: string, x: FloatTensor): FloatTensor {
    const eps = this.config.layer_norm_eps ?? 1e-12;
    return layerNorm(x, this.#get(`${name}.weight`), this.#get(`${name}.bias`), { eps });
  }

  #get(name: string): FloatTensor {
    return this.#parameters.get(name) as FloatTensor;
  }
}

/** A mask over keys, [B, N] or [N], as one over scores: [B, 1, 1, N] or [1, 1, N]. */
function forKeys(mask: Tensor, shape: readonly number[]): Tensor {
  if (!(mask instanceof Tensor) || mask.dtype !== "bool" || mask.shape.join() !== shape.join())
    throw new ShapeError(
      "keyMask",
      `Bert: keyMask must be [${shape.join(", ")}] bool, got ${formatValue(mask?.shape)}`,
      {
        got: mask?.shape,
        want: shape,
      },
    );
  const N = shape[shape.length - 1];
  return mask.reshape([...shape.slice(0, -1), 1, 1, N]);
}

/** Every parameter of a BERT with its shape and how it begins. */
export function bertPlan(config: BertConfig, hasHead = true): Plan {
  const { vocab_size, hidden_size: C, intermediate_size, initializer_range: std = 0.02 } = config;
  const plan = new Map<string, Planned>();
  const linear = (name: string, out: number, width: number) => {
    plan.set(`${name}.weight`, { shape: [out, width], start: std });
    plan.set(`${name}.bias`, { shape: [out], start: "zeros" });
  };
  const norm = (name: string) => {
    plan.set(`${name}.weight`, { shape: [C], start: "ones" });
    plan.set(`${name}.bias`, { shape: [C], start: "zeros" });
  };
  const tables = "bert.embeddings";
  const pad = config.pad_token_id ?? 0;
  plan.set(`${tables}.word_embeddings.weight`, { shape: [vocab_size, C], start: std, zeroRow: pad });
  plan.set(`${tables}.position_embeddings.weight`, {
    shape: [config.max_position_embeddings, C],
    start: std,
  });
  plan.set(`${tables}.token_type_embeddings.weight`, { shape: [config.type_vocab_size ?? 2, C], start: std });
  norm(`${tables}.LayerNorm`);
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const name = `bert.encoder.layer.${layer}`;
    for (const one of ["query", "key", "value"]) linear(`${name}.attention.self.${one}`, C, C);
    linear(`${name}.attention.output.dense`, C, C);
    norm(`${name}.attention.output.LayerNorm`);
    linear(`${name}.intermediate.dense`, intermediate_size, C);
    linear(`${name}.output.dense`, C, intermediate_size);
    norm(`${name}.output.LayerNorm`);
  }
  if (hasHead) {
    linear("cls.predictions.transform.dense", C, C);
    norm("cls.predictions.transform.LayerNorm");
    plan.set("cls.predictions.bias", { shape: [vocab_size], start: "zeros" });
  }
  return plan;
}
