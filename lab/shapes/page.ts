/** Shapes: boxes to scale whose edges can be pulled. Boxes that share an edge stretch together; those that do not fit are refused. */
import { checkbox, choice, clamp } from "../frame/controls.ts";
import { html, type Markup } from "../frame/markup.ts";
import type { Gesture, Page, Point, View } from "../frame/page.ts";
import { guessText, label, line, mark, named } from "../frame/svg.ts";
import { byteCount, count } from "../frame/words.ts";
import type { Shapes, ShapesNumbers } from "./compute.ts";

type PageView = View<Shapes, ShapesNumbers>;
/** Sizes that can be pulled. */
type Size = "b" | "h" | "n" | "m" | "dk" | "dv" | "kd" | "d";

/** Smallest and largest of each size. */
const RANGE: Readonly<Record<Size, readonly [number, number]>> = {
  b: [1, 32],
  h: [1, 16],
  n: [1, 40],
  m: [1, 40],
  dk: [1, 128],
  dv: [1, 128],
  kd: [1, 128],
  d: [8, 96],
};
/** What does not fit, and its button. */
const WRONG_NAMES = [
  ["", "fits"],
  ["key", "keys too short"],
  ["value", "V transposed"],
  ["axes", "axes swapped"],
] as const;

/** What is shown, and its button. */
const VIEW_NAMES = [
  ["call", "one call"],
  ["layer", "a layer"],
] as const;

export const initial: Shapes = {
  view: "call",
  b: 32,
  h: 1,
  n: 10,
  m: 10,
  dk: 64,
  dv: 64,
  self: true,
  wrong: "",
  kd: 48,
  d: 64,
  guess1: -1,
  guess5: -1,
};

const inRange = (size: Size, value: number) => clamp(Math.round(value), ...RANGE[size]);

/** A shape as the languages print it. */
const tuple = (shape: readonly number[]) => `(${shape.join(", ")})`;
const cells = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

/** Where things are: one unit is `u` wide in both directions. Rows begin at `row`, what is above them ends at `above`. */
const callAt = (wide: boolean) =>
  wide
    ? { u: 2.2, qRight: 326, sLeft: 362, oLeft: 520, row: 336, above: 302 }
    : { u: 1, qRight: 148, sLeft: 166, oLeft: 232, row: 178, above: 160 };
const layerAt = (wide: boolean) =>
  wide
    ? { u: 1.3, xRight: 158, left: 172, gap: 6, oLeft: 580, yLeft: 722, row: 236, above: 212, heads: 330 }
    : { u: 0.52, xRight: 58, left: 72, gap: 3, oLeft: 240, yLeft: 306, row: 92, above: 80, heads: 138 };

/** The words of the sentences in the prediction, and the largest guess: how many times as many numbers. */
const LONG = 40;
const LARGEST_GUESS = 40;
/** Side of a square with `times` as many numbers as S has at first. */
const guessSide = (times: number, u: number) => initial.n * Math.sqrt(times) * u;
/** Whether a guess is in the picture: it has the place of the label of S. */
const isGuessed = ({ guess1, n, m, wrong }: Shapes) =>
  guess1 >= 0 && n === LONG && m === LONG && wrong === "";

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A box, as the first of a stack of cards; `color` is q, k, v, w or b, and b is what does not fit. */
function stacked(box: Box, color: string, cards: number): string {
  const extra = Math.min(4, cards - 1);
  const parts: string[] = [];
  for (let i = extra; i > 0; i--)
    parts.push(
      mark("rect", { ...box, x: box.x + 3 * i, y: box.y - 3 * i, class: `fpaper l${color} thin`, rx: 1 }),
    );
  parts.push(mark("rect", { ...box, class: "fpaper", rx: 1 }));
  parts.push(
    mark("rect", {
      ...box,
      class: color === "b" ? "none lb dash" : `f${color} soft l${color} thin`,
      rx: 1,
    }),
  );
  return parts.join("");
}

/**
 * An edge that can be pulled. `name` is "size:edge"; the first of a size can be reached by keys. `across` is true for edges
 * that move to the left and right.
 */
function edge(
  { state }: PageView,
  name: string,
  at: { readonly x: number; readonly y: number; readonly length: number; readonly across: boolean },
  color: string,
  description?: string,
): string {
  const size = name.slice(0, name.indexOf(":")) as Size;
  const { x, y, length, across } = at;
  const [w, h] = across ? [20, Math.max(20, length)] : [Math.max(20, length), 20];
  const grip = across ? [5, Math.min(26, Math.max(12, length))] : [Math.min(26, Math.max(12, length)), 5];
  return mark(
    "g",
    {
      "data-drag": name,
      class: across ? "drag across" : "drag",
      ...(description !== undefined && {
        "data-key": name,
        tabindex: "0",
        role: "slider",
        "aria-label": description,
        "aria-valuemin": String(RANGE[size][0]),
        "aria-valuemax": String(RANGE[size][1]),
        "aria-valuenow": String(state[size]),
      }),
    },
    mark("rect", {
      x: x - (across ? 10 : (w - length) / 2),
      y: y - (across ? (h - length) / 2 : 10),
      width: w,
      height: h,
      class: "hit",
    }) +
      mark("rect", {
        x: across ? x - 2.5 : x + length / 2 - grip[0] / 2,
        y: across ? y + length / 2 - grip[1] / 2 : y - 2.5,
        width: grip[0],
        height: grip[1],
        rx: 2.5,
        class: `f${color} grip`,
      }),
  );
}

/** A number in a sentence that can be dragged to the left and right. */
function dragNumber(
  { state }: PageView,
  size: "b" | "h",
  x: number,
  y: number,
  unit: string,
  description: string,
): string {
  const text = `${state[size]} ${state[size] === 1 ? unit : `${unit}s`}`;
  const width = text.length * 7 + 16;
  return mark(
    "g",
    {
      "data-drag": `${size}:count`,
      "data-key": `${size}:count`,
      class: "drag across",
      tabindex: "0",
      role: "slider",
      "aria-label": description,
      "aria-valuemin": String(RANGE[size][0]),
      "aria-valuemax": String(RANGE[size][1]),
      "aria-valuenow": String(state[size]),
    },
    mark("rect", { x, y: y - 16, width, height: 24, rx: 6, class: "fhover grip" }) +
      label(x + width / 2, y + 1, text, { class: "mid bold" }) +
      line(x + 8, y + 5, x + width - 8, y + 5, "lsecond dash"),
  );
}

/** Text in lines of at most `most` letters. */
function wrapped(text: string, most: number): string[] {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== "" && last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}

/** What heed says, on a card. */
function message(error: string, wide: boolean): string {
  const lines = wrapped(error, wide ? 106 : 64);
  const [x, step] = wide ? [24, 19] : [6, 13];
  const height = lines.length * step + (wide ? 34 : 18);
  const y = (wide ? 538 : 299) - height;
  return named(
    "error",
    mark("rect", {
      x,
      y,
      width: wide ? 812 : 363,
      height,
      rx: 6,
      class: "none lb",
    }) +
      label(x + 12, y + (wide ? 22 : 13), "heed refuses:", { class: `tb bold ${wide ? "" : "s11"}` }) +
      lines
        .map((text, i) =>
          label(x + 12, y + (wide ? 42 : 25) + i * step, text, { class: wide ? "s12 mono" : "s11" }),
        )
        .join(""),
  );
}

/** Rows and columns of S as the call reads the shapes. */
const readAs = ({ state }: PageView) =>
  state.wrong === "axes"
    ? {
        rows: state.h,
        columns: state.h,
        rowSize: "h" as Size,
        columnSize: "h" as Size,
        cards: state.b * state.n,
      }
    : {
        rows: state.n,
        columns: state.m,
        rowSize: "n" as Size,
        columnSize: "m" as Size,
        cards: state.b * state.h,
      };

function call(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const at = callAt(wide);
  const { u, row, above } = at;
  const { rows, columns, rowSize, columnSize, cards } = readAs(view);
  const [w, h, dk, dv] = [columns * u, rows * u, state.dk * u, state.dv * u];
  const keySize = state.wrong === "key" ? "kd" : "dk";
  const kd = state[keySize] * u;
  const turned = state.wrong === "value";
  const bad = n.error !== "";
  // What does not fit is not docked: it hangs above its place.
  const lift = bad ? (wide ? 12 : 7) : 0;
  const q: Box = { x: at.qRight - dk, y: row, width: dk, height: h };
  const k: Box = {
    x: at.sLeft,
    y: above - kd - (state.wrong === "key" ? lift : 0),
    width: w,
    height: kd,
  };
  const s: Box = { x: at.sLeft, y: row, width: w, height: h };
  const v: Box = {
    x: at.oLeft,
    y: above - (turned ? dv : w) - (turned ? lift : 0),
    width: turned ? w : dv,
    height: turned ? dv : w,
  };
  const o: Box = { x: at.oLeft, y: row, width: v.width, height: h };
  const small = wide ? "s12" : "s11";
  const shape = (text: string, shown: readonly number[]) =>
    wide && shown.length > 0 ? `${text} ${tuple(shown)}` : text;
  const letters: Record<Size, string> = {
    b: "",
    h: "h",
    n: "n",
    m: "m",
    dk: "dₖ",
    dv: "dᵥ",
    kd: "dₖ",
    d: "d",
  };
  const sized = (size: Size) => `${letters[size]} = ${state[size]}`;
  const parts = [
    named(
      "q",
      stacked(q, "q", cards) +
        label(q.x + dk / 2, row + h + (wide ? 20 : 15), shape("Q", n.query), {
          class: `mid tq bold ${small}`,
        }),
    ),
    named(
      "k",
      stacked(k, state.wrong === "key" && bad ? "b" : "k", cards) +
        // A wide K leaves no space beside it on a narrow picture.
        (!wide && w >= 24 && kd >= 16
          ? label(k.x + w / 2, k.y + kd / 2 + 4, "Kᵀ", { class: `mid tk bold ${small}` })
          : label(k.x + w + (wide ? 20 : 16), k.y + kd / 2 + (wide ? 4 : -2), "Kᵀ", {
              class: `tk bold ${small}`,
            })),
    ),
    named(
      "v",
      stacked(v, turned && bad ? "b" : "v", cards) +
        (wide
          ? label(
              Math.min(v.x + v.width / 2, 780),
              above + 15,
              shape(turned ? "V, transposed" : "V", n.value),
              { class: `mid tv bold halo ${small}` },
            )
          : // Beside a tall V are the cards of K.
            v.height >= 16
            ? label(v.x + v.width / 2, v.y + v.height / 2 + 4, "V", { class: `mid tv bold ${small}` })
            : label(v.x - 8, v.y + v.height / 2 + 4, "V", { class: `end tv bold ${small}` })),
    ),
    named(
      "s",
      stacked(s, bad ? "b" : "w", cards) +
        (bad ? label(s.x + w / 2, row + h / 2 + 5, "?", { class: "mid tb bold" }) : "") +
        label(
          s.x + w / 2,
          isGuessed(state)
            ? row + guessSide(LARGEST_GUESS, u) + 33
            : row + h + (wide && !bad ? 40 : wide ? 20 : 15),
          bad ? "S" : shape("S", n.weights),
          {
            class: `mid tw bold ${small}`,
          },
        ),
    ),
    named(
      "o",
      stacked(o, bad ? "b" : "v", cards) +
        label(
          o.x + o.width / 2,
          row + h + (wide ? 20 : 15),
          bad ? "output" : shape(wide ? "output" : "out", n.output),
          {
            class: `mid tv bold ${small}`,
          },
        ),
    ),
    // Sizes at their edges.
    label(q.x - 8, row + h / 2 + 4, sized(rowSize), { class: `end tq ${small}` }),
    label(q.x + dk / 2, row - (wide ? 22 : 16), sized("dk"), { class: `mid ${small}` }),
    label(k.x - 9, k.y + kd / 2 + 4, sized(keySize), { class: `end ${small}` }),
    label(k.x + w / 2, above + (wide ? 14 : 10), wide ? sized(columnSize) : "", {
      class: `mid tk halo ${small}`,
    }),
    wide
      ? label(v.x - 9, v.y + v.height / 2 + 4, turned ? sized("dv") : sized(columnSize), {
          class: `end ${turned ? "tv" : "tk"} ${small}`,
        })
      : label(k.x + w / 2 + 6, Math.max(12, k.y - 17), sized(columnSize), { class: `mid tk ${small}` }),
    label(v.x + v.width / 2 + 6, v.y - (wide ? 20 : 15), turned ? sized(columnSize) : sized("dv"), {
      class: `mid ${turned ? "tk" : "tv"} ${small}`,
    }),
  ];
  const many = state.self ? "words" : "query words";
  parts.push(
    edge(
      view,
      `${rowSize}:rows`,
      { x: q.x, y: row + h, length: dk, across: false },
      "q",
      rowSize === "h" ? "Heads" : `Number of ${many}`,
    ),
    edge(view, `${rowSize}:rows`, { x: s.x, y: row + h, length: w, across: false }, "q"),
    edge(view, `${rowSize}:rows`, { x: o.x, y: row + h, length: o.width, across: false }, "q"),
    edge(view, "dk:q", { x: q.x, y: row, length: h, across: true }, "third", "Numbers of a query and a key"),
    edge(
      view,
      `${keySize}:k`,
      { x: k.x, y: k.y, length: w, across: false },
      "third",
      keySize === "kd" ? "Numbers of a key" : undefined,
    ),
    edge(
      view,
      `${columnSize}:s`,
      { x: s.x + w, y: k.y, length: kd, across: true },
      "k",
      state.self || columnSize === "h" ? undefined : "Number of key words",
    ),
    edge(view, `${columnSize}:s`, { x: s.x + w, y: row, length: h, across: true }, "k"),
    turned
      ? edge(view, "dv:t", { x: v.x, y: v.y, length: v.width, across: false }, "v", "Numbers of a value") +
          edge(view, "m:t", { x: v.x + v.width, y: v.y, length: v.height, across: true }, "k")
      : edge(
          view,
          "dv:v",
          { x: v.x + v.width, y: v.y, length: v.height, across: true },
          "v",
          "Numbers of a value",
        ) +
          edge(view, "dv:v", { x: v.x + v.width, y: row, length: h, across: true }, "v") +
          edge(view, `${columnSize}:v`, { x: v.x, y: v.y, length: v.width, across: false }, "k"),
  );
  // The corner above Q is free: what one card stands for, and what all of them hold.
  const y = wide ? 52 : 22;
  parts.push(
    label(wide ? 24 : 8, y - 28, wide ? "the stack: drag the numbers" : "", { class: `second ${small}` }),
    dragNumber(view, "b", wide ? 24 : 4, y, "sentence", "Sentences"),
    label(wide ? 154 : 110, y, "×", { class: "mid" }),
    state.wrong === "axes"
      ? label(wide ? 170 : 122, y, numberOf(state.n, "word"), { class: "bold" })
      : dragNumber(view, "h", wide ? 170 : 4, wide ? y : y + 28, "head", "Heads"),
  );
  if (!bad && wide)
    parts.push(
      label(24, y + 36, `${numberOf(cards, "card")}, together:`),
      label(24, y + 58, `${cells(n.weights).toLocaleString("en-US")} weights, ${byteCount(n.bytes)} if kept`),
      label(24, y + 80, `${count(n.operations)} multiplications and additions`),
    );
  if (bad) parts.push(message(n.error, wide));
  return parts.join("");
}

function layer(view: PageView): string {
  const { numbers, state, wide } = view;
  const n = numbers.layer;
  const at = layerAt(wide);
  const { u, row, above } = at;
  const bad = n.error !== "";
  const [d, h] = [state.d * u, state.n * u];
  const small = wide ? "s12" : "s11";
  const x: Box = { x: at.xRight - d, y: row, width: d, height: h };
  const parts = [
    named(
      "x",
      stacked(x, "w", 1) +
        label(x.x + d / 2, row + h + (wide ? 22 : 14), "X", { class: `mid bold ${small}` }) +
        label(x.x + d / 2, row - (wide ? 10 : 8), `${state.n} × ${state.d}`, { class: `mid ${small}` }),
    ),
  ];
  const each = d / state.h;
  for (const [i, color] of (["q", "k", "v"] as const).entries()) {
    const left = at.left + i * (d + at.gap);
    const W: Box = { x: left, y: above - d, width: d, height: d };
    const P: Box = { x: left, y: row, width: d, height: h };
    const cuts = Array.from({ length: state.h - 1 }, (_, c) => {
      const at = left + (c + 1) * each;
      return (
        line(at, row, at, row + h, bad ? "lb" : `l${color} thin`) + line(at, above - d, at, above, "lline")
      );
    });
    parts.push(
      named(
        color,
        stacked(W, color, 1) +
          mark(
            "text",
            { x: left + d / 2, y: above - d - (wide ? 10 : 5), class: `mid t${color} bold ${small}` },
            `W<tspan dy="-4" class="s11">${color}</tspan>`,
          ) +
          stacked(P, bad ? "b" : color, 1) +
          cuts.join("") +
          label(left + d / 2, row + h + (wide ? 22 : 14), "QKV"[i], { class: `mid t${color} bold ${small}` }),
      ),
    );
  }
  const O: Box = { x: at.oLeft, y: row, width: d, height: h };
  const Y: Box = { x: at.yLeft, y: row, width: d, height: h };
  const M: Box = { x: at.yLeft, y: above - d, width: d, height: d };
  parts.push(
    named(
      "o",
      stacked(O, bad ? "b" : "v", 1) +
        Array.from({ length: state.h - 1 }, (_, c) =>
          line(O.x + (c + 1) * each, row, O.x + (c + 1) * each, row + h, bad ? "lb" : "lv thin"),
        ).join("") +
        label(O.x + d / 2, row + h + (wide ? 22 : 14), wide ? "the heads’ outputs" : "heads", {
          class: `mid tv bold ${small}`,
        }) +
        stacked(M, "w", 1) +
        label(M.x + d / 2, M.y - (wide ? 10 : 5), "Wᵒ", { class: `mid bold ${small}` }) +
        stacked(Y, bad ? "b" : "w", 1) +
        label(Y.x + d / 2, row + h + (wide ? 22 : 14), "output", { class: `mid bold ${small}` }),
    ),
  );
  // A score matrix for each head.
  const side = state.n * u;
  const step = Math.min((wide ? 660 : 300) / state.h, side + 10);
  if (!bad)
    parts.push(
      named(
        "s",
        Array.from({ length: state.h }, (_, i) =>
          stacked({ x: at.left + i * step, y: at.heads, width: side, height: side }, "w", 1),
        ).join("") +
          label(
            at.left - 8,
            at.heads + side / 2 + 4,
            wide ? `S of ${state.h} ${state.h === 1 ? "head" : "heads"}` : "S",
            {
              class: `end tw bold ${small}`,
            },
          ),
      ),
    );
  parts.push(
    edge(view, "n:x", { x: x.x, y: row + h, length: d, across: false }, "q", "Number of words"),
    edge(view, "d:x", { x: x.x, y: row, length: h, across: true }, "third", "Numbers of a word"),
    edge(view, "h:cut", { x: at.left + each, y: row, length: h, across: true }, "q", "Heads"),
  );
  const y = wide ? 432 : 216;
  if (bad) parts.push(message(n.error, wide));
  else
    parts.push(
      label(
        wide ? 24 : 8,
        y,
        `${state.h} ${state.h === 1 ? "head" : "heads"} of ${n.query[2]} numbers: Q is cut into ${tuple(n.query)}`,
        {
          class: wide ? "s15 bold" : `bold ${small}`,
        },
      ),
      label(
        wide ? 24 : 8,
        y + (wide ? 28 : 20),
        `${n.parameters.toLocaleString("en-US")} parameters in four matrices of ${state.d} × ${state.d}`,
        { class: small === "s12" ? "" : small },
      ),
      label(
        wide ? 24 : 8,
        y + (wide ? 52 : 38),
        `${count(n.operations)} multiplications and additions for this sentence`,
        { class: small === "s12" ? "" : small },
      ),
    );
  return parts.join("");
}

/** A size from where its edge was pulled to. */
function pulled(
  view: PageView,
  size: Size,
  edgeName: string,
  point: Point,
  gesture: Gesture,
): Partial<Shapes> {
  const { state, wide } = view;
  let value: number;
  if (edgeName === "count") {
    if (gesture.first) gesture.memo = { x: point.x, value: state[size] };
    const { x, value: start } = gesture.memo as { x: number; value: number };
    value = start + (point.x - x) / 8;
  } else if (state.view === "layer") {
    const { u, row, xRight, left } = layerAt(wide);
    value =
      edgeName === "cut"
        ? state.d / Math.max(1, (point.x - left) / u)
        : size === "n"
          ? (point.y - row) / u
          : (xRight - point.x) / u;
  } else {
    const { u, qRight, sLeft, oLeft, row, above } = callAt(wide);
    const [across, up] = [(point.x - oLeft) / u, (above - point.y) / u];
    value = {
      rows: (point.y - row) / u,
      q: (qRight - point.x) / u,
      k: up,
      s: (point.x - sLeft) / u,
      v: size === "dv" ? across : up,
      t: size === "dv" ? up : across,
    }[edgeName as "rows" | "q" | "k" | "s" | "v" | "t"];
  }
  return changed(view.state, size, value);
}

/** A size changed, and with it the one that is the same edge. */
function changed(state: Shapes, size: Size, asked: number): Partial<Shapes> {
  const value = inRange(size, asked);
  return state.self && (size === "n" || size === "m") ? { n: value, m: value } : { [size]: value };
}

const pull = (size: Size) => ({
  move: (view: PageView, name: string, point: Point, gesture: Gesture) =>
    pulled(view, size, name, point, gesture),
  key: ({ state }: PageView, _: string, dx: number, dy: number) =>
    changed(state, size, state[size] + dx + dy),
});

const numberOf = (value: number, unit: string) => `${value} ${value === 1 ? unit : `${unit}s`}`;

export const page: Page<Shapes, ShapesNumbers> = {
  name: "shapes",
  title: "Shapes",
  point:
    "Two boxes can be multiplied if they share an edge. If you know the edges, you know every shape, its cost, and where a program breaks.",
  initial,
  check: (state) => {
    const n = inRange("n", state.n);
    return {
      ...state,
      view: state.view === "layer" ? "layer" : "call",
      wrong: WRONG_NAMES.some(([name]) => name === state.wrong) ? state.wrong : "",
      b: inRange("b", state.b),
      h: inRange("h", state.h),
      n,
      m: state.self ? n : inRange("m", state.m),
      dk: inRange("dk", state.dk),
      dv: inRange("dv", state.dv),
      kd: inRange("kd", state.kd),
      d: inRange("d", state.d),
    };
  },
  steps: [
    {
      title: "Many sentences at once",
      state: {},
      text: ({
        numbers: n,
        state,
      }) => html`<p>A <em>shape</em> says how many numbers an array has along each edge. ${tuple(n.query)} is ${numberOf(state.b, "sentence")}, ${numberOf(state.n, "word")} in each, and ${numberOf(state.dk, "number")} for each word.</p>
<p>Every box is drawn to scale, and each sentence is one card of the stack. <b class="q">Q</b> has a row for each word that looks. <b class="k">K</b> is transposed, Kᵀ, so that it has a column for each word that is looked at. Where a row meets a column is a cell of <b class="w">S</b>: ${state.dk} products, added up to one score.</p>
<p>Then each row of S becomes shares, and shares × <b class="v">V</b> give the output, a row for each row of Q.</p>
<p>The letters: n words look, m words are looked at, a query and a key have d<sub>k</sub> numbers, a value d<sub>v</sub>. <b>Pull an edge</b> by its handle. Every box that shares it stretches.</p>`,
    },
    {
      title: "What grows with the sentence",
      state: {},
      text: () =>
        html`<p>S has a row <em>and</em> a column for every word. The other boxes have words along one edge only. So what happens when sentences get longer?</p>`,
      predict: {
        question: "Sentences of 40 words instead of 10: how many times as many numbers are in S?",
        min: 1,
        max: LARGEST_GUESS,
        step: 1,
        start: 4,
        unit: " times",
        show: { n: LONG, m: LONG, view: "call", wrong: "" },
        mark: (guess, { wide }) => {
          const { u, sLeft: x, row: y } = callAt(wide);
          const side = guessSide(guess, u);
          return (
            mark("rect", { x, y, width: side, height: side, class: "none lk dash" }) +
            // Below the largest, so that no guess crosses a label.
            label(x + 20 * u, y + guessSide(LARGEST_GUESS, u) + (wide ? 15 : 14), "dashed: your guess", {
              class: "mid tk bold s11",
            })
          );
        },
        result: (guess, { numbers: n, state }) =>
          html`You said ${numberOf(guess, "time")}. With 10 words it was ${state.b * state.h} · 10 · 10 = ${(state.b * state.h * 100).toLocaleString("en-US")}. Now it is ${state.b * state.h} · ${state.n} · ${state.m} = <b>${cells(n.weights).toLocaleString("en-US")}</b>, ${Number((cells(n.weights) / (state.b * state.h * 100)).toFixed(1))} times as many. Q, K, V and the output only grew ${state.n / 10} times. This square is the reason for the next page.`,
      },
    },
    {
      title: "Looking at something else",
      state: { self: false, n: 4, m: 16, dv: 96 },
      about: ({ self, wrong }) => !self && wrong === "",
      text: ({
        state,
      }) => html`<p>The words that look need not be the words that are looked at: the ${state.n} words that a translator has written so far look at the ${state.m} words of the other language. That is <em>cross-attention</em>. And values may have a length of their own, here ${state.dv}.</p>
<p>Which edges must agree? Pull each and see what follows it:</p>
<p class="formula"><math><munder><mi>Q</mi><mrow><mi>n</mi><mo>×</mo><msub><mi>d</mi><mi>k</mi></msub></mrow></munder><mo>·</mo><munder><msup><mi>K</mi><mo>⊤</mo></msup><mrow><msub><mi>d</mi><mi>k</mi></msub><mo>×</mo><mi>m</mi></mrow></munder><mo>=</mo><munder><mi>S</mi><mrow><mi>n</mi><mo>×</mo><mi>m</mi></mrow></munder><mspace width="1em"></mspace><munder><mi>S</mi><mrow><mi>n</mi><mo>×</mo><mi>m</mi></mrow></munder><mo>·</mo><munder><mi>V</mi><mrow><mi>m</mi><mo>×</mo><msub><mi>d</mi><mi>v</mi></msub></mrow></munder><mo>=</mo><munder><mi>O</mi><mrow><mi>n</mi><mo>×</mo><msub><mi>d</mi><mi>v</mi></msub></mrow></munder></math></p>
<p>In a product the two inner sizes must be equal, and they disappear. The outer ones stay: queries give the output its rows, values its columns.</p>`,
    },
    {
      title: "A product that does not fit",
      state: { wrong: "key", kd: 48 },
      about: ({ wrong, kd, dk, dv, m }) => (wrong === "key" && kd !== dk) || (wrong === "value" && dv !== m),
      text: ({ state }) => html`<p>${
        state.wrong === "value"
          ? html`Here V is transposed: it has a row for each of the ${numberOf(state.dv, "number")} of a value, and S has a column for each of the ${numberOf(state.m, "word")}.`
          : html`Here keys have ${numberOf(state.kd, "number")} and queries ${state.dk}.`
      } A row and a column of different lengths cannot be multiplied, so nothing is computed. The box at the bottom is what heed says: which arguments, which sizes, which rule.</p>
<p><button type="button" data-act="wrong:value">Transpose V instead</button> <button type="button" data-act="wrong:key">Keys of another length</button></p>
<p>The end of the message lists the shapes, in the order of the arguments. Find the edge that should be shared.</p>`,
    },
    {
      title: "Worse: a product that fits",
      state: { wrong: "axes", h: 8 },
      about: ({ wrong }) => wrong === "axes",
      text: ({
        state,
        numbers: n,
      }) => html`<p>Some libraries order the axes as sentence, <em>word</em>, head; others as sentence, <em>head</em>, word. Give one what the other expects, ${tuple(n.query)}, and nothing fails.</p>
<p>But S is now ${state.h} × ${state.h}. Within each of the ${numberOf(state.n, "word")}, its ${state.h} heads look at each other, and no word ever sees another word. The output even has the shape you expected, ${tuple(n.output)}.</p>
<p>Only the shape of S gives it away. In heed you say which order you have: <code>layout: "bshd"</code>.</p>`,
    },
    {
      title: "Where the heads come from",
      state: { view: "layer", h: 8 },
      about: ({ view }) => view === "layer",
      text: ({ state }) =>
        html`<p>Where do Q, K and V come from? Each word’s ${state.d} numbers are multiplied by three learned matrices. Then the columns are cut into pieces, one for each head. At the end, the outputs of the heads are put side by side again and mixed by W<sup>o</sup>.</p>`,
      predict: {
        question: "16 heads instead of 8, everything else the same: how many percent more parameters?",
        min: 0,
        max: 200,
        step: 5,
        start: 100,
        unit: " %",
        show: { view: "layer", h: 16 },
        mark: (guess, { wide }) =>
          guessText(wide ? 24 : 8, wide ? 508 : 272, `${guess} % more than with 8 heads`),
        result: (guess, { numbers: { layer: n }, state }) =>
          html`You said ${guess} %. The layer has ${n.error === "" ? html`<b>${n.parameters.toLocaleString("en-US")}</b> parameters, 4 · ${state.d} · ${state.d}, with any number of heads` : "no size at all now: it is refused"}. More heads are thinner heads. Pull the first cut: what happens when the pieces are not equal?`,
      },
    },
  ],
  picture: (view) => (view.state.view === "layer" ? layer(view) : call(view)),
  label: ({ numbers: n, state }) =>
    state.view === "layer"
      ? `A layer on ${state.n} words of ${state.d} numbers with ${numberOf(state.h, "head")}. ${n.layer.error || `It has ${n.layer.parameters} parameters.`}`
      : `Boxes to scale: Q ${tuple(n.query)}, K ${tuple(n.key)}, V ${tuple(n.value)}. ${n.error || `S is ${tuple(n.weights)}, the output ${tuple(n.output)}.`}`,
  caption: ({ numbers: n, state }): Markup => {
    if (state.view === "layer")
      return n.layer.error
        ? html`${state.d} columns cannot be cut into ${state.h} equal pieces, and the layer is refused before anything is computed.`
        : html`${numberOf(state.n, "word")} of ${state.d} numbers, cut into ${numberOf(state.h, "head")} of <b>${n.layer.query[2]}</b>. ${n.layer.parameters.toLocaleString("en-US")} parameters, whatever the number of heads.`;
    if (n.error !== "")
      return html`${state.wrong === "key" ? html`Queries have ${state.dk} numbers and keys ${state.kd}` : state.wrong === "value" ? html`V should have a row for each of the ${numberOf(state.m, "word")} and has ${state.dv}` : html`The axes are swapped`}: the boxes share no edge, and nothing is computed.`;
    if (state.wrong === "axes")
      return html`Nothing failed. But S is <b>${state.h} × ${state.h}</b>: heads look at heads, and no word sees another.`;
    if (state.wrong === "value")
      return html`V is transposed and nothing failed, because m and d<sub>v</sub> are both <b>${state.m}</b>. Every output is wrong.`;
    return html`${numberOf(state.b, "sentence")}${state.h > 1 ? html` × ${state.h} heads` : ""}: S has ${state.n} × ${state.m} cells on each card, <b>${cells(n.weights).toLocaleString("en-US")}</b> weights in all. The output has ${n.output.slice(-2).join(" × ")} on each.`;
  },
  control: ({ state }) => {
    const size = state.self || state.view === "layer" ? "words" : "query words";
    return html`<label>${size} <input type="range" min="1" max="40" step="1" value="${state.n}" data-act="n" aria-label="Number of ${size}" aria-valuetext="${state.n}"><output>${state.n}</output></label>`;
  },
  more: ({ state }) =>
    html`${state.view === "call" && html`${choice("wrong", WRONG_NAMES, state.wrong)}${checkbox("self", "words look at themselves", state.self)}`}${choice("view", VIEW_NAMES, state.view)}`,
  actions: {
    n: ({ state }, _, value) => changed(state, "n", Number(value)),
    wrong: ({ state }, name) => ({
      wrong: name,
      view: "call",
      ...(name === "key" && state.kd === state.dk && { kd: Math.max(1, state.dk - 16) }),
      ...(name === "axes" && state.h === 1 && { h: 8 }),
    }),
    self: ({ state }, _, value) => ({ self: value === "true", m: state.n }),
    view: (_, view) => ({ view }),
  },
  drags: Object.fromEntries((Object.keys(RANGE) as Size[]).map((size) => [size, pull(size)])),
  code: {
    typescript: ({ numbers: n, state }) =>
      state.view === "layer"
        ? `import { randn } from "heed";
import { MultiHeadAttention } from "heed/nn";

const x = randn([${state.n}, ${state.d}]);
${
  n.layer.error === ""
    ? `const layer = new MultiHeadAttention(
  ${state.d}, ${state.h}, { bias: false });
const { query, output } = layer.forward(x);

let parameters = 0;
for (const one of layer.parameters().values())
  parameters += one.size;
console.log(query.shape.join(" "));
console.log(output.shape.join(" "));
console.log(parameters);`
    : `try {
  const layer = new MultiHeadAttention(
    ${state.d}, ${state.h}, { bias: false });
  console.log(layer.forward(x).output.shape);
} catch {
  console.log("refused");
}`
}`
        : `import { randn, scaledDotProductAttention }
  from "heed";

const query = randn([${n.query.join(", ")}]);
const key = randn([${n.key.join(", ")}]);
const value = randn([${n.value.join(", ")}]);

${
  n.error === ""
    ? `const { weights, output } =
  scaledDotProductAttention(query, key, value,
    { returnWeights: true });
console.log(weights.shape.join(" "));
console.log(output.shape.join(" "));
console.log(weights.size);`
    : `try {
  scaledDotProductAttention(query, key, value);
} catch {
  console.log("refused");
}`
}`,
    python: ({ numbers: n, state }) =>
      state.view === "layer"
        ? `import numpy as np

draw = np.random.default_rng(0).standard_normal
x = draw((${state.n}, ${state.d}))
W = draw((4, ${state.d}, ${state.d}))

def cut(y):
    return y.reshape(${state.n}, ${state.h}, -1).swapaxes(0, 1)

${
  n.layer.error === ""
    ? `query, key, value = (cut(x @ w) for w in W[:3])
s = query @ key.swapaxes(1, 2)
e = np.exp(s / np.sqrt(query.shape[-1]))
weights = e / e.sum(-1, keepdims=True)
heads = (weights @ value).swapaxes(0, 1)
output = heads.reshape(${state.n}, ${state.d}) @ W[3]

print(*query.shape)
print(*output.shape)
print(W.size)`
    : `try:
    print(*cut(x @ W[0]).shape)
except ValueError:
    print("refused")`
}`
        : `import numpy as np

draw = np.random.default_rng(0).standard_normal
query = draw(${tuple(n.query)})
key = draw(${tuple(n.key)})
value = draw(${tuple(n.value)})

def attention(query, key, value):
    s = query @ key.swapaxes(-1, -2)
    e = np.exp(s / np.sqrt(query.shape[-1]))
    weights = e / e.sum(-1, keepdims=True)
    return weights, weights @ value

${
  n.error === ""
    ? `weights, output = attention(query, key, value)
print(*weights.shape)
print(*output.shape)
print(weights.size)`
    : `try:
    attention(query, key, value)
except ValueError:
    print("refused")`
}`,
    printed: ({ numbers: n, state }) => {
      if (state.view === "layer")
        return n.layer.error === ""
          ? [n.layer.query.join(" "), n.layer.output.join(" "), n.layer.parameters].join("\n")
          : "refused";
      return n.error === ""
        ? [n.weights.join(" "), n.output.join(" "), cells(n.weights)].join("\n")
        : "refused";
    },
    lit: ({ state }) =>
      state.view === "layer"
        ? ["new MultiHeadAttention(", "return y.reshape"]
        : state.wrong === "value"
          ? ["const value =", "value = draw"]
          : ["scaledDotProductAttention(query", "s = query @"],
    names: { query: "q", key: "k", value: "v", weights: "s", output: "o", x: "x", heads: "o" },
  },
  table: ({ numbers: n, state }) =>
    state.view === "layer"
      ? {
          caption: n.layer.error || `A layer on one sentence, ${numberOf(state.h, "head")}`,
          columns: ["", "shape", "numbers"],
          rows: [
            ["X", `${state.n} × ${state.d}`, state.n * state.d],
            ["four matrices", `${state.d} × ${state.d} each`, n.layer.parameters],
            ...(n.layer.error === ""
              ? ([
                  ["queries, cut", n.layer.query.join(" × "), cells(n.layer.query)],
                  ["output", n.layer.output.join(" × "), cells(n.layer.output)],
                  ["multiplications and additions", "", n.layer.operations],
                ] as const)
              : []),
          ],
        }
      : {
          caption: n.error || "One call of attention",
          columns: ["", "shape", "numbers"],
          rows: [
            ...(
              [
                ["query", n.query],
                ["key", n.key],
                ["value", n.value],
                ["weights", n.weights],
                ["output", n.output],
              ] as const
            )
              .filter(([, shape]) => shape.length > 0)
              .map(([name, shape]) => [name, shape.join(" × "), cells(shape)] as const),
            ...(n.error === ""
              ? ([
                  ["multiplications and additions", "", n.operations],
                  ["bytes of the weights", "", n.bytes],
                ] as const)
              : []),
          ],
        },
  tasks: [
    {
      text: "Make the score matrix 3 × 7: three words look at seven others.",
      done: ({ state, numbers: n }) =>
        state.view === "call" && state.wrong === "" && n.weights.at(-2) === 3 && n.weights.at(-1) === 7,
    },
    {
      text: "Transpose V, then pull edges until nothing is refused, though every output is wrong.",
      done: ({ state, numbers: n }) => state.view === "call" && state.wrong === "value" && n.error === "",
    },
  ],
  recall: [
    [
      "Q is 5 × 32 and K is 9 × 32. What are the shapes of S and of the output, if a value has 8 numbers?",
      "S is 5 × 9: a row for each query, a column for each key. The output is 5 × 8: the rows of Q, the columns of V.",
    ],
    [
      "Why do twice as many heads not need twice as many parameters?",
      "The heads share the columns of the same matrices. With twice as many, each has half of the columns.",
    ],
  ],
  limits:
    "Shapes that fit do not make a result right: swapped axes, a transposed V that is square, and words in another order all pass every check of sizes.",
  trained: {
    text: "See the same boxes filled by a trained model: one row of Q, K and V",
    address: "tired-cat.html#v1/row?l=5&h=11&i=8&j=2",
  },
};
