/**
 * Score recipes: data that describes how scores are computed from q and k, so that a file's weights can be recomputed. Positions
 * are as in heed: query i is at position i + queryOffset, key j at j; true means attend. An unknown field is an error with its
 * name: weights computed from a part of a recipe would be silently wrong.
 */
import { FormatError, formatValue } from "../../core/errors.ts";
import { describeMask, isMaskJson, MASK_KINDS, type MaskJson, maskFromJson } from "../../masks/registry.ts";

/** A score recipe. All fields are optional; the default is plain scaled dot products. Tensors are given by name; for layer L, `NAME.L` is looked up before `NAME`. */
export interface ScoreRecipe {
  /** Multiplies q·k. Default 1/√d. */
  readonly scale?: number;
  /** The mask. Default "none": every query attends to every key. */
  readonly mask?: RecipeMask;
  /** Number of real keys, the rest is padding: one number, or one per head. */
  readonly keyLengths?: number | readonly number[];
  /** Position of query 0 among the keys. Default 0. */
  readonly queryOffset?: number;
  /** c·tanh(s / c), after the scale and before any bias. */
  readonly softcap?: number;
  /** Added to the score. */
  readonly bias?: RecipeBias;
  /** Tensor [heads]: one extra logit in each row's denominator. */
  readonly sinks?: string;
  /** Fields that differ in single layers. */
  readonly layerOverrides?: Readonly<Record<string, Omit<ScoreRecipe, "layerOverrides">>>;
}

/** A window of keys. */
export interface WindowMask {
  readonly window: number;
  readonly causal: boolean;
  readonly globals?: readonly number[];
}

/**
 * `window`: keys at most that many positions away, the query's position not counted (if a model's window of W counts it, use W − 1);
 * `globals`: positions that attend to all and are attended by all; `prefix`: all queries attend to the first `prefix` keys, and causally
 * to the others; `tensor`: [Nq, Nk] or [H, Nq, Nk], whose nonzero elements are attended ("keep") or masked ("drop"). Any other mask of
 * heed by its name: `{ "dilated": 3 }`, `{ "and": ["causal", { "documents": [0, 0, 1] }] }`.
 */
export type RecipeMask =
  | "none"
  | "causal"
  | WindowMask
  | { readonly prefix: number }
  | { readonly tensor: string; readonly polarity: "keep" | "drop" }
  | { readonly named: MaskJson };

/**
 * `alibi`: one slope per head; `relative`: T5's table [buckets, heads]; `dense`: [Nq, Nk] or [H, Nq, Nk]; `disentangled`: DeBERTa's terms,
 * scale·q_i·keys[row] and scale·k_j·queries[row] with tensors [H, S, d], one or both, where `rows` has the row of each distance i − j
 * from −(N − 1) to N − 1.
 */
export type RecipeBias =
  | { readonly alibi: readonly number[] }
  | { readonly relative: string; readonly maxDistance?: number; readonly bidirectional?: boolean }
  | { readonly dense: string }
  | { readonly disentangled: DisentangledBias };

/** DeBERTa's terms of content and relative position. */
export interface DisentangledBias {
  readonly keys?: string;
  readonly queries?: string;
  readonly rows: readonly number[];
}

/** The mask in the JSON form of `src/masks/registry.ts`; undefined for "none". */
export function maskJsonOf(mask: Exclude<RecipeMask, { readonly tensor: string }>): MaskJson | undefined {
  if (mask === "none") return undefined;
  if (mask === "causal") return "causal";
  if ("named" in mask) return mask.named;
  if ("prefix" in mask) return { prefixLm: mask.prefix };
  const { window, causal, globals } = mask;
  const near = { slidingWindow: { left: window, right: causal ? -1 : window } };
  const reached = globals?.length ? { or: [near, { globalTokens: globals }] } : near;
  return causal ? { and: [reached, "causal"] } : reached;
}

/** The recipe of one layer, overrides applied. */
export type LayerRecipe = Omit<ScoreRecipe, "layerOverrides">;

const FIELDS = ["scale", "mask", "keyLengths", "queryOffset", "softcap", "bias", "sinks"] as const;

/**
 * Reads and checks a recipe. Errors begin with `where` ("recipe of `self`").
 *
 * @example
 * parseRecipe({ mask: "causal", softcap: 50 }).mask; // → "causal"
 */
export function parseRecipe(value: unknown, where = "recipe"): ScoreRecipe {
  const json = record(value, where);
  checkFields(json, [...FIELDS, "layerOverrides"], where);
  const recipe = fields(json, where);
  if (json.layerOverrides === undefined) return recipe;
  const overrides: Record<string, LayerRecipe> = {};
  for (const [layer, change] of Object.entries(record(json.layerOverrides, `${where}: layerOverrides`))) {
    const here = `${where}: layerOverrides.${layer}`;
    if (!/^(0|[1-9]\d*)$/.test(layer)) refuse(here, "a layer's number", layer);
    const entry = record(change, here);
    checkFields(entry, FIELDS, here);
    overrides[layer] = fields(entry, here);
  }
  return { ...recipe, layerOverrides: overrides };
}

/** The recipe of one layer. */
export function recipeOfLayer({ layerOverrides, ...rest }: ScoreRecipe, layer: number): LayerRecipe {
  return { ...rest, ...layerOverrides?.[String(layer)] };
}

/** The recipe in words: "scale 0.125, causal, soft cap 30". */
export function describeRecipe(recipe: ScoreRecipe, d: number | string): string {
  const { mask = "none", bias, keyLengths, queryOffset, softcap, sinks, layerOverrides } = recipe;
  const parts = [recipe.scale === undefined ? `scale 1/√${d}` : `scale ${recipe.scale}`];
  if (mask === "none") parts.push("no mask");
  else if (mask === "causal") parts.push("causal");
  else if ("window" in mask) {
    parts.push(`${mask.causal ? "causal window of" : "window of ±"}${mask.causal ? " " : ""}${mask.window}`);
    if (mask.globals?.length) parts.push(`${mask.globals.length} global tokens`);
  } else if ("named" in mask) parts.push(describeMask(mask.named));
  else if ("prefix" in mask) parts.push(`prefix of ${mask.prefix}, then causal`);
  else parts.push(`mask \`${mask.tensor}\` (nonzero = ${mask.polarity})`);
  if (keyLengths !== undefined)
    parts.push(
      typeof keyLengths === "number" ? `${keyLengths} real keys` : `real keys ${keyLengths.join(", ")}`,
    );
  if (queryOffset) parts.push(`query 0 at position ${queryOffset}`);
  if (softcap !== undefined) parts.push(`soft cap ${softcap}`);
  if (bias)
    parts.push(
      "alibi" in bias
        ? "ALiBi"
        : "relative" in bias
          ? `relative bias \`${bias.relative}\``
          : "disentangled" in bias
            ? "terms of content and position"
            : `bias \`${bias.dense}\``,
    );
  if (sinks !== undefined) parts.push(`sinks \`${sinks}\``);
  const layers = Object.keys(layerOverrides ?? {});
  if (layers.length) parts.push(`overrides in layers ${layers.join(", ")}`);
  return parts.join(", ");
}

type JsonObject = Readonly<Record<string, unknown>>;

function fields(json: JsonObject, where: string): LayerRecipe {
  const out: { -readonly [K in keyof LayerRecipe]: LayerRecipe[K] } = {};
  const { scale, softcap, queryOffset, sinks } = json;
  if (scale !== undefined) out.scale = finite(scale, `${where}: scale`);
  if (softcap !== undefined) {
    out.softcap = finite(softcap, `${where}: softcap`);
    if (out.softcap <= 0) refuse(`${where}: softcap`, "a number above 0", softcap);
  }
  if (queryOffset !== undefined) out.queryOffset = integer(queryOffset, `${where}: queryOffset`, -(2 ** 30));
  if (sinks !== undefined) out.sinks = text(sinks, `${where}: sinks`);
  if (json.keyLengths !== undefined)
    out.keyLengths = Array.isArray(json.keyLengths)
      ? json.keyLengths.map((n) => integer(n, `${where}: keyLengths`))
      : integer(json.keyLengths, `${where}: keyLengths`);
  if (json.mask !== undefined) out.mask = maskOf(json.mask, `${where}: mask`);
  if (json.bias !== undefined) out.bias = biasOf(json.bias, `${where}: bias`);
  return out;
}

function maskOf(value: unknown, where: string): RecipeMask {
  if (value === "none" || value === "causal") return value;
  // A mask of the registry, as in a file or as this function returns it.
  const named = value !== null && typeof value === "object" && "named" in value ? value.named : value;
  if (named !== value || (isMaskJson(named) && !(typeof named === "object" && "tensor" in named))) {
    maskFromJson(named, where);
    return { named: named as MaskJson };
  }
  if (typeof value === "string")
    refuse(
      where,
      `"none", "causal", { window, causal }, { prefix }, { tensor, polarity }, or one of ${MASK_KINDS.map(({ name }) => name).join(", ")} with its parameters`,
      value,
    );
  const json = record(value, where);
  if ("window" in json) {
    checkFields(json, ["window", "causal", "globals"], where);
    if (typeof json.causal !== "boolean") refuse(`${where}: causal`, "true or false", json.causal);
    const window = integer(json.window, `${where}: window`);
    const causal = json.causal as boolean;
    if (json.globals === undefined) return { window, causal };
    return { window, causal, globals: list(json.globals, `${where}: globals`, (n, at) => integer(n, at)) };
  }
  if ("prefix" in json) {
    checkFields(json, ["prefix"], where);
    return { prefix: integer(json.prefix, `${where}: prefix`) };
  }
  checkFields(json, ["tensor", "polarity"], where);
  const { polarity } = json;
  if (polarity !== "keep" && polarity !== "drop")
    return refuse(`${where}: polarity`, '"keep" or "drop"', polarity);
  return { tensor: text(json.tensor, `${where}: tensor`), polarity };
}

function biasOf(value: unknown, where: string): RecipeBias {
  const json = record(value, where);
  if ("alibi" in json) {
    checkFields(json, ["alibi"], where);
    return { alibi: list(json.alibi, `${where}: alibi`, finite) };
  }
  if ("relative" in json) {
    checkFields(json, ["relative", "maxDistance", "bidirectional"], where);
    const { maxDistance, bidirectional } = json;
    if (bidirectional !== undefined && typeof bidirectional !== "boolean")
      refuse(`${where}: bidirectional`, "true or false", bidirectional);
    return {
      relative: text(json.relative, `${where}: relative`),
      ...(maxDistance === undefined ? {} : { maxDistance: integer(maxDistance, `${where}: maxDistance`, 1) }),
      ...(bidirectional === undefined ? {} : { bidirectional: bidirectional as boolean }),
    };
  }
  if ("disentangled" in json) {
    checkFields(json, ["disentangled"], where);
    const at = `${where}: disentangled`;
    const terms = record(json.disentangled, at);
    checkFields(terms, ["keys", "queries", "rows"], at);
    const rows = list(terms.rows, `${at}: rows`, (n, here) => integer(n, here));
    if (rows.length % 2 === 0) refuse(`${at}: rows`, "an odd number of rows", rows.length);
    return {
      disentangled: {
        rows,
        ...(terms.keys !== undefined && { keys: text(terms.keys, `${at}: keys`) }),
        ...(terms.queries !== undefined && { queries: text(terms.queries, `${at}: queries`) }),
      },
    };
  }
  checkFields(json, ["dense"], where);
  return { dense: text(json.dense, `${where}: dense`) };
}

function refuse(where: string, expected: string, got: unknown): never {
  throw new FormatError("recipe", `${where}: expected ${expected}, got ${formatValue(got)}`, { where, got });
}

function record(value: unknown, where: string): JsonObject {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    return refuse(where, "an object", value);
  return value as JsonObject;
}

function checkFields(json: JsonObject, names: readonly string[], where: string): void {
  for (const name of Object.keys(json))
    if (!names.includes(name))
      throw new FormatError(
        "recipe-field",
        `${where}: the field ${formatValue(name)} is unknown, so the scores cannot be computed; known fields are ${names.join(", ")}. Give the weights instead of q and k, or leave out the field if it has no effect`,
        { where, field: name },
      );
}

function finite(value: unknown, where: string): number {
  return typeof value === "number" && Number.isFinite(value)
    ? value
    : refuse(where, "a finite number", value);
}

function integer(value: unknown, where: string, least = 0): number {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value < 2 ** 31
    ? value
    : refuse(where, `an integer from ${least}`, value);
}

function text(value: unknown, where: string): string {
  return typeof value === "string" && value !== "" ? value : refuse(where, "the name of a tensor", value);
}

function list(value: unknown, where: string, read: (x: unknown, where: string) => number): number[] {
  return Array.isArray(value) ? value.map((x) => read(x, where)) : refuse(where, "a list of numbers", value);
}
