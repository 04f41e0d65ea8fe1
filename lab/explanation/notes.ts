/** “Is attention an explanation?” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "test whether a word with a large weight matters for the model’s answer.",
  place: [3, 0],
  right: [3],
  text: "Hide the third word with a mask: write the shares that the others then have. p are the shares, keep is 0 for the third and 1 for the others.",
  inputs: { s: [1, 5], p: "softmax(s)", keep: "concat(concat(1, 1), concat(concat(0, 1), 1))" },
  start: "p * keep",
  answer: "p * keep / sum(p * keep)",
  mistakes: [
    ["p * keep", "That is silenced: the others keep their shares, and together they have less than 1."],
    [
      "softmax(p * keep)",
      "Softmax of shares is not the softmax of scores, and the third word gets a share again.",
    ],
    ["softmax(s * keep)", "A score of 0 is a score like any other: the third word is still there."],
  ],
};
