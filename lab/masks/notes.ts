/** “Masks” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "write a causal and a padding mask, and say what a row that sees nothing returns.",
  place: [1, 2],
  right: [25, 10],
  text: "Write the mask: true where row i may look at column j. No later word, at most two words back, and no pad: the text has n words.",
  inputs: {
    i: "concat(concat(concat(0, 1), concat(2, 3)), concat(concat(4, 5), concat(6, 7))).T",
    j: "i.T",
    n: 2,
  },
  start: "j <= i",
  answer: "j <= i and i - j <= 2 and j < n",
  mistakes: [
    ["j <= i", "That is causal. The window and the pads are missing."],
    ["j <= i and i - j <= 2", "Pads are still looked at: they are the columns from n on."],
    ["j <= i and j < n", "Causal and padding are right. The window of two words back is missing."],
    ["j <= i and i - j < 2 and j < n", "Two back should be visible: i − j may be 2."],
    ["j <= i and i - j <= 2 and j <= n", "Words are counted from 0, so column n is a pad already."],
    [
      "j > i or i - j > 2 or j >= n",
      "That is what is hidden. Here true means that a word may be looked at, as in heed and in PyTorch’s attn_mask.",
    ],
    ["j >= i and j - i <= 2 and j < n", "i is the word that looks. These are the words after it."],
  ],
};
