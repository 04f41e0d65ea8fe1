/**
 * Everything that five typical pages of a course teach about attention is in docs/course.md: each of their 111 items is a row with a line
 * of heed or a command, and a step of the Lab. tests/docs.test.ts runs the lines and compares what they give, tests/platforms/command-lines.test.ts
 * runs the commands, lab/pages.test.ts finds the steps.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Numbers of items that teach one thing, the item in the words of the courses, and how its row begins. */
// biome-ignore format: an item is a line
const ITEMS: readonly (readonly [numbers: readonly number[], item: string, row: string])[] = [
  [[1, 23], "“bank” attends to “river”; the importance of a word changes with its context", '"bank" means another thing'],
  [[2, 3, 24, 78, 94], "three inputs by separate learned layers; X is T × d, W^q and W^k are d × dk, W^v is d × dv", "Q, K and V are linear projections"],
  [[4, 95], "dv need not be dk; why Q and K share dk", "dk and dv may differ"],
  [[5, 45, 46], "Scores = Q·Kᵀ, (n, dk) and (m, dk) to (n, m); element (i, j) is query i with key j", "Scores = QKᵀ"],
  [[6, 9, 47], "products grow with dk: mean 0, variance dk", "for independent numbers of mean 0"],
  [[7, 26], "large scores, tiny gradients", "a saturated softmax has tiny gradients"],
  [[8, 25, 48, 80], "÷ √dk: 64 by 8, 512 by 22.6", "divided by √dk; dk 64"],
  [[10, 28, 49, 50, 51, 81], "softmax by row: not negative, sums to 1, the shape (n, m) stays", "softmax, row by row"],
  [[11, 52, 85, 106], "output = weights·V, row i an average of the values, Σ αᵢⱼ·vⱼ", "Output = weights·V"],
  [[12, 44, 79], "the complete formula", "Attention(Q, K, V) = softmax"],
  [[13], "figure: X → Q, K, V → MatMul → Scale → Softmax → MatMul", "figure: X → Q, K, V"],
  [[14, 16, 53], "the complete PyTorch function; it returns (output, weights)", "the function returns"],
  [[15, 57, 58], "printed shapes, of batch 32, n 10, dk 64 too", "batch 32, n = 10, dk = 64"],
  [[17], "a 0/1 mask, mask == 0 hidden", "a 0/1 mask and"],
  [[18], "a mask (batch, 1, Lq, Lk) on inputs without heads", "a mask [B, 1, Nq, Nk]"],
  [[19], "−1e9 for numerical stability", '"−1e9 for numerical stability"'],
  [[20, 59], "padding mask before softmax", "padding mask: no word"],
  [[21, 34], "dependencies at any distance; recurrent networks are a bottleneck", "recurrent networks forget"],
  [[22], "multi-head attention comes next", "one head sees one relation"],
  [[27, 104], "figures: scores of the words of a sentence, bar plots", "figure: bars of the weights"],
  [[29, 86], "the context vector, a contextual representation", "the **context vector**"],
  [[30], "NumPy softmax with − max", "NumPy: `np.exp"],
  [[31, 32, 88, 89, 90, 91], "self_attention(Q, K, V) in NumPy, its matrices printed", "raw scores, scaled scores, weights"],
  [[33], "all words at once, recurrent networks one by one", "all words at once"],
  [[35, 36], "used for translation and summarization", "translation, summarization"],
  [[37], "used for question answering", "question answering"],
  [[38], "BERT, AutoModel, AutoTokenizer", "BERT, `AutoModel`"],
  [[39], "GPT", "GPT"],
  [[40], "vision transformers", "vision transformers"],
  [[41, 42, 43, 77], "three questions; a library database, a filing cabinet; when to attend apart from what", "what does a word look for"],
  [[54, 92], "Q = K = V = X, attention without parameters", "simple attention without parameters"],
  [[55, 83], "each position attends to all, itself included", "every position looks at all"],
  [[56], "The cat sat on the mat: cat → The, sat", '"The cat sat on the mat"'],
  [[60, 105], "masked weights are very close to 0", '"masked weights are very close to 0"'],
  [[61, 62], "causal mask, printed as a triangle", "look-ahead (causal) mask"],
  [[63], "language modelling, autoregressive generation", "language models predict the next word"],
  [[64], "highly parallelizable on GPUs", '"highly parallel on GPUs"'],
  [[65], "no learned parameters", '"no learned parameters"'],
  [[66, 68], "dot, scaled, additive: stability, cost, 2d² + d parameters", "dot, scaled dot and additive scores"],
  [[67], "any sequence length", "any sequence length"],
  [[69], "the dot product is poor for large d", 'the dot product is "poor for large d"'],
  [[70], "Q·Kᵀ O(n²d), softmax O(n²), ·V O(n²d)", "Q·Kᵀ is O(n²·d)"],
  [[71], "quadratic in n", "in total O(n²·d)"],
  [[72], "the main limitation for 1000+ tokens", '"the main limit beyond 1,000 words"'],
  [[73], "Longformer", "Longformer: a window"],
  [[74], "Performer", "Performer: linear"],
  [[75], "Flash Attention", "Flash Attention: not fewer"],
  [[76], "takeaways: the page as a whole", "attention is learned in training"],
  [[82], "similar, large product; dissimilar, small", "similar vectors, large product"],
  [[84], "0.8 is highly relevant, 0.05 is not", "0.8 is highly relevant"],
  [[87], "softmax without − max", "the same without the maximum"],
  [[93], "RNN encoder–decoder: the decoder's state asks", "RNN encoder–decoder"],
  [[96, 97], "I am a vowel and look for a consonant: after training the fitting keys are close", '"I am a vowel'],
  [[98], "word2vec: one-hot words projected until similar ones are close", "word2vec: one-hot"],
  [[99], "generalized dot product q·W·k", "generalized dot product"],
  [[100], "figure: a query and its keys in the plane", "figure: a query and its keys"],
  [[101], "scaling keeps small weights alive", "scaling keeps the small weights"],
  [[102, 103], "experiment: softmax of eight normal numbers; × 100 gives 0 or 1", "experiment: softmax of eight"],
  [[107], "why W^v: a value may be of another length", "dk and dv may differ"],
  [[108], "batch dimension, bmm", "Scores = QKᵀ"],
  [[109], "head view of a pair: left updates, right is attended, dark is 1", '"time flies like an arrow"'],
  [[110], "flies becomes soars in one sentence, insect in the other", "the **context vector**"],
  [[111], "tokenizer on pairs, token_type_ids, output_attentions", "the tokenizer on a pair"],
];

const rows = readFileSync(new URL("../docs/course.md", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) => line.slice(2, -2).split(" | "));

test("every item of the courses is in the table, once", () => {
  const numbers = ITEMS.flatMap(([numbers]) => numbers).toSorted((a, b) => a - b);
  expect(numbers).toEqual(Array.from({ length: 111 }, (_, i) => i + 1));
});

test.each(ITEMS.map(([numbers, item, row]) => [numbers.join(", "), item, row] as const))(
  "%s: %s",
  (_, item, start) => {
    const matching = rows.filter(([course]) => course.startsWith(start));
    expect(matching.length, `${item}: rows of docs/course.md that begin with ${start}`).toBe(1);
    const [[, line, lab]] = matching;
    // A trap has an error in place of a line; the others have code or a command, and a step.
    if (lab === undefined) expect(line).toMatch(/^an error/);
    else {
      expect(line).toMatch(/`[^`]+`/);
      expect(lab).toMatch(/^`[a-z]+(?:#stop\d)?`/);
    }
  },
);
