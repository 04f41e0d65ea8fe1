/** The states view: what the state of each token would predict after each layer, and what one layer adds to it. */
import type { View } from "../view.ts";

export const states: View = {
  name: "states",
  place: "page",
  label: "States",
  hint: "What each layer would predict",
  command: "What each layer would predict",
  key: "s",
  meaning: "What the model would predict at each token if it ended after a layer.",
  keys: "↑↓ layer · ←→ token · Esc back · ? keyboard",
  when: ({ model }) => model?.text !== undefined,
  up: "head",
  layout: { heads: false, inspector: true, toolbar: false, foot: false, scrolls: true },
  ownTable: true,
  load: async () => (await import("./parts.ts")).parts,
};
