/** “Cost” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "estimate work and memory of attention for any number of words.",
  place: [5, 3],
  right: [6700],
  text: "How many multiplications and additions has a layer: attention (two products) and the four projections? For n words of d numbers.",
  inputs: { n: 100, d: 7 },
  start: "2 * n**2 * d",
  answer: "4 * n**2 * d + 8 * n * d**2",
  mistakes: [
    ["2 * n**2 * d", "That is Q·Kᵀ alone: n² scores of d products and d additions."],
    [
      "4 * n**2 * d",
      "Both products of attention are there. The projections are missing: four times n · d · d, twice.",
    ],
    ["2 * n**2 * d + 8 * n * d**2", "Attention has two products: Q·Kᵀ and weights · V."],
    [
      "2 * n**2 * d + 4 * n * d**2",
      "A product of numbers is one multiplication and one addition: twice as many.",
    ],
    ["4 * n**2 * d + 2 * n * d**2", "There are four projections: of queries, keys, values and the output."],
  ],
};
