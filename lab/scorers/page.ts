/** Dot, scaled, additive: the same data, three scorers, and what each costs. */

import { bandScale, barY, dotMarks, element, lineMark, scaleOf, text } from "../../src/view/plot/index.ts";
import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { barPanels, panelsAt } from "../frame/bars.ts";
import { integer, oneOf } from "../frame/fields.ts";
import { axisOf, guessText, line, named, signed } from "../frame/marks.ts";
import { definePage, type LabView } from "../frame/page.ts";
import { seed, throwAgain, throwControl } from "../frame/throw.ts";
import { byteCount, codeLines, count, number, percent } from "../frame/words.ts";
import type { Scorer, Scorers, ScorersNumbers } from "./compute.ts";

type PageView = LabView<Scorers, ScorersNumbers>;

const KEYS = ["dot", "scaled", "additive"] as const;
const NAMES = /* text */ ["dot", "scaled", "additive"] as const;
const FORMULAS = ["q·k", "q·k ÷ √d", "w·tanh(Wq + Uk)"] as const;
const POWERS = [4, 6, 8, 10];
/** What is shown, and its button. */
const SHOWN = [
  /* text */ ["shares", "shares"],
  /* text */ ["entropy", "entropy"],
  /* text */ ["cost", "cost"],
] as const;
/** The largest entropy of 64 shares. */
const LARGEST = Math.log(64);

/** How many times as much additive takes as scaled. */
const timesOf = ({ all }: ScorersNumbers, of: "work" | "ms") =>
  number(all[2][of] / Math.max(1e-3, all[1][of]), 2);
const size = (bytes: number) => (bytes === 0 ? "0" : byteCount(bytes));
const largest = ({ shares }: Scorer) => percent(Math.max(...shares));
const spread = ({ scores }: Scorer) =>
  `${signed(Math.min(...scores), 1)} to ${signed(Math.max(...scores), 1)}`;
/** How many equal shares have an entropy. */
const sharesOf = (entropy: number) => number(Math.exp(entropy), 2);

/** The axes of the plot: d from 16 to 1024, entropies from 0 to 4.4 nats. */
function plotAt(wide: boolean) {
  const [x0, x1, y0, y1] = wide ? [60, 700, 60, 480] : [40, 304, 36, 272];
  return {
    x: scaleOf({ type: "log", domain: [16, 1024], range: [x0, x1] }),
    y: scaleOf({ domain: [0, 4.4], range: [y1, y0] }),
  };
}

/** One scorer: the scores of eight keys as bars on an axis that all three share, and below them their shares. */
function scorer({ numbers: n, wide }: PageView, s: number): string {
  const { scores, shares } = n.all[s];
  const [start, distance, width, top, height] = wide ? [20, 285, 240, 76, 180] : [10, 122, 110, 50, 88];
  const x = start + s * distance;
  const base = top + 2 * height + (wide ? 56 : 34);
  const reach = Math.max(...n.all.flatMap((one) => one.scores.map(Math.abs)));
  const band = bandScale(8, [x, x + width], 16 / width);
  const bars = (values: readonly number[], domain: [number, number], ends: [number, number], name: string) =>
    barY({
      ...{ values, band, scale: scaleOf({ domain, range: ends }) },
      ...{ attributes: { class: name }, track: { class: "fhover" } },
    });
  const ofSize = wide ? "s12" : "s11";
  const best = shares.indexOf(Math.max(...shares));
  return [
    text(x, 20, NAMES[s], { class: `bold ${wide ? "s15" : ""}` }),
    text(wide ? x + 74 : x, wide ? 20 : 34, FORMULAS[s], { class: `second mono ${ofSize}` }),
    text(x, top - 5, `${wide ? "scores, " : ""}${spread(n.all[s])}`, { class: `second ${ofSize}` }),
    bars(scores, [-reach, reach], [top + height, top], "fthird"),
    line(x, top + height / 2, x + width, top + height / 2, "lline"),
    text(x, base - height - 5, wide ? "shares" : s === 0 ? "shares, largest" : "", {
      class: `second ${ofSize}`,
    }),
    named(KEYS[s], bars(shares, [0, 1], [base, base - height], "fw")),
    ...shares.map((share, j) =>
      (wide ? share >= 0.005 : j === best)
        ? text(band.middle(j), base + 14, percent(share), { class: "mid s11" })
        : "",
    ),
    wide
      ? text(x, base + 38, `largest share, mean of 64 rows: ${percent(n.all[s].largest)}`, {
          class: "bold s12",
        })
      : text(x, base + 28, `mean of 64: ${percent(n.all[s].largest)}`, { class: "bold s11" }),
  ].join("");
}

/** What each costs, as bars. */
function costs({ numbers: { all }, state, wide }: PageView): string {
  const [{ tanh }] = all.slice(2);
  const ms = [...all.map((one) => one.ms), ...(Number.isNaN(tanh) ? [] : [tanh])];
  const names = [...NAMES, wide ? "its tanh alone" : "its tanh"];
  return barPanels(names, `n = ${state.n}, d = ${2 ** state.power}`, wide, [
    ["parameters", all.map(({ parameters }) => parameters), (value) => value.toLocaleString("en-US")],
    ["multiply, add, tanh", all.map(({ work }) => work), count],
    [wide ? "hidden numbers of all pairs, if kept" : "hidden numbers", all.map(({ bytes }) => bytes), size],
    ["time here", ms, (time) => (Number.isNaN(time) ? "press Race" : `${number(time)} ms`)],
  ]);
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
    ? "entropy of 64 shares, in nats, against the length d of the vectors: means of 64 rows"
    : "entropy of 64 shares against d";
  return [
    text(x0 - 30, y0 - (wide ? 30 : 20), title, { class: `second ${wide ? "" : "s12"}` }),
    axisOf("bottom", x, y1, lengths, { format: (d) => (d === 16 ? "d = 16" : String(d)) }),
    axisOf("left", y, x0, [0, 1, 2, 3, 4], { gap: 8 }),
    ...[64, 8].map(
      (keys) =>
        line(x0, y(Math.log(keys)), x1, y(Math.log(keys)), "lline dash") +
        text(x0 + 6, y(Math.log(keys)) - 5, `${keys} equal shares: ${number(Math.log(keys))}`, {
          class: "third s11",
        }),
    ),
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
  view.state.show === "shares"
    ? [0, 1, 2].map((s) => scorer(view, s)).join("")
    : (view.state.show === "cost" ? costs : entropies)(view);

const lengthControl = ({ power }: Scorers) =>
  html`<label>d <input type="range" min="4" max="10" step="2" value="${power}" data-act="power" aria-label="Length of the vectors" aria-valuetext="${2 ** power}"><output>${2 ** power}</output></label>`;

const at = (state: Scorers) =>
  POWERS.indexOf(POWERS.reduce((a, b) => (Math.abs(b - state.power) < Math.abs(a - state.power) ? b : a)));

export const page = definePage<Scorers, ScorersNumbers>({
  title: "Dot, scaled, additive",
  point:
    "Three ways to score a query against a key. One saturates. One avoids that with a division. One runs a small network for every pair.",
  minutes: 7,
  needs: ["saturation"],
  fields: {
    power: oneOf(POWERS, 6),
    show: oneOf(SHOWN.map(([name]) => name)),
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
        numbers: { all },
        state,
      }) => html`<p>One query, eight keys, ${2 ** state.power} random numbers each. Three scorers read the same numbers and give each key a score (gray). Softmax makes shares of the scores (<b class="w">purple</b>).</p>
<p><b>Dot</b>: multiply and add (Luong, 2015). <b>Scaled</b>: the same, divided by √d (Vaswani, 2017). <b>Additive</b>: a small network with a tanh for every pair (Bahdanau, 2014).</p>
<p>The largest share is <b>${largest(all[0])}</b> with dot, ${largest(all[1])} with scaled and ${largest(all[2])} with additive. That is one row, and chance has a part in it: over 64 rows the means are ${percent(all[0].largest)}, ${percent(all[1].largest)} and ${percent(all[2].largest)}. <b>Change d</b>, and watch the scores first, then the shares.</p>`,
    },
    {
      title: "As vectors grow",
      state: { power: 4, show: "entropy" },
      text: () =>
        html`<p>One number says how evenly a row is shared: its <b>entropy</b>, the sum of −p·ln p. 64 equal shares have ln 64 = 4.16 (the unit is called nats), 8 equal shares and 56 zeros have 2.08, and a single winner has 0.</p><p>Here are the means of 64 rows at d = 16 and d = 64.</p>`,
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
        show: { power: 10, lengths: 4, show: "entropy" },
        mark: (guess, { wide }) => {
          const { x, y } = plotAt(wide);
          const [cx, cy] = [x(1024), y((guess / 100) * LARGEST)];
          return (
            element("circle", { cx, cy, r: 6, class: "none link" }) +
            text(cx - 10, cy - 8, "your guess", { class: "end s11 halo" })
          );
        },
        result: ({ numbers: { all } }) =>
          html`It is <b>${percent(all[0].entropies[3] / LARGEST)}</b>, ${number(all[0].entropies[3])} nats, as if ${sharesOf(all[0].entropies[3])} of 64 keys shared everything: nearly every row gives almost all to one key before anything is learned. Scaled has ${number(all[1].entropies[3])} and additive ${number(all[2].entropies[3])}, about as much as at d = 16.`,
      },
    },
    {
      title: "Why additive needs no division",
      state: { power: 10, lengths: 4, show: "shares" },
      text: ({
        numbers: { all },
        state,
      }) => html`<p>At d = ${2 ** state.power} the scores of dot go from ${spread(all[0])}, those of additive from ${spread(all[2])}.</p>
<p>A tanh is between −1 and 1, whatever its input. So a score is at most the sum of the absolute values in <i>w</i>, here ${number(all[2].bound, 2)}. Larger numbers in queries and keys cannot change that bound.</p>
<p class="formula"><math><mo form="prefix" stretchy="false">|</mo><msup><mi>w</mi><mo>⊤</mo></msup><mi>tanh</mi><mo>(</mo><mi>W</mi><mi>q</mi><mo>+</mo><mi>U</mi><mi>k</mi><mo>)</mo><mo form="postfix" stretchy="false">|</mo><mo>≤</mo><munder><mo>∑</mo><mi>a</mi></munder><mo form="prefix" stretchy="false">|</mo><msub><mi>w</mi><mi>a</mi></msub><mo form="postfix" stretchy="false">|</mo></math></p>
<p>Before training a score is far below it: the numbers of <i>w</i> have random signs, so they mostly cancel, and they begin smaller the more there are, like 1 ÷ √d. The division is in the initial values.</p>`,
    },
    {
      title: "Race",
      state: { power: 6, n: 256, lengths: 4, show: "cost" },
      text: ({
        numbers: n,
        state,
      }) => html`<p>On paper all three grow like n²·d, and additive has ${timesOf(n, "work")} times the operations of scaled. A clock asks something else: ${state.n} queries and ${state.n} keys, in this page, on your machine.</p>
<p>Dot products of all pairs are one matrix product, which processors do better than anything else. Additive has parameters to learn, and one tanh for every pair and every hidden number. Keeping these for training would take ${size(n.all[2].bytes)}; heed computes them again instead.</p>`,
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
        show: ({ race }) => ({ power: 6, lengths: 4, show: "cost", race: Math.max(1, race) }),
        mark: (guess, { wide }) =>
          guessText(
            wide ? 720 : 284,
            panelsAt(4, wide).top(3),
            `${(2 ** guess).toLocaleString("en-US")} ×`,
            "end",
          ),
        result: ({ numbers: { all } }) =>
          Number.isNaN(all[2].ms)
            ? html`The page measures it.`
            : html`Here it took <b>${timesOf({ all }, "ms")} times</b> as long: ${number(all[2].ms)} ms against ${number(all[1].ms)} ms. As many tanh and nothing else take ${number(all[2].tanh)} ms, one after the other on one core.`,
      },
      // A time of the machine that built the page says nothing.
      staticState: {},
    },
    {
      title: "Which one, then?",
      state: { power: 6, lengths: 4, show: "cost" },
      text: ({ numbers: { all } }) =>
        html`<p><b>Scaled</b> is what almost every model uses: no parameters, the speed of a matrix product, and scores that begin where softmax can learn.</p><p><b>Dot</b> saves one division for each score, and pays for it: at d = 16 it keeps ${number(all[0].entropies[0])} of 4.16 nats, where scaled keeps ${number(all[1].entropies[0])}.</p><p><b>Additive</b> takes queries and keys of different lengths, as in the first translators. Its time matters less where pairs are few.</p>`,
    },
  ],
  picture,
  label: ({ numbers: { all }, state }) =>
    `Dot, scaled and additive at d = ${2 ** state.power}: ${all.map((one, s) => `${NAMES[s]}, largest of eight shares ${largest(one)}`).join("; ")}.`,
  caption: ({ numbers: { all }, state }) => {
    if (state.show === "shares")
      return html`d = ${2 ** state.power}: the largest of eight shares is <b>${largest(all[0])}</b> with dot, ${largest(all[1])} with scaled, ${largest(all[2])} with additive.`;
    if (state.show === "cost")
      return html`At n = ${state.n} additive’s hidden layers would take ${size(all[2].bytes)}, if kept.${Number.isNaN(all[0].ms) ? "" : html` Times: ${all.map((one, s) => `${NAMES[s]} ${number(one.ms)} ms`).join(", ")}.`}`;
    const [dot, scaled, additive] = all.map(({ entropies }) => entropies[at(state)]);
    return html`d = ${2 ** state.power}: of 4.16 nats, dot keeps <b>${number(dot)}</b>, like ${sharesOf(dot)} equal shares; scaled ${number(scaled)}, like ${sharesOf(scaled)}; additive ${number(additive)}, like ${sharesOf(additive)}.`;
  },
  control: ({ state }) =>
    state.show === "cost"
      ? html`<button type="button" data-act="race">Race</button>${choice(
          "",
          [64, 256, 512].map((size) => [size, `n = ${size}`] as const),
          state.n,
          "n",
        )}`
      : lengthControl(state),
  more: ({ state }) =>
    html`${choice("", SHOWN, state.show, "show")}${state.show === "cost" ? lengthControl(state) : ""}${throwControl(state.seed)}`,
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
      ...POWERS.slice(0, lengthsOf(state)).map((power, i) => [
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
      "Dot products of all pairs are one matrix product. Additive needs a tanh for every pair and hidden number: they take nearly all of its time.",
    ],
    [
      "Why does additive attention not saturate at first, without any division?",
      "The numbers of w begin small, like 1 ÷ √d, with random signs, so their sum stays small; and no tanh is larger than 1, however large the numbers in queries and keys are.",
    ],
  ],
  limits:
    "These layers are not trained: training changes w, W and U, an additive layer can learn large scores too, and a race in one browser is one machine and one size.",
  trained: { text: "See scaled scores of a trained head", address: "tired-cat.html#v1/row?l=3&h=1&i=8&j=2" },
});
