/** The text view: tokens colored by the weight that one of them gives to, or gets from, the others. */
import type { View } from "../view.ts";

export const text: View = {
  name: "text",
  place: "head",
  label: "Text",
  hint: "The text itself, colored by what one token gives to the others",
  command: "Draw on the text",
  key: "x",
  meaning:
    "The stronger a word's color, the more attention passes between it and the word that is underlined or framed.",
  height: ({ Nq, Nk }) => `${Math.min(480, 96 + 48 * Math.ceil(Math.max(Nq, Nk) / 8))}px`,
  figure: "text",
  layout: { heads: true, inspector: true, toolbar: true, foot: true },
  load: async () => (await import("./parts.ts")).parts,
};
