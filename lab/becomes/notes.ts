/** “What a word becomes” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "move the shares of a word, measure what its sentence makes of it, and show which head causes it.",
  place: [2, 0],
  right: [63, 77],
  text: "Write the cosine of two vectors, the rows a and b. It should not change when a becomes twice as long.",
  inputs: { a: [1, 8], b: [1, 8] },
  start: "a @ b.T",
  answer: "a @ b.T / sqrt(sum(a * a) * sum(b * b))",
  mistakes: [
    ["a @ b.T", "That is the dot product. Twice the vector is twice the number."],
    ["a @ b.T / (sum(a * a) * sum(b * b))", "The squared lengths are there, and their roots are wanted."],
    ["a @ b.T / sqrt(sum(a * a))", "It still grows with the length of b."],
  ],
};
