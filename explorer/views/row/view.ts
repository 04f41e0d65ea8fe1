/** The row view: the computation of one number, the whole row, the products of q and k, the output. */
import type { View } from "../view.ts";

export const row: View = {
  name: "row",
  place: "page",
  label: "Row",
  hint: "Where one number comes from, step by step",
  command: "Row: where this number comes from",
  key: "w",
  meaning: "This is how one of its numbers is computed: how much one word looks at another.",
  keys: "←→ key · ↑↓ query · N strongest · Esc restore or back · ? keyboard",
  up: "head",
  figure: "row",
  editable: true,
  layout: { heads: true, inspector: false, toolbar: false, foot: false, scrolls: true },
  load: async () => (await import("./parts.ts")).parts,
};
