/** “Arrows” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "turn a query until another key wins, and say why the length of a key counts, too.",
  place: [1, 1],
  right: [84],
  text: "How far does each key reach along the query? A row of K is a key, and q is one row. The start also counts how long the query is.",
  inputs: { q: [1, 2], K: [5, 2] },
  start: "K @ q.T",
  answer: "K @ q.T / sqrt(q @ q.T)",
  mistakes: [
    ["K @ q.T", "That is the dot product: the reach times the length of the query. Divide by that length."],
    ["K @ q.T / (q @ q.T)", "You divide by the length squared: q·q is the square of the length."],
    [
      "K @ q.T / sqrt(2)",
      "That is the score of the picture. The reach does not depend on how many numbers a key has.",
    ],
  ],
};
