/** Arrows: a query and keys in the plane. How far a key reaches along the query is its score. */

import { dotMarks, scaleOf, text } from "../../src/view/plot/index.ts";
import { check, choice, slider } from "../../ui/controls.ts";
import { html, mathml } from "../../ui/markup.ts";
import { clamp, integer, numbers, oneOf, ownSentence, real, toggle } from "../frame/fields.ts";
import {
  arrow,
  draggable,
  guessLine,
  line,
  named,
  pressable,
  rect,
  signed,
  textClass,
  weightClass,
} from "../frame/marks.ts";
import { definePage, type LabView } from "../frame/page.ts";
import { throwAgain, throwControl } from "../frame/throw.ts";
import { descending, number, percent } from "../frame/words.ts";
import type { Arrows, ArrowsNumbers } from "./compute.ts";
import { direction, moved, turned, withKey } from "./move.ts";

type PageView = LabView<Arrows, ArrowsNumbers>;

const REACH = 4;
const IT = 3;
/** Steps of word2vec. */
const STEPS = 60;

/** Where the query comes from, and its button. */
const MODES = [
  ["free", "any query"],
  ["same", "Q = K = X"],
  ["turned", "Q = X·W"],
  ["trained", "word2vec"],
] as const;

/** The plane: scales from coordinates to pixels, and a factor for sizes. */
function planeAt(wide: boolean) {
  const [cx, cy, unit, size] = wide ? [262, 270, 62, 1] : [128, 150, 30, 2 / 3];
  return {
    x: scaleOf({ domain: [-REACH, REACH], range: [cx - REACH * unit, cx + REACH * unit] }),
    y: scaleOf({ domain: [-REACH, REACH], range: [cy + REACH * unit, cy - REACH * unit] }),
    unit,
    size,
  };
}

/** A vector from the origin of the plane. */
function vector(wide: boolean, [vx, vy]: readonly [number, number], name: string, head: number): string {
  const { x, y, size } = planeAt(wide);
  return arrow(x(0), y(0), x(vx), y(vy), name, Math.round(head * size));
}

/** The axes, the line of the query, and the shadows of the keys on it. */
function shadows({ numbers: n, wide }: PageView): string {
  const { x, y } = planeAt(wide);
  const axes =
    line(x(-REACH), y(0), x(REACH), y(0), "lline") + line(x(0), y(-REACH), x(0), y(REACH), "lline");
  const length = Math.hypot(...n.query);
  if (length <= 0.01) return axes;
  const [ux, uy] = n.query.map((value) => value / length);
  const marks = n.keys.map(([kx, ky], j) => {
    const along = kx * ux + ky * uy;
    const [sx, sy] = [x(along * ux), y(along * uy)];
    return (
      line(x(kx), y(ky), sx, sy, "lthird dash") +
      dotMarks([[sx, sy]], 3 + 9 * Math.sqrt(n.shares[j]), { class: "fw soft" })
    );
  });
  return (
    axes + line(x(-ux * 5), y(-uy * 5), x(ux * 5), y(uy * 5), "lline dash") + named("shadows", marks.join(""))
  );
}

/** The keys, which are dragged; where the query is a word's, they take its place when they are pressed. */
function keys({ numbers: n, state, wide }: PageView): string {
  const { x, y, unit } = planeAt(wide);
  const [away, aside, radius] = wide ? [16, 15, 16] : [11, 11, 12];
  const length = Math.hypot(...n.query) || 1;
  const marks = n.keys.map(([kx, ky], j) => {
    const size = Math.hypot(kx, ky) || 1;
    // Beside the key where the query is on top of it; of two trained words in one direction, on either side.
    const cosine = (kx * n.query[0] + ky * n.query[1]) / (size * length);
    const isTrained = state.mode === "trained";
    const sign = isTrained ? 1 - 2 * (j % 2) : Math.sign(kx * ky) || 1;
    const turn = cosine > 0.97 || isTrained ? (aside / unit / size) * sign : 0;
    const [tx, ty] = [
      kx + (kx / size) * (away / unit) + ky * turn,
      ky + (ky / size) * (away / unit) - kx * turn,
    ];
    const isWord = state.mode !== "free";
    const mark =
      vector(wide, [kx, ky], "lk", 9) +
      dotMarks([[x(kx), y(ky)]], radius, { class: "hit grip" }) +
      text(x(tx), y(ty) + 4, n.words[j], {
        class: `${(isTrained ? tx > kx : kx > 0) ? "" : "end"} tk ${isWord && j === state.word ? "bold" : ""}`,
      });
    if (isWord) return pressable(`word:${j}`, `Take the query of ${n.words[j]}`, j === state.word, mark);
    const value = { now: kx, min: -REACH, max: REACH, text: `${number(kx)}, ${number(ky)}` };
    return draggable(`key:${j}`, `The key of ${n.words[j]}`, value, mark, "free");
  });
  return named("keys", marks.join(""));
}

/** Whether the query is the word's own vector. */
const isOwn = ({ mode }: Arrows) => mode === "same" || mode === "trained";

/** The query, which is dragged unless it is the word's own vector. */
function query({ numbers: n, state, wide }: PageView): string {
  const { x, y } = planeAt(wide);
  const [qx, qy] = n.query;
  const length = Math.hypot(qx, qy) || 1;
  const mark =
    vector(wide, n.query, "lq thick", 14) +
    dotMarks([[x(qx), y(qy)]], wide ? 18 : 15, { class: "hit grip" }) +
    text(x(qx * 0.55) + (qy / length) * (wide ? 30 : 24), y(qy * 0.55) + (qx / length) * 16 + 4, "query", {
      class: "tq bold halo mid",
    });
  if (isOwn(state)) return named("query", mark);
  const value = { now: qx, min: -REACH, max: REACH, text: `${number(qx)}, ${number(qy)}` };
  return named("query", draggable("query:", "The query", value, mark, "free"));
}

/** The average of the values. */
function output({ numbers: n, wide }: PageView): string {
  const { x, y } = planeAt(wide);
  const [ox, oy] = n.output;
  return named(
    "output",
    vector(wide, n.output, "lv", 11) + text(x(ox) + 8, y(oy) + 14, "output", { class: "tv bold halo" }),
  );
}

/** The rows of scores and shares: where they begin, their distance, and the scales of both. */
function barsAt(wide: boolean) {
  const [left, top, step, width, height] = wide ? [590, 92, 74, 210, 22] : [282, 42, 48, 80, 18];
  return {
    ...{ left, top, step, width, height, shareTop: wide ? 16 : 4 },
    score: scaleOf({ domain: [-9, 9], range: [left, left + width], clamp: true }),
    share: scaleOf({ domain: [0, 1], range: [left, left + width] }),
  };
}

/** Scores and shares, a row for each key. */
function bars({ numbers: n, wide }: PageView): string {
  const { left, top, step, height, shareTop, score, share: x } = barsAt(wide);
  const rows = n.words.map((word, j) =>
    text(left - 10, top + j * step + (wide ? 28 : 12), word, { class: "end tk" }),
  );
  const scores = n.scores.map((value, j) => {
    const [y, end] = [top + j * step, score(value)];
    if (!wide) return text(left - 10, y + 26, signed(value, 2), { class: "end s11 mono second" });
    return (
      rect(score(0), y, Math.abs(end - score(0)) < 1 ? score(0) + 1 : end, y + 10, { class: "fthird soft" }) +
      text(end + (value < 0 ? -5 : 5), y + 10, signed(value, 2), {
        class: `s11 mono ${value < 0 ? "end" : ""}`,
      })
    );
  });
  const shares = n.shares.map((share, j) => {
    const y = top + j * step + shareTop;
    const isLong = share > 0.5;
    return (
      rect(left, y, x(1), y + height, { class: "fhover" }) +
      rect(left, y, x(share), y + height, { class: weightClass(Math.max(0.3, share)) }) +
      // In the bar where it has space, else after it.
      text(6 + (isLong ? left : x(share)), y + height - (wide ? 6 : 5), percent(share), {
        class: `s12 mono ${isLong ? textClass(share) : ""}`,
      })
    );
  });
  const title = wide ? "score q·k ÷ √2, and its share" : "score, share";
  return [
    text(wide ? left - 60 : left - 44, top - 30, title, { class: "second s12" }),
    ...rows,
    wide ? line(score(0), top - 8, score(0), top + 4 * step + 14, "lline") : "",
    named("scores", scores.join("")),
    named("shares", shares.join("")),
  ].join("");
}

const picture = (view: PageView): string =>
  shadows(view) + keys(view) + (view.state.output ? output(view) : "") + query(view) + bars(view);

const ordered = (n: ArrowsNumbers) => descending(n.shares);

/** Four digits, and 0 for what is only rounding. */
const tidy = (x: number) => (Math.abs(x) < 1e-12 ? 0 : Number(x.toPrecision(4)));

export const page = definePage<Arrows, ArrowsNumbers>({
  title: "Arrows",
  point:
    "A query is an arrow, and so is every key. The farther a key reaches along the query, the higher its score, and the larger its share.",
  minutes: 7,
  needs: ["words"],
  fields: {
    x: real(1.2, -REACH, REACH, 20),
    y: real(1.6, -REACH, REACH, 20),
    mode: oneOf(MODES.map(([mode]) => mode)),
    word: integer(IT, 0, 4),
    angle: { ...real(0, -180, 180), accept: (angle) => (((Math.round(angle) % 360) + 540) % 360) - 180 },
    output: toggle(),
    keys: numbers([1.5, 2, -2, 1.5, 2.5, 0.5, -0.5, -2.5, -2.5, -0.5], real(0, -REACH, REACH, 20)),
    steps: integer(STEPS, 0, STEPS),
    seed: integer(5, 1, 9999),
    ownText: ownSentence,
  },
  steps: [
    {
      title: "A question points somewhere",
      state: {},
      text: ({
        numbers: n,
      }) => html`<p>A query and a key are <em>vectors</em>: lists of numbers. In real heads they have 32, 64 or 128 numbers. Here they have two, so that each can be drawn as an arrow.</p>
<p>The <b class="q">query</b> belongs to the word that asks. The <b class="k">keys</b> belong to five words that can be found. From the tip of each key, a dashed line drops onto the line of the query. How far along it lands, times the length of the query, is the <em>dot product</em>. The dot there is larger for a larger share. Divided by √2, that is the score (a later page says why).</p>
<p class="formula"><math><mi>q</mi><mo>·</mo><mi>k</mi><mo>=</mo><msub><mi>q</mi><mn>1</mn></msub><msub><mi>k</mi><mn>1</mn></msub><mo>+</mo><msub><mi>q</mi><mn>2</mn></msub><msub><mi>k</mi><mn>2</mn></msub></math></p>
<p>“${n.words[ordered(n)[0]]}” reaches farthest and has ${percent(n.shares[ordered(n)[0]])}. A key that points away has a score below 0, and still a small share. <b>Drag the query around,</b> or a key.</p>`,
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
        why: [
          [0, 35, "A longer query does not look away: it is stricter, so the key it points at gets more."],
          [
            45,
            75,
            "You expected a little more. But doubled scores double every difference, and a ratio of shares is e to the power of a difference: it is squared.",
          ],
          [97, 100, "Nearly: but a share is 100 % only where all other scores are infinitely lower."],
        ],
        show: { mode: "free", x: 2.4, y: 3.2 },
        mark: (guess, { wide }) => {
          const { left, top, width, share } = barsAt(wide);
          // Below the share in the bar, which it must not cross.
          const [x, end] = [share(guess / 100), top + (wide ? 43 : 27)];
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
        .map((x) => mathml`<mtd><mn>${x}</mn></mtd>`)}</mtr><mtr>${turned(state.angle)
        .slice(2)
        .map((x) => mathml`<mtd><mn>${x}</mn></mtd>`)}</mtr></mtable><mo>)</mo></math></p>
<p>Two more matrices make the keys (W<sup>k</sup>) and the values (W<sup>v</sup>). Training finds all three. W<sup>q</sup> and W<sup>k</sup> decide where a head looks, W<sup>v</sup> what it gets there. Here W<sup>k</sup> and W<sup>v</sup> leave the words as they are. A score is then q·k = x<sub>i</sub>·W·x<sub>j</sub> with W = W<sup>q</sup>(W<sup>k</sup>)<sup>T</sup>, a <em>generalized</em> dot product.</p>
<p class="formula"><math><mi>Q</mi><mo>=</mo><mi>X</mi><msup><mi>W</mi><mi>q</mi></msup><mo>,</mo><mspace width=".6em"></mspace><mi>K</mi><mo>=</mo><mi>X</mi><msup><mi>W</mi><mi>k</mi></msup><mo>,</mo><mspace width=".6em"></mspace><mi>V</mi><mo>=</mo><mi>X</mi><msup><mi>W</mi><mi>v</mi></msup></math></p>`,
    },
    {
      title: "What comes back",
      state: { output: true },
      text: ({
        numbers: n,
      }) => html`<p>The answer is one more arrow: the average of the <b class="v">values</b>, weighted by their shares. Here the values are the words’ own arrows, so the output is always somewhere between them, now at (${number(n.output[0])}, ${number(n.output[1])}).</p>
<p>Values may have more or fewer numbers than queries and keys (d<sub>v</sub> ≠ d<sub>k</sub>). Only a query and a key must have equally many, because only those two are multiplied number by number.</p>`,
    },
    {
      title: "Where a word gets its arrow",
      state: { mode: "trained", word: 0 },
      about: ({ mode }) => mode === "trained",
      text: ({
        numbers: n,
        state,
      }) => html`<p>In a table of words each word is <em>one-hot</em>: 1 at its own place, 0 at all others. Any two are at right angles, and none is like another. Times a matrix, each becomes its row of that matrix: a few numbers, here two, at first random.</p>
<p><em>word2vec</em> trains that matrix to predict the words next to a word. Its text here has 28 words: “the cat drank milk the dog drank water the king ruled land …”. “cat” and “dog” have the same neighbors, so the same numbers are right for both. Their cosine was ${number(n.cosines[0])}; after ${state.steps} steps it is <b>${number(n.cosines[1])}</b>. <b>Move the slider</b> and watch them move together.</p>
<p>Now a word that asks with its own arrow finds words like it: “${n.words[state.word]}” gives ${percent(n.shares[ordered(n)[0]])} to “${n.words[ordered(n)[0]]}” and ${percent(n.shares[ordered(n)[1]])} to “${n.words[ordered(n)[1]]}”. But each word has one arrow, whatever the sentence: that is what attention changes.</p>`,
    },
  ],
  picture,
  label: ({ numbers: n }) =>
    `A plane with a query at ${number(n.query[0])}, ${number(n.query[1])} and five keys. Shares: ${n.words.map((word, j) => `${word} ${percent(n.shares[j])}`).join(", ")}.`,
  caption: ({ numbers: n, state }) => {
    const [a, b] = ordered(n);
    return html`${state.mode === "free" ? "The query" : html`The query of “${n.words[state.word]}”`} gives ${percent(n.shares[a])} to “${n.words[a]}” (score ${number(n.scores[a])}) and ${percent(n.shares[b])} to “${n.words[b]}” (${number(n.scores[b])}).`;
  },
  control: ({ state, numbers: n }) =>
    state.mode === "trained"
      ? html`<label>steps ${slider("Steps of word2vec", { min: 0, max: STEPS, step: 1, value: state.steps }, state.steps, "steps")}</label>`
      : html`<span class="wide-only">Drag the <b class="q">query</b>${state.mode === "free" ? html` or a <b class="k">key</b>` : ""}, or use the arrow keys on it.</span>
${
  state.mode === "same"
    ? html`<span class="narrow-only">Press a word to let it ask.</span>`
    : html`<label class="narrow-only">turn <input type="range" min="-180" max="180" step="1" value="${Math.round(direction(n.query))}" data-act="turn" aria-label="Direction of the query in degrees"><output>${Math.round(direction(n.query))}°</output></label>`
}`,
  more: ({ state }) => html`${choice("", MODES, state.mode, "mode")}
${check("output", state.output, "output")}${state.mode === "trained" ? throwControl(state.seed) : ""}`,
  actions: {
    throw: throwAgain,
    turn: ({ state, numbers: n }, _, value) => {
      const [angle, length] = [(Number(value) * Math.PI) / 180, Math.hypot(state.x, state.y)];
      return moved(state, n, [length * Math.cos(angle), length * Math.sin(angle)]);
    },
  },
  drags: {
    key: {
      move: ({ state, wide }, at, point) => {
        const { x, y } = planeAt(wide);
        return { keys: withKey(state, Number(at), [x.invert(point.x), y.invert(point.y)]) };
      },
      key: ({ state, numbers: { keys } }, at, dx, dy) => {
        const [kx, ky] = keys[Number(at)];
        return { keys: withKey(state, Number(at), [kx + dx * 0.05, ky + dy * 0.05]) };
      },
    },
    query: {
      move: ({ state, numbers, wide }, _, point) => {
        const { x, y } = planeAt(wide);
        return moved(state, numbers, [x.invert(point.x), y.invert(point.y)]);
      },
      key: ({ state, numbers }, _, dx, dy) =>
        state.mode === "turned"
          ? { angle: state.angle + dx + dy }
          : moved(state, numbers, [state.x + dx * 0.05, state.y + dy * 0.05]),
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
    highlight: ({ state }) =>
      state.output
        ? ["output, weights }", "output = weights"]
        : ["scaledDotProductAttention(", "scores = keys"],
    names: { query: "query", keys: "keys", scores: "scores", weights: "shares", output: "output" },
  },
  table: ({ numbers: n }) => ({
    caption: `Query (${n.query.join(", ")}), output (${n.output.map(tidy).join(", ")})`,
    columns: ["word", "key", "q·k", "÷ √2", "share"],
    rows: n.words.map((word, j) => [
      word,
      n.keys[j].join(", "),
      ...[n.dots[j], n.scores[j], n.shares[j]].map(tidy),
    ]),
  }),
  tasks: [
    {
      text: "Find a query for which two words have nearly the same share (less than 2 points apart), each more than 35 %.",
      reached: ({ state, numbers: n }) => {
        if (state.mode === "trained") return false;
        const [a, b] = ordered(n);
        const isEnough = n.shares[b] > 0.35;
        if (n.shares[a] - n.shares[b] < 0.02)
          return isEnough || "Level, but each has too little: a longer query is stricter.";
        return isEnough && "Both have enough. Turn the query a little toward the one with less.";
      },
    },
    {
      text: `With Q = X·W, turn the query of the word at the bottom until it gives the word on the upper left more than 60 %.`,
      reached: ({ state, numbers: n }) =>
        state.mode === "turned" &&
        (state.word !== IT
          ? "The query of another word turns now: press the word at the bottom."
          : n.shares[1] > 0.6 || (n.shares[1] > 0.4 && "That is the direction: turn on.")),
    },
  ],
  sentence: (ownText) => ({ ownText }),
  carry: ({ ownText }) => ({ ownText }),
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
    text: "See a head that has turned its questions: “it” gives “cat” the most of all words",
    address: "tired-cat.html#v1/head?l=3&h=1&i=8&j=2&at=8.2",
  },
});
