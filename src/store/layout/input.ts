/**
 * The input of `storeFrom` and `writeBundle`: blocks of layers with their tensors, tokens and recipe; and its conversion to
 * a bag with the names of a bundle.
 */
import { formatValue, isList, OptionError, refuseGot } from "../../core/errors.ts";
import { checkKind, checkKinds, type FieldKinds } from "../../core/option-names.ts";
import type { TensorLike } from "../../core/tensor.ts";
import type { PictureGrid, Segment } from "../block.ts";
import { languageTag, VERSION } from "../formats/metadata.ts";
import type { Evidence } from "../formats/stored-evidence.ts";
import { type Bag, memoryBag } from "../formats/tensor-source.ts";
import type { ScoreRecipe } from "../recipe/recipe.ts";

/** Tensors of one layer: query and key, or weights. */
export interface LayerInput {
  /** The layer number. Default: its index in the list. */
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
  /** `[heads, Nq]`: the model's own log-sum-exp. */
  readonly lse?: TensorLike;
}

/** Heads that share tokens, sizes and recipe. */
export interface BlockInput {
  /** Default "self". */
  readonly name?: string;
  readonly kind?: "self" | "cross";
  /** Tokens of queries and keys; or separate lists for each. */
  readonly tokens?: readonly string[];
  readonly queryTokens?: readonly string[];
  readonly keyTokens?: readonly string[];
  /** Language of the tokens, a BCP 47 tag such as `ar`; or separate ones for queries and keys. Default: `lang` of the input. */
  readonly lang?: string;
  readonly queryLang?: string;
  readonly keyLang?: string;
  readonly queryOffset?: number;
  readonly segments?: readonly Segment[];
  /** Pictures whose patches are keys: [height, width, 3] uint8, and the position, rows and columns of the patches. */
  readonly pictures?: readonly (Omit<PictureGrid, "tensor"> & { readonly image: TensorLike })[];
  /** Positions of special tokens. Default: detected by their form. */
  readonly special?: { readonly query: readonly number[]; readonly key: readonly number[] };
  readonly headNames?: readonly string[];
  readonly recipe?: ScoreRecipe;
  /** Tensors that the recipe refers to, by name. */
  readonly tensors?: Readonly<Record<string, TensorLike>>;
  readonly layers: readonly LayerInput[];
  /** The residual stream [Nq, width] after the embedding (0) and after each layer (1, 2, …). */
  readonly states?: readonly TensorLike[];
  /** Results about this text that need the model, each with the command that made it. */
  readonly evidence?: readonly Evidence[];
}

/** The input of `storeFrom`. */
export interface StoreInput {
  readonly name?: string;
  readonly model?: string;
  readonly text?: string;
  /** Language of all tokens, a BCP 47 tag such as `ar`. Default: unknown. */
  readonly lang?: string;
  /** What a reader must know before trusting the numbers; stored in the bundle, and shown wherever it is opened. */
  readonly warnings?: readonly string[];
  readonly blocks: readonly BlockInput[];
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

const INPUT: FieldKinds = { "a text": "name model text", "a list of texts": "warnings", "": "lang blocks" };
const BLOCK: FieldKinds = {
  "a text": "name kind",
  "a list of texts": "tokens queryTokens keyTokens headNames",
  "a list of objects": "segments pictures layers evidence",
  "an object": "special recipe tensors",
  "a list": "states",
  "a number": "queryOffset",
  "": "lang queryLang keyLang",
};
const SEGMENT: FieldKinds = { "a text": "name", "a list of integers ≥ 0": "query key" };
const PICTURE: FieldKinds = { "": "image", "an integer ≥ 0": "first rows columns" };
const SPECIAL: FieldKinds = { "a list of integers ≥ 0": "query key" };
const LAYER: FieldKinds = { "an integer ≥ 0": "layer", "": PARTS.map(([field]) => field).join(" ") };

/** Throws where JSON would leave a value out or change it. */
function checkJson(what: string, value: unknown): void {
  const isPlain = ["string", "boolean", "undefined"].includes(typeof value) || Number.isFinite(value);
  if (isPlain) return;
  if (!Array.isArray(value)) checkKind(what, "a value", "an object", value);
  for (const [name, one] of Object.entries(value as object)) checkJson(`${what}.${name}`, one);
}

/** Converts the input to a bag with the names and the metadata of a bundle. */
export function bagFrom(input: StoreInput): Bag {
  if (input === null || typeof input !== "object" || !isList(input.blocks))
    refuseGot(
      "store",
      "storeFrom: expected { blocks: [...] } (of a model's attention, storeFromModel makes a store)",
      input,
    );
  checkKinds("storeFrom", input, INPUT);
  const tensors = new Map<string, TensorLike>();
  const metadata = new Map([["heed", VERSION]]);
  if (input.model !== undefined) metadata.set("model", input.model);
  if (input.text !== undefined) metadata.set("text", input.text);
  if (input.warnings?.length) metadata.set("warnings", JSON.stringify(input.warnings));
  const addLang = (name: string, lang: string | undefined) => {
    if (lang !== undefined) metadata.set(name, languageTag(lang, `storeFrom: ${name}`));
  };
  addLang("lang", input.lang);
  const abouts: Record<string, unknown> = {};
  const put = (name: string, value: TensorLike) => {
    if (tensors.has(name))
      throw new OptionError("tensor", `storeFrom: the tensor \`${name}\` is given twice`, { name });
    tensors.set(name, value);
  };
  for (const [index, block] of input.blocks.entries()) {
    checkKinds(`storeFrom: blocks[${index}]`, block, BLOCK);
    const {
      name = "self",
      kind,
      queryOffset,
      segments,
      pictures = [],
      special,
      headNames,
      recipe,
      layers,
    } = block;
    if (name in abouts)
      throw new OptionError("block", `storeFrom: two blocks are called ${formatValue(name)}`, { name });
    checkKind(`storeFrom: block ${formatValue(name)}`, "layers", "a list of objects", layers);
    layers.forEach((layer, n) => {
      checkKinds(`storeFrom: blocks[${index}].layers[${n}]`, layer, LAYER);
      for (const [field, part] of PARTS) {
        const value = layer[field];
        if (value !== undefined) put(`${name}.${part}.${layer.layer ?? n}`, value);
      }
    });
    block.states?.forEach((value, n) => put(`${name}.state.${n}`, value));
    if (block.evidence?.length) metadata.set(`evidence.${name}`, JSON.stringify(block.evidence));
    for (const [tensor, value] of Object.entries<TensorLike>(block.tensors ?? {})) put(tensor, value);
    for (const [n, segment] of (segments ?? []).entries())
      checkKinds(`storeFrom: segments[${n}]`, segment, SEGMENT);
    for (const [n, picture] of pictures.entries()) checkKinds(`storeFrom: pictures[${n}]`, picture, PICTURE);
    if (special) checkKinds("storeFrom: special", special, SPECIAL);
    if (recipe) checkJson("storeFrom: recipe", recipe);
    const grids = pictures.map(({ image, ...grid }, n) => {
      const tensor = `${name}.picture.${n}`;
      put(tensor, image);
      return { tensor, ...grid };
    });
    const queryTokens = block.queryTokens ?? block.tokens;
    const keyTokens = block.keyTokens ?? block.tokens;
    if (queryTokens) metadata.set(`tokens.${name}`, JSON.stringify(queryTokens));
    if (keyTokens && keyTokens !== queryTokens)
      metadata.set(`tokens.${name}.keys`, JSON.stringify(keyTokens));
    if (queryTokens) addLang(`lang.${name}`, block.queryLang ?? block.lang);
    if (keyTokens && keyTokens !== queryTokens) addLang(`lang.${name}.keys`, block.keyLang ?? block.lang);
    abouts[name] = {
      ...(kind === undefined ? {} : { kind }),
      ...(queryTokens ? { queryTokens: name } : {}),
      ...(keyTokens ? { keyTokens: keyTokens === queryTokens ? name : `${name}.keys` } : {}),
      ...(queryOffset === undefined ? {} : { queryOffset }),
      ...(segments ? { segments } : {}),
      ...(grids.length > 0 ? { pictures: grids } : {}),
      ...(special ? { special } : {}),
      ...(headNames ? { headNames } : {}),
    };
    if (recipe) metadata.set(`recipe.${name}`, JSON.stringify(recipe));
  }
  metadata.set("blocks", JSON.stringify(abouts));
  return memoryBag(tensors, metadata);
}
