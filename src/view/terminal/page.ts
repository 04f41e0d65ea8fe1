/** What all parts of a page about one text share: its heads with their measures, the labels of tokens or words, and a head's weights. */

import type { Block, HeadRef } from "../../store/block.ts";
import type { HeadStore } from "../../store/head-store.ts";
import { overWords, type Span } from "../../store/measures/aggregate.ts";
import type { HeadMeasures } from "../../store/measures/measures.ts";
import { distinctLabels, pieceLabel, truncate, wrap } from "../../store/text/label.ts";
import { type Pieces, piecesOf, plainText, visible, wordsOf, wordText } from "../../store/text/tokens.ts";
import { bold, type Paint, plain } from "./paint.ts";
import type { HeatMap, TerminalOptions } from "./terminal.ts";

/** A head with its measures. */
export interface MeasuredHead {
  readonly ref: HeadRef;
  readonly measures: HeadMeasures;
}

/** Texts of rows and of columns. */
interface EdgeLabels {
  readonly query: readonly string[];
  readonly key: readonly string[];
}

/** The input of all parts of a page. */
export interface TextPage {
  readonly store: HeadStore;
  readonly index: number;
  readonly block: Block;
  readonly heads: readonly MeasuredHead[];
  readonly columns: number;
  readonly paint: Paint;
  /** Labels of rows and columns: of tokens, or of words. */
  readonly labels: EdgeLabels;
  readonly words?: { readonly query: readonly Span[]; readonly key: readonly Span[] };
}

/** The pieces of each word. */
export const wordSpans = (tokens: readonly string[]): Span[] => wordsOf(tokens, piecesOf(tokens));

/** The labels of rows and columns. */
export function labelsOf({ queryTokens, keyTokens }: Block, words?: TextPage["words"]): EdgeLabels {
  const labels = (tokens: readonly string[], spans?: readonly Span[]) => {
    const pieces = piecesOf(tokens);
    return spans
      ? spans.map((span) => wordLabel(tokens, span, pieces))
      : tokens.map((token) => labelOf(token, pieces));
  };
  return { query: labels(queryTokens, words?.query), key: labels(keyTokens, words?.key) };
}

/** The label of a word. */
export const wordLabel = (tokens: readonly string[], span: Span, pieces: Pieces): string =>
  labelOf(wordText(tokens, span, pieces), "plain");

/** The label of a token. */
export function labelOf(token: string, pieces: Pieces): string {
  const text = pieces === "byte-level" || pieces === "spaced" ? plainText(token, pieces).trim() : token;
  return pieceLabel(text) || visible(token, pieces);
}

/** Names for sentences: the labels, with equal ones numbered. */
export function namesOf({ labels, paint }: Pick<TextPage, "labels" | "paint">): EdgeLabels {
  const names = (list: readonly string[]) =>
    distinctLabels(
      list.map((label) => plain(label, paint)),
      paint === "ascii",
    );
  return { query: names(labels.query), key: names(labels.key) };
}

/** The weights of a head, over tokens or over words. */
export async function mapOf(page: TextPage, { ref }: MeasuredHead, title: string): Promise<HeatMap> {
  const { query, key } = page.labels;
  const weights = overPage(page, await page.store.weights(ref));
  return { title, queries: query.length, keys: key.length, weights };
}

/** Numbers of tokens as the page shows them: over words, the means of their rows and the sums of their columns. */
export function overPage({ block: { Nk }, words }: TextPage, cells: Float64Array): Float64Array {
  if (!words) return cells;
  const keys = words.key.length;
  const means = new Float64Array(words.query.length * keys);
  words.query.forEach(({ start, end }, row) => {
    for (let i = start; i < end; i++) {
      const sums = overWords(cells.subarray(i * Nk, (i + 1) * Nk), words.key);
      for (let j = 0; j < keys; j++) means[row * keys + j] += sums[j] / (end - start);
    }
  });
  return means;
}

/** The options of a page's heat maps. */
export const mapOptions = ({ labels, columns, paint }: TextPage): TerminalOptions => ({
  queryLabels: labels.query,
  keyLabels: labels.key,
  columns,
  paint,
});

/** "L5 H11". */
export const headName = ({ layer, head }: { layer: number; head: number }): string => `L${layer} H${head}`;

/** A weight with two digits, bold from one half on. */
export function strength(weight: number, paint: Paint): string {
  const text = weight.toFixed(2);
  return weight >= 0.5 ? bold(text, paint) : text;
}

/** A sentence as lines of the page's width. */
export const wrapped = (text: string, { columns, paint }: Pick<TextPage, "columns" | "paint">): string[] =>
  wrap(plain(text, paint), columns);

/** A text of at most some columns. */
export const shortened = (text: string, columns: number, paint: Paint): string =>
  truncate(text, columns, plain("…", paint));
