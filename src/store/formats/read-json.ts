/**
 * Attention in JSON, in the formats of other tools: BertViz's ([layers][1][heads][n][n] with tokens, its parameters
 * with left_text and right_text, sentence_b_start, encoder, decoder and cross attention), CircuitsVis's ([heads][n][n]
 * with tokens), and Inspectus's lists of `{ values: base64, shape }`. Weights only; for q and k use a bundle.
 */
import { FormatError, formatValue } from "../../core/errors.ts";
import type { FileTensor } from "../../io/element.ts";
import { checkSize, sizeLimit } from "../../io/limit.ts";
import type { Source } from "../../io/source.ts";
import type { Segment } from "../block.ts";
import { formatBytes } from "../sentences/report.ts";
import { fromArrays } from "./arrays.ts";
import { type JsonValue, NumberList, readJson } from "./json-value.ts";
import { type Problems, VERSION } from "./metadata.ts";
import { type Bag, memoryBag } from "./tensor-source.ts";

/** A JSON file as a bundle: tensors under bundle names, and metadata. */
export interface Converted {
  readonly tensors: Map<string, FileTensor>;
  readonly metadata: Map<string, string>;
}

type Fields = Map<string, JsonValue>;

const ATTENTION = ["attention", "attentions", "attn", "weights", "pattern", "patterns", "values"];
const TOKENS = ["tokens", "left_text", "labels", "str_tokens"];
/** BertViz's names for a model with an encoder and a decoder. */
const SIDES = [
  { block: "enc", attention: "encoder_attention", query: "encoder", key: "encoder" },
  { block: "dec", attention: "decoder_attention", query: "decoder", key: "decoder" },
  { block: "cross", attention: "cross_attention", query: "decoder", key: "encoder" },
] as const;

/** Default maximum size of a JSON file, and the size above which a warning says that reading is slow. */
const MAX_BYTES = 256 * 2 ** 20;
const SLOW = 16 * 2 ** 20;

/** Reads the weights of a JSON file of at most `maxBytes` (default 256 MiB). */
export async function readJsonFile(
  source: Source,
  name: string,
  problems: Problems,
  maxBytes?: number,
): Promise<Bag> {
  const size = formatBytes(source.size);
  checkSize(
    "openStore",
    `${name} (JSON)`,
    source.size,
    sizeLimit("openStore", { maxBytes }, MAX_BYTES),
    ". Save q and k (or the weights) as safetensors: a tenth of the size, and read in parts",
  );
  if (source.size > SLOW)
    problems.add(
      "warning",
      "json-size",
      `JSON of ${size} is slow to read; save it as a bundle, which is much smaller and opens immediately`,
    );
  const { tensors, metadata } = fromJson(await source.read(0, source.size), name, problems);
  return memoryBag(tensors, metadata);
}

/** Reads a JSON text of attention weights. */
function fromJson(bytes: Uint8Array, name: string, problems: Problems): Converted {
  const root = readJson(bytes, `openStore: ${name}`);
  const out: Converted = { tensors: new Map(), metadata: new Map([["heed", VERSION]]) };
  const blocks: Record<string, unknown> = {};
  const add = (
    block: string,
    weights: FileTensor,
    query?: readonly string[],
    key?: readonly string[],
    about: object = {},
  ) => {
    for (const [tensor, value] of fromArrays(new Map([["attn", weights]]), problems, block))
      out.tensors.set(tensor, value);
    const lists: Record<string, string> = {};
    if (query) {
      out.metadata.set(`tokens.${block}`, JSON.stringify(query));
      lists.queryTokens = block;
    }
    if (key && key.join("\0") !== query?.join("\0")) {
      out.metadata.set(`tokens.${block}.keys`, JSON.stringify(key));
      lists.keyTokens = `${block}.keys`;
    }
    blocks[block] = { ...lists, ...about };
  };

  const read = (value: JsonValue, fallback: string): void => {
    if (value instanceof NumberList) add(fallback, tensorOf(value));
    else if (Array.isArray(value)) readList(value, fallback);
    else if (value instanceof Map) readObject(value, fallback);
    else unknown(name, value);
  };
  const addLang = (name: string, lang: JsonValue | undefined) => {
    // The metadata reader checks the tag and reports invalid ones.
    if (lang !== undefined && lang !== null)
      out.metadata.set(name, typeof lang === "string" ? lang : formatValue(lang));
  };
  const readObject = (value: Fields, fallback: string): void => {
    if (value === root) addLang("lang", value.get("lang"));
    const sides = SIDES.filter(({ attention }) => value.has(attention));
    for (const stack of sides) {
      const weights = weightsOf(value.get(stack.attention)!, name);
      const [query, key] = [stack.query, stack.key].map((which) => texts(value.get(`${which}_tokens`)));
      add(stack.block, weights, query, key, { kind: stack.block === "cross" ? "cross" : "self" });
      addLang(`lang.${stack.block}`, value.get(`${stack.query}_lang`));
      addLang(`lang.${stack.block}.keys`, value.get(`${stack.key}_lang`));
    }
    if (sides.length > 0) return;
    const nested = ATTENTION.map((key) => value.get(key)).find((x) => x !== undefined);
    if (nested === undefined) unknown(name, value);
    const tokens = TOKENS.map((key) => texts(value.get(key))).find((x) => x !== undefined);
    if (
      isList(nested) &&
      nested.some((x) => x instanceof Map && ATTENTION.some((key) => x.has(key)) && !x.has("shape"))
    ) {
      // BertViz's parameters: a list of views, each with its own attention and texts.
      nested.forEach((view, n) => read(view, blockName(view, n)));
      return;
    }
    const weights = weightsOf(nested, name);
    const keys = texts(value.get("right_text")) ?? texts(value.get("key_tokens"));
    if (value !== root) addLang(`lang.${fallback}`, value.get("lang"));
    addLang(
      `lang.${fallback}.keys`,
      value.get("key_lang") ?? (value === root ? undefined : value.get("lang")),
    );
    const segments = sentences(value.get("sentence_b_start"), tokens, problems);
    const headNames = ["head_labels", "attentionHeadNames", "head_names"]
      .map((key) => texts(value.get(key)))
      .find((x) => x !== undefined);
    add(fallback, weights, tokens, keys, {
      ...(segments ? { segments } : {}),
      ...(headNames ? { headNames } : {}),
    });
  };
  const readList = (list: readonly JsonValue[], fallback: string): void => {
    if (list.length === 0) unknown(name, list as JsonValue[]);
    if (list.every(isPacked)) add(fallback, weightsOf(list as JsonValue[], name));
    else list.forEach((view, n) => read(view, blockName(view, n)));
  };
  read(root, "self");
  out.metadata.set("blocks", JSON.stringify(blocks));
  return out;
}

function unknown(name: string, value: JsonValue): never {
  const what =
    value instanceof Map
      ? `an object with ${[...value.keys()].slice(0, 8).map(formatValue).join(", ")}`
      : Array.isArray(value)
        ? `a list of ${value.length}`
        : formatValue(value);
  throw new FormatError(
    "json-attention",
    `openStore: ${name}: no attention in it: expected nested lists [layers][heads][queries][keys], or an object with \`attention\` and \`tokens\`, got ${what}`,
  );
}

const isList = (x: JsonValue | undefined): x is JsonValue[] => Array.isArray(x);

/** Inspectus's way: a list of base64 texts with their shapes. */
const isPacked = (x: JsonValue): x is Fields =>
  x instanceof Map && typeof x.get("values") === "string" && x.get("shape") instanceof NumberList;

function blockName(view: JsonValue, n: number): string {
  const title = view instanceof Map ? view.get("name") : undefined;
  if (typeof title === "string" && title !== "")
    return title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_-]+/gu, "-")
      .slice(0, 60);
  return n === 0 ? "self" : `self-${n + 1}`;
}

function texts(value: JsonValue | undefined): readonly string[] | undefined {
  return Array.isArray(value) && value.every((x) => typeof x === "string") ? (value as string[]) : undefined;
}

/** Sentence A and B, from where B starts. */
function sentences(
  value: JsonValue | undefined,
  tokens: readonly string[] | undefined,
  problems: Problems,
): Segment[] | undefined {
  if (value === undefined || value === null) return undefined;
  const count = tokens?.length ?? 0;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > count) {
    problems.add(
      "warning",
      "sentence-b-start",
      `sentence_b_start must be an integer from 0 to ${count}, got ${formatValue(value)}; there are no segments`,
    );
    return undefined;
  }
  return [
    { name: "A", query: [0, value], key: [0, value] },
    { name: "B", query: [value, count], key: [value, count] },
  ];
}

function tensorOf({ data, shape }: NumberList): FileTensor {
  return { data, shape, dtype: "float64" };
}

/** Weights out of whatever holds them: nested numbers, base64, or a list of those, one a layer. */
function weightsOf(value: JsonValue, name: string): FileTensor {
  if (value instanceof NumberList) return tensorOf(value);
  if (isPacked(value)) return unpack(value, name);
  if (Array.isArray(value) && value.length > 0) {
    const layers = value.map((layer) => weightsOf(layer, name));
    const [{ shape }] = layers;
    for (const [n, layer] of layers.entries())
      if (layer.shape.join() !== shape.join())
        throw new FormatError(
          "json-attention",
          `openStore: ${name}: entry ${n} is [${layer.shape.join(", ")}], the first [${shape.join(", ")}]; all must have the same shape`,
        );
    const size = layers[0].data.length;
    const data = new Float64Array(size * layers.length);
    layers.forEach((layer, n) => data.set(layer.data as Float64Array, n * size));
    return { data, shape: [layers.length, ...shape], dtype: "float64" };
  }
  return unknown(name, value);
}

/** float32 numbers in base64, little-endian. */
function unpack(fields: Fields, name: string): FileTensor {
  const shape = Array.from((fields.get("shape") as NumberList).data);
  const fail = (what: string): never => {
    throw new FormatError("json-attention", `openStore: ${name}: ${what}`);
  };
  if (!shape.every((n) => Number.isSafeInteger(n) && n >= 0)) fail(`a shape [${shape.join(", ")}]`);
  let text: string;
  try {
    text = atob(fields.get("values") as string);
  } catch {
    return fail("values that are not base64");
  }
  const size = shape.reduce((a, b) => a * b, 1);
  if (text.length !== 4 * size)
    fail(
      `values of ${text.length} bytes for the shape [${shape.join(", ")}], which takes ${4 * size} as float32`,
    );
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < bytes.length; n++) bytes[n] = text.charCodeAt(n);
  const view = new DataView(bytes.buffer);
  const data = Float64Array.from({ length: size }, (_, n) => view.getFloat32(4 * n, true));
  return { data, shape, dtype: "float64" };
}
