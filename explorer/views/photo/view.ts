/** The photo view: keys on the picture that the model read, each patch colored by its weight; other tokens are beside it. */
import type { View } from "../view.ts";

/** With more tokens, a block has no photo view: each token is an element of the page. */
const MAX_TOKENS = 16_384;

export const photo: View = {
  name: "photo",
  place: "head",
  label: "Photo",
  hint: "The picture itself, colored by what one patch or token gives to the others",
  command: "Draw on the picture",
  key: "i",
  meaning:
    "The stronger the color of a part of the picture, the more attention passes between it and the part that is framed.",
  fits: ({ pictures = [], Nq, Nk }) => pictures.length > 0 && Math.max(Nq, Nk) <= MAX_TOKENS,
  // The weights of hundreds of patches are small.
  start: { domain: "row" },
  figure: "matrix",
  layout: { heads: true, inspector: true, toolbar: true, foot: true },
  load: async () => (await import("./parts.ts")).parts,
};
