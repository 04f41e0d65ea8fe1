/** The flow view: attention rollout as bands from layer to layer and as a matrix. */
import type { View } from "../view.ts";

export const flow: View = {
  name: "flow",
  place: "page",
  label: "Flow",
  hint: "All layers together: which input tokens a position comes from (rollout)",
  command: "Flow: all layers together (rollout)",
  key: "f",
  meaning: "All of its layers and heads together: how much of each word is in one word after the last layer.",
  keys: "↑↓ target token · ←→ input token · Esc back · ? keyboard",
  up: "head",
  layout: { heads: false, inspector: true, toolbar: false, foot: false },
  weightsOnly: true,
  ofAllHeads: true,
  ownTable: true,
  load: async () => (await import("./parts.ts")).parts,
};
