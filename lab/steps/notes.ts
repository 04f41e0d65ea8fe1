/** “Step by step” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "compute attention by hand: scores, scale, mask, softmax, output.",
  place: [2, 1],
  right: [96],
  text: "This code is the formula, and gives NaN, because the scores s are near 1,000. Mend it.",
  inputs: { z: [3, 4], s: "z + 1000", V: [4, 2] },
  start: "e = exp(s)\ne / sum(e) @ V",
  answer: "e = exp(s - max(s))\ne / sum(e) @ V",
  mistakes: [
    [
      "exp(s) / sum(exp(s)) @ V",
      "∞ ÷ ∞ is NaN. What may be subtracted from a row without a change of its shares?",
    ],
    [
      "e = exp(s / 1000)\ne / sum(e) @ V",
      "It runs, and the shares are others: dividing changes differences, subtracting does not.",
    ],
    ["e = exp(s - max(s))\ne @ V", "The shares of a row must add up to 1."],
  ],
};
