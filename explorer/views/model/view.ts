/** The model view: a thumbnail of each head of a block, sorted and filtered by measures. */
import type { View } from "../view.ts";

export const model: View = {
  name: "model",
  place: "page",
  label: "Model",
  hint: "All heads at a glance",
  command: "Model: all heads",
  keys: "←↑↓→ head · Enter open · Shift+click or P pin · + − 0 zoom · T table · ? keyboard",
  layout: { heads: false, side: true, toolbar: false, foot: true },
  weightsOnly: true,
  load: async () => (await import("./parts.ts")).parts,
};
