/** “Saturation” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "tell when softmax gives everything to one key, and why such a row stops learning.",
  place: [4, 1],
  right: [0],
  text: "Write all derivatives of softmax at once: row i, column j is ∂pᵢ/∂sⱼ. p is a row of shares, I has 1 on its diagonal.",
  inputs: {
    s: [1, 5],
    p: "softmax(s)",
    i: "concat(concat(0, 1), concat(concat(2, 3), 4)).T",
    I: "i == i.T",
  },
  start: "p.T * (1 - p)",
  answer: "p.T * (I - p)",
  mistakes: [
    ["p.T * (1 - p)", "On the diagonal this is right. Elsewhere δᵢⱼ is 0, not 1."],
    ["p * (I - p)", "Row and column: the first factor is pᵢ, a number for each row. p.T is a column."],
    ["p * (1 - p)", "That is the diagonal only: what each score does to its own share."],
  ],
};
