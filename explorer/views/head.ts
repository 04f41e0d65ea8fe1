/** The page of one head. How the head is drawn is another view's: matrix, lines, text. */
import { matrix } from "./matrix/view.ts";
import type { View } from "./view.ts";

export const head: View = {
  name: "head",
  place: "page",
  label: "Head",
  hint: "One head: who attends to whom",
  command: "Head: one head",
  keys: "←↑↓→ move · Enter pin · [ ] head · { } layer · 1–5 stage · T table · E export · ? keyboard",
  up: "model",
  layout: { heads: true, side: true, toolbar: true, foot: true },
  figure: "head",
  load: matrix.load,
};
