/** A word of a text: where it is, and what the heads answer about it. */

import type { Span } from "../../store/measures/aggregate.ts";
import { askHeads, type HeadAnswer } from "../../store/measures/ask-heads.ts";
import { distinctLabels, oneLine, pad } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import { piecesOf, wordText } from "../../store/text/tokens.ts";
import type { TextPage } from "./page.ts";
import { headName, labelsOf, namesOf, strength, wordLabel, wordSpans, wrapped } from "./page.ts";
import { dim, plain } from "./paint.ts";
import { heading } from "./terminal.ts";

/** Answers that are listed: of heads by their strongest key, and of heads by a word's share. */
const LOOKS = 12;
const LOOKED_AT = 6;

/** The tokens of each occurrence of a word, upper and lower case alike. */
export function spansOf(tokens: readonly string[], word: string): Span[] {
  const pieces = piecesOf(tokens);
  const wanted = word.trim().toLowerCase();
  return wordSpans(tokens).filter((span) => wordText(tokens, span, pieces).toLowerCase() === wanted);
}

/** The different words of a text, in order. */
export function wordList(tokens: readonly string[]): string[] {
  const pieces = piecesOf(tokens);
  return [...new Set(wordSpans(tokens).map((span) => wordLabel(tokens, span, pieces)))];
}

/** The name of a word; several that are written alike are numbered, as tokens are. */
function wordName({ paint }: TextPage, tokens: readonly string[], word: Span): string {
  const pieces = piecesOf(tokens);
  const words = wordSpans(tokens);
  const labels = words.map((span) => plain(oneLine(wordLabel(tokens, span, pieces)), paint));
  return distinctLabels(labels, paint === "ascii")[words.findIndex(({ start }) => start === word.start)];
}

/** What a share is compared with: its contrast, by which the heads are sorted, or else even attention. */
const baseline = ({ contrast = Number.NaN, even }: HeadAnswer) =>
  Number.isNaN(contrast)
    ? `even: ${formatNumber(even, { style: "percent" })}`
    : `contrast ${formatNumber(contrast, { digits: 2 })}`;

/** The heads' answers about a word: the keys it attends to, and the attention it gets. */
export async function wordLines(page: TextPage, word: string): Promise<string[]> {
  const { store, block, index, paint } = page;
  const [asQuery, asKey] = [spansOf(block.queryTokens, word), spansOf(block.keyTokens, word)];
  if (asQuery.length === 0 && asKey.length === 0)
    return wrapped(`“${oneLine(word)}” is not a word of this text`, page);
  const { key: names } = namesOf({ paint, labels: labelsOf(block) });
  const line = (answer: HeadAnswer) =>
    `${pad(headName(answer.ref), 8)}${strength(answer.weight, paint)}  ${answer.key === undefined ? "" : `${names[answer.key]}  `}${dim(plain(baseline(answer), paint), paint)}`;
  const lines: string[] = [];
  for (const query of asQuery) {
    const answers = (await askHeads(store, { block: index, query })).slice(0, LOOKS);
    const title = `where “${wordName(page, block.queryTokens, query)}” looks`;
    const note = "the strongest key of each head, special tokens left out; the largest contrast first";
    lines.push(...heading(title, note, page), ...answers.map(line), "");
  }
  for (const key of asKey) {
    const answers = (await askHeads(store, { block: index, key })).slice(0, LOOKED_AT);
    const title = `who looks at “${wordName(page, block.keyTokens, key)}”`;
    const note = "the mean share that all tokens give to it";
    lines.push(...heading(title, note, page), ...answers.map(line), "");
  }
  return lines;
}
