/** The matrices of one step of the formula, and the arithmetic of the chosen cell written out. */

import { element, text } from "../../src/view/plot/svg.ts";
import { squeezed } from "../frame/fit.ts";
import { draggable, line, named, pressable, rect, signed, textClass, weightClass } from "../frame/marks.ts";
import type { LabView } from "../frame/page.ts";
import { namesFrom, percent } from "../frame/words.ts";
import type { Steps, StepsNumbers } from "./compute.ts";

export type StepsView = LabView<Steps, StepsNumbers>;

/** Words, and numbers of a query or key. */
export const N = 4;
export const D = 2;

/** Names of the stops, and what each is called in a sentence. */
export const STAGES = /* text */ ["score", "÷ √d", "mask", "− max", "exp", "sum", "share", "× V"] as const;

/** Four words of the sentence. */
export const fourWords = (ownText: string): string[] => namesFrom(ownText, ["cat", "sat", "mat", "it"]);

/** Where the matrices are. */
export const geometry = (wide: boolean) =>
  wide
    ? { w: 52, h: 38, qx: 78, sx: 222, sy: 216, vx: 560, top: 30 }
    : { w: 33, h: 24, qx: 44, sx: 124, sy: 142, vx: 298, top: 22 };

/** A whole number with its sign. */
export const integerText = (value: number) => String(value).replace("-", "−");
/** A number in a cell: at most four characters. */
export function short(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Number.POSITIVE_INFINITY) return "∞";
  if (value === Number.NEGATIVE_INFINITY) return "−∞";
  return signed(value, Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : 2);
}

/** What the cells of the middle matrix hold at a stage. */
export function cellsAt(n: StepsNumbers, stage: number): readonly (readonly number[])[] {
  return [n.dots, n.scaled, n.masked, n.shifted, n.exps, n.exps, n.shares, n.shares][stage];
}

/** A share in a cell: a narrow cell has no space for the sign. */
const shareText = (share: number, wide: boolean) =>
  wide ? percent(share) : percent(share).replace(/\s*%$/u, "");

function matrix(
  name: "q" | "k" | "v",
  view: StepsView,
  transposed: boolean,
  x: number,
  y: number,
  color: string,
): string {
  const { state, wide } = view;
  const { w, h } = geometry(wide);
  const words = fourWords(state.ownText);
  const used = (i: number) => (name === "q" ? i === state.row : name === "k" ? i === state.column : true);
  const parts: string[] = [];
  for (let i = 0; i < N; i++)
    for (let d = 0; d < D; d++) {
      const value = state[name][i * D + d];
      const [cx, cy] = transposed ? [x + i * w, y + d * h] : [x + d * w, y + i * h];
      parts.push(
        draggable(
          `${name}:${i * D + d}`,
          `${name.toUpperCase()} of ${words[i]}, number ${d + 1}`,
          { now: value, min: -9, max: 9, text: integerText(value) },
          rect(cx + 1, cy + 1, cx + w - 1, cy + h - 1, {
            rx: 3,
            class: used(i) ? `f${color} soft grip` : "fhover grip",
          }) +
            text(cx + w / 2, cy + h / 2 + 5, integerText(value), {
              class: `mid mono t${color} ${used(i) ? "bold" : ""}`,
            }),
        ),
      );
    }
  return named(name, parts.join(""));
}

/** The cells of the chosen stage, each a button. */
function cellsOf({ numbers: n, state, wide }: StepsView): string {
  const { w, h, sx, sy } = geometry(wide);
  const words = fourWords(state.ownText);
  const stage = state.stage;
  const cells = cellsAt(n, stage);
  const quiet = wide ? "s12" : "s11";
  const scores: string[] = [];
  for (let i = 0; i < N; i++)
    for (let j = 0; j < N; j++) {
      const value = cells[i][j];
      const [x, y] = [sx + j * w, sy + i * h];
      const isShare = stage >= 6;
      const off = value === Number.NEGATIVE_INFINITY;
      const chosen = i === state.row && j === state.column;
      const box = [x + 1, y + 1, x + w - 1, y + h - 1] as const;
      scores.push(
        pressable(
          `cell:${i},${j}`,
          `${words[i]} and ${words[j]}: ${short(value)}`,
          chosen,
          rect(...box, {
            class:
              isShare && value > 0
                ? weightClass(value)
                : Number.isNaN(value) || value === Number.POSITIVE_INFINITY
                  ? "fb soft"
                  : "fhover",
          }) +
            (off
              ? element("path", { d: `M${x + 4} ${y + h - 4}L${x + w - 4} ${y + 4}`, class: "hatched" })
              : "") +
            text(
              x + w / 2,
              y + h / 2 + 4,
              isShare && !Number.isNaN(value) ? shareText(value, wide) : short(value),
              {
                class: `mid mono ${quiet} ${isShare && value > 0 ? textClass(value) : ""} ${chosen ? "bold" : ""}`,
              },
            ) +
            (chosen ? rect(...box, { class: "none link" }) : ""),
        ),
      );
    }
  return scores.join("");
}

/** The matrices, and on a wide picture the arithmetic of the chosen cell. */
export function picture(view: StepsView): string {
  const { numbers: n, state, wide } = view;
  const { w, h, qx, sx, sy } = geometry(wide);
  const words = fourWords(state.ownText);
  const stage = state.stage;
  const quiet = wide ? "s12" : "s11";
  const ky = sy - D * h - (wide ? 26 : 22);
  const parts: string[] = [
    text(qx + w, sy - 10, "Q", { class: "mid tq bold" }),
    text(sx - 12, ky + h + 5, "Kᵀ", { class: "end tk bold" }),
    matrix("q", view, false, qx, sy, "q"),
    matrix("k", view, true, sx, ky, "k"),
  ];
  // A word of wide letters fits its column, too.
  const limit = wide ? 8 : 5;
  for (const [i, word] of words.entries()) {
    const name = word.length > limit ? `${word.slice(0, limit - 1)}…` : word;
    const fit = squeezed(name, wide ? 12 : 11, w - 2);
    parts.push(
      text(qx - 8, sy + i * h + h / 2 + 4, name, {
        class: `end ${quiet} ${i === state.row ? "tq bold" : ""}`,
        ...fit,
      }),
      text(sx + i * w + w / 2, ky - 8, name, {
        class: `mid ${quiet} ${i === state.column ? "tk bold" : ""}`,
        ...fit,
      }),
    );
  }
  parts.push(named("scores", named("shares", cellsOf(view))));
  parts.push(
    text(
      sx + 2 * w,
      sy + N * h + 18,
      [
        "Q·Kᵀ",
        "Q·Kᵀ ÷ √2",
        "masked",
        state.unsafe ? "not shifted" : "minus the row’s maximum",
        "e to the power of that",
        "row sums on the right",
        /* text */ wide ? "shares: each row adds up to 100 %" : "shares in %",
        /* text */ wide ? "shares" : "shares in %",
      ][stage],
      { class: "mid second s12" },
    ),
  );
  // What belongs to a row: its maximum, then its sum.
  const right = sx + N * w + 10;
  if (stage === 3 || stage === 5)
    parts.push(
      named(
        "sums",
        [stage === 3 ? n.maxima : n.sums]
          .flat()
          .map((value, i) =>
            text(right, sy + i * h + h / 2 + 4, `${stage === 3 ? "max" : "Σ"} ${short(value)}`, {
              class: `${quiet} mono ${i === state.row ? "bold" : "second"}`,
            }),
          )
          .join(""),
      ),
    );
  if (wide || stage === 7) parts.push(valuesAndOutput(view));
  if (wide)
    parts.push(written(view, { x: 30, y: 420, step: 30, columns: 2 }), line(30, 394, 830, 394, "lline"));
  return parts.join("");
}

/** V above the output, whose rows fill in the last stage. */
function valuesAndOutput(view: StepsView): string {
  const { numbers: n, state, wide } = view;
  const { w, h, sy, vx, top } = geometry(wide);
  const words = fourWords(state.ownText);
  const stage = state.stage;
  const quiet = wide ? "s12" : "s11";
  const vy = sy - N * h - (wide ? 26 : 20);
  const parts = [
    text(vx - 12, Math.max(top, vy) + 2 * h, "V", { class: "end tv bold" }),
    matrix("v", view, false, vx, vy, "v"),
  ];
  if (wide)
    for (let i = 0; i < N; i++)
      parts.push(
        text(vx + D * w + 8, vy + i * h + h / 2 + 4, words[i], {
          class: `${quiet} ${stage === 7 && i === state.column ? "bold" : ""}`,
        }),
      );
  const out: string[] = [];
  for (let i = 0; i < N; i++)
    for (let d = 0; d < D; d++)
      out.push(
        rect(vx + d * w + 1, sy + i * h + 1, vx + (d + 1) * w - 1, sy + (i + 1) * h - 1, {
          class: stage === 7 ? "fv soft" : "fhover",
        }),
        stage === 7
          ? text(vx + d * w + w / 2, sy + i * h + h / 2 + 4, short(n.output[i][d]), {
              class: `mid mono ${quiet} ${i === state.row ? "bold" : ""}`,
            })
          : "",
      );
  parts.push(
    named("output", out.join("")),
    text(vx + w, sy + N * h + 18, "output", { class: "mid second s12" }),
  );
  return parts.join("");
}

/** The arithmetic of the chosen cell, a line a stage: where the lines begin, and in how many columns. */
export function written(
  { numbers: n, state }: StepsView,
  { x, y, step, columns }: { x: number; y: number; step: number; columns: number },
): string {
  const { row: i, column: j, stage } = state;
  const [q, k] = [state.q.slice(i * D, i * D + D), state.k.slice(j * D, j * D + D)];
  const paren = (value: number) => (value < 0 ? `(${integerText(value)})` : integerText(value));
  const sum = `${n.exps[i].map(short).join(" + ")}`;
  const all = [
    `${paren(q[0])} × ${paren(k[0])} + ${paren(q[1])} × ${paren(k[1])} = ${short(n.dots[i][j])}`,
    `${short(n.dots[i][j])} ÷ √2${state.big ? " + 1000" : ""} = ${short(n.scaled[i][j])}`,
    state.causal && j > i ? "later word: −∞" : `may be seen: ${short(n.masked[i][j])}`,
    state.unsafe
      ? `left as it is: ${short(n.shifted[i][j])}`
      : `${short(n.masked[i][j])} − ${short(n.maxima[i])} = ${short(n.shifted[i][j])}`,
    `e^(${short(n.shifted[i][j])}) = ${short(n.exps[i][j])}`,
    `${sum} = ${short(n.sums[i])}`,
    `${short(n.exps[i][j])} ÷ ${short(n.sums[i])} = ${Number.isNaN(n.shares[i][j]) ? "NaN" : percent(n.shares[i][j])}`,
    `sum of shares × values = (${n.output[i].map(short).join(", ")})`,
  ];
  const each = all.length / columns;
  return named(
    "written",
    all
      .map((content, s) => {
        const [cx, cy] = [x + 420 * Math.floor(s / each), y + (s % each) * step];
        return (
          (s === stage
            ? rect(cx - 8, cy - step / 2 - 2, cx + 392, cy + step / 2 - 5, { rx: 4, class: "fhover" })
            : "") +
          text(cx, cy, STAGES[s], { class: `s12 ${s === stage ? "bold" : "third"}` }) +
          text(cx + 66, cy, s <= stage ? content : "…", {
            class: `mono s12 ${s === stage ? "bold" : s < stage ? "second" : "third"}`,
          })
        );
      })
      .join(""),
  );
}
