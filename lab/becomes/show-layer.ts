/** The layer around attention for one word: a row of numbers for each step, and the two residual connections. */
import { element, text } from "../../src/view/plot/svg.ts";
import { choice } from "../../ui/controls.ts";
import { html } from "../../ui/markup.ts";
import { arrow, named, rect, signed } from "../frame/marks.ts";
import { throwControl } from "../frame/throw.ts";
import { codeLines } from "../frame/words.ts";
import { LAYER_STEPS, WORDS } from "./layer-steps.ts";
import type { BecomesPicture, BecomesView } from "./shown.ts";

/** The steps that a residual connection leads from and to. */
const RESIDUAL = [
  [1, 4],
  [5, 7],
] as const;

function picture({ numbers: { steps }, state: { word }, wide }: BecomesView): string {
  const { left, top, w, h, high } = wide
    ? { left: 306, top: 66, w: 58, h: 52, high: 34 }
    : { left: 88, top: 30, w: 33, h: 29.5, high: 22 };
  const y = (step: number) => top + step * h;
  const small = wide ? "s12" : "s11";
  const right = left + 8 * w;
  const row = (values: readonly number[], step: number) =>
    values
      .map(
        (value, d) =>
          rect(left + d * w + 1, y(step), left + (d + 1) * w - 1, y(step) + high, {
            rx: 2,
            class: value < 0 ? "fthird" : "fq",
            "fill-opacity": Math.min(0.6, 0.06 + 0.22 * Math.abs(value)).toFixed(2),
          }) +
          text(left + (d + 0.5) * w, y(step) + high / 2 + 4, signed(value, wide ? 2 : 1), {
            class: `mid mono ${small}`,
          }),
      )
      .join("");
  return [
    text(wide ? 20 : 4, top - 18, `“${WORDS[word]}” goes through a layer`, {
      class: `bold ${wide ? "" : "s12"}`,
    }),
    ...LAYER_STEPS.map(([name, short, letter], step) => {
      const isAttention = step === 2;
      return named(
        `step${step}`,
        text(left - (wide ? 62 : 6), y(step) + high / 2 + 4, wide ? name : short, {
          class: `end ${small} ${isAttention ? "tw bold" : ""}`,
        }) +
          (wide ? text(left - 12, y(step) + high / 2 + 4, letter, { class: "end serif bold" }) : "") +
          row(steps[step][word], step) +
          (step === 0 ? "" : arrow(left + 4 * w, y(step) - h + high, left + 4 * w, y(step) - 1, "lthird", 4)),
      );
    }),
    ...RESIDUAL.map(([from, to]) => {
      const [a, b, out] = [y(from) + high / 2, y(to) + high / 2, right + (wide ? 34 : 8)];
      return named(
        "residual",
        element("path", { d: `M${right + 1} ${a}H${out}V${b}H${right + 1}`, class: "lthird" }) +
          (wide
            ? arrow(out, b, right + 2, b, "lthird", 6) +
              text(out + 6, (a + b) / 2 + 4, "+", { class: "second bold" })
            : ""),
      );
    }),
  ].join("");
}

/** x, a, x + a and y among the steps of the layer. */
const SAID = [1, 3, 4, 5];
const lines = (row: readonly number[]) => `
${codeLines(row, 4, "  ")}`;

export const layer: BecomesPicture = {
  picture,
  label: ({ state }) =>
    `The nine steps of a layer for “${WORDS[state.word]}”, eight numbers each; the table has them.`,
  caption: ({ numbers: { steps }, state: { word, seed } }) =>
    html`“${WORDS[word]}” in an untrained layer. The first of its numbers: ${SAID.map((at) => signed(steps[at][word][0], 2)).join(", ")} as x, a, x + a and y. Words and parameters are random, seed ${seed}.`,
  control: ({ state }) =>
    html`${choice(
      "Word",
      WORDS.map((word, at) => [at, word] as const),
      state.word,
      "word",
    )}${throwControl(state.seed)}`,
  typescript: ({
    numbers: {
      sums: [x, y],
    },
    state,
  }) => `import { tensor } from "heed";
import { layerNorm } from "heed/nn";

// “${WORDS[state.word]}”: the two residual sums of the layer.
const xPlusA = [${lines(x)}];
const yPlusM = [${lines(y)}];

for (const sum of [xPlusA, yPlusM]) {
  const row = Float64Array.from(sum);
  const norm = layerNorm(tensor(row, [1, 8]));
  console.log([...norm.toFloat64()]
    .map((x) => x.toFixed(2)).join(" "));
}`,
  python: ({
    numbers: {
      sums: [x, y],
    },
    state,
  }) => `import numpy as np

# "${WORDS[state.word]}": the two residual sums of the layer.
x_plus_a = np.array([${lines(x)}])
y_plus_m = np.array([${lines(y)}])

for s in (x_plus_a, y_plus_m):
    norm = (s - s.mean()) / np.sqrt(s.var() + 1e-5)
    print(" ".join(f"{x:.2f}" for x in norm))`,
  printed: ({ numbers: { norms } }) => norms.map((row) => row.map((x) => x.toFixed(2)).join(" ")).join("\n"),
  highlight: ["layerNorm(tensor", "(s - s.mean())"],
  table: ({ numbers: { steps }, state }) => ({
    caption: `“${WORDS[state.word]}” in the layer`,
    columns: ["step", ...Array.from({ length: 8 }, (_, d) => d + 1)].map(String),
    rows: steps.map((rows, step) => [
      LAYER_STEPS[step][0],
      ...rows[state.word].map((x) => Number(x.toFixed(4))),
    ]),
  }),
};
