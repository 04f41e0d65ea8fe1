/**
 * The metadata of a file: token lists, the list of each block's queries and keys, offsets, segments and recipes. It is untrusted
 * text: each field is checked, and strings stay text.
 */
import { FormatError, formatValue, HeedError } from "../../core/errors.ts";
import type { PictureGrid, Segment } from "../block.ts";
import { parseRecipe, type ScoreRecipe } from "../recipe/recipe.ts";
import { oneLine } from "../text/label.ts";
import { bad, listOf, recordOf } from "./stored-evidence.ts";

/** A problem or note about a file, as a sentence with the tensor's name, the expected and the actual value, and the remedy. */
export interface LoadProblem {
  /** `error`: the part is left out; `warning`: it is shown; `note`: information. */
  readonly severity: "error" | "warning" | "note";
  readonly code: string;
  readonly text: string;
}

/** The entry of one block under `blocks` in the metadata. All fields are optional. */
export interface BlockAbout {
  readonly kind?: "self" | "cross";
  /** Names of token lists (`tokens.NAME`). */
  readonly queryTokens?: string;
  readonly keyTokens?: string;
  readonly queryOffset?: number;
  readonly segments?: readonly Segment[];
  readonly pictures?: readonly PictureGrid[];
  readonly headNames?: readonly string[];
  /** Positions of special tokens among queries and keys. Default: detected by their form. */
  readonly special?: { readonly query: readonly number[]; readonly key: readonly number[] };
}

/** The metadata of a bundle, parsed and checked. */
export interface About {
  readonly tokens: ReadonlyMap<string, readonly string[]>;
  /** Language of all tokens, and of single lists (`lang.NAME`): tags as `languageTag` gives them. */
  readonly lang?: string;
  readonly langs: ReadonlyMap<string, string>;
  readonly blocks: ReadonlyMap<string, BlockAbout>;
  readonly recipes: ReadonlyMap<string, ScoreRecipe>;
  /** Results about each block, not yet checked: they depend on its size. */
  readonly evidence: ReadonlyMap<string, unknown>;
  /** Blocks whose recipe could not be read, and why. */
  readonly badRecipes: ReadonlyMap<string, string>;
  readonly model?: string;
  readonly text?: string;
  readonly createdBy?: string;
}

/** Maximum number of stored warnings to repeat. */
const MAX_WARNINGS = 8;
/** Maximum number of characters of a problem. */
const MAX_LENGTH = 800;

/** Collects problems and notes. */
export class Problems {
  readonly list: LoadProblem[] = [];
  add(severity: LoadProblem["severity"], code: string, text: string): void {
    // Names from files can have line breaks, control characters and direction marks, which must not reach a page or a terminal.
    const line = oneLine(text);
    this.list.push({
      severity,
      code,
      text: line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line,
    });
  }
}

/** Version of the bundle's metadata. */
export const VERSION = "1";

/** Reads `__metadata__`. A newer version is refused; an invalid entry is reported and left out. */
export function readAbout(metadata: ReadonlyMap<string, string>, problems: Problems): About {
  const version = metadata.get("heed");
  if (version !== undefined && version !== VERSION)
    throw new FormatError(
      "bundle-version",
      `openStore: a bundle of version ${formatValue(version)}; this reader knows version "${VERSION}", so open it with a newer heed`,
      { version },
    );
  const tokens = new Map<string, readonly string[]>();
  const langs = new Map<string, string>();
  let lang: string | undefined;
  const recipes = new Map<string, ScoreRecipe>();
  const badRecipes = new Map<string, string>();
  const evidence = new Map<string, unknown>();
  let blocks: ReadonlyMap<string, BlockAbout> = new Map();
  for (const [key, text] of metadata) {
    try {
      if (key.startsWith("tokens.")) tokens.set(key.slice(7), tokenList(parse(key, text), key));
      else if (key === "lang") lang = languageTag(text, "metadata `lang`");
      else if (key.startsWith("lang.")) langs.set(key.slice(5), languageTag(text, `metadata \`${key}\``));
      else if (key.startsWith("evidence.")) evidence.set(key.slice(9), parse(key, text));
      else if (key === "blocks") blocks = blockMap(parse(key, text));
      else if (key === "warnings")
        for (const warning of listOf(parse(key, text), "`warnings`").slice(0, MAX_WARNINGS))
          problems.add("warning", "stored", String(warning));
      else if (key.startsWith("recipe.")) {
        const name = key.slice(7);
        try {
          recipes.set(name, parseRecipe(parse(key, text), `recipe of \`${name}\``));
        } catch (error) {
          if (!(error instanceof HeedError)) throw error;
          badRecipes.set(name, error.message);
        }
      }
    } catch (error) {
      if (!(error instanceof HeedError)) throw error;
      problems.add("warning", error.code, error.message);
    }
  }
  return {
    tokens,
    lang,
    langs,
    blocks,
    recipes,
    badRecipes,
    evidence,
    model: metadata.get("model"),
    text: metadata.get("text"),
    createdBy: metadata.get("created_by"),
  };
}

/** Checks that `value` is a list of strings; the strings are not changed. */
export function tokenList(value: unknown, what: string): readonly string[] {
  if (Array.isArray(value) && value.every((x) => typeof x === "string")) return value;
  throw new FormatError(
    "tokens",
    `${what}: expected a list of texts, got ${formatValue(value)}; positions are shown instead`,
  );
}

/** A language tag (BCP 47, RFC 5646), as in HTML's `lang`: `ar`, `pt-BR`; in its canonical spelling. */
export function languageTag(value: unknown, what: string): string {
  try {
    if (typeof value === "string" && value.length <= 64) return Intl.getCanonicalLocales(value)[0];
  } catch {
    // Not a tag: the error is thrown below.
  }
  const text = `${what}: expected a language tag such as ar or pt-BR, got ${formatValue(value)}`;
  throw new FormatError("lang", text, { lang: value });
}

function parse(key: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FormatError(
      "metadata",
      `metadata \`${key}\` is not JSON (${(error as Error).message}); it is left out`,
      { key },
    );
  }
}

const FIELDS = [
  "kind", "queryTokens", "keyTokens", "queryOffset", "segments", "pictures", "headNames", "special",
]; // biome-ignore format: one list

function blockMap(value: unknown): Map<string, BlockAbout> {
  const blocks = new Map<string, BlockAbout>();
  for (const [name, about] of Object.entries(recordOf(value, "`blocks`")))
    blocks.set(name, blockAbout(about, name));
  return blocks;
}

function blockAbout(value: unknown, name: string): BlockAbout {
  const where = `\`blocks.${name}\``;
  const fields = recordOf(value, where);
  for (const key of Object.keys(fields))
    if (!FIELDS.includes(key)) bad(where, `one of the fields ${FIELDS.join(", ")}`, key);
  const { kind, queryTokens, keyTokens, queryOffset, segments, pictures, headNames, special } = fields;
  if (kind !== undefined && kind !== "self" && kind !== "cross")
    bad(`${where}: kind`, '"self" or "cross"', kind);
  for (const [key, text] of Object.entries({ queryTokens, keyTokens }))
    if (text !== undefined && typeof text !== "string")
      bad(`${where}: ${key}`, "the name of a token list", text);
  if (
    queryOffset !== undefined &&
    !(Number.isInteger(queryOffset) && Math.abs(queryOffset as number) < 2 ** 30)
  )
    bad(`${where}: queryOffset`, "an integer", queryOffset);
  const each = <T>(list: unknown, key: string, read: (x: unknown, where: string) => T) =>
    list === undefined ? undefined : listOf(list, `${where}: ${key}`).map((x) => read(x, where));
  return {
    ...(fields as BlockAbout),
    segments: each(segments, "segments", segment),
    pictures: each(pictures, "pictures", pictureGrid),
    headNames: headNames === undefined ? undefined : tokenList(headNames, `${where}: headNames`),
    special: special === undefined ? undefined : specials(special, where),
  };
}

function segment(value: unknown, where: string): Segment {
  const { name, query, key } = recordOf(value, `${where}: segments`);
  if (typeof name !== "string") bad(`${where}: segments: name`, "a text", name);
  return {
    name: name as string,
    ...(query === undefined ? {} : { query: span(query, `${where}: segments: query`) }),
    ...(key === undefined ? {} : { key: span(key, `${where}: segments: key`) }),
  };
}

function pictureGrid(value: unknown, where: string): PictureGrid {
  const { tensor, first, rows, columns } = recordOf(value, `${where}: pictures`) as Record<
    string,
    number | string
  >;
  if (typeof tensor !== "string") return bad(`${where}: pictures: tensor`, "the name of a tensor", tensor);
  for (const [key, n, least] of [
    ["first", first, 0],
    ["rows", rows, 1],
    ["columns", columns, 1],
  ] as const)
    if (!(Number.isInteger(n) && (n as number) >= least && (n as number) < 2 ** 30))
      bad(`${where}: pictures: ${key}`, `an integer ≥ ${least}`, n);
  return { tensor, first: first as number, rows: rows as number, columns: columns as number };
}

function span(value: unknown, where: string): readonly [number, number] {
  const [from, to] = listOf(value, where) as number[];
  if (!(Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to))
    bad(where, "[from, to) with 0 ≤ from ≤ to", value);
  return [from, to];
}

function specials(value: unknown, where: string): NonNullable<BlockAbout["special"]> {
  const { query = [], key = [] } = recordOf(value, `${where}: special`);
  const places = (x: unknown) => {
    const positions = listOf(x, `${where}: special`) as number[];
    if (!positions.every((n) => Number.isInteger(n) && n >= 0)) bad(`${where}: special`, "positions", x);
    return positions;
  };
  return { query: places(query), key: places(key) };
}
