/** The text view: tokens colored by the weight that one of them gives to, or gets from, the others. */
import type { View } from "../view.ts";

export const text: View = {
  name: "text",
  place: "head",
  label: "Text",
  hint: "The text itself, colored by what one token gives to the others",
  command: "Draw on the text",
  key: "x",
  layout: { heads: true, side: true, toolbar: true, foot: true },
  load: async () => (await import("./parts.ts")).parts,
};
