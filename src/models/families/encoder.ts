/**
 * The layers that BERT (Devlin et al. 2018, arXiv 1810.04805) and later encoders share: post-norm layers in which every token
 * attends to every other. The module of a family defines its embeddings, its parameter names and its head.
 *
 *     x = norm(x + W·heads(softmax(q·kᵀ / √d)·v))          with q, k, v = W·x + b
 *     x = norm(x + W₂·gelu(W₁·x))
 *
 * B sequences of N tokens; C = width, H = heads, d = C/H.
 */

import { formatValue, OptionError, ShapeError, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { Tensor } from "../../core/tensor.ts";
import {
  activate,
  add,
  type FloatTensor,
  type Ids,
  layerNorm,
  mergeHeads,
  type Precision,
  splitHeads,
} from "../../nn/index.ts";
import { layerDropout } from "../../nn/ops/dropout.ts";
import { idsOf } from "../../nn/ops/lookup.ts";
import { activationNamed } from "../config/activation.ts";
import type { ModelConfig } from "../config/config.ts";
import { Parameters, type Plan, type Planned, type StartOptions } from "../files/parameters.ts";
import { type AttentionRecipe, attend, FORWARD_OPTIONS, type ForwardOptions } from "./attend.ts";
import { inPassMemory, layerMemory } from "./memory.ts";
import type { ModelSizes, TransformerModel } from "./model.ts";

/** How to run an encoder. */
export interface EncoderOptions extends ForwardOptions {
  /** Token types, in the shape of the ids: 0 for the first text, 1 for the second. Default all 0. */
  readonly typeIds?: Ids;
  /** Keys that may be read, [B, N] or [N] bool: false for padding. Default all. */
  readonly keyMask?: Tensor;
}

/** Names of `EncoderOptions`. */
const ENCODER_OPTIONS: readonly (keyof EncoderOptions)[] = [...FORWARD_OPTIONS, "typeIds", "keyMask"];

/** Constants of the shared layers. */
export interface EncoderConstants {
  readonly inner: number;
  readonly activation: string;
  readonly eps: number;
  /** Shares dropped inside `withDropout`. */
  readonly dropout: number;
  readonly attentionDropout: number;
}

/** Parameter names of a layer. */
export interface LayerNames {
  readonly query: string;
  readonly key: string;
  readonly value: string;
  /** The output projection of the heads, and the norm after it. */
  readonly output: string;
  readonly outputNorm: string;
  /** The feed-forward network's two maps, and the norm after them. */
  readonly inner: string;
  readonly outer: string;
  readonly norm: string;
}

/** Options of an encoder's constructor. */
export interface EncoderStart extends StartOptions {
  /** False for a model without the head that predicts masked tokens. Default true. */
  readonly hasHead?: boolean;
}

/** An encoder; a class for each family implements the abstract methods. */
export abstract class Encoder implements TransformerModel {
  abstract readonly type: string;
  abstract readonly config: ModelConfig["config"];
  readonly architecture = "encoder";
  readonly sizes: ModelSizes;
  readonly dtype: Precision;
  readonly hasHead: boolean;
  readonly endIds: readonly number[] = [];
  protected readonly weights: Parameters;
  readonly #constants: EncoderConstants;

  constructor(
    what: string,
    plan: Plan,
    sizes: ModelSizes,
    constants: EncoderConstants,
    options: EncoderStart,
  ) {
    this.sizes = sizes;
    this.#constants = constants;
    this.hasHead = options.hasHead ?? true;
    this.dtype = options.dtype ?? "float32";
    this.weights = new Parameters(what, plan, options);
  }

  /** Parameter names of a layer. */
  protected abstract layerNames(layer: number): LayerNames;
  /** The embeddings of tokens, [..., N, C]. */
  protected abstract embed(ids: Ids, options: EncoderOptions): FloatTensor;
  /** Logits of states, for a model with a head. */
  protected abstract predict(hidden: FloatTensor): FloatTensor;

  /** How scores are computed; the same in every layer. */
  protected recipe(): AttentionRecipe {
    return { mask: "none" };
  }

  /** Every parameter by its Hugging Face name, in `dtype`; training updates them in place. */
  parameters(): ReadonlyMap<string, FloatTensor> {
    return this.weights.all();
  }

  /** The logits of the token at each position: ids [B, N] or [N], result [..., N, V]. */
  forward(ids: Ids, options: EncoderOptions = {}): FloatTensor {
    return inPassMemory(options, () => this.logits(this.hidden(ids, options)));
  }

  /** The last layer's states, [..., N, C]. */
  hidden(ids: Ids, options: EncoderOptions = {}): FloatTensor {
    return inPassMemory(options, () => this.#states(ids, options));
  }

  #states(ids: Ids, options: EncoderOptions): FloatTensor {
    checkOptionNames(this.type, options, ENCODER_OPTIONS);
    let x = this.embed(ids, options);
    options.onHidden?.(0, x);
    const mask = options.keyMask && forKeys(this.type, options.keyMask, x.shape.slice(0, -1));
    const reuse = layerMemory(options);
    for (let layer = 0; layer < this.sizes.layers; layer++) {
      const names = this.layerNames(layer);
      x = this.norm(names.outputNorm, add(x, this.#attention(layer, names, x, mask, options)));
      x = reuse(this.norm(names.norm, add(x, this.#feedForward(names, x))));
      options.onHidden?.(layer + 1, x);
    }
    return x;
  }

  /** Logits of states [..., C]. Throws an UnsupportedError where the model has no head. */
  logits(hidden: FloatTensor): FloatTensor {
    if (!this.hasHead)
      throw new UnsupportedError(
        "head",
        `${this.type}: this checkpoint has no head for masked tokens; \`hidden\` gives its states`,
      );
    return this.predict(hidden);
  }

  #attention(
    layer: number,
    names: LayerNames,
    x: FloatTensor,
    attnMask: Tensor | undefined,
    { onAttention }: EncoderOptions,
  ): FloatTensor {
    const [query, key, value] = [names.query, names.key, names.value].map((name) =>
      splitHeads(this.linear(name, x), this.sizes.heads),
    ); // [..., H, N, d]
    const { attentionDropout: dropoutP, dropout } = this.#constants;
    const input = { recipe: this.recipe(), attnMask, dropoutP, onAttention };
    const heads = attend(layer, { query, key, value }, input);
    return layerDropout(this.linear(names.output, mergeHeads(heads)), dropout);
  }

  #feedForward(names: LayerNames, x: FloatTensor): FloatTensor {
    const inner = this.activate(this.linear(names.inner, x));
    return layerDropout(this.linear(names.outer, inner), this.#constants.dropout);
  }

  /** Dropout of the residual stream, inside `withDropout`. */
  protected drop(x: FloatTensor): FloatTensor {
    return layerDropout(x, this.#constants.dropout);
  }

  /** The config's activation, or one by its name in config.json. */
  protected activate(x: FloatTensor, name = this.#constants.activation): FloatTensor {
    return activate(x, activationNamed(name));
  }

  /** x·Wᵀ + b. */
  protected linear(name: string, x: FloatTensor): FloatTensor {
    return this.weights.linear(x, `${name}.weight`, `${name}.bias`);
  }

  /** The layer norm of this name: x `[..., C]` to `[..., C]`. */
  protected norm(name: string, x: FloatTensor, eps = this.#constants.eps): FloatTensor {
    return layerNorm(x, this.weights.get(`${name}.weight`), this.weights.get(`${name}.bias`), { eps });
  }

  /** Embeddings of the positions `start`, `start` + 1, …, [N, C], from the table `name`; throws if there are too few rows. */
  protected positions(name: string, N: number, start = 0): FloatTensor {
    this.checkLength(N);
    return this.weights.lookup(
      Int32Array.from({ length: N }, (_, i) => start + i),
      name,
    );
  }

  /** Throws if there are more tokens than positions. */
  protected checkLength(N: number): void {
    const { positions } = this.sizes;
    if (N > positions)
      throw new OptionError("length", `${this.type}: ${N} tokens; the model has ${positions} positions`, {
        got: N,
        most: positions,
      });
  }

  /**
   * RoBERTa's positions: real tokens are counted from `pad` + 1 on, padding has position `pad`. The embeddings of these, [..., N,
   * C].
   */
  protected positionsAfterPadding(name: string, ids: Ids, pad: number): FloatTensor {
    const { list, shape } = idsOf(this.type, ids);
    const N = shape[shape.length - 1];
    this.checkLength(N);
    const places = new Int32Array(list.length);
    for (let first = 0; first < list.length; first += N)
      for (let n = first, count = 0; n < first + N; n++) places[n] = list[n] === pad ? pad : pad + ++count;
    return this.weights.lookup(new Tensor(places, shape, "int32"), name);
  }
}

/** A mask over keys, [B, N] or [N], as one over scores: [B, 1, 1, N] or [1, 1, N]. */
function forKeys(what: string, mask: Tensor, shape: readonly number[]): Tensor {
  if (!(mask instanceof Tensor) || mask.dtype !== "bool" || mask.shape.join() !== shape.join())
    throw new ShapeError(
      "keyMask",
      `${what}: keyMask must be [${shape.join(", ")}] bool, got ${formatValue(mask?.shape)}`,
      { got: mask?.shape, want: shape },
    );
  const N = shape[shape.length - 1];
  return mask.reshape([...shape.slice(0, -1), 1, 1, N]);
}

/** Collects the planned parameters of a model by name. */
export class Planner {
  readonly plan = new Map<string, Planned>();
  readonly #std: number;

  /** @param std standard deviation of new weights */
  constructor(std = 0.02) {
    this.#std = std;
  }

  /** A table [rows, width]; `zeroRow` is initialized to zeros. */
  table(name: string, rows: number, width: number, zeroRow?: number): void {
    this.plan.set(name, {
      shape: [rows, width],
      start: this.#std,
      ...(zeroRow !== undefined && { zeroRow }),
    });
  }

  /** name.weight [out, width] and name.bias [out]. */
  linear(name: string, out: number, width: number): void {
    this.plan.set(`${name}.weight`, { shape: [out, width], start: this.#std, map: "out-in" });
    this.bias(name, out);
  }

  /** name.bias [out]. */
  bias(name: string, out: number): void {
    this.plan.set(`${name}.bias`, { shape: [out], start: "zeros" });
  }

  /** name.weight and name.bias [width] of a layer norm. */
  norm(name: string, width: number): void {
    this.plan.set(`${name}.weight`, { shape: [width], start: "ones" });
    this.plan.set(`${name}.bias`, { shape: [width], start: "zeros" });
  }

  /** One encoder layer. */
  layer(names: LayerNames, width: number, inner: number): void {
    for (const name of [names.query, names.key, names.value, names.output]) this.linear(name, width, width);
    this.norm(names.outputNorm, width);
    this.linear(names.inner, inner, width);
    this.linear(names.outer, width, inner);
    this.norm(names.norm, width);
  }
}

/** Parameter names of a layer in BERT, RoBERTa and ELECTRA. */
export function bertLayerNames(place: string): LayerNames {
  return {
    query: `${place}.attention.self.query`,
    key: `${place}.attention.self.key`,
    value: `${place}.attention.self.value`,
    output: `${place}.attention.output.dense`,
    outputNorm: `${place}.attention.output.LayerNorm`,
    inner: `${place}.intermediate.dense`,
    outer: `${place}.output.dense`,
    norm: `${place}.output.LayerNorm`,
  };
}
