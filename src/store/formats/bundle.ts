/**
 * Writes bundles: safetensors with a recipe, of a whole store or of some layers, heads and first tokens, in the requested
 * dtype. The recipe is changed to match the subset: slopes, sinks and tables keep the entries of the chosen heads, and the
 * model's log-sum-exp is kept only if all keys are.
 */
import { arrayFor, FLOAT_DTYPES, type FloatDType, isFloat, writerOf } from "../../core/dtype.ts";
import { checkCount, formatValue, OptionError, refuseGot } from "../../core/errors.ts";
import { checkKinds } from "../../core/option-names.ts";
import { sizeOf } from "../../core/tensor.ts";
import { ELEMENTS, type FileTensor } from "../../io/element.ts";
import { writeSafetensors } from "../../io/safetensors/safetensors.ts";
import type { Block } from "../block.ts";
import { bagFrom, type StoreInput } from "../layout/input.ts";
import { type Laid, type Layer, layOut } from "../layout/layout.ts";
import type { LayerRecipe, ScoreRecipe } from "../recipe/recipe.ts";
import { Problems, VERSION } from "./metadata.ts";
import { type Bag, floatsOf } from "./tensor-source.ts";

/** The part of a store that goes into a bundle. Default: all of it. */
export interface BundleOptions {
  /** Names of blocks. */
  readonly blocks?: readonly string[];
  readonly layers?: readonly number[];
  /** Heads of every layer; the head names keep their original numbers. */
  readonly heads?: readonly number[];
  /** Number of tokens, from the first. Rows of given weights then no longer sum to 1; computed rows have fewer keys. */
  readonly tokens?: number;
  /** dtype of queries, keys, values and weights. Default: unchanged. */
  readonly dtype?: FloatDType;
  /** dtype of given weights. `uint8` is n/255, with an error of at most 0.002. */
  readonly weightDtype?: FloatDType | "uint8";
  /** False leaves out values and output weights. Default true. */
  readonly values?: boolean;
}

/** A tensor to write: its source, the part to take, and the dtype. */
interface Entry {
  readonly name: string;
  readonly from: string;
  /** Indices along each axis; undefined: all. */
  readonly indices: readonly (readonly number[] | undefined)[];
  readonly shape: readonly number[];
  readonly dtype: FileTensor["dtype"];
}

/** The tensors and metadata of a bundle, before any tensor is read. */
interface BundlePlan {
  readonly entries: readonly Entry[];
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * A bundle of arrays in memory.
 *
 * @example
 * const query = randn([2, 3, 8], { seed: 1 });
 * const bytes = await writeBundle({ blocks: [{ tokens: ["a", "b", "c"], layers: [{ query, key: query }] }] });
 * writeFileSync("own.safetensors", bytes); // heed view opens it
 */
export async function writeBundle(input: StoreInput, options: BundleOptions = {}): Promise<Uint8Array> {
  checkCount("writeBundle", arguments, 2);
  const bag = bagFrom(input);
  const problems = new Problems();
  const { blocks } = layOut(bag, problems);
  const errors = problems.list.filter(({ severity }) => severity === "error");
  if (errors.length > 0)
    throw new OptionError("bundle", `writeBundle: ${errors.map(({ text }) => text).join("; ")}`, {
      problems: errors,
    });
  return writeBag(bag, blocks, options);
}

/** Bytes of a bundle's tensors, computed from their shapes. */
export function bundleSize(bag: Bag, blocks: readonly Laid[], options: BundleOptions = {}): number {
  return plan(bag, blocks, options).entries.reduce(
    (sum, { shape, dtype }) => sum + sizeOf(shape) * ELEMENTS[dtype].bytes,
    0,
  );
}

/** Writes the tensors of a bag as a bundle. */
export async function writeBag(
  bag: Bag,
  blocks: readonly Laid[],
  options: BundleOptions = {},
): Promise<Uint8Array> {
  const { entries, metadata } = plan(bag, blocks, options);
  const tensors = new Map<string, FileTensor>();
  for (const entry of entries) tensors.set(entry.name, convert(await bag.read(entry.from), entry));
  return writeSafetensors(tensors as never, { metadata });
}

function plan(bag: Bag, blocks: readonly Laid[], options: BundleOptions): BundlePlan {
  check(blocks, options);
  const entries: Entry[] = [];
  const metadata = new Map([["heed", VERSION]]);
  for (const key of ["model", "text", "created_by", "warnings"]) {
    const text = bag.metadata.get(key);
    if (text !== undefined) metadata.set(key, text);
  }
  const abouts: Record<string, unknown> = {};
  for (const laid of blocks) {
    const { block } = laid;
    if (options.blocks && !options.blocks.includes(block.name)) continue;
    const cut = cutOf(block, options);
    for (const [number, layer] of laid.layers)
      if (!options.layers || options.layers.includes(number))
        addLayer(entries, bag, block, layer, cut, options);
    for (const [number, from] of laid.states) {
      // The states before and after each layer.
      if (options.layers && !options.layers.some((one) => one === number || one + 1 === number)) continue;
      const t = bag.tensors.get(from)!;
      const shape = [cut.queries?.length ?? t.shape[0], t.shape[1]];
      entries.push({ name: from, from, indices: [cut.queries], shape, dtype: options.dtype ?? t.dtype });
    }
    // Results name heads and tokens by their numbers in the complete block.
    const isNumbered = !(options.heads || cut.queries || cut.keys);
    if (isNumbered && block.evidence.length > 0)
      metadata.set(`evidence.${block.name}`, JSON.stringify(block.evidence));
    const pictures = picturesKept(block, cut);
    for (const { tensor: name } of pictures) {
      const { shape, dtype } = bag.tensors.get(name)!;
      entries.push({ name, from: name, indices: [], shape, dtype });
    }
    const about = describe(block, cut, metadata);
    Object.assign(abouts, { [block.name]: pictures.length > 0 ? { ...about, pictures } : about });
    const recipe = recipeFor(block, cut);
    if (Object.keys(recipe).length > 0) metadata.set(`recipe.${block.name}`, JSON.stringify(recipe));
  }
  if (entries.length === 0)
    throw new OptionError(
      "bundle",
      "writeBundle: nothing to write; the store has none of the requested layers or blocks",
    );
  metadata.set("blocks", JSON.stringify(abouts));
  return { entries, metadata };
}

/** The heads, queries and keys that are kept; undefined: all. */
interface Kept {
  readonly heads?: readonly number[];
  readonly queries?: readonly number[];
  readonly keys?: readonly number[];
}

function cutOf(block: Block, { heads, tokens }: BundleOptions): Kept {
  const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);
  if (tokens === undefined) return { heads };
  const offset = block.kind === "self" ? block.queryOffset : 0;
  const queries = Math.max(0, Math.min(block.Nq, tokens - offset));
  return {
    heads,
    queries: queries < block.Nq ? upTo(queries) : undefined,
    keys: tokens < block.Nk ? upTo(tokens) : undefined,
  };
}

function addLayer(
  entries: Entry[],
  bag: Bag,
  block: Block,
  layer: Layer,
  { heads, queries, keys }: Kept,
  options: BundleOptions,
): void {
  const group = block.heads / block.keyHeads;
  const shared = heads?.map((h) => Math.floor(h / group));
  const add = (
    from: string | undefined,
    indices: Entry["indices"],
    kind: "numbers" | "weights" | "kept",
    name = from!,
  ) => {
    if (from === undefined || entries.some((entry) => entry.name === name)) return;
    const t = bag.tensors.get(from)!;
    const shape = t.shape.map((n, axis) => indices[axis]?.length ?? n);
    const wanted =
      kind === "numbers"
        ? options.dtype
        : kind === "weights"
          ? (options.weightDtype ?? options.dtype)
          : undefined;
    entries.push({ name, from, indices, shape, dtype: wanted ?? t.dtype });
  };
  const { parts } = layer;
  const dv = parts.v === undefined ? 0 : bag.tensors.get(parts.v)!.shape[2];
  const wo = (h: number) => Array.from({ length: dv }, (_, n) => h * dv + n);
  const all = options.values !== false;
  add(parts.q, [heads, queries], "numbers");
  add(parts.k, [shared, keys], "numbers");
  if (!parts.q) add(parts.w, [heads, queries, keys], "weights");
  if (all) add(parts.v, [shared, keys], "numbers");
  const norms = parts.vnorm === undefined ? 0 : bag.tensors.get(parts.vnorm)!.shape[0];
  if (all) add(parts.vnorm, [norms === block.heads ? heads : shared, keys], "kept");
  if (all) add(parts.wo, [heads && Array.from(heads).flatMap(wo)], "numbers");
  // The model's log-sum-exp is over all keys; it would not match fewer keys.
  if (keys === undefined) add(parts.lse, [heads, queries], "kept");
  for (const tensor of [layer.mask, layer.bias]) {
    const rank = tensor === undefined ? 0 : bag.tensors.get(tensor)!.shape.length;
    add(tensor, rank === 3 ? [heads, queries, keys] : [queries, keys], "kept");
  }
  add(layer.table, [undefined, heads], "kept");
  add(layer.positionKeys, [heads], "kept");
  add(layer.positionQueries, [heads], "kept");
  add(layer.sinks, [heads], "kept");
}

/** The pictures all of whose patches are kept. */
const picturesKept = ({ pictures = [], Nk }: Block, { keys }: Kept) =>
  pictures.filter(({ first, rows, columns }) => first + rows * columns <= (keys?.length ?? Nk));

/** The metadata of a block. */
function describe(
  block: Block,
  { heads, queries, keys }: Kept,
  metadata: Map<string, string>,
): Record<string, unknown> {
  const list = (tokens: readonly string[], indices: readonly number[] | undefined) =>
    indices ? indices.map((n) => tokens[n]) : tokens;
  const queryTokens = list(block.queryTokens, queries);
  const keyTokens = list(block.keyTokens, keys);
  metadata.set(`tokens.${block.name}`, JSON.stringify(queryTokens));
  const same =
    block.queryLang === block.keyLang &&
    queryTokens.length === keyTokens.length &&
    queryTokens.every((token, n) => token === keyTokens[n]);
  if (!same) metadata.set(`tokens.${block.name}.keys`, JSON.stringify(keyTokens));
  if (block.queryLang) metadata.set(`lang.${block.name}`, block.queryLang);
  if (!same && block.keyLang) metadata.set(`lang.${block.name}.keys`, block.keyLang);
  const places = (marks: readonly boolean[], count: number) =>
    marks.flatMap((mark, n) => (mark && n < count ? [n] : []));
  const span = (range: readonly [number, number] | undefined, count: number) =>
    range && ([Math.min(range[0], count), Math.min(range[1], count)] as const);
  const names = heads?.map((h) => block.headNames?.[h] ?? String(h)) ?? block.headNames;
  return {
    kind: block.kind,
    queryTokens: block.name,
    keyTokens: same ? block.name : `${block.name}.keys`,
    ...(block.queryOffset === 0 ? {} : { queryOffset: block.queryOffset }),
    ...(block.segments.length === 0
      ? {}
      : {
          segments: block.segments.map(({ name, query, key }) => ({
            name,
            query: span(query, queryTokens.length),
            key: span(key, keyTokens.length),
          })),
        }),
    ...(names ? { headNames: names } : {}),
    special: {
      query: places(block.special.query, queryTokens.length),
      key: places(block.special.key, keyTokens.length),
    },
  };
}

/** The recipe of the heads that are kept. */
function recipeFor({ recipe }: Block, { heads, keys }: Kept): ScoreRecipe {
  const cut = (layer: LayerRecipe): LayerRecipe => {
    const { bias, keyLengths } = layer;
    const lengths =
      typeof keyLengths === "object" && heads && keyLengths.length > 1
        ? heads.map((h) => keyLengths[h])
        : keyLengths;
    const upTo = (n: number) => (keys ? Math.min(n, keys.length) : n);
    return {
      ...layer,
      ...(bias && "alibi" in bias && heads ? { bias: { alibi: heads.map((h) => bias.alibi[h]) } } : {}),
      ...(lengths === undefined
        ? {}
        : { keyLengths: typeof lengths === "number" ? upTo(lengths) : lengths.map(upTo) }),
    };
  };
  const { layerOverrides, ...rest } = recipe;
  const overrides = Object.entries(layerOverrides ?? {}).map(
    ([layer, change]) => [layer, cut(change)] as const,
  );
  return { ...cut(rest), ...(overrides.length ? { layerOverrides: Object.fromEntries(overrides) } : {}) };
}

/** The entry's part of a tensor, in the entry's dtype. */
function convert(tensor: FileTensor, { indices, shape, dtype, name }: Entry): FileTensor {
  if (dtype === tensor.dtype && indices.every((axis) => axis === undefined)) return tensor;
  const from =
    dtype === tensor.dtype
      ? (tensor.data as ArrayLike<number>)
      : tensor.dtype === "uint8"
        ? scaled(tensor)
        : floatsOf(tensor);
  const size = sizeOf(shape);
  const data =
    dtype === "uint8" || dtype === tensor.dtype
      ? alike(tensor, dtype, size)
      : arrayFor(dtype as FloatDType, size);
  const write =
    dtype === tensor.dtype
      ? plainly(data)
      : dtype === "uint8"
        ? share(name, data as Uint8Array)
        : writerOf(dtype as FloatDType, data as Float32Array);
  const steps = tensor.shape.map((_, axis) => sizeOf(tensor.shape.slice(axis + 1)));
  const index = new Array<number>(shape.length).fill(0);
  for (let n = 0; n < size; n++) {
    let at = 0;
    for (let axis = 0; axis < shape.length; axis++)
      at += (indices[axis]?.[index[axis]] ?? index[axis]) * steps[axis];
    write(n, from[at]);
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
  }
  return { data, shape, dtype };
}

const scaled = ({ data }: FileTensor): Float64Array => Float64Array.from(data as Uint8Array, (n) => n / 255);

/** A new array of the tensor's type. */
function alike({ data }: FileTensor, dtype: FileTensor["dtype"], size: number): FileTensor["data"] {
  return dtype === "uint8"
    ? new Uint8Array(size)
    : new (data.constructor as new (n: number) => FileTensor["data"])(size);
}

const plainly = (data: FileTensor["data"]) => (n: number, x: number) => {
  (data as Float32Array)[n] = x;
};

/** Weights as n/255. */
const share = (name: string, data: Uint8Array) => (n: number, x: number) => {
  if (!(x >= 0 && x <= 1))
    throw new OptionError(
      "uint8",
      `writeBundle: \`${name}\` holds ${formatValue(x)}; uint8 takes weights from 0 to 1 only, choose float16`,
      { name, got: x },
    );
  data[n] = Math.round(255 * x);
};

// biome-ignore format: a table
const BUNDLE = { "a list of texts": "blocks", "a list of integers ≥ 0": "layers heads", "an integer ≥ 1": "tokens", "a text": "dtype weightDtype", "": "values" } as const;

function check(blocks: readonly Laid[], options: BundleOptions): void {
  checkKinds("writeBundle", options, BUNDLE);
  const { heads, dtype, weightDtype } = options;
  if (dtype !== undefined && !isFloat(dtype))
    refuseGot("dtype", `writeBundle: dtype must be one of ${FLOAT_DTYPES.join(", ")}`, dtype, { dtype });
  if (weightDtype !== undefined && weightDtype !== "uint8" && !isFloat(weightDtype))
    refuseGot(
      "dtype",
      `writeBundle: weightDtype must be uint8 or one of ${FLOAT_DTYPES.join(", ")}`,
      weightDtype,
      { weightDtype },
    );
  for (const { block } of blocks)
    for (const h of heads ?? [])
      if (!(Number.isInteger(h) && h >= 0 && h < block.heads))
        throw new OptionError(
          "heads",
          `writeBundle: heads holds ${formatValue(h)}; \`${block.name}\` has heads 0 to ${block.heads - 1}`,
          { head: h },
        );
}
