/**
 * The attention of a text as lines for a terminal: its tokens, one head, the strongest links, the heads that stand out, and the
 * computation of one weight; with `all`, every head. All numbers are computed by the store.
 */
import { checkNames } from "../../core/option-names.ts";
import { checkObject, checkStore } from "../../store/check.ts";
import { overWords, type Span } from "../../store/measures/aggregate.ts";
import { askHeads } from "../../store/measures/ask-heads.ts";
import { describeHead } from "../../store/sentences/sentence.ts";
import { tellingLink } from "../../store/sentences/telling.ts";
import { distinctLabels, oneLine, pad, pieceLabel, truncate, widthOf, wrap } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import { type Pieces, piecesOf, plainText, visible, wordsOf, wordText } from "../../store/text/tokens.ts";
import type { Block, HeadMeasures, HeadRef, HeadStore } from "../../store/types.ts";
import { bold, dim, isColor, type Paint, plain } from "./paint.ts";
import {
  type HeatMap,
  heading,
  renderBar,
  renderHeatMaps,
  renderScale,
  showsNumbers,
  type TerminalOptions,
} from "./terminal.ts";

/** Options of `renderText`. */
export interface TextOptions {
  /** Columns of the terminal. Default 80. */
  readonly columns?: number;
  /** Default `mono`. */
  readonly paint?: Paint;
  /** Index of the block in `store.blocks`. Default 0. */
  readonly block?: number;
  /** One layer, or one head of it or of each layer, counted from 0. Default: the head with the most telling link. */
  readonly layer?: number;
  readonly head?: number;
  /** With a layer and a head: the cell explained below the head. Default: the most telling link. */
  readonly query?: number;
  readonly key?: number;
  /** True: every head and its measures. Default false. */
  readonly all?: boolean;
  /** Number of links of each token with `all`. Default 3. */
  readonly links?: number;
  /** True: the pieces of a word are joined. Default false. */
  readonly words?: boolean;
  /** True: entropy in bits. Default false: in nats. */
  readonly bits?: boolean;
  /** A word of the text: the page lists the tokens that it attends to and that attend to it, with the heads. */
  readonly token?: string;
}

const TEXT_OPTIONS = [
  "columns",
  "paint",
  "block",
  "layer",
  "head",
  "query",
  "key",
  "all",
  "links",
  "words",
  "bits",
  "token",
] as const satisfies readonly (keyof TextOptions)[];

/** Maximum numbers of links, heads and tokens in a summary. */
const LINKS = 6;
const HEADS = 6;
const TOKENS = 60;

/** A head with its measures. */
interface Drawn {
  readonly ref: HeadRef;
  readonly measures: HeadMeasures;
}

/** The input of all parts of a page. */
interface Page {
  readonly store: HeadStore;
  readonly index: number;
  readonly block: Block;
  readonly heads: readonly Drawn[];
  readonly columns: number;
  readonly paint: Paint;
  /** Labels of rows and columns: of tokens, or of words. */
  readonly labels: Labels;
  readonly words?: { readonly query: readonly Span[]; readonly key: readonly Span[] };
}

interface Labels {
  readonly query: readonly string[];
  readonly key: readonly string[];
}

/**
 * Renders a page about one text as lines. Every chosen head of the block is measured.
 *
 * @example
 * console.log((await renderText(store, "the cat", { columns: 80, layer: 5, head: 11 })).join("\n"));
 */
export async function renderText(
  store: HeadStore,
  title: string,
  options: TextOptions = {},
): Promise<string[]> {
  checkStore("renderText", store);
  checkNames("renderText", options, TEXT_OPTIONS);
  const { columns = 80, paint = "mono", block: index = 0, layer, head, all = false, links = 3 } = options;
  const { query, key } = options;
  const block = store.blocks[index];
  const refs = refsOf(block, index, layer, head);
  const heads: Drawn[] = await Promise.all(
    refs.map(async (ref) => ({ ref, measures: await store.measures(ref) })),
  );
  const words = options.words
    ? { query: wordSpans(block.queryTokens), key: wordSpans(block.keyTokens) }
    : undefined;
  const page: Page = { store, index, block, heads, columns, paint, labels: labelsOf(block, words), words };
  const say = (text: string) => plain(text, paint);
  const lines = [
    ...wrap(say(`“${oneLine(title)}”`), columns).map((line) => bold(line, paint)),
    ...tokenLines(page, all),
    "",
  ];
  if (options.token !== undefined) return [...lines, ...(await wordLines(page, options.token))];
  const single = layer !== undefined && head !== undefined;
  const isCell = single && query !== undefined && key !== undefined;
  const telling = isCell
    ? { block: index, layer, head, query, key }
    : await tellingLink(store, { block: index, layer, head });
  if (isCell) await store.load({ block: index, layer, head });
  const several = all || (!single && (layer !== undefined || head !== undefined));
  if (several) lines.push(...(await mapLines(page, heads)));
  else {
    const one =
      heads.find(({ ref }) => ref.layer === telling?.layer && ref.head === telling.head) ?? heads[0];
    lines.push(...(await largeLines(page, one)));
  }
  // Without color, cells with numbers are not shaded, so there is no scale.
  const hasShades = several || isColor(paint) || !showsNumbers(1, mapOptions(page));
  if (hasShades) lines.push(...scaleLines(page), "");
  const found = await linksOf(page);
  if (all)
    lines.push(...rowLinkLines(page, found, links), "", ...measureLines(page, options.bits === true), "");
  else {
    lines.push(...linkLines(page, found), "");
    if (!single) lines.push(...standOutLines(page), "");
    else if (!isCell) lines.push(...measureLines(page, options.bits === true), "");
  }
  if (telling) lines.push(...wrap(say(explainLink(store, telling)), columns), "");
  if (!all && refs.length > 1)
    lines.push(
      ...wrap(
        say(
          `--all prints all ${refs.length} heads; --layer and --head one of them; --token WORD asks every head about a word.`,
        ),
        columns,
      ).map((line) => dim(line, paint)),
      "",
    );
  return lines;
}

/** Explains one weight in one sentence, with the numbers of its ledger. */
export function explainLink(store: HeadStore, link: HeadRef & { query: number; key: number }): string {
  checkStore("explainLink", store);
  checkObject("explainLink", "{ block, layer, head, query, key }", link);
  const { layer, head, query, key, block: index } = link;
  const block = store.blocks[index];
  const { lines, weight } = store.ledger(link, query, key);
  const count = store.visible(link, query).reduce((sum, seen) => sum + seen, 0);
  const labels = labelsOf(block);
  const names = { query: distinctLabels(labels.query), key: distinctLabels(labels.key) };
  const itself = block.kind === "self" && query + block.queryOffset === key;
  const to = itself ? "itself" : `“${names.key[key]}”`;
  const percent = (x: number) => formatNumber(x, { style: "percent" });
  const even = count > 0 ? ` (even attention: ${percent(1 / count)})` : "";
  const steps = lines
    .slice(0, lines.findIndex(({ step }) => step === "weight" || step === "given") + 1)
    .map(({ name, value }) => `${name} ${value.text}`.replaceAll(" ", "\u00a0"))
    .join(" → ");
  const how = lines.length > 1 ? ` ${steps}.` : "";
  return `Layer ${layer}, head ${head}: “${names.query[query]}” gives ${percent(weight.value)} of its attention to ${to}${even}.${how}`;
}

function refsOf(block: Block, index: number, layer?: number, head?: number): HeadRef[] {
  return block.layers
    .filter((one) => (layer ?? one) === one)
    .flatMap((one) =>
      Array.from({ length: block.heads }, (_, n) => n)
        .filter((n) => (head ?? n) === n)
        .map((n): HeadRef => ({ block: index, layer: one, head: n })),
    );
}

function wordSpans(tokens: readonly string[]): Span[] {
  return wordsOf(tokens, piecesOf(tokens));
}

/** The labels of rows and columns. */
function labelsOf({ queryTokens, keyTokens }: Block, words?: Page["words"]): Labels {
  const of = (tokens: readonly string[], spans?: readonly Span[]) => {
    const pieces = piecesOf(tokens);
    return spans
      ? spans.map((span) => wordLabel(tokens, span, pieces))
      : tokens.map((token) => labelOf(token, pieces));
  };
  return { query: of(queryTokens, words?.query), key: of(keyTokens, words?.key) };
}

const wordLabel = (tokens: readonly string[], span: Span, pieces: Pieces) =>
  labelOf(wordText(tokens, span, pieces), "plain");

function labelOf(token: string, pieces: Pieces): string {
  const text = pieces === "byte-level" || pieces === "spaced" ? plainText(token, pieces).trim() : token;
  return pieceLabel(text) || visible(token, pieces);
}

/** The number of tokens, the meaning of their marks, and the tokens. */
function tokenLines({ block, columns, paint, words }: Page, all: boolean): string[] {
  const { queryTokens: tokens } = block;
  const pieces = piecesOf(tokens);
  const marks =
    pieces === "wordpiece" && tokens.some((token) => token.startsWith("##"))
      ? "; ## continues a word"
      : pieces === "sentencepiece"
        ? "; ▁ marks the space before a word"
        : "";
  const special = block.special.query.flatMap((marked, at) => (marked ? [labelOf(tokens[at], pieces)] : []));
  const added =
    special.length === 0 ? "" : `; ${[...new Set(special)].slice(0, 3).join(", ")}: added by the model`;
  const count = `${tokens.length} ${tokens.length === 1 ? "token" : "tokens"}`;
  const joint = words ? `, joined to ${words.query.length} words` : "";
  const layers = `${block.layers.length} ${block.layers.length === 1 ? "layer" : "layers"} × ${block.heads} ${block.heads === 1 ? "head" : "heads"}`;
  const shown = all ? tokens : tokens.slice(0, TOKENS);
  const text = shown.map((token) => {
    const mark = token.startsWith("▁") ? "▁" : "";
    return mark + labelOf(token, pieces).replace(/^▁/u, "");
  });
  if (shown.length < tokens.length) text.push(`… ${tokens.length - shown.length} more`);
  const note = wrap(plain(`${count}${joint} · ${layers}${marks}${added}`, paint), columns);
  return [
    ...note.map((line) => dim(line, paint)),
    ...wrap(plain(text.join(" "), paint), columns - 2).map((line) => `  ${line}`),
  ];
}

/** The weights of a head, over tokens or over words. */
async function mapOf({ store, block, words }: Page, { ref }: Drawn, title: string): Promise<HeatMap> {
  const { Nq, Nk } = block;
  const weights = await store.weights(ref);
  if (!words) return { title, queries: Nq, keys: Nk, weights };
  const [queries, keys] = [words.query.length, words.key.length];
  const out = new Float64Array(queries * keys);
  words.query.forEach(({ start, end }, row) => {
    for (let i = start; i < end; i++) {
      const sums = overWords(weights.subarray(i * Nk, (i + 1) * Nk), words.key);
      for (let j = 0; j < keys; j++) out[row * keys + j] += sums[j] / (end - start);
    }
  });
  return { title, queries, keys, weights: out };
}

const ROWS = "each row: what that token attends to, column by column";

const mapOptions = ({ labels, columns, paint }: Page): TerminalOptions => ({
  queryLabels: labels.query,
  keyLabels: labels.key,
  columns,
  paint,
});

/** One head in its largest size, with its caption. */
async function largeLines(page: Page, one: Drawn): Promise<string[]> {
  const { block, columns, paint } = page;
  const { layer, head } = one.ref;
  const title = `layer ${layer}, head ${head}`;
  const map = await mapOf(page, one, "");
  return [
    ...heading(title, ROWS, page),
    ...wrap(plain(describeHead(block, one.measures), paint), columns),
    ...renderHeatMaps([map], mapOptions(page)).filter((line) => line.trim() !== ""),
    "",
  ];
}

/** Heat maps of several heads, layer by layer. */
async function mapLines(page: Page, heads: readonly Drawn[]): Promise<string[]> {
  const lines: string[] = [];
  for (const layer of new Set(heads.map(({ ref }) => ref.layer))) {
    const maps = await Promise.all(
      heads.filter(({ ref }) => ref.layer === layer).map((one) => mapOf(page, one, `head ${one.ref.head}`)),
    );
    lines.push(...heading(`layer ${layer}`, ROWS, page), ...renderHeatMaps(maps, mapOptions(page)), "");
  }
  return lines;
}

function scaleLines({ columns, paint }: Page): string[] {
  const [bar, ticks] = renderScale(paint);
  return [bar + dim(truncate("  share of a row's attention", columns - 32, plain("…", paint)), paint), ticks];
}

/** The weight of one query on one key, in the head where it is largest. */
interface Link {
  readonly query: number;
  readonly key: number;
  readonly layer: number;
  readonly head: number;
  readonly weight: number;
}

/** The links of each row, the largest first: one per key, in the head where the weight is largest. */
async function linksOf(page: Page): Promise<Link[][]> {
  const count = page.labels.query.length;
  const best: Map<number, Link>[] = Array.from({ length: count }, () => new Map());
  for (const one of page.heads) {
    const { weights, keys } = await mapOf(page, one, "");
    const { layer, head } = one.ref;
    for (let query = 0; query < count; query++)
      for (let key = 0; key < keys; key++) {
        const weight = weights[query * keys + key];
        if (weight > (best[query].get(key)?.weight ?? 0))
          best[query].set(key, { query, key, layer, head, weight });
      }
  }
  return best.map((links) =>
    [...links.values()].sort(
      (a, b) => b.weight - a.weight || a.layer - b.layer || a.head - b.head || a.key - b.key,
    ),
  );
}

/** True for links between two different tokens of the text: no special tokens, and not to the first token. */
function isText({ block, words }: Page, { query, key }: Link): boolean {
  const [i, j] = words ? [words.query[query].start, words.key[key].start] : [query, key];
  const { special, kind, queryOffset } = block;
  return !special.query[i] && !special.key[j] && (kind === "cross" || (i + queryOffset !== j && j > 0));
}

const headName = ({ layer, head }: { layer: number; head: number }) => `L${layer} H${head}`;

function namesOf({ labels, paint }: Page): Labels {
  const ascii = paint === "ascii";
  return {
    query: distinctLabels(
      labels.query.map((label) => plain(label, paint)),
      ascii,
    ),
    key: distinctLabels(
      labels.key.map((label) => plain(label, paint)),
      ascii,
    ),
  };
}

/** The strongest links of the text, one per line. */
function linkLines(page: Page, links: readonly (readonly Link[])[]): string[] {
  const { paint } = page;
  const all = links.flat();
  const text = all.filter((link) => isText(page, link));
  const apart = text.filter(({ query, key }) => page.block.kind === "cross" || Math.abs(query - key) >= 2);
  const shown = (apart.length > 0 ? apart : text.length > 0 ? text : all)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, LINKS);
  const between =
    apart.length > 0
      ? "between tokens that are not neighbors"
      : text.length > 0
        ? "between tokens"
        : "of all tokens";
  const names = namesOf(page);
  const arrow = plain("→", paint);
  const label = (link: Link) =>
    `${short(names.query[link.query], paint)} ${arrow} ${short(names.key[link.key], paint)}`;
  const width = Math.max(1, ...shown.map((link) => widthOf(label(link))));
  const single = page.heads.length === 1;
  const which = single ? ", in this head" : "; L1 H2: found in layer 1, head 2";
  return [
    ...heading("strongest links", `${between}${which}`, page),
    ...shown.map((link) =>
      `${pad(label(link), width)}  ${strength(link.weight, paint)}  ${single ? "" : dim(headName(link), paint)}`.trimEnd(),
    ),
  ];
}

const short = (name: string, paint: Paint) => truncate(name, 16, plain("…", paint));

/** The strongest links of each token. */
function rowLinkLines(page: Page, links: readonly (readonly Link[])[], top: number): string[] {
  const { columns, paint } = page;
  const names = namesOf(page);
  const width = Math.min(14, Math.max(1, ...names.query.map(widthOf), ...names.key.map(widthOf)));
  const name = (text: string) => pad(truncate(text, width, plain("…", paint)), width);
  const shownHeads = Math.max(6, ...page.heads.map(({ ref }) => headName(ref).length));
  const show = (link: Link) =>
    `${name(names.key[link.key])} ${strength(link.weight, paint)} ${dim(headName(link).padEnd(shownHeads), paint)}`;
  const each = width + 1 + 4 + 1 + shownHeads + 3;
  const fit = Math.max(1, Math.min(top, Math.floor((columns - width - 3) / each)));
  const arrow = plain("→", paint);
  return [
    ...heading("strongest links", "what each token attends to most; L1 H2: in layer 1, head 2", page),
    ...links.map((row, query) =>
      `${name(names.query[query])} ${arrow} ${row.slice(0, fit).map(show).join("   ")}`.trimEnd(),
    ),
  ];
}

function strength(weight: number, paint: Paint): string {
  const text = weight.toFixed(2);
  return weight >= 0.5 ? bold(text, paint) : text;
}

/** The heads with a clear habit, one per habit, the clearest first. */
function standOutLines(page: Page): string[] {
  const { block, heads, columns, paint } = page;
  const best = new Map<string, Drawn & { readonly score: number }>();
  for (const one of heads) {
    const [claim] = one.measures.claims;
    if (!claim || claim.share < 0.25) continue;
    const id = `${claim.habit} ${claim.key ?? ""}`;
    const score = claim.share * Math.log(claim.share / Math.max(claim.even, 1e-6));
    if (score > (best.get(id)?.score ?? 0)) best.set(id, { ...one, score });
  }
  const shown = [...best.values()].sort((a, b) => b.score - a.score).slice(0, HEADS);
  if (shown.length === 0) return [...heading("heads", "none of them has one clear habit", page)];
  const width = Math.max(...shown.map(({ ref }) => headName(ref).length));
  return [
    ...heading("heads that stand out", "even: the share that equal attention would give", page),
    ...shown.flatMap(({ ref, measures }) =>
      wrap(plain(describeHead(block, measures), paint), Math.max(20, columns - width - 2)).map(
        (line, n) => `${pad(n === 0 ? headName(ref) : "", width)}  ${line}`,
      ),
    ),
  ];
}

/** One line of measures per head. On a narrow terminal the last columns are left out. */
function measureLines(page: Page, bits: boolean): string[] {
  const { heads, columns, paint } = page;
  const share = (x: number | undefined) =>
    x === undefined ? plain("–", paint) : Number.isNaN(x) ? "NaN" : `${Math.round(100 * x)} %`;
  const number = (x: number | undefined, digits: number) =>
    x === undefined ? plain("–", paint) : x.toFixed(digits);
  const first = Math.max(5, ...heads.map(({ ref }) => headName(ref).length));
  const relative = ({ measures: m }: Drawn) => m.entropy / Math.log(Math.max(2, m.visibleKeys));
  const table: { name: string; width: number; cell: (head: Drawn) => string }[] = [
    { name: "", width: first, cell: ({ ref }) => headName(ref).padEnd(first) },
    {
      name: "entropy",
      width: 9,
      cell: ({ measures }) => number(measures.entropy / (bits ? Math.LN2 : 1), 2),
    },
    { name: "spread", width: 8, cell: ({ measures }) => number(measures.effectiveKeys, 1) },
    { name: "", width: 13, cell: (one) => `  ${renderBar(relative(one), 11, paint)}` },
    { name: "self", width: 7, cell: ({ measures }) => share(measures.diagonal) },
    { name: "previous", width: 10, cell: ({ measures }) => share(measures.previous) },
    { name: "next", width: 7, cell: ({ measures }) => share(measures.next) },
    { name: "first", width: 8, cell: ({ measures }) => share(measures.first) },
    { name: "special", width: 9, cell: ({ measures }) => share(measures.special) },
    { name: "distance", width: 10, cell: ({ measures }) => number(measures.distance, 1) },
  ];
  let total = 0;
  const shown = table.filter(({ width }) => (total += width) <= columns);
  // A bar with escape sequences fills its column; padding does not change it.
  const line = (text: (column: (typeof table)[number]) => string) =>
    shown.map((column) => text(column).padStart(column.width)).join("");
  const [unit, power] = bits ? ["bits", "2"] : ["nats", "e"];
  return [
    ...heading(
      "heads",
      `means over the rows. spread: a row's attention is as spread out as if it were equal over this many tokens (${power} to the power of the entropy, in ${unit}); self to special: shares of attention; distance: in tokens`,
      page,
    ),
    dim(
      line(({ name }) => name),
      paint,
    ),
    ...heads.map((head) => line(({ cell }) => cell(head))),
  ];
}

/** The tokens of each occurrence of a word, upper and lower case alike. */
export function spansOf(tokens: readonly string[], word: string): Span[] {
  const pieces = piecesOf(tokens);
  const wanted = word.trim().toLowerCase();
  return wordsOf(tokens, pieces).filter((span) => wordText(tokens, span, pieces).toLowerCase() === wanted);
}

/** The different words of a text, in order. */
export function wordList(tokens: readonly string[]): string[] {
  const pieces = piecesOf(tokens);
  return [...new Set(wordsOf(tokens, pieces).map((span) => wordLabel(tokens, span, pieces)))];
}

/** The name of a word; several that are written alike are numbered, as tokens are. */
function wordName({ paint }: Page, tokens: readonly string[], word: Span): string {
  const pieces = piecesOf(tokens);
  const words = wordsOf(tokens, pieces);
  const labels = words.map((span) => plain(oneLine(wordLabel(tokens, span, pieces)), paint));
  return distinctLabels(labels, paint === "ascii")[words.findIndex(({ start }) => start === word.start)];
}

/** The heads' answers about a word: the keys it attends to, and the attention it gets. */
async function wordLines(page: Page, word: string): Promise<string[]> {
  const { store, block, index, paint } = page;
  const [asQuery, asKey] = [spansOf(block.queryTokens, word), spansOf(block.keyTokens, word)];
  if (asQuery.length === 0 && asKey.length === 0)
    return wrap(plain(`“${oneLine(word)}” is not a word of this text`, paint), page.columns);
  const names = namesOf({ ...page, labels: labelsOf(block) });
  const lines: string[] = [];
  for (const span of asQuery) {
    const answers = (await askHeads(store, { block: index, query: span })).slice(0, 2 * LINKS);
    lines.push(
      ...heading(
        `where “${wordName(page, block.queryTokens, span)}” looks`,
        "the strongest key of each head, special tokens left out",
        page,
      ),
      ...answers.map(
        ({ ref, weight, key, lift }) =>
          `${pad(headName(ref), 8)}${strength(weight, paint)}  ${key === undefined ? "" : names.key[key]}  ${dim(`${lift.toFixed(1)} ${plain("×", paint)} even`, paint)}`,
      ),
      "",
    );
  }
  for (const span of asKey) {
    const answers = (await askHeads(store, { block: index, key: span })).slice(0, LINKS);
    lines.push(
      ...heading(
        `who looks at “${wordName(page, block.keyTokens, span)}”`,
        "the mean share that all tokens give to it",
        page,
      ),
      ...answers.map(
        ({ ref, weight, lift }) =>
          `${pad(headName(ref), 8)}${strength(weight, paint)}  ${dim(`${lift.toFixed(1)} ${plain("×", paint)} even`, paint)}`,
      ),
      "",
    );
  }
  return lines;
}
