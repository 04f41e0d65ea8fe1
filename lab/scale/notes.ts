/** “Why √dₖ” on the map and in the teacher’s notes, and its written task. */
import type { PageNotes } from "../frame/page.ts";

export const notes: PageNotes = {
  goal: "say why scores are divided by √dₖ, and why not by dₖ.",
  place: [3, 1],
  right: [256],
  text: "One part of this line is wrong. For long vectors its shares are all nearly equal. Mend it.",
  inputs: { Q: [4, 16], K: [5, 16], V: [5, 3], dk: 16 },
  start: "softmax(Q @ K.T / dk) @ V",
  answer: "softmax(Q @ K.T / sqrt(dk)) @ V",
  mistakes: [
    ["softmax(Q @ K.T / dk) @ V", "Divided by dₖ the variance is 1/dₖ, too small. Which divisor makes it 1?"],
    ["softmax(Q @ K.T) @ V", "Without a division the variance is dₖ, and softmax saturates."],
    ["softmax(Q @ K.T) / sqrt(dk) @ V", "The division comes too late: the shares no longer add up to 1."],
  ],
};
