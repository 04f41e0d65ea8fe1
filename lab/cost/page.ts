/** Cost: work against the number of words on fixed axes, bytes as areas, and the time of this machine, guessed and measured. */
import { choice, clamp, clampInteger } from "../frame/controls.ts";
import { html, type Markup } from "../frame/markup.ts";
import type { Page, View } from "../frame/page.ts";
import { draggable, label, line, mark, named } from "../frame/svg.ts";
import { byteCount, count, number, superscript } from "../frame/words.ts";
import type { Cost, CostNumbers } from "./compute.ts";
import { HEADS, LARGE, LAYERS, WIDTH } from "./sizes.ts";

type PageView = View<Cost, CostNumbers>;

const [LOWEST, HIGHEST] = [4, 20];
/** Powers of ten at the ends of the two axes: operations, and milliseconds. */
const AXES = { work: [4, 16], time: [-3, 5] } as const;

export const initial: Cost = { power: 15, show: "work", one: false, run: 0, ghost: 0, guess1: -1 };

const wordsOf = (n: number) => n.toLocaleString("en-US");
/** Milliseconds as people say them. */
const timeText = (ms: number) => (ms >= 1000 ? `${number(ms / 1000)} s` : `${number(ms)} ms`);

/** The plot, and its scales. */
function scales({ state, wide }: PageView) {
  const [x0, x1, y0, y1] = wide ? [58, 440, 56, 480] : [44, 356, 28, 262];
  const axis = state.show === "time" ? AXES.time : AXES.work;
  return {
    x0,
    x1,
    y0,
    y1,
    axis,
    x: (n: number) => x0 + ((Math.log2(n) - LOWEST) / (HIGHEST - LOWEST)) * (x1 - x0),
    y: (value: number) =>
      Math.min(y1, Math.max(y0, y1 - ((Math.log10(value) - axis[0]) / (axis[1] - axis[0])) * (y1 - y0))),
    powerAt: (x: number) => LOWEST + ((x - x0) / (x1 - x0)) * (HIGHEST - LOWEST),
    valueAt: (y: number) => 10 ** (axis[0] + ((y1 - y) / (y1 - y0)) * (axis[1] - axis[0])),
  };
}

function axes(view: PageView): string {
  const { x0, x1, y0, y1, axis, x } = scales(view);
  const { wide, state } = view;
  const marks: number[] = [];
  for (let power = axis[0]; power <= axis[1]; power += state.show === "time" ? 1 : 2) marks.push(power);
  const title =
    state.show === "time" ? "milliseconds of one head, on this machine" : "multiplications and additions";
  return [
    label(x0 - (wide ? 44 : 36), y0 - (wide ? 22 : 14), title, { class: `second ${wide ? "s12" : "s11"}` }),
    ...marks.map((power) => {
      const y = y1 - ((power - axis[0]) / (axis[1] - axis[0])) * (y1 - y0);
      const text =
        state.show === "time" && Math.abs(power) <= 3
          ? (10 ** power).toLocaleString("en-US", { maximumFractionDigits: 3 })
          : `10${superscript(power)}`;
      return line(x0, y, x1, y, "lline") + label(x0 - 6, y + 4, text, { class: "end third s11" });
    }),
    ...[4, 8, 12, 16, 20].map((power) =>
      label(
        x(2 ** power),
        y1 + 16,
        power === 20 ? "1 million" : power === 16 ? "65,536" : wordsOf(2 ** power),
        { class: `${power === 20 ? "end" : "mid"} third s11` },
      ),
    ),
    label(x1, y1 + (wide ? 34 : 30), "words", { class: "end second s11" }),
  ].join("");
}

function work(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const at = scales(view);
  const path = (of: "attention" | "projections" | "one") =>
    `M${n.curve.map((point) => `${at.x(point.n).toFixed(1)} ${at.y(point[of]).toFixed(1)}`).join("L")}`;
  const last = n.curve[n.curve.length - 1];
  const shown = state.one ? "one" : "attention";
  const x = at.x(n.now.n);
  const flip = x > at.x0 + 0.55 * (at.x1 - at.x0);
  const parts = [
    axes(view),
    named("projections", mark("path", { d: path("projections"), class: "lthird" })),
    named(
      "attention",
      mark("path", { d: path("attention"), class: state.one ? "lw thin dash" : "lw" }) +
        (state.one ? mark("path", { d: path("one"), class: "lk" }) : ""),
    ),
    label(at.x1 - 4, at.y(last.attention) - 6, "attention", { class: "end tw bold s12 halo" }),
    label(at.x1 - 4, at.y(last.projections) + 18, "projections", { class: "end second s12 halo" }),
    state.one ? label(at.x1 - 4, at.y(last.one) + 18, "one new word", { class: "end tk bold s12 halo" }) : "",
    mark("circle", {
      cx: at.x(n.even),
      cy: at.y(n.curve[7].projections * (n.even / n.curve[7].n)),
      r: 4,
      class: "link",
    }),
    label(
      at.x(n.even) - 8,
      at.y(n.curve[7].projections * (n.even / n.curve[7].n)) - 8,
      `equal at ${wordsOf(n.even)}`,
      { class: "end s11 halo" },
    ),
    draggable(
      "n",
      "Number of words",
      { now: n.now.n, min: 2 ** LOWEST, max: 2 ** HIGHEST, text: `${wordsOf(n.now.n)} words` },
      mark("rect", { x: x - 12, y: at.y0, width: 24, height: at.y1 - at.y0, class: "hit" }) +
        line(x, at.y0, x, at.y1, "lthird") +
        mark("circle", { cx: x, cy: at.y(n.now[shown]), r: 7, class: `${state.one ? "fk" : "fw"} grip` }),
    ),
    label(x + (flip ? -12 : 12), at.y0 + 14, `n = ${wordsOf(n.now.n)}`, {
      class: `bold halo ${flip ? "end" : ""} ${wide ? "" : "s12"}`,
    }),
  ];
  return parts.join("");
}

const took = (n: CostNumbers, words: number) => n.measured.find(([size]) => size === words)?.[1];

/** Where the ring of the guess is: at first as if time grew like the words. */
const ghostOf = ({ state, numbers: n }: PageView) =>
  state.ghost > 0 ? state.ghost : (took(n, 512) ?? 1) * (LARGE / 512);

function time(view: PageView): string {
  const { numbers: n, wide } = view;
  const at = scales(view);
  const parts = [axes(view)];
  if (n.measured.length === 0)
    parts.push(
      label((at.x0 + at.x1) / 2, (at.y0 + at.y1) / 2, "Press Measure", { class: "mid second s15 halo" }),
    );
  const dots = n.measured.map(([size, ms]) =>
    mark("circle", { cx: at.x(size), cy: at.y(ms), r: 5, class: size === LARGE ? "fw" : "fthird" }),
  );
  parts.push(named("time", dots.join("")));
  for (const size of [512, LARGE]) {
    const ms = took(n, size);
    if (ms === undefined) continue;
    parts.push(
      label(at.x(size) + 9, at.y(ms) + 14, `${wordsOf(size)}: ${timeText(ms)}`, {
        class: `halo ${size === LARGE ? "tw bold" : "second"} ${wide ? "s12" : "s11"}`,
      }),
    );
  }
  if (took(n, 1024) !== undefined) {
    const guess = ghostOf(view);
    const ring = mark("circle", { cx: at.x(LARGE), cy: at.y(guess), r: 8, class: "none lk" });
    const text = label(at.x(LARGE) - 13, at.y(guess) + 4, `your guess: ${timeText(guess)}`, {
      class: `end tk bold halo ${wide ? "s12" : "s11"}`,
    });
    parts.push(
      took(n, LARGE) === undefined
        ? draggable(
            "ghost",
            "Your guess of the time at 4,096 words",
            { now: Number(guess.toPrecision(3)), min: 0.001, max: 1e5, text: timeText(guess) },
            mark("rect", { x: at.x(LARGE) - 14, y: at.y0, width: 28, height: at.y1 - at.y0, class: "hit" }) +
              line(at.x(LARGE), at.y0, at.x(LARGE), at.y1, "lline dash") +
              ring +
              mark("circle", { cx: at.x(LARGE), cy: at.y(guess), r: 8, class: "fpaper soft grip" }),
          ) + text
        : ring + text,
    );
  }
  return parts.join("");
}

/** Where the areas are: the side of a frame, the left edges of both, their base, and the ends of the picture. */
const memoryAt = (wide: boolean) =>
  wide
    ? { frame: 112, left: 500, right: 640, base: 480, top: 44, end: 856 }
    : { frame: 80, left: 20, right: 138, base: 252, top: 34, end: 372 };

/** Bytes as areas. A frame is 2 GiB. */
function memory(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const at = memoryAt(wide);
  const { frame, base } = at;
  const share = (bytes: number) => bytes / 2 ** 31;
  const small = wide ? "s12" : "s11";
  const most = base - at.top;
  // The square of the weights: from its corner to where the picture ends.
  const weights = state.one ? n.newWord.weights : n.weights;
  const exact = frame * Math.sqrt(share(weights));
  const [w, h] = [Math.min(exact, at.end - at.right), Math.min(exact, most)];
  const cut = exact > w || exact > h;
  const parts = [
    label(at.left, at.top - (wide ? 10 : 16), "bytes as areas; a dashed frame is 2 GiB", {
      class: `second ${small}`,
    }),
    named(
      "scores",
      mark("rect", { x: at.right, y: base - h, width: w, height: h, class: "fw soft" }) +
        line(at.right, base, at.right, base - h, "lw") +
        line(at.right, base, at.right + w, base, "lw") +
        (exact <= w ? line(at.right + w, base, at.right + w, base - h, "lw") : "") +
        (exact <= h ? line(at.right, base - h, at.right + w, base - h, "lw") : ""),
    ),
  ];
  // What streaming attention has: its tensors, and a strip of working memory.
  const area = (bytes: number) => {
    const s = share(bytes);
    return s <= 1 ? { width: frame * s, height: frame } : { width: frame, height: Math.min(most, frame * s) };
  };
  const kept = state.one ? n.cache : n.tensors;
  const box = area(kept);
  const workspace = state.one ? n.newWord.workspace : n.workspace;
  const strip = Math.max(1.5, frame * share(workspace));
  parts.push(
    named(
      "kept",
      mark("rect", {
        x: at.left,
        y: base - box.height,
        width: Math.max(0.5, box.width),
        height: box.height,
        class: state.one ? "fk soft" : "fq soft",
      }),
    ),
    named(
      "workspace",
      mark("rect", { x: at.left + box.width + 2, y: base - frame, width: strip, height: frame, class: "fw" }),
    ),
    label(at.left, base - Math.max(box.height, frame) - 10, byteCount(kept), {
      class: `bold halo ${state.one ? "tk" : "tq"} ${small}`,
    }),
    label(at.left, base + 16, state.one ? "keys and values" : "Q, K, V, output", {
      class: `second ${small}`,
    }),
    label(at.left, base + (wide ? 32 : 30), `+ ${byteCount(workspace)} to work in`, {
      class: `tw ${small}`,
    }),
    // Below the areas, where no guess is.
    label(at.right, base + 16, state.one ? "S of the new word" : "S, if all of it is kept", {
      class: `second ${small}`,
    }),
    label(at.right, base + (wide ? 32 : 30), `${byteCount(weights)}${cut ? ", more than this" : ""}`, {
      class: `tw bold ${small}`,
    }),
    ...[at.left, at.right].map((x) =>
      mark("rect", { x, y: base - frame, width: frame, height: frame, class: "none lsecond dash" }),
    ),
  );
  return parts.join("");
}

/** How a time grows: the exponent between 256 and 1,024 words. */
const exponent = (n: CostNumbers) => Math.log2(took(n, 1024)! / took(n, 256)!) / 2;

export const page: Page<Cost, CostNumbers> = {
  name: "cost",
  title: "Cost",
  point:
    "Twice as many words mean four times the work, because every word is compared with every word. Memory does not have to grow like that: scores can be computed, used and discarded one tile at a time.",
  initial,
  check: (state) => ({
    ...state,
    power: Math.round(clamp(state.power, LOWEST, HIGHEST) * 1e4) / 1e4,
    show: ["work", "time", "memory"].includes(state.show) ? state.show : "work",
    run: clampInteger(state.run, 0, 2),
    ghost: state.ghost > 0 ? Number(clamp(state.ghost, 0.001, 1e5).toPrecision(4)) : 0,
  }),
  steps: [
    {
      title: "Every word is compared with every word",
      state: {},
      text: ({
        numbers: n,
      }) => html`<p>This is one layer of a small model: ${HEADS} heads of ${WIDTH} numbers. Both axes are logarithmic: equal steps are equal <em>factors</em>.</p>
<p>Attention compares each of n words with n words. At ${wordsOf(n.now.n)} words that is <b>${count(n.now.attention)}</b> multiplications and additions. Twice the words are four times the work. From one label of the axis to the next are 16 times the words, and 16 · 16 = 256 times the work.</p>
<p>The squares show memory<span class="narrow-only">: press <b>memory</b></span>. All weights of this layer at once would be <b>${byteCount(n.weights)}</b>. In a browser, one array can have about 2 GiB.</p>
<p><b>Drag the line</b> with the dot, from 16 words to a million.</p>`,
    },
    {
      title: "Where the square is full",
      state: { power: 12, show: "memory" },
      text: () =>
        html`<p>A weight takes 4 bytes, and there are n · n of them in each of ${HEADS} heads. The dashed frame is 2 GiB, 2,147 million bytes.</p>`,
      predict: {
        question: "How many words fill the frame?",
        min: 500,
        max: 20_000,
        step: 100,
        start: 15_000,
        unit: " words",
        said: wordsOf,
        show: { power: Math.log2(6689), show: "memory" },
        mark: (guess, { numbers: n, wide }) => {
          const at = memoryAt(wide);
          // All weights of as many words as guessed: a full frame at `full`.
          const side = (at.frame * guess) / n.full;
          const [w, h] = [Math.min(side, at.end - at.right), Math.min(side, at.base - at.top)];
          const [right, top] = [at.right + w, at.base - h];
          return (
            (side === w ? line(right, at.base, right, top, "lk") : "") +
            (side === h ? line(at.right, top, right, top, "lk") : "") +
            // At an edge that is drawn, if there is one.
            (side > w && side > h
              ? label(right, top + 14, "your guess: larger than the picture", { class: "end tk bold s11" })
              : label(
                  Math.max(right - 32, at.right + 30),
                  side === w ? at.base - 6 : top + 14,
                  "your guess",
                  {
                    class: "mid tk bold s11 halo",
                  },
                ))
          );
        },
        result: ({ numbers: n }) =>
          html`It is full at <b>${wordsOf(n.full)}</b>, a chapter of a book. Twice as many words, ${wordsOf(2 * n.full)}, would fill four frames.`,
      },
    },
    {
      title: "The scores need not be kept",
      state: { power: 17, show: "memory" },
      text: ({
        numbers: n,
      }) => html`<p>The output needs each weight once. So heed computes a tile of scores, a few dozen rows and columns, uses it, and writes the next tile over it. Softmax only has to keep a running maximum and a running sum for each row (the page on variants shows how).</p>
<p>At ${wordsOf(n.now.n)} words the result is the same, to rounding. The work is the same. But beyond queries, keys, values and output it takes <b>${byteCount(n.workspace)}</b>: the thin strip. A longer text does not make it wider.</p>
<p>This is the idea of FlashAttention: not fewer operations, but no square in memory.</p>`,
    },
    {
      title: "Is attention the expensive part?",
      state: { power: Math.log2(1536) },
      text: ({
        numbers: n,
      }) => html`<p>For short texts it is not. Four matrices make queries, keys, values and the output from each word (the gray line). Write d for the ${HEADS * WIDTH} numbers of a word, and count:</p>
<p class="formula"><math><munder><mrow><mn>4</mn><msup><mi>n</mi><mn>2</mn></msup><mi>d</mi></mrow><mtext>attention</mtext></munder><mo>=</mo><munder><mrow><mn>8</mn><mi>n</mi><msup><mi>d</mi><mn>2</mn></msup></mrow><mtext>projections</mtext></munder><mspace width="1em"></mspace><mo>⇔</mo><mspace width="1em"></mspace><mi>n</mi><mo>=</mo><mn>2</mn><mi>d</mi></math></p>
<p>Here that is <b>${wordsOf(n.even)}</b> words. Now, at ${wordsOf(n.now.n)}, attention takes ${n.now.attention === n.now.projections ? "exactly as much as" : `${number(n.now.attention / n.now.projections)} times`} the projections. In a wider model the two are equal at an even longer text.</p>`,
    },
    {
      title: "On your machine",
      state: { show: "time", power: 12 },
      text: ({
        numbers: n,
        state,
      }) => html`<p>Counts are not seconds. Press <b>Measure</b>: one head on 64 to 1,024 words, in this page. ${n.measured.length > 0 ? html`512 words took <b>${timeText(took(n, 512) ?? Number.NaN)}</b>.` : ""}</p>
<p>Then <b>drag the ring</b> to the time that you expect for 4,096 words, eight times as many, and press <b>Run 4,096</b>.</p>
${took(n, LARGE) !== undefined && html`<p class="said">You said ${timeText(ghostOf({ state, numbers: n, wide: true, used: true }))}. It took <b>${timeText(took(n, LARGE)!)}</b>, ${number(took(n, LARGE)! / took(n, 512)!)} times as long as 512 words. Eight times the words, and about 8 · 8 = 64 times the time. From 256 to 1,024 the time grew like n to the power of ${number(exponent(n))}; small calls have a fixed part that hides the square.</p>`}`,
    },
    {
      title: "One word at a time",
      state: { one: true },
      text: ({
        numbers: n,
      }) => html`<p>A model that writes text adds one word at a time. Only the new word has a query, and it is compared with the ${wordsOf(n.now.n)} keys so far. One new word takes ${count(n.now.one)} operations. After twice as many words, the next one takes twice the work: its line is parallel to that of the projections.</p>
<p>The price is memory of another kind. Keys and values of all words stay, in each of ${LAYERS} layers: <b>${byteCount(n.cache)}</b> in float16. That is the <em>KV cache</em>, and on long texts it fills the memory of a machine. Heads that share keys and values make it smaller.</p>`,
    },
  ],
  picture: (view) =>
    view.wide
      ? (view.state.show === "time" ? time(view) : work(view)) + memory(view)
      : view.state.show === "memory"
        ? memory(view)
        : view.state.show === "time"
          ? time(view)
          : work(view),
  label: ({ numbers: n, state }) =>
    state.show === "time"
      ? `Time against the number of words. ${n.measured.length === 0 ? "Nothing is measured yet." : n.measured.map(([size, ms]) => `${size} words: ${timeText(ms)}`).join(", ")}`
      : `Work against the number of words. At ${wordsOf(n.now.n)} words attention takes ${count(n.now.attention)} operations, the projections ${count(n.now.projections)}; all weights would take ${byteCount(n.weights)}.`,
  caption: ({ numbers: n, state }): Markup => {
    if (state.show === "time") {
      const [small, large] = [took(n, 512), took(n, LARGE)];
      if (small === undefined) return html`Nothing is measured yet.`;
      if (large === undefined)
        return html`512 words took <b>${timeText(small)}</b>. Drag the ring to your guess for 4,096, then press Run.`;
      return html`4,096 words took <b>${timeText(large)}</b>, ${number(large / small)} times as long as 512. Your guess was ${timeText(ghostOf({ state, numbers: n, wide: true, used: true }))}.`;
    }
    if (state.one)
      return html`One new word after ${wordsOf(n.now.n)}: ${count(n.now.one)} operations, and a cache of <b>${byteCount(n.cache)}</b> in ${LAYERS} layers.`;
    return html`${wordsOf(n.now.n)} words: attention takes ${count(n.now.attention)} operations, the projections ${count(n.now.projections)}. All weights at once would be <b>${byteCount(n.weights)}</b>${n.weights > 1.01 * 2 ** 31 ? html`, ${number(n.weights / 2 ** 31)} frames` : ""}.`;
  },
  control: ({ state, numbers: n }) => {
    if (state.show === "time")
      return html`${took(n, LARGE) === undefined && html`<button type="button" data-act="run:${n.measured.length >= 5 ? 2 : 1}">${n.measured.length >= 5 ? "Run 4,096" : "Measure"}</button>`}
${n.measured.length > 0 && html`<button type="button" class="quiet" data-act="again">Measure again</button>`}<button type="button" class="quiet" data-act="show:work">Work</button>`;
    return html`<label><span class="wide-only">words</span> <input type="range" min="4" max="20" step="0.0625" value="${state.power}" data-act="power" aria-label="Number of words" aria-valuetext="${wordsOf(n.now.n)}"><output>${wordsOf(n.now.n)}</output></label>
${choice(
  "show",
  [
    ["work", "work"],
    ["memory", "memory"],
  ],
  state.show,
  "narrow-only",
)}`;
  },
  more: ({ state }) =>
    state.show !== "time" &&
    html`${choice(
      "one",
      [
        ["all", "all words at once"],
        ["one", "one at a time"],
      ],
      state.one ? "one" : "all",
    )}<button type="button" data-act="show:time">Time it here</button>`,
  actions: {
    power: (_, __, value) => ({ power: Number(value) }),
    show: (_, show) => ({ show }),
    one: (_, name) => ({ one: name === "one" }),
    run: ({ numbers: n, state }, run) => ({
      show: "time",
      run: Number(run),
      ...(Number(run) === 2 && state.ghost === 0 && { ghost: took(n, 512)! * (LARGE / 512) }),
    }),
    again: () => ({ show: "time", run: 0, ghost: 0 }),
  },
  drags: {
    n: {
      move: (view, _, { x }) => ({ power: scales(view).powerAt(x) }),
      key: ({ state }, _, dx, dy) => ({ power: state.power + (dx + dy) * 0.125 }),
    },
    ghost: {
      move: (view, _, { y }) => ({ ghost: scales(view).valueAt(y) }),
      key: (view, _, dx, dy) => ({ ghost: ghostOf(view) * 1.05 ** (dx + dy) }),
    },
  },
  code: {
    typescript: ({ numbers: n }) => `import { explain, explainMatmul } from "heed";

const [heads, n, d] = [${HEADS}, ${n.now.n}, ${WIDTH}];

// Tensors without their memory: one number, read
// everywhere. A plan needs their shapes only.
const sized = (...shape) => ({
  shape, strides: shape.map(() => 0),
  data: new Float32Array(1), dtype: "float32" });

const x = sized(heads, n, d);
const plan = explain(x, x, x);
const words = sized(n, heads * d);
const matrix = sized(heads * d, heads * d);
const projection = explainMatmul(words, matrix);

console.log(plan.operations);
console.log(4 * projection.operations);
console.log(plan.weightsBytes);`,
    python: ({ numbers: n }) => `import numpy as np

heads, n, d = ${HEADS}, ${n.now.n}, ${WIDTH}

# (a, b) times (b, c): a·b·c multiplications and as
# many additions.
def product(a, b, c):
    return 2 * a * b * c

scores = heads * product(n, d, n)
outputs = heads * product(n, n, d)
matrix = product(n, heads * d, heads * d)
size = np.dtype(np.float32).itemsize

print(scores + outputs)
print(4 * matrix)
print(heads * n * n * size)`,
    printed: ({ numbers: n }) => [n.now.attention, n.now.projections, n.weights].join("\n"),
    lit: ({ state }) =>
      state.show === "memory"
        ? ["plan.weightsBytes", "heads * n * n * size"]
        : ["const plan = explain", "scores = heads * product"],
    names: {
      plan: "attention",
      scores: "attention",
      outputs: "attention",
      weightsBytes: "scores",
      projection: "projections",
      matrix: "projections",
    },
  },
  table: ({ numbers: n }) => ({
    caption: "Multiplications and additions of a layer, and what was measured of one head",
    columns: ["words", "attention", "projections", "one new word", "milliseconds"],
    rows: [
      ...n.curve.map((point) => [
        wordsOf(point.n),
        point.attention,
        point.projections,
        point.one,
        took(n, point.n) === undefined ? "not measured" : Number(took(n, point.n)!.toPrecision(3)),
      ]),
      [`now: ${wordsOf(n.now.n)}`, n.now.attention, n.now.projections, n.now.one, ""],
      ["bytes of all weights", n.weights, "", "", ""],
      ["bytes of Q, K, V, output", n.tensors, "", "", ""],
      ["bytes of the cache", n.cache, "", "", ""],
      ["bytes to work in", n.workspace, "", "", ""],
      ["bytes of a new word’s weights", n.newWord.weights, "", "", ""],
      ["bytes to work in for a new word", n.newWord.workspace, "", "", ""],
    ],
  }),
  tasks: [
    {
      text: "Find the longest text whose weights, all at once, still fit into half of the frame: between 0.9 and 1 GiB.",
      done: ({ numbers: n, state }) =>
        state.show !== "time" && !state.one && n.weights >= 0.9 * 2 ** 30 && n.weights <= 2 ** 30,
    },
    {
      text: "Measure, and guess the time of 4,096 words to within a third before you run it.",
      done: (view) => {
        const large = took(view.numbers, LARGE);
        return (
          large !== undefined &&
          view.state.ghost > 0 &&
          Math.abs(Math.log(view.state.ghost / large)) < Math.log(4 / 3)
        );
      },
    },
  ],
  recall: [
    [
      "1,000 words take 10 milliseconds. How long do 3,000 words take, and how much more memory does heed need?",
      "About nine times as long, 90 milliseconds. Queries, keys, values and output are three times as large; its working memory does not grow.",
    ],
    [
      "Below which length is attention not the expensive part of a layer?",
      "Below n = 2·d, twice the numbers of a word. There the four projections, which grow with n only, take more.",
    ],
  ],
  limits:
    "Operations are not time: memory, threads and the processor decide how many are done in a second, a layer has other costly parts, and a time measured here says nothing about another machine.",
  trained: {
    text: "See a real row of weights, of the kind that is computed and discarded",
    address: "tired-cat.html#v1/row?l=3&h=1&i=8&j=2",
  },
};
