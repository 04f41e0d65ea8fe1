/**
 * Stores over arrays a program already has: a model's queries and keys, or weights from elsewhere. Nothing is copied;
 * what does not fit is an error at once.
 */
import { came, FormatError, OptionError } from "../../core/errors.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { Problems, VERSION } from "./about.ts";
import { type Bag, memoryBag } from "./bag.ts";
import { type Compute, localCompute } from "./compute.ts";
import type { HeadData } from "./head.ts";
import { type Kernel, plainKernel } from "./kernel.ts";
import { layOut } from "./layout.ts";
import type { Port } from "./messages.ts";
import type { ScoreRecipe } from "./recipe.ts";
import { remoteCompute } from "./remote.ts";
import { bytesIn, type Checks, examine, reportOf, sample } from "./report.ts";
import { sourceOf } from "./source.ts";
import { createStore } from "./store.ts";
import type { HeadStore, LoadReport, Segment } from "./types.ts";

/** Tensors of one layer: query and key, or weights. */
export interface LayerInput {
  /** Its number; by default its place in the list. */
  readonly layer?: number;
  /** [heads, Nq, d], after rotation and norms. */
  readonly query?: TensorLike;
  /** [key heads, Nk, d] */
  readonly key?: TensorLike;
  /** [heads, Nq, Nk], floats, or uint8 for n/255. */
  readonly weights?: TensorLike;
  /** [key heads, Nk, dv] */
  readonly value?: TensorLike;
  /** [key heads, Nk] */
  readonly valueNorm?: TensorLike;
  /** [heads·dv, width] */
  readonly outputWeight?: TensorLike;
  /** [heads, Nq]: the model's own log-sum-exp. */
  readonly lse?: TensorLike;
}

/** Heads that share tokens, sizes and recipe. */
export interface BlockInput {
  /** Default "self". */
  readonly name?: string;
  readonly kind?: "self" | "cross";
  /** Tokens of queries and keys alike; or each their own. */
  readonly tokens?: readonly string[];
  readonly queryTokens?: readonly string[];
  readonly keyTokens?: readonly string[];
  readonly queryOffset?: number;
  readonly segments?: readonly Segment[];
  /** Positions of markers; by their looks where left out. */
  readonly special?: { readonly query: readonly number[]; readonly key: readonly number[] };
  readonly headNames?: readonly string[];
  readonly recipe?: ScoreRecipe;
  /** Tensors the recipe names. */
  readonly tensors?: Readonly<Record<string, TensorLike>>;
  readonly layers: readonly LayerInput[];
}

/** What a store is made from. */
export interface StoreInput {
  readonly name?: string;
  readonly model?: string;
  readonly text?: string;
  readonly blocks: readonly BlockInput[];
}

/** Where long work is done. */
export interface ComputeOptions {
  /** Makes a worker that runs `serveStore`. Without it, or where it fails, work is done on this thread in slices. */
  readonly worker?: () => Port;
  /** How many; by default one fewer than there are cores, 1 to 4. */
  readonly workers?: number;
  /** What computes on this thread; the plain kernel by default. */
  readonly kernel?: Kernel;
}

const PARTS = [
  ["query", "q"],
  ["key", "k"],
  ["weights", "w"],
  ["value", "v"],
  ["valueNorm", "vnorm"],
  ["outputWeight", "wo"],
  ["lse", "lse"],
] as const;

/** A store over arrays in memory. */
export function storeFrom(input: StoreInput, options: ComputeOptions = {}): HeadStore {
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
  // In memory every head answers at once.
  for (const ref of sample(blocks)) examine(source.head(ref) as HeadData, checks);
  const what: Pick<LoadReport, "name" | "format" | "bytes"> = {
    name: input.name ?? "memory",
    format: "memory",
    bytes: bytesIn(bag),
  };
  return createStore(source, reportOf(what, bag, blocks, about, problems, checks), computeFor(options));
}

/** The arrays under the names of a bundle, with a bundle's metadata. */
export function bagFrom(input: StoreInput): Bag {
  if (input === null || typeof input !== "object" || !Array.isArray(input.blocks))
    throw new OptionError("store", `storeFrom: expected { blocks: [...] }, got ${came(input)}`, {
      got: input,
    });
  const tensors = new Map<string, TensorLike>();
  const metadata = new Map([["heed", VERSION]]);
  if (input.model !== undefined) metadata.set("model", input.model);
  if (input.text !== undefined) metadata.set("text", input.text);
  const abouts: Record<string, unknown> = {};
  const put = (name: string, value: TensorLike) => {
    if (tensors.has(name))
      throw new OptionError("tensor", `storeFrom: the tensor \`${name}\` is given twice`, { name });
    tensors.set(name, value);
  };
  for (const block of input.blocks) {
    const { name = "self", kind, queryOffset, segments, special, headNames, recipe, layers } = block;
    if (name in abouts)
      throw new OptionError("block", `storeFrom: two blocks are called ${came(name)}`, { name });
    if (!Array.isArray(layers))
      throw new OptionError(
        "block",
        `storeFrom: block ${came(name)}: layers must be a list, got ${came(layers)}`,
        { name },
      );
    layers.forEach((layer: LayerInput, n) => {
      for (const [field, part] of PARTS) {
        const value = layer[field];
        if (value !== undefined) put(`${name}.${part}.${layer.layer ?? n}`, value);
      }
    });
    for (const [tensor, value] of Object.entries<TensorLike>(block.tensors ?? {})) put(tensor, value);
    const queryTokens = block.queryTokens ?? block.tokens;
    const keyTokens = block.keyTokens ?? block.tokens;
    if (queryTokens) metadata.set(`tokens.${name}`, JSON.stringify(queryTokens));
    if (keyTokens && keyTokens !== queryTokens)
      metadata.set(`tokens.${name}.keys`, JSON.stringify(keyTokens));
    abouts[name] = {
      ...(kind === undefined ? {} : { kind }),
      ...(queryTokens ? { queryTokens: name } : {}),
      ...(keyTokens ? { keyTokens: keyTokens === queryTokens ? name : `${name}.keys` } : {}),
      ...(queryOffset === undefined ? {} : { queryOffset }),
      ...(segments ? { segments } : {}),
      ...(special ? { special } : {}),
      ...(headNames ? { headNames } : {}),
    };
    if (recipe) metadata.set(`recipe.${name}`, JSON.stringify(recipe));
  }
  metadata.set("blocks", JSON.stringify(abouts));
  return memoryBag(tensors, metadata);
}

/** What a model shows of one text. */
export interface ModelInput {
  readonly tokens: readonly string[];
  readonly text?: string;
  readonly model?: string;
  readonly name?: string;
  /** Of each layer, [heads, n, d]; `q`, `k`, `v` are taken as well. */
  readonly layers: readonly {
    readonly query?: TensorLike;
    readonly key?: TensorLike;
    readonly value?: TensorLike;
    readonly q?: TensorLike;
    readonly k?: TensorLike;
    readonly v?: TensorLike;
    readonly lse?: TensorLike;
  }[];
  readonly recipe?: ScoreRecipe;
  readonly segments?: readonly Segment[];
}

/** A store over what a model of `heed/models` shows of a text. */
export function storeFromModel(shown: ModelInput, options: ComputeOptions = {}): HeadStore {
  const { tokens, text, model, recipe, segments } = shown;
  const layers = shown.layers.map(({ query, key, value, q, k, v, lse }) => ({
    query: query ?? q,
    key: key ?? k,
    value: value ?? v,
    lse,
  }));
  return storeFrom(
    { name: shown.name ?? model ?? "model", model, text, blocks: [{ tokens, recipe, segments, layers }] },
    options,
  );
}

/** Workers where they can be had, this thread where not. */
export function computeFor({ worker, workers, kernel = plainKernel }: ComputeOptions): Compute {
  const here = () => localCompute(kernel);
  if (!worker) return here();
  const cores =
    (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator?.hardwareConcurrency ?? 2;
  const count = workers ?? Math.min(4, Math.max(1, cores - 1));
  if (!(Number.isInteger(count) && count >= 0 && count <= 64))
    throw new OptionError(
      "workers",
      `HeadStore: workers must be an integer from 0 to 64, got ${came(count)}`,
      { workers: count },
    );
  const ports: Port[] = [];
  try {
    while (ports.length < count) ports.push(worker());
  } catch {
    // A policy that forbids workers says so by throwing: those that were made serve, or this thread.
  }
  return ports.length === 0 ? here() : remoteCompute(ports, { fallback: here });
}
