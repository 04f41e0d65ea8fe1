/**
 * Stores of arrays in memory: a model's queries and keys, or weights. Nothing is copied; invalid input is an immediate
 * error.
 */
import {
  checkCount,
  checkInteger,
  FormatError,
  refuseGot,
  refuseValue,
  UnsupportedError,
} from "../../core/errors.ts";
import { checkKind, checkKinds, checkNames } from "../../core/option-names.ts";
import { asTensor, type TensorLike } from "../../core/tensor.ts";
import type { AttentionOptions } from "../../index.ts";
import type { Segment } from "../block.ts";
import { localCompute } from "../compute/compute.ts";
import type { HeadArrays } from "../compute/head.ts";
import type { Port } from "../compute/messages.ts";
import { remoteCompute } from "../compute/remote.ts";
import type { Compute } from "../compute/request.ts";
import { type Kernel, plainKernel } from "../compute/row-source.ts";
import { Problems } from "../formats/metadata.ts";
import type { HeadStore } from "../head-store.ts";
import type { LayerRecipe, ScoreRecipe, WindowMask } from "../recipe/recipe.ts";
import type { LoadReport } from "../sentences/report.ts";
import { bytesIn, type Checks, examine, isWhole, reportOf, sample } from "../sentences/report.ts";
import { createStore } from "../store.ts";
import { bagFrom, type StoreInput } from "./input.ts";
import { layOut } from "./layout.ts";
import { sourceOf } from "./source.ts";

export type { BlockInput, StoreInput } from "./input.ts";

/** Where a store computes. */
export interface ComputeOptions {
  /** Makes a worker that runs `serveStore`. Without it, or if it throws, the store computes on this thread in time slices. */
  readonly worker?: () => Port;
  /** Number of workers. Default: the number of cores minus 1, at least 1 and at most 4. */
  readonly workers?: number;
  /** Bytes of heads that each worker keeps. Default 96 MiB. */
  readonly workerBytes?: number;
  /** The kernel on this thread. Default: `plainKernel`. */
  readonly kernel?: Kernel;
}

/** The option names of `ComputeOptions`. */
export const COMPUTE_OPTIONS: readonly (keyof ComputeOptions)[] = [
  "worker",
  "workers",
  "workerBytes",
  "kernel",
];

/**
 * A store of arrays in memory.
 *
 * @example
 * const heads = randn([2, 4, 8], { seed: 1 }); // [heads, tokens, d]
 * const store = storeFrom({ blocks: [{ tokens: ["a", "b", "c", "d"], recipe: { mask: "causal" }, layers: [{ query: heads, key: heads }] }] });
 * store.dispose();
 */
export function storeFrom(input: StoreInput, options: ComputeOptions = {}): HeadStore {
  checkCount("storeFrom", arguments, 2);
  checkNames("storeFrom", options, COMPUTE_OPTIONS);
  const bag = bagFrom(input);
  const problems = new Problems();
  const { blocks, about } = layOut(bag, problems);
  const errors = problems.list.filter(({ severity }) => severity === "error");
  if (errors.length > 0 || blocks.length === 0)
    throw new FormatError(
      "store",
      `storeFrom: ${errors.length ? errors.map(({ text }) => text).join("; ") : "no heads were given"}`,
      { problems: errors },
    );
  const source = sourceOf(bag, blocks);
  const checks: Checks = {};
  // Heads of a bag in memory are synchronous.
  const all = isWhole(blocks, bag);
  for (const ref of sample(blocks, bag)) examine(source.head(ref) as HeadArrays, all, checks);
  const what: Pick<LoadReport, "name" | "format" | "bytes"> = {
    name: input.name ?? "memory",
    format: "memory",
    bytes: bytesIn(bag),
  };
  return createStore(source, reportOf(what, bag, blocks, about, problems, checks), computeFor(options));
}

/** What `heed/models` says of a layer's scores: terms with tensors are in `options` alone. */
export interface ModelLayerRecipe {
  readonly mask: Extract<LayerRecipe["mask"], string> | WindowMask;
  readonly scale?: number;
  readonly softcap?: number;
  readonly alibi?: readonly number[];
  readonly relative?: object;
  readonly disentangled?: object;
}

/** The attention of a model on one text, as `model.attention(text)` of `heed/models` returns it. */
export interface ModelInput {
  readonly tokens: readonly string[];
  readonly text?: string;
  readonly model?: string;
  readonly name?: string;
  /** The tensors of each layer, [heads, n, d]; `q`, `k`, `v` are other names of `query`, `key`, `value`. */
  readonly layers: readonly {
    readonly query?: TensorLike;
    readonly key?: TensorLike;
    readonly value?: TensorLike;
    readonly q?: TensorLike;
    readonly k?: TensorLike;
    readonly v?: TensorLike;
    readonly lse?: TensorLike;
    /** The options of the layer's attention call, as in `TextAttention.layers`. The default recipe is derived from them. */
    readonly options?: AttentionOptions;
    /** The same as data, where `heed/models` has it: it takes precedence. */
    readonly recipe?: ModelLayerRecipe;
  }[];
  /** How the scores are computed. Default: derived from the layers' `options`. */
  readonly recipe?: ScoreRecipe;
  readonly segments?: readonly Segment[];
  /** Language of the tokens, a BCP 47 tag such as `ar`. */
  readonly lang?: string;
}

/**
 * A store of the attention of a model of `heed/models` on a text.
 *
 * @throws OptionError if `shown` is not the result of `model.attention(text)`; UnsupportedError if a layer's options have no
 *   equivalent in a recipe (a mask expression, a score mod) and there is no `recipe`
 *
 * @example
 * const store = storeFromModel(decoder.attention("the old ship"));
 * store.blocks[0].layers.length; // → 4
 */
export function storeFromModel(shown: ModelInput, options: ComputeOptions = {}): HeadStore {
  checkCount("storeFromModel", arguments, 2);
  checkNames("storeFromModel", options, COMPUTE_OPTIONS);
  if (
    !Array.isArray(shown?.layers) ||
    shown.layers.some((layer) => typeof layer !== "object" || layer === null) ||
    !Array.isArray(shown.tokens)
  )
    refuseGot(
      "shown",
      "storeFromModel: expected the result of model.attention(text), { tokens, layers }",
      shown,
    );
  const { tokens, text, model, segments, lang } = shown;
  const recipe = shown.recipe ?? recipeOf(shown.layers);
  const layers = shown.layers.map(({ query, key, value, q, k, v, lse }) => ({
    query: query ?? q,
    key: key ?? k,
    value: value ?? v,
    lse,
  }));
  return storeFrom(
    {
      name: shown.name ?? model ?? "model",
      model,
      text,
      lang,
      blocks: [{ tokens, recipe, segments, layers }],
    },
    options,
  );
}

/** The recipe from the options of the layers' calls: one for all layers, or an override for each. */
function recipeOf(layers: ModelInput["layers"]): ScoreRecipe {
  const each = layers.map((layer, n) => layerRecipe(layer, n));
  const first = JSON.stringify(each[0]);
  if (each.every((recipe) => JSON.stringify(recipe) === first)) return each[0] ?? {};
  return { layerOverrides: Object.fromEntries(each.entries()) };
}

/** A recipe of `heed/models` as one of a store, without the terms that have tensors. */
export const recipeOfModel = ({ mask, scale, softcap, alibi }: ModelLayerRecipe): LayerRecipe => ({
  mask,
  ...(scale !== undefined && { scale }),
  ...(softcap !== undefined && { softcap }),
  ...(alibi && { bias: { alibi } }),
});

function layerRecipe(
  { query, q, key, k, options = {}, recipe }: ModelInput["layers"][number],
  n: number,
): LayerRecipe {
  if (recipe && !recipe.relative && !recipe.disentangled) return recipeOfModel(recipe);
  checkKind("storeFromModel", `the options of layer ${n}`, "an object", options);
  const what = `storeFromModel: the options of layer ${n}`;
  checkKinds(what, { scale: options.scale }, { "a number": "scale" });
  if (typeof options.queryOffset === "number")
    checkInteger(what, "queryOffset", options.queryOffset, -(2 ** 30), 2 ** 30);
  const { isCausal = false, queryOffset, scale, returnWeights: _, ...rest } = options;
  if (![false, true, "upper-left", "lower-right"].includes(isCausal))
    refuseValue(what, "isCausal", 'true, false, "upper-left" or "lower-right"', isCausal);
  const other = Object.entries(rest).find(([, value]) => value !== undefined)?.[0];
  if (other !== undefined || (queryOffset !== undefined && typeof queryOffset !== "number"))
    throw new UnsupportedError(
      "recipe",
      `${what} hold ${other ?? "a list as queryOffset"}, which has no equivalent in a recipe; give { recipe } to describe how the scores are computed`,
      { layer: n, option: other ?? "queryOffset" },
    );
  const length = (t: TensorLike | undefined) => (t ? (asTensor("storeFromModel", t).shape.at(-2) ?? 0) : 0);
  const offset = isCausal === "lower-right" ? length(key ?? k) - length(query ?? q) : queryOffset;
  return {
    ...(isCausal !== false && { mask: "causal" }),
    ...(offset && { queryOffset: offset }),
    ...(scale !== undefined && { scale }),
  };
}

/** Computes in workers, or on this thread if there are none. */
export function computeFor({ worker, workers, workerBytes, kernel = plainKernel }: ComputeOptions): Compute {
  const onThisThread = () => localCompute(kernel);
  if (!worker) return onThisThread();
  const cores =
    (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator?.hardwareConcurrency ?? 2;
  const count = workers ?? Math.min(4, Math.max(1, cores - 1));
  if (!(Number.isInteger(count) && count >= 0 && count <= 64))
    refuseGot("workers", "HeadStore: workers must be an integer from 0 to 64", count, { workers: count });
  const ports: Port[] = [];
  try {
    while (ports.length < count) ports.push(worker());
  } catch {
    // A security policy can forbid workers, and the constructor throws. The workers made so far are used, or this thread.
  }
  return ports.length === 0
    ? onThisThread()
    : remoteCompute(ports, { fallback: onThisThread, capacity: workerBytes });
}
