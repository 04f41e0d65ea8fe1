/** The shares of 32 words in the gradient of the last output, on a logarithmic axis, with a band over the draws. */
import { element, lineMark, linePath, powerLabel, scaleOf, text } from "../../src/view/plot/index.ts";
import { axisOf, line, named } from "../frame/marks.ts";
import type { Reach, Reaches } from "./reach.ts";

/** The smallest power of ten on the axis. */
const LOWEST = -8;

/** A power of ten on an axis. */
export const powerText = (power: number) => (power === 0 ? "1" : powerLabel(power));

/** Where the plot is, and its scales. */
export function reachAt(wide: boolean) {
  const [x0, x1, y0, y1] = wide ? [80, 820, 64, 460] : [44, 364, 34, 240];
  return {
    ...{ x0, x1, y0, y1 },
    x: scaleOf({ domain: [1, 32], range: [x0, x1] }),
    y: scaleOf({ domain: [LOWEST, 0], range: [y1, y0], clamp: true }),
  };
}

/** The plot; that of the recurrent network is left out before the reader has guessed. */
export function reach({ recurrent, attention }: Reaches, wide: boolean, isShown: boolean): string {
  const { x0, x1, y0, y1, x, y } = reachAt(wide);
  const small = wide ? "s12" : "s11";
  const even = y(Math.log10(1 / 32));
  const at = (values: readonly number[]) =>
    values.map((share, i) => [Math.round(x(i + 1)), Math.round(y(Math.log10(share)))] as const);
  const curve = (name: string, { middle, low, high }: Reach, color: string) =>
    named(
      name,
      element("path", { d: linePath([...at(low), ...at(high).reverse()]), class: `f${color} soft` }) +
        lineMark(at(middle), { class: `l${color}` }),
    );
  return [
    text(x0 - (wide ? 50 : 36), y0 - 18, "share in the gradient of the last output", {
      class: `bold ${small}`,
    }),
    axisOf("bottom", x, y1, wide ? [1, 8, 16, 24, 32] : [1, 16, 32], { gap: 15 }),
    axisOf("left", y, x0, [0, -2, -4, -6, -8], { grid: x1, format: powerText }),
    text(x1, y1 + (wide ? 36 : 30), "word, 32 is the last", { class: `end second ${small}` }),
    line(x0, even, x1, even, "lthird dash"),
    isShown ? curve("recurrent", recurrent, "b") : "",
    curve("attention", attention, "w"),
    text(x(18), even - 28, "dashed: all words equal, 3 %", { class: "mid third s11 halo" }),
    text(x(wide ? 12 : 13), y(-2.5), "attention", { class: `tw bold halo ${small}` }),
    isShown
      ? text(x(wide ? 16.5 : 17), y(-4.9), "recurrent network", { class: `tb bold halo ${small}` })
      : text((x0 + x1) / 2, y(-5), "the recurrent network: guess first", { class: `mid third ${small}` }),
  ].join("");
}
