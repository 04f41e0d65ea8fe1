/** “Dot, scaled, additive” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "choose how to score a pair, and say what it costs in parameters, time and memory.",
  place: [5, 1],
  right: [3, 9],
  text: "Write the additive scores of one query q with five keys, the rows of K, as a column: w·tanh(Wq q + Wk k).",
  inputs: { q: [1, 3], K: [5, 3], Wq: [3, 4], Wk: [3, 4], w: [4, 1] },
  start: "K @ q.T",
  answer: "tanh(q @ Wq + K @ Wk) @ w",
  mistakes: [
    ["K @ q.T", "That is the dot product, which has no parameters."],
    [
      "(q @ Wq + K @ Wk) @ w",
      "Without tanh the query adds the same to every score, so softmax would not see it.",
    ],
    [
      "tanh(q @ Wq) @ w + tanh(K @ Wk) @ w",
      "The sum must be inside of tanh: outside, the query adds the same to every score.",
    ],
  ],
};
