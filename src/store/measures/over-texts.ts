/**
 * "Does this hold beyond this sentence?" Every head of a model over many texts: the mean and the spread of its measures, and of the
 * contrast (`contrast.ts`) of its strongest link in each text, with the texts in which that link may be claimed and those in which not.
 * Each text is measured once, on its own, so the work is linear in their number, and a result can be kept for the next call.
 */
import {
  checkArgument,
  checkCount,
  formatValue,
  isMap,
  OptionError,
  refuseValue,
} from "../../core/errors.ts";
import { checkKinds } from "../../core/option-names.ts";
import { type HeadRef, headsOf } from "../block.ts";
import type { RequestOptions } from "../compute/request.ts";
import type { HeadStore } from "../head-store.ts";
import { contrastRows, type LinkContrast, linkOf } from "./contrast.ts";

/** A text to measure: a block of a store. */
export interface MeasuredText {
  /** A name that no other text has: the text itself, or its file. */
  readonly name: string;
  /** Opens its store. */
  open(): HeadStore | Promise<HeadStore>;
  /** Dispose the store once it is measured. Default false. */
  readonly dispose?: boolean;
  /** Index of its block. Default 0. */
  readonly block?: number;
}

/** Options of `headsOverTexts`. */
export interface OverTextsOptions extends RequestOptions {
  /** Only links whose query is this word, and whose key is this word. Default: all pairs of different tokens that are not special. */
  readonly query?: string;
  readonly key?: string;
  /** Only heads of this layer, and with this number. Default: all. */
  readonly layer?: number;
  readonly head?: number;
  /** Measure the weight at these positions in each text (`HeadOverTexts.at`). Default: none. */
  readonly at?: { readonly query: number; readonly key: number };
  /** Number of strongest and of failing examples of each head. Default 3. */
  readonly examples?: number;
  /** Results of texts that were measured before, by name and question; the new ones are added. */
  readonly cache?: Map<string, readonly TextOfHead[]>;
}

// biome-ignore format: a table
const OPTIONS = { "a text": "query key", "": "layer head at cache signal onProgress", "an integer ≥ 0": "examples" } as const;
const TEXT = { "a text": "name", "": "open", "true or false": "dispose", "an integer ≥ 0": "block" } as const;

/** A number over texts. */
export interface TextSpread {
  readonly mean: number;
  /** Standard deviation over the texts, with n − 1; 0 for one text. */
  readonly spread: number;
  /** Number of texts that have the number. */
  readonly texts: number;
}

/** Measures of `HeadMeasures` with a spread. */
const MEASURES = [
  "entropy",
  "effectiveKeys",
  "diagonal",
  "previous",
  "next",
  "first",
  "special",
  "sameToken",
  "induction",
] as const;
type SpreadMeasure = (typeof MEASURES)[number];

/** The strongest link of a head in one text. */
export interface TextExample extends LinkContrast {
  /** Name of the text. */
  readonly text: string;
  readonly query: number;
  readonly key: number;
  readonly queryToken: string;
  readonly keyToken: string;
}

/** One head in one text. */
export interface TextOfHead {
  readonly layer: number;
  readonly head: number;
  readonly measures: Readonly<Partial<Record<SpreadMeasure, number>>>;
  /** Undefined where the text has no link of the kind in question. */
  readonly link?: TextExample;
  /** Weight at the positions in question; undefined where the text ends before them, has special tokens there, or a mask. */
  readonly at?: number;
}

/** One head over texts. */
export interface HeadOverTexts {
  readonly layer: number;
  readonly head: number;
  readonly measures: Readonly<Partial<Record<SpreadMeasure, TextSpread>>>;
  /** Weight at the positions in question, over the texts that have tokens there; undefined where none were asked for. */
  readonly at?: TextSpread;
  /** Contrast of its strongest link in each text. */
  readonly contrast: TextSpread;
  /** Number of texts in which that link may be claimed (its verdict is `link`), of `contrast.texts`. */
  readonly holds: number;
  /** The links with the largest contrast that may be claimed, and those with the smallest contrast that may not. */
  readonly strongest: readonly TextExample[];
  readonly failing: readonly TextExample[];
}

/** Maximum number of cells that are read for the contrasts of one text. */
const CELLS = 2 ** 22;

/**
 * Measures every head over texts, the head whose link holds in most texts first, then the one with the largest mean contrast.
 *
 * @throws OptionError where there is no text, two have one name, or their models have different heads
 * @example
 * const open = (text: string) => () => storeFromModel(encoder.attention(text));
 * const texts = ["time flies", "the old ship sails"].map((name) => ({ name, open: open(name) }));
 * const [best] = await headsOverTexts(texts);
 * best.holds; // of best.contrast.texts
 */
export async function headsOverTexts(
  texts: readonly MeasuredText[],
  options: OverTextsOptions = {},
): Promise<HeadOverTexts[]> {
  checkCount("headsOverTexts", arguments, 2);
  const what = "headsOverTexts";
  const isList =
    Array.isArray(texts) && texts.length > 0 && texts.every((it) => typeof it?.open === "function");
  checkArgument(isList, what, "a list of texts, { name, open }", texts);
  checkKinds(what, options, OPTIONS);
  const { examples = 3, cache = new Map(), query, key, layer, head, at } = options;
  checkArgument(
    at === undefined || [at?.query, at?.key].every((n) => Number.isInteger(n) && n >= 0),
    what,
    "at: { query, key }, integers from 0",
    at,
  );
  if (!isMap(cache)) refuseValue(what, "cache", "a Map", cache);
  const names = new Set<string>();
  for (const text of texts) {
    checkKinds(`${what}: texts`, text, TEXT);
    const { name } = text;
    if (names.has(name))
      throw new OptionError("name", `${what}: two texts have the name ${formatValue(name)}`, { name });
    names.add(name);
  }
  const rows: (readonly TextOfHead[])[] = [];
  for (const [done, text] of texts.entries()) {
    options.signal?.throwIfAborted();
    const question = JSON.stringify([text.name, query, key, layer, head, at]);
    const measured = cache.get(question) ?? (await measureText(what, text, options));
    cache.set(question, measured);
    const [first] = rows;
    if (first && placesOf(first) !== placesOf(measured))
      throw new OptionError(
        "texts",
        `${what}: ${formatValue(text.name)} has other layers or heads than ${formatValue(texts[0].name)}; texts must be of one model`,
        { name: text.name },
      );
    rows.push(measured);
    options.onProgress?.((done + 1) / texts.length);
  }
  const heads = rows[0].map((_, n) =>
    summarize(
      rows.map((row) => row[n]),
      examples,
      at !== undefined,
    ),
  );
  const meanOf = ({ contrast }: HeadOverTexts) => (Number.isNaN(contrast.mean) ? -1 : contrast.mean);
  return heads.sort((a, b) => b.holds - a.holds || meanOf(b) - meanOf(a));
}

/**
 * A sentence about a head beyond one text.
 *
 * @example
 * const text = { name: "the old ship", open: () => storeFromModel(encoder.attention("the old ship")) };
 * const [best] = await headsOverTexts([text]);
 * beyondText(best); // "In 6 of 8 texts this head has a link above chance (contrast 0.41 ± 0.12); not in “the bird soars”."
 */
export function beyondText(head: HeadOverTexts): string {
  checkCount("beyondText", arguments, 1);
  const isHead = typeof head?.contrast?.texts === "number" && Array.isArray(head.failing);
  checkArgument(isHead, "beyondText", "a head, as headsOverTexts returns it", head);
  const { contrast, holds, failing } = head;
  if (contrast.texts === 0) return "No text has a link of this kind.";
  const number = (x: number) => x.toFixed(2).replace("-", "−");
  const spread = contrast.texts > 1 ? ` ± ${number(contrast.spread)}` : "";
  const texts = `${contrast.texts} ${contrast.texts === 1 ? "text" : "texts"}`;
  const missing = failing.map(({ text }) => `“${text.length > 40 ? `${text.slice(0, 39)}…` : text}”`);
  const more = contrast.texts - holds - missing.length;
  const list = more > 0 ? [...missing, `${more} more`] : missing;
  const not = list.length === 0 ? "" : `; not in ${list.join(", ")}`;
  return `In ${holds} of ${texts} this head has a link above chance (contrast ${number(contrast.mean)}${spread})${not}.`;
}

const placesOf = (heads: readonly TextOfHead[]) => heads.map(({ layer, head }) => `${layer}.${head}`).join();

/** Every head of one text. */
async function measureText(
  what: string,
  text: MeasuredText,
  options: OverTextsOptions,
): Promise<readonly TextOfHead[]> {
  const store = await text.open();
  try {
    return await measureBlock(what, text, store, options);
  } finally {
    if (text.dispose) store.dispose();
  }
}

async function measureBlock(
  what: string,
  text: MeasuredText,
  store: HeadStore,
  { query, key, layer: onlyLayer, head: onlyHead, at, signal }: OverTextsOptions,
): Promise<readonly TextOfHead[]> {
  const index = text.block ?? 0;
  const block = store.blocks[index];
  if (!block)
    throw new OptionError(
      "block",
      `${what}: ${formatValue(text.name)} has blocks 0 to ${store.blocks.length - 1}, got ${formatValue(index)}`,
      { block: index },
    );
  const { queryTokens, keyTokens, special, queryOffset, kind } = block;
  const bare = (token: string) => token.replace(/^[\sĠ▁]+/u, "").toLowerCase();
  const fits = (token: string, word: string | undefined) => word === undefined || bare(token) === bare(word);
  const isLink = (i: number, j: number) =>
    !special.query[i] &&
    !special.key[j] &&
    (kind === "cross" || i + queryOffset !== j) &&
    fits(queryTokens[i], query) &&
    fits(keyTokens[j], key);
  const refs = headsOf(block, index, { layer: onlyLayer, head: onlyHead });
  if (refs.length === 0)
    throw new OptionError(
      onlyLayer === undefined ? "head" : "layer",
      `${what}: ${formatValue(text.name)} has no head ${onlyHead ?? ""}${onlyLayer === undefined ? "" : ` in layer ${onlyLayer}`}; its layers are ${block.layers.join(", ")}, each with ${block.heads} heads`,
      { layer: onlyLayer, head: onlyHead },
    );
  const heads: TextOfHead[] = [];
  for (const ref of refs) {
    signal?.throwIfAborted();
    let link: TextExample | undefined;
    const maxCells = Math.max(1, Math.floor(CELLS / refs.length));
    for await (const row of contrastRows(store, ref, { signal, maxCells }))
      for (let j = 0; j < row.weights.length; j++) {
        if (row.visible[j] === 0 || !isLink(row.i, j) || !(row.contrast[j] > (link?.contrast ?? -2)))
          continue;
        link = {
          text: text.name,
          query: row.i,
          key: j,
          queryToken: queryTokens[row.i],
          keyToken: keyTokens[j],
          ...linkOf(row, j),
        };
      }
    const all = await store.measures(ref, { signal });
    const measures = Object.fromEntries(
      MEASURES.flatMap((name) => {
        const value = all[name];
        return value === undefined || Number.isNaN(value) ? [] : [[name, value]];
      }),
    );
    const place = at && weightAt(store, ref, at.query, at.key);
    heads.push({
      layer: ref.layer,
      head: ref.head,
      measures,
      ...(link && { link }),
      ...(place !== undefined && { at: place }),
    });
  }
  return heads;
}

/** The weight of a loaded head at two positions; undefined where there are no words that may attend to each other. */
function weightAt(store: HeadStore, ref: HeadRef, query: number, key: number): number | undefined {
  const { Nq, Nk, special } = store.blocks[ref.block];
  const hasWords = query < Nq && key < Nk && !special.query[query] && !special.key[key];
  if (!hasWords || store.visible(ref, query)[key] === 0) return undefined;
  const weight = store.cell(ref, query, key, "weights");
  return Number.isNaN(weight) ? undefined : weight;
}

function summarize(rows: readonly TextOfHead[], examples: number, hasPlace: boolean): HeadOverTexts {
  const [{ layer, head }] = rows;
  const links = rows.flatMap(({ link }) => (link ? [link] : []));
  const byContrast = links.toSorted((a, b) => b.contrast - a.contrast);
  const claimed = byContrast.filter(({ verdict }) => verdict === "link");
  const others = byContrast.filter(({ verdict }) => verdict !== "link").reverse();
  const measures = Object.fromEntries(
    MEASURES.flatMap((name) => {
      const spread = spreadOf(rows.flatMap(({ measures: one }) => one[name] ?? []));
      return spread.texts === 0 ? [] : [[name, spread]];
    }),
  );
  return {
    layer,
    head,
    measures,
    ...(hasPlace && { at: spreadOf(rows.flatMap(({ at }) => at ?? [])) }),
    contrast: spreadOf(links.map(({ contrast }) => contrast)),
    holds: claimed.length,
    strongest: claimed.slice(0, examples),
    failing: others.slice(0, examples),
  };
}

function spreadOf(values: readonly number[]): TextSpread {
  const texts = values.length;
  const mean = values.reduce((sum, x) => sum + x, 0) / texts;
  const squares = values.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  return { mean, spread: texts > 1 ? Math.sqrt(squares / (texts - 1)) : 0, texts };
}
