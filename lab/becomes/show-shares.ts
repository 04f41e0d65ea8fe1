/** The shares of "flies", which are dragged, its context vector as a sum in the plane of two values, and what that makes of the word. */
import { dotMarks, lineMark, scaleOf, text } from "../../src/view/plot/index.ts";
import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { arrow, axisOf, draggable, line, named, rect, signed } from "../frame/marks.ts";
import type { Drag } from "../frame/page.ts";
import { codeLines, indexOfLargest, literal, percent } from "../frame/words.ts";
import type { Becomes, BecomesNumbers } from "./compute.ts";
import type { BecomesPicture, BecomesView } from "./shown.ts";

/** The tokens of the first sentence, and the word of the other. */
const TOKENS = ["start", "time", "flies", "like", "an", "arrow", "end", "fruit"];
export const [TIME, FRUIT] = [1, 7];

/** Where the bars and the plane are. */
const placesAt = (wide: boolean) => ({
  share: scaleOf({ domain: [0, 1], range: wide ? [70, 320] : [42, 150], clamp: true }),
  top: (i: number) => (wide ? 66 + 50 * i + (i === FRUIT ? 36 : 0) : 24 + 28 * i + (i === FRUIT ? 22 : 0)),
  high: wide ? 30 : 22,
  x: scaleOf({ domain: [-1.4, 4.4], range: wide ? [414, 846] : [206, 373] }),
  y: scaleOf({ domain: [-0.5, 3.9], range: wide ? [404, 76] : [172, 46] }),
  small: wide ? "s12" : "s11",
});

function bars({ numbers: { context }, wide }: BecomesView): string {
  const { share: at, top, high, small } = placesAt(wide);
  const marks = context!.shares.map((share, i) => {
    const [y0, y1, end] = [top(i), top(i) + high, at(share)];
    const label = (x: number, words: string, kind: string) =>
      text(x, y0 + high / 2 + 4, words, { class: `${kind} ${small}` });
    return draggable(
      `share:${i}`,
      `Share of “${TOKENS[i]}”${i === FRUIT ? " of the other sentence" : ""}`,
      { now: Number((100 * share).toFixed(1)), min: 0, max: 100, text: `${(100 * share).toFixed(1)} %` },
      rect(at(0) - 40, y0 - 3, at(1) + 40, y1 + 3, { class: "hit" }) +
        label(at(0) - 8, TOKENS[i], `end ${i === TIME || i === FRUIT ? "bold tv" : ""}`) +
        rect(at(0), y0, at(1), y1, { class: "fhover" }) +
        rect(at(0), y0, end, y1, { class: "fw" }) +
        rect(end - 4, y0 - 2, end + 4, y1 + 2, { rx: 3, class: "fw grip" }) +
        label(end + 9, `${(100 * share).toFixed(1)} %`, "mono halo"),
      "across",
    );
  });
  const x = at(0) - (wide ? 50 : 38);
  return [
    text(
      x,
      wide ? 44 : 14,
      `shares of “flies”: together ${percent(context!.shares.reduce((a, b) => a + b))}`,
      { class: `second ${small}` },
    ),
    named("shares", marks.join("")),
    text(x, top(FRUIT) - 10, "from the other sentence:", { class: `second ${small}` }),
  ].join("");
}

function plane({ numbers: { context: n }, wide }: BecomesView): string {
  const { x, y, small } = placesAt(wide);
  const point = ([a, b]: readonly number[]) => [x(a), y(b)] as const;
  const from = point([0, 0]);
  const label = (of: readonly number[], dx: number, dy: number, words: string, kind: string) =>
    text(x(of[0]) + dx, y(of[1]) + dy, words, { class: `${kind} tv halo ${small}` });
  const { values, shares, models, context } = n!;
  // Shares × values, one after the other.
  const path = [[0, 0]];
  for (const [i, [a, b]] of values.entries())
    path.push([path[i][0] + shares[i] * a, path[i][1] + shares[i] * b]);
  const legend = wide
    ? [
        "Thin arrows are values. Line with dots: share × value, one after the other.",
        "Thick arrow: their sum, the context vector of “flies”. Rings: the model’s.",
      ]
    : ["Thin: values. Thick: sum of", "share × value. Rings: model’s"];
  return [
    ...legend.map((one, i) =>
      text(x(-1.4), (wide ? 44 : 14) + (wide ? 18 : 14) * i, one, { class: `second ${small}` }),
    ),
    line(x(-1.4), y(0), x(4.4), y(0), "lline") + line(x(0), y(-0.5), x(0), y(3.9), "lline"),
    named(
      "values",
      dotMarks(values.map(point), 3, { class: "fv soft" }) +
        [TIME, FRUIT].map((i) => arrow(...from, ...point(values[i]), "lv thin")).join("") +
        label(values[TIME], 0, 18, "time", "mid") +
        label(values[FRUIT], 10, 4, "fruit", "") +
        label([-1.4, 0.85], 0, 0, wide ? "the other six" : /* text */ "others", ""),
    ),
    dotMarks(models.map(point), 8, { class: "none lv thin" }),
    label(models[0], 0, -14, "in “time flies”", "mid bold") +
      label(models[1], 14, 8, "in “fruit flies”", "bold"),
    named("context", arrow(...from, ...point(context), "lv thick", 12)),
    named(
      "sum",
      lineMark(path.map(point), { class: "none lw" }) + dotMarks(path.map(point), 2, { class: "fw" }),
    ),
  ].join("");
}

/** Cosines of the word after attention with "runs" and "insect"; the ring has the model's shares. */
function near({ numbers: { context }, wide }: BecomesView): string {
  const { near, modelNear } = context!;
  const x = scaleOf({ domain: [0.35, 0.47], range: wide ? [480, 780] : [256, 332] });
  const y = (i: number) => (wide ? 464 + 26 * i : 226 + 22 * i);
  const small = wide ? "s12" : "s11";
  const title = wide
    ? ["“flies” after this attention: cosine with"]
    : ["“flies” after this", "attention: cosine with"];
  return [
    ...title.map((one, i) =>
      text(wide ? 414 : 206, (wide ? 440 : 194) + 14 * i, one, { class: `second ${small}` }),
    ),
    wide ? axisOf("bottom", x, 508, [0.35, 0.4, 0.45], { format: (value) => value.toFixed(2) }) : "",
    ...near.map(
      (cosine, i) =>
        text(x(0.35) - 8, y(i) + 4, ["“runs”", "“insect”"][i], { class: `end ${small}` }) +
        line(x(0.35), y(i), x(0.47), y(i), "lline") +
        dotMarks([[x(modelNear[i]), y(i)]], 8, { class: "none lv thin" }) +
        dotMarks([[x(cosine), y(i)]], 5, { class: "fv" }) +
        text(wide ? 846 : 373, y(i) + 4, cosine.toFixed(3), { class: `end bold ${small}` }),
    ),
  ].join("");
}

const sentenceOf = ({ shares, cosines: [time, fruit] }: NonNullable<BecomesNumbers["context"]>) => {
  const first = indexOfLargest(shares);
  const largest =
    shares[first] - Math.min(...shares) < 1e-6
      ? "“flies” takes the same from all eight"
      : `“flies” takes the most, ${percent(shares[first])}, from “${TOKENS[first]}”`;
  return `${largest}. Cosine of its context vector with the model’s: ${signed(time, 2)} in “time flies”, ${signed(fruit, 2)} in “fruit flies”.`;
};

const listed = ({ numbers: { context } }: BecomesView, comment: string) => ({
  shares: `[
${codeLines(context!.shares.map(literal), 4, "  ")}]`,
  values: context!.values
    .map((value, i) => `  [${value.map(literal).join(", ")}], ${comment} ${TOKENS[i]}`)
    .join("\n"),
});

export const shares: BecomesPicture = {
  picture: (view) => bars(view) + plane(view) + near(view),
  label: ({ numbers: { context } }) => sentenceOf(context!),
  caption: ({ numbers: { context } }) => html`${sentenceOf(context!)}`,
  control: ({ state }) =>
    html`<span class="wide-only">Drag a share, or use the arrow keys on it.</span>${choice(
      "Shares",
      [
        ["", "the model’s"],
        [TOKENS.map(() => 100 / TOKENS.length).join(","), "all equal"],
      ],
      state.shares.join(","),
      "shares",
    )}`,
  typescript: (view) => `import { tensor } from "heed";
import { matmul } from "heed/nn";

// Shares of “flies”, and the value of each token in
// the plane of those of “time” and “fruit”.
const shares = ${listed(view, "").shares};
const values = [
${listed(view, "//").values}
];

const context = matmul(
  tensor(Float64Array.from(shares), [1, 8]),
  tensor(Float64Array.from(values.flat()), [8, 2]));
console.log([...context.toFloat64()]
  .map((x) => x.toFixed(3)).join(" "));`,
  python: (view) => `import numpy as np

# Shares of "flies", and the value of each token in
# the plane of those of "time" and "fruit".
shares = np.array(${listed(view, "").shares})
values = np.array([
${listed(view, "#").values}
])

context = shares @ values
print(" ".join(f"{x:.3f}" for x in context))`,
  printed: ({ numbers: { context } }) => context!.printed.map((x) => x.toFixed(3)).join(" "),
  highlight: ["const context = matmul(", "context = shares @"],
  table: ({ numbers: { context } }) => ({
    caption: "Shares, and values and context vector in the plane of “time” and “fruit”",
    columns: ["token", "share", "right", "up"],
    rows: [...context!.values, context!.context].map((point, i) => [
      TOKENS[i] ?? "context vector",
      ...[context!.shares[i] ?? 1, ...point].map((x) => Number(x.toFixed(4))),
    ]),
  }),
};

/** Shares with one of them set: the others keep their proportions. No share of a softmax is 1. */
const withShare = (all: readonly number[], at: number, wanted: number) => {
  const share = Math.min(0.999, Math.max(0, wanted));
  const rest = all.reduce((a, b) => a + b) - all[at];
  const part = (other: number) => (rest > 0 ? other / rest : 1 / (all.length - 1));
  return { shares: all.map((other, i) => 100 * (i === at ? share : part(other) * (1 - share))) };
};
const sharesOf = ({ numbers: { context }, state }: BecomesView) =>
  state.shares.length > 0 ? state.shares.map((share) => share / 100) : context!.modelShares;

export const dragShare: Drag<Becomes, BecomesNumbers> = {
  move(view, name, { x }, gesture) {
    gesture.memo ??= sharesOf(view);
    const start = gesture.memo as readonly number[];
    return withShare(start, Number(name), placesAt(view.wide).share.invert(x));
  },
  key(view, name, dx, dy) {
    const all = sharesOf(view);
    return withShare(all, Number(name), all[Number(name)] + (dx + dy) / 100);
  },
};

/** The state's shares with a sum of 100, whatever an address requested, with the decimals of an address. */
export const summed = (list: readonly number[]): readonly number[] => {
  const total = list.reduce((a, b) => a + b, 0);
  if (total === 0) return [];
  return Math.abs(total - 100) < 0.01 ? list : list.map((share) => Math.round((1e6 * share) / total) / 1e4);
};
