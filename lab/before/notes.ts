/** “Before transformers” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "train a network that aligns two sequences, and read its alignment.",
  place: [1, 3],
  right: [94, 7],
  text: "The decoder has the scores s of the letters read, and their states, the rows of H. Write what it gets: the context vector.",
  inputs: { s: [1, 6], H: [6, 4] },
  start: "s @ H",
  answer: "softmax(s) @ H",
  mistakes: [
    ["s @ H", "Scores are no shares yet: they can be negative, and do not add up to 1."],
    ["softmax(s @ H)", "Softmax belongs to the scores. What comes back is an average of states, not shares."],
    ["exp(s) @ H", "The shares must add up to 1."],
  ],
};
