/** The lines view: the strongest links between two columns of tokens, or arcs next to one column. */
import type { View } from "../view.ts";

export const lines: View = {
  name: "lines",
  place: "head",
  label: "Lines",
  hint: "The strongest links between the tokens as lines",
  command: "Draw as lines",
  key: "l",
  layout: { heads: true, side: true, toolbar: true, foot: true },
  weightsOnly: true,
  load: async () => (await import("./parts.ts")).parts,
};
