/** Variants: what Flash, Longformer and Performer save, and what it costs; the data decide which of them is right. */
import { choice, clampInteger, menu } from "../frame/controls.ts";
import { html } from "../frame/markup.ts";
import type { Page, View } from "../frame/page.ts";
import { guessLine, label, line, mark, named, pressable, weightClass } from "../frame/svg.ts";
import { byteCount, codeLines, count, number, percent, superscript } from "../frame/words.ts";
import type { Variants, VariantsNumbers } from "./compute.ts";
import { showsTiles } from "./shown.ts";

type PageView = View<Variants, VariantsNumbers>;

const KINDS = ["random", "local", "sink", "previous", "average"];
const KIND_NAMES = ["random", "local", "one sink", "trained A", "trained B"];
const KIND_PLACES = [
  "On random data",
  "On local data",
  "On data with one sink",
  "In trained head A",
  "In trained head B",
];
const KIND_NOTES = [
  "normal numbers, no structure",
  "every word looks nearby",
  "every word looks at word 0",
  "looks at the previous word",
  "takes an average of the text",
];
const WAYS = ["Whole matrix", "Flash", "Longformer", "Performer"] as const;
const SHORT = ["matrix", "Flash", "Longf.", "Perf."] as const;
const COLORS = ["second", "w", "k", "v"] as const;
const BANDS = 16;
const TILES = 8;
const SPREADS = [1, 0.5, 0.25];
const SIZES = [512, 2048, 4096];
/** What is below the maps, and its button. */
const SHOWN = [
  ["errors", "errors"],
  ["tiles", "tiles"],
  ["cost", "cost"],
] as const;

export const initial: Variants = {
  data: "random",
  seen: [0, 1, 2],
  spread: 1,
  budget: 1,
  band: 8,
  column: 3,
  show: "errors",
  tile: 0,
  n: 2048,
  race: 0,
  guess4: -1,
};

const kindOf = ({ state }: PageView) => KINDS.indexOf(state.data);
const spreadText = (spread: number) => (spread === 1 ? "1" : spread === 0.5 ? "½" : "¼");
/** An error as a share of the output: 180 %, 2.4 %, 3·10⁻⁷. */
const wrong = (error: number) =>
  error >= 1e-4
    ? percent(error)
    : `${number(error * 10 ** -Math.floor(Math.log10(error)), 2)}·10${superscript(Math.floor(Math.log10(error)))}`;
/** Names with their errors, the most exact first. */
const ranking = ({ numbers: n }: PageView) => [2, 3].sort((a, b) => n.ways[a].error - n.ways[b].error);

/** Where the maps are: corner, side, distance from one to the next. */
const mapsAt = (wide: boolean) => (wide ? [16, 52, 160, 212] : [8, 22, 84, 92]);

/** Every second color of the scale: neighbors in a map are then often alike. */
const mapClass = (weight: number) => `w${2 * Math.round(Number(weightClass(weight).slice(1)) / 2)}`;

/** The four maps of weights, with the crosshair. */
function maps(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const [x0, y0, side, step] = mapsAt(wide);
  const unit = side / BANDS;
  const parts: string[] = [];
  for (const [w, way] of n.ways.entries()) {
    const x = x0 + w * step;
    // One path for each color: lines as wide as a cell, each from the end of the one before, which packs well. The most frequent
    // color is below all others.
    const colors = way.map.flat().map(mapClass);
    const counts = new Map<string, number>();
    for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
    const [ground] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most));
    const paths = new Map<string, { d: string; i: number; j: number }>();
    for (let at = 0; at < colors.length; ) {
      const color = colors[at];
      const [i, j] = [Math.floor(at / BANDS), at % BANDS];
      let end = j + 1;
      while (end < BANDS && colors[i * BANDS + end] === color) end++;
      if (color !== ground) {
        const path = paths.get(color);
        const start = path ? `${path.d}m${j - path.j} ${i - path.i}` : `M${j} ${i}.5`;
        paths.set(color, { d: `${start}h${end - j}`, i, j: end });
      }
      at += end - j;
    }
    const cells =
      mark("rect", { width: BANDS, height: BANDS, class: ground }) +
      [...paths].map(([color, { d }]) => mark("path", { d, class: color })).join("");
    parts.push(
      label(x, wide ? 20 : 14, (wide ? WAYS : SHORT)[w], {
        class: `bold ${w === 0 ? "" : `t${COLORS[w]}`} ${wide ? "s15" : "s12"}`,
      }),
      named(
        WAYS[w].split(" ")[0],
        mark(
          "g",
          {
            transform: `translate(${x} ${y0}) scale(${unit})`,
            "shape-rendering": "crispEdges",
            class: "runs",
          },
          cells,
        ),
      ),
      mark("rect", { x, y: y0, width: side, height: side, class: "none lline" }),
    );
    if (wide)
      parts.push(
        label(
          x,
          40,
          [
            `all ${n.n} × ${n.n} weights`,
            "in tiles, none is kept",
            `${n.window} to each side, and word 0`,
            `${n.features} random features`,
          ][w],
          { class: "second s12" },
        ),
        label(x, y0 + side + 20, `wrong by ${wrong(way.error)}`, { class: `${w > 1 ? "bold" : "second"}` }),
      );
  }
  const [cx, cy] = [state.column * unit, y0 + state.band * unit];
  const here = n.ways.map((way) => percent(way.map[state.band][state.column]));
  const words = n.n / BANDS;
  const from = (band: number) => `${band * words}–${(band + 1) * words - 1}`;
  const position = `words ${from(state.band)} look at words ${from(state.column)}`;
  parts.push(
    mark(
      "g",
      {
        "data-drag": "cross:",
        "data-key": "cross:",
        tabindex: "0",
        role: "application",
        class: "drag free",
        "aria-label": `Crosshair, moved by arrow keys. ${position}: ${WAYS.map((way, w) => `${way} ${here[w]}`).join(", ")}`,
      },
      [0, 1, 2, 3]
        .map(
          (w) =>
            mark("rect", { x: x0 + w * step, y: cy, width: side, height: unit, class: "none lline" }) +
            mark("rect", { x: x0 + w * step + cx, y: cy, width: unit, height: unit, class: "none lq" }),
        )
        .join("") + mark("rect", { x: x0, y: y0, width: 3 * step + side, height: side, class: "hit" }),
    ),
  );
  if (wide)
    for (const [w, share] of here.entries())
      parts.push(
        label(x0 + w * step, y0 + side + 38, w === 0 ? `${position}: ${share}` : "", { class: "tq s12" }),
        w === 0 ? "" : label(x0 + w * step + side, y0 + side + 20, share, { class: "tq s12 end" }),
      );
  return parts.join("");
}

/** Where the errors are: left edge, ends of the axis, the first row and the height of a row. */
const errorsAt = (wide: boolean) =>
  wide ? { left: 16, x0: 300, x1: 830, top: 306, row: 38 } : { left: 8, x0: 96, x1: 352, top: 160, row: 24 };

/** An error on the axis. 10⁻⁷ and less is rounding; the axis is cut between rounding and 1 %. */
function errorX(error: number, wide: boolean): number {
  const { x0, x1 } = errorsAt(wide);
  const at = error < 1e-3 ? 0 : 0.12 + (0.88 * (Math.log10(Math.min(10, error)) + 2)) / 3;
  return x0 + Math.max(0, at) * (x1 - x0);
}

/** Errors of what was looked at, on an axis that never changes. */
function errors(view: PageView): string {
  const { numbers: n, wide } = view;
  const { left, x0, x1, top, row } = errorsAt(wide);
  const x = (error: number) => errorX(error, wide);
  const bottom = top + 5 * row - row / 2 - (wide ? 4 : 1);
  const parts = [
    label(
      left,
      top - (wide ? 36 : 22),
      wide
        ? "press a row to change the data · how wrong is the output, relative to its size?"
        : "how wrong is the output?",
      { class: wide ? "bold" : "bold s12" },
    ),
    line(x(1), top - 16, x(1), bottom, "lb dash"),
    ...[0.01, 0.1, 1, 10].map((value) => line(x(value), bottom, x(value), bottom + 4, "lthird")),
    line(x0, bottom, x1, bottom, "lthird"),
    label(x0, bottom + 16, wide ? "rounding" : "≈ 0", { class: "mid third s11" }),
    ...[0.01, 0.1, 1, 10].map((value) =>
      label(x(value), bottom + 16, `${100 * value} %`, { class: "mid third s11" }),
    ),
    label(x(1), bottom + (wide ? 31 : 29), "as wrong as answering 0", { class: "mid tb s11" }),
  ];
  for (const [kind, name] of KIND_NAMES.entries()) {
    const y = top + kind * row;
    const chosen = kind === kindOf(view);
    const found = n.rows.find((one) => one.kind === kind);
    const around = { x: left - 8, y: y - row / 2 + 2, width: x1 + 30 - left, height: row - 4, rx: 4 };
    parts.push(
      chosen ? mark("rect", { ...around, class: "fhover" }) : "",
      wide ? label(left + 74, y + 4, KIND_NOTES[kind], { class: "second s12" }) : "",
      found === undefined ? label((x0 + x1) / 2, y + 4, "press to see", { class: "mid third s12" }) : "",
    );
    // Last, so that it is above the marks of its row.
    const press = pressable(
      `data:${kind}`,
      `${name}: ${KIND_NOTES[kind]}`,
      chosen,
      mark("rect", { ...around, class: "hit" }) + label(left, y + 4, name, { class: chosen ? "bold" : "" }),
    );
    if (found === undefined) {
      parts.push(press);
      continue;
    }
    parts.push(
      line(x(found.errors[1]), y, x(found.errors[2]), y, "lline"),
      ...found.errors.map((error, w) =>
        mark("circle", {
          cx: x(error),
          cy: y,
          r: chosen ? 7 : 5,
          class: `f${COLORS[w + 1]}`,
        }),
      ),
    );
    if (chosen && wide)
      for (const w of [1, 2]) {
        const other = found.errors[w === 1 ? 2 : 1];
        const right = found.errors[w] > other;
        parts.push(
          label(x(found.errors[w]) + (right ? 11 : -11), y + 4, WAYS[w + 1], {
            class: `t${COLORS[w + 1]} bold s12 halo ${right ? "" : "end"}`,
          }),
        );
      }
    parts.push(press);
  }
  return parts.join("");
}

/** Flash on the row under the crosshair: its scores by tiles, and all that is kept. */
function tiles(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const [x0, x1, y0, y1] = wide ? [40, 830, 300, 400] : [24, 360, 150, 210];
  const all = n.tiles.flatMap(({ scores }) => scores);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const y = (score: number) => y1 - ((score - low) / (high - low || 1)) * (y1 - y0);
  const width = (x1 - x0) / TILES;
  const each = n.n / TILES;
  const now = state.tile === 0 ? undefined : n.tiles[state.tile - 1];
  const parts: string[] = [
    label(x0 - (wide ? 24 : 16), y0 - 24, `Flash, query ${n.query}: its ${n.n} scores in tiles of ${each}`, {
      class: wide ? "bold" : "bold s12",
    }),
  ];
  for (const [t, { scores }] of n.tiles.entries()) {
    const x = x0 + t * width;
    const done = t < state.tile;
    const step = width / each;
    parts.push(
      mark("rect", {
        x: x + 1,
        y: y0 - 6,
        width: width - 2,
        height: y1 - y0 + 12,
        class: t === state.tile - 1 ? "fhover" : "none lline",
      }),
      mark("path", {
        // Relative moves and whole heights: the picture of the markup stays small.
        d: scores.reduce(
          (path, score) => {
            const height = Math.round(y1 - y(score));
            return `${path}v-${height}m${Number(step.toFixed(3))} ${height}`;
          },
          `M${(x + step / 2).toFixed(1)} ${y1}`,
        ),
        class: done ? "lw thin" : "lline",
      }),
    );
  }
  if (now !== undefined) {
    const edge = x0 + state.tile * width;
    parts.push(
      named("maximum", line(x0, y(now.maximum), edge, y(now.maximum), "lq")),
      label(Math.min(edge, x1 - 80), y(now.maximum) - 6, `maximum so far ${number(now.maximum)}`, {
        class: "tq s12 halo end",
      }),
    );
  }
  const base = y1 + (wide ? 36 : 26);
  const facts: [string, string][] =
    now === undefined
      ? [["nothing read yet", "press “next tile”"]]
      : [
          ["earlier sums multiplied by", number(now.rescale)],
          ["sum of e^(score − maximum)", number(now.sum)],
          ["log of the whole sum", number(n.merged[state.tile - 1][0], 4)],
          ["output so far, first number", number(n.merged[state.tile - 1][1])],
        ];
  for (const [f, [name, value]] of facts.entries())
    parts.push(
      label(wide ? x0 : 8, base + f * (wide ? 22 : 17), name, { class: "second s12" }),
      label(wide ? x0 + 190 : 190, base + f * (wide ? 22 : 17), value, { class: "mono s12 bold" }),
    );
  // Memory: a tile, against what the whole row would need by now.
  const [mx, mw] = wide ? [480, 350] : [250, 112];
  const bar = (y: number, share: number, name: string, title: string) =>
    label(mx, y - 4, title, { class: "s12 second" }) +
    mark("rect", { x: mx, y, width: mw, height: 12, class: "fhover" }) +
    mark("rect", { x: mx, y, width: mw * share, height: 12, class: name });
  parts.push(
    named(
      "memory",
      bar(
        base + 4,
        state.tile === 0 ? 0 : 1 / TILES,
        "fw",
        wide
          ? `scores in memory with Flash: ${state.tile === 0 ? 0 : each}, now and always`
          : `Flash: ${state.tile === 0 ? 0 : each}`,
      ) +
        bar(
          base + 44,
          state.tile / TILES,
          "fthird",
          wide ? `by the whole matrix: ${state.tile * each} so far` : `matrix: ${state.tile * each}`,
        ),
    ),
  );
  return parts.join("");
}

/** What each way costs at the race's n. */
function costs(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const [x0, step, top] = wide ? [16, 212, 300] : [8, 92, 150];
  const measured = !Number.isNaN(n.costs[0].ms);
  const most = Math.max(...n.costs.map(({ ms }) => (measured ? ms : 1)));
  const size = `n = ${state.n.toLocaleString("en-US")}, vectors of 64 numbers`;
  const parts = [
    label(x0, top - 24, wide ? `what it costs at ${size}` : size, { class: wide ? "bold" : "bold s12" }),
  ];
  for (const [w, cost] of n.costs.entries()) {
    const x = x0 + w * step;
    const rows: [string, string][] = [
      ["multiply and add", count(cost.operations)],
      ["memory in between", byteCount(cost.bytes)],
      ["time here", measured ? `${number(cost.ms)} ms` : "press Race"],
    ];
    parts.push(
      label(x, top, (wide ? WAYS : SHORT)[w], { class: `bold ${w === 0 ? "" : `t${COLORS[w]}`} s12` }),
    );
    for (const [r, [name, value]] of rows.entries()) {
      const y = top + 26 + r * 42;
      if (wide || w === 0) parts.push(label(x, y, name, { class: "second s11" }));
      parts.push(
        label(x, y + 17, value, { class: `${wide ? "" : "s11"} ${r === 2 && measured ? "bold" : ""}` }),
      );
    }
    if (measured)
      parts.push(
        mark("rect", { x, y: top + 138, width: wide ? 180 : 82, height: 10, class: "fhover" }),
        mark("rect", {
          x,
          y: top + 138,
          width: Math.max(1, ((wide ? 180 : 82) * cost.ms) / most),
          height: 10,
          class: w === 0 ? "fthird" : `f${COLORS[w]}`,
        }),
      );
  }
  return named("costs", parts.join(""));
}

/** The errors of trained head A, whose row stays in the picture when another is pressed. */
function headA({ numbers }: PageView): string {
  const row = numbers.rows.find(({ kind }) => kind === 3);
  return row === undefined
    ? "press “trained A” to see it"
    : `an error of ${wrong(row.errors[1])}, where Performer has ${wrong(row.errors[2])}`;
}

const seeing = (state: Variants, kind: number): Partial<Variants> => ({
  data: KINDS[kind],
  seen: [...new Set([...state.seen, kind])].sort(),
  show: "errors",
});

export const page: Page<Variants, VariantsNumbers> = {
  name: "variants",
  title: "Variants",
  point:
    "There are ways around the n² of attention. One is exact and saves memory. Two are approximations, and which of the two is better depends on the data.",
  initial,
  check: (state) => {
    const data = KINDS.includes(state.data) ? state.data : initial.data;
    const seen = state.seen.filter((kind) => Number.isInteger(kind) && kind >= 0 && kind < KINDS.length);
    return {
      ...state,
      data,
      seen: [...new Set([...seen, KINDS.indexOf(data)])].sort(),
      spread: SPREADS.includes(state.spread) ? state.spread : 1,
      budget: clampInteger(state.budget, 0, 2),
      band: clampInteger(state.band, 0, BANDS - 1),
      column: clampInteger(state.column, 0, BANDS - 1),
      tile: clampInteger(state.tile, 0, TILES),
      show: SHOWN.some(([name]) => name === state.show) ? state.show : "errors",
      n: SIZES.includes(state.n) ? state.n : initial.n,
      race: clampInteger(state.race, 0, 1e6),
    };
  },
  steps: [
    {
      title: "One head, four ways",
      state: {},
      text: (
        view,
      ) => html`<p>For ${view.numbers.n} words there are ${(view.numbers.n ** 2).toLocaleString("en-US")} weights. Here are four ways to compute the same head. Each square shows who looks at whom, a stronger color for more.</p>
<p><b class="w">Flash</b> computes all weights but keeps none. <b class="k">Longformer</b> computes only those of nearby words and of word 0. <b class="v">Performer</b> computes no weight at all; it estimates sums of them from random features.</p>
<p>${KIND_PLACES[kindOf(view)]}, Longformer is wrong by ${wrong(view.numbers.ways[2].error)} of the output’s size and Performer by ${wrong(view.numbers.ways[3].error)}. <b>Press another row</b>: each has other data, and the dots change places.</p>`,
    },
    {
      title: "Flash: nothing is left out",
      state: { show: "tiles", tile: 3 },
      text: (
        view,
      ) => html`<p>Softmax needs the largest score of a row before it can begin. Flash begins anyway. It takes a tile of scores, with the largest <em>so far</em>; when a later tile has a larger one, it multiplies its sums by <i>e</i> to the power of the old maximum <i>m</i> minus the new one <i>m</i>′. So for the output <i>o</i>, before it is divided by the sum:</p>
<p class="formula"><math><mi>o</mi><mo>←</mo><mi>o</mi><mo>·</mo><msup><mi>e</mi><mrow><mi>m</mi><mo>−</mo><msup><mi>m</mi><mo>′</mo></msup></mrow></msup><mo>+</mo><munder><mo>∑</mo><mi>j</mi></munder><msup><mi>e</mi><mrow><msub><mi>s</mi><mi>j</mi></msub><mo>−</mo><msup><mi>m</mi><mo>′</mo></msup></mrow></msup><msub><mi>v</mi><mi>j</mi></msub></math></p>
<p>Press <b>next tile</b>. The memory it needs never grows. The result is the same: over all rows Flash and the whole matrix differ by at most ${number(view.numbers.ulps, 2)} units in the last place of a row’s largest number, which is rounding.</p>`,
    },
    {
      title: "Longformer: a window of neighbors",
      state: { data: "local" },
      about: ({ data }) => data === "local",
      text: (
        view,
      ) => html`<p>A window of ${view.numbers.window} words to each side, and word 0, which every word sees and which sees every word. Everything else is masked, so it is never computed.</p>
<p>Here the data is local, and the window holds ${percent(view.numbers.ways[2].kept)} of the attention: an error of ${wrong(view.numbers.ways[2].error)}. On random data the same window holds as much of the attention as it holds of the words.</p>`,
    },
    {
      title: "Performer: random features",
      state: { data: "sink" },
      about: ({ data }) => data === "sink",
      text: (
        view,
      ) => html`<p><i>e</i><sup>q·k</sup> is the mean of φ<sub>r</sub>(q)·φ<sub>r</sub>(k) over random vectors <i>f</i><sub>r</sub>, the features. If each weight is such a product, the keys can be summed first, once for all queries, and n² is gone.</p>
<p class="formula"><math><msub><mi>φ</mi><mi>r</mi></msub><mo>(</mo><mi>x</mi><mo>)</mo><mo>=</mo><mi>exp</mi><mo>(</mo><msub><mi>f</mi><mi>r</mi></msub><mo>·</mo><mi>x</mi><mo>−</mo><mfrac><mrow><mi>x</mi><mo>·</mo><mi>x</mi></mrow><mn>2</mn></mfrac><mo>)</mo></math></p>
<p>But a few huge terms decide the mean of exponentials. The larger queries and keys are, the more features it takes to find them. Here word 0 is a sink: its key is very large. Performer’s error is ${wrong(view.numbers.ways[3].error)}, and Longformer, which always sees word 0, has ${wrong(view.numbers.ways[2].error)}.</p>`,
    },
    {
      title: "Two heads of one layer",
      state: { data: "previous", seen: [0, 1, 2, 3] },
      text: (view) =>
        html`<p>Now real heads, of the small encoder that heed ships, reading a text of 128 tokens. Head A of its first layer looks at the previous word. A window suits it: ${headA(view)}.</p>`,
      predict: {
        question:
          "Head B of the same layer takes an average over the whole text. How wrong is the window there, in % of the output?",
        min: 0,
        max: 200,
        step: 1,
        start: 10,
        unit: " %",
        show: { data: "average", seen: [0, 1, 2, 3, 4], show: "errors" },
        always: true,
        mark: (guess, { state, wide }) => {
          if (state.show !== "errors") return "";
          const { top, row } = errorsAt(wide);
          // Above the row, whose dots have their names beside them.
          const [x, y] = [errorX(guess / 100, wide), top + 4 * row - 9];
          return guessLine(x, y, x, y - 8, x + (guess > 30 ? -34 : 34), y);
        },
        result: (guess, view) => {
          const row = view.numbers.rows.find(({ kind }) => kind === 4);
          return row === undefined
            ? html`You said ${guess} %. Press the row “trained B” to see it.`
            : html`You said ${guess} %. Longformer is wrong by <b>${wrong(row.errors[1])}</b>, and Performer by <b>${wrong(row.errors[2])}</b>.${row.errors[2] < row.errors[1] ? " The ranking has flipped, within one layer of one model." : ""}`;
        },
      },
    },
    {
      title: "Time and memory",
      state: { show: "cost" },
      text: (
        view,
      ) => html`<p>Press <b>Race</b>: each way once, on your machine, at n = ${view.state.n.toLocaleString("en-US")}.</p>
${Number.isNaN(view.numbers.costs[0]?.ms ?? Number.NaN) ? "" : html`<p>The whole matrix took <b>${number(view.numbers.costs[0].ms / Math.max(1e-3, view.numbers.costs[1].ms), 2)} times</b> as long as Flash, for the same result.</p>`}
<p>The whole matrix and Flash do the same number of multiplications. The difference is memory traffic: ${view.numbers.costs.length === 0 ? "all weights" : byteCount(view.numbers.costs[0].bytes)} are written and read again, where Flash keeps ${view.numbers.costs.length === 0 ? "one tile" : byteCount(view.numbers.costs[1].bytes)}. With ${(view.state.n / 2).toLocaleString("en-US")} features Performer’s work still grows like n², because here the features grow with n; with a fixed number it would grow like n.</p>
<p>So try the exact way first. The others are for texts so long that even Flash is too slow, and for heads whose pattern is known.</p>`,
    },
  ],
  picture: (view) =>
    maps(view) +
    (view.state.show === "tiles" ? tiles(view) : view.state.show === "cost" ? costs(view) : errors(view)),
  label: (view) =>
    `Four maps of weights on ${KIND_NAMES[kindOf(view)]} data: ${WAYS.map((way, w) => `${way}, wrong by ${wrong(view.numbers.ways[w].error)}`).join("; ")}.`,
  caption: (view) => {
    const { numbers: n, state } = view;
    if (state.show === "tiles")
      return state.tile === 0
        ? html`Query ${n.query}: no tile is read yet.`
        : html`Query ${n.query} after ${state.tile} of ${TILES} tiles: the maximum so far is ${number(n.tiles[state.tile - 1].maximum)}, earlier sums were multiplied by <b>${number(n.tiles[state.tile - 1].rescale)}</b>, and Flash holds ${n.n / TILES} scores.`;
    if (state.show === "cost")
      return html`n = ${state.n.toLocaleString("en-US")}: between inputs and output the whole matrix takes ${byteCount(n.costs[0].bytes)}, Flash ${byteCount(n.costs[1].bytes)}.${Number.isNaN(n.costs[0].ms) ? "" : html` Times: ${n.costs.map(({ ms }, w) => `${WAYS[w]} ${number(ms)} ms`).join(", ")}.`}`;
    const [first, second] = ranking(view);
    return html`${KIND_PLACES[kindOf(view)]}${state.spread === 1 ? "" : `, scores × ${spreadText(state.spread)}`}, <b>${WAYS[first]}</b> is closer, wrong by ${wrong(n.ways[first].error)}${n.ways[first].error > 1 ? ", and still worse than answering 0" : ""}; ${WAYS[second]} is wrong by ${wrong(n.ways[second].error)}. The window holds ${percent(n.ways[2].kept)} of the attention.`;
  },
  control: ({ state }) => {
    if (state.show === "tiles")
      return html`<button type="button" data-act="tile:${state.tile >= TILES ? 0 : state.tile + 1}">${state.tile >= TILES ? "from the start" : "next tile"}</button>
<label>tile <input type="range" min="0" max="${TILES}" step="1" value="${state.tile}" data-act="tile" aria-label="Tiles that Flash has done"><output>${state.tile}</output></label>`;
    if (state.show === "cost")
      return html`<button type="button" data-act="race">Race</button>
${choice(
  "n",
  SIZES.map((n) => [n, n.toLocaleString("en-US")] as const),
  state.n,
)}`;
    return choice(
      "data",
      KIND_NAMES.map((name, kind) => [kind, name.replace("one ", "").replace("trained ", "")] as const),
      KINDS.indexOf(state.data),
    );
  },
  more: ({ state }) =>
    html`${choice("show", SHOWN, state.show)}${
      state.show === "errors" &&
      html`<label>scores × ${menu(
        "spread",
        SPREADS.map((spread) => [spread, spreadText(spread)] as const),
        state.spread,
        "Scores times",
      )}</label>
<label>window and features ${menu(
        "budget",
        ["small", "medium", "large"].map((name, budget) => [budget, name] as const),
        state.budget,
        "Window and features",
      )}</label>`
    }`,
  actions: {
    data: ({ state }, kind) => seeing(state, Number(kind)),
    spread: (_, __, value) => ({ spread: Number(value) }),
    budget: (_, __, value) => ({ budget: Number(value) }),
    tile: (_, argument, value) => ({ tile: Number(argument === "" ? value : argument) }),
    race: ({ state }) => ({ race: state.race + 1 }),
    n: (_, n) => ({ n: Number(n), race: 0 }),
    show: (_, show) => ({ show }),
  },
  drags: {
    cross: {
      move: ({ wide }, _, { x, y }) => {
        const [x0, y0, side, step] = mapsAt(wide);
        return {
          band: Math.floor(((y - y0) / side) * BANDS),
          column: Math.floor(((Math.max(0, x - x0) % step) / side) * BANDS),
        };
      },
      key: ({ state }, _, dx, dy) => ({
        column: state.column + Math.sign(dx),
        band: state.band - Math.sign(dy),
      }),
    },
  },
  code: {
    typescript: (view) => (showsTiles(view.state) ? tilesTypeScript(view) : waysTypeScript(view)),
    python: (view) => (showsTiles(view.state) ? tilesPython(view) : waysPython(view)),
    printed: (view) =>
      showsTiles(view.state)
        ? view.numbers.merged.map(([lse, output]) => `${lse.toFixed(2)} ${output.toFixed(2)}`).join("\n")
        : `${view.numbers.ways[2].kept.toFixed(3)}\n${view.numbers.ways
            .slice(2)
            .map(({ error }) => error.toFixed(2))
            .join("\n")}`,
    lit: (view) =>
      showsTiles(view.state)
        ? ["mergeStates([", "l, o = l * rescale"]
        : view.state.data === "local"
          ? ["longformer(near", "sees = (abs"]
          : view.state.data === "sink"
            ? ["random = performer", "random = a @"]
            : ["const wrong =", "def wrong("],
    names: {
      longformer: "Longformer",
      near: "Longformer",
      random: "Performer",
      performerAttention: "Performer",
    },
  },
  table: ({ numbers: n, state }) => ({
    caption: `${KIND_NAMES[KINDS.indexOf(state.data)]} data, ${n.n} rows of ${n.d} numbers${state.show === "cost" ? `; costs at n = ${state.n}` : ""}`,
    columns: ["", ...WAYS],
    rows: [
      ["error over output", ...n.ways.map(({ error }) => Number(error.toPrecision(3)))],
      ["error over values", ...n.ways.map(({ errorOverValues }) => Number(errorOverValues.toPrecision(3)))],
      ["attention kept", ...n.ways.map(({ kept }) => Number(kept.toPrecision(3)))],
      ...(state.show === "cost"
        ? [
            ["multiply, add", ...n.costs.map(({ operations }) => operations)],
            ["bytes in between", ...n.costs.map((cost) => cost.bytes)],
            [
              "milliseconds",
              ...n.costs.map(({ ms }) => (Number.isNaN(ms) ? "not raced" : Number(ms.toPrecision(3)))),
            ],
          ]
        : []),
      ...n.rows.map(({ kind, errors: found }) => [
        `error, ${KIND_NAMES[kind]}`,
        "",
        ...found.map((error) => Number(error.toPrecision(3))),
      ]),
    ],
  }),
  tasks: [
    {
      text: "On random data, find settings at which Performer is less wrong than answering 0.",
      done: ({ state, numbers: n }) => state.data === "random" && n.ways[3].error < 1,
    },
    {
      text: "Run the race at n = 4,096, and see the whole matrix take longer than Flash.",
      done: ({ state, numbers: { costs } }) =>
        state.n === 4096 && costs.length > 0 && costs[0].ms > costs[1].ms,
    },
  ],
  recall: [
    [
      "Flash does as many multiplications as the whole matrix. What does it save?",
      "Memory, and the time to write and read it: no n × n array is ever stored, only one tile, a maximum and a sum for each row.",
    ],
    [
      "When is a window a good idea, and when are random features?",
      "A window when the head looks at nearby words. Random features when queries and keys are small and the head takes an average. On data with no structure, neither.",
    ],
  ],
  limits:
    "These heads were made or trained with full attention, so the errors say little about a model that is trained with a window or with random features from the start.",
  trained: {
    text: "See heads of a large model: some look nearby, some all over the sentence",
    address: "tired-cat.html#v1/model",
  },
};

function tilesTypeScript({ numbers: n }: PageView): string {
  return `import { mergeStates, tensor } from "heed";

// Query ${n.query}, each tile of ${n.n / TILES} keys alone: the log
// of its sum, and its output's first number.
const lse = [
${codeLines(
  n.tiles.map(({ own }) => own.lse),
  4,
  "  ",
)}];
const output = [
${codeLines(
  n.tiles.map(({ own }) => own.output),
  4,
  "  ",
)}];

const tile = (j) => ({
  output: tensor([[output[j]]], "float64"),
  lse: tensor([lse[j]], "float64") });

let all = tile(0);
for (let j = 0; j < 8; j++) {
  if (j > 0) all = mergeStates([all, tile(j)]);
  const [sum, o] = [all.lse, all.output]
    .map((t) => t.toFloat64()[0].toFixed(2));
  console.log(sum, o);
}`;
}

function tilesPython({ numbers: n }: PageView): string {
  return `import numpy as np

# Query ${n.query}, each tile of ${n.n / TILES} keys alone: the
# log of its sum, and its output's first number.
lse = np.array([
${codeLines(
  n.tiles.map(({ own }) => own.lse),
  4,
  "    ",
)}])
output = np.array([
${codeLines(
  n.tiles.map(({ own }) => own.output),
  4,
  "    ",
)}])

m, l, o = -np.inf, 0, 0
for s, v in zip(lse, output):
    top = max(m, s)
    rescale = np.exp(m - top)
    p = np.exp(s - top)
    l, o = l * rescale + p, o * rescale + p * v
    m = top
    print(f"{m + np.log(l):.2f} {o / l:.2f}")`;
}

function waysTypeScript({ numbers: n, state }: PageView): string {
  return `import { longformer, tensor,
  scaledDotProductAttention } from "heed";
import { performerAttention } from
  "heed/nn/history";

const [n, d, near, m] =
  [${n.n}, ${n.d}, ${n.window}, ${n.features}];
let x = 1;
function uniform() {
  x ^= x << 13; x ^= x >>> 17; x ^= x << 5;
  return (x >>> 0) / 2 ** 32;
}
const normals = (count) =>
  Float32Array.from({ length: count }, () =>
    Math.sqrt(-2 * Math.log(uniform())) *
    Math.cos(2 * Math.PI * uniform()));

let q = normals(n * d), k = normals(n * d);
const v = tensor(normals(n * d), [n, d]);${
    state.data === "local"
      ? `
const waves = normals(d / 2);
q = k = q.map((_, at) => {
  const [i, c] = [Math.floor(at / d), at % d];
  const turn = waves[c % (d / 2)] / 12 * i;
  return Math.SQRT2 * (c < d / 2
    ? Math.cos(turn) : Math.sin(turn));
});`
      : state.data === "sink"
        ? `
for (let i = 0; i < n; i++) q[i * d] += 4;
k.fill(0, 0, d);
k[0] = 18;`
        : ""
  }
const root = Math.sqrt(${state.spread});
const [query, key] = [q, k].map((t) =>
  tensor(t.map((x) => x * root), [n, d]));

const exact = scaledDotProductAttention(
  query, key, v, { returnWeights: true });
const attnMask = longformer(near, [0]);
const window = scaledDotProductAttention(
  query, key, v, { attnMask });
const features = tensor(normals(m * d), [m, d]);
const random = performerAttention(
  query, key, v, { features });

const [want, byWindow, byFeatures] =
  [exact, window, random].map(({ output }) =>
    output.toFloat64());
const size = (t) => Math.sqrt(
  t.reduce((sum, x) => sum + x * x, 0));
const wrong = (t) => size(t.map((x, i) =>
  x - want[i])) / size(want);

const kept = exact.weights.toFloat64().reduce(
  (sum, p, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    const sees = i === 0 || j === 0 ||
      Math.abs(i - j) <= near;
    return sum + (sees ? p / n : 0);
  }, 0);
console.log(kept.toFixed(3));
console.log(wrong(byWindow).toFixed(2));
console.log(wrong(byFeatures).toFixed(2));`;
}

function waysPython({ numbers: n, state }: PageView): string {
  return `import numpy as np

n, d, near, m = ${n.n}, ${n.d}, ${n.window}, ${n.features}
x = 1
def uniform():
    global x
    x ^= x << 13 & 0xFFFFFFFF
    x ^= x >> 17
    x ^= x << 5 & 0xFFFFFFFF
    return x / 2**32

def normals(rows, columns):
    size = 2 * rows * columns
    u = [uniform() for _ in range(size)]
    a, b = np.array(u).reshape(-1, 2).T
    z = np.sqrt(-2 * np.log(a))
    z *= np.cos(2 * np.pi * b)
    return z.reshape(rows, columns)

q, k = normals(n, d), normals(n, d)
v = normals(n, d)${
    state.data === "local"
      ? `
waves = normals(1, d // 2) / 12
turn = np.arange(n)[:, None] * waves
turns = np.cos(turn), np.sin(turn)
q = k = np.sqrt(2) * np.concatenate(turns, 1)`
      : state.data === "sink"
        ? `
q[:, 0] += 4
k[0] = 0
k[0, 0] = 18`
        : ""
  }
root = np.sqrt(${state.spread})
q, k = q * root, k * root

def attention(visible):
    s = q @ k.T / np.sqrt(d)
    s = np.where(visible, s, -np.inf)
    p = np.exp(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return p, p @ v

i, j = np.indices((n, n))
sees = (abs(i - j) <= near) | (i == 0) | (j == 0)
p, exact = attention(True)
_, window = attention(sees)

f = normals(m, d)
def phi(x):
    y = x @ f.T / d**0.25
    y -= (x * x).sum(1, keepdims=True) / 2 / d**0.5
    return np.exp(y - y.max())

a, b = phi(q), phi(k)
random = a @ (b.T @ v) / (a @ b.sum(0))[:, None]

def wrong(x):
    return np.linalg.norm(x - exact) / size

size = np.linalg.norm(exact)
print(f"{p[sees].sum() / n:.3f}")
print(f"{wrong(window):.2f}")
print(f"{wrong(random):.2f}")`;
}
