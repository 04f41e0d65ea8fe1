/**
 * The residual stream of one run as a sum: embeddings (word, position, type), the output of each head, of each feed-forward network,
 * and biases. With the statistics of every norm frozen at their values in this run, each norm is linear, and each summand can be
 * followed through the layers on its own (Elhage et al. 2021; norms frozen as in direct logit attribution). All sums are in float64.
 *
 *     x = Σ_c x_c        norm(x) = Σ_c (x_c − mean(x_c)) · w / σ(x) + b        b goes to the biases
 */
import { checkArgument, checkCount, checkInteger, UnsupportedError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import {
  add,
  concat,
  type FloatTensor,
  linear,
  matmul,
  mean,
  multiply,
  reshape,
  scale,
  slice,
  sub,
  sum,
  transpose,
} from "../../nn/index.ts";
import type { EncoderOptions } from "../encoder/encoder.ts";
import type { TextModel, TextTokens } from "../text-model.ts";
import type { LayerAttention } from "../transformer/attend.ts";
import type { NormConfig, TransformerConfig } from "../transformer/config.ts";
import { widen } from "../transformer/parameters.ts";
import { Transformer } from "../transformer/transformer.ts";

/** A summand of the residual stream. */
export interface Component {
  /** `word`, `position`, `type`: rows of the embedding's tables. `biases`: the biases of all maps and norms together. */
  readonly kind: "word" | "position" | "type" | "head" | "mlp" | "biases";
  /** Of heads and feed-forward networks. */
  readonly layer?: number;
  /** Of heads. */
  readonly head?: number;
}

/**
 * The short name of a component: `word`, `L2 H8`, `MLP 2`, `biases`.
 *
 * @example
 * componentName({ kind: "head", layer: 2, head: 8 }); // → "L2 H8"
 */
export function componentName(component: Component): string {
  checkCount("componentName", arguments, 1);
  const { kind, layer, head } = component ?? {};
  const isKind = ["word", "position", "type", "head", "mlp", "biases"].includes(kind);
  checkArgument(isKind, "componentName", "a component, as splitScore returns it", component);
  if (kind === "head" || kind === "mlp") checkInteger("componentName", "layer", layer, 0);
  if (kind === "head") checkInteger("componentName", "head", head, 0);
  if (kind === "head") return `L${layer} H${head}`;
  return kind === "mlp" ? `MLP ${layer}` : kind;
}

/** A model whose recipe says how its layers compute. */
type RecipeModel = Transformer<TransformerConfig, EncoderOptions>;

/** What one run of a model leaves behind for a split. */
export interface RecordedRun {
  readonly model: RecipeModel;
  readonly ids: Int32Array;
  readonly typeIds: Int32Array;
  readonly attention: readonly LayerAttention[];
  /** Outputs of the feed-forward networks, [N, C] each. */
  readonly feedForward: readonly FloatTensor[];
  /** The states before the first layer and after each, [N, C] each. */
  readonly states: readonly FloatTensor[];
}

/** Runs a model on tokens and keeps what a split needs. Throws an UnsupportedError for a model without a recipe of layers. */
export function recordRun(
  what: string,
  { model, name }: TextModel,
  { ids, typeIds }: Pick<TextTokens, "ids" | "typeIds">,
): RecordedRun {
  if (!(model instanceof Transformer))
    throw new UnsupportedError("model", `${what}: ${name} is no encoder or decoder of this package`);
  const { names, sinusoids } = (model as unknown as RecipeModel).recipe;
  const other =
    (sinusoids && "computed positions") ??
    (names.crossQuery && "cross-attention") ??
    (names.layerScale && "a factor of each layer's state");
  if (other)
    throw new UnsupportedError(
      "model",
      `${what}: ${name} has ${other}, whose part of the states is not split`,
    );
  const attention: LayerAttention[] = [];
  const feedForward: FloatTensor[] = [];
  const states: FloatTensor[] = [];
  const options: EncoderOptions = {
    onAttention: (_, layerAttention) => void attention.push(layerAttention),
    onFeedForward: (_, output) => void feedForward.push(output),
    onHidden: (_, state) => void states.push(state),
    ...(model.architecture === "encoder" && { typeIds }),
  };
  model.hidden(ids, options);
  return { model: model as unknown as RecipeModel, ids, typeIds, attention, feedForward, states };
}

/** A norm with the statistics of one state: what it multiplies a centered row by, and what it adds. */
interface FrozenNorm {
  /** x [..., N, C] to [..., N, C], without the bias. */
  readonly apply: (x: FloatTensor) => FloatTensor;
  /** [C]. */
  readonly bias?: FloatTensor;
}

/** A tensor in float64, contiguous. */
export const float64 = (x: FloatTensor): FloatTensor => widen(x.contiguous(), "float64");

/** The norm of a state [..., N, C] with its statistics frozen. */
export function freezeNorm(
  { kind, eps, weight: use }: NormConfig,
  state: FloatTensor,
  weight?: FloatTensor,
  bias?: FloatTensor,
): FrozenNorm {
  const centered = (x: FloatTensor) => (kind === "rms" ? x : sub(x, mean(x, -1, { keepAxis: true })));
  const C = state.shape[state.shape.length - 1];
  const base = centered(state);
  const squares = sum(multiply(base, base), -1, { keepAxis: true }).contiguous(); // [..., N, 1]
  const inverse = new Tensor(
    (squares.data as Float64Array).map((x) => 1 / Math.sqrt(x / C + eps)),
    squares.shape,
    "float64",
  ) as FloatTensor;
  const factor = weight && float64(weight);
  const offset = use === "offset" ? 1 : 0;
  const scaled =
    factor &&
    new Tensor(
      (factor.data as Float64Array).map((w) => w + offset),
      factor.shape,
      "float64",
    );
  return {
    apply: (x) => {
      const plain = multiply(centered(x), inverse);
      return scaled ? multiply(plain, scaled as FloatTensor) : plain;
    },
    ...(bias && { bias: float64(bias) }),
  };
}

/** Components with their states [K, N, C]. */
interface Group {
  readonly components: readonly Component[];
  readonly x: FloatTensor;
}

/** The residual stream as groups of components; the biases are the last of all. */
export class Residual {
  readonly #run: RecordedRun;
  #groups: Group[] = [];
  /** [N, C]. */
  #biases: FloatTensor;

  /**
   * The stream before layer `layer`, or after the last one where it is the number of layers. `start`: the state before this earlier layer
   * is one summand, the first.
   */
  constructor(run: RecordedRun, layer: number, start?: number) {
    this.#run = run;
    const { recipe } = run.model;
    const N = run.ids.length;
    const zeros = (C: number) => new Tensor(new Float64Array(N * C), [N, C], "float64") as FloatTensor;
    if (start !== undefined) {
      const x = float64(run.states[start]);
      this.#groups.push({ components: [], x: reshape(x, [1, ...x.shape]) });
      this.#biases = zeros(x.shape[1]);
      for (let l = start; l < layer; l++) this.#layer(l);
      return;
    }
    const parts = run.model.embeddingParts(
      run.ids,
      run.model.architecture === "encoder" ? { typeIds: run.typeIds } : {},
    );
    this.#groups.push({
      components: parts.map(({ kind }) => ({ kind })),
      x: concat(
        parts.map(({ rows }) => reshape(float64(rows), [1, ...rows.shape])),
        0,
      ),
    });
    const [, , E] = this.#groups[0].x.shape;
    this.#biases = zeros(E);
    const { embeddingNorm, embeddingMap } = recipe.names;
    if (embeddingNorm) this.#norm(embeddingNorm);
    if (embeddingMap) this.#map(embeddingMap);
    for (let l = 0; l < layer; l++) this.#layer(l);
  }

  /** All components with their states, [K, N, C]. */
  all(): Group {
    const biases = reshape(this.#biases, [1, ...this.#biases.shape]);
    return {
      components: [...this.#groups.flatMap(({ components }) => components), { kind: "biases" }],
      x: concat([...this.#groups.map(({ x }) => x), biases], 0),
    };
  }

  /** Applies a norm to every component; its bias goes to the biases. */
  #norm(name: string): void {
    const total = this.#groups.reduce((all, { x }) => add(all, sum(x, 0)), this.#biases);
    const { apply, bias } = this.frozen(name, total);
    this.#groups = this.#groups.map(({ components, x }) => ({ components, x: apply(x) }));
    this.#biases = withBias(apply(this.#biases), bias);
  }

  #map(name: string): void {
    const { model } = this.#run;
    const weight = float64(model.parameter(`${name}.weight`) as FloatTensor);
    const bias = model.parameter(`${name}.bias`);
    this.#groups = this.#groups.map(({ components, x }) => ({ components, x: linear(x, weight) }));
    this.#biases = withBias(linear(this.#biases, weight), bias && float64(bias));
  }

  /** Adds the components of a layer. */
  #layer(layer: number): void {
    const { model, attention, feedForward } = this.#run;
    const { names, parallel, num_attention_heads: H, residual_scale: factor = 1 } = model.recipe;
    const at = names.layer.replace("*", String(layer));
    const heads = this.#heads(at, attention[layer]);
    const bias = model.parameter(`${at}${names.output}.bias`);
    const components = Array.from({ length: H }, (_, head): Component => ({ kind: "head", layer, head }));
    const inner = reshape(float64(feedForward[layer]), [1, ...feedForward[layer].shape]);
    this.#branch({ components, x: heads }, bias && float64(bias), at, names.attentionOutputNorm, factor);
    if (names.attentionSumNorm && !parallel) this.#norm(at + names.attentionSumNorm);
    const outputNorm = parallel ? undefined : names.feedForwardOutputNorm;
    this.#branch({ components: [{ kind: "mlp", layer }], x: inner }, undefined, at, outputNorm, factor);
    if (names.feedForwardSumNorm && !parallel) this.#norm(at + names.feedForwardSumNorm);
  }

  /** The outputs of a layer's heads after the output projection, without its bias: [H, N, C]. */
  #heads(at: string, { output }: LayerAttention): FloatTensor {
    const { model } = this.#run;
    const { names, transposed, num_attention_heads: H, hidden_size: C, head_dim: d } = model.recipe;
    const stored = float64(model.parameter(`${at}${names.output}.weight`) as FloatTensor);
    const map = transposed ? stored : transpose(stored); // [H·d, C]
    return matmul(float64(output), reshape(map.contiguous() as FloatTensor, [H, d, C]));
  }

  /** Adds the components of a branch, after the norm of its output and times the factor. */
  #branch(
    group: Group,
    bias: FloatTensor | undefined,
    at: string,
    norm: string | undefined,
    factor: number,
  ): void {
    let { x } = group;
    let constant = bias && add(scale(this.#biases, 0), bias);
    if (norm !== undefined) {
      const total = sum(x, 0);
      const frozen = this.frozen(at + norm, constant ? add(total, constant) : total);
      x = frozen.apply(x);
      constant = constant && frozen.apply(constant);
      if (frozen.bias) constant = withBias(constant ?? scale(this.#biases, 0), frozen.bias);
    }
    this.#groups.push({ components: group.components, x: factor === 1 ? x : scale(x, factor) });
    if (constant) this.#biases = add(this.#biases, factor === 1 ? constant : scale(constant, factor));
  }

  /** The norm of this name, with the statistics of a state [N, C]. */
  frozen(name: string, state: FloatTensor): FrozenNorm {
    const { model } = this.#run;
    const bias = model.parameter(`${name}.bias`);
    return freezeNorm(model.recipe.norm, state, model.parameter(`${name}.weight`), bias);
  }
}

/** All components after a norm. */
export function normed(residual: Residual, name: string, { components, x }: Group): Group {
  const { apply, bias } = residual.frozen(name, sum(x, 0));
  return { components, x: withLastBias(apply(x), bias) };
}

/** Components [K, ...] with a bias added to the last of them, the biases. */
export function withLastBias(x: FloatTensor, bias: FloatTensor | undefined): FloatTensor {
  if (!bias) return x;
  const last = x.shape[0] - 1;
  return concat([slice(x, 0, 0, last), add(slice(x, 0, last, last + 1), bias)], 0);
}

const withBias = (x: FloatTensor, bias: FloatTensor | undefined) => (bias ? add(x, bias) : x);
