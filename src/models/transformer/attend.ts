/**
 * Attention inside a model: a record of how a layer's scores are computed (its recipe), the attention call built from it, and the
 * hook that observes each call and may change it.
 */
import { placed } from "../../core/device/device.ts";
import { checkArgument, checkCount, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import type { Resumable, WorkParts } from "../../core/synchronous.ts";
import { asTensor, Tensor, type TensorLike } from "../../core/tensor.ts";
import type { AttentionOptions } from "../../index.ts";
import { alibi, attentionWeights, globalTokens, relativeBias, slidingWindow, softcap } from "../../index.ts";
import type { SequenceShard, ShardedOptions } from "../../nn/index.ts";
import { attention, dropoutSeed, type FloatTensor, matmul, reshape, transpose } from "../../nn/index.ts";
import { type Disentangled, disentangledMods } from "./disentangled.ts";

/** How a layer's scores are computed, as data: the same fields as a bundle's recipe (docs/bundles.md). */
export interface AttentionRecipe {
  /**
   * Which keys a query sees: all, those up to itself, or those at most `window` positions away (its own not counted). Tokens at the
   * positions `globals` see all and are seen by all.
   */
  readonly mask:
    | "none"
    | "causal"
    | { readonly window: number; readonly causal: boolean; readonly globals?: readonly number[] };
  /** Multiplies q·k; default 1/√d. */
  readonly scale?: number;
  /** c·tanh(score / c), after the scale. */
  readonly softcap?: number;
  /** T5's relative position bias: a table [buckets, H]. */
  readonly relative?: {
    readonly table: FloatTensor;
    readonly maxDistance: number;
    readonly bidirectional: boolean;
  };
  /** ALiBi: adds −slope·distance, with the slope of each head. */
  readonly alibi?: readonly number[];
  /** DeBERTa's terms of content and relative position, times the scale. */
  readonly disentangled?: Disentangled;
}

/** The inputs, results and options of a layer's attention: enough to compute it again, or to draw it. */
export interface LayerAttention {
  /** `[..., H, N, d]`: views of the projections, not copies; after norms and rotation. */
  readonly query: FloatTensor;
  /** [..., Hkv, Nk, d] and [..., Hkv, Nk, dv]; with global tokens of 2·d and 2·dv numbers (global.ts). */
  readonly key: FloatTensor;
  readonly value: FloatTensor;
  /** Natural log of Σ exp of each row, [..., H, N]. */
  readonly lse: FloatTensor;
  /** The attention output [..., H, N, dv], before the output projection. */
  readonly output: FloatTensor;
  /** The options of the call. */
  readonly options: AttentionOptions;
  /** The same as data. */
  readonly recipe: AttentionRecipe;
  /** `cross`: the keys and values are those of an encoder's states. Default `self`. */
  readonly kind?: "self" | "cross";
}

/** What `onAttention` may replace. Every tensor has the shape of the one that it replaces. */
export interface AttentionChange {
  /** Attention is computed again with these. */
  readonly query?: FloatTensor;
  readonly key?: FloatTensor;
  readonly value?: FloatTensor;
  /** Weights [..., H, N, Nk] that replace those of softmax. */
  readonly weights?: FloatTensor;
  /** The heads' outputs [..., H, N, dv] themselves. */
  readonly output?: FloatTensor;
}

/** How to run a model. */
export interface ForwardOptions {
  /**
   * Called after each layer's attention, with its inputs and results. The returned tensors replace the layer's: query, key or
   * value (attention is computed again), weights, or the output of the heads.
   */
  readonly onAttention?: (
    layer: number,
    layerAttention: LayerAttention,
    // biome-ignore lint/suspicious/noConfusingVoidType: a hook that only observes returns nothing.
  ) => AttentionChange | undefined | void;
  /**
   * Called with the output [..., N, C] of each layer's feed-forward network, before its norm and its factor. A returned tensor replaces
   * it.
   */
  readonly onFeedForward?: StateHook;
  /**
   * Called with the residual stream [..., N, C] after the embedding (0) and after each layer (1, 2, …). A returned tensor replaces it.
   */
  readonly onHidden?: StateHook;
}

/** A hook that receives a state of the model, and may return one of the same shape that replaces it. */
export type StateHook = (
  layer: number,
  state: FloatTensor,
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook that only observes returns nothing.
) => FloatTensor | undefined | void;

/** Names of `ForwardOptions`. */
export const FORWARD_OPTIONS: readonly (keyof ForwardOptions)[] = [
  "onAttention",
  "onFeedForward",
  "onHidden",
];

/** The state after the hook of this name: the tensor that it returns, checked, or `state` itself. */
export function afterHook(
  name: "onFeedForward" | "onHidden",
  hook: StateHook | undefined,
  layer: number,
  state: FloatTensor,
): FloatTensor {
  const returned = hook?.(layer, state);
  if (returned === undefined || returned === null) return state;
  checkSynchronous(name, returned);
  return checkedTensor(name, "state", returned, state) as FloatTensor;
}

/** The parts of an attention call that are not in the recipe. */
export interface AttendInput {
  readonly recipe: AttentionRecipe;
  /** Position of the first query: the number of keys that were cached before. */
  readonly queryOffset?: number;
  /** An additional mask: padding. */
  readonly attnMask?: Tensor;
  /** Share of weights dropped inside `withDropout`. */
  readonly dropoutP?: number;
  readonly onAttention?: ForwardOptions["onAttention"];
  readonly kind?: LayerAttention["kind"];
  /** What of the call's output is the heads' output; default all of it. */
  readonly pick?: (output: FloatTensor) => FloatTensor;
}

/** The attention of a layer, which the computation of the layer waits for: at once, or from all ranks of a sequence. */
export interface AttentionRequest {
  readonly layer: number;
  readonly inputs: { readonly query: FloatTensor; readonly key: FloatTensor; readonly value: FloatTensor };
  readonly input: AttendInput;
}

/** Answers a request in this process. */
export const attendNow = ({ layer, inputs, input }: AttentionRequest): FloatTensor =>
  attend(layer, inputs, input);

/** `hidden` of a model in slices, which end before and after the attention of each layer; `run` runs each. */
export function* hiddenSlices<I, O>(
  model: { steps(input: I, options: O): Resumable<AttentionRequest, FloatTensor, FloatTensor> },
  input: I,
  options: O,
  run: WorkParts["run"],
): Generator<void, FloatTensor, void> {
  const steps = model.steps(input, options);
  let next = run(() => steps.next());
  while (!next.done) {
    const { value } = next;
    yield;
    const output = run(() => attendNow(value));
    yield;
    next = run(() => steps.next(output));
  }
  return next.value;
}

/** Answers a request from all ranks of a sequence. */
export const attendOver =
  (shard: SequenceShard) =>
  async ({ inputs, input: { recipe, dropoutP } }: AttentionRequest): Promise<FloatTensor> => {
    const { queryOffset: _, ...options } = shard.run(() => withSeed(optionsOf(recipe, inputs), dropoutP));
    return (await shard.attend(inputs.query, inputs.key, inputs.value, options as ShardedOptions)).output;
  };

/** A recipe as options of `scaledDotProductAttention`. */
function optionsOf(
  { mask, scale, softcap: cap, relative, alibi: slopes, disentangled }: AttentionRecipe,
  { query, key }: { readonly query: FloatTensor; readonly key: FloatTensor },
  call: Pick<AttentionOptions, "queryOffset"> & { readonly attnMask?: Tensor } = {},
): AttentionOptions {
  const window = typeof mask === "object" ? mask : undefined;
  // A window of 0 keys to the right is causal.
  const near = window && slidingWindow(window.window, window.causal ? 0 : window.window);
  const structural = window?.globals?.length ? near?.or(globalTokens(window.globals)) : near;
  const masks = [...(structural ? [structural] : []), ...(call.attnMask ? [call.attnMask] : [])];
  const bias =
    relative &&
    relativeBias(relative.table, {
      maxDistance: relative.maxDistance,
      bidirectional: relative.bidirectional,
    });
  const scoreMod = [
    ...(cap === undefined ? [] : [softcap(cap)]),
    ...(bias ? [bias] : []),
    ...(slopes ? [alibi(slopes)] : []),
    ...(disentangled ? disentangledMods(disentangled, query, key, scale as number) : []),
  ];
  return {
    ...(mask === "causal" && { isCausal: true }),
    ...(call.queryOffset !== undefined && { queryOffset: call.queryOffset }),
    ...(scale !== undefined && { scale }),
    ...(masks.length > 0 && { attnMask: masks.length === 1 ? masks[0] : masks }),
    ...(scoreMod.length > 0 && { scoreMod: scoreMod.length === 1 ? scoreMod[0] : scoreMod }),
  };
}

/** Options with the dropout of weights, inside `withDropout`. */
function withSeed(options: AttentionOptions, dropoutP = 0): AttentionOptions {
  const seed = dropoutP > 0 ? dropoutSeed() : undefined;
  return seed === undefined ? options : { ...options, dropoutP, seed };
}

/** Attention of one layer, [..., H, N, dv], after the changes of its hook. */
export function attend(
  layer: number,
  inputs: { readonly query: FloatTensor; readonly key: FloatTensor; readonly value: FloatTensor },
  { recipe, queryOffset, attnMask, dropoutP, onAttention, kind, pick = (output) => output }: AttendInput,
): FloatTensor {
  const options = optionsOf(recipe, inputs, { queryOffset, attnMask });
  const compute = ({ query, key, value }: typeof inputs, options: AttentionOptions) => {
    const callOptions = withSeed(options, dropoutP);
    // Tokens before heads, as projections are stored: the output then merges its heads without a copy. A hook gets contiguous
    // rows.
    if (!onAttention) {
      const tokensFirst = (x: FloatTensor) => transpose(x, -3, -2);
      const { output, lse } = attention(tokensFirst(query), tokensFirst(key), tokensFirst(value), {
        ...callOptions,
        layout: "bshd",
      });
      return { output: pick(transpose(output, -3, -2)), lse };
    }
    if (!needsBatch(query, key, recipe)) {
      const { output, lse } = attention(query, key, value, callOptions);
      return { output: pick(output), lse };
    }
    const { output, lse } = attention(batched(query), batched(key), batched(value), callOptions);
    return { output: pick(reshape(output, output.shape.slice(1))), lse: reshape(lse, lse.shape.slice(1)) };
  };
  const { output, lse } = compute(inputs, options);
  const change = onAttention?.(layer, { ...inputs, lse, output, options, recipe, kind });
  if (change === undefined || change === null || typeof change !== "object") return output;
  const replacement = checkedChange(change, { ...inputs, output, weights: weightsShape(inputs) });
  if (replacement.output) return replacement.output;
  const { query = inputs.query, key = inputs.key, value = inputs.value } = replacement;
  if (replacement.weights) return pick(weighted(replacement.weights, value));
  // Terms of positions depend on the queries and keys.
  const changed = recipe.disentangled
    ? optionsOf(recipe, { query, key }, { queryOffset, attnMask })
    : options;
  return compute({ query, key, value }, changed).output;
}

/**
 * The weights of a layer, [..., H, N, Nk], rebuilt from its queries, keys and log-sum-exp.
 *
 * @example
 * const { layers } = decoder.attention("the old ship");
 * const weights = layerWeights(layers[0]); // [heads, N, N]
 */
export function layerWeights(layer: LayerAttention): Tensor {
  checkCount("layerWeights", arguments, 1);
  checkArgument(
    [layer?.query, layer?.key, layer?.lse].every((t) => t instanceof Tensor),
    "layerWeights",
    "the attention of a layer, as model.attention(text).layers has it",
    layer,
  );
  const { query, key, lse, options, recipe } = layer;
  if (recipe === undefined || !needsBatch(query, key, recipe))
    return attentionWeights(query, key, lse, options);
  const weights = attentionWeights(batched(query), batched(key), batched(lse), options);
  return weights.reshape(weights.shape.slice(1));
}

/** The attention call reads a leading axis as heads only after a batch axis, so a single text needs one where heads matter. */
function needsBatch(
  query: FloatTensor,
  key: FloatTensor,
  { relative, alibi: slopes, disentangled }: AttentionRecipe,
): boolean {
  const byHead = relative !== undefined || slopes !== undefined || disentangled !== undefined;
  return query.shape.length === 3 && (byHead || key.shape[0] !== query.shape[0]);
}

const batched = (x: FloatTensor): FloatTensor => reshape(x, [1, ...x.shape]);

/** Σ weights·value: [..., H, N, Nk] and [..., Hkv, Nk, dv] to [..., H, N, dv]. */
function weighted(weights: FloatTensor, value: FloatTensor): FloatTensor {
  const [H, N, Nk] = weights.shape.slice(-3);
  const [Hkv, , dv] = value.shape.slice(-3);
  const lead = weights.shape.slice(0, -3);
  // Query heads that share a key head are adjacent.
  const grouped = reshape(weights, [...lead, Hkv, (H / Hkv) * N, Nk]);
  return reshape(matmul(grouped, value), [...lead, H, N, dv]);
}

function weightsShape({ query, key }: { readonly query: FloatTensor; readonly key: FloatTensor }) {
  return { shape: [...query.shape.slice(0, -1), key.shape[key.shape.length - 2]], dtype: query.dtype };
}

const PARTS = ["query", "key", "value", "weights", "output"] as const;

/** A change whose tensors have the right shapes and dtypes; those of another copy of heed, or { data, shape }, are wrapped without a copy. */
function checkedChange(
  change: AttentionChange,
  expected: Record<(typeof PARTS)[number], { readonly shape: readonly number[]; readonly dtype: string }>,
): AttentionChange {
  const checked: Record<string, Tensor> = {};
  checkSynchronous("onAttention", change);
  for (const [name, returned] of Object.entries(change)) {
    if (!PARTS.includes(name as (typeof PARTS)[number]))
      throw new OptionError(
        "attention-change",
        `onAttention: returned ${formatValue(name)}; a change has ${PARTS.join(", ")}`,
        { name },
      );
    if (returned === undefined) continue;
    checked[name] = checkedTensor("onAttention", name, returned, expected[name as (typeof PARTS)[number]]);
  }
  return checked as AttentionChange;
}

/** A mask over keys, [B, N] or [N], as one over scores of x on its device: [B, 1, 1, N] or [1, 1, N]. */
export function forKeys(
  what: string,
  mask: Tensor,
  shape: readonly number[],
  { device }: { readonly device: string },
): Tensor {
  if (!(mask instanceof Tensor) || mask.dtype !== "bool" || mask.shape.join() !== shape.join())
    throw new ShapeError(
      "keyMask",
      `${what}: keyMask must be [${shape.join(", ")}] bool, got ${formatValue(mask?.shape)}`,
      { got: mask?.shape, want: shape },
    );
  const N = shape[shape.length - 1];
  const view = mask.reshape([...shape.slice(0, -1), 1, 1, N]);
  return mask.device === device ? view : placed(what, view.contiguous(), device);
}

function checkSynchronous(hook: string, returned: object): void {
  if (typeof (returned as { readonly then?: unknown }).then === "function")
    throw new OptionError(
      "attention-change",
      `${hook}: returned a promise; the forward pass is synchronous, so the function may not be async`,
    );
}

function checkedTensor(
  hook: string,
  name: string,
  returned: unknown,
  { shape, dtype }: { readonly shape: readonly number[]; readonly dtype: string },
): Tensor {
  const isTensorLike = typeof returned === "object" && returned !== null && "data" in returned;
  const tensor: unknown = isTensorLike ? asTensor(`${hook}: ${name}`, returned as TensorLike) : returned;
  if (!(tensor instanceof Tensor) || tensor.dtype !== dtype || tensor.shape.join() !== shape.join())
    throw new ShapeError(
      "attention-change",
      `${hook}: ${name} must be [${shape.join(", ")}] ${dtype}, got ${tensor instanceof Tensor ? `[${tensor.shape.join(", ")}] ${tensor.dtype}` : formatValue(tensor)}`,
      { name, want: shape },
    );
  return tensor;
}
