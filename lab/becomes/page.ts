/** What a word becomes: the output of attention, a context vector, layer by layer. */

import { text } from "../../src/view/plot/index.ts";
import { choice, slider } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { integer, oneOf } from "../frame/fields.ts";
import { guessText, line } from "../frame/marks.ts";
import { definePage } from "../frame/page.ts";
import { seed, throwAgain, throwControl } from "../frame/throw.ts";
import { codeLines, indexOfLargest, number } from "../frame/words.ts";
import type { Becomes, BecomesNumbers } from "./compute.ts";
import { LAYER_STEPS, WORDS } from "./layer-steps.ts";
import { apartAt, type BecomesView, picture } from "./picture.ts";

/** The nearest of the six words in a sentence (0: time, 1: fruit). */
const nearest = ({ numbers: n, state }: BecomesView, sentence: number) => {
  const all = n.path.near[sentence][state.layer];
  const at = indexOfLargest(all);
  return { word: n.words[at], cosine: all[at] };
};
const cosineNow = ({ numbers: n, state }: BecomesView) => n.path.apart[state.layer];
const strength = (quarters: number) => `${25 * quarters} %`;
const soars = ({ numbers: n }: BecomesView, sentence: number) =>
  n.path.near[sentence][6][n.words.indexOf("soars")];

/** A guess at the last cosine, in hundredths: its slider, and its mark beside the curve. */
const COSINE = {
  ...{ min: 0, max: 100, step: 1, unit: "" },
  formatGuess: (guess: number) => number(guess / 100),
  mark: (guess: number, { wide }: BecomesView) => {
    if (!wide) return guessText(268, 160, number(guess / 100));
    const { x, y } = apartAt();
    const at = y(guess / 100);
    return (
      line(x(6) + 8, at, x(6) + 18, at, "link") + text(x(6) + 22, at + 4, "your guess", { class: "s11 halo" })
    );
  },
};

/** The slider of the head: where the text is about it, and once the reader has changed something. */
const headSlider = ({ quarters }: Becomes) =>
  html`<label>head ${slider("Output of layer 0, head 4", { min: 0, max: 4, step: 1, value: quarters }, strength(quarters), "quarters")}</label>`;

/** x, a, x + a and y among the steps of the layer. */
const LAYER = [1, 3, 4, 5];
const throwNote = (now: number) => `Words and parameters are random, seed ${now}.`;

const rounded = (row: readonly number[]) => `
${codeLines(row, 4, "  ")}`;
const layerTypeScript = ({ sums: [x, y] }: BecomesNumbers, word: number) => `import { tensor } from "heed";
import { layerNorm } from "heed/nn";

// “${WORDS[word]}”: the two residual sums of the layer.
const xPlusA = [${rounded(x)}];
const yPlusM = [${rounded(y)}];

for (const sum of [xPlusA, yPlusM]) {
  const row = Float64Array.from(sum);
  const norm = layerNorm(tensor(row, [1, 8]));
  console.log([...norm.toFloat64()]
    .map((x) => x.toFixed(2)).join(" "));
}`;
const layerPython = ({ sums: [x, y] }: BecomesNumbers, word: number) => `import numpy as np

# "${WORDS[word]}": the two residual sums of the layer.
x_plus_a = np.array([${rounded(x)}])
y_plus_m = np.array([${rounded(y)}])

for s in (x_plus_a, y_plus_m):
    norm = (s - s.mean()) / np.sqrt(s.var() + 1e-5)
    print(" ".join(f"{x:.2f}" for x in norm))`;

export const page = definePage<Becomes, BecomesNumbers>({
  title: "What a word becomes",
  point:
    "Attention returns a new vector for each word: its context vector. The same word becomes different vectors in different sentences, and one can measure how far they move apart.",
  minutes: 8,
  needs: ["words", "arrows"],
  fields: {
    layer: integer(1, 0, 6),
    quarters: integer(4, 0, 4),
    shown: oneOf(["path", "layer"]),
    word: integer(1, 0, WORDS.length - 1),
    seed,
  },
  steps: [
    {
      title: "The output is a vector",
      state: {},
      about: ({ layer, quarters }) => layer <= 1 && quarters === 4,
      text: ({
        numbers: { full },
      }) => html`<p>The shares of a word say where it looks. What it takes home is a vector: the values of all words, each times its share, added up. Papers call it a <em>context vector</em>, and the word is then <em>contextual</em>.</p>
<p class="formula"><math><msub><mi>c</mi><mi>i</mi></msub><mo>=</mo><munder><mo>∑</mo><mi>j</mi></munder><msub><mi>α</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><msub><mi>v</mi><mi>j</mi></msub></math></p>
<p>Take “flies” in <b>time flies like an arrow</b> and in <b>fruit flies like a banana</b>. A trained encoder (MiniLM, 6 layers of 12 heads) begins with the same 384 numbers for both, the row of “flies” in a table of words, as in word2vec, and that of its place: before the first layer their cosine is ${number(full.apart[0])}. Cosine says how far two vectors have the same direction: 1 is the same, 0 is nothing in common.</p>
<p>After one layer it is <b>${number(full.apart[1])}</b>. In the plane, right means nearer to “runs”, and up nearer to “insect”.</p>`,
    },
    {
      title: "Six layers",
      state: { layer: 1 },
      text: () =>
        html`<p>Each layer does it again, on what the layer before has made: words look at words that have looked already.</p>`,
      predict: {
        question: "The cosine was 0.917 after the first layer. What is it after the sixth?",
        start: 90,
        why: [
          [
            85,
            100,
            "You expected the other layers to change as little as the first. Each starts from what the one before has made, so small differences add up.",
          ],
          [
            0,
            45,
            "So far apart they do not move: both are still the same word, and the residual connection keeps what was there before.",
          ],
        ],
        ...COSINE,
        show: { layer: 6, shown: "path", quarters: 4 },
        result: ({ numbers: { full } }) =>
          html`It is <b>${number(full.apart[6])}</b>. The cosine falls most in the last layer, but not even half of the way is made there. Already after the first layer, one is farther right and the other farther up, and so it stays.`,
      },
    },
    {
      title: "Towards which words?",
      state: { layer: 6 },
      about: ({ layer, quarters }) => layer === 6 && quarters === 4,
      text: (
        view,
      ) => html`<p>Compare each “flies” with words that have one meaning, each in a short sentence of its own (“time runs fast”, “a small insect”).</p>
<p>Of the six words tried, “flies” of <b>time flies</b> is nearest to “${nearest(view, 0).word}” (${number(nearest(view, 0).cosine)}), and “flies” of <b>fruit flies</b> to “${nearest(view, 1).word}” (${number(nearest(view, 1).cosine)}). A verb and an animal: the sentence decided.</p>
<p>Not every word fits the story. “soars”, which courses name, hardly tells them apart: ${number(soars(view, 0))} and ${number(soars(view, 1))}. The tokenizer cuts it into two pieces, so its vector here is the mean of two.</p>`,
    },
    {
      title: "Which head did it?",
      state: { layer: 6 },
      text: () =>
        html`<p>In head 4 of the first layer (layer 0, head 4: both are counted from 0), “flies” gives 80 % of its attention to “time” and, in the other sentence, 81 % to “fruit”. Does that matter? Turn this head off in both sentences: its output becomes zeros, and all later layers are computed again.</p>`,
      predict: {
        question: "With all heads, the last cosine is 0.631. What is it without this one?",
        start: 63,
        why: [
          [
            0,
            62,
            "You expected them to move farther apart. But without this head they take less from words that differ.",
          ],
          [
            63,
            68,
            "You expected little to change: there are 71 other heads. Here a large share was also a large effect.",
          ],
          [
            86,
            100,
            "You expected them to be the same again. But other heads tell the two sentences apart, too.",
          ],
        ],
        ...COSINE,
        show: { layer: 6, shown: "path", quarters: 0 },
        result: (view) =>
          html`It is <b>${number(cosineNow(view))}</b>: the two come back together. And in “time flies”, the nearest word is now “${nearest(view, 0).word}”. No other of the 72 heads raises the cosine by more than ${number([...view.numbers.rises.flat()].sort((a, b) => b - a)[1])}<span class="wide-only"> (the bars)</span>. So this head does the most of all to keep the two meanings apart, and it does not do it alone.`,
      },
    },
    {
      title: "A little of the head",
      state: { layer: 6, quarters: 2 },
      about: ({ layer }) => layer === 6,
      text: (
        view,
      ) => html`<p>With ${strength(view.state.quarters)} of the head’s output, the cosine is ${number(cosineNow(view))}. <b>Move the slider</b> “head” and see both paths bend. The thin lines are those of the whole head.</p>
<p>Turning something off and measuring what changes is how one shows a cause. A large share alone is not one: the page “Is attention an explanation?” has an example.</p>`,
    },
    {
      title: "The rest of the layer",
      state: { layer: 6, shown: "layer" },
      about: ({ shown }) => shown === "layer",
      text: ({
        state,
      }) => html`<p>The head is one of twelve. Each returns 32 numbers for a word, its output o. They are <em>concatenated</em>, 12 × 32 = 384, and multiplied by a learned matrix W<sup>O</sup>, which mixes them.</p>
<p class="formula"><math><mi>a</mi><mo>=</mo><mi>concat</mi><mo>(</mo><msub><mi>o</mi><mn>1</mn></msub><mo>,</mo><mo>…</mo><mo>,</mo><msub><mi>o</mi><mn>12</mn></msub><mo>)</mo><msup><mi>W</mi><mi>O</mi></msup></math></p>
<p class="formula"><math><mi>y</mi><mo>=</mo><mi>norm</mi><mo>(</mo><mi>x</mi><mo>+</mo><mi>a</mi><mo>)</mo><mspace width="1em"/><mi>z</mi><mo>=</mo><mi>norm</mi><mo>(</mo><mi>y</mi><mo>+</mo><mi>MLP</mi><mo>(</mo><mi>y</mi><mo>)</mo><mo>)</mo></math></p>
<p>The result is added to the word’s own vector x (the <em>residual</em> connection), scaled by a norm, and a small network (MLP) works on each word alone. So z, a point of the pictures before this one, is not attention alone: it is the word itself, what it took from others, and what the MLP made of both.</p>
<p>The picture has every step for “${WORDS[state.word]}”, in an untrained layer of eight numbers and two heads. A vector for its place is added first: attention alone does not know the order of words. Only in one row, that of the two heads, does the word look at other words.</p>`,
    },
  ],
  picture,
  label: (view) =>
    view.state.shown === "layer"
      ? `The nine steps of a layer for “${WORDS[view.state.word]}”, eight numbers each; the table has them.`
      : `“flies” in two sentences after layer ${view.state.layer}: cosine ${number(cosineNow(view))}. In “time flies” the nearest word is ${nearest(view, 0).word}, in “fruit flies” ${nearest(view, 1).word}.`,
  caption: (view) =>
    view.state.shown === "layer"
      ? html`“${WORDS[view.state.word]}” in an untrained layer. The first of its numbers: ${LAYER.map((at) => view.numbers.steps[at][view.state.word][0].toFixed(2).replace("-", "−")).join(", ")} as x, a, x + a and y. ${throwNote(view.state.seed)}`
      : html`After layer ${view.state.layer}${view.state.quarters === 4 ? "" : html`, with ${strength(view.state.quarters)} of layer 0, head 4`}, the two “flies” have a cosine of <b>${number(cosineNow(view))}</b>. ${view.state.layer === 0 ? "No word has looked at another yet." : html`Nearest of six words: “${nearest(view, 0).word}” in “time flies”, “${nearest(view, 1).word}” in “fruit flies”.`}`,
  control: ({ state, changed }) =>
    state.shown === "layer"
      ? html`${choice(
          "Word",
          WORDS.map((word, at) => [at, word] as const),
          state.word,
          "word",
        )}${throwControl(state.seed)}`
      : html`<label>layer ${slider("Layers that have run", { min: 0, max: 6, step: 1, value: state.layer }, state.layer, "layer")}</label>${changed || state.layer === 6 ? headSlider(state) : ""}`,
  carry: ({ seed }) => ({ seed }),
  actions: { throw: throwAgain },
  code: {
    typescript: ({ numbers: n, state }) =>
      state.shown === "layer"
        ? layerTypeScript(n, state.word)
        : `import { tensor } from "heed";
import { matmul } from "heed/nn";

// “flies” after layer ${state.layer} in both sentences: of
// 384 numbers, the plane that the two vectors span.
const time = [${n.pair[0].join(", ")}];
const fruit = [${n.pair[1].join(", ")}];

const unit = (x) => {
  const length = Math.hypot(...x);
  return tensor(
    Float64Array.from(x, (v) => v / length),
    [1, x.length]);
};
const cosine = matmul(unit(time), unit(fruit),
  { transposeB: true });
console.log(cosine.toFloat64()[0].toFixed(3));`,
    python: ({ numbers: n, state }) =>
      state.shown === "layer"
        ? layerPython(n, state.word)
        : `import numpy as np

# "flies" after layer ${state.layer} in both sentences: of
# 384 numbers, the plane that the two vectors span.
time = np.array([${n.pair[0].join(", ")}])
fruit = np.array([${n.pair[1].join(", ")}])

def unit(x):
    return x / np.linalg.norm(x)

cosine = unit(time) @ unit(fruit)
print(f"{cosine:.3f}")`,
    printed: ({ numbers: n, state }) =>
      state.shown === "layer"
        ? n.norms.map((row) => row.map((x) => x.toFixed(2)).join(" ")).join("\n")
        : n.rounded.toFixed(3),
    highlight: ({ state }) =>
      state.shown === "layer"
        ? ["layerNorm(tensor", "(s - s.mean())"]
        : ["const cosine = matmul(", "cosine = unit(time)"],
    names: { time: "time", fruit: "fruit", cosine: "cosine" },
  },
  table: ({ numbers: n, state }) =>
    state.shown === "layer"
      ? {
          caption: `“${WORDS[state.word]}” in the layer`,
          columns: ["step", ...Array.from({ length: 8 }, (_, d) => d + 1)].map(String),
          rows: n.steps.map((rows, step) => [
            LAYER_STEPS[step][0],
            ...rows[state.word].map((x) => Number(x.toFixed(4))),
          ]),
        }
      : {
          caption: `Cosines of “flies” with ${strength(state.quarters)} of layer 0, head 4`,
          columns: [
            "after layer",
            "of the two",
            ...n.words.flatMap((word) => [`time: ${word}`, `fruit: ${word}`]),
          ],
          rows: n.path.apart.map((cosine, layer) => [
            layer,
            Number(cosine.toFixed(4)),
            ...n.words.flatMap((_, i) => [0, 1].map((s) => Number(n.path.near[s][layer][i].toFixed(4)))),
          ]),
        },
  tasks: [
    {
      text: "Find the first layer after which “flies” of “time flies” is nearer to “runs” than to “insect”, with the whole head.",
      reached: ({ state }) =>
        state.quarters < 4
          ? "The whole head: 100 %."
          : state.layer === 2 ||
            (state.layer > 2
              ? "It is nearer to “runs” here. Is it already after an earlier layer?"
              : "Not here yet."),
    },
    {
      text: "After the last layer, find how little of the head is enough to keep “flies” of “time flies” nearer to “runs” than to “insect”.",
      reached: ({ state, numbers: { path } }) => {
        if (state.layer !== 6 || state.quarters === 4) return false;
        if (!(path.near[0][6][0] > path.near[0][6][2])) return "This is too little: “insect” is nearer.";
        return state.quarters === 1 || "This is enough. Is less enough, too?";
      },
    },
  ],
  recall: [
    [
      "What is a context vector?",
      "What attention returns for a word: the values of all words that it may see, each times its share, added up. The same word has another one in another sentence.",
    ],
    [
      "A head gives 80 % to a word. What else do you need to know before you say that it matters?",
      "What changes when the head is off. Here the cosine of the two meanings rises from 0.63 to 0.77, more than with any other of the 72 heads.",
    ],
  ],
  limits:
    "Two sentences, six words and one model were tried: the numbers show what this head does here, and neither that all heads work like this nor that the model knows what a fly is.",
  trained: {
    text: "See the head in the explorer: flies looks at time",
    address: "time-flies.html#v1/head?l=0&h=4&i=2&j=1&at=2.1",
    more: [
      {
        text: "The same head in the other sentence: flies looks at fruit",
        address: "fruit-flies.html#v1/head?l=0&h=4&i=2&j=1&at=2.1",
      },
    ],
  },
});
