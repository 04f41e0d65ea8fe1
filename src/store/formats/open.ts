/**
 * Opens a file of attention. Its format is detected from its first bytes, not from its name. Bundles are read by byte range,
 * other formats in full. Pickles, which can run code, are never read. The load report lists the parts that are invalid.
 */
import { checkCount, FormatError, formatValue, OptionError } from "../../core/errors.ts";
import { checkKind, checkNames } from "../../core/option-names.ts";
import { type SizeLimit, sizeLimit } from "../../io/limit.ts";
import { openSource, type Source, type SourceLike } from "../../io/source.ts";
import type { HeadRef } from "../block.ts";
import type { HeadArrays } from "../compute/head.ts";
import type { HeadStore } from "../head-store.ts";
import { COMPUTE_OPTIONS, type ComputeOptions, computeFor } from "../layout/from.ts";
import { layOut } from "../layout/layout.ts";
import { sourceOf } from "../layout/source.ts";
import { parseRecipe, type ScoreRecipe } from "../recipe/recipe.ts";
import { type Checks, examine, isWhole, type LoadReport, reportOf, sample } from "../sentences/report.ts";
import { createStore } from "../store.ts";
import { oneLine } from "../text/label.ts";
import { languageTag, Problems, tokenList } from "./metadata.ts";
import { pickle } from "./pickle.ts";
import type { Bag } from "./tensor-source.ts";

/** Options of `openStore`. */
export interface OpenStoreOptions extends ComputeOptions, SizeLimit {
  /** The name of the file. Default: a File's name, or the last part of a path. */
  readonly name?: string;
  /** Tokens for a file without tokens (npz, npy): a list, or the text of a `tokens.json`. */
  readonly tokens?: readonly string[] | string;
  /** The recipe of blocks whose recipe is not in the file: `{ mask: "causal" }` for a decoder's q and k. */
  readonly recipe?: ScoreRecipe;
  /** Language of the tokens, if the file has none: a BCP 47 tag such as `ar`. */
  readonly lang?: string;
}

/** Maximum number of problems in an error. All are in its field `problems`. */
const MAX_LISTED = 4;

type Format = "bundle" | "npz" | "npy" | "json";

/**
 * Opens a bundle (safetensors), an npz or npy file, or JSON.
 *
 * @param from a File or Blob, bytes, a path (Node), a file handle, or `{ size, read }`
 * @throws FormatError, UnsupportedError if nothing in it can be shown; problems with parts are in `report`
 *
 * @example
 * const store = await openStore("run.safetensors");
 * store.blocks[0].heads; // → 12
 * store.dispose();
 */
export async function openStore(from: SourceLike, options: OpenStoreOptions = {}): Promise<HeadStore> {
  checkCount("openStore", arguments, 2);
  checkNames("openStore", options, [...COMPUTE_OPTIONS, "maxBytes", "name", "tokens", "recipe", "lang"]);
  if (options.name !== undefined) checkKind("openStore", "name", "a text", options.name);
  if (options.recipe !== undefined) checkKind("openStore", "recipe", "an object", options.recipe);
  const name = oneLine(options.name ?? nameOf(from)).slice(0, 200);
  const source = await openSource("openStore", from);
  let bag: Bag | undefined;
  try {
    const format = await formatOf(source, name);
    const problems = new Problems();
    bag = await bagOf(source, format, name, options, problems);
    const recipe = options.recipe && parseRecipe(options.recipe, "openStore: recipe");
    const { blocks, about } = layOut(bag, problems, recipe);
    if (blocks.length === 0) {
      const first = problems.list.slice(0, MAX_LISTED).map(({ text }) => text);
      throw new FormatError(
        "nothing-to-show",
        `openStore: ${name}: nothing in it can be shown${first.length > 0 ? ": " : ""}${first.join("; ")}. A bundle holds BLOCK.q.0 and BLOCK.k.0, or BLOCK.w.0`,
        { problems: problems.list },
      );
    }
    const heads = sourceOf(bag, blocks);
    const checks: Checks = {};
    const all = isWhole(blocks, bag);
    const read: [HeadRef, HeadArrays][] = [];
    for (const ref of sample(blocks, bag)) {
      const head = await heads.head(ref);
      examine(head, all, checks);
      // The first one stays in memory, for the first picture.
      if (read.length === 0) read.push([ref, head]);
    }
    const what: Pick<LoadReport, "name" | "format" | "bytes"> = { name, format, bytes: source.size };
    const report = reportOf(what, bag, blocks, about, problems, checks);
    const close = async () => {
      await heads.close();
      await source.close();
    };
    return createStore({ ...heads, close }, report, computeFor(options), read);
  } catch (error) {
    await bag?.close();
    await source.close();
    throw error;
  }
}

function nameOf(from: SourceLike): string {
  if (typeof from === "string") return from.split(/[/\\]/).at(-1) || from;
  // openSource refuses null and undefined.
  const name = (from as { name?: unknown } | null | undefined)?.name;
  return typeof name === "string" && name !== "" ? name : "the file";
}

/** The format, from the first bytes. */
async function formatOf(source: Source, name: string): Promise<Format> {
  const first = await source.read(0, Math.min(64, source.size));
  const ascii = String.fromCharCode(...first);
  if (first.length === 0) throw new FormatError("empty", `openStore: ${name} is empty`);
  if (ascii.startsWith("\x93NUMPY")) return "npy";
  if (ascii.startsWith("PK\x03\x04") || ascii.startsWith("PK\x05\x06")) return "npz";
  const length = first.length >= 9 ? new DataView(first.buffer, first.byteOffset).getUint32(0, true) : 0;
  if (first[8] === 0x7b && first.subarray(4, 8).every((x) => x === 0) && length <= source.size - 8)
    return "bundle";
  // A pickle of protocol 2 to 5 begins with the opcode PROTO (0x80) and its number, and so do torch's old files. A bundle with a
  // header of 640 bytes begins with the same bytes (80 02), so bundles are detected first.
  if (first[0] === 0x80 && first[1] >= 2 && first[1] <= 5) throw pickle(name);
  if (/^(?:\xef\xbb\xbf)?[ \t\r\n]*[[{]/.test(ascii)) return "json";
  if (/\.safetensors$/i.test(name)) return "bundle";
  const start = ascii.slice(0, 8);
  const hex = () => Array.from(first.subarray(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  throw new FormatError(
    "unknown-format",
    `openStore: ${name} begins with ${/^[ -~]{4}/.test(start) ? formatValue(start) : `the bytes ${hex()}`}: not a safetensors, npz, npy or JSON file. ${
      ascii.startsWith("GGUF")
        ? "GGUF holds a model's weights, not its attention; run the model and save q and k"
        : "Save q and k (or the weights) as safetensors"
    }`,
    { name },
  );
}

/** The tensors in a file. Each format's reader is loaded on demand: a page that shows bundles never loads the others. */
async function bagOf(
  source: Source,
  format: Format,
  name: string,
  options: OpenStoreOptions,
  problems: Problems,
): Promise<Bag> {
  const option = givenTokens(options.tokens);
  const bag = await tensorsOf(source, format, name, option.tokens, problems, options.maxBytes);
  const lang = options.lang ?? option.lang;
  if (lang === undefined) return bag;
  const tag = languageTag(lang, "openStore: lang");
  return bag.metadata.has("lang") ? bag : { ...bag, metadata: new Map([...bag.metadata, ["lang", tag]]) };
}

async function tensorsOf(
  source: Source,
  format: Format,
  name: string,
  tokens: readonly string[] | undefined,
  problems: Problems,
  maxBytes: number | undefined,
): Promise<Bag> {
  if (format === "json") {
    const bag = await (await import("./read-json.ts")).readJsonFile(source, name, problems, maxBytes);
    if (tokens === undefined) return bag;
    if (![...bag.metadata.keys()].some((key) => key.startsWith("tokens.")))
      return { ...bag, metadata: new Map([...bag.metadata, ["tokens.text", JSON.stringify(tokens)]]) };
    problems.add("warning", "tokens", `${name} has tokens; the given ones are not used`);
    return bag;
  }
  const limit = sizeLimit("openStore", { maxBytes });
  if (format === "bundle")
    return (await import("./read-bundle.ts")).readBundle(source, tokens, problems, limit);
  return (await import("./read-numpy.ts")).readNumpy(source, format, name, tokens, problems, limit);
}

/** Tokens given as an option: a list, or JSON text of a list or of `{ tokens, lang }`. */
function givenTokens(tokens: readonly string[] | string | undefined) {
  if (tokens === undefined) return {};
  if (typeof tokens !== "string") return { tokens: tokenList(tokens, "openStore: tokens") };
  let value: unknown;
  try {
    value = JSON.parse(tokens);
  } catch (error) {
    throw new OptionError(
      "tokens",
      `openStore: tokens must be a list of texts or JSON with one; ${(error as Error).message}`,
    );
  }
  if (value === null || typeof value !== "object" || Array.isArray(value))
    return { tokens: tokenList(value, "openStore: tokens") };
  const { tokens: list, lang } = value as { tokens?: unknown; lang?: unknown };
  return { tokens: tokenList(list, "openStore: tokens"), lang };
}
