/** Dot, scaled, additive: the same data, three scorers, and what each costs. */

import { bandScale, barY, dotMarks, element, lineMark, scaleOf, text } from "../../src/view/plot/index.ts";
import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { integer, oneOf } from "../frame/fields.ts";
import { axisOf, guessText, line, named } from "../frame/marks.ts";
import { definePage, type LabView } from "../frame/page.ts";
import { seed, throwAgain, throwControl } from "../frame/throw.ts";
import { byteCount, codeLines, count, number, percent } from "../frame/words.ts";
import type { Scorers, ScorersNumbers } from "./compute.ts";

type PageView = LabView<Scorers, ScorersNumbers>;

const KEYS = ["dot", "scaled", "additive"] as const;
const NAMES = /* text */ ["dot", "scaled", "additive"] as const;
const FORMULAS = ["q·k", "q·k ÷ √d", "w·tanh(Wq + Uk)"] as const;
const POWERS = [4, 6, 8, 10];
/** The largest entropy of 64 shares. */
const LARGEST = Math.log(64);

/** How many times as much additive takes as scaled. */
const timesOf = ({ all }: ScorersNumbers, of: "work" | "ms") =>
  number(all[2][of] / Math.max(1e-3, all[1][of]), 2);
const size = (bytes: number) => (bytes === 0 ? "0" : byteCount(bytes));

/** The axes of the plot: d from 16 to 1024, entropies from 0 to 4.4 nats. */
function plotAt(wide: boolean) {
  const [x0, x1, y0, y1] = wide ? [60, 700, 356, 500] : [40, 304, 156, 272];
  return {
    x: scaleOf({ type: "log", domain: [16, 1024], range: [x0, x1] }),
    y: scaleOf({ domain: [0, 4.4], range: [y1, y0] }),
  };
}

/** One scorer: its shares as bars, and in a wide picture what it costs. */
function scorer({ numbers: n, state, wide }: PageView, s: number): string {
  const { shares, parameters, work, bytes, ms } = n.all[s];
  const [start, distance, width, top, height] = wide ? [20, 285, 240, 62, 110] : [10, 122, 110, 40, 74];
  const x = start + s * distance;
  const base = top + height;
  const bars = barY({
    values: shares,
    band: bandScale(8, [x, x + width], 16 / width),
    scale: scaleOf({ domain: [0, 1], range: [base, top] }),
    attributes: { class: "fw" },
    track: { class: "fhover" },
  });
  const band = bandScale(8, [x, x + width]);
  const percentages = shares.map((share, j) =>
    share >= 0.005 ? text(band.middle(j), base + 14, percent(share), { class: "mid s11 second" }) : "",
  );
  const rows = [
    /* text */ ["parameters", parameters.toLocaleString("en-US")],
    [s < 2 ? "multiply, add" : "… and tanh", count(work)],
    ["between q and k", bytes === 0 ? "one number a pair" : `${size(bytes)} if kept`],
    ["time here", Number.isNaN(ms) ? "press Race" : `${number(ms)} ms`],
  ].map(
    ([name, value], r) =>
      text(x, base + 62 + r * 22, name, { class: "second s12" }) +
      text(x + 104, base + 62 + r * 22, value, {
        class: `s12 ${r === 3 && !Number.isNaN(ms) ? "bold" : ""}`,
      }),
  );
  const short = Number.isNaN(ms) ? `${parameters.toLocaleString("en-US")} parameters` : `${number(ms)} ms`;
  return [
    text(x, 20, NAMES[s], { class: `bold ${wide ? "s15" : ""}` }),
    text(wide ? x + 74 : x, wide ? 20 : 34, FORMULAS[s], { class: `second mono ${wide ? "s12" : "s11"}` }),
    named(KEYS[s], bars + (wide ? percentages.join("") : "")),
    // Counts and times depend on n, shares do not.
    wide && s === 0
      ? text(x, base + 38, `for ${state.n} queries and ${state.n} keys`, { class: "bold s12" })
      : "",
    wide ? rows.join("") : text(x, base + 14, short, { class: "second s11" }),
  ].join("");
}

/** How many of the four lengths are drawn: those of the page, and those that the reader has gone to. */
const lengthsOf = (state: Scorers) => Math.max(state.lengths, POWERS.indexOf(state.power) + 1);

/** Entropy against d on fixed axes. */
function entropies({ numbers: n, state, wide }: PageView): string {
  const { x, y } = plotAt(wide);
  const [[x0, x1], [y1, y0]] = [x.range, y.range];
  const now = 2 ** state.power;
  const lengths = POWERS.map((power) => 2 ** power);
  const title = wide
    ? "entropy of 64 shares, in nats, against the length d of the vectors"
    : "entropy against d";
  return [
    text(x0 - 30, y0 - 12, title, { class: "second s12" }),
    axisOf("bottom", x, y1, lengths, { format: (d) => (d === 16 ? "d = 16" : String(d)) }),
    axisOf("left", y, x0, [0, 2, 4], { gap: 8 }),
    line(x0, y(LARGEST), x1, y(LARGEST), "lline dash"),
    text(x0 + 6, y(LARGEST) - 5, "all equal: 4.16", { class: "third s11" }),
    line(x(now), y0, x(now), y1, "lline"),
    ...n.all.map(({ entropies, earlier }, s) => {
      const pointsOf = (values: readonly number[]) =>
        values.slice(0, lengthsOf(state)).map((entropy, i) => [x(lengths[i]), y(entropy)] as const);
      const points = pointsOf(entropies);
      return (
        earlier.map((values) => lineMark(pointsOf(values), { class: "lthird thin" })).join("") +
        lineMark(points, { class: "link" }) +
        dotMarks(points, (i) => (lengths[i] === now ? 5 : 3), { class: "link" }) +
        text(points[points.length - 1][0] + 8, points[points.length - 1][1] + [4, 16, 2][s], NAMES[s], {
          class: "bold s12 halo",
        })
      );
    }),
  ].join("");
}

const picture = (view: PageView): string =>
  view.numbers.all.map((_, s) => scorer(view, s)).join("") + entropies(view);

const at = (state: Scorers) =>
  POWERS.indexOf(POWERS.reduce((a, b) => (Math.abs(b - state.power) < Math.abs(a - state.power) ? b : a)));

export const page = definePage<Scorers, ScorersNumbers>({
  title: "Dot, scaled, additive",
  point:
    "Three ways to score a query against a key. One saturates. One avoids that with a division. One does not saturate at first, but runs a small network for every pair.",
  minutes: 7,
  needs: ["saturation"],
  fields: {
    power: oneOf(POWERS, 6),
    n: oneOf([64, 128, 256, 512], 256),
    race: integer(0, 0, 1e6),
    lengths: integer(2, 2, 4),
    seed,
  },
  steps: [
    {
      title: "The same data, three scores",
      state: {},
      text: ({
        numbers: n,
        state,
      }) => html`<p>One query, eight keys, ${2 ** state.power} random numbers each. Three scorers look at the same numbers.</p>
<p><b>Dot</b>: multiply and add (Luong, 2015). <b>Scaled</b>: the same, divided by √d (Vaswani, 2017). <b>Additive</b>: a small network with a tanh for every pair (Bahdanau, 2014).</p>
<p>With dot, the largest share is <b>${percent(Math.max(...n.all[0].shares))}</b>, with scaled ${percent(Math.max(...n.all[1].shares))}, with additive ${percent(Math.max(...n.all[2].shares))}. That is one row, and chance has a part in it: over 64 rows the means are ${percent(n.all[0].largest)}, ${percent(n.all[1].largest)} and ${percent(n.all[2].largest)}. <b>Change d</b>, and watch all three columns.</p>`,
    },
    {
      title: "As vectors grow",
      state: { power: 4 },
      text: () =>
        html`<p>Entropy says how spread out shares are. 64 equal shares have 4.16 nats; a single winner has 0. Here are the means of 64 rows at d = 16 and d = 64.</p>`,
      predict: {
        question: "At d = 1024, how much of the 4.16 nats has the dot product left?",
        min: 0,
        max: 100,
        step: 1,
        start: 24,
        unit: " %",
        why: [
          [
            12,
            100,
            "It was less at each longer length already. Without the division, the spread of the scores at d = 1024 is 32, and the largest of 64 is far ahead.",
          ],
        ],
        show: { power: 10, lengths: 4 },
        mark: (guess, { wide }) => {
          const { x, y } = plotAt(wide);
          const [cx, cy] = [x(1024), y((guess / 100) * LARGEST)];
          return (
            element("circle", { cx, cy, r: 6, class: "none lk" }) +
            text(cx - 10, cy - 8, "your guess", { class: "end tk s11 halo" })
          );
        },
        result: ({ numbers: n }) =>
          html`It is <b>${percent(n.all[0].entropies[3] / LARGEST)}</b>, ${number(n.all[0].entropies[3])} nats: nearly every row gives almost everything to one key before anything is learned. Scaled has ${number(n.all[1].entropies[3])} and additive ${number(n.all[2].entropies[3])}, about as much as at d = 16.`,
      },
    },
    {
      title: "Why additive needs no division",
      state: { power: 10, lengths: 4 },
      text: () => html`<p>A tanh is between −1 and 1, whatever its input. So a score is at most the sum of the absolute values in <i>w</i>. With the usual initial values, terms of random signs mostly cancel, so the score stays small. It does not grow with d.</p>
<p class="formula"><math><mo form="prefix" stretchy="false">|</mo><msup><mi>w</mi><mo>⊤</mo></msup><mi>tanh</mi><mo>(</mo><mi>W</mi><mi>q</mi><mo>+</mo><mi>U</mi><mi>k</mi><mo>)</mo><mo form="postfix" stretchy="false">|</mo><mo>≤</mo><munder><mo>∑</mo><mi>a</mi></munder><mo form="prefix" stretchy="false">|</mo><msub><mi>w</mi><mi>a</mi></msub><mo form="postfix" stretchy="false">|</mo></math></p>
<p>The price: parameters to learn, and one tanh for every pair of words and every hidden number.</p>`,
    },
    {
      title: "Race",
      state: { power: 6, n: 256, lengths: 4 },
      text: ({
        numbers: n,
        state,
      }) => html`<p>On paper all three grow like n²·d, and additive has ${timesOf(n, "work")} times the operations of scaled. A clock asks something else: ${state.n} queries and ${state.n} keys, in this page, on your machine.</p>
<p>A dot product of all pairs is one matrix product, which machines do better than anything else. A tanh for every pair is not. Keeping the pairs’ hidden layer for training would take ${size(n.all[2].bytes)}; heed recomputes it instead.</p>`,
      predict: {
        question: "How many times as long as scaled does additive take?",
        ...{ min: 0, max: 11, step: 1, start: 1, unit: "" },
        formatGuess: (guess) => `${(2 ** guess).toLocaleString("en-US")} ×`,
        why: [
          [
            0,
            6,
            "You counted operations. But a processor does eight or more multiplications of a matrix product at once, and one tanh is a program of its own.",
          ],
        ],
        show: ({ race }) => ({ power: 6, lengths: 4, race: Math.max(1, race) }),
        mark: (guess, { wide }) =>
          guessText(
            wide ? 590 : 365,
            wide ? 324 : 144,
            `${(2 ** guess).toLocaleString("en-US")} ×`,
            wide ? "" : "end",
          ),
        result: ({ numbers: n }) =>
          Number.isNaN(n.all[2].ms)
            ? html`The page measures it.`
            : html`Here it took <b>${timesOf(n, "ms")} times</b> as long: ${number(n.all[2].ms)} ms against ${number(n.all[1].ms)} ms.`,
      },
      // A time of the machine that built the page says nothing.
      staticState: {},
    },
    {
      title: "Which one, then?",
      state: { power: 6, lengths: 4 },
      text: ({ numbers: n }) =>
        html`<p>Scaled is what almost every model uses: no parameters, the speed of a matrix product, and scores that begin where softmax can learn. Plain dot is for vectors of very few numbers: at d = 16 it keeps ${number(n.all[0].entropies[0])} of 4.16 nats, where scaled keeps ${number(n.all[1].entropies[0])}. Additive is at its best where queries and keys are of different kinds and lengths, as in the first translators, and where there are few of them.</p>`,
    },
  ],
  picture,
  label: ({ numbers: n, state }) =>
    `Three columns at d = ${2 ** state.power}: ${n.all.map((one, s) => `${NAMES[s]}, largest of eight shares ${percent(Math.max(...one.shares))}`).join("; ")}.`,
  caption: ({ numbers: n, state }) =>
    html`d = ${2 ** state.power}: of 4.16 nats, dot keeps <b>${number(n.all[0].entropies[at(state)])}</b>, scaled ${number(n.all[1].entropies[at(state)])}, additive ${number(n.all[2].entropies[at(state)])}.${Number.isNaN(n.all[0].ms) ? html` At n = ${state.n} additive’s hidden layer would take ${size(n.all[2].bytes)}.` : html` Race at n = ${state.n}: ${n.all.map((one, s) => `${NAMES[s]} ${number(one.ms)} ms`).join(", ")}.`}`,
  control: ({ state }) =>
    html`<label>d <input type="range" min="4" max="10" step="2" value="${state.power}" data-act="power" aria-label="Length of the vectors" aria-valuetext="${2 ** state.power}"><output>${2 ** state.power}</output></label>`,
  more: ({ state }) =>
    html`<button type="button" data-act="race">Race</button>${choice(
      "",
      [64, 256, 512].map((size) => [size, `n = ${size}`] as const),
      state.n,
      "n",
    )}${throwControl(state.seed)}`,
  carry: ({ seed }) => ({ seed }),
  actions: {
    throw: throwAgain,
    power: (_, __, value) => ({ power: Number(value), race: 0 }),
    race: ({ state }) => ({ race: state.race + 1 }),
    n: (_, n) => ({ n: Number(n), race: 0 }),
  },
  code: {
    typescript: ({ numbers: n, state }) => `import { scaledDotProductAttention,
  tensor } from "heed";

// Scores of one query with eight keys, d = ${2 ** state.power}:
// dot, scaled, additive.
const scores = [
${n.all.map((one) => `  [${codeLines(one.scores, 4, "   ").trimStart()}]`).join(",\n")}];

const one = tensor(Float64Array.of(1), [1, 1]);
for (const row of scores) {
  const key =
    tensor(Float64Array.from(row), [8, 1]);
  const { weights } = scaledDotProductAttention(
    one, key, key,
    { scale: 1, returnWeights: true });
  console.log([...weights.toFloat64()]
    .map((x) => x.toFixed(3)).join(" "));
}`,
    python: ({ numbers: n, state }) => `import numpy as np

# Scores of one query with eight keys, d = ${2 ** state.power}:
# dot, scaled, additive.
scores = np.array([
${n.all.map((one) => `    [${codeLines(one.scores, 4, "     ").trimStart()}]`).join(",\n")}])

e = np.exp(scores - scores.max(1, keepdims=True))
shares = e / e.sum(1, keepdims=True)
for row in shares:
    print(" ".join(f"{x:.3f}" for x in row))`,
    printed: ({ numbers: n }) => n.all.map((one) => one.shares.map((x) => x.toFixed(3)).join(" ")).join("\n"),
    highlight: () => ["scaledDotProductAttention(", "e / e.sum"],
    names: { shares: "scaled", weights: "scaled" },
  },
  table: ({ numbers: n, state }) => ({
    caption: `d = ${2 ** state.power}, n = ${state.n}`,
    columns: ["", ...NAMES],
    rows: [
      ...POWERS.map((power, i) => [
        `entropy at d = ${2 ** power}`,
        ...n.all.map((one) => Number(one.entropies[i].toPrecision(4))),
      ]),
      ["parameters", ...n.all.map((one) => one.parameters)],
      ["multiply, add, tanh", ...n.all.map((one) => one.work)],
      ["largest of eight shares, mean of 64 rows", ...n.all.map((one) => Number(one.largest.toPrecision(3)))],
      ["bytes between q and k", ...n.all.map((one) => one.bytes)],
      [
        "milliseconds",
        ...n.all.map((one) => (Number.isNaN(one.ms) ? "not raced" : Number(one.ms.toPrecision(3)))),
      ],
    ],
  }),
  tasks: [
    {
      text: "Find a d and an n at which additive’s hidden layer would take more than 500 MiB, if it were kept.",
      reached: ({ numbers: { all } }) =>
        all[2].bytes > 500 * 2 ** 20 ||
        (all[2].bytes > 100 * 2 ** 20 && `${size(all[2].bytes)} now. It grows with n · n · d.`),
    },
    {
      text: "At d = 16, throw until the row on the screen has a largest dot share that is 15 points above the mean of its 64 rows.",
      reached: ({ state, numbers: n }) => {
        const above = Math.max(...n.all[0].shares) - n.all[0].largest;
        return state.power === 4 && (above > 0.15 || `This row is ${percent(above)} above it.`);
      },
    },
  ],
  recall: [
    [
      "All three are said to cost n²·d. Why is one so much slower?",
      "Dot products of all pairs are one matrix product. Additive needs a tanh for every pair and hidden number, which no matrix unit does.",
    ],
    [
      "Why does additive attention not saturate at first, without any division?",
      "A tanh is at most 1, so a score is at most the sum of the absolute values in w, however long queries and keys are.",
    ],
  ],
  limits:
    "These layers are not trained: training changes w, W and U, an additive layer can learn large scores too, and a race in one browser is one machine and one size.",
  trained: { text: "See scaled scores of a trained head", address: "tired-cat.html#v1/row?l=3&h=1&i=8&j=2" },
});
