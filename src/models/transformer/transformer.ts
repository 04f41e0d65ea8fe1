/**
 * The layers of every model, computed as a recipe says (config.ts). Encoders and decoders add how tokens are embedded and what
 * follows the last layer.
 *
 *     x = x + W·heads(attention(q, k, v))                  q, k, v = W·norm(x) (+ b)
 *     x = x + W·act(W·norm(x))                             or W·(act(W·norm(x)) · W·norm(x))
 *
 * A norm is where the recipe names one: before a branch (GPT-2, Llama), on its output (OLMo 2), both (Gemma 2), or on the sum
 * (BERT). Norms of q and k, rotary positions, windows, ALiBi, soft caps and parallel branches are fields of the recipe.
 *
 * B sequences of N tokens; C = width, H query heads that share Hkv key heads, d = size of a head.
 */
// long: one class, whose methods are the parts of a layer in the order in which they run.
import { keepTensor } from "../../core/arena.ts";
import { placed } from "../../core/device/device.ts";
import { isFloat } from "../../core/dtype.ts";
import {
  checkMethods,
  formatTensor,
  OptionError,
  refuseValue,
  ShapeError,
  UnsupportedError,
} from "../../core/errors.ts";
import { type Resumable, runSteps } from "../../core/synchronous.ts";
import { Tensor } from "../../core/tensor.ts";
import {
  add,
  concat,
  type FloatTensor,
  type Ids,
  layerNorm,
  mergeHeads,
  multiply,
  type Precision,
  reshape,
  rmsNorm,
  rope,
  scale,
  slice,
  split,
  splitHeads,
} from "../../nn/index.ts";
import { layerDropout } from "../../nn/ops/dropout.ts";
import { activateNamed, xielu } from "../config/activation.ts";
import type { KeyValueCache } from "../decoder/cache.ts";
import { anglesOf, sinusoid } from "./angles.ts";
import {
  type AttentionRecipe,
  type AttentionRequest,
  afterHook,
  attend,
  attendNow,
  type ForwardOptions,
} from "./attend.ts";
import { sizesOf, type TransformerConfig } from "./config.ts";
import { type Disentangled, type RelativePositions, rowsOf } from "./disentangled.ts";
import { joinProjections, type Projections } from "./global.ts";
import { inPassMemory, layerMemory } from "./memory.ts";
import type { ModelSizes } from "./model.ts";
import { checkStart, Parameters, type StartOptions } from "./parameters.ts";
import { planOf } from "./plan.ts";

/** Distance from which all pairs share the last bucket of relative positions, unless a recipe has another. */
const RELATIVE_DISTANCE = 128;

/** Options of a model's constructor. */
export interface ModelStart extends StartOptions {
  /** False for a model without the head that predicts tokens. Default true. */
  readonly hasHead?: boolean;
  /** True for a model with the head for the first and the last token of an answer. Default false. */
  readonly hasSpanHead?: boolean;
  /** The parameters themselves, shared with another part of the model: an encoder and its decoder. */
  readonly weights?: Parameters;
}

/** What one forward pass adds to the recipe of a layer. */
export interface LayerCall {
  /** Position of the first token. */
  readonly start: number;
  /** The tokens of this rank, where ranks share a sequence: their positions, and its length. */
  readonly shard?: { readonly positions: ArrayLike<number>; readonly length: number };
  readonly cache?: KeyValueCache;
  readonly attnMask?: Tensor;
  /** Tokens of padding before each text of a batch, from which its positions count. */
  readonly shift?: readonly number[];
  readonly onAttention?: ForwardOptions["onAttention"];
  /** States of an encoder [..., S, C], and those of them that may be read, as a mask over scores. */
  readonly memory?: FloatTensor;
  readonly memoryMask?: Tensor;
  readonly onFeedForward?: ForwardOptions["onFeedForward"];
  /** Rotates queries and keys [..., H, N, d] where positions are not one number each: patches of a picture. */
  readonly rotate?: (x: FloatTensor) => FloatTensor;
  /** Positions of global tokens. */
  readonly globals?: readonly number[];
  /** Numbers of the second embedding, [..., N, layers, D]. */
  readonly layerInputs?: FloatTensor;
  /** Keys and values that later layers read, by layer. */
  readonly sharedKeys?: Map<number, readonly [key: FloatTensor, value: FloatTensor]>;
  /** Ends all tensors since the last layer but one (`layerMemory`). */
  readonly reuse: (states: FloatTensor) => FloatTensor;
}

/** A computation that waits for the attention of layers. */
export type LayerSteps = Resumable<AttentionRequest, FloatTensor, FloatTensor>;

/** A summand of the embedding, [..., N, E], before its norm: the rows of a table, or the mapped patches of a picture. */
export interface EmbeddingPart {
  readonly kind: "word" | "type" | "position";
  readonly rows: FloatTensor;
}

/** A model that a recipe describes. `I` is what it reads: ids, or the numbers of pictures. */
export abstract class Transformer<R extends TransformerConfig, O extends ForwardOptions, I = Ids> {
  abstract readonly architecture: "encoder" | "decoder";
  /** `model_type` of its config.json: `bert`, `llama`, … */
  readonly type: string;
  readonly sizes: ModelSizes;
  readonly dtype: Precision;
  /** False for a checkpoint without the head that predicts tokens. */
  readonly hasHead: boolean;
  /** True for a checkpoint that was trained to answer questions: `spanLogits`. */
  readonly hasSpanHead: boolean;
  /** All that the model computes, as data. */
  readonly recipe: R;
  /** The name that errors give the model. */
  protected readonly label: string;
  protected readonly weights: Parameters;

  constructor(recipe: R, options: ModelStart, label: string) {
    checkStart(label, options);
    this.recipe = recipe;
    this.label = label;
    this.type = recipe.model_type;
    this.dtype = options.dtype ?? "float32";
    this.hasHead = options.hasHead ?? true;
    this.hasSpanHead = options.hasSpanHead ?? false;
    this.sizes = {
      layers: recipe.layers.length,
      heads: recipe.num_attention_heads,
      keyHeads: recipe.num_key_value_heads,
      headSize: recipe.head_dim,
      width: recipe.hidden_size,
      vocabulary: recipe.vocab_size,
      positions: recipe.max_position_embeddings,
    };
    this.weights =
      options.weights ?? new Parameters(label, planOf(recipe, this.hasHead, this.hasSpanHead), options);
  }

  /** @internal The last states, [..., N, C]: a computation that waits for the attention of each layer. */
  abstract steps(input: I, options: O): LayerSteps;

  /** The summands of the embedding, in the order in which they are added: words, then types and positions where the model has them. */
  abstract embeddingParts(input: I, options?: O): readonly EmbeddingPart[];

  /** Every parameter by its Hugging Face name, in `dtype`; training updates them in place. */
  parameters(): ReadonlyMap<string, FloatTensor> {
    return this.weights.all();
  }

  /**
   * Moves every parameter to a device, such as what `webgpu()` returns, and resolves to the model. It then computes there: its states
   * and logits are tensors of that device, which `await states.read()` reads. 16-bit and packed weights are moved in `dtype`.
   *
   * @throws OptionError where no device has that name; then nothing has changed
   */
  async to(device: string | { readonly name: string }): Promise<this> {
    await this.weights.to(device);
    return this;
  }

  /** The parameter of this name, in `dtype`; undefined where the model has none. */
  parameter(name: string): FloatTensor | undefined {
    return this.weights.has(name) ? this.weights.get(name) : undefined;
  }

  /** The logits of the token at each position (encoder) or after it (decoder): ids [B, N] or [N], result [..., N, V]. */
  forward(input: I, options: O = {} as O): FloatTensor {
    return inPassMemory(options, () => this.logits(this.hidden(input, options)));
  }

  /** The states after the last layer and its norm, [..., N, C]. With a `cache`, ids [N] follow its tokens, and are added to it. */
  hidden(input: I, options: O = {} as O): FloatTensor {
    return inPassMemory(options, () => runSteps(this.steps(input, options), attendNow));
  }

  /** Logits of states [..., C]. Throws an UnsupportedError where the model has no head. */
  logits(hidden: FloatTensor): FloatTensor {
    if (!(hidden instanceof Tensor)) refuseValue(this.label, "hidden", "states, what hidden returns", hidden);
    if (hidden.shape.at(-1) !== this.sizes.width || !isFloat(hidden.dtype))
      throw new ShapeError(
        "hidden",
        `${this.label}: hidden must be states [..., ${this.sizes.width}], got ${formatTensor("hidden", hidden)}`,
        { got: hidden.shape },
      );
    const { head, headMap, headNorm, headBias, embedding } = this.recipe.names;
    if (!this.hasHead)
      throw new UnsupportedError(
        "head",
        this.architecture === "encoder"
          ? `${this.type}: this checkpoint has no head for masked tokens; \`hidden\` gives its states`
          : `${this.type}: this checkpoint has no output matrix (${head}.weight); \`hidden\` gives its states`,
      );
    let x = hidden;
    if (headMap) x = activateNamed(this.linear(headMap, x), this.recipe.head_act ?? this.recipe.hidden_act);
    if (headNorm) x = this.norm(headNorm, x);
    const matrix = `${this.weights.has(`${head}.weight`) ? head : embedding}.weight`;
    if (!headBias || !this.recipe.head_bias_row) return this.weights.linear(x, matrix, headBias);
    return add(this.weights.linear(x, matrix), reshape(this.weights.get(headBias), [-1]));
  }

  /** Throws if a text of N tokens has more of them than the model has positions. */
  protected checkLength(N: number): void {
    const { positions: limit } = this.sizes;
    const what = this.architecture === "encoder" ? this.type : this.label;
    if (N > limit)
      throw new OptionError("length", `${what}: ${N} tokens; the model has ${limit} positions`, {
        got: N,
        limit,
      });
  }

  /** All layers of an encoder and the last norm: x [..., N, C] to [..., N, C], with the hook before the first and after each. */
  protected *encodedSteps(
    x: FloatTensor,
    call: Omit<LayerCall, "start" | "reuse">,
    options: ForwardOptions,
    reuse = layerMemory(options),
  ): LayerSteps {
    const { onAttention, onFeedForward, onHidden } = options;
    let states = afterHook("onHidden", onHidden, 0, x);
    for (let layer = 0; layer < this.sizes.layers; layer++) {
      const steps = this.layer(layer, states, { ...call, start: 0, reuse, onAttention, onFeedForward });
      states = reuse(yield* steps);
      states = afterHook("onHidden", onHidden, layer + 1, states);
    }
    return this.finalStates(states);
  }

  /**
   * What the head reads of states [..., C] after a layer: the last norm, where the model has one.
   * @internal
   */
  finalStates(states: FloatTensor): FloatTensor {
    const { finalNorm } = this.recipe.names;
    return finalNorm === undefined ? states : this.norm(finalNorm, states);
  }

  /** One layer: x [..., N, C] to [..., N, C]. It yields its attention, and goes on with the output of the heads. */
  protected *layer(layer: number, x: FloatTensor, call: LayerCall): LayerSteps {
    const { names, parallel, layers } = this.recipe;
    const at = names.layer.replace("*", String(layer));
    const norm = (name: string | undefined, x: FloatTensor) =>
      name === undefined ? x : this.norm(at + name, x);
    const inner = (x: FloatTensor) =>
      afterHook("onFeedForward", call.onFeedForward, layer, this.#feedForward(at, x));
    const input = layers[layer].attention_norm === false ? x : norm(names.attentionNorm, x);
    const factors = (name: string | undefined, branch: FloatTensor) =>
      name === undefined ? branch : multiply(branch, this.weights.get(at + name));
    const branch = factors(names.attentionScale, yield* this.#attention(layer, at, input, call));
    const attended = this.#scaled(norm(names.attentionOutputNorm, branch));
    if (parallel) {
      const shared = names.feedForwardNorm === undefined ? input : norm(names.feedForwardNorm, x);
      return add(add(x, attended), this.#scaled(inner(shared)));
    }
    let sum = call.reuse(norm(names.attentionSumNorm, add(x, attended)));
    if (names.crossQuery) {
      const crossed = this.#crossAttention(layer, at, norm(names.crossNorm, sum), call);
      sum = norm(names.crossSumNorm, add(sum, crossed));
    }
    const fed = factors(names.feedForwardScale, inner(norm(names.feedForwardNorm, sum)));
    const output = norm(names.feedForwardOutputNorm, fed);
    const states = norm(names.feedForwardSumNorm, add(sum, this.#scaled(output)));
    return factors(names.layerScale, this.#withLayerInput(layer, at, states, call.layerInputs));
  }

  /** x [..., N, C], plus what the layer reads of the second embedding [..., N, layers, D]. */
  #withLayerInput(layer: number, at: string, x: FloatTensor, inputs: FloatTensor | undefined): FloatTensor {
    if (inputs === undefined) return x;
    const { names, hidden_act } = this.recipe;
    const gate = activateNamed(this.linear(at + names.layerInputGate, x), hidden_act);
    const input = reshape(slice(inputs, -2, layer, layer + 1), gate.shape);
    return add(
      x,
      this.norm(at + names.layerInputNorm, this.linear(at + names.layerInputOutput, multiply(gate, input))),
    );
  }

  /** The output of a branch, times the recipe's factor. */
  #scaled(branch: FloatTensor): FloatTensor {
    const { residual_scale: factor = 1 } = this.recipe;
    return factor === 1 ? branch : scale(branch, factor);
  }

  *#attention(layer: number, at: string, x: FloatTensor, call: LayerCall): LayerSteps {
    const { names, layers, qk_norm, value_norm, attention_dropout: dropoutP, resid_pdrop } = this.recipe;
    const { start, cache, attnMask, onAttention, globals, sharedKeys } = call;
    const { keys_of: source } = layers[layer];
    const [q, k, v] = this.#project(layer, at, x); // [..., N, heads·d] each
    const heads = (name: string | undefined, rows: FloatTensor, count: number) =>
      qk_norm === "all" && name !== undefined
        ? this.#turned(layer, at, undefined, splitHeads(this.norm(at + name, rows), count), call)
        : this.#turned(layer, at, name, splitHeads(rows, count), call);
    let query = heads(names.queryNorm, q, this.sizes.heads); // [..., H, N, d]
    let [key, value] = sharedKeys?.get(source ?? -1) ?? [];
    if (key === undefined || value === undefined) {
      const count = sizesOf(this.recipe, layers[layer]).num_key_value_heads;
      key = heads(names.keyNorm, k, count);
      value = splitHeads(v, count);
      if (value_norm) value = normalized(this.recipe.norm, value);
      if (cache) [key, value] = cache.append(layer, key, value);
      if (sharedKeys && layers.some(({ keys_of }) => keys_of === layer)) {
        for (const tensor of [key, value]) keepTensor(tensor);
        sharedKeys.set(layer, [key, value]);
      }
    }
    const { query_growth: growth } = this.recipe;
    if (growth) query = multiply(query, queryFactors(growth, start, x, call.shift));
    const joined = globals && joinProjections({ query, key, value }, this.#globalProjections(at, x), globals);
    const input = {
      recipe: this.#recipeOf(layer, at, x.shape[x.shape.length - 2], globals),
      queryOffset: cache?.length,
      attnMask,
      dropoutP,
      onAttention,
      pick: joined?.pick,
    };
    const output = yield { layer, inputs: joined?.inputs ?? { query, key, value }, input };
    return layerDropout(this.linear(at + names.output, mergeHeads(output)), resid_pdrop);
  }

  /** Queries or keys x [..., heads, N, d] with the norm of this name and the rotation of their positions. */
  #turned(
    layer: number,
    at: string,
    name: string | undefined,
    x: FloatTensor,
    { start, shard, shift, rotate }: LayerCall,
  ): FloatTensor {
    const { layers, qk_norm_last } = this.recipe;
    const norm = (x: FloatTensor) => (name === undefined ? x : this.#headNorm(at + name, x));
    let turned = qk_norm_last ? x : norm(x);
    const { rotary } = layers[layer];
    if (rotary) {
      const length = shard?.length ?? start + x.shape[x.shape.length - 2];
      const { frequencies, amplitude } = anglesOf(rotary, length);
      const { rotaryDim, layout } = rotary;
      const rotated = (x: FloatTensor, shift = 0) => {
        const at = shard ? { positions: shard.positions } : { offset: start - shift };
        return rope(x, { ...at, rotaryDim, frequencies, amplitude, layout });
      };
      const from = turned;
      // Scores depend on distances alone, unless norms follow: then each text of a batch has its own positions.
      turned =
        qk_norm_last && shift
          ? concat(
              shift.map((first, b) => rotated(slice(from, 0, b, b + 1), first)),
              0,
            )
          : rotated(from);
    }
    if (qk_norm_last) turned = norm(turned);
    return rotate ? rotate(turned) : turned;
  }

  /** Attention of x [..., N, C] over the states of an encoder [..., S, C], whose keys and values a cache computes once. */
  #crossAttention(layer: number, at: string, x: FloatTensor, call: LayerCall): FloatTensor {
    const { names, query_scale, attention_dropout: dropoutP, resid_pdrop } = this.recipe;
    const { cache, memory, memoryMask, onAttention } = call;
    const heads = (name: string | undefined, from: FloatTensor) =>
      splitHeads(this.linear(at + name, from), this.sizes.heads);
    const query = heads(names.crossQuery, x); // [..., H, N, d]
    const project = () =>
      [names.crossKey, names.crossValue].map((name) => heads(name, memory as FloatTensor));
    const [key, value] = cache ? cache.crossed(layer, project) : project(); // [..., H, S, d]
    const recipe: AttentionRecipe = {
      mask: "none",
      ...(query_scale !== undefined && { scale: query_scale }),
    };
    const input = { recipe, attnMask: memoryMask, dropoutP, onAttention, kind: "cross" } as const;
    const output = attend(layer, { query, key, value }, input);
    return layerDropout(this.linear(at + names.crossOutput, mergeHeads(output)), resid_pdrop);
  }

  /** Queries, keys and values that the rows of global tokens read. */
  #globalProjections(at: string, x: FloatTensor): Projections {
    const { globalQuery, globalKey, globalValue } = this.recipe.names;
    const heads = (name: string | undefined) => splitHeads(this.linear(at + name, x), this.sizes.heads);
    return { query: heads(globalQuery), key: heads(globalKey), value: heads(globalValue) };
  }

  /** Queries, keys and values of all heads, [..., N, heads·d] each; the queries alone where the layer reads another's keys. */
  #project(layer: number, at: string, x: FloatTensor): FloatTensor[] {
    const { names, qkv_layout, layers } = this.recipe;
    const { keys_of, values_are_keys } = layers[layer];
    if (!names.qkv) {
      if (keys_of !== undefined) return [this.linear(at + names.query, x)];
      const [q, k] = [names.query, names.key].map((name) => this.linear(at + name, x));
      return [q, k, values_are_keys ? k : this.linear(at + names.value, x)];
    }
    const { heads: H, keyHeads: Hkv, headSize: d } = this.sizes;
    const joint = this.linear(at + names.qkv, x);
    if (qkv_layout === undefined || qkv_layout === "blocks") return split(joint, [H * d, Hkv * d, Hkv * d]);
    const lead = x.shape.slice(0, -1);
    if (qkv_layout === "quarters") {
      const quarters = reshape(joint, [...lead, 4, 3, (H * d) / 4]);
      const [q, v, k] = split(quarters, [1, 1, 1], -2).map((part) => reshape(part, [...lead, -1]));
      return [q, k, v];
    }
    const groups = reshape(joint, [...lead, Hkv, H / Hkv + 2, d]);
    return split(groups, [H / Hkv, 1, 1], -2).map((part) => reshape(part, [...lead, -1]));
  }

  /** The norm of each head of x [..., heads, N, d], with weights that heads share, or [heads, d] of each head's own. */
  #headNorm(name: string, x: FloatTensor): FloatTensor {
    const { norm, qk_norm } = this.recipe;
    if (qk_norm !== "heads") return this.norm(name, x);
    const weight = this.weights.get(`${name}.weight`);
    return multiply(normalized(norm, x), reshape(weight, [weight.shape[0], 1, weight.shape[1]]));
  }

  #recipeOf(layer: number, at: string, N: number, globals?: readonly number[]): AttentionRecipe {
    const { layers, names, query_scale, attn_logit_softcapping: softcap, alibi_slopes } = this.recipe;
    const { window } = layers[layer];
    const causal = this.architecture === "decoder";
    return {
      mask:
        window === undefined
          ? causal
            ? "causal"
            : "none"
          : { window: window - 1, causal, ...(globals && { globals }) },
      ...(query_scale !== undefined && { scale: query_scale }),
      ...(softcap !== undefined && { softcap }),
      ...(alibi_slopes && { alibi: alibi_slopes }),
      ...(names.relative && {
        relative: {
          table: this.weights.get(`${names.relative}.weight`),
          maxDistance: this.recipe.relative_distance ?? RELATIVE_DISTANCE,
          bidirectional: !causal,
        },
      }),
      ...(names.relativePositions && { disentangled: this.#disentangled(at, N) }),
    };
  }

  /** Keys and queries of the relative positions of a text of N tokens. */
  #disentangled(at: string, N: number): Disentangled {
    const { names, relative_positions, relative_terms = [] } = this.recipe;
    const { first, end, rows } = rowsOf(N, relative_positions as RelativePositions);
    const table = slice(this.weights.get(`${names.relativePositions}.weight`), 0, first, end);
    const states = names.relativeNorm === undefined ? table : this.norm(names.relativeNorm, table);
    const heads = (name: string | undefined) => splitHeads(this.linear(at + name, states), this.sizes.heads);
    return {
      rows,
      ...(relative_terms.includes("c2p") && { positionKeys: heads(names.positionKey ?? names.key) }),
      ...(relative_terms.includes("p2c") && { positionQueries: heads(names.positionQuery ?? names.query) }),
    };
  }

  #feedForward(at: string, x: FloatTensor): FloatTensor {
    const { names, intermediate_size: inner, hidden_act, resid_pdrop } = this.recipe;
    const [gate, up] = names.gateUp
      ? split(this.linear(at + names.gateUp, x), [inner, inner])
      : [names.gate && this.linear(at + names.gate, x), this.linear(at + names.up, x)];
    const factor = (name: string) => this.weights.get(`${at}${names.activationFactors}.${name}`);
    const activated = (y: FloatTensor) =>
      names.activationFactors === undefined
        ? activateNamed(y, hidden_act)
        : xielu(y, factor("alpha_p"), factor("alpha_n"));
    const hidden = gate ? multiply(activated(gate), up) : activated(up);
    return layerDropout(this.linear(at + names.down, hidden), resid_pdrop);
  }

  /** x·Wᵀ, plus b where the plan has one. */
  protected linear(name: string, x: FloatTensor): FloatTensor {
    const bias = `${name}.bias`;
    return this.weights.linear(x, `${name}.weight`, this.weights.has(bias) ? bias : undefined);
  }

  /** x [..., N, C] plus the computed positions of a recipe that has them; the first token is at `start`. */
  protected addSinusoids(x: FloatTensor, start: number): FloatTensor {
    const { sinusoids, hidden_size: C } = this.recipe;
    if (!sinusoids) return x;
    const N = x.shape[x.shape.length - 2];
    const data = this.dtype === "float64" ? new Float64Array(N * C) : new Float32Array(N * C);
    for (let n = 0; n < N; n++)
      for (let i = 0; i < C / 2; i++) {
        const [sin, cos] = sinusoid(sinusoids.first + start + n, i, sinusoids.divisor);
        data[n * C + i] = sin;
        data[n * C + C / 2 + i] = cos;
      }
    return add(x, placed(this.label, new Tensor(data, [N, C], this.dtype), x.device));
  }

  /** The norm of this name: x `[..., C]` to `[..., C]`. */
  protected norm(name: string, x: FloatTensor): FloatTensor {
    const { norm } = this.recipe;
    const weight = this.parameter(`${name}.weight`);
    const scaled = weight && norm.weight === "offset" ? add(weight, ones(weight)) : weight;
    return normalized(norm, x, scaled, this.parameter(`${name}.bias`));
  }
}

// biome-ignore format: a table
checkMethods("Transformer", Transformer.prototype, {
  to: 1, parameters: 0, parameter: 1, forward: 2, hidden: 2, logits: 1,
});

function normalized(
  { kind, eps }: TransformerConfig["norm"],
  x: FloatTensor,
  weight?: FloatTensor,
  bias?: FloatTensor,
): FloatTensor {
  return kind === "rms" ? rmsNorm(x, weight, { eps }) : layerNorm(x, weight, bias, { eps });
}

/** Factors [N, 1] of the queries of x [..., N, C], the first at position `start`; [B, 1, N, 1] where texts have padding before them. */
export function queryFactors(
  { beta, period }: NonNullable<TransformerConfig["query_growth"]>,
  start: number,
  { shape, dtype, device }: FloatTensor,
  shift?: readonly number[],
): FloatTensor {
  const N = shape[shape.length - 2];
  const firsts = shift ?? [0];
  const data =
    dtype === "float64" ? new Float64Array(firsts.length * N) : new Float32Array(firsts.length * N);
  firsts.forEach((first, row) => {
    for (let n = 0; n < N; n++)
      data[row * N + n] = 1 + beta * Math.log(1 + Math.floor(Math.max(0, start + n - first) / period));
  });
  return placed("query_growth", new Tensor(data, shift ? [firsts.length, 1, N, 1] : [N, 1], dtype), device);
}

/** A tensor of ones like another. */
function ones({ shape, dtype, device }: FloatTensor): FloatTensor {
  const data = dtype === "float64" ? new Float64Array(shape[0]) : new Float32Array(shape[0]);
  return placed("norm", new Tensor(data.fill(1), shape, dtype), device);
}
