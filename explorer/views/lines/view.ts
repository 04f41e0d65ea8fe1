/** The lines view: the strongest links between two columns of tokens, or arcs next to one column. */
import type { View } from "../view.ts";

export const lines: View = {
  name: "lines",
  place: "head",
  label: "Lines",
  hint: "The strongest links between the tokens as lines",
  command: "Draw as lines",
  key: "l",
  meaning: "Each line goes from a word that looks to a word it looks at; the stronger the line, the more.",
  height: ({ Nq, Nk }) => `${Math.max(160, Math.min(480, 60 + 26 * Math.max(Nq, Nk)))}px`,
  figure: "lines",
  layout: { heads: true, inspector: true, toolbar: true, foot: true },
  weightsOnly: true,
  load: async () => (await import("./parts.ts")).parts,
};
