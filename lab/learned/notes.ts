/** “Learned” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "say how training turns a head toward a word, and when it does not.",
  place: [5, 0],
  right: [39, 9],
  text: "Write how training moves the scores of a row: p are the shares, g says how much the surprise would fall with more of each.",
  inputs: { s: [1, 5], p: "softmax(s)", g: [1, 5] },
  start: "p * g",
  answer: "p * (g - sum(p * g))",
  mistakes: [
    [
      "p * g",
      "These do not add up to 0: if all words helped equally, all scores would grow, and nothing would be learned.",
    ],
    ["g - sum(p * g)", "The first factor is missing: a word without a share gets no gradient."],
    ["p * (g - sum(g))", "Compare with the average by shares, sum(p * g)."],
    ["p * g - sum(p * g)", "The share multiplies the whole difference."],
  ],
};
