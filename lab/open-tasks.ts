/**
 * The open task of each page: a line or two that the reader writes, checked by running them on new numbers (frame/open-task.ts). Loaded
 * when the pages are built and when a reader presses Run, so that no page is larger for it.
 */
import type { OpenTask } from "./frame/page.ts";

/** The tasks by the names of the pages. */
export const OPEN_TASKS: Readonly<Record<string, OpenTask>> = {
  words: {
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
  },
  arrows: {
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
  },
  becomes: {
    text: "Write the cosine of two vectors, the rows a and b. It should not change when a becomes twice as long.",
    inputs: { a: [1, 8], b: [1, 8] },
    start: "a @ b.T",
    answer: "a @ b.T / sqrt(sum(a * a) * sum(b * b))",
    mistakes: [
      ["a @ b.T", "That is the dot product. Twice the vector is twice the number."],
      ["a @ b.T / (sum(a * a) * sum(b * b))", "The squared lengths are there, and their roots are wanted."],
      ["a @ b.T / sqrt(sum(a * a))", "It still grows with the length of b."],
    ],
  },
  steps: {
    text: "This code is the formula, and gives NaN, because the scores s are near 1,000. Mend it.",
    inputs: { z: [3, 4], s: "z + 1000", V: [4, 2] },
    start: "e = exp(s)\ne / sum(e) @ V",
    answer: "e = exp(s - max(s))\ne / sum(e) @ V",
    mistakes: [
      [
        "exp(s) / sum(exp(s)) @ V",
        "∞ ÷ ∞ is NaN. What may be subtracted from a row without a change of its shares?",
      ],
      [
        "e = exp(s / 1000)\ne / sum(e) @ V",
        "It runs, and the shares are others: dividing changes differences, subtracting does not.",
      ],
      ["e = exp(s - max(s))\ne @ V", "The shares of a row must add up to 1."],
    ],
  },
  scale: {
    text: "One part of this line is wrong. For long vectors its shares are all nearly equal. Mend it.",
    inputs: { Q: [4, 16], K: [5, 16], V: [5, 3], dk: 16 },
    start: "softmax(Q @ K.T / dk) @ V",
    answer: "softmax(Q @ K.T / sqrt(dk)) @ V",
    mistakes: [
      [
        "softmax(Q @ K.T / dk) @ V",
        "Divided by dₖ the variance is 1/dₖ, too small. Which divisor makes it 1?",
      ],
      ["softmax(Q @ K.T) @ V", "Without a division the variance is dₖ, and softmax saturates."],
      ["softmax(Q @ K.T) / sqrt(dk) @ V", "The division comes too late: the shares no longer add up to 1."],
    ],
  },
  saturation: {
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
  },
  masks: {
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
  },
  heads: {
    text: "A and B are the outputs of two heads for four words. Mix them as a layer does, with the matrix WO.",
    inputs: { A: [4, 2], B: [4, 2], WO: [4, 5] },
    start: "(A + B) @ WO",
    answer: "concat(A, B) @ WO",
    mistakes: [
      ["concat(B, A) @ WO", "The first head comes first: its numbers meet the first rows of WO."],
      ["concat(A, B)", "They are side by side. WO has not mixed them yet."],
    ],
  },
  shapes: {
    text: "X has six words of eight numbers. Write the scores S, 6 × 6, from X, Wq and Wk. The start is refused: read why.",
    inputs: { X: [6, 8], Wq: [8, 3], Wk: [8, 3] },
    start: "X @ Wq @ X @ Wk",
    answer: "X @ Wq @ (X @ Wk).T",
    mistakes: [
      ["X @ X.T", "6 × 6, and without the matrices: every word asks with itself."],
      ["X @ Wk @ (X @ Wq).T", "Transposed: row i should be the queries of word i, and queries come from Wq."],
      ["(X @ Wq).T @ (X @ Wk)", "3 × 3: here numbers look at numbers, and no word sees another."],
    ],
  },
  cost: {
    text: "How many multiplications and additions has a layer: attention (two products) and the four projections? For n words of d numbers.",
    inputs: { n: 100, d: 7 },
    start: "2 * n**2 * d",
    answer: "4 * n**2 * d + 8 * n * d**2",
    mistakes: [
      ["2 * n**2 * d", "That is Q·Kᵀ alone: n² scores of d products and d additions."],
      [
        "4 * n**2 * d",
        "Both products of attention are there. The projections are missing: four times n · d · d, twice.",
      ],
      ["2 * n**2 * d + 8 * n * d**2", "Attention has two products: Q·Kᵀ and weights · V."],
      [
        "2 * n**2 * d + 4 * n * d**2",
        "A product of numbers is one multiplication and one addition: twice as many.",
      ],
      ["4 * n**2 * d + 2 * n * d**2", "There are four projections: of queries, keys, values and the output."],
    ],
  },
  variants: {
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
  },
  scorers: {
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
  },
  before: {
    text: "The decoder has the scores s of the letters read, and their states, the rows of H. Write what it gets: the context vector.",
    inputs: { s: [1, 6], H: [6, 4] },
    start: "s @ H",
    answer: "softmax(s) @ H",
    mistakes: [
      ["s @ H", "Scores are no shares yet: they can be negative, and do not add up to 1."],
      [
        "softmax(s @ H)",
        "Softmax belongs to the scores. What comes back is an average of states, not shares.",
      ],
      ["exp(s) @ H", "The shares must add up to 1."],
    ],
  },
  learned: {
    text: "Write how training moves the scores of a row: p are the shares, g says how much the surprise would fall with more of each.",
    inputs: { s: [1, 5], p: "softmax(s)", g: [1, 5] },
    start: "p * g",
    answer: "p * (g - sum(p * g))",
    mistakes: [
      [
        "p * g",
        "These do not add up to 0: if all words helped equally, all scores would grow, and nothing would be learned.",
      ],
      ["g - sum(p * g)", "The first factor is missing: a word without a share gets no gradient."],
      ["p * (g - sum(g))", "Compare with the average by shares, sum(p * g)."],
      ["p * g - sum(p * g)", "The share multiplies the whole difference."],
    ],
  },
  explanation: {
    text: "Hide the third word with a mask: write the shares that the others then have. p are the shares, keep is 0 for the third and 1 for the others.",
    inputs: { s: [1, 5], p: "softmax(s)", keep: "concat(concat(1, 1), concat(concat(0, 1), 1))" },
    start: "p * keep",
    answer: "p * keep / sum(p * keep)",
    mistakes: [
      ["p * keep", "That is silenced: the others keep their shares, and together they have less than 1."],
      [
        "softmax(p * keep)",
        "Softmax of shares is not the softmax of scores, and the third word gets a share again.",
      ],
      ["softmax(s * keep)", "A score of 0 is a score like any other: the third word is still there."],
    ],
  },
};
