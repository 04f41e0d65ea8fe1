/** The whole formula as a flow of boxes, X → Q, K, V → product → scale → mask → softmax → output, each with its numbers. */
import { element, escapeXml, text } from "../../src/view/plot/svg.ts";
import { squeezed } from "../frame/fit.ts";
import { arrow, draggable, named, pressable, rect, textClass, weightClass } from "../frame/marks.ts";
import { percent } from "../frame/words.ts";
import type { Steps } from "./compute.ts";
import { D, fourWords, integerText, N, type StepsView, short, written } from "./picture.ts";

/** The matrices that make queries, keys and values, with their colors. */
const WEIGHTS = [
  ["wq", "q"],
  ["wk", "k"],
  ["wv", "v"],
] as const;

/** A matrix of two numbers a row as the arrays that a state has. */
const rowsOf = (numbers: readonly number[]) =>
  Array.from({ length: numbers.length / D }, (_, i) => numbers.slice(i * D, i * D + D));

/** Queries, keys and values of a state whose input is X: X times each matrix. */
export const projected = ({ x, wq, wk, wv }: Steps) => {
  const product = (w: readonly number[]) =>
    rowsOf(x).flatMap(([a, b]) => [0, 1].map((d) => a * w[d] + b * w[D + d] + 0));
  return { q: product(wq), k: product(wk), v: product(wv) };
};

interface Box {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** The cells of a box, with what `inside` gives for each number. */
const cells = (
  { name, x, y, w, h }: Box,
  rows: readonly (readonly number[])[],
  inside: (value: number, i: number, j: number, corner: readonly [number, number]) => string,
): string =>
  named(
    name,
    rows.flatMap((row, i) => row.map((value, j) => inside(value, i, j, [x + j * w, y + i * h]))).join(""),
  );

/** One cell: its background and its number. */
const cell = (
  [x, y]: readonly [number, number],
  { w, h }: Box,
  content: string,
  [fill, ink]: readonly [string, string],
): string =>
  rect(x + 1, y + 1, x + w - 1, y + h - 1, { rx: 2, class: fill }) +
  text(x + w / 2, y + h / 2 + 4, content, {
    class: `mid mono ${w < 36 || content.length > 4 ? "s11" : "s12"} ${ink}`,
    ...squeezed(content, 11.5, w - 6),
  });

/** A number of X or of a matrix, which can be dragged. */
const input =
  (box: Box, state: Steps, field: "x" | "wq" | "wk" | "wv", color: string, label: (i: number) => string) =>
  (value: number, i: number, d: number, corner: readonly [number, number]): string =>
    draggable(
      `${field}:${i * D + d}`,
      `${label(i)}, number ${d + 1}`,
      { now: value, min: -9, max: 9, text: integerText(value) },
      cell(corner, box, integerText(value), [
        `f${color} soft grip`,
        field === "x" && i === state.row ? "bold" : "",
      ]),
    );

/** The name of the matrix that makes queries, keys or values. */
const matrixName = (color: string, x: number, y: number, name: string, after = "", before = "") =>
  element(
    "text",
    { x, y, class: name },
    `${escapeXml(before)}W<tspan dy="-4" class="s10">${color}</tspan><tspan dy="4">${escapeXml(after)}</tspan>`,
  );

/** The four middle boxes: what each holds, and the stages of the slider that it is the result of. */
const middle = ({ numbers: n, state }: StepsView) =>
  [
    ["scores", "Q·Kᵀ", n.dots, [0]],
    ["scaled", "÷ √2", n.scaled, [1]],
    ["masked", /* text */ state.causal ? "mask" : "mask: none", n.masked, [2]],
    ["shares", "softmax", n.shares, [3, 4, 5, 6]],
  ] as const;

const TOP = 62;
const BELOW = 392;
const H = 26;

/** The flow, wide: every box with all its numbers, and the arithmetic of the chosen cell. */
function wideFlow(view: StepsView): string {
  const { numbers: n, state } = view;
  const words = fourWords(state.ownText);
  const title = (box: Box, name: string, columns: number, ink = "", rows = N) =>
    text(box.x + (columns * box.w) / 2, box.y - 10, name, { class: `mid bold s12 ${ink}` }) +
    text(box.x + (columns * box.w) / 2, box.y + rows * box.h + 17, `${rows} × ${columns}`, {
      class: "mid third s11",
    });
  const x: Box = { name: "x", x: 58, y: 227, w: 28, h: H };
  const parts = [
    ...words.map((word, i) =>
      text(x.x - 8, x.y + i * H + 17, word, {
        class: `end s12 ${i === state.row ? "bold" : ""}`,
        ...squeezed(word, 12, 46),
      }),
    ),
    title(x, "X", D),
    cells(
      x,
      rowsOf(state.x),
      input(x, state, "x", "line", (i) => `X of ${words[i]}`),
    ),
  ];
  for (const [at, [field, color]] of WEIGHTS.entries()) {
    const y = TOP + (at * (BELOW - TOP)) / 2;
    const w: Box = { name: field, x: 152, y: y + H, w: 28, h: H };
    const result: Box = { name: color, x: 244, y, w: 28, h: H };
    const chosen = (i: number) => (color === "q" ? state.row : state.column) === i;
    parts.push(
      title(w, "", D, "", D),
      matrixName(color, w.x + w.w, w.y - 10, `mid bold s12 t${color}`),
      cells(
        w,
        rowsOf(state[field]),
        input(w, state, field, color, (i) => `${field}, row ${i + 1}`),
      ),
      title(result, color.toUpperCase(), D, `t${color}`),
      cells(result, rowsOf(state[color]), (value, i, _, corner) =>
        cell(corner, result, integerText(value), [`f${color} soft`, chosen(i) ? "bold" : ""]),
      ),
      arrow(x.x + 60, 279, w.x - 6, y + 52, "lthird"),
      arrow(w.x + 60, y + 52, result.x - 6, y + 52, "lthird"),
    );
  }
  const left = 338;
  const boxes: Box[] = [];
  for (const [at, [name, label, rows, stages]] of middle(view).entries()) {
    const box: Box = { name, x: left + 174 * Math.min(at, 2), y: at === 3 ? BELOW : TOP, w: 39, h: H };
    boxes.push(box);
    parts.push(
      title(box, label, N, (stages as readonly number[]).includes(state.stage) ? "" : "second"),
      cells(box, rows, (value, i, j, corner) => number(view, box, value, i, j, corner)),
      rect(box.x, box.y + state.row * H, box.x + N * box.w, box.y + (state.row + 1) * H, {
        class: "none lq thin",
      }),
      (stages as readonly number[]).includes(state.stage)
        ? rect(box.x - 4, box.y - 4, box.x + N * box.w + 4, box.y + N * H + 4, { class: "none link" })
        : "",
    );
  }
  const output: Box = { name: "output", x: 484, y: BELOW, w: 48, h: H };
  const [scores, scaled, masked, shares] = boxes;
  const [above, under] = [TOP + 52, BELOW + 52];
  parts.push(
    title(output, "output = softmax · V", D, "tv"),
    cells(output, n.output, (value, i, _, corner) =>
      cell(corner, output, short(value), ["fv soft", i === state.row ? "bold" : ""]),
    ),
    state.stage === 7
      ? rect(output.x - 4, BELOW - 4, output.x + 2 * output.w + 4, BELOW + 108, { class: "none link" })
      : "",
    arrow(304, above, scores.x - 6, above, "lthird"),
    arrow(304, 262, scores.x + 22, TOP + N * H + 22, "lthird"),
    arrow(scores.x + 160, above, scaled.x - 6, above, "lthird"),
    arrow(scaled.x + 160, above, masked.x - 6, above, "lthird"),
    arrow(masked.x + 78, TOP + N * H + 22, shares.x + 78, BELOW - 28, "lthird"),
    arrow(shares.x - 6, under, output.x + 2 * output.w + 8, under, "lthird"),
    arrow(304, under, output.x - 8, under, "lthird"),
    written(view, { x: 366, y: 218, step: 19, columns: 1 }),
  );
  return parts.join("");
}

/** A number of a middle box: a button in the first, where a cell is chosen. */
function number(
  view: StepsView,
  box: Box,
  value: number,
  i: number,
  j: number,
  corner: readonly [number, number],
): string {
  const { state } = view;
  const isShare = box.name === "shares" && value > 0;
  const chosen = i === state.row && j === state.column;
  const drawn = cell(corner, box, isShare ? percent(value) : short(value), [
    isShare ? weightClass(value) : "fhover",
    `${isShare ? textClass(value) : ""} ${chosen ? "bold" : ""}`,
  ]);
  const mark =
    drawn +
    (chosen
      ? rect(corner[0] + 1, corner[1] + 1, corner[0] + box.w - 1, corner[1] + box.h - 1, {
          class: "none link",
        })
      : "");
  const words = fourWords(state.ownText);
  return box.name === "scores"
    ? pressable(`cell:${i},${j}`, `${words[i]} and ${words[j]}: ${short(value)}`, chosen, mark)
    : element("g", { "data-act": `cell:${i},${j}`, class: "press" }, mark);
}

/** Where the columns of the narrow flow are, and their names. */
const COLUMNS = [76, 128, 178, 232, 284, 336];

/** The flow of the chosen word, narrow: a row for each word it looks at, a column for each box. */
function narrowFlow(view: StepsView): string {
  const { numbers: n, state } = view;
  const { row: i, column: chosen } = state;
  const words = fourWords(state.ownText);
  const pair = (numbers: readonly number[]) => numbers.map(integerText).join(", ");
  const parts: string[] = [];
  const x: Box = { name: "x", x: 0, y: 20, w: 33, h: 24 };
  for (const [at, word] of words.entries()) {
    const left = 22 + at * 88;
    const box = { ...x, x: left };
    parts.push(
      pressable(
        `cell:${at},${chosen}`,
        `${word} asks`,
        at === i,
        rect(left, 2, left + 66, 19, { class: "hit" }) +
          text(left + 33, 15, word, {
            class: `mid s11 ${at === i ? "tq bold" : ""}`,
            ...squeezed(word, 11, 64),
          }),
      ),
      cells(box, [state.x.slice(at * D, at * D + D)], (value, _, d, corner) =>
        input(box, state, "x", "line", () => `X of ${word}`)(value, at, d, corner),
      ),
    );
  }
  parts.push(
    text(4, 37, "X", { class: "bold s12" }),
    matrixName(
      "q",
      8,
      66,
      "tq bold s12",
      ` = q = (${pair(state.q.slice(i * D, i * D + D))})`,
      `X of “${words[i]}” · `,
    ),
  );
  const y0 = 104;
  const names = /* text */ ["k", "q·k", "÷ √2", "mask", "share", "v"];
  // The step of the slider: − max, exp and sum are parts of softmax.
  const now = [1, 2, 3, 4, 4, 4, 4, 5][state.stage];
  for (const [at, name] of names.entries())
    parts.push(
      text(COLUMNS[at], y0 - 16, name, {
        class: `mid s11 ${["tk", "", "", "", "", "tv"][at]} ${at === now ? "bold" : ""}`,
      }),
      at > 0 && at < 5 ? arrow(COLUMNS[at] - 31, y0 - 20, COLUMNS[at] - 20, y0 - 20, "lthird", 4) : "",
    );
  for (const [j, word] of words.entries()) {
    const y = y0 + j * 27;
    const share = n.shares[i][j];
    const values = [
      pair(state.k.slice(j * D, j * D + D)),
      short(n.dots[i][j]),
      short(n.scaled[i][j]),
      short(n.masked[i][j]),
      percent(share),
      pair(state.v.slice(j * D, j * D + D)),
    ];
    parts.push(
      j === chosen ? rect(4, y - 11, 371, y + 14, { rx: 3, class: "fhover" }) : "",
      rect(COLUMNS[4] - 21, y - 9, COLUMNS[4] + 21, y + 12, {
        class: share > 0 ? weightClass(share) : "none",
      }),
      ...values.map((content, at) =>
        text(COLUMNS[at], y + 5, content, {
          class: `mid mono s11 ${["tk", "", "", "", share > 0 ? textClass(share) : "", "tv"][at]}`,
          ...squeezed(content, 11, 46),
        }),
      ),
      // Above the numbers, and named by its word alone.
      pressable(
        `cell:${i},${j}`,
        `${words[i]} and ${word}: ${percent(share)}`,
        j === chosen,
        rect(4, y - 11, 371, y + 14, { class: "hit" }) +
          text(44, y + 5, word, {
            class: `end s11 ${j === chosen ? "tk bold" : ""}`,
            ...squeezed(word, 11, 38),
          }),
      ),
    );
  }
  parts.push(
    text(8, 230, `output = Σ share × v = (${n.output[i].map(short).join(", ")})`, { class: "tv bold s12" }),
    ...WEIGHTS.map(([field, color], at) =>
      matrixName(
        color,
        8 + at * 122,
        256,
        `t${color} s12`,
        ` = ${rowsOf(state[field]).map(pair).join(" / ")}`,
      ),
    ),
  );
  return parts.join("");
}

/** The picture of the last step. */
export const flow = (view: StepsView): string => (view.wide ? wideFlow(view) : narrowFlow(view));
