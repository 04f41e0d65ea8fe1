/** The compare view: two heads side by side, of one text or of two, and their difference; tokens are aligned. */
import type { View } from "../view.ts";

export const compare: View = {
  name: "compare",
  place: "page",
  label: "Compare",
  hint: "Two texts, layers or heads side by side, and their difference",
  command: "Compare two heads or texts",
  key: "c",
  meaning: "Two of its heads, or one head of two texts, side by side; the third picture is their difference.",
  keys: "←↑↓→ move · [ ] head · { } layer · 1–6 stage · Esc back · ? keyboard",
  up: "head",
  ownTable: true,
  layout: { heads: false, inspector: false, toolbar: false, foot: false },
  load: async () => (await import("./parts.ts")).parts,
};
