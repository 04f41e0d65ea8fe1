/** The page of one head. Another view draws the head: matrix, lines or text. */
import { matrix } from "./matrix/view.ts";
import type { View } from "./view.ts";

export const head: View = {
  name: "head",
  place: "page",
  label: "Head",
  hint: "One head: who attends to whom",
  command: "Head: one head",
  meaning: matrix.meaning,
  keys: "←↑↓→ move · Enter pin · [ ] head · { } layer · 1–6 stage · T table · E export · ? keyboard",
  up: "model",
  layout: { heads: true, inspector: true, toolbar: true, foot: true },
  load: matrix.load,
};
