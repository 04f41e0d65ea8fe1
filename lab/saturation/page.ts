/** Saturation: at × 100 one number takes everything, and the others can no longer be learned. */

import { check, choice, menu } from "../../ui/controls.ts";
import { html, type TemplateResult } from "../../ui/markup.ts";
import { numbers, oneOf, real, toggle } from "../frame/fields.ts";
import { guessLine } from "../frame/marks.ts";
import { definePage } from "../frame/page.ts";
import { seed, throwAgain, throwControl } from "../frame/throw.ts";
import { descending, literal, number, percent } from "../frame/words.ts";
import type { Saturation, SaturationNumbers } from "./compute.ts";
import { ANSWER, barsAt, bound, picture, REACH, small } from "./picture.ts";

/** Eight draws of a standard normal distribution, rounded. */
const NUMBERS = [0.13, -0.13, 0.64, 0.1, -0.54, 0.36, 1.3, 0.95] as const;
const LARGEST = 100;

/** Positions of the slider, 0 to 120: linear up to × 1 (20), then a factor of ten for every 50. */
export const timesAt = (position: number): number =>
  position <= 20 ? position / 20 : Number((10 ** ((position - 20) / 50)).toPrecision(3));
export const positionOf = (times: number): number => (times <= 1 ? times * 20 : 20 + 50 * Math.log10(times));

const nth = (i: number) => `number ${i + 1}`;

export const page = definePage<Saturation, SaturationNumbers>({
  title: "Saturation",
  point:
    "Softmax of eight numbers gives each of them some attention. Softmax of the same numbers × 100 gives it all to one, and learning stops.",
  minutes: 8,
  needs: ["scale"],
  fields: {
    numbers: numbers(NUMBERS, real(0, -REACH, REACH, 100)),
    times: real(100, 0, LARGEST),
    keys: oneOf([10, 16, 64]),
    half: toggle(),
    show: oneOf(["bars", "rows"]),
    seed,
  },
  steps: [
    {
      title: "The same numbers, × 100",
      state: {},
      text: ({
        numbers: n,
        state,
      }) => html`<p>Here are eight numbers. They are scores: how well one word’s question matches eight other words. Softmax turns scores into shares that add up to 100 %.</p>
<p>The outlines are the shares of the numbers as they are. The largest has <b>${percent(Math.max(...n.plain))}</b>, and every other number has some.</p>
<p>Now multiply all eight by ${number(state.times)}. Their order is the same. The largest has <b>${percent(Math.max(...n.shares))}</b>: ${Math.max(...n.shares) > 0.99 ? "the average has become a choice" : "the others still have a part in the average"}.</p>`,
    },
    {
      title: "Close is not close enough",
      state: {},
      text: () =>
        html`<p>Number 8 is second: 0.95, where number 7 has 1.30. Softmax looks at differences only, and × 100 makes this difference 35. The ratio of two shares is <i>e</i> to the power of the difference of their scores.</p>`,
      predict: {
        question: "Still at × 100: raise number 8 halfway, from 0.95 to 1.13. What share will it get?",
        min: 0,
        max: 100,
        step: 1,
        start: 25,
        unit: " %",
        why: [
          [
            5,
            60,
            "You treated shares as if half of the way were half of the share. The difference is still 17, and e^−17 is forty billionths.",
          ],
          [61, 100, "It would have to be ahead for that, and number 7 is still 0.17 · 100 = 17 above it."],
        ],
        show: { numbers: NUMBERS.map((z, i) => (i === 7 ? ANSWER : z)), times: 100, show: "bars" },
        mark: (guess, { wide }) => {
          const at = barsAt(wide);
          const [x, y] = [at.column(7), at.share(guess / 100)];
          // On the right where there is space, else above its line, or below it under the percentage of number 7.
          const [tx, ty] = wide ? [x + at.width + 34, y + 4] : [x + 16, guess > 85 ? y + 12 : y - 5];
          return guessLine(x - 4, y, x + at.width + 4, y, tx, ty);
        },
        result: ({ numbers: n, state }) =>
          html`At × ${number(state.times)} heed computes <b>${percent(n.shares[7])}</b>, with a difference of ${number((state.numbers[6] - state.numbers[7]) * state.times)}. Drag number 8 up until it is level with number 7. Only there does everything flip.`,
      },
    },
    {
      title: "Why learning stops",
      state: { times: 100 },
      text: ({
        numbers: n,
        state,
      }) => html`<p>Training asks one question of every number: if you were a little larger, what would change? The answer is the <em>gradient</em>, at the bottom: a bar for each number, or a dot where it is almost 0.</p>
<p>At × 1 there is an answer for each number. At × ${number(state.times)} the largest answer is ${small(Math.max(...n.gradient.map(Math.abs)))}${Math.max(...n.gradient.map(Math.abs)) < 1e-4 ? ". No gradient means no learning: nothing tells the model how to change these scores" : ""}.</p>
<p class="formula"><math><mfrac><mrow><mo>∂</mo><msub><mi>p</mi><mi>i</mi></msub></mrow><mrow><mo>∂</mo><msub><mi>s</mi><mi>j</mi></msub></mrow></mfrac><mo>=</mo><msub><mi>p</mi><mi>i</mi></msub><mo>(</mo><msub><mi>δ</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><mo>−</mo><msub><mi>p</mi><mi>j</mi></msub><mo>)</mo></math></p>
<p>With one share at 1 and the others at 0, every product of this form is 0.</p>`,
    },
    {
      title: "Not one row but 2,000",
      state: { times: 100, show: "rows" },
      text: ({
        numbers: { rows: n },
        state,
      }) => html`<p>One example can be bad luck. So take 2,000 rows, each with a random query and ${state.keys} random keys of its own, 64 numbers long, scaled by 1/√64 as they should be. Each dot is one row. Its height shows how much the row can still learn; left and right mean nothing. The axis never moves.</p>
<p>Drag the slider from 1 to 100 and watch the dots fall. At × ${number(state.times)}, half of all rows are below ${bound(n.quartiles[1])}.</p>
<p>But the largest is ${number(n.maximum)}: in a few rows two keys are almost level. On its way back to the query, that gradient is multiplied by ${number(state.times)} again. At × 100, <b>most rows stop learning and a few explode.</b> An average would hide both.</p>`,
    },
    {
      title: "In float16",
      state: { times: 20, show: "rows", half: true },
      text: ({ numbers: { rows: n }, state }) =>
        html`<p>Models are often trained in float16, whose smallest positive number is 6·10⁻⁸. At × ${number(state.times)}, <b>${percent(n.zeros)}</b> of all weights round to 0. They are not small but exactly 0, and the values that they multiply are lost. Dots below the line are gradients that become 0, too.</p>`,
    },
    {
      title: "Where × 8 comes from",
      state: { times: 8 },
      about: ({ times, keys }) => times === 8 && keys === 10,
      text: ({
        numbers: { rows: n },
      }) => html`<p>Who would multiply scores by 100? Nobody on purpose. But a dot product of 64 random pairs has a spread of √64 = 8. Forgetting the division by √<i>d</i><sub>k</sub> is the same as × 8: the largest of ten keys then has ${percent(n.largest)} on average, and in ${percent(n.settled)} of the rows it has more than 99 %. At <i>d</i><sub>k</sub> = 1,024 it is × 32.</p>
<p>That is the whole reason for the small “÷ √<i>d</i><sub>k</sub>” in the formula.</p>`,
    },
  ],
  picture,
  label: ({ state, numbers: n }) =>
    `Eight numbers as bars and their shares after softmax at times ${number(state.times)}. The largest share is ${percent(Math.max(...n.shares))}. Beside them the gradients of 2,000 rows, with median ${small(n.rows.quartiles[1])}.`,
  caption: ({ state, numbers: n }): TemplateResult => {
    const order = descending(n.shares);
    const [first, second] = order;
    const gap = (state.numbers[first] - state.numbers[second]) * state.times;
    return html`× ${number(state.times)}: ${nth(first)} takes ${percent(n.shares[first])}, ${nth(second)} is ${number(gap)} behind and has ${n.shares[second] >= 0.001 ? percent(n.shares[second]) : small(n.shares[second])}. The largest gradient is ${small(Math.max(...n.gradient.map(Math.abs)))}${state.half ? html`; in float16, ${percent(n.rows.zeros)} of all weights are 0` : ""}.`;
  },
  control: ({
    state,
  }) => html`<label>× <input type="range" min="0" max="120" step="1" value="${Math.round(positionOf(state.times))}" data-act="times" aria-label="Multiply by" aria-valuetext="times ${number(state.times)}"><output>${number(state.times)}</output></label>
${choice(
  "",
  [1, 10, 100].map((times) => [times, `× ${times}`] as const),
  state.times,
  "at",
  "wide-only",
)}`,
  more: ({ state }) =>
    html`<label>keys ${menu(
      "Keys of each row",
      [10, 16, 64].map((keys) => [keys, keys] as const),
      state.keys,
      "keys",
    )}</label>${check("float16", state.half, "half")}${throwControl(state.seed)}`,
  carry: ({ seed }) => ({ seed }),
  actions: {
    throw: throwAgain,
    times: (_, __, value) => ({ times: timesAt(Number(value)) }),
    at: (_, times) => ({ times: Number(times) }),
    keys: (_, __, value) => ({ keys: Number(value), show: "rows" }),
    half: (_, __, value) => ({ half: value === "1", show: "rows" }),
  },
  drags: {
    bar: {
      move: ({ state, wide }, name, { y }) => {
        const value = barsAt(wide).number.invert(y);
        return { numbers: state.numbers.map((z, i) => (i === Number(name) ? value : z)), show: "bars" };
      },
      key: ({ state }, name, dx, dy) => ({
        numbers: state.numbers.map((z, i) => (i === Number(name) ? z + (dx + dy) * 0.01 : z)),
      }),
    },
  },
  code: {
    typescript: ({ state: { numbers, times } }) => `import { scaledDotProductAttention, tensor }
  from "heed";

const numbers = Float64Array.of(
  ${numbers.slice(0, 4).map(literal).join(", ")},
  ${numbers.slice(4).map(literal).join(", ")});
const times = ${literal(times)};

// One query, 1; the numbers are the keys.
const one = tensor(Float64Array.of(1), [1, 1]);
const keys = tensor(numbers, [8, 1]);
const { weights } = scaledDotProductAttention(
  one, keys, keys,
  { scale: times, returnWeights: true });
const shares = [...weights.toFloat64()];

const top = shares.indexOf(Math.max(...shares));
// 1 − p of the largest, without the subtraction.
const rest = shares.reduce(
  (sum, p, i) => (i === top ? sum : sum + p), 0);
const gradient = shares.map((p, i) =>
  shares[top] * (i === top ? rest : -p));

const round = (x) => x.toFixed(4);
console.log(shares.map(round).join(" "));
console.log(gradient.map(round).join(" "));
const size = Math.max(...gradient.map(Math.abs));
console.log(Math.log10(size + 1e-300).toFixed(2));`,
    python: ({ state: { numbers, times } }) => `import numpy as np

numbers = np.array([
    ${numbers.slice(0, 4).map(literal).join(", ")},
    ${numbers.slice(4).map(literal).join(", ")}])
times = ${literal(times)}

def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()

shares = softmax(numbers * times)

top = shares.argmax()
gradient = -shares[top] * shares
# 1 - p of the largest, without the subtraction.
rest = np.delete(shares, top).sum()
gradient[top] = shares[top] * rest

def show(row):
    print(" ".join(f"{x:.4f}" for x in row))

show(shares)
show(gradient)
size = np.abs(gradient).max()
print(f"{np.log10(size + 1e-300):.2f}")`,
    printed: ({ numbers: { shares, gradient } }) =>
      [
        shares.map((x) => x.toFixed(4)).join(" "),
        gradient.map((x) => x.toFixed(4)).join(" "),
        Math.log10(Math.max(...gradient.map(Math.abs)) + 1e-300).toFixed(2),
      ].join("\n"),
    highlight: ({ state: { show } }) =>
      show === "bars"
        ? ["scale: times", "softmax(numbers * times)"]
        : ["const gradient", "gradient = -shares"],
    names: { numbers: "numbers", keys: "numbers", shares: "shares", weights: "shares", gradient: "gradient" },
  },
  table: ({ state, numbers: n }) => ({
    caption: `Eight numbers at × ${number(state.times)}, then 2,000 rows of ${state.keys} keys`,
    columns: ["", "number", "share at × 1", "share", "gradient"],
    rows: [
      ...state.numbers.map((z, i) => [
        nth(i),
        z,
        Number(n.plain[i].toPrecision(4)),
        Number(n.shares[i].toPrecision(4)),
        Number(n.gradient[i].toPrecision(4)),
      ]),
      ["rows: mean entropy", "", "", Number(n.rows.entropy.toPrecision(4)), ""],
      ["rows: mean largest weight", "", "", Number(n.rows.largest.toPrecision(4)), ""],
      ["rows: share with largest above 0.99", "", "", n.rows.settled, ""],
      ["rows: weights that are 0 in float16", "", "", Number(n.rows.zeros.toPrecision(4)), ""],
      ["rows: mean gradient", "", "", "", Number(n.rows.gradient.toPrecision(4))],
      ["rows: lower quartile of gradient", "", "", "", Number(n.rows.quartiles[0].toPrecision(3))],
      ["rows: median of gradient", "", "", "", Number(n.rows.quartiles[1].toPrecision(3))],
      ["rows: upper quartile of gradient", "", "", "", Number(n.rows.quartiles[2].toPrecision(3))],
      ["rows: largest gradient", "", "", "", Number(n.rows.maximum.toPrecision(3))],
    ],
  }),
  tasks: [
    {
      text: "At × 100, make the largest gradient greater than 0.1.",
      reached: ({ state, numbers: n }) => {
        const largest = Math.max(...n.gradient.map(Math.abs));
        return (
          state.times >= 99.5 &&
          (largest > 0.1 ||
            (largest > 1e-6 &&
              "It grows. The two largest must be more nearly level: 0.01 apart is × 100 a difference of 1."))
        );
      },
    },
    {
      text: "Find where the 2,000 rows have half of the entropy that equal shares would have (between × 1 and × 5).",
      reached: ({ state, numbers: n }) => {
        const part = n.rows.entropy / Math.log(state.keys);
        const off = Math.abs(part - 0.5);
        return (
          off < 0.02 ||
          (off < 0.15 && `${percent(part)} of it is left: ${part > 0.5 ? "a little more" : "a little less"}.`)
        );
      },
    },
  ],
  recall: [
    [
      "Why does multiplying all scores by the same number change the shares, while adding the same number does not?",
      "Softmax depends on differences of scores. Adding the same number keeps every difference; multiplying makes every difference larger.",
    ],
    [
      "At × 100 the mean gradient of the rows is not 0. Does that mean that the rows still learn?",
      "No. The mean comes from a few rows with two keys almost level. Half of the rows have a gradient below 10⁻¹⁷, which no training step can use.",
    ],
  ],
  limits:
    "A saturated row is not wrong: trained heads often give almost everything to one word, and that hinders learning only in a head that does not know yet where to look.",
  trained: {
    text: "See it in the trained model: rows of a head that give nearly everything to one word",
    address: "tired-cat.html#v1/head?l=5&h=11",
  },
});
