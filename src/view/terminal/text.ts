/**
 * The attention of a text as lines for a terminal: its tokens, one head, the strongest links, the heads that stand out, and the
 * computation of one weight; with `all`, every head. All numbers are computed by the store. Leaves to others: labels and maps
 * (page.ts), links (links.ts), heads (heads.ts), a word (words.ts).
 */
import { checkCount } from "../../core/errors.ts";
import { checkKind, checkKinds, type FieldKinds } from "../../core/option-names.ts";
import { type HeadRef, headsOf } from "../../store/block.ts";
import { checkObject, checkPosition, checkStore } from "../../store/check.ts";
import type { HeadStore } from "../../store/head-store.ts";
import { contrastOf, type LinkContrast } from "../../store/measures/contrast.ts";
import { type HeadOverTexts, headsOverTexts } from "../../store/measures/over-texts.ts";
import { type DescribedLink, evidenceText } from "../../store/sentences/evidence.ts";
import { type TellingLink, tellingLink } from "../../store/sentences/telling.ts";
import { distinctLabels, oneLine, wrap } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import { piecesOf } from "../../store/text/tokens.ts";
import { largeLines, mapLines, measureLines, standOutLines } from "./heads.ts";
import { linkLines, linksOf, rowLinkLines } from "./links.ts";
import { labelOf, labelsOf, mapOptions, shortened, type TextPage, wordSpans, wrapped } from "./page.ts";
import { bold, dim, isColor, type Paint, plain } from "./paint.ts";
import { renderScale, showsNumbers } from "./terminal.ts";
import { wordLines } from "./words.ts";

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
  /** Indices of blocks with other texts that the same model read: the explained link is compared with them. Default: none. */
  readonly others?: readonly number[];
  /** A word of the text: the page lists the tokens that it attends to and that attend to it, with the heads. */
  readonly token?: string;
}

/** All options. */
export const TEXT_KINDS = {
  "an integer ≥ 0": "block query key",
  "an integer ≥ 1": "links",
  "true or false": "words",
  "a list of integers ≥ 0": "others",
  "a text": "token",
  "": "columns paint layer head all bits",
} as const satisfies FieldKinds;

/** Tokens in a summary. */
const TOKENS = 60;

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
  checkCount("renderText", arguments, 3);
  checkStore("renderText", store);
  checkKind("renderText", "title", "a text", title);
  checkKinds("renderText", options, TEXT_KINDS);
  const { columns = 80, paint = "mono", block: index = 0, layer, head, all = false, links = 3 } = options;
  const { query, key, bits = false } = options;
  checkPosition("renderText", "block", index, store.blocks.length);
  const block = store.blocks[index];
  const refs = headsOf(block, index, { layer, head });
  if (query !== undefined) checkPosition("renderText", "query", query, block.Nq);
  if (key !== undefined) checkPosition("renderText", "key", key, block.Nk);
  const heads = await Promise.all(refs.map(async (ref) => ({ ref, measures: await store.measures(ref) })));
  const words = options.words
    ? { query: wordSpans(block.queryTokens), key: wordSpans(block.keyTokens) }
    : undefined;
  const page: TextPage = {
    store,
    index,
    block,
    heads,
    columns,
    paint,
    labels: labelsOf(block, words),
    words,
  };
  const lines = [
    ...wrapped(`“${oneLine(title)}”`, page).map((line) => bold(line, paint)),
    ...tokenLines(page, all),
    "",
  ];
  if (options.token !== undefined) return [...lines, ...(await wordLines(page, options.token))];
  const isSingle = layer !== undefined && head !== undefined;
  const isCell = isSingle && query !== undefined && key !== undefined;
  const ref = { block: index, layer: layer ?? 0, head: head ?? 0 };
  const telling = isCell
    ? { ...ref, query, key, ...(await contrastOf(store, ref, query, key)) }
    : await tellingLink(store, { block: index, layer, head });
  const isSeveral = all || (!isSingle && (layer !== undefined || head !== undefined));
  const isTelling = ({ ref }: { ref: HeadRef }) => ref.layer === telling?.layer && ref.head === telling.head;
  lines.push(...(await (isSeveral ? mapLines(page) : largeLines(page, heads.find(isTelling) ?? heads[0]))));
  // Without color, cells with numbers are not shaded, so there is no scale.
  if (isSeveral || isColor(paint) || !showsNumbers(1, mapOptions(page))) lines.push(...scaleLines(page), "");
  const allLinks = await linksOf(page, all ? "weight" : "contrast");
  lines.push(...(all ? rowLinkLines(page, allLinks, links) : linkLines(page, allLinks)), "");
  if (!all && !isSingle) lines.push(...standOutLines(page), "");
  else if (all || !isCell) lines.push(...measureLines(page, bits), "");
  if (telling)
    lines.push(...wrapped(explainLink(store, telling, await beyond(store, telling, options)), page), "");
  if (!all && refs.length > 1) {
    const hint = `--all prints all ${refs.length} heads; --layer and --head one of them; --token WORD asks every head about a word.`;
    lines.push(...wrapped(hint, page).map((line) => dim(line, paint)), "");
  }
  return lines;
}

/** The head of a link over the other texts; undefined without any. */
async function beyond(
  store: HeadStore,
  { layer, head, query, key }: TellingLink,
  { others = [] }: TextOptions,
): Promise<HeadOverTexts | undefined> {
  if (others.length === 0) return undefined;
  const texts = others.map((block) => ({ name: `${block}`, open: () => store, block }));
  return (await headsOverTexts(texts, { layer, head, at: { query, key } }))[0];
}

/**
 * Explains one weight in sentences, with the numbers of its ledger. With the contrast of the link (`tellingLink`, `contrastOf`) they say
 * what the other tokens give the same key: a weight alone is no evidence.
 *
 * @param beyond the head over other texts (`headsOverTexts` with `at`), which the sentence then names
 */
export function explainLink(
  store: HeadStore,
  link: HeadRef & { query: number; key: number } & Partial<LinkContrast>,
  beyond?: HeadOverTexts,
): string {
  checkCount("explainLink", arguments, 3);
  checkStore("explainLink", store);
  checkObject("explainLink", "{ block, layer, head, query, key }", link);
  const { layer, head, query, key, block: index } = link;
  const block = store.blocks[checkKind("explainLink", "block", "an integer ≥ 0", index)];
  for (const name of ["query", "key"] as const) checkKind("explainLink", name, "an integer ≥ 0", link[name]);
  const { lines, weight } = store.ledger(link, query, key);
  const count = store.visible(link, query).reduce((sum, visible) => sum + visible, 0);
  const labels = labelsOf(block);
  const isSelf = block.kind === "self" && query + block.queryOffset === key;
  const target = isSelf ? "itself" : `“${distinctLabels(labels.key)[key]}”`;
  const percent = (x: number) => formatNumber(x, { style: "percent" });
  const even = count > 0 ? ` (even attention: ${percent(1 / count)})` : "";
  const steps = lines
    .slice(0, lines.findIndex(({ step }) => step === "weight" || step === "given") + 1)
    .map(({ name, value }) => `${name} ${value.text}`.replaceAll(" ", "\u00a0"))
    .join(" → ");
  const computation = lines.length > 1 ? ` ${steps}.` : "";
  const name = `“${distinctLabels(labels.key)[key]}”`;
  const evidence = link.verdict === undefined ? "" : evidenceText(block, link as DescribedLink, name, beyond);
  const about = evidence === "" ? "" : ` ${evidence[0].toUpperCase()}${evidence.slice(1)}.`;
  return `Layer ${layer}, head ${head}: “${distinctLabels(labels.query)[query]}” gives ${percent(weight.value)} of its attention to ${target}${even}.${about}${computation}`;
}

/** The number of tokens, the meaning of their marks, and the tokens. */
function tokenLines(page: TextPage, all: boolean): string[] {
  const { block, columns, paint, words } = page;
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
  const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;
  const joint = words ? `, joined to ${words.query.length} words` : "";
  const size = `${count(tokens.length, "token")}${joint} · ${count(block.layers.length, "layer")} × ${count(block.heads, "head")}`;
  const shown = all ? tokens : tokens.slice(0, TOKENS);
  const text = shown.map((token) => {
    const mark = token.startsWith("▁") ? "▁" : "";
    return mark + labelOf(token, pieces).replace(/^▁/u, "");
  });
  if (shown.length < tokens.length) text.push(`… ${tokens.length - shown.length} more`);
  return [
    ...wrapped(size + marks + added, page).map((line) => dim(line, paint)),
    ...wrap(plain(text.join(" "), paint), columns - 2).map((line) => `  ${line}`),
  ];
}

function scaleLines({ columns, paint }: TextPage): string[] {
  const [bar, ticks] = renderScale(paint);
  return [bar + dim(shortened("  share of a row's attention", columns - 32, paint), paint), ticks];
}
