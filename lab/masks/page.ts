/** Masks: which words a word may look at, and what happens to a row in which everything is masked. */

import { choice, menu } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import type { StateFields } from "../frame/fields.ts";
import { clamp, initialOf, integer, numbers, oneOf, ownSentence, toggle } from "../frame/fields.ts";
import { guessLine, guessText, line } from "../frame/marks.ts";
import { definePage } from "../frame/page.ts";
import { codeLines, indexOfLargest, number, percent } from "../frame/words.ts";
import type { Masks, MasksNumbers } from "./compute.ts";
import type { MasksView } from "./picture.ts";
import { answersAt, footOf, gridAt, hidden, isEmpty, picture, sees, shown } from "./picture.ts";
import { callOf, JOINS, joined, RECIPES, realOf, SIZE } from "./recipes.ts";

/** The words that the page speaks of, “on” and “sat”; of a short sentence, the last word. */
const onOf = (ownText: string) => Math.min(4, realOf(ownText) - 2);
const satOf = (ownText: string) => Math.min(3, realOf(ownText) - 2);
const ON = onOf("");

/** Masks at hand, each as two that are joined. */
const CHOICES: Readonly<Record<string, readonly [string, string, string]>> = {
  none: ["none", "and", "none"],
  causal: ["causal", "and", "none"],
  padding: ["padding", "and", "none"],
  "causal + padding": ["causal", "and", "padding"],
  "window ± 2": ["window", "and", "none"],
};
/** Their names on buttons. */
const CHOICE_NAMES = /* text */ ["none", "causal", "padding", "causal + padding", "window ± 2"];
/** The names of JOINS. */
const JOIN_NAMES = /* text */ ["and", "or"];
const presetsOf = (ownText: string) =>
  Object.fromEntries(
    Object.entries(CHOICES).map(([name, choice]) => [name, joined(...choice, realOf(ownText))]),
  );
const PRESETS = presetsOf("");

const wiped = (mask: readonly number[], row: number) =>
  mask.map((bit, at) => (Math.floor(at / SIZE) === row ? 0 : bit));

const sum = (shares: readonly number[]) => shares.reduce((a, b) => a + b, 0);
/** How many tokens are padding, as a word. */
const padsOf = (ownText: string) => COUNTS[SIZE - realOf(ownText)];
const COUNTS = /* text */ ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"] as const;

const list = (words: readonly string[]) =>
  words.length === 0
    ? /* text */ "nothing"
    : words
        .map((word) => `“${word}”`)
        .join(", ")
        .replace(/, ([^,]*)$/, " and $1");

const fields: StateFields<Masks> = {
  mask: numbers(PRESETS.causal, integer(0, 0, 1)),
  row: integer(ON, 0, SIZE - 1),
  column: integer(6, 0, SIZE - 1),
  low: toggle(),
  inverted: toggle(),
  hide: toggle(),
  late: toggle(),
  show: oneOf(["grid", "row", "polarity"]),
  first: oneOf(Object.keys(RECIPES), "causal"),
  join: oneOf(JOINS),
  second: oneOf(Object.keys(RECIPES), "none"),
  ownText: ownSentence,
};

export const page = definePage<Masks, MasksNumbers>({
  title: "Masks",
  point:
    "A mask says which words a word may look at. Hidden words get a share of exactly 0. If a row may look at nothing, programs give different answers.",
  minutes: 9,
  needs: ["words"],
  fields,
  // A mask that is one of the presets has the preset's name in the menus.
  check(state) {
    const preset = CHOICES[presetOf(state)];
    if (preset === undefined || isRecipe(state)) return state;
    const [first, join, second] = preset;
    return { ...state, first, join, second };
  },
  steps: [
    {
      title: "No looking ahead",
      state: ({ ownText }) => ({ row: onOf(ownText) }),
      text: ({ numbers: n, state }) => html`${
        state.ownText === ""
          ? html`<p>This head of a trained model looks ahead to the next noun: without a mask, “on” gives <b>${percent(n.plain[ON][6])}</b> of its attention to “mat”<span class="wide-only"> (the dashed outline)</span>.</p>
<p>But a model that writes text has not written “mat” yet when it is at “on”.`
          : html`<p>Your sentence, read by the small encoder that comes with heed: as many pieces as it has words, at most ${SIZE - 4} (a dot marks a piece that continues a word), then padding up to ${SIZE} tokens. Without a mask, “${n.tokens[onOf(state.ownText)]}” gives <b>${percent(sum(n.plain[onOf(state.ownText)].slice(onOf(state.ownText) + 1)))}</b> of its attention to what comes after it<span class="wide-only"> (the dashed outlines)</span>.</p>
<p>But a model that writes text has not written that yet when it is at “${n.tokens[onOf(state.ownText)]}”.`
      } So every word may look only at itself and at the words before it: the <em>causal</em> mask. Hatched cells are hidden.</p>
<p>The share of a hidden word is not just small. It is 0. The other shares have grown: shares add up to 100 %, so what the hidden words had went to “${n.tokens[onOf(state.ownText)]}” and the words before it.</p>
<p><b>Paint</b>: drag over the cells to hide or show them.</p>`,
    },
    {
      title: "Padding",
      state: ({ ownText }) => ({ mask: PRESETS.none, row: satOf(ownText), hide: true }),
      text: ({ state }) =>
        html`<p>All sentences of a batch must have the same length. Short ones are filled up with <em>pad</em>, a token without meaning. Here there are ${padsOf(state.ownText)} of them at the end, and no mask.</p>
<p>Masks can be combined. For a model that writes text and reads padded batches, use <code>and(causal(), keyLengths(${realOf(state.ownText)}))</code>: it allows what both masks allow. <code>or</code> allows what either allows. Once you have changed something, two menus are under the picture: choose two masks and see what they make together.</p>`,
      predict: {
        question: ({ state, numbers: n }) =>
          `“${n.tokens[satOf(state.ownText)]}” should ignore the ${padsOf(state.ownText)} pads. How much of its attention do they get together?`,
        min: 0,
        max: 100,
        step: 1,
        start: 0,
        unit: " %",
        why: ({ state }) =>
          state.ownText !== ""
            ? []
            : [
                [
                  0,
                  12,
                  "A pad means nothing to you. To the formula it is a key like any other, with a score and so with a share.",
                ],
                [45, 100, "Two of ten keys have no reason to get more than the eight words together."],
              ],
        show: ({ ownText }) => ({
          mask: PRESETS.none,
          row: satOf(ownText),
          show: "row",
          hide: false,
          inverted: false,
        }),
        mark: (guess, view) => {
          const { state, wide } = view;
          // A bracket beside the rows of the pads.
          const { top, row } = answersAt(view);
          const [from, to] = [top + realOf(state.ownText) * row + 3, top + SIZE * row - 5];
          const x = wide ? 840 : 352;
          return (
            line(x, from, x, to, "link") +
            guessText(wide ? 850 : 367, wide ? footOf(view) + 22 : 28, `${guess} % together`, "end")
          );
        },
        result: ({ state, numbers: n }) =>
          html`Without a mask they get <b>${percent(sum(n.plain[satOf(state.ownText)].slice(realOf(state.ownText))))}</b>. With the padding mask: 0. The result must not depend on how many pads were added, and without a mask it does.`,
      },
    },
    {
      title: "−∞, or just a very small number?",
      state: ({ ownText }) => ({ row: onOf(ownText), low: false, show: "row" }),
      staticState: { low: true },
      text: (
        view,
      ) => html`<p>To hide a key, set its score to −∞ before softmax: <i>e</i><sup>−∞</sup> is exactly 0. Many programs write −1e9 instead, minus a billion, because <i>e</i> to the power of that is 0 as well.</p>
<p>Compare the first two columns: they are equal.</p>
<p><button type="button" data-act="low">${view.state.low ? "Put the scores back" : "Set the visible scores to −1e30"}</button></p>
${
  view.state.low
    ? html`<p>All visible scores are still finite, and equal. But −1e9 is now the <em>largest</em> number in the row: the hidden words get everything.</p>`
    : html`<p class="still">Visible scores of −1e30 are still finite, and equal. But then −1e9 is the <em>largest</em> number in the row: the hidden words get everything.</p>`
}
<p>In float16 there is no −1e9 at all. The lowest number is −65,504, so NumPy makes ${view.numbers.half === Number.NEGATIVE_INFINITY ? "−∞" : number(view.numbers.half)} of it, and PyTorch’s <code>masked_fill</code> refuses it with an error.</p>`,
    },
    {
      title: "A row that may look at nothing",
      state: ({ ownText }) => ({
        mask: wiped(PRESETS.causal, onOf(ownText)),
        row: onOf(ownText),
        show: "row",
        hide: true,
      }),
      text: ({ numbers: n, state }) =>
        html`<p>Hide every word from “${n.tokens[onOf(state.ownText)]}”. This happens in practice: a row of padding, a document of length 0, a window that ends too early. What should the answer be?</p>`,
      predict: {
        question: "With −1e9 for all ten words: what share does each hidden word get?",
        min: 0,
        max: 100,
        step: 1,
        start: 0,
        unit: " %",
        why: [
          [
            0,
            5,
            "You expected −1e9 to hide. It hides a word only beside scores that are higher, and here no score is.",
          ],
          [20, 100, "The shares of ten words add up to 100 %, so they cannot all have that much."],
        ],
        show: ({ ownText }) => ({
          mask: wiped(PRESETS.causal, onOf(ownText)),
          row: onOf(ownText),
          show: "row",
          hide: false,
          inverted: false,
          low: false,
        }),
        mark: (guess, view) => {
          const { left, top, width, step, row } = answersAt(view);
          const x = left + step + (guess / 100) * width;
          return guessLine(x, top, x, top + SIZE * row - 5, x, view.wide ? footOf(view) + 22 : 28);
        },
        result: (view) =>
          html`Each gets <b>${shown(view.numbers.finite[0])}</b>. Ten equal scores, so ten equal shares: the output is <em>the mean of the words it must not see</em>, and it looks like any other number. The bare formula divides 0 by 0 and gives <b>${shown(view.numbers.formula[0])}</b>, which then spreads to everything computed from it. heed gives <b>0</b>: the output of a word that sees nothing is zeros.`,
      },
    },
    {
      title: "True means keep. Or drop.",
      state: ({ ownText }) => ({ row: onOf(ownText), show: "polarity" }),
      about: ({ mask }) => mask.join() === PRESETS.causal.join(),
      text: ({
        numbers: n,
        state,
      }) => html`<p>One library reads <code>True</code> as “may look”, another as “is hidden”, and PyTorch does both: its function one way, its module the other. No error appears when you mix them up: the causal mask is simply inverted.</p>
<p><button type="button" data-act="invert">${state.inverted ? "Read it as “may look” again" : "Read the same bits the other way"}</button></p>
${state.inverted ? html`<p>“${n.tokens[state.row]}” now sees ${list(n.tokens.filter((_, j) => n.heed[j] > 0))}, and not itself. A model trained like this copies the next word instead of predicting it, and its loss is low for the wrong reason.</p>` : ""}`,
    },
    {
      title: "After softmax is too late",
      state: ({ ownText }) => ({ row: onOf(ownText), show: "row", late: true }),
      text: ({ numbers: n, state }) => {
        const on = onOf(state.ownText);
        const rest = n.plain[on].slice(0, on + 1).reduce((a, b) => a + b, 0);
        return html`<p>Why not compute the shares first and set the hidden ones to 0 afterwards? Because then the row of “${n.tokens[on]}” adds up to ${percent(rest)} and not to 100 %. The hidden words were still in the denominator of softmax. So the mask comes before softmax: score, scale, <b>mask</b>, softmax.</p>
<p class="formula"><math><mtext>softmax</mtext><mo>(</mo><mfrac><mrow><mi>Q</mi><msup><mi>K</mi><mo>⊤</mo></msup></mrow><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac><mo>+</mo><mi>M</mi><mo>)</mo><mi>V</mi><mo>,</mo><mspace width="1em"></mspace><msub><mi>M</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><mo>=</mo><mn>0</mn><mtext> or </mtext><mo>−</mo><mi>∞</mi></math></p>`;
      },
    },
  ],
  picture,
  label: (view) =>
    `A mask of ${SIZE} by ${SIZE} cells, and the row of ${view.numbers.tokens[view.state.row]} computed in three ways. Hidden from it: ${list(hidden(view, view.state.row).map((j) => view.numbers.tokens[j]))}.`,
  caption: (view) => {
    const { numbers: n, state } = view;
    const word = n.tokens[state.row];
    if (state.hide)
      return html`“${word}” and the ten words. What does it give to each? Predict, then press Show.`;
    if (isEmpty(view, state.row))
      return html`“${word}” may look at nothing. The formula gives ${shown(n.formula[0])}, −1e9 gives ${shown(n.finite[0])} to every hidden word, heed gives 0.`;
    const best = indexOfLargest(n.heed);
    const off = hidden(view, state.row);
    const leaks = n.finite.reduce((sum, weight, j) => sum + (off.includes(j) ? weight : 0), 0);
    const moved = n.changed.filter(Boolean).length;
    return html`“${word}” gives the most, ${percent(n.heed[best])}, to “${n.tokens[best]}”. Hidden from it: ${off.length === 0 ? "nothing" : `${off.length} of ${SIZE}`}${leaks > 0.001 ? html`; with −1e9 the hidden ones get <b>${percent(leaks)}</b>` : ""}. The mask changes the output of ${moved === 0 ? "no row" : moved === SIZE ? "every row" : moved === 1 ? "one row" : `${moved} rows`}.`;
  },
  control: ({ state }) => html`<button type="button" data-act="wipe">Hide the whole row</button>
${choice(
  "",
  [
    ["grid", "mask"],
    ["row", "three ways"],
    ["polarity", "bits"],
  ],
  state.show,
  "show",
)}`,
  more: ({ state }) => html`${choice(
    "",
    Object.keys(CHOICES).map((name, i) => [name, CHOICE_NAMES[i]] as const),
    presetOf(state),
    "preset",
  )}
<span class="recipe">${menu("First mask", recipeNames, state.first, "first")} ${menu(
    "Joined by",
    JOINS.map((join, i) => [join, JOIN_NAMES[i]] as const),
    state.join,
    "join",
  )} ${menu("Second mask", recipeNames, state.second, "second")} <code>${isRecipe(state) ? callOf(state.first, state.join, state.second, realOf(state.ownText)) || "no mask" : "painted by hand"}</code></span>`,
  sentence: (ownText) => ({ ...initialOf(fields), row: onOf(ownText), ownText }),
  carry: ({ ownText }) => ({ ownText }),
  actions: {
    row: (_, i) => ({ row: Number(i), hide: false }),
    wipe: ({ state }) => ({
      mask: state.inverted
        ? state.mask.map((bit, at) => (Math.floor(at / SIZE) === state.row ? 1 : bit))
        : wiped(state.mask, state.row),
      show: "row",
    }),
    preset: ({ state }, name) => recipe(state.ownText, ...CHOICES[name]),
    first: ({ state }, _, value) => recipe(state.ownText, value, state.join, state.second),
    join: ({ state }, _, value) => recipe(state.ownText, state.first, value, state.second),
    second: ({ state }, _, value) => recipe(state.ownText, state.first, state.join, value),
    low: ({ state }) => ({ low: !state.low, row: onOf(state.ownText) }),
    invert: ({ state }) => ({ inverted: !state.inverted }),
    paint: ({ state }) => ({
      mask: state.mask.map((bit, at) => (at === state.row * SIZE + state.column ? 1 - bit : bit)),
    }),
  },
  drags: {
    paint: {
      move: ({ state, wide }, _, point, gesture) => {
        const { x, y, cell } = gridAt(wide);
        const [row, column] = [point.y - y, point.x - x].map((d) => clamp(Math.floor(d / cell), 0, SIZE - 1));
        const at = row * SIZE + column;
        if (gesture.first) gesture.memo = 1 - state.mask[at];
        return {
          hide: false,
          row,
          column,
          mask: state.mask.map((bit, n) => (n === at ? (gesture.memo as number) : bit)),
        };
      },
      key: ({ state }, _, dx, dy) => ({
        column: state.column + Math.sign(dx),
        row: state.row - Math.sign(dy),
      }),
    },
  },
  code: {
    typescript: (view) => `import { scaledDotProductAttention,
  tensor } from "heed";
import { finiteMask, withoutMaximum } from
  "heed/reference";

// The scores of ${JSON.stringify(view.numbers.tokens[view.state.row])} before the mask, and
// which of the ten words it may look at.
const scores = Float64Array.of(
${codeLines(view.numbers.scores, 5, "  ")});
const see = Uint8Array.of(
  ${visibleKeys(view).map(Number).join(", ")});

const one = Float64Array.of(1);
const sizes = { Nq: 1, Nk: 10, dk: 1, dv: 1 };
const options =
  { scale: 1, allowed: (i, j) => see[j] === 1 };
const formula = withoutMaximum(
  one, scores, scores, sizes, options);
const finite = finiteMask(
  one, scores, scores, sizes, options);

const key = tensor(scores, [10, 1]);
const mask = tensor(see, [1, 10], "bool");
const heed = scaledDotProductAttention(
  tensor(one, [1, 1]), key, key,
  { scale: 1, attnMask: mask,
    returnWeights: true });

const text =
  (x) => (x !== x ? "nan" : x.toFixed(2));
const show = (row) =>
  console.log([...row].map(text).join(" "));
show(formula.weights);
show(finite.weights);
show(heed.weights.toFloat64());`,
    python: (view) => `import numpy as np

# The scores of ${JSON.stringify(view.numbers.tokens[view.state.row])} before the mask, and
# which of the ten words it may look at.
scores = np.array([
${codeLines(view.numbers.scores, 5, "    ")}])
see = np.array([${visibleKeys(view).map(Number).join(", ")}]) == 1

def divide(e):
    with np.errstate(invalid="ignore"):
        return e / e.sum()

masked = np.where(see, scores, -np.inf)
formula = divide(np.exp(masked))

masked = np.where(see, scores, -1e9)
finite = divide(np.exp(masked - masked.max()))

heed = np.zeros(10)
if see.any():
    top = scores[see].max()
    heed[see] = divide(np.exp(scores[see] - top))

for row in formula, finite, heed:
    print(" ".join(f"{x:.2f}" for x in row))`,
    printed: ({ numbers: { listing } }) =>
      listing.map((row) => row.map((x) => (Number.isNaN(x) ? "nan" : x.toFixed(2))).join(" ")).join("\n"),
    highlight: (view) =>
      isEmpty(view, view.state.row) || view.state.low
        ? ["const finite", "finite = divide"]
        : view.state.show === "polarity"
          ? ["const see", "see = np.array"]
          : ["attnMask: mask", "heed[see] = divide"],
    names: { see: "mask", mask: "mask", formula: "formula", finite: "finite", heed: "heed" },
  },
  table: ({ numbers: n, state }) => ({
    caption: `Row of “${n.tokens[state.row]}”`,
    columns: ["word", "without a mask", "formula, −∞", "−1e9", "heed"],
    rows: n.tokens.map((token, j) => [
      token,
      ...[n.plain[state.row], n.formula, n.finite, n.heed].map((row) =>
        Number.isNaN(row[j]) ? "NaN" : Number(row[j].toPrecision(4)),
      ),
    ]),
  }),
  tasks: [
    {
      text: "Build the mask for a model that writes this text: causal, and no word looks at a pad, not even the pads themselves.",
      reached: ({ state }) => {
        const wanted = presetsOf(state.ownText)["causal + padding"];
        const wrong = state.mask.filter((bit, at) => bit !== wanted[at]).length;
        if (wrong === 0) return !state.inverted || "The bits are right, and read the other way round.";
        return wrong <= 40 && `${wrong} of ${wanted.length} cells are not right yet.`;
      },
    },
    {
      text: "In the sentence about the cat, make the “the” before “mat” give “mat” more than 90 %.",
      reached: ({ state, numbers: n }) =>
        state.ownText === "" &&
        (n.weights[5][6] > 0.9 ||
          (n.weights[5][6] > 0.5 && `It gives ${percent(n.weights[5][6])} now. What else may it look at?`)),
    },
  ],
  recall: [
    [
      "Why is a large negative number not the same as −∞?",
      "It is a score like any other. It is higher than even lower scores, and if every score of a row is that number, softmax gives all words equal shares.",
    ],
    [
      "Why must the mask come before softmax?",
      "Because softmax divides by the sum over all words. Set to 0 afterwards, hidden words still count in that sum, and the row no longer adds up to 100 %.",
    ],
  ],
  limits:
    "A share of 0 says that this head in this layer did not read a word, not that the model does not know it: the word may reach it through another head or layer.",
  trained: {
    text: "See this head in the explorer, unmasked: “on” looks ahead to “mat”",
    address: "tired-cat.html#v1/head?l=1&h=7&i=4&j=6&at=4.6",
  },
});

/** A mask of two that are joined. */
const recipe = (ownText: string, first: string, join: string, second: string): Partial<Masks> => ({
  hide: false,
  mask: joined(first, join, second, realOf(ownText)),
  first,
  join,
  second,
  inverted: false,
  low: false,
});
const recipeNames = Object.entries(RECIPES).map(([name, { title }]) => [name, title] as const);
const isRecipe = ({ mask, first, join, second, ownText }: Masks) =>
  joined(first, join, second, realOf(ownText)).every((bit, at) => bit === mask[at]);

/** The preset that has the state's mask; "" if none has. */
const presetOf = ({ mask, ownText }: Masks) =>
  Object.entries(presetsOf(ownText)).find(([, preset]) => preset.join() === mask.join())?.[0] ?? "";

/** For each key, whether the chosen row may look at it. */
const visibleKeys = (view: MasksView) =>
  Array.from({ length: SIZE }, (_, j) => sees(view, view.state.row, j));
