/** Pictures of "Learned": who looks at whom, one row as bars, and its query and keys. */
import { bandScale, barY, dotMarks, element, lineMark, scaleOf, text } from "../../src/view/plot/index.ts";
import { arrow, line, named, pressable, rect, weightCells } from "../frame/marks.ts";
import type { LabView } from "../frame/page.ts";
import { number } from "../frame/words.ts";
import type { Learned, LearnedNumbers } from "./compute.ts";

export type LearnedView = LabView<Learned, LearnedNumbers>;

export const steps = (count: number) => count.toLocaleString("en-US");
/** The row that is shown. */
export const rowOf = ({ state, numbers: n }: LearnedView) => (state.row < 0 ? n.was : state.row);

export function heatmap(view: LearnedView): string {
  const { numbers: n } = view;
  const [x, y] = [92, 92];
  const cell = 370 / n.words.length;
  const row = rowOf(view);
  const cells = weightCells(
    n.weights.map((weights, i) => weights.slice(0, i + 1)),
    { x, y, width: cell, height: cell, labelFrom: 0.095 },
  );
  const parts = [
    text(16, 30, `step ${steps(view.state.step)}: who looks at whom, in %`, { class: "s15 bold" }),
    text(16, 50, "row: the word that looks · column: the word it looks at", { class: "second s12" }),
    named("weights", cells),
    rect(x, y + row * cell, x + (row + 1) * cell, y + (row + 1) * cell, { class: "none lq" }),
  ];
  for (const [i, word] of n.words.entries()) {
    parts.push(
      pressable(
        `row:${i}`,
        `Show the row of ${word}`,
        i === row,
        element("rect", { x: 4, y: y + i * cell, width: x - 8, height: cell, class: "hit" }) +
          text(x - 8, y + (i + 0.5) * cell + 4, word, { class: `end ${i === row ? "tq bold" : ""}` }),
      ),
      // Names of columns alternate between two heights, so that neighbors do not overlap.
      text(x + (i + 0.5) * cell, y - 8 - (i % 2) * 14, word, { class: "mid s11 second" }),
    );
  }
  return parts.join("");
}

/** The row as bars, with the shares before training as outlines. */
export function bars(view: LearnedView): string {
  const { numbers: n } = view;
  const row = rowOf(view);
  const [x0, x1, top, base] = [10, 365, 30, 108];
  const band = bandScale(n.words.length, [x0, x1], (4 * n.words.length) / (x1 - x0));
  const scale = scaleOf({ domain: [0, 1], range: [base, top] });
  const upTo = (weights: readonly number[]) => weights.slice(0, row + 1);
  return [
    text(x0, 16, `step ${steps(view.state.step)}: where “${n.words[row]}” looks (outline: step 0)`, {
      class: "bold s12",
    }),
    named(
      "weights",
      barY({
        values: upTo(n.weights[row]),
        band,
        scale,
        attributes: { class: "fw" },
        track: { class: "fhover" },
      }) + barY({ values: upTo(n.before[row]), band, scale, attributes: { class: "none lsecond dash" } }),
    ),
    ...n.words.slice(0, row + 1).map((word, j) =>
      text(band.middle(j), base + 13 + (j % 2) * 12, word, {
        class: `mid s11 ${j === n.animal ? "bold" : "second"}`,
      }),
    ),
  ].join("");
}

/** The angle between a key and the query, in degrees. */
export const angleOf = ([along, across]: readonly number[]) =>
  Math.round((Math.atan2(across, along) * 180) / Math.PI);

/** A point of the plane in the picture; the run with large steps has much longer vectors. */
export function planeAt({ state, wide }: Pick<LearnedView, "state" | "wide">) {
  const unit = (wide ? 62 : 22) / (state.run === "fast" ? 10 : 1);
  const [x0, y0] = wide ? [212, 420] : [150, 122];
  return ([along, across]: readonly number[]) => [x0 + unit * along, y0 - unit * across] as const;
}

/** The query of the chosen row as an arrow to the right, and every key that it is compared with, at its own length and angle to it. */
export function plane(view: LearnedView): string {
  const { numbers: n, state, wide } = view;
  const row = rowOf(view);
  const at = planeAt(view);
  const now = Math.max(0, n.steps.indexOf(state.step));
  const { length, keys } = n.planes[now];
  const [[x0, y0], [x1]] = [at([0, 0]), at([length, 0])];
  const size = wide ? "s12" : "s11";
  const animals = n.words.flatMap((word, j) => (j <= row && /^(?:cat|dog)$/.test(word) ? [j] : []));
  const ends = keys.map(at);
  return [
    text(16, wide ? 30 : 14, `step ${steps(state.step)}: the query of “${n.words[row]}” and the keys`, {
      class: wide ? "s15 bold" : "bold s12",
    }),
    wide
      ? text(16, 50, "right: along the query · up: away from it · ring and line: from step 0", {
          class: "second s12",
        })
      : "",
    named("weights", dotMarks(ends, wide ? 4 : 3, { class: "fk soft" })),
    ...animals.map((j) => {
      const path = n.planes.slice(0, now + 1).map(({ keys }) => at(keys[j]));
      const [x, y] = ends[j];
      const [dx, anchor] = x < 90 ? [8, ""] : [-8, "end"];
      return (
        lineMark(path, { class: "none lk dash thin" }) +
        dotMarks(path.slice(0, 1), 5, { class: "none lk" }) +
        line(x, y, x, y0, "lthird dash") +
        arrow(x0, y0, x, y, "lk", 9) +
        text(x + dx, y - 4, `${n.words[j]}: ${angleOf(keys[j])}°`, {
          class: `${anchor} tk bold ${size} halo`,
        })
      );
    }),
    arrow(x0, y0, x1, y0, "lq", 10),
    text(x0, y0 + (wide ? 24 : 16), `query, length ${number(length)}`, { class: `tq bold ${size}` }),
  ].join("");
}
