/** “Words” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "say where a word looks, test that with a control sentence, and tell when a head rests.",
  place: [0, 1],
  right: [],
  text: "Turn a row of scores s into shares: each above 0, together 1. The start is one step of it; do not use softmax.",
  inputs: { s: [1, 6] },
  start: "exp(s)",
  answer: "exp(s) / sum(exp(s))",
  mistakes: [
    ["exp(s)", "All are above 0 now. They do not add up to 1 yet."],
    [
      "s / sum(s)",
      "These are proportions: a negative score gives a negative share. What makes every number positive?",
    ],
    ["s / sum(exp(s))", "The scores above the line must go through exp, too."],
  ],
};
