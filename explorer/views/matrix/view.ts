/** The matrix view: one row for each query, one column for each key. */
import type { View } from "../view.ts";

export const matrix: View = {
  name: "matrix",
  place: "head",
  label: "Matrix",
  hint: "Every weight as a cell: a row for each query, a column for each key",
  command: "Draw as a matrix",
  key: "m",
  layout: { heads: true, side: true, toolbar: true, foot: true },
  load: async () => (await import("./parts.ts")).parts,
};
