/** Why √d_k: products of long random lists spread as √d_k, and softmax of numbers that far apart is a choice. */

import { bandScale, barY, dotMarks, element, scaleOf, text } from "../../src/view/plot/index.ts";
import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { integer, numbers, oneOf, toggle } from "../frame/fields.ts";
import { axisOf, line, named, rect, signed } from "../frame/marks.ts";
import { definePage, type LabView } from "../frame/page.ts";
import { seed, throwAgain, throwControl } from "../frame/throw.ts";
import { codeLines, number, percent } from "../frame/words.ts";
import type { Scale, ScaleNumbers } from "./compute.ts";
import { divisorOf, HIGHEST, MODEL } from "./divisor.ts";

type PageView = LabView<Scale, ScaleNumbers>;

const DIVISORS = ["1", "√dk", "dk", "√dmodel"] as const;
const NAMES: Readonly<Record<string, string>> = {
  "1": /* text */ "nothing",
  "√dk": "√dₖ",
  dk: "dₖ",
  "√dmodel": "√512",
};

const dkOf = ({ state }: Pick<PageView, "state">) => (state.data === "trained" ? 32 : 2 ** state.power);

/** Whether the picture speaks of variances: not before the question that asks for one is answered. */
const hasVariance = ({ state }: Pick<PageView, "state">) => state.line || state.divisor !== "1";

/** Where a part of the picture is. */
type Area = readonly [x0: number, x1: number, y0: number, y1: number];

/** The spread of products, on an axis that never changes. */
function histogram({ numbers: n, state, wide }: PageView, [x0, x1, y0, y1]: Area): string {
  const x = scaleOf({ domain: [-100, 100], range: [x0, x1] });
  const spread = Math.sqrt(n.divided);
  const [low, high] = [x(-Math.min(98, spread)), x(Math.min(98, spread))];
  const divided = state.divisor === "1" ? "" : ` ÷ ${NAMES[state.divisor]}`;
  const data = state.data === "trained" ? "of a trained head" : `dₖ = ${2 ** state.power}`;
  const bars = barY({
    values: n.bins.map((count) => count || Number.NaN),
    band: bandScale(n.bins.length, [x0, x1], (0.6 * n.bins.length) / (x1 - x0)),
    scale: scaleOf({ domain: [0, Math.max(...n.bins)], range: [y1, y0] }),
    minimum: 1,
    attributes: { class: "fthird" },
  });
  return [
    text(
      x0,
      y0 - 14,
      wide
        ? `${n.count.toLocaleString("en-US")} products q·k${divided}, ${data}; this axis never changes`
        : `q·k${divided}, dₖ = ${dkOf({ state })}`,
      { class: "second s12" },
    ),
    named("products", bars),
    axisOf("bottom", x, y1, [-100, -50, 0, 50, 100], { format: signed }),
    // Over the bars, so it has an edge of paper.
    rect(low - 2, y1 - 9, high + 2, y1 - 3, { class: "fpaper" }),
    line(low, y1 - 6, high, y1 - 6, "lb"),
    // Beside the bars, or over them where they are everywhere.
    text(x(Math.min(60, 2.6 * spread)) + 6, y1 - 10, `spread ± ${number(spread)}`, {
      class: "tb bold s12 halo",
    }),
  ].join("");
}

/** A share of ten; a narrow picture has its unit in the title. */
const tenth = (share: number, wide: boolean) => {
  const label = share >= 0.005 ? percent(share) : "<1 %";
  return wide ? label : label.replace(/\s%$/u, "");
};

/** Softmax of ten of them. */
function ten({ numbers: n, wide }: PageView, [x0, x1, y0, y1]: Area): string {
  const bars = barY({
    values: n.shares,
    band: bandScale(n.shares.length, [x0, x1], 0.28),
    scale: scaleOf({ domain: [0, 1], range: [y1, y0] }),
    attributes: { class: "fw" },
    track: { class: "fhover" },
  });
  const band = bandScale(n.shares.length, [x0, x1]);
  const labels = n.shares.map((share, i) =>
    text(band.middle(i), y1 + 15, tenth(share, wide), {
      class: `mid s11 mono ${share > 0.2 ? "bold" : "second"}`,
    }),
  );
  const title = wide ? "softmax of the first query’s ten" : "softmax of ten, in %";
  return text(x0, y0 - 12, title, { class: "second s12" }) + named("shares", bars + labels.join(""));
}

/** The axes of the plot: d_k from 1 to 1024, variances from 1/1024 to 4096, both logarithmic. */
function plotAt(wide: boolean) {
  const [x0, x1, y0, y1] = wide ? [600, 850, 90, 470] : [52, 352, 30, 256];
  return {
    x: scaleOf({ type: "log", domain: [1, 1024], range: [x0, x1] }),
    y: scaleOf({ type: "log", domain: [2 ** -10, 2 ** 12], range: [y1, y0], clamp: true }),
  };
}

/** The guess at the variance for d_k = 256, on the plot. A narrow picture has the plot or the products. */
function guessMark(guess: number, { state, wide }: PageView): string {
  if (!wide && state.show !== "plot") return "";
  const { x, y } = plotAt(wide);
  return (
    element("circle", { cx: x(256), cy: y(guess), r: 6, class: "none link" }) +
    text(x(256) - 10, y(guess) + 4, "your guess", { class: "end s11 halo" })
  );
}

/** Variance against d_k, both logarithmic, a dot for each d_k that was visited. */
function plot({ numbers: n, state, wide }: PageView): string {
  const { x, y } = plotAt(wide);
  const [x0, x1] = x.range;
  const [y1, y0] = y.range;
  const isNow = (dk: number) => dk === 2 ** state.power && state.data === "random";
  // A row of dots would answer the question.
  const points = hasVariance({ state }) ? n.points : n.points.filter(([dk]) => isNow(dk));
  const before = points.map(([dk, variance]) => [x(dk), y(variance)] as const);
  const after = points.map(([dk, , divided]) => [x(dk), y(divided)] as const);
  return [
    text(x0 - 30, y0 - 14, "variance of the products", { class: "second s12" }),
    line(x0, y0, x0, y1, "lthird"),
    axisOf("bottom", x, y1, [1, 16, 256, 1024], { gap: 15, inside: true }),
    axisOf("left", y, x0, [1 / 256, 1, 256], { format: (v) => (v < 1 ? "1/256" : String(v)) }),
    text(x1, y1 + 31, "dₖ", { class: "end second s12" }),
    state.line
      ? line(x(1), y(1), x(1024), y(1024), "lline") +
        text(x1 - 4, y(1024) - 8, "variance = dₖ", { class: "third s11 end" }) +
        line(x(1), y(1), x(1024), y(1), "lline") +
        text(x1 - 4, y(1) + 15, "variance = 1", { class: "third s11 end" })
      : "",
    // Earlier throws.
    dotMarks(
      n.earlier.map(([dk, divided]) => [x(dk), y(divided)] as const),
      2,
      { class: "none lthird" },
    ),
    named(
      "variance",
      (state.divisor === "1" ? "" : dotMarks(before, 3, { class: "none lthird" })) +
        dotMarks(
          after,
          (i) => (isNow(points[i][0]) ? 6 : 4),
          (i) => ({ class: isNow(points[i][0]) ? "fb" : "fthird" }),
        ),
    ),
    state.data === "trained"
      ? element("circle", { cx: x(32), cy: y(n.divided), r: 6, class: "fb" }) +
        text(x(32) + 10, y(n.divided) + 4, `trained: ${number(n.divided)}`, { class: "tb bold s12 halo" })
      : "",
  ].join("");
}

export const page = definePage<Scale, ScaleNumbers>({
  title: "Why √dₖ",
  point:
    "A dot product of long vectors is a sum of many numbers, so it spreads far from 0. Softmax of such scores gives nearly everything to one key. Dividing by √dₖ prevents that.",
  minutes: 6,
  needs: ["steps"],
  fields: {
    power: integer(6, 0, HIGHEST),
    divisor: oneOf(DIVISORS),
    visited: { ...numbers([0, 2, 4], integer(0, 0, HIGHEST), () => true), address: "seen" },
    data: oneOf(["random", "trained"]),
    show: oneOf(["products", "plot"]),
    line: toggle(),
    seed,
  },
  check: (state) => ({ ...state, visited: [...new Set(state.visited)].sort((a, b) => a - b) }),
  steps: [
    {
      title: "Longer vectors, larger products",
      state: {},
      about: ({ data, divisor }) => data === "random" && divisor === "1",
      text: (
        view,
      ) => html`<p>Take a query and a key at random: vectors of d<sub>k</sub> = ${dkOf(view)} numbers, each with mean 0 and standard deviation 1. Multiply number by number and add up: that is q·k. Do it for 2,000 queries with ten keys each. The standard deviation of the 20,000 products (their spread) is ${number(Math.sqrt(view.numbers.divided))}, though no single number was larger than ${number(view.numbers.largestNumber)}.</p>
<p>Below is softmax of the first query’s ten. The largest gets <b>${percent(Math.max(...view.numbers.shares))}</b>.</p>
<p><b>Move d<sub>k</sub></b> and watch both. The axis stays where it is.</p>`,
    },
    {
      title: "How fast?",
      state: { power: 4, visited: [0, 2] },
      text: () =>
        html`<p>The variance is the square of the spread. A product of two such numbers has variance 1, and the variance of a sum of independent numbers is the sum of their variances. So with d<sub>k</sub> terms …</p>`,
      predict: {
        question: "The variance is 16 at dₖ = 16. What is it at dₖ = 256?",
        min: 16,
        max: 1024,
        step: 8,
        start: 64,
        unit: "",
        why: [
          [16, 24, "You expected no change. But 256 terms are added up now, not 16."],
          [
            32,
            128,
            "16 times as many terms: you took the square root of that. The spread grows like the root, the variance like the number of terms.",
          ],
          [
            400,
            1024,
            "Too fast: the variance of a sum is the sum of the variances, so it grows like dₖ and not like its square.",
          ],
        ],
        show: { power: 8, visited: [0, 2, 4, 6], show: "plot", line: true },
        always: true,
        mark: guessMark,
        result: ({ numbers: n }) =>
          html`Measured on 20,000 products, it is <b>${number(n.points.find(([dk]) => dk === 256)?.[1] ?? n.variance)}</b>. Within the chance of one throw, all dots are on the line “variance = dₖ”. Throw again to see that chance. The spread is the square root of the variance: 16.`,
      },
    },
    {
      title: "One division",
      state: { power: 8, divisor: "√dk", line: true, visited: [0, 2, 4, 6, 10] },
      text: ({
        numbers: n,
        state,
      }) => html`<p>Dividing by a number divides the variance by its square. So divide by √d<sub>k</sub>, and the variance is 1 for every d<sub>k</sub>. In the picture it is now ${number(n.divided)}. <button type="button" data-act="root">${state.divisor === "√dk" ? "Leave the division out" : "Divide by √dₖ"}</button></p>
<p class="formula"><math><mtext>Var</mtext><mo>(</mo><mfrac><mrow><mi>q</mi><mo>·</mo><mi>k</mi></mrow><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac><mo>)</mo><mo>=</mo><mfrac><msub><mi>d</mi><mi>k</mi></msub><msub><mi>d</mi><mi>k</mi></msub></mfrac><mo>=</mo><mn>1</mn></math></p>
<p>Entropy says how evenly shares are spread: ten equal shares have 2.30 nats, and a share of 100 % has 0. The mean over all queries is now ${number(n.entropy)}.</p>`,
    },
    {
      title: "Why not dₖ itself?",
      state: { power: 8, divisor: "dk", line: true, visited: [0, 2, 4, 6, 10] },
      about: ({ data, divisor }) => data === "random" && divisor === "dk",
      text: ({
        numbers: n,
      }) => html`<p>This is a common question. Divided by d<sub>k</sub>, the variance is 1/d<sub>k</sub>: here ${number(n.divided)}. All scores are almost 0, and softmax gives every key nearly the same ten percent. Dividing by too much is a mistake too: the head can hardly tell keys apart, and its gradients are divided as well.</p>
<p>And √d<sub>model</sub>, the root of the size of the whole layer (√512 below the picture)? It is right for one head. With several heads, each head has only some of the numbers, d<sub>k</sub> = d<sub>model</sub> / heads, so this divisor is too large.</p>`,
    },
    {
      title: "A trained head",
      state: { data: "trained", divisor: "√dk", line: true, visited: [0, 2, 4, 6, 8, 10] },
      about: ({ data, divisor }) => data === "trained" && divisor === "√dk",
      text: ({
        numbers: n,
      }) => html`<p>Now the queries and keys of a head that has been trained, the one of the first page (MiniLM, layer 0, head 4), 32 numbers each. After ÷ √32 the variance is not 1 but <b>${number(n.divided)}</b>.</p>
<p>That is no contradiction. The argument was about random vectors, as they are when training <em>begins</em>. The division makes sure that a head does not start out saturated. Training then teaches it to give some keys much more weight than others, and for that its scores must spread.</p>`,
    },
  ],
  picture: (view) =>
    view.wide
      ? histogram(view, [20, 520, 50, 250]) + ten(view, [20, 520, 330, 490]) + plot(view)
      : view.state.show === "plot"
        ? plot(view)
        : histogram(view, [14, 361, 34, 130]) + ten(view, [14, 361, 186, 268]),
  label: (view) =>
    `Histogram of products of vectors of ${dkOf(view)} numbers with a spread of ${number(Math.sqrt(view.numbers.divided))}, and softmax of ten of them, the largest ${percent(Math.max(...view.numbers.shares))}.`,
  caption: (view) => {
    const { numbers: n, state } = view;
    return html`${state.data === "trained" ? "A trained head, " : ""}dₖ = ${dkOf(view)}, divided by ${NAMES[state.divisor]}${state.divisor === "1" ? "" : html` (${number(divisorOf(state.divisor, dkOf(view)))})`}: ${hasVariance(view) ? html`variance <b>${number(n.divided)}</b>, ` : ""}spread ± ${number(Math.sqrt(n.divided))}. Over ${n.rows.toLocaleString("en-US")} queries, the largest share of ten is ${percent(n.largest)} on average.`;
  },
  control: ({ state }) =>
    html`<label>dₖ <input type="range" min="0" max="${HIGHEST}" step="1" value="${state.power}" data-act="power" aria-label="Length of the vectors" aria-valuetext="${state.data === "trained" ? "32, of a trained head" : 2 ** state.power}"><output>${state.data === "trained" ? 32 : 2 ** state.power}</output></label>
${choice(
  "",
  [
    ["products", "products"],
    ["plot", "variance"],
  ],
  state.show,
  "show",
  "narrow-only",
)}`,
  more: ({
    state,
  }) => html`<button type="button" data-act="root" aria-pressed="${String(state.divisor === "√dk")}">÷ √dₖ</button>
${choice(
  "",
  DIVISORS.filter((one) => one !== "√dk").map((one) => [one, `÷ ${one === "1" ? "1" : NAMES[one]}`] as const),
  state.divisor,
  "divisor",
)}
${state.data === "random" ? throwControl(state.seed) : ""}`,
  carry: ({ seed }) => ({ seed }),
  actions: {
    throw: throwAgain,
    power: ({ state }, _, value) => ({
      power: Number(value),
      data: "random",
      visited: [...state.visited, ...(state.data === "random" ? [state.power] : [])],
    }),
    show: (_, show) => ({ show }),
    root: ({ state }) => ({ divisor: state.divisor === "√dk" ? "1" : "√dk" }),
    divisor: (_, divisor) => ({ divisor }),
  },
  code: {
    typescript: ({ numbers: n, state }) => `import { scaledDotProductAttention,
  tensor } from "heed";

// The ten products q · k of the first query,
// not divided yet.
const products = Float64Array.of(
${codeLines(n.raw, 5, "  ")});
const divisor = ${divisorCode(state, "Math.sqrt")};

const key = tensor(products, [10, 1]);
const one = tensor(Float64Array.of(1), [1, 1]);
const { weights } = scaledDotProductAttention(
  one, key, key,
  { scale: 1 / divisor, returnWeights: true });

console.log([...weights.toFloat64()]
  .map((x) => x.toFixed(3)).join(" "));`,
    python: ({ numbers: n, state }) => `import numpy as np

# The ten products q @ k of the first query,
# not divided yet.
products = np.array([
${codeLines(n.raw, 5, "  ")}])
divisor = ${divisorCode(state, "np.sqrt")}

scores = products / divisor
e = np.exp(scores - scores.max())
weights = e / e.sum()
print(" ".join(f"{x:.3f}" for x in weights))`,
    printed: ({ numbers: n }) => n.listed.map((x) => x.toFixed(3)).join(" "),
    highlight: ({ state }) =>
      state.divisor === "1" ? ["divisor ="] : ["scale: 1 / divisor", "products / divisor"],
    names: { products: "products", key: "products", scores: "products", weights: "shares" },
  },
  table: (view) => ({
    caption: `dₖ = ${dkOf(view)}, divided by ${NAMES[view.state.divisor]}; mean entropy of ten shares ${number(view.numbers.entropy)}`,
    columns: ["dₖ", "variance of q·k", "variance ÷ dₖ", "after division"],
    rows: view.numbers.points.map(([dk, variance, divided]) => [
      dk,
      Number(variance.toPrecision(4)),
      Number((variance / dk).toPrecision(4)),
      Number(divided.toPrecision(4)),
    ]),
  }),
  tasks: [
    {
      text: "At dₖ = 16 and √dₖ, throw until the variance is below 0.985. What does that say about one throw?",
      reached: ({ numbers: n, state }) =>
        state.data === "random" &&
        state.power === 4 &&
        state.divisor === "√dk" &&
        (n.divided < 0.985 || `${number(n.divided)} in this throw. Throw again.`),
    },
    {
      text: "Find a dₖ and a divisor other than √dₖ with a variance between 0.9 and 1.1.",
      reached: ({ numbers: { divided }, state }) =>
        state.divisor !== "√dk" &&
        ((state.data === "random" && Math.abs(divided - 1) < 0.1) ||
          (divided > 0.5 && divided < 2 && "Near 1. Which dₖ makes this divisor right?")),
    },
  ],
  recall: [
    [
      "Why is the variance of q·k equal to dₖ?",
      "It is a sum of dₖ products. Each has variance 1, they are independent, and variances of independent numbers add up.",
    ],
    [
      "The scores of a trained head have a variance well above 1 after the division. Was the division wrong?",
      "No. The division is for the start of training. A trained head has learned larger scores for the keys that it needs.",
    ],
  ],
  limits:
    "Scores have variance 1 for independent numbers with mean 0 and variance 1, as at the start of training, but not in a trained model.",
  trained: {
    text: "See scores of a trained head before and after the division",
    address: "time-flies.html#v1/row?l=0&h=4&i=2&j=1",
  },
});

const divisorCode = (state: Scale, root: string) => {
  const dk = state.data === "trained" ? 32 : 2 ** state.power;
  return state.divisor === "√dk"
    ? `${root}(${dk})`
    : state.divisor === "dk"
      ? String(dk)
      : state.divisor === "√dmodel"
        ? `${root}(${MODEL})`
        : "1";
};
