/** The path of a word between two meanings, the cosine by layer, the nearest words, and all heads. */
import { bandScale, barX, barY, dotMarks, lineMark, scaleOf, text } from "../../src/view/plot/index.ts";
import { slider } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { axisOf, line, named } from "../frame/marks.ts";
import { indexOfLargest, number } from "../frame/words.ts";
import type { Becomes, Path } from "./compute.ts";
import type { BecomesPicture, BecomesView } from "./shown.ts";

/** The words of the two axes, by their places in the list. */
const [RUNS, INSECT] = [0, 2];
const NAMES = ["time flies", "fruit flies"] as const;
/** The state in a sentence about time is a full dot, in one about fruit an open one. */
const MARKS = [
  { dot: "fv", path: "lv" },
  { dot: "none lv", path: "lv dash" },
] as const;

/** The plane: a cosine on each axis. */
function planeAt(wide: boolean) {
  const [x0, x1, y0, y1] = wide ? [62, 482, 58, 478] : [48, 256, 34, 242];
  return {
    x: scaleOf({ domain: [0, 0.8], range: [x0, x1] }),
    y: scaleOf({ domain: [0, 0.8], range: [y1, y0] }),
  };
}

/** The axes of the cosine between the two, by layer. */
export const apartAt = () => ({
  x: scaleOf({ domain: [0, 6], range: [575, 770] }),
  y: scaleOf({ domain: [0, 1], range: [190, 58] }),
});

function plane({ numbers: n, state, wide }: BecomesView): string {
  const { x, y } = planeAt(wide);
  const [[x0, x1], [y1, y0]] = [x.range, y.range];
  const points = ({ near }: Path, sentence: number) =>
    near[sentence].slice(0, state.layer + 1).map((all) => [x(all[RUNS]), y(all[INSECT])] as const);
  const ghost = state.quarters === 4 ? [] : [0, 1];
  return [
    text(x0 - 40, y0 - (wide ? 24 : 18), "“flies” after each layer: near which word?", {
      class: "second s12",
    }),
    axisOf("bottom", x, y1, [0, 0.2, 0.4, 0.6, 0.8], { format: (value) => value.toFixed(1) }),
    axisOf("left", y, x0, [0.2, 0.4, 0.6, 0.8], { format: (value) => value.toFixed(1), grid: x1 }),
    text(x1, y1 + (wide ? 36 : 32), "cosine with “runs” →", { class: "end second s11" }),
    text(x0 + 6, y0 + 4, "↑ cosine with “insect”", { class: "second s11 halo" }),
    line(x(0), y(0), x(0.8), y(0.8), "lthird dash"),
    ...ghost.map((s) => lineMark(points(n.full, s), { class: "none lthird" })),
    ...[0, 1].map((s) => {
      const path = points(n.path, s);
      const [endX, endY] = path[path.length - 1];
      // Before the first layer both are the same vector: one label, below the dot.
      const label = state.layer === 0 ? (s === 0 ? "“flies” in both" : "") : NAMES[s];
      const [dx, dy, anchor] =
        s === 0
          ? endX > x1 - 90
            ? [0, 20, "mid"]
            : [10, 18, ""]
          : endX - x0 < 80
            ? [-6, 22, ""]
            : [-10, -10, "end"];
      return named(
        s === 0 ? "time" : "fruit",
        lineMark(path, { class: `none ${MARKS[s].path}` }) +
          dotMarks(path, (i) => (i === state.layer ? 6 : 3), { class: MARKS[s].dot }) +
          text(endX + dx, endY + dy, label, {
            class: `${anchor} bold tv s12 halo`,
          }),
      );
    }),
  ].join("");
}

/** The cosine between the two, by layer. */
function apart({ numbers: n, state }: BecomesView): string {
  const { x, y } = apartAt();
  const [[x0, x1], [y1, y0]] = [x.range, y.range];
  const points = ({ apart }: Path) =>
    apart.slice(0, state.layer + 1).map((cosine, layer) => [x(layer), y(cosine)] as const);
  const path = points(n.path);
  const [endX, endY] = path[path.length - 1];
  return [
    text(x0 - 45, y0 - 22, "cosine between the two “flies”, after each layer", { class: "second s12" }),
    axisOf("bottom", x, y1, [0, 1, 2, 3, 4, 5, 6], { format: String }),
    axisOf("left", y, x0, [0, 0.5, 1], { format: (value) => value.toFixed(1), grid: x1 }),
    state.quarters === 4 ? "" : lineMark(points(n.full), { class: "none lthird" }),
    named("cosine", lineMark(path, { class: "none link" }) + dotMarks(path, 3, { class: "solid" })),
    text(endX, endY + 22, number(n.path.apart[state.layer]), {
      // At the right end, beside the guess.
      class: `${state.layer < 5 ? "mid" : "end"} bold s12 halo`,
    }),
  ].join("");
}

/** Cosines with the six words, for both sentences. */
function neighbors({ numbers: n, state }: BecomesView): string {
  const scale = scaleOf({ domain: [0, 0.8], range: [0, 80] });
  return [
    text(530, 246, `nearest words after layer ${state.layer}`, { class: "second s12" }),
    ...n.words.map((word, i) => text(530, 288 + i * 18, word, { class: "s12" })),
    ...[0, 1].map((s) => {
      const [left, all] = [602 + s * 132, n.path.near[s][state.layer]];
      const best = Math.max(...all);
      return (
        text(left, 268, NAMES[s], { class: "bold tv s12" }) +
        barX({
          values: all,
          band: bandScale(all.length, [275, 275 + 18 * all.length], 0.3),
          scale: scaleOf({ domain: [0, 0.8], range: [left, left + scale(0.8)] }),
          attributes: { class: s === 0 ? "fv" : "fpaper lv" },
          label: (i) => all[i].toFixed(3),
          labelAttributes: (i: number) => ({ class: `s11 ${all[i] === best ? "bold" : "second"}` }),
        })
      );
    }),
  ].join("");
}

/** All 72 heads: by how much the last cosine rises when one is off. Shown once the reader has turned one off. */
function heads({ numbers: n, state }: BecomesView): string {
  if (state.quarters === 4) return "";
  const all = n.rises.flat();
  const styleOf = (i: number) => ({ class: i === 4 ? "fv" : "fthird" });
  const band = bandScale(all.length, [530, 845], 0.2);
  const y = scaleOf({ domain: [-0.06, 0.16], range: [506, 430] });
  return [
    text(530, 416, "one of 72 heads off: by how much the last cosine rises", { class: "second s12" }),
    line(530, y(0), 845, y(0), "lthird"),
    named("heads", barY({ values: all, band, scale: y, attributes: styleOf })),
    text(band.middle(4) + 8, y(0.1), `layer 0, head 4: +${number(all[4])}`, { class: "bold tv s12" }),
    ...n.rises.map((row, layer) =>
      text(band.middle((layer + 0.5) * row.length - 0.5), 524, `layer ${layer}`, { class: "mid third s11" }),
    ),
  ].join("");
}

function picture(view: BecomesView): string {
  if (view.wide) return plane(view) + apart(view) + neighbors(view) + heads(view);
  const { numbers: n, state } = view;
  const near = n.path.near.map((layers) => layers[state.layer].map((cosine) => cosine.toFixed(2)));
  const cells = [
    ["", ...n.words],
    ["time", ...near[0]],
    ["fruit", ...near[1]],
  ].flatMap((column, c) =>
    column.map((cell, row) =>
      text([264, 343, 373][c], 186 + 16 * row, cell, {
        class: `${c === 0 ? "" : "end"} s11 ${row === 0 ? "bold tv" : ""}`,
      }),
    ),
  );
  return (
    plane(view) +
    cells.join("") +
    [`after layer ${state.layer}`, "cosine of", "the two", "“flies”:"]
      .map((word, i) => text(268, 60 + 16 * i, word, { class: "second s12" }))
      .join("") +
    text(268, 128, number(n.path.apart[state.layer]), { class: "bold s15" })
  );
}

/** The nearest of the six words in a sentence (0: time, 1: fruit). */
export const nearest = ({ numbers: n, state }: BecomesView, sentence: number) => {
  const all = n.path.near[sentence][state.layer];
  const at = indexOfLargest(all);
  return { word: n.words[at], cosine: all[at] };
};
export const cosineNow = ({ numbers: n, state }: BecomesView) => n.path.apart[state.layer];
export const strength = (quarters: number) => `${25 * quarters} %`;

/** The slider of the head: where the text is about it, and once the reader has changed something. */
const headSlider = ({ quarters }: Becomes) =>
  html`<label>head ${slider("Output of layer 0, head 4", { min: 0, max: 4, step: 1, value: quarters }, strength(quarters), "quarters")}</label>`;

export const path: BecomesPicture = {
  picture,
  label: (view) =>
    `“flies” in two sentences after layer ${view.state.layer}: cosine ${number(cosineNow(view))}. In “time flies” the nearest word is ${nearest(view, 0).word}, in “fruit flies” ${nearest(view, 1).word}.`,
  caption: (view) =>
    html`After layer ${view.state.layer}${view.state.quarters === 4 ? "" : html`, with ${strength(view.state.quarters)} of layer 0, head 4`}, the two “flies” have a cosine of <b>${number(cosineNow(view))}</b>. ${view.state.layer === 0 ? "No word has looked at another yet." : html`Nearest of six words: “${nearest(view, 0).word}” in “time flies”, “${nearest(view, 1).word}” in “fruit flies”.`}`,
  control: ({ state, changed }) =>
    html`<label>layer ${slider("Layers that have run", { min: 0, max: 6, step: 1, value: state.layer }, state.layer, "layer")}</label>${changed || state.layer === 6 ? headSlider(state) : ""}`,
  typescript: ({ numbers: n, state }) => `import { tensor } from "heed";
import { matmul } from "heed/nn";

// “flies” after layer ${state.layer} in both sentences: of
// 384 numbers, the plane that the two vectors span.
const time = [${n.pair[0].join(", ")}];
const fruit = [${n.pair[1].join(", ")}];

const unit = (x) => {
  const length = Math.hypot(...x);
  return tensor(
    Float64Array.from(x, (v) => v / length),
    [1, x.length]);
};
const cosine = matmul(unit(time), unit(fruit),
  { transposeB: true });
console.log(cosine.toFloat64()[0].toFixed(3));`,
  python: ({ numbers: n, state }) => `import numpy as np

# "flies" after layer ${state.layer} in both sentences: of
# 384 numbers, the plane that the two vectors span.
time = np.array([${n.pair[0].join(", ")}])
fruit = np.array([${n.pair[1].join(", ")}])

def unit(x):
    return x / np.linalg.norm(x)

cosine = unit(time) @ unit(fruit)
print(f"{cosine:.3f}")`,
  printed: ({ numbers: n }) => n.rounded.toFixed(3),
  highlight: ["const cosine = matmul(", "cosine = unit(time)"],
  table: ({ numbers: n, state }) => ({
    caption: `Cosines of “flies” with ${strength(state.quarters)} of layer 0, head 4`,
    columns: ["after layer", "of the two", ...n.words.flatMap((word) => [`time: ${word}`, `fruit: ${word}`])],
    rows: n.path.apart.map((cosine, layer) => [
      layer,
      Number(cosine.toFixed(4)),
      ...n.words.flatMap((_, i) => [0, 1].map((s) => Number(n.path.near[s][layer][i].toFixed(4)))),
    ]),
  }),
};
