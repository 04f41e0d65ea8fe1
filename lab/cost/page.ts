/** Cost: work against the number of words on fixed axes, bytes as areas, and the time of this machine, guessed and measured. */

import { choice } from "../../ui/controls.ts";
import { html, type TemplateResult } from "../../ui/markup.ts";
import { clamp, integer, oneOf, real, toggle } from "../frame/fields.ts";
import { definePage } from "../frame/page.ts";
import { byteCount, count, number } from "../frame/words.ts";
import type { Cost, CostNumbers } from "./compute.ts";
import {
  axesAt,
  ghostOf,
  HIGHEST,
  LOWEST,
  memoryGuess,
  picture,
  timeText,
  took,
  wordsOf,
} from "./picture.ts";
import { HEADS, LARGE, LAYERS, WIDTH } from "./sizes.ts";

/** How a time grows: the exponent between 256 and 1,024 words. */
const exponent = (n: CostNumbers) => Math.log2(took(n, 1024)! / took(n, 256)!) / 2;

export const page = definePage<Cost, CostNumbers>({
  title: "Cost",
  point:
    "Twice as many words mean four times the work, because every word is compared with every word. Memory does not have to grow like that: scores can be computed, used and discarded one tile at a time.",
  minutes: 7,
  needs: ["shapes"],
  fields: {
    power: real(15, LOWEST, HIGHEST, 1e4),
    show: oneOf(["work", "time", "memory"]),
    one: toggle(),
    run: integer(0, 0, 2),
    ghost: {
      ...real(0, 0, 1e5),
      accept: (value) => (value > 0 ? Number(clamp(value, 0.001, 1e5).toPrecision(4)) : 0),
    },
  },
  steps: [
    {
      title: "Every word is compared with every word",
      state: {},
      text: ({
        numbers: n,
      }) => html`<p>This is one layer of a small model: ${HEADS} heads of ${WIDTH} numbers. Both axes are logarithmic: equal steps are equal <em>factors</em>.</p>
<p>Attention compares each of n words with n words. At ${wordsOf(n.now.n)} words that is <b>${count(n.now.attention)}</b> multiplications and additions. Twice the words are four times the work. From one label of the axis to the next are 16 times the words, and 16 · 16 = 256 times the work.</p>
<p><b>Drag the line</b> with the dot, from 16 words to a million. Press <b>memory</b> to see the bytes: all weights of this layer at once would be <b>${byteCount(n.weights)}</b>. The memory in which this page computes ends at 4 GiB.</p>`,
    },
    {
      title: "Where the square is full",
      state: { power: 12, show: "memory" },
      text: () =>
        html`<p>A weight takes 4 bytes, and there are n · n of them in each of ${HEADS} heads. The dashed frame is 2 GiB, 2,147 million bytes.</p>`,
      predict: {
        question: "How many words fill the frame?",
        min: 500,
        max: 20_000,
        step: 100,
        start: 15_000,
        unit: " words",
        why: [
          [
            9000,
            20000,
            "The square fills faster than one thinks: twice the words are four times the memory.",
          ],
          [
            500,
            4500,
            "At that length the square is less than half full: 12 heads of n · n numbers of 4 bytes are 48 · n² bytes.",
          ],
        ],
        formatGuess: wordsOf,
        show: { power: Math.log2(6689), show: "memory" },
        mark: memoryGuess,
        result: ({ numbers: n }) =>
          html`It is full at <b>${wordsOf(n.full)}</b>, a chapter of a book. Twice as many words, ${wordsOf(2 * n.full)}, would fill four frames.`,
      },
    },
    {
      title: "The scores need not be kept",
      state: { power: 17, show: "memory" },
      text: ({
        numbers: n,
      }) => html`<p>The output needs each weight once. So heed computes a tile of scores, a few dozen rows and columns, uses it, and writes the next tile over it. Softmax only has to keep a running maximum and a running sum for each row (the page on variants shows how).</p>
<p>At ${wordsOf(n.now.n)} words the result is the same, to rounding. The work is the same. But beyond queries, keys, values and output it takes <b>${byteCount(n.workspace)}</b>: the thin strip. A longer text does not make it wider.</p>
<p>This is the idea of FlashAttention: not fewer operations, but no square in memory.</p>`,
    },
    {
      title: "Is attention the expensive part?",
      state: { power: Math.log2(1536) },
      text: ({
        numbers: n,
      }) => html`<p>For short texts it is not. Four matrices make queries, keys, values and the output from each word (the gray line). Write d for the ${HEADS * WIDTH} numbers of a word, and count:</p>
<p class="formula"><math><munder><mrow><mn>4</mn><msup><mi>n</mi><mn>2</mn></msup><mi>d</mi></mrow><mtext>attention</mtext></munder><mo>=</mo><munder><mrow><mn>8</mn><mi>n</mi><msup><mi>d</mi><mn>2</mn></msup></mrow><mtext>projections</mtext></munder><mspace width="1em"></mspace><mo>⇔</mo><mspace width="1em"></mspace><mi>n</mi><mo>=</mo><mn>2</mn><mi>d</mi></math></p>
<p>Here that is <b>${wordsOf(n.even)}</b> words. Now, at ${wordsOf(n.now.n)}, attention takes ${n.now.attention === n.now.projections ? "exactly as much as" : `${number(n.now.attention / n.now.projections)} times`} the projections. In a wider model the two are equal at an even longer text. In papers, attention is O(n²·d) and the projections are O(n·d²).</p>`,
    },
    {
      title: "On your machine",
      state: { show: "time", power: 12 },
      text: ({
        numbers: n,
        state,
      }) => html`<p>Counts are not seconds. Press <b>Measure</b>: one head on 64 to 1,024 words, in this page. ${n.measured.length > 0 ? html`512 words took <b>${timeText(took(n, 512) ?? Number.NaN)}</b>.` : ""}</p>
<p>Then <b>drag the ring</b> to the time that you expect for 4,096 words, eight times as many, and press <b>Run 4,096</b>.</p>
${took(n, LARGE) !== undefined ? html`<p class="said">You said ${timeText(ghostOf({ state, numbers: n }))}. It took <b>${timeText(took(n, LARGE)!)}</b>, ${number(took(n, LARGE)! / took(n, 512)!)} times as long as 512 words. Eight times the words, and about 8 · 8 = 64 times the time. From 256 to 1,024 the time grew like n to the power of ${number(exponent(n))}; small calls have a fixed part that hides the square.</p>` : ""}`,
    },
    {
      title: "One word at a time",
      state: { one: true },
      text: ({
        numbers: n,
      }) => html`<p>A model that writes text adds one word at a time. Only the new word has a query, and it is compared with the ${wordsOf(n.now.n)} keys so far. One new word takes ${count(n.now.one)} operations. After twice as many words, the next one takes twice the work: its line is parallel to that of the projections.</p>
<p>The price is memory of another kind. Keys and values of all words stay, in each of ${LAYERS} layers: <b>${byteCount(n.cache)}</b> in float16 (press <b>memory</b>). That is the <em>KV cache</em>, and on long texts it fills the memory of a machine. Heads that share keys and values make it smaller.</p>`,
    },
  ],
  picture,
  label: ({ numbers: n, state }) =>
    state.show === "time"
      ? `Time against the number of words. ${n.measured.length === 0 ? "Nothing is measured yet." : n.measured.map(([size, ms]) => `${size} words: ${timeText(ms)}`).join(", ")}`
      : `Work against the number of words. At ${wordsOf(n.now.n)} words attention takes ${count(n.now.attention)} operations, the projections ${count(n.now.projections)}; all weights would take ${byteCount(n.weights)}.`,
  caption: ({ numbers: n, state }): TemplateResult => {
    if (state.show === "time") {
      const [small, large] = [took(n, 512), took(n, LARGE)];
      if (small === undefined) return html`Nothing is measured yet.`;
      if (large === undefined)
        return html`512 words took <b>${timeText(small)}</b>. Drag the ring to your guess for 4,096, then press Run.`;
      return html`4,096 words took <b>${timeText(large)}</b>, ${number(large / small)} times as long as 512. Your guess was ${timeText(ghostOf({ state, numbers: n }))}.`;
    }
    if (state.one)
      return html`One new word after ${wordsOf(n.now.n)}: ${count(n.now.one)} operations, and a cache of <b>${byteCount(n.cache)}</b> in ${LAYERS} layers.`;
    return html`${wordsOf(n.now.n)} words: attention takes ${count(n.now.attention)} operations, the projections ${count(n.now.projections)}. All weights at once would be <b>${byteCount(n.weights)}</b>${state.show === "memory" && n.weights > 1.01 * 2 ** 31 ? html`, ${number(n.weights / 2 ** 31)} frames` : ""}.`;
  },
  control: ({ state, numbers: n }) => {
    if (state.show === "time")
      return html`${took(n, LARGE) === undefined ? html`<button type="button" data-act="run:${n.measured.length >= 5 ? 2 : 1}">${n.measured.length >= 5 ? "Run 4,096" : "Measure"}</button>` : ""}
${n.measured.length > 0 ? html`<button type="button" class="quiet" data-act="again">Measure again</button>` : ""}<button type="button" class="quiet" data-act="show:work">Work</button>`;
    return html`<label><span class="wide-only">words</span> <input type="range" min="4" max="20" step="0.0625" value="${state.power}" data-act="power" aria-label="Number of words" aria-valuetext="${wordsOf(n.now.n)}"><output>${wordsOf(n.now.n)}</output></label>
${choice(
  "",
  [
    ["work", "work"],
    ["memory", "memory"],
  ],
  state.show,
  "show",
)}`;
  },
  more: ({ state }) =>
    state.show !== "time"
      ? html`${choice(
          "",
          [
            ["all", "all words at once"],
            ["one", "one at a time"],
          ],
          state.one ? "one" : "all",
          "one",
        )}<button type="button" data-act="show:time">Time it here</button>`
      : undefined,
  actions: {
    one: (_, name) => ({ one: name === "one" }),
    run: ({ numbers: n, state }, run) => ({
      show: "time",
      run: Number(run),
      ...(Number(run) === 2 && state.ghost === 0 && { ghost: took(n, 512)! * (LARGE / 512) }),
    }),
    again: () => ({ show: "time", run: 0, ghost: 0 }),
  },
  drags: {
    n: {
      move: (view, _, { x }) => ({ power: Math.log2(axesAt(view).x.invert(x)) }),
      key: ({ state }, _, dx, dy) => ({ power: state.power + (dx + dy) * 0.125 }),
    },
    ghost: {
      move: (view, _, { y }) => ({ ghost: axesAt(view).y.invert(y) }),
      key: (view, _, dx, dy) => ({ ghost: ghostOf(view) * 1.05 ** (dx + dy) }),
    },
  },
  code: {
    typescript: ({ numbers: n }) => `import { explain, explainMatmul } from "heed";

const [heads, n, d] = [${HEADS}, ${n.now.n}, ${WIDTH}];

// Tensors without their memory: one number, read
// everywhere. A plan needs their shapes only.
const sized = (...shape) => ({
  shape, strides: shape.map(() => 0),
  data: new Float32Array(1), dtype: "float32" });

const x = sized(heads, n, d);
const plan = explain(x, x, x);
const words = sized(n, heads * d);
const matrix = sized(heads * d, heads * d);
const projection = explainMatmul(words, matrix);

console.log(plan.operations);
console.log(4 * projection.operations);
console.log(plan.weightsBytes);`,
    python: ({ numbers: n }) => `import numpy as np

heads, n, d = ${HEADS}, ${n.now.n}, ${WIDTH}

# (a, b) times (b, c): a·b·c multiplications and as
# many additions.
def product(a, b, c):
    return 2 * a * b * c

scores = heads * product(n, d, n)
outputs = heads * product(n, n, d)
matrix = product(n, heads * d, heads * d)
size = np.dtype(np.float32).itemsize

print(scores + outputs)
print(4 * matrix)
print(heads * n * n * size)`,
    printed: ({ numbers: n }) => [n.now.attention, n.now.projections, n.weights].join("\n"),
    highlight: ({ state }) =>
      state.show === "memory"
        ? ["plan.weightsBytes", "heads * n * n * size"]
        : ["const plan = explain", "scores = heads * product"],
    names: {
      plan: "attention",
      scores: "attention",
      outputs: "attention",
      weightsBytes: "scores",
      projection: "projections",
      matrix: "projections",
    },
  },
  table: ({ numbers: n }) => ({
    caption: "Multiplications and additions of a layer, and what was measured of one head",
    columns: ["words", "attention", "projections", "one new word", "milliseconds"],
    rows: [
      ...n.curve.map((point) => [
        wordsOf(point.n),
        point.attention,
        point.projections,
        point.one,
        took(n, point.n) === undefined ? "not measured" : Number(took(n, point.n)!.toPrecision(3)),
      ]),
      [`now: ${wordsOf(n.now.n)}`, n.now.attention, n.now.projections, n.now.one, ""],
      ["bytes of all weights", n.weights, "", "", ""],
      ["bytes of Q, K, V, output", n.tensors, "", "", ""],
      ["bytes of the cache", n.cache, "", "", ""],
      ["bytes to work in", n.workspace, "", "", ""],
      ["bytes of a new word’s weights", n.newWord.weights, "", "", ""],
      ["… for a new word: keys and values of one head, copied in", n.newWord.workspace, "", "", ""],
    ],
  }),
  tasks: [
    {
      text: "Find the longest text whose weights, all at once, still fit into half of the frame: between 0.9 and 1 GiB.",
      reached: ({ numbers: { weights }, state }) =>
        state.show !== "time" &&
        !state.one &&
        weights > 0.6 * 2 ** 30 &&
        weights < 1.5 * 2 ** 30 &&
        ((weights >= 0.9 * 2 ** 30 && weights <= 2 ** 30) ||
          `${byteCount(weights)}: ${weights > 2 ** 30 ? "too much" : "there is still space"}.`),
    },
    {
      text: "Measure, and guess the time of 4,096 words to within a third before you run it.",
      reached: ({ numbers, state: { ghost } }) => {
        const large = took(numbers, LARGE);
        if (large === undefined || ghost === 0) return false;
        return (
          Math.abs(Math.log(ghost / large)) < Math.log(4 / 3) ||
          `Your guess was ${number(ghost / large)} times what it took. That is a result, too: a clock is no formula. Measure again to try once more.`
        );
      },
    },
  ],
  recall: [
    [
      "1,000 words take 10 milliseconds. How long do 3,000 words take, and how much more memory does heed need?",
      "About nine times as long, 90 milliseconds. Queries, keys, values and output are three times as large; its working memory does not grow.",
    ],
    [
      "Below which length is attention not the expensive part of a layer?",
      "Below n = 2·d, twice the numbers of a word. There the four projections, which grow with n only, take more.",
    ],
  ],
  limits:
    "Operations are not time: memory, threads and the processor decide how many are done in a second, a layer has other costly parts, and a time measured here says nothing about another machine.",
  trained: {
    text: "See a real row of weights, of the kind that is computed and discarded",
    address: "tired-cat.html#v1/row?l=3&h=1&i=8&j=2",
  },
});
