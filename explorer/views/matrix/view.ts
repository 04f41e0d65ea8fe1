/** The matrix view: one row for each query, one column for each key. */
import { ROWS, squareHeight, type View } from "../view.ts";

export const matrix: View = {
  name: "matrix",
  place: "head",
  label: "Matrix",
  hint: "Every weight as a cell: a row for each query, a column for each key",
  command: "Draw as a matrix",
  key: "m",
  meaning: ROWS,
  height: ({ Nq, Nk }) => squareHeight([180, Math.max(220, Math.min(520, 110 + 26 * Nq))], 112, Nq, Nk),
  figure: "matrix",
  layout: { heads: true, inspector: true, toolbar: true, foot: true },
  load: async () => (await import("./parts.ts")).parts,
};
