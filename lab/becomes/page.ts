/** What a word becomes: the output of attention, a context vector, layer by layer. */

import { text } from "../../src/view/plot/index.ts";
import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { integer, numbers, oneOf, real } from "../frame/fields.ts";
import { guessText, line, signed } from "../frame/marks.ts";
import { definePage } from "../frame/page.ts";
import { seed, throwAgain } from "../frame/throw.ts";
import { number, percent } from "../frame/words.ts";
import type { Becomes, BecomesNumbers } from "./compute.ts";
import { WORDS } from "./layer-steps.ts";
import { layer } from "./show-layer.ts";
import { apartAt, cosineNow, nearest, path, strength } from "./show-path.ts";
import { dragShare, shares, summed, TIME } from "./show-shares.ts";
import type { BecomesView } from "./shown.ts";

const SHOWN = { shares, path, layer };
const shownIn = ({ state }: BecomesView) => SHOWN[state.shown as keyof typeof SHOWN];
/** The pictures by name. */
const PICTURES = [
  ["shares", "shares"],
  ["path", "six layers"],
  ["layer", "one layer"],
] as const;
const pictures = ({ state }: BecomesView) => choice("Picture", PICTURES, state.shown, "shown");

const soars = ({ numbers: n }: BecomesView, sentence: number) =>
  n.path.near[sentence][6][n.words.indexOf("soars")];

/** The cosines of the last states with that of "##ars" alone, by tests/golden/evidence/evidence.json. */
const LAST_PIECE = [0.215, 0.154];

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

export const page = definePage<Becomes, BecomesNumbers>({
  title: "What a word becomes",
  point:
    "Attention returns a new vector for each word: its context vector. The same word becomes different vectors in different sentences, and one can measure how far they move apart.",
  minutes: 10,
  needs: ["words", "arrows"],
  fields: {
    layer: integer(1, 0, 6),
    quarters: integer(4, 0, 4),
    shown: oneOf(PICTURES.map(([name]) => name)),
    shares: numbers([], real(0, 0, 100, 10_000), (length) => length === 0 || length === 8),
    word: integer(1, 0, WORDS.length - 1),
    seed,
  },
  check: (state) => ({ ...state, shares: summed(state.shares) }),
  steps: [
    {
      title: "The output is a vector",
      state: {},
      about: ({ shown }) => shown === "shares",
      text: ({
        numbers: { context: n },
      }) => html`<p>The shares of a word say where it looks. What it takes home is a vector: the values of all words, each times its share, added up. Papers call it a <em>context vector</em>, and the word is then <em>contextual</em>.</p>
<p class="formula"><math><msub><mi>c</mi><mi>i</mi></msub><mo>=</mo><munder><mo>∑</mo><mi>j</mi></munder><msub><mi>α</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><msub><mi>v</mi><mi>j</mi></msub></math></p>
<p>Here is the head of the first page again, layer 0, head 4 of MiniLM, on “flies” in <b>time flies like an arrow</b>. It takes ${percent(n!.modelShares[TIME])} from “time”, so its context vector is almost ${n!.modelShares[TIME].toFixed(2)} × the value of “time”, which points to the right. The value of “fruit”, from <b>fruit flies like a banana</b>, points up. The cosine of the two is ${signed(n!.apart, 2)}: 1 is the same direction, 0 is nothing in common.</p>
<p><b>Drag a share.</b> The others keep their proportions, and the sum stays 100 %. Give “fruit” ${percent(n!.fruitShare)}, as in its own sentence, and “flies” takes home nearly what it takes there, the upper ring.</p>
<p class="still">On paper and without JavaScript nothing can be dragged: the picture has the model’s shares.</p>
<p>And the word? The context vector is mixed by W<sup>O</sup> and added to the word’s own vector and to what the eleven other heads give. These stay as in the model. The result has a cosine of ${n!.near[0].toFixed(3)} with “runs” and of ${n!.near[1].toFixed(3)} with “insect”, after the same attention in sentences of their own. Take from “time”, and “flies” moves from “runs” to “insect”: not far, for this is one head of the first layer.</p>`,
    },
    {
      title: "Six layers",
      state: { shown: "path", layer: 1 },
      about: ({ shown }) => shown === "path",
      text: ({
        numbers: { full },
      }) => html`<p>Now all of “flies”, in both sentences, after each layer of MiniLM (6 layers of 12 heads). It begins with the same 384 numbers for both, the row of “flies” in a table of words, as in word2vec, and that of its place: before the first layer their cosine is ${number(full.apart[0])}. After one layer it is <b>${number(full.apart[1])}</b>. In the plane, right means nearer to “runs”, and up nearer to “insect”.</p>
<p>Each layer does it again, on what the layer before has made: words look at words that have looked already.</p>`,
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
      state: { shown: "path", layer: 6 },
      about: ({ shown, layer, quarters }) => shown === "path" && layer === 6 && quarters === 4,
      text: (
        view,
      ) => html`<p>Compare each “flies” with words that have one meaning, each in a short sentence of its own (“time runs fast”, “a small insect”).</p>
<p>Of the six words tried, “flies” of <b>time flies</b> is nearest to “${nearest(view, 0).word}” (${number(nearest(view, 0).cosine)}), and “flies” of <b>fruit flies</b> to “${nearest(view, 1).word}” (${number(nearest(view, 1).cosine)}). A verb and an animal: the sentence decided.</p>
<p>Not every word fits the story. “soars”, which courses name, hardly tells them apart: ${number(soars(view, 0))} and ${number(soars(view, 1))}. The tokenizer cuts it into two pieces, “so” and “##ars”, and its vector here is the mean of both. The second piece alone has ${number(LAST_PIECE[0])} and ${number(LAST_PIECE[1])}.</p>`,
    },
    {
      title: "Which head did it?",
      state: { shown: "path", layer: 6 },
      text: () =>
        html`<p>In head 4 of the first layer (layer 0, head 4: both are counted from 0), “flies” gives 80 % of its attention to “time” and, in the other sentence, 81 % to “fruit”. Does that matter? Turn this head off in both sentences: its output becomes zeros, and all later layers are computed again.</p>`,
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
      state: { shown: "path", layer: 6, quarters: 2 },
      about: ({ shown, layer }) => shown === "path" && layer === 6,
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
  picture: (view) => shownIn(view).picture(view),
  label: (view) => shownIn(view).label(view),
  caption: (view) => shownIn(view).caption(view),
  // A phone has space for the sliders of the path and no more.
  control: (view) => html`${shownIn(view).control(view)}${view.state.shown === "path" ? "" : pictures(view)}`,
  more: (view) => (view.state.shown === "path" ? pictures(view) : undefined),
  carry: ({ seed, shares }) => ({ seed, shares }),
  actions: { throw: throwAgain },
  drags: { share: dragShare },
  code: {
    typescript: (view) => shownIn(view).typescript(view),
    python: (view) => shownIn(view).python(view),
    printed: (view) => shownIn(view).printed(view),
    highlight: (view) => shownIn(view).highlight,
    names: {
      ...{ shares: "shares", values: "values", context: "context" },
      ...{ time: "time", fruit: "fruit", cosine: "cosine" },
    },
  },
  table: (view) => shownIn(view).table(view),
  tasks: [
    {
      text: "Drag the share of “fruit” until the context vector of “flies” is as near to that of the one sentence as to that of the other: the two cosines differ by less than 0.05.",
      reached({ state, numbers: { context } }) {
        if (state.shares.length === 0 || context === undefined) return false;
        const [time, fruit] = context.cosines;
        if (Math.abs(time - fruit) < 0.05) return true;
        return time > fruit
          ? "It is still nearer to that of “time flies”."
          : "Now it is nearer to that of “fruit flies”.";
      },
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
      "A head gives 80 % to a word. What else do you need to know before you say that it matters?",
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
