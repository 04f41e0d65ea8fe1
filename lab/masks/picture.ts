/** Of a mask and one of its rows: the grid that is painted, the row hidden in three ways, and its bits read both ways. */

import { element, text } from "../../src/view/plot/svg.ts";
import { squeezed, widthOf } from "../frame/fit.ts";
import { line, named, pressable, rect, textClass, weightClass } from "../frame/marks.ts";
import type { LabView } from "../frame/page.ts";
import { number, percent } from "../frame/words.ts";
import type { Masks, MasksNumbers } from "./compute.ts";
import { realOf, SIZE } from "./recipes.ts";

export type MasksView = LabView<Masks, MasksNumbers>;

/** A token in a narrow column. */
const short = (token: string, limit: number) =>
  token.length > limit ? `${token.slice(0, limit - 1)}…` : token;

/** Whether a row may look at a key. */
export const sees = ({ state }: MasksView, i: number, j: number) =>
  (state.mask[i * SIZE + j] === 1) !== state.inverted;
/** Whether a row may look at nothing. */
export const isEmpty = (view: MasksView, i: number) =>
  !Array.from({ length: SIZE }, (_, j) => sees(view, i, j)).some(Boolean);
/** The keys that a row may not look at. */
export const hidden = (view: MasksView, i: number) =>
  Array.from({ length: SIZE }, (_, j) => j).filter((j) => !sees(view, i, j));

/** Where the grid is. */
export const gridAt = (wide: boolean) => (wide ? { x: 72, y: 72, cell: 36 } : { x: 52, y: 34, cell: 26 });

function grid(view: MasksView): string {
  const { numbers: n, state, wide } = view;
  const { x, y, cell } = gridAt(wide);
  const cellAt = (left: number, row: number, right: number, name: string, rows = 1) =>
    rect(x + left * cell, y + row * cell, x + right * cell, y + (row + rows) * cell, { class: name });
  const parts: string[] = [
    text(
      x,
      y - (wide ? 46 : 22),
      wide ? "row: the word that looks · column: the word it looks at · in percent" : "rows look at columns",
      { class: "second s12" },
    ),
  ];
  const cells: string[] = [];
  for (let i = 0; i < SIZE; i++)
    for (let j = 0; j < SIZE; j++) {
      const [cx, cy] = [x + j * cell, y + i * cell];
      const weight = n.weights[i][j];
      cells.push(
        rect(cx + 0.5, cy + 0.5, cx + cell - 0.5, cy + cell - 0.5, {
          class: sees(view, i, j) && !(state.hide && i === state.row) ? weightClass(weight) : "fhover",
        }),
      );
      if (!sees(view, i, j))
        cells.push(element("path", { d: hatch(cx + 1, cy + 1, cell - 2), class: "hatched" }));
      else if (weight >= 0.095 && !(state.hide && i === state.row))
        cells.push(
          text(cx + cell / 2, cy + cell / 2 + 4, (100 * weight).toFixed(0), {
            class: `mid ${wide ? "s12" : "s11"} mono ${textClass(weight)}`,
          }),
        );
    }
  parts.push(
    element(
      "g",
      {
        "data-drag": "paint:",
        "data-key": "paint:",
        "data-enter": "",
        tabindex: "0",
        role: "application",
        class: "drag free",
        "aria-label": `Mask of ${SIZE} by ${SIZE}. Arrow keys move, Enter changes. ${n.tokens[state.row]} looks at ${n.tokens[state.column]}: ${sees(view, state.row, state.column) ? percent(n.weights[state.row][state.column]) : "hidden"}`,
      },
      named("mask", named("weights", cells.join(""))) +
        cellAt(0, state.row, SIZE, "none lq") +
        cellAt(state.column, state.row, state.column + 1, "none cursor") +
        // Above the lines, so that a drag can begin on one.
        cellAt(0, 0, SIZE, "hit", SIZE),
    ),
  );
  for (const [i, token] of n.tokens.entries()) {
    const quiet = i === 0 || i >= realOf(state.ownText) - 1;
    parts.push(
      pressable(
        `row:${i}`,
        `Show the row of ${token}`,
        i === state.row,
        rect(0, y + i * cell, x - 4, y + (i + 1) * cell, { class: "hit" }) +
          text(x - 8, y + i * cell + cell / 2 + 4, short(token, wide ? 8 : 6), {
            class: `end ${i === state.row ? "tq bold" : quiet ? "third" : ""}`,
            ...squeezed(short(token, wide ? 8 : 6), 13, x - 10),
          }),
      ),
      text(x + i * cell + cell / 2, y - 8, short(token, 5), {
        class: `mid ${wide ? "s12" : "s11"} ${quiet ? "third" : ""}`,
        ...squeezed(short(token, 5), wide ? 12 : 11, cell - 2),
      }),
    );
  }
  return parts.join("");
}

/** Slanted lines over a square. All but the corner is the same for every square of a size, which packs well. */
const hatch = (x: number, y: number, size: number) => {
  const path = [`M${x} ${y}`];
  let [x0, y0] = [0, 0];
  for (let d = 6; d < 2 * size; d += 6) {
    const [x1, y1] = d <= size ? [0, d] : [d - size, size];
    path.push(`m${x1 - x0} ${y1 - y0}l${y1 - x1} ${x1 - y1}`);
    [x0, y0] = [y1, x1];
  }
  return path.join("");
};

/** A number of a row: NaN is a word, 0 is 0. */
export const shown = (weight: number) => (Number.isNaN(weight) ? "NaN" : percent(weight));

/** Whether one column is enough: the ways to hide differ where something is hidden, and are not yet the subject elsewhere. */
const isSingle = (view: MasksView) =>
  view.wide && (view.state.show !== "row" || hidden(view, view.state.row).length === 0);

/** Where the columns are. */
export const answersAt = (view: MasksView) =>
  view.wide
    ? { left: 500, top: 72, width: isSingle(view) ? 280 : 60, step: 118, row: 26 }
    : { left: 58, top: 52, width: 40, step: 104, row: 21 };
/** Baseline of the line below the columns. */
export const footOf = (view: MasksView) => answersAt(view).top + SIZE * answersAt(view).row + 20;

/** What the row adds up to where words are hidden after softmax. */
function afterSoftmax(view: MasksView, foot: number): string {
  const { numbers: n, state, wide } = view;
  const left = n.plain[state.row].filter((_, j) => sees(view, state.row, j));
  const sum = left.reduce((a, b) => a + b, 0);
  const terms = left.map((share) => (100 * share).toFixed(1)).join(" + ");
  return text(wide ? 452 : 8, foot + (wide ? 30 : 15), `0 after softmax: ${terms} = ${percent(sum)}`, {
    class: `tb bold ${wide ? "s12" : "s11"}`,
  });
}

function answers(view: MasksView): string {
  const { numbers: n, state, wide } = view;
  const single = isSingle(view);
  const columns = [
    ["the formula, −∞", n.formula, "formula"],
    ["−1e9 instead", n.finite, "finite"],
    [single ? "its shares; dashed: without a mask" : "heed", n.heed, "heed"],
  ].slice(single ? 2 : 0) as [string, readonly number[], string][];
  const { left, top, width, step, row } = answersAt(view);
  const parts: string[] = [
    text(
      wide ? left : 8,
      wide ? 26 : 14,
      `“${n.tokens[state.row]}” looks${single ? "" : ": three ways to hide"}`,
      {
        class: wide ? "s15 bold" : "bold",
      },
    ),
  ];
  for (const [j, token] of n.tokens.entries()) {
    const y = top + j * row;
    const off = !sees(view, state.row, j);
    parts.push(
      text(left - 8, y + 14, short(token, wide ? 9 : 7), { class: `end ${off ? "third" : ""}` }),
      off
        ? line(left - 8 - 0.9 * widthOf(short(token, wide ? 9 : 7), 13), y + 10, left - 8, y + 10, "lthird")
        : "",
    );
  }
  for (const [c, [title, weights, name]] of columns.entries()) {
    const x = left + c * step;
    parts.push(
      text(x, top - 10, wide ? title : title.replace("the ", ""), { class: `${wide ? "s12" : "s11"} bold` }),
    );
    const bars: string[] = [];
    for (const [j, weight] of weights.entries()) {
      const y = top + j * row;
      const isLeak = !sees(view, state.row, j) && weight > 0;
      const bar = (share: number, style: string) =>
        rect(x, y + 3, x + share * width, y + row - 5, { class: style });
      bars.push(bar(1, "fhover"));
      if (!state.hide) {
        if (name === "heed" && n.plain[state.row][j] > 0)
          bars.push(bar(n.plain[state.row][j], "none lthird dash"));
        if (weight > 0) bars.push(bar(Math.max(1 / width, weight), isLeak ? "fb" : "fw"));
      }
      const isBad = isLeak || Number.isNaN(weight);
      bars.push(
        text(x + width + 4, y + 14, state.hide ? "?" : shown(weight), {
          class: `${wide ? "s12" : "s11"} mono ${state.hide ? "second" : isBad ? "tb bold" : weight > 0 ? "" : "third"}`,
        }),
      );
    }
    parts.push(named(name, bars.join("")));
  }
  const foot = footOf(view);
  if (state.hide || single) return parts.join("");
  const outputs = [n.outputs.formula, n.outputs.finite, n.outputs.heed];
  parts.push(
    text(left - 8, foot, wide ? "output" : "out", { class: "end second s12" }),
    ...outputs.map((size, c) =>
      text(
        left + c * step,
        foot,
        Number.isNaN(size) ? "NaN" : size === 0 ? "all zeros" : `length ${number(size)}`,
        { class: `s12 ${Number.isNaN(size) ? "tb bold" : ""}` },
      ),
    ),
  );
  if (state.late) parts.push(afterSoftmax(view, foot));
  return parts.join("");
}

/** The chosen row of the bitmap, read by both kinds of interface. */
function polarity(view: MasksView): string {
  const { numbers: n, state, wide } = view;
  const [left, top] = wide ? [72, 462] : [8, 60];
  const cell = 36;
  const bits = state.mask.slice(state.row * SIZE, (state.row + 1) * SIZE);
  const parts: string[] = [
    text(left, top - 12, `the bits of “${n.tokens[state.row]}”:`, { class: "second s12" }),
  ];
  const [bx, by] = wide ? [left + 130, top - 26] : [left, top];
  for (const [j, bit] of bits.entries())
    parts.push(
      rect(bx + j * cell, by, bx + (j + 1) * cell - 2, by + 20, { class: bit ? "fq soft" : "fhover" }),
      text(bx + j * cell + cell / 2 - 1, by + 14, bit ? "True" : "False", { class: "mid s11" }),
    );
  const readings = [
    ["True = may look", "PyTorch’s scaled_dot_product_attention, Keras, heed", 1, !state.inverted],
    ["True = is hidden", "PyTorch’s nn.MultiheadAttention, key_padding_mask", 0, state.inverted],
  ] as const;
  for (const [r, [title, who, keeps, chosen]] of readings.entries()) {
    const y = wide ? top + 16 + r * 30 : top + 60 + r * 84;
    parts.push(text(left, y, title, { class: `${chosen ? "bold" : "second"}` }));
    parts.push(text(wide ? left + 500 : left, wide ? y : y + 18, who, { class: "second s12" }));
    const x0 = wide ? left + 130 : left;
    const wy = wide ? y : y + 42;
    for (const [j, token] of n.tokens.entries()) {
      const x = x0 + j * cell + cell / 2 - 1;
      parts.push(text(x, wy, short(token, 5), { class: `mid s12 ${bits[j] === keeps ? "" : "third"}` }));
      if (bits[j] !== keeps) parts.push(line(x - 14, wy - 4, x + 14, wy - 4, "lthird"));
    }
  }
  return named("polarity", parts.join(""));
}

/** The chosen part; where there is space, beside the grid and its row. */
export function picture(view: MasksView): string {
  const { show } = view.state;
  return (
    (view.wide || show === "grid" ? grid(view) : "") +
    (view.wide || show === "row" ? answers(view) : "") +
    (show === "polarity" ? polarity(view) : "")
  );
}
