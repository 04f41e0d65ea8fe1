/** Cross-attention of the translator: rows in German, columns in English. */
import { text } from "../../src/view/plot/svg.ts";
import { named, rect, weightCells } from "../frame/marks.ts";
import { percent } from "../frame/words.ts";
import type { ShapesView } from "./sizes.ts";

/** The row of the question, that of "Hund", and the column that it looks at, "not". */
export const ASKED = { row: 7, column: 4 };

/** Where the cells are. */
const place = (wide: boolean) =>
  wide
    ? { x: 150, y: 100, width: 58, height: 36, small: "s12" }
    : { x: 66, y: 68, width: 28, height: 19, small: "s11" };

/** The outline of a cell in the row of the question. */
export function cellMark(column: number, wide: boolean): string {
  const { x, y, width, height, small } = place(wide);
  const [left, top] = [x + column * width, y + ASKED.row * height];
  return (
    rect(left + 2, top + 2, left + width - 2, top + height - 2, { class: "none link dash" }) +
    text(x, y + 10 * height + (wide ? 24 : 16), "dashed: your guess", { class: `bold ${small}` })
  );
}

/** The matrix, and the row of the question in the color of queries. */
export function translation({ numbers: { translation: it }, wide }: ShapesView): string {
  const { x, y, width, height, small } = place(wide);
  const top = y + ASKED.row * height;
  return [
    text(x, wide ? 40 : 22, "row: the German word just read · column: English", { class: `second ${small}` }),
    named("weights", weightCells(it.weights, { x, y, width, height, labelFrom: 0.095 })),
    rect(x, top, x + it.columns.length * width, top + height, { class: "none lq" }),
    ...it.rows.map((word, i) =>
      text(x - 8, y + (i + 0.5) * height + 4, word, {
        class: `end ${small} ${i === ASKED.row ? "tq bold" : ""}`,
      }),
    ),
    // Names of columns alternate between two heights, so that neighbors do not overlap.
    ...it.columns.map((word, j) =>
      text(x + (j + 0.5) * width, y - 8 - (j % 2) * 14, word, { class: `mid ${small} second` }),
    ),
  ].join("");
}

/** The row of the question in words. */
export const askedRow = ({ numbers: { translation: it } }: ShapesView): string =>
  `In the row of “${it.rows[ASKED.row]}” it gives “${it.columns[ASKED.column]}” ${percent(it.weights[ASKED.row]?.[ASKED.column] ?? 0)}`;
