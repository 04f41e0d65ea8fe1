/** “Variants” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "choose between Flash, a window and random features by their errors and costs.",
  place: [5, 2],
  right: [88],
  text: "Flash has read some tiles: the largest score so far is m, the sum of exponentials l. Now it reads a tile s. Write the new sum, relative to the new maximum.",
  inputs: { s: [1, 4], t: [1, 3], m: "max(t)", l: "sum(exp(t - m))" },
  start: "M = maximum(m, max(s))\nl + sum(exp(s - M))",
  answer: "M = maximum(m, max(s))\nl * exp(m - M) + sum(exp(s - M))",
  mistakes: [
    [
      "M = maximum(m, max(s))\nl + sum(exp(s - M))",
      "The old sum is relative to the old maximum. Which factor makes it relative to the new one?",
    ],
    [
      "l + sum(exp(s - m))",
      "Relative to the old maximum: right in exact numbers, and it overflows where a later score is much larger.",
    ],
    [
      "M = maximum(m, max(s))\nl * exp(M - m) + sum(exp(s - M))",
      "The factor is upside down: a larger maximum makes old terms smaller.",
    ],
  ],
};
