/** Arrows: a query and keys in the plane. How far a key reaches along the query is its score. */
import { checkbox, choice, clamp, clampInteger } from "../frame/controls.ts";
import { html } from "../frame/markup.ts";
import type { Page, Point, View } from "../frame/page.ts";
import { arrow, guessLine, label, line, mark, named, textClass, weightClass } from "../frame/svg.ts";
import { descending, number, percent } from "../frame/words.ts";
import type { Arrows, ArrowsNumbers } from "./compute.ts";

type PageView = View<Arrows, ArrowsNumbers>;

const REACH = 4;
const IT = 3;
/** A coordinate of the query's tip, in steps of 0.05. */
const tip = (value: number) => clamp(Math.round(value * 20) / 20, -REACH, REACH) + 0;

/** Where the query comes from, and its button. */
const MODES = [
  ["free", "any query"],
  ["same", "Q = K = X"],
  ["turned", "Q = X·W"],
] as const;

export const initial: Arrows = {
  x: 1.2,
  y: 1.6,
  mode: "free",
  word: IT,
  angle: 0,
  output: false,
  own: "",
  guess1: -1,
};

/** The plane: its center, and pixels of a unit. */
const plane = (wide: boolean) => (wide ? { cx: 262, cy: 270, unit: 62 } : { cx: 128, cy: 150, unit: 30 });

function picture(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const { cx, cy, unit } = plane(wide);
  const [X, Y] = [(x: number) => cx + x * unit, (y: number) => cy - y * unit];
  const [qx, qy] = n.query;
  const length = Math.hypot(qx, qy);
  const parts: string[] = [
    line(X(-REACH), Y(0), X(REACH), Y(0), "lline"),
    line(X(0), Y(-REACH), X(0), Y(REACH), "lline"),
  ];
  const keys: string[] = [];
  const shadows: string[] = [];
  if (length > 0.01) {
    const [ux, uy] = [qx / length, qy / length];
    // The line on which shadows fall.
    parts.push(line(X(-ux * 5), Y(-uy * 5), X(ux * 5), Y(uy * 5), "lline dash"));
    for (const [j, [kx, ky]] of n.keys.entries()) {
      const along = kx * ux + ky * uy;
      shadows.push(
        line(X(kx), Y(ky), X(along * ux), Y(along * uy), "lthird dash"),
        mark("circle", {
          cx: X(along * ux),
          cy: Y(along * uy),
          r: 3 + 9 * Math.sqrt(n.shares[j]),
          class: "fw soft",
        }),
      );
    }
  }
  for (const [j, [kx, ky]] of n.keys.entries()) {
    const description =
      state.mode === "free" ? `${n.words[j]}, key ${kx}, ${ky}` : `Take the query of ${n.words[j]}`;
    const away = wide ? 16 : 11;
    const size = Math.hypot(kx, ky);
    // Beside the key where the query is on top of it.
    const along = (kx * qx + ky * qy) / (size * (length || 1));
    const aside = along > 0.97 ? (wide ? 15 : 11) / unit : 0;
    const turn = (Math.sign(kx * ky) || 1) / size;
    const [tx, ty] = [
      kx + (kx / size) * (away / unit) + aside * ky * turn,
      ky + (ky / size) * (away / unit) - aside * kx * turn,
    ];
    const inside = `${arrow(X(0), Y(0), X(kx), Y(ky), "lk", wide ? 9 : 6)}${mark("circle", { cx: X(kx), cy: Y(ky), r: wide ? 16 : 12, class: "hit grip" })}${label(X(tx), Y(ty) + 4, n.words[j], { class: `${kx > 0 ? "" : "end"} tk ${j === state.word && state.mode !== "free" ? "bold" : ""}` })}`;
    keys.push(
      state.mode === "free"
        ? inside
        : mark(
            "g",
            {
              "data-act": `word:${j}`,
              "data-key": `word:${j}`,
              tabindex: "0",
              role: "button",
              class: "press",
              "aria-label": description,
              "aria-pressed": String(j === state.word),
            },
            inside,
          ),
    );
  }
  parts.push(named("shadows", shadows.join("")), named("keys", keys.join("")));
  if (state.output)
    parts.push(
      named(
        "output",
        arrow(X(0), Y(0), X(n.output[0]), Y(n.output[1]), "lv", wide ? 11 : 7) +
          label(X(n.output[0]) + 8, Y(n.output[1]) + 14, "output", { class: "tv bold halo" }),
      ),
    );
  const stored = mark(
    "g",
    {
      "data-drag": "query:",
      "data-key": "query:",
      tabindex: "0",
      role: "slider",
      class: "drag free",
      "aria-label": "The query",
      "aria-valuemin": String(-REACH),
      "aria-valuemax": String(REACH),
      "aria-valuenow": String(qx),
      "aria-valuetext": `${number(qx)}, ${number(qy)}`,
    },
    arrow(X(0), Y(0), X(qx), Y(qy), "lq thick", wide ? 14 : 9) +
      mark("circle", { cx: X(qx), cy: Y(qy), r: wide ? 18 : 15, class: "hit grip" }) +
      label(
        X(qx * 0.55) + (qy / (length || 1)) * (wide ? 30 : 24),
        Y(qy * 0.55) + (qx / (length || 1)) * 16 + 4,
        "query",
        { class: "tq bold halo mid" },
      ),
  );
  parts.push(state.mode === "same" ? stored.replace(/ data-drag="query:"/, "") : named("query", stored));
  parts.push(bars(view));
  return parts.join("");
}

/** Where scores and shares are: left edge, top, height of a row, width. */
const barsAt = (wide: boolean) => (wide ? [590, 92, 74, 210] : [282, 42, 48, 80]);

/** Scores and shares, a row for each key. */
function bars({ numbers: n, wide }: PageView): string {
  const [left, top, row, width] = barsAt(wide);
  const parts: string[] = [
    label(wide ? left - 60 : left, top - 30, wide ? "score q·k ÷ √2, and its share" : "shares", {
      class: "second s12",
    }),
  ];
  const scores: string[] = [];
  const shares: string[] = [];
  const zero = left + width / 2;
  const unit = width / 2 / 9;
  for (const [j, word] of n.words.entries()) {
    const y = top + j * row;
    parts.push(label(left - 10, y + (wide ? 28 : 17), word, { class: "end tk" }));
    if (wide) {
      const x = zero + Math.max(-9, Math.min(9, n.scores[j])) * unit;
      scores.push(
        mark("rect", {
          x: Math.min(zero, x),
          y,
          width: Math.max(1, Math.abs(x - zero)),
          height: 10,
          class: "fk soft",
        }),
        label(x + (n.scores[j] < 0 ? -5 : 5), y + 10, n.scores[j].toFixed(2).replace("-", "−"), {
          class: `s11 mono ${n.scores[j] < 0 ? "end" : ""}`,
        }),
      );
    }
    const y2 = y + (wide ? 16 : 4);
    shares.push(
      mark("rect", { x: left, y: y2, width, height: wide ? 22 : 18, class: "fhover" }),
      mark("rect", {
        x: left,
        y: y2,
        width: n.shares[j] * width,
        height: wide ? 22 : 18,
        class: weightClass(Math.max(0.3, n.shares[j])),
      }),
      // In the bar where it has space, else after it.
      label(
        left + 6 + (n.shares[j] > 0.5 ? 0 : n.shares[j] * width),
        y2 + (wide ? 16 : 13),
        percent(n.shares[j]),
        {
          class: `s12 mono ${n.shares[j] > 0.5 ? textClass(n.shares[j]) : ""}`,
        },
      ),
    );
  }
  if (wide) parts.push(line(zero, top - 8, zero, top + 4 * row + 14, "lline"));
  return parts.join("") + named("scores", scores.join("")) + named("shares", shares.join(""));
}

const ordered = (n: ArrowsNumbers) => descending(n.shares);

export const page: Page<Arrows, ArrowsNumbers> = {
  name: "arrows",
  title: "Arrows",
  point:
    "A query is an arrow, and so is every key. The farther a key reaches along the query, the higher its score, and the larger its share.",
  initial,
  check: (state) => ({
    ...state,
    x: tip(state.x),
    y: tip(state.y),
    mode: MODES.some(([mode]) => mode === state.mode) ? state.mode : "free",
    word: clampInteger(state.word, 0, 4),
    angle: (((Math.round(state.angle) % 360) + 540) % 360) - 180,
  }),
  steps: [
    {
      title: "A question points somewhere",
      state: {},
      text: ({
        numbers: n,
      }) => html`<p>A query and a key are <em>vectors</em>: lists of numbers. In real heads they have 32, 64 or 128 numbers. Here they have two, so that each can be drawn as an arrow.</p>
<p>The <b class="q">query</b> belongs to the word that asks. The <b class="k">keys</b> belong to five words that can be found. From the tip of each key, a dashed line drops onto the line of the query. How far along it lands, times the length of the query, is the <em>dot product</em>. The dot there is larger for a larger share. Divided by √2, that is the score (a later page says why).</p>
<p class="formula"><math><mi>q</mi><mo>·</mo><mi>k</mi><mo>=</mo><msub><mi>q</mi><mn>1</mn></msub><msub><mi>k</mi><mn>1</mn></msub><mo>+</mo><msub><mi>q</mi><mn>2</mn></msub><msub><mi>k</mi><mn>2</mn></msub></math></p>
<p>“${n.words[ordered(n)[0]]}” reaches farthest and has ${percent(n.shares[ordered(n)[0]])}. A key that points away has a score below 0, and still a small share. <b>Drag the query around.</b></p>`,
    },
    {
      title: "Long questions are strict",
      state: {},
      text: () => html`<p>Direction says <em>what</em> is asked. Length says <em>how strictly</em>.</p>`,
      predict: {
        question:
          "The query keeps its direction but becomes twice as long. What share will the key it points at get?",
        min: 0,
        max: 100,
        step: 1,
        start: 60,
        unit: " %",
        show: { mode: "free", x: 2.4, y: 3.2 },
        mark: (guess, { wide }) => {
          const [left, top, , width] = barsAt(wide);
          // Below the share in the bar, which it must not cross.
          const [x, end] = [left + (guess / 100) * width, top + (wide ? 43 : 27)];
          return guessLine(x, end - 7, x, end, clamp(x, left + 30, left + width - 30), end + 11);
        },
        result: ({ numbers: n }) =>
          html`It is <b>${percent(n.shares[0])}</b>. All scores doubled, so all differences doubled, and softmax turns differences into ratios. Make the query very short, and every key gets nearly the same share.`,
      },
    },
    {
      title: "Without parameters",
      state: { mode: "same", word: IT },
      about: ({ mode }) => mode === "same",
      text: ({
        numbers: n,
        state,
      }) => html`<p>The simplest attention has nothing to learn: every word’s vector is its query, its key and its value, Q = K = V = X. Press a word to let it ask.</p>
<p>“${n.words[state.word]}” gives <b>${percent(n.shares[state.word])}</b> to itself. That is no surprise: along a word’s own direction, no arrow reaches farther than the word’s own, unless it is longer. A word that asks with its own meaning finds itself.</p>`,
    },
    {
      title: "A matrix turns the question",
      state: { mode: "turned", word: IT, angle: 148 },
      about: ({ mode }) => mode === "turned",
      text: ({
        numbers: n,
        state,
      }) => html`<p>So a model learns a matrix, W<sup>q</sup>, that turns a word into its question. Turned by ${state.angle}°, the query of “${n.words[state.word]}” points at “${n.words[ordered(n)[0]]}”, which now has <b>${percent(n.shares[ordered(n)[0]])}</b>.</p>
<p>Drag the query: you change W<sup>q</sup>, which is now</p>
<p class="formula"><math><msup><mi>W</mi><mi>q</mi></msup><mo>=</mo><mo>(</mo><mtable><mtr>${turned(
        state.angle,
      )
        .slice(0, 2)
        .map((x) => html`<mtd><mn>${x}</mn></mtd>`)}</mtr><mtr>${turned(state.angle)
        .slice(2)
        .map((x) => html`<mtd><mn>${x}</mn></mtd>`)}</mtr></mtable><mo>)</mo></math></p>
<p>Two more matrices make the keys (W<sup>k</sup>) and the values (W<sup>v</sup>). Training finds all three. W<sup>q</sup> and W<sup>k</sup> decide where a head looks, W<sup>v</sup> what it gets there. Here W<sup>k</sup> and W<sup>v</sup> leave the words as they are.</p>
<p class="formula"><math><mi>Q</mi><mo>=</mo><mi>X</mi><msup><mi>W</mi><mi>q</mi></msup><mo>,</mo><mspace width=".6em"></mspace><mi>K</mi><mo>=</mo><mi>X</mi><msup><mi>W</mi><mi>k</mi></msup><mo>,</mo><mspace width=".6em"></mspace><mi>V</mi><mo>=</mo><mi>X</mi><msup><mi>W</mi><mi>v</mi></msup></math></p>`,
    },
    {
      title: "What comes back",
      state: { output: true },
      text: ({
        numbers: n,
      }) => html`<p>The answer is one more arrow: the average of the <b class="v">values</b>, weighted by their shares. Here the values are the words’ own arrows, so the output is always somewhere between them, now at (${number(n.output[0])}, ${number(n.output[1])}).</p>
<p>Values may have more or fewer numbers than queries and keys (d<sub>v</sub> ≠ d<sub>k</sub>). Only a query and a key must have equally many, because only those two are multiplied with each other.</p>`,
    },
  ],
  picture,
  label: ({ numbers: n }) =>
    `A plane with a query at ${number(n.query[0])}, ${number(n.query[1])} and five keys. Shares: ${n.words.map((word, j) => `${word} ${percent(n.shares[j])}`).join(", ")}.`,
  caption: ({ numbers: n, state }) => {
    const [a, b] = ordered(n);
    return html`${state.mode === "free" ? "The query" : html`The query of “${n.words[state.word]}”`} gives ${percent(n.shares[a])} to “${n.words[a]}” (score ${number(n.scores[a])}) and ${percent(n.shares[b])} to “${n.words[b]}” (${number(n.scores[b])}).`;
  },
  control: ({
    state,
    numbers: n,
  }) => html`<span class="wide-only">Drag the <b class="q">query</b>, or use the arrow keys on it.</span>
${
  state.mode === "same"
    ? html`<span class="narrow-only">Press a word to let it ask.</span>`
    : html`<label class="narrow-only">turn <input type="range" min="-180" max="180" step="1" value="${Math.round(direction(n.query))}" data-act="turn" aria-label="Direction of the query in degrees"><output>${Math.round(direction(n.query))}°</output></label>`
}`,
  more: ({ state }) => html`${choice("mode", MODES, state.mode)}
${checkbox("output", "output", state.output)}`,
  actions: {
    turn: ({ state, numbers: n }, _, value) => {
      const [angle, length] = [(Number(value) * Math.PI) / 180, Math.hypot(...n.query)];
      return moved(state, n, [length * Math.cos(angle), length * Math.sin(angle)]);
    },
    mode: (_, mode) => ({ mode }),
    word: (_, j) => ({ word: Number(j) }),
    output: (_, __, value) => ({ output: value === "true" }),
  },
  drags: {
    query: {
      move: ({ state, numbers, wide }, _, point) => moved(state, numbers, at(point, wide)),
      key: ({ state, numbers }, _, dx, dy) =>
        state.mode === "turned"
          ? { angle: state.angle + dx + dy }
          : moved(state, numbers, [numbers.query[0] + dx * 0.05, numbers.query[1] + dy * 0.05]),
    },
  },
  code: {
    typescript: ({ numbers: n }) => `import { scaledDotProductAttention,
  tensor } from "heed";

// One query and five keys of two numbers each;
// the values are the keys.
const query = tensor(
  Float64Array.of(${n.query.join(", ")}), [1, 2]);
const keys = tensor(Float64Array.of(
  ${n.keys.slice(0, 3).flat().join(", ")},
  ${n.keys.slice(3).flat().join(", ")}), [5, 2]);

const { output, weights } =
  scaledDotProductAttention(
    query, keys, keys, { returnWeights: true });

const show = (t) => console.log([...t.toFloat64()]
  .map((x) => x.toFixed(4)).join(" "));
show(weights);
show(output);`,
    python: ({ numbers: n }) => `import numpy as np

# One query and five keys of two numbers each;
# the values are the keys.
query = np.array([${n.query.join(", ")}])
keys = np.array([
    ${n.keys
      .slice(0, 3)
      .map((k) => `[${k.join(", ")}]`)
      .join(", ")},
    ${n.keys
      .slice(3)
      .map((k) => `[${k.join(", ")}]`)
      .join(", ")}])

scores = keys @ query / np.sqrt(2)
e = np.exp(scores - scores.max())
weights = e / e.sum()
output = weights @ keys

for row in weights, output:
    print(" ".join(f"{x:.4f}" for x in row))`,
    printed: ({ numbers: n }) =>
      [n.shares, n.output].map((row) => row.map((x) => x.toFixed(4)).join(" ")).join("\n"),
    lit: ({ state }) =>
      state.output
        ? ["output, weights }", "output = weights"]
        : ["scaledDotProductAttention(", "scores = keys"],
    names: { query: "query", keys: "keys", scores: "scores", weights: "shares", output: "output" },
  },
  table: ({ numbers: n }) => ({
    caption: `Query (${n.query.join(", ")}), output (${n.output.map((x) => Number(x.toPrecision(4))).join(", ")})`,
    columns: ["word", "key", "q·k", "÷ √2", "share"],
    rows: n.words.map((word, j) => [
      word,
      n.keys[j].join(", "),
      ...[n.dots[j], n.scores[j], n.shares[j]].map((x) => Number(x.toPrecision(4))),
    ]),
  }),
  tasks: [
    {
      text: "Find a query for which two words have nearly the same share (less than 2 points apart), each more than 35 %.",
      done: ({ numbers: n }) => {
        const [a, b] = ordered(n);
        return n.shares[b] > 0.35 && n.shares[a] - n.shares[b] < 0.02;
      },
    },
    {
      text: html`With Q = X·W, turn the query of the word at the bottom until it gives the word on the upper left more than 60 %.`,
      done: ({ state, numbers: n }) => state.mode === "turned" && state.word === IT && n.shares[1] > 0.6,
    },
  ],
  sentence: (own) => ({ own }),
  carry: ({ own }) => ({ own }),
  recall: [
    [
      "Two keys have the same direction, one is twice as long. Which one gets more from a query that points their way? And from one that points the other way?",
      "The longer one, because it reaches farther along the query. When the query points the other way, the longer one has the lower score, so the shorter one gets more.",
    ],
    [
      "Why is attention without parameters of little use?",
      "A word’s own arrow usually reaches farthest along itself, so every word mostly finds itself. The matrices let a word ask for something other than what it is.",
    ],
  ],
  limits:
    "Do not expect 64 dimensions to look like two: in 64, two random vectors are almost always nearly at right angles, and a head can tell far more directions apart.",
  trained: {
    text: "See a head that has turned its questions: “it” finds “cat”",
    address: "tired-cat.html#v1/head?l=5&h=11&i=8&j=2&at=8.2",
  },
};

/** Direction of an arrow in degrees, −180 to 180, 0 to the right. */
const direction = ([x, y]: readonly [number, number]) => (Math.atan2(y, x) * 180) / Math.PI;

/** The matrix that turns a row vector by an angle in degrees, row after row, as it is printed. */
const turned = (angle: number) => {
  const [c, s] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
  return [c, s, -s, c].map((x) => (x + 0).toFixed(2).replace("-", "−"));
};

const at = ({ x, y }: Point, wide: boolean): readonly [number, number] => {
  const { cx, cy, unit } = plane(wide);
  return [(x - cx) / unit, (cy - y) / unit];
};

/** The state after the query's tip was moved to a point: of the free query its place, of a turned one its angle. */
function moved(
  state: Arrows,
  n: ArrowsNumbers,
  [x, y]: readonly [number, number],
): Partial<Arrows> | undefined {
  if (state.mode === "free") return { x, y };
  if (state.mode === "same") return undefined;
  const [wx, wy] = n.keys[state.word];
  return { angle: ((Math.atan2(y, x) - Math.atan2(wy, wx)) * 180) / Math.PI };
}
