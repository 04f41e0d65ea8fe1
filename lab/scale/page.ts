/** Why √d_k: products of long random lists spread as √d_k, and softmax of numbers that far apart is a choice. */
import { choice, clampInteger } from "../frame/controls.ts";
import { html } from "../frame/markup.ts";
import type { Page, View } from "../frame/page.ts";
import { label, line, mark, named } from "../frame/svg.ts";
import { codeLines, number, percent } from "../frame/words.ts";
import type { Scale, ScaleNumbers } from "./compute.ts";
import { divisorOf, MODEL } from "./divisor.ts";

type PageView = View<Scale, ScaleNumbers>;

const DIVISORS = ["1", "√dk", "dk", "√dmodel"] as const;
const NAMES: Readonly<Record<string, string>> = { "1": "nothing", "√dk": "√dₖ", dk: "dₖ", "√dmodel": "√512" };

export const initial: Scale = {
  power: 6,
  divisor: "1",
  seen: [0, 2, 4],
  data: "random",
  show: "products",
  guess1: -1,
};

const dkOf = ({ state }: PageView) => (state.data === "trained" ? 32 : 2 ** state.power);

/** The spread of products, on an axis that never changes. */
function histogram(view: PageView, x0: number, x1: number, y0: number, y1: number): string {
  const { numbers: n, state, wide } = view;
  const x = (value: number) => x0 + ((value + 100) / 200) * (x1 - x0);
  const most = Math.max(...n.bins);
  const width = (x1 - x0) / 100;
  const spread = Math.sqrt(n.divided);
  const bars = n.bins
    .map((count, i) =>
      count === 0
        ? ""
        : mark("rect", {
            x: x0 + i * width + 0.3,
            y: y1 - Math.max(1, (count / most) * (y1 - y0)),
            width: width - 0.6,
            height: Math.max(1, (count / most) * (y1 - y0)),
            class: "fq",
          }),
    )
    .join("");
  return [
    label(
      x0,
      y0 - 14,
      wide
        ? `${n.count.toLocaleString("en-US")} products q·k${state.divisor === "1" ? "" : ` ÷ ${NAMES[state.divisor]}`}, ${state.data === "trained" ? "of a trained head" : `dₖ = ${2 ** state.power}`}; this axis never changes`
        : `q·k${state.divisor === "1" ? "" : ` ÷ ${NAMES[state.divisor]}`}, dₖ = ${dkOf(view)}`,
      { class: "second s12" },
    ),
    named("products", bars),
    line(x0, y1, x1, y1, "lthird"),
    ...[-100, -50, 0, 50, 100].map((value) =>
      label(x(value), y1 + 16, String(value).replace("-", "−"), { class: "mid third s11" }),
    ),
    // Over the bars, so it has an edge of paper.
    mark("rect", {
      x: x(-Math.min(98, spread)) - 2,
      y: y1 - 9,
      width: x(Math.min(98, spread)) - x(-Math.min(98, spread)) + 4,
      height: 6,
      class: "fpaper",
    }),
    line(x(-Math.min(98, spread)), y1 - 6, x(Math.min(98, spread)), y1 - 6, "lb"),
    // Beside the bars, or over them where they are everywhere.
    label(x(Math.min(60, 2.6 * spread)) + 6, y1 - 10, `spread ± ${number(spread)}`, {
      class: "tb bold s12 halo",
    }),
  ].join("");
}

/** Softmax of ten of them. */
function ten(view: PageView, x0: number, x1: number, y0: number, y1: number): string {
  const { numbers: n, wide } = view;
  const step = (x1 - x0) / 10;
  const bars = n.shares
    .map((share, i) => {
      const height = share * (y1 - y0);
      return (
        mark("rect", {
          x: x0 + i * step + step * 0.14,
          y: y0,
          width: step * 0.72,
          height: y1 - y0,
          class: "fhover",
        }) +
        mark("rect", {
          x: x0 + i * step + step * 0.14,
          y: y1 - height,
          width: step * 0.72,
          height,
          class: "fw",
        }) +
        label(x0 + (i + 0.5) * step, y1 + 15, share >= 0.005 ? percent(share) : "0", {
          class: `mid s11 mono ${share > 0.2 ? "bold" : "second"}`,
        })
      );
    })
    .join("");
  return (
    label(x0, y0 - 12, wide ? "softmax of the first ten" : "softmax of ten", { class: "second s12" }) +
    named("shares", bars)
  );
}

/** The axes of the plot: d_k from 1 to 1024, variances from 1/1024 to 4096, both logarithmic. */
const plotAt = (wide: boolean) => {
  const [x0, x1, y0, y1] = wide ? [600, 850, 90, 470] : [52, 352, 30, 256];
  return {
    ...{ x0, x1, y0, y1 },
    x: (dk: number) => x0 + (Math.log2(dk) / 10) * (x1 - x0),
    y: (variance: number) => y1 - ((Math.log2(Math.max(variance, 2 ** -10)) + 10) / 22) * (y1 - y0),
  };
};

/** The guess at the variance for d_k = 256, on the plot. A narrow picture has the plot or the products. */
function guessed(guess: number, { state, wide }: PageView): string {
  if (!wide && state.show !== "plot") return "";
  const { x, y } = plotAt(wide);
  return (
    mark("circle", { cx: x(256), cy: y(guess), r: 6, class: "none lk" }) +
    label(x(256) - 10, y(guess) + 4, "your guess", { class: "end tk s11 halo" })
  );
}

/** Variance against d_k, both logarithmic, a dot for each d_k that was visited. */
function plot(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const { x0, x1, y0, y1, x, y } = plotAt(wide);
  const parts: string[] = [
    label(x0 - 30, y0 - 14, "variance of the products", { class: "second s12" }),
    line(x0, y0, x0, y1, "lthird"),
    line(x0, y1, x1, y1, "lthird"),
    line(x(1), y(1), x(1024), y(1024), "lline"),
    label(x(1024) - 4, y(1024) - 8, "variance = dₖ", { class: "third s11 end" }),
    line(x(1), y(1), x(1024), y(1), "lline"),
    label(x(1024) - 4, y(1) - 6, "variance = 1", { class: "third s11 end" }),
    ...[1, 16, 256].map((dk) => label(x(dk), y1 + 15, String(dk), { class: "mid third s11" })),
    label(x(1024), y1 + 15, "1024", { class: "end third s11" }),
    label(x(1024), y1 + 31, "dₖ", { class: "end second s12" }),
    ...[1 / 256, 1, 256].map((v) =>
      label(x0 - 6, y(v) + 4, v === 1 / 256 ? "1/256" : String(v), { class: "end third s11" }),
    ),
  ];
  const dots = n.points
    .map(([dk, variance, divided]) => {
      const now = dk === 2 ** state.power && state.data === "random";
      return (
        (state.divisor === "1"
          ? ""
          : mark("circle", { cx: x(dk), cy: y(variance), r: 3, class: "none lthird" })) +
        mark("circle", { cx: x(dk), cy: y(divided), r: now ? 6 : 4, class: now ? "fb" : "fq" })
      );
    })
    .join("");
  parts.push(named("variance", dots));
  if (state.data === "trained")
    parts.push(
      mark("circle", { cx: x(32), cy: y(n.divided), r: 6, class: "fb" }),
      label(x(32) + 10, y(n.divided) + 4, `trained: ${number(n.divided)}`, { class: "tb bold s12 halo" }),
    );
  return parts.join("");
}

export const page: Page<Scale, ScaleNumbers> = {
  name: "scale",
  title: "Why √dₖ",
  point:
    "A dot product of long vectors is a sum of many numbers, so it spreads far from 0. Softmax of such scores gives nearly everything to one key. Dividing by √dₖ prevents that.",
  initial,
  check: (state) => ({
    ...state,
    power: clampInteger(state.power, 0, 10),
    divisor: (DIVISORS as readonly string[]).includes(state.divisor) ? state.divisor : "1",
    data: state.data === "trained" ? "trained" : "random",
    show: state.show === "plot" ? "plot" : "products",
    seen: [
      ...new Set(
        state.seen.filter((one) => Number.isInteger(one) && one >= 0 && one <= 10).map((one) => one + 0),
      ),
    ].sort((a, b) => a - b),
  }),
  steps: [
    {
      title: "Longer vectors, larger products",
      state: {},
      about: ({ data, divisor }) => data === "random" && divisor === "1",
      text: (
        view,
      ) => html`<p>Take a query and a key at random: vectors of d<sub>k</sub> = ${dkOf(view)} numbers, each with mean 0 and standard deviation 1. Multiply number by number and add up: that is q·k. Do it 20,000 times. The standard deviation of the products (their spread) is ${number(Math.sqrt(view.numbers.divided))}, though no single number was larger than about 4.</p>
<p>Below is softmax of the first ten. The largest gets <b>${percent(Math.max(...view.numbers.shares))}</b>.</p>
<p><b>Move d<sub>k</sub></b> and watch both. The axis stays where it is.</p>`,
    },
    {
      title: "How fast?",
      state: { power: 4, seen: [0, 2] },
      text: () =>
        html`<p>The variance is the square of the spread. A product of two such numbers has variance 1, and the variance of a sum of independent numbers is the sum of their variances. So with d<sub>k</sub> terms …</p>`,
      predict: {
        question: "The variance is 16 at dₖ = 16. What is it at dₖ = 256?",
        min: 16,
        max: 1024,
        step: 8,
        start: 64,
        unit: "",
        show: { power: 8, seen: [0, 2, 4, 6], show: "plot" },
        always: true,
        mark: guessed,
        result: ({ numbers: n }) =>
          html`Measured on 20,000 products, it is <b>${number(n.points.find(([dk]) => dk === 256)?.[1] ?? n.variance)}</b>. All dots are on the line “variance = dₖ”. The spread is the square root of the variance: 16.`,
      },
    },
    {
      title: "One division",
      state: { power: 8, divisor: "√dk", seen: [0, 2, 4, 6, 10] },
      text: ({
        numbers: n,
        state,
      }) => html`<p>Dividing by a number divides the variance by its square. So divide by √d<sub>k</sub>, and the variance is 1 for every d<sub>k</sub>. In the picture it is now ${number(n.divided)}. <button type="button" data-act="root">${state.divisor === "√dk" ? "Leave the division out" : "Divide by √dₖ"}</button></p>
<p class="formula"><math><mtext>Var</mtext><mo>(</mo><mfrac><mrow><mi>q</mi><mo>·</mo><mi>k</mi></mrow><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac><mo>)</mo><mo>=</mo><mfrac><msub><mi>d</mi><mi>k</mi></msub><msub><mi>d</mi><mi>k</mi></msub></mfrac><mo>=</mo><mn>1</mn></math></p>
<p>Entropy says how evenly shares are spread: ten equal shares have 2.30 nats, and a share of 100 % has 0. The mean over all groups of ten is now ${number(n.entropy)}.</p>`,
    },
    {
      title: "Why not dₖ itself?",
      state: { power: 8, divisor: "dk", seen: [0, 2, 4, 6, 10] },
      about: ({ data, divisor }) => data === "random" && divisor === "dk",
      text: ({
        numbers: n,
      }) => html`<p>This is a common question. Divided by d<sub>k</sub>, the variance is 1/d<sub>k</sub>: here ${number(n.divided)}. All scores are almost 0, and softmax gives every key nearly the same ten percent. Dividing by too much is a mistake too: the head can hardly tell keys apart, and its gradients are divided as well.</p>
<p>And √d<sub>model</sub>, the root of the size of the whole layer (√512 below the picture)? It is right for one head. With several heads, each head has only some of the numbers, d<sub>k</sub> = d<sub>model</sub> / heads, so this divisor is too large.</p>`,
    },
    {
      title: "A trained head",
      state: { data: "trained", divisor: "√dk", seen: [0, 2, 4, 6, 8, 10] },
      about: ({ data, divisor }) => data === "trained" && divisor === "√dk",
      text: ({
        numbers: n,
      }) => html`<p>Now the queries and keys of a head that has been trained, 32 numbers each. After ÷ √32 the variance is not 1 but <b>${number(n.divided)}</b>.</p>
<p>That is no contradiction. The argument was about random vectors, as they are when training <em>begins</em>. The division makes sure that a head does not start out saturated. Training then teaches it to give some keys much more weight than others, and for that its scores must spread.</p>`,
    },
  ],
  picture: (view) =>
    view.wide
      ? histogram(view, 20, 520, 50, 250) + ten(view, 20, 520, 330, 490) + plot(view)
      : view.state.show === "plot"
        ? plot(view)
        : histogram(view, 14, 361, 34, 130) + ten(view, 14, 361, 186, 268),
  label: (view) =>
    `Histogram of products of vectors of ${dkOf(view)} numbers with variance ${number(view.numbers.divided)}, and softmax of ten of them, the largest ${percent(Math.max(...view.numbers.shares))}.`,
  caption: (view) => {
    const { numbers: n, state } = view;
    return html`${state.data === "trained" ? "A trained head, " : ""}dₖ = ${dkOf(view)}, divided by ${NAMES[state.divisor]}${state.divisor === "1" ? "" : html` (${number(divisorOf(state.divisor, dkOf(view)))})`}: variance <b>${number(n.divided)}</b>, spread ± ${number(Math.sqrt(n.divided))}. Over all groups of ten, the largest share is ${percent(n.largest)} on average.`;
  },
  control: ({ state }) =>
    html`<label>dₖ <input type="range" min="0" max="10" step="1" value="${state.power}" data-act="power" aria-label="Length of the vectors" aria-valuetext="${state.data === "trained" ? "32, of a trained head" : 2 ** state.power}"><output>${state.data === "trained" ? 32 : 2 ** state.power}</output></label>
${choice(
  "show",
  [
    ["products", "products"],
    ["plot", "variance"],
  ],
  state.show,
  "narrow-only",
)}`,
  more: ({
    state,
  }) => html`<button type="button" data-act="root" aria-pressed="${String(state.divisor === "√dk")}">÷ √dₖ</button>
${choice(
  "divisor",
  DIVISORS.filter((one) => one !== "√dk").map((one) => [one, `÷ ${one === "1" ? "1" : NAMES[one]}`] as const),
  state.divisor,
)}`,
  actions: {
    power: ({ state }, _, value) => ({
      power: Number(value),
      data: "random",
      seen: [...state.seen, ...(state.data === "random" ? [state.power] : [])],
    }),
    show: (_, show) => ({ show }),
    root: ({ state }) => ({ divisor: state.divisor === "√dk" ? "1" : "√dk" }),
    divisor: (_, divisor) => ({ divisor }),
  },
  drags: {},
  code: {
    typescript: ({ numbers: n, state }) => `import { scaledDotProductAttention,
  tensor } from "heed";

// Ten of the products q · k, not divided yet.
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

# Ten of the products q @ k, not divided yet.
products = np.array([
${codeLines(n.raw, 5, "  ")}])
divisor = ${divisorCode(state, "np.sqrt")}

scores = products / divisor
e = np.exp(scores - scores.max())
weights = e / e.sum()
print(" ".join(f"{x:.3f}" for x in weights))`,
    printed: ({ numbers: n }) => n.listed.map((x) => x.toFixed(3)).join(" "),
    lit: ({ state }) => (state.divisor === "1" ? "divisor =" : ["scale: 1 / divisor", "products / divisor"]),
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
      text: "Visit every dₖ from 1 to 1024, so that eleven dots are on the line.",
      done: ({ numbers: n, state }) => n.points.length === 11 && state.data === "random",
    },
    {
      text: "Find a dₖ and a divisor other than √dₖ with a variance between 0.9 and 1.1.",
      done: ({ numbers: n, state }) =>
        state.divisor !== "√dk" && state.data === "random" && Math.abs(n.divided - 1) < 0.1,
    },
  ],
  recall: [
    [
      "Why is the variance of q·k equal to dₖ?",
      "It is a sum of dₖ products. Each has variance 1, they are independent, and variances of independent numbers add up.",
    ],
    [
      "A trained head has a variance of 8 after the division. Was the division wrong?",
      "No. The division is for the start of training. A trained head has learned larger scores for the keys that it needs.",
    ],
  ],
  limits:
    "Scores have variance 1 for independent numbers with mean 0 and variance 1, as at the start of training, but not in a trained model.",
  trained: {
    text: "See scores of a trained head before and after the division",
    address: "tired-cat.html#v1/row?l=3&h=1&i=8&j=2",
  },
};

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
