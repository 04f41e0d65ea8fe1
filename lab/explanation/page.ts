/** Is attention an explanation? Two columns of the same words, by weight and by effect, joined by lines that cross. */

import { element, text } from "../../src/view/plot/svg.ts";
import { check, choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { initialOf, integer, oneOf, ownSentence, type StateFields } from "../frame/fields.ts";
import { guessText, line, named, pressable } from "../frame/marks.ts";
import { definePage, guessOf, type LabView } from "../frame/page.ts";
import { codeLines, descending, number, PIECES, percent } from "../frame/words.ts";
import type { Explanation, ExplanationNumbers } from "./compute.ts";

type PageView = LabView<Explanation, ExplanationNumbers>;

const IT = 8;

/** Places in an order. */
const PLACES = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
/** A word as it is named in sentences. */
const nameOf = ({ words }: ExplanationNumbers, j: number) =>
  j === 0 || j === words.length - 1 ? `the ${words[j]} mark` : `“${words[j]}”`;
/** Most tokens of those. */
const TOKENS = 64;

/** Where the two columns are. More words than the common sentence has are closer together. */
function layout(wide: boolean, words: number) {
  const g = wide
    ? { left: 100, right: 560, top: 86, row: 36, bar: 150, name: "" }
    : { left: 60, right: 266, top: 40, row: 21, bar: 56, name: "s11" };
  return { ...g, row: Math.min(g.row, (g.row * 12.5) / words) };
}

/** Width of the reader's guess at an effect, in percent: at most what leaves space for the effect itself. */
const widthOfGuess = (guess: number, scale: number, wide: boolean) =>
  Math.min(Math.max(1, (guess / 100) * scale), wide ? 160 : 64);

function picture({ numbers: n, state, wide }: PageView): string {
  const [byWeight, byEffect] = [descending(n.weights), descending(n.effects)];
  const g = layout(wide, n.words.length);
  const y = (place: number) => g.top + place * g.row;
  const scaleW = g.bar / Math.max(...n.weights);
  const scaleE = g.bar / Math.max(...n.effects, 1e-9);
  const guessWidth = n.out === 0 ? widthOfGuess(guessOf(state, 1), scaleE, wide) : 0;
  const parts: string[] = [
    text(g.left, g.top - 24, wide ? "by weight: how much it looks" : "by weight", { class: "tw bold" }),
    text(
      g.right,
      g.top - 24,
      wide
        ? `by effect: the output moves when it is ${state.how === "silent" ? "silenced" : "hidden"}`
        : "by effect",
      { class: "tb bold" },
    ),
  ];
  const weights: string[] = [];
  const effects: string[] = [];
  const lines: string[] = [];
  for (const [place, j] of byWeight.entries()) {
    const other = byEffect.indexOf(j);
    const off = j === n.out;
    const width = Math.max(1, n.weights[j] * scaleW);
    weights.push(
      text(g.left - 8, y(place) + 4, n.words[j], { class: `end ${g.name} ${off ? "tb bold" : ""}` }),
      off ? line(g.left - 12 - n.words[j].length * 7, y(place), g.left - 6, y(place), "lb") : "",
      element("rect", {
        x: g.left,
        y: y(place) - g.row * 0.32,
        width,
        height: g.row * 0.64,
        class: off ? "fw soft" : "fw",
      }),
      text(g.left + width + 5, y(place) + 4, percent(n.weights[j]), { class: "mono s11" }),
      // On top of what it names, so that its name is all that is read.
      pressable(
        `out:${j}`,
        `Take away ${n.words[j]}: weight ${percent(n.weights[j])}, effect ${percent(n.effects[j])}`,
        off,
        element("rect", {
          x: 0,
          y: y(place) - g.row / 2,
          width: g.left + g.bar,
          height: g.row,
          class: "hit",
        }),
      ),
    );
    const widthE = Math.max(1, n.effects[j] * scaleE);
    effects.push(
      element("rect", {
        x: g.right,
        y: y(other) - g.row * 0.32,
        width: widthE,
        height: g.row * 0.64,
        class: off ? "fb" : "fb soft",
      }),
      text(g.right - 8, y(other) + 4, n.words[j], { class: `end ${g.name} ${off ? "tb bold" : ""}` }),
      // Beside the reader's guess at the start mark, too.
      text(g.right + Math.max(widthE, j === 0 ? guessWidth : 0) + 5, y(other) + 4, percent(n.effects[j]), {
        class: `mono s11 ${off ? "bold" : ""}`,
      }),
    );
    lines.push(
      line(
        g.left + g.bar + (wide ? 46 : 38),
        y(place),
        g.right - 62,
        y(other),
        off ? "lb" : Math.abs(place - other) >= 4 ? "lk" : "lline",
      ),
    );
  }
  parts.push(
    named("lines", lines.join("")),
    named("weights", weights.join("")),
    named("effects", effects.join("")),
  );
  return parts.join("");
}

const fields: StateFields<Explanation> = {
  data: oneOf(["tired", "planted"]),
  row: integer(IT, 0, TOKENS - 1),
  how: oneOf(["silent", "hidden"]),
  out: integer(-1, -2, TOKENS - 1),
  ownText: ownSentence,
};

export const page = definePage<Explanation, ExplanationNumbers>({
  title: "Is attention an explanation?",
  point:
    "A large weight says where a head looked. It does not say that what it found there made a difference. That can be measured too.",
  minutes: 7,
  needs: ["words", "masks"],
  fields,
  steps: [
    {
      title: "Two orders of the same words",
      state: {},
      about: ({ how }) => how === "silent",
      text: ({
        numbers: n,
        state,
      }) => html`<p>${state.ownText !== "" ? `This is your sentence, at most its first ${PIECES} pieces, read by the small encoder that comes with heed. ` : ""}On the left, the words that ${nameOf(n, n.row)} looks at, by weight, as on every page so far. On the right the same words by <em>effect</em>: each word was <em>silenced</em> once. That means that its value was set to 0. The number says how far the output moved, in percent of its own length.</p>
<p>If weight were effect, all lines would be level. ${n.correlation < 1 ? "They cross." : "Here they are: the orders are the same, though the numbers are not."} The two orders agree with a rank correlation of <b>${number(n.correlation)}</b>; 1 would be the same order.</p>`,
    },
    {
      title: "The start mark",
      state: {},
      text: ({ numbers: n }) =>
        html`<p>The start mark is ${PLACES[descending(n.weights).indexOf(0)] ?? "far down"} by weight: ${nameOf(n, n.row)} gives it ${percent(n.weights[0])} of its attention.</p>`,
      predict: {
        question: "Silence the start mark. By how much of its own length does the output move?",
        min: 0,
        max: 50,
        step: 1,
        start: 20,
        unit: " %",
        show: { out: 0, how: "silent", data: "tired" },
        mark: (guess, { numbers: n, wide }) => {
          const g = layout(wide, n.words.length);
          const scale = g.bar / Math.max(...n.effects, 1e-9);
          const y = g.top + descending(n.effects).indexOf(0) * g.row;
          const width = widthOfGuess(guess, scale, wide);
          const beside = g.right + Math.max(width, n.effects[0] * scale) + 46;
          return (
            element("rect", {
              x: g.right,
              y: y - g.row * 0.42,
              width,
              height: g.row * 0.84,
              class: "none lk dash",
            }) +
            (wide
              ? guessText(beside, y + 4, `${guess} %`)
              : text(367, 30, `dashed: your guess, ${guess} %`, { class: "end tk bold s11 halo" }))
          );
        },
        result: ({ numbers: n }) => {
          const [top] = descending(n.weights);
          return html`It moves by <b>${percent(n.effects[0])}</b>. What a word adds to the output is its weight times its value. The value of this mark has length ${number(n.lengths[0], 2)}${top > 0 ? html`, where “${n.words[top]}” has ${number(n.lengths[top], 2)}` : ""}.${n.lengths[0] < n.lengths[top] / 4 ? " The head looks there and gets almost nothing. That is how a head rests." : ""} Weight times length puts the words in the order of their effect: a rank correlation of ${number(n.correlationWeighted)}.`;
        },
      },
    },
    {
      title: "Silenced is not hidden",
      state: { how: "hidden", out: 0 },
      about: ({ how }) => how === "hidden",
      text: ({
        numbers: n,
      }) => html`<p>There is another way to leave a word out: hide it with a mask. Then the shares of all others grow, to add up to 100 % again, and the output moves by <b>${percent(n.effects[0])}</b>. ${n.weights[0] >= 0.2 ? `Now the start mark is important: its ${percent(n.weights[0])} kept the others small.` : `Its ${percent(n.weights[0])} went to the others.`}</p>
<p>Both answers are right, but to different questions. What does this word add? What does its presence change? Before you ask whether attention is an explanation, say of what.</p>`,
    },
    {
      title: "A head that looks and takes nothing",
      state: { data: "planted", out: -2 },
      about: ({ data, how }) => data === "planted" && how === "silent",
      text: ({
        numbers: n,
      }) => html`<p>Now a made-up case. Queries and keys are those of the trained head, so every weight is as before. Only the value of ${nameOf(n, n.planted)} was set to 0.</p>
<p>The left column has not changed by a pixel: ${percent(n.weights[n.planted])} for ${nameOf(n, n.planted)}. Silencing it moves the output by ${percent(n.effects[n.planted])}, because its value was 0 already. The weights alone do not show the difference.</p>`,
    },
    {
      title: "What you may say",
      state: {},
      text: ({
        numbers: n,
      }) => html`<p>“In this head, ‘${n.words[n.row]}’ gives ${percent(n.weights[n.planted])} of its attention to ‘${n.words[n.planted]}’”: true, exactly. “The model decided because of that word”: not shown by any weight. Between a head’s output and a model’s answer are other heads, residual connections, and the layers above.</p>
<p>What can be shown is what happens when something is taken away: a word, a head, a layer. That is an experiment, and it shows more than a picture of weights.</p>`,
    },
  ],
  picture,
  label: ({ numbers: n }) =>
    `Words by weight: ${descending(n.weights)
      .slice(0, 4)
      .map((j) => n.words[j])
      .join(", ")}. By effect: ${descending(n.effects)
      .slice(0, 4)
      .map((j) => n.words[j])
      .join(", ")}.`,
  caption: ({ numbers: n, state }) =>
    n.out < 0
      ? html`Row of ${nameOf(n, n.row)}. Rank correlation of weight and effect: <b>${number(n.correlation)}</b>.`
      : html`With ${nameOf(n, n.out)} ${state.how === "silent" ? "silenced" : "hidden"}, which has ${percent(n.weights[n.out])} of the weight, the output moves by <b>${percent(n.effects[n.out])}</b> of its length.`,
  control: ({ numbers: n }) =>
    html`<span class="choice"><button type="button" data-act="row:-1" aria-label="Row before">‹</button><button type="button" data-act="row:1" aria-label="Next row">›</button></span><span><b class="q">${n.words[n.row]}</b> looks; press a word to take it away</span>`,
  more: ({ state }) =>
    html`${choice(
      "",
      [
        ["silent", "silence it"],
        ["hidden", "hide it"],
      ],
      state.how,
      "how",
    )}${check("set the top word’s value to 0", state.data === "planted", "planted")}`,
  actions: {
    out: ({ numbers: n }, j) => ({ out: n.out === Number(j) ? -1 : Number(j) }),
    row: ({ numbers: n }, by) => ({ row: (n.row + Number(by) + n.words.length) % n.words.length, out: -1 }),
    planted: (_, __, value) => ({ data: value === "1" ? "planted" : "tired" }),
  },
  code: {
    typescript: ({ numbers: n }) => `import { scaledDotProductAttention, tensor }
  from "heed";

// Scores of a row, q·k/√${n.dk}, and how far the output
// moved without each word.
const scores = Float64Array.of(
${fours(n.scores)});
const effects = [
${fours(n.effects)}];

const n = scores.length;
const key = tensor(scores, [n, 1]);
const one = tensor(Float64Array.of(1), [1, 1]);
const result = scaledDotProductAttention(
  one, key, key, { scale: 1, returnWeights: true });
const weights = [...result.weights.toFloat64()];

const ranks = (list) => {
  const order = list.map((_, i) => i)
    .sort((a, b) => list[a] - list[b]);
  return list.map((_, i) => order.indexOf(i));
};
const [a, b] = [ranks(weights), ranks(effects)];
const squares = a.reduce(
  (sum, rank, i) => sum + (rank - b[i]) ** 2, 0);
const correlation =
  1 - (6 * squares) / (n * (n * n - 1));
for (let i = 0; i < n; i += 6)
  console.log(weights.slice(i, i + 6)
    .map((x) => x.toFixed(3)).join(" "));
console.log(correlation.toFixed(4));`,
    python: ({ numbers: n }) => `import numpy as np

# Scores of a row, q @ k / sqrt(${n.dk}), and how far the
# output moved without each word.
scores = np.array([
${fours(n.scores)}])
effects = np.array([
${fours(n.effects)}])

e = np.exp(scores - scores.max())
weights = e / e.sum()

def ranks(x):
    return x.argsort().argsort()

a, b = ranks(weights), ranks(effects)
correlation = np.corrcoef(a, b)[0, 1]
for i in range(0, len(weights), 6):
    print(*(f"{x:.3f}" for x in weights[i:i + 6]))
print(f"{correlation:.4f}")`,
    printed: ({ numbers: n }) =>
      [
        ...Array.from({ length: Math.ceil(n.listed.length / 6) }, (_, i) =>
          n.listed
            .slice(6 * i, 6 * i + 6)
            .map((x) => x.toFixed(3))
            .join(" "),
        ),
        n.correlation.toFixed(4),
      ].join("\n"),
    highlight: () => ["const correlation", "correlation = "],
    names: { weights: "weights", effects: "effects", correlation: "lines" },
  },
  table: ({ numbers: n }) => ({
    caption: `Row of “${n.words[n.row]}”`,
    columns: ["word", "weight", "length of value", "effect"],
    rows: n.words.map((word, j) => [
      word,
      ...[n.weights[j], n.lengths[j], n.effects[j]].map((x) => Number(x.toPrecision(4))),
    ]),
  }),
  tasks: [
    {
      text: "Find a word with more than 60 % of a row’s weight that, silenced, moves the output by less than half of its length.",
      done: ({ state, numbers: n }) =>
        state.data === "tired" &&
        state.how === "silent" &&
        n.out >= 0 &&
        n.weights[n.out] > 0.6 &&
        n.effects[n.out] < 0.5,
    },
    {
      text: "Hide a word so that the output moves by more than its own length.",
      done: ({ state, numbers: n }) => state.how === "hidden" && n.out >= 0 && n.effects[n.out] > 1,
    },
  ],
  sentence: (ownText) => ({ ...initialOf(fields), ownText, row: ownText === "" ? IT : 1 }),
  carry: ({ ownText, row }) => (ownText === "" ? {} : { ownText, row }),
  recall: [
    [
      "A word has a large weight and, silenced, hardly any effect. How can that be?",
      "It adds weight times value to the output. Its value is short, or points where other values cancel it.",
    ],
    [
      "How can two heads have the same weights but different outputs?",
      "Weights come from queries and keys alone. Other values give another output with the same weights.",
    ],
  ],
  limits:
    "This measures one row of one head: a word that moves this output much need not move the model’s answer, and one that moves it little may act through another head.",
  trained: {
    text: "See the row in the explorer, with its values",
    address: "tired-cat.html#v1/row?l=3&h=1&i=8&j=2",
  },
});

/** Numbers in lines of four, five digits each. */
const fours = (numbers: readonly number[]): string =>
  codeLines(
    numbers.map((x) => Number(x.toPrecision(5))),
    4,
    "  ",
  );
