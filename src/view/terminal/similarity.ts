/** The similarity of several texts, as lines for a terminal. */

import { checkArgument, checkCount, refuseValue } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { oneLine, pad, truncate, widthOf } from "../../store/text/label.ts";
import { dim, type Paint, plain } from "./paint.ts";
import { heading, renderBar } from "./terminal.ts";

/** Options of `renderSimilarity`. */
export interface SimilarityOptions {
  /** Columns of the terminal. Default 80. */
  readonly columns?: number;
  /** Default `mono`. */
  readonly paint?: Paint;
}

/**
 * Renders the similarity of texts: of two texts as one line with a bar, of more as a table. `cosines[i][j]` is −1 to 1.
 *
 * @example
 * const texts = ["the river bank", "the old ship"];
 * console.log(renderSimilarity(texts, cosineSimilarity(embedTexts(encoder, texts))).join("\n"));
 */
export function renderSimilarity(
  texts: readonly string[],
  cosines: readonly (readonly number[])[],
  options: SimilarityOptions = {},
): string[] {
  checkCount("renderSimilarity", arguments, 3);
  checkArgument(
    Array.isArray(texts) && texts.every((text) => typeof text === "string") && Array.isArray(cosines),
    "renderSimilarity",
    "a list of texts and a list of rows of cosines",
    Array.isArray(texts) ? cosines : texts,
  );
  checkNames("renderSimilarity", options, ["columns", "paint"]);
  const isRow = (row: ArrayLike<number>) =>
    row?.length === texts.length && Array.from(row).every((x) => typeof x === "number" && Math.abs(x) < 1.01);
  if (cosines.length !== texts.length || !Array.from(cosines).every(isRow))
    refuseValue(
      "renderSimilarity",
      "cosines",
      `${texts.length} rows of as many numbers from -1 to 1`,
      cosines,
    );
  const paint = options.paint ?? "mono";
  const columns = options.columns ?? 80;
  const say = (text: string) => plain(text, paint);
  const short = texts.map((text) => say(oneLine(text)));
  if (texts.length < 2) return [];
  const head = heading("how alike", "cosine of the embeddings: 1 the same direction, 0 unrelated", {
    columns,
    paint,
  });
  if (texts.length === 2) {
    const cosine = cosines[0][1];
    return [
      ...head,
      `${say(fixed(cosine, 3))}  ${renderBar(cosine, Math.max(10, Math.min(40, columns - 9)), paint)}`.trimEnd(),
    ];
  }
  const margin = Math.min(Math.max(...short.map(widthOf)), Math.max(8, columns - 7 * texts.length - 4));
  const numbers = texts.map((_, i) => String(i + 1).padStart(6)).join(" ");
  return [
    ...head,
    dim(`${" ".repeat(margin + 3)}${numbers}`, paint),
    ...short.map((text, i) => {
      const row = texts.map((_, j) => pad(say(fixed(cosines[i][j], 3)), 6, "start")).join(" ");
      return `${i + 1}  ${pad(truncate(text, margin, say("…")), margin)}${row}`;
    }),
  ];
}

/** A number with a fixed number of decimals and a true minus sign. */
function fixed(value: number, digits = 2): string {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}
