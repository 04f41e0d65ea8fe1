/** “Many heads” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "tell heads apart, and put their outputs together as a layer does.",
  place: [3, 3],
  right: [19],
  text: "A and B are the outputs of two heads for four words. Mix them as a layer does, with the matrix WO.",
  inputs: { A: [4, 2], B: [4, 2], WO: [4, 5] },
  start: "(A + B) @ WO",
  answer: "concat(A, B) @ WO",
  mistakes: [
    ["concat(B, A) @ WO", "The first head comes first: its numbers meet the first rows of WO."],
    ["concat(A, B)", "They are side by side. WO has not mixed them yet."],
  ],
};
