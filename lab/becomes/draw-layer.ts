/** The layer around attention for one word: a row of numbers for each step, and the two residual connections. */
import { element, text } from "../../src/view/plot/svg.ts";
import { arrow, named, rect, signed } from "../frame/marks.ts";
import { LAYER_STEPS, WORDS } from "./layer-steps.ts";

/** The steps that a residual connection leads from and to. */
const RESIDUAL = [
  [1, 4],
  [5, 7],
] as const;

/** The picture: `steps` are the numbers of each step for all words. */
export function drawLayer(
  steps: readonly (readonly (readonly number[])[])[],
  word: number,
  wide: boolean,
): string {
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
            class: value < 0 ? "fk" : "fq",
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
