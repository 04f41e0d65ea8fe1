/** “Shapes” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "give the shape of every array, and find a product that fits and is wrong.",
  place: [4, 3],
  right: [16, 5, 0],
  text: "X has six words of eight numbers. Write the scores S, 6 × 6, from X, Wq and Wk. The start is refused: read why.",
  inputs: { X: [6, 8], Wq: [8, 3], Wk: [8, 3] },
  start: "X @ Wq @ X @ Wk",
  answer: "X @ Wq @ (X @ Wk).T",
  mistakes: [
    ["X @ X.T", "6 × 6, and without the matrices: every word asks with itself."],
    ["X @ Wk @ (X @ Wq).T", "Transposed: row i should be the queries of word i, and queries come from Wq."],
    ["(X @ Wq).T @ (X @ Wk)", "3 × 3: here numbers look at numbers, and no word sees another."],
  ],
};
