/** Variants: what Flash, Longformer and Performer save, and what it costs; the data decide which of them is right. */

import { choice, menu } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { guessLine } from "../frame/marks.ts";
import { definePage } from "../frame/page.ts";
import { throwAgain, throwControl } from "../frame/throw.ts";
import { byteCount, number, percent } from "../frame/words.ts";
import type { Variants, VariantsNumbers } from "./compute.ts";
import { costs } from "./draw-costs.ts";
import { errors, errorsAt, errorX } from "./draw-errors.ts";
import { tiles } from "./draw-tiles.ts";
import { code } from "./listing.ts";
import { maps } from "./maps.ts";
import { RACE, TILES } from "./shown.ts";
import {
  fields,
  KIND_LABELS,
  KIND_NAMES,
  KIND_PLACES,
  KINDS,
  kindOf,
  ranking,
  SHOWN,
  SIZES,
  SPREADS,
  spreadText,
  type VariantsView,
  WAYS,
  wrong,
} from "./state.ts";

/** The smallest and the largest error of each approximation over the throws, where there is more than one. */
function overThrows(view: VariantsView): string {
  const throws = view.numbers.rows.find(({ kind }) => kind === kindOf(view))?.throws ?? [];
  if (throws.length < 2) return "";
  const range = (w: number) => {
    const all = throws.map((errors) => errors[w]);
    const [low, high] = [wrong(Math.min(...all)), wrong(Math.max(...all))];
    return low === high ? low : `${low} to ${high}`;
  };
  return ` Over ${throws.length} throws (bands): Longformer ${range(1)}, Performer ${range(2)}.`;
}

/** The errors of trained head A, whose row stays in the picture when another is pressed. */
function headA({ numbers }: VariantsView): string {
  const row = numbers.rows.find(({ kind }) => kind === 3);
  return row === undefined
    ? "press “trained A” to see it"
    : `an error of ${wrong(row.errors[1])}, where Performer has ${wrong(row.errors[2])}`;
}

/** Where the time of the whole matrix goes: its three passes, as they were measured. */
function passesOf({ numbers: { costs } }: VariantsView): string {
  const passes = costs[0]?.passes ?? [];
  if (passes.length === 0) return "The race also measures the three passes of the whole matrix.";
  const [products, softmax, sums] = passes.map((ms) => `${number(ms)} ms`);
  const all = passes.reduce((a, b) => a + b, 0);
  return `In the race the products Q·Kᵀ took ${products}, scale and softmax ${softmax} and the sums with V ${sums}: ${percent(passes[1] / all)} of the time is the separate pass of softmax.`;
}

const short = (x: number) => Number(x.toPrecision(3));

const withKind = (visited: readonly number[], kind: number) => [...new Set([...visited, kind])].sort();

const seeing = (state: Variants, kind: number): Partial<Variants> => ({
  data: KINDS[kind],
  visited: withKind(state.visited, kind),
  show: "errors",
});

export const page = definePage<Variants, VariantsNumbers>({
  title: "Variants",
  point:
    "There are ways around the n² of attention. One is exact and saves memory. Two are approximations; which is better depends on the data.",
  minutes: 9,
  needs: ["masks", "saturation"],
  fields,
  check: (state) => ({ ...state, visited: withKind(state.visited, KINDS.indexOf(state.data)) }),
  steps: [
    {
      title: "One head, four ways",
      state: {},
      text: (
        view,
      ) => html`<p>For ${view.numbers.n} words there are ${(view.numbers.n ** 2).toLocaleString("en-US")} weights. Here are four ways to compute one head. Each square shows who looks at whom: a row is a word that looks.</p>
<p><b>Flash</b> computes all weights but keeps none. <b>Longformer</b> computes only those of nearby words and of word 0. <b>Performer</b> computes no weight at all; it estimates sums of them from random numbers.</p>
<p>How good is an output? Its distance from the exact one, as a share of the exact one’s size: 0 % is exact, and who answers 0 everywhere is wrong by 100 %. ${KIND_PLACES[kindOf(view)]}, Longformer is wrong by <b>${wrong(view.numbers.ways[2].error)}</b> and Performer by ${wrong(view.numbers.ways[3].error)}. <b>Press another row</b>: with other data the marks move.</p>`,
    },
    {
      title: "Flash: nothing is left out",
      state: { show: "tiles", tile: 4 },
      text: (
        view,
      ) => html`<p>Softmax needs the largest score of a row before it can begin. Flash begins anyway. It takes a tile of scores, with the largest <em>so far</em>; when a later tile has a larger one, it multiplies its sums by <i>e</i> to the power of the old maximum <i>m</i> minus the new one <i>m</i>′. So for the output <i>o</i>, before it is divided by the sum:</p>
<p class="formula"><math><mi>o</mi><mo>←</mo><mi>o</mi><mo>·</mo><msup><mi>e</mi><mrow><mi>m</mi><mo>−</mo><msup><mi>m</mi><mo>′</mo></msup></mrow></msup><mo>+</mo><munder><mo>∑</mo><mi>j</mi></munder><msup><mi>e</mi><mrow><msub><mi>s</mi><mi>j</mi></msub><mo>−</mo><msup><mi>m</mi><mo>′</mo></msup></mrow></msup><msub><mi>v</mi><mi>j</mi></msub></math></p>
<p>Press <b>next tile</b>. The memory it needs never grows, and the result is the same: of the exact output, the whole matrix in float32 is wrong by ${wrong(view.numbers.ways[0].error)} and Flash by ${wrong(view.numbers.ways[1].error)}. Both are rounding.</p>`,
    },
    {
      title: "Longformer: a window of neighbors",
      state: { data: "random" },
      about: ({ data }) => data === "random",
      text: ({
        numbers: { n, window, ways },
      }) => html`<p>A window of ${window} words to each side, and word 0, which every word sees and which sees every word. All else is masked, and a tile of scores that is masked as a whole is never computed.</p>
<p>That is right where words look nearby. Here every number is random, so a row looks a little at everything. The window holds ${percent(ways[2].windowShare)} of the attention, and the output is wrong by <b>${wrong(ways[2].error)}</b>. The exact output is an average of ${n} unrelated values: they nearly cancel, so it is small. An average of fewer is larger.</p>
<p>One draw may be luck. <b>Throw again</b>: bands show how far all throws are apart.</p>`,
    },
    {
      title: "Performer: random features",
      state: { data: "sink" },
      about: ({ data }) => data === "sink",
      text: (
        view,
      ) => html`<p><i>e</i><sup>q·k</sup> is the mean of φ<sub>r</sub>(q)·φ<sub>r</sub>(k) over random vectors <i>f</i><sub>r</sub>, the features.</p>
<p class="formula"><math><msub><mi>φ</mi><mi>r</mi></msub><mo>(</mo><mi>x</mi><mo>)</mo><mo>=</mo><mi>exp</mi><mo>(</mo><msub><mi>f</mi><mi>r</mi></msub><mo>·</mo><mi>x</mi><mo>−</mo><mfrac><mrow><mi>x</mi><mo>·</mo><mi>x</mi></mrow><mn>2</mn></mfrac><mo>)</mo></math></p>
<p>So a sum over all keys becomes φ(q) times the sum of φ(k)·v, and that sum is made once for all queries: n² is gone.</p>
<p>But a few huge terms decide the mean of exponentials. The larger queries and keys are, the more features it takes to find them. Here word 0 is a sink: its key is very large. Performer’s error is ${wrong(view.numbers.ways[3].error)}, and Longformer, which always sees word 0, has ${wrong(view.numbers.ways[2].error)}.</p>`,
    },
    {
      title: "Two heads of one layer",
      state: { data: "previous", visited: [0, 1, 2, 3] },
      text: (view) =>
        html`<p>Now real heads, of the small encoder that heed ships, reading a text of 128 tokens. Head A of its first layer looks at the previous word. A window suits it: ${headA(view)}.</p>`,
      predict: {
        question:
          "Head B of the same layer takes an average over the whole text. How wrong is the window there, in % of the output?",
        min: 0,
        max: 200,
        step: 1,
        start: 10,
        unit: " %",
        why: [
          [
            0,
            55,
            "You expected the window to work as in head A. Most of what this head averages is outside of it.",
          ],
          [115, 200, "Worse than answering 0 it is not: the window still has a part of the average."],
        ],
        show: { data: "average", visited: [0, 1, 2, 3, 4], show: "errors" },
        always: true,
        mark: (guess, { state, wide }) => {
          if (state.show !== "errors") return "";
          const { top, row } = errorsAt(wide);
          // Above the row, whose dots have their names beside them.
          const [x, y] = [errorX(guess / 100, wide), top + 4 * row - 9];
          return guessLine(x, y, x, y - 8, x + (guess > 30 ? -34 : 34), y);
        },
        result: (view) => {
          const row = view.numbers.rows.find(({ kind }) => kind === 4);
          return row === undefined
            ? html`Press the row “trained B” to see it.`
            : html`Longformer is wrong by <b>${wrong(row.errors[1])}</b>, and Performer by <b>${wrong(row.errors[2])}</b>.${row.errors[2] < row.errors[1] ? " The ranking has flipped, within one layer of one model." : ""}`;
        },
      },
    },
    {
      title: "Time and memory",
      state: { show: "cost" },
      text: (
        view,
      ) => html`<p>The whole matrix and Flash do the same products. Do they take the same time? Press <b>Race</b>: each way once, here, at n = ${view.state.n.toLocaleString("en-US")}.</p>
${view.numbers.costs[0]?.ms > 0 ? html`<p>The whole matrix took <b>${number(view.numbers.costs[0].ms / Math.max(1e-3, view.numbers.costs[1].ms), 2)} times</b> as long as Flash, for the same result.</p>` : ""}
<p>${passesOf(view)} Flash does softmax while a tile is at hand, and keeps ${view.numbers.costs.length === 0 ? "one tile" : byteCount(view.numbers.costs[1].bytes)} where the whole matrix keeps ${view.numbers.costs.length === 0 ? "all scores and weights" : byteCount(view.numbers.costs[0].bytes)}.</p>
<p>Here Longformer has ${RACE.window} neighbors to each side and Performer ${RACE.features} features, whatever n. So twice the words are about twice the work for them, and four times the work for the other two. Longformer’s work is that of all tiles that its window touches. <b>Change n</b>: the axes stay.</p>
<p>So try the exact way first. The others are for texts so long that even Flash is too slow, or for heads whose pattern is known.</p>`,
    },
  ],
  picture: (view) =>
    view.state.show === "cost"
      ? costs(view)
      : view.state.show === "tiles"
        ? tiles(view)
        : maps(view) + errors(view),
  label: (view) =>
    view.state.show === "cost"
      ? `Operations, memory and time of ${WAYS.join(", ")} at n = ${view.state.n.toLocaleString("en-US")}.`
      : `Four maps of weights on ${KIND_NAMES[kindOf(view)]} data: ${WAYS.map((way, w) => `${way}, wrong by ${wrong(view.numbers.ways[w].error)}`).join("; ")}.`,
  caption: (view) => {
    const { numbers: n, state } = view;
    if (state.show === "tiles")
      return state.tile === 0
        ? html`Query ${n.query}: no tile is read yet.`
        : html`Query ${n.query} after ${state.tile} of ${TILES} tiles: the maximum so far is ${number(n.tiles[state.tile - 1].maximum)}, earlier sums were multiplied by <b>${number(n.tiles[state.tile - 1].rescale)}</b>, and Flash holds ${n.n / TILES} scores.`;
    if (state.show === "cost")
      return html`n = ${state.n.toLocaleString("en-US")}: between inputs and output the whole matrix takes ${byteCount(n.costs[0].bytes)}, Flash ${byteCount(n.costs[1].bytes)}.${n.costs[0].ms > 0 ? html` Times: ${n.costs.map(({ ms }, w) => `${WAYS[w]} ${number(ms)} ms`).join(", ")}.` : ""}`;
    const [first, second] = ranking(view);
    return html`${KIND_PLACES[kindOf(view)]}${state.spread === 1 ? "" : `, scores × ${spreadText(state.spread)}`}, <b>${WAYS[first]}</b> is closer, wrong by ${wrong(n.ways[first].error)}${n.ways[first].error > 1 ? ", and still worse than answering 0" : ""}; ${WAYS[second]} is wrong by ${wrong(n.ways[second].error)}. The window holds ${percent(n.ways[2].windowShare)} of the attention.${overThrows(view)}`;
  },
  control: ({ state }) => {
    if (state.show === "tiles")
      return html`<button type="button" data-act="tile:${state.tile >= TILES ? 0 : state.tile + 1}">${state.tile >= TILES ? "from the start" : "next tile"}</button>
<label>tile <input type="range" min="0" max="${TILES}" step="1" value="${state.tile}" data-act="tile" aria-label="Tiles that Flash has done"><output>${state.tile}</output></label>`;
    if (state.show === "cost")
      return html`<button type="button" data-act="race">Race</button>
${choice(
  "",
  SIZES.map((n) => [n, n.toLocaleString("en-US")] as const),
  state.n,
  "n",
)}`;
    const data = choice(
      "",
      KIND_LABELS.map((name, kind) => [kind, name] as const),
      KINDS.indexOf(state.data),
      "data",
    );
    // Where the text asks for it.
    return html`${data}${state.data === "random" ? throwControl(state.seed) : ""}`;
  },
  more: ({ state }) =>
    html`${choice("", SHOWN, state.show, "show")}${
      state.show === "errors"
        ? html`<label>scores × ${menu(
            "Scores times",
            SPREADS.map((spread) => [spread, spreadText(spread)] as const),
            state.spread,
            "spread",
          )}</label>
<label>window and features ${menu(
            "Window and features",
            /* text */ ["small", "medium", "large"].map((name, budget) => [budget, name] as const),
            state.budget,
            "budget",
          )}</label>
${state.data === "random" ? "" : throwControl(state.seed)}`
        : ""
    }`,
  carry: ({ seed }) => ({ seed }),
  actions: {
    throw: throwAgain,
    data: ({ state }, kind) => seeing(state, Number(kind)),
    race: ({ state }) => ({ race: state.race + 1 }),
    n: (_, n) => ({ n: Number(n), race: 0 }),
  },
  code,
  table: ({ numbers: n, state }) => ({
    caption: `${KIND_NAMES[KINDS.indexOf(state.data)]} data, ${n.n} rows of ${n.d} numbers${state.show === "cost" ? `; costs at n = ${state.n}` : ""}`,
    columns: ["", ...WAYS],
    rows: [
      ["error over output", ...n.ways.map((way) => short(way.error))],
      ["error over values", ...n.ways.map((way) => short(way.errorOverValues))],
      ["attention kept", ...n.ways.map((way) => short(way.windowShare))],
      ...(state.show === "cost"
        ? [
            ["multiply, add", ...n.costs.map(({ operations }) => operations)],
            ["bytes in between", ...n.costs.map((cost) => cost.bytes)],
            /* text */ ["milliseconds", ...n.costs.map(({ ms }) => (ms > 0 ? short(ms) : "not raced"))],
            .../* text */ ["products", "softmax", "sums"].map((pass, at) => [
              `milliseconds of the ${pass}`,
              short(n.costs[0].passes[at] ?? Number.NaN) || "not raced",
              "",
              "",
              "",
            ]),
          ]
        : []),
      ...n.rows.map(({ kind, errors: list }) => [`error, ${KIND_NAMES[kind]}`, "", ...list.map(short)]),
    ],
  }),
  tasks: [
    {
      text: "On random data, find settings at which Performer is less wrong than answering 0.",
      reached: ({ state, numbers: { ways } }) =>
        state.data === "random" &&
        (ways[3].error < 1 ||
          (ways[3].error < 2 && `${wrong(ways[3].error)} now. What makes the exponentials less extreme?`)),
    },
    {
      text: "Run the race at n = 4,096, and see the whole matrix take longer than Flash.",
      reached: ({ state, numbers: { costs } }) =>
        state.n === 4096 &&
        costs[0]?.ms > 0 &&
        (costs[0].ms > costs[1].ms ||
          "Not this time: a clock on a busy machine says so now and then. Race again."),
    },
  ],
  recall: [
    [
      "Flash computes the same products as the whole matrix. What does it save?",
      "The separate pass over all scores, and their memory: only one tile, a maximum and a sum for each row are stored.",
    ],
    [
      "When is a window a good idea, and when are random features?",
      "A window when the head looks at nearby words. Random features when queries and keys are small and the head takes an average. Neither where scores are large and have no structure.",
    ],
  ],
  limits:
    "These heads were made or trained with full attention: the errors say little about a model that is trained with a window or random features.",
  trained: {
    text: "See heads of a large model: some look nearby, some all over the sentence",
    address: "tired-cat.html#v1/model",
  },
});
