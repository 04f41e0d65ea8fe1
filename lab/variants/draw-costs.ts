/** Operations, memory and time of each way, as bars. */
import { bandScale, barX, scaleOf, text } from "../../src/view/plot/index.ts";
import { byteCount, count, number } from "../frame/words.ts";
import { COLORS, SHORT, SIZES, type VariantsView, WAYS } from "./state.ts";

/** What each way costs at the race's n. The axes of work and memory end at the whole matrix of the largest n, so sizes are compared, too. */
export function costs({ numbers: n, state, wide }: VariantsView): string {
  const [x0, x1, top, height] = wide ? [124, 720, 64, 158] : [66, 284, 32, 86];
  const [matrix] = n.costs;
  const measured = !Number.isNaN(matrix.ms);
  const growth = (Math.max(...SIZES) / state.n) ** 2;
  const ms = n.costs.map((cost) => (measured ? cost.ms : 0));
  const panels: [string, number[], number, (value: number) => string][] = [
    ["multiply and add", n.costs.map(({ operations }) => operations), matrix.operations * growth, count],
    ["memory in between", n.costs.map(({ bytes }) => bytes), matrix.bytes * growth, byteCount],
    ["time here", ms, Math.max(1e-3, ...ms), (time) => (measured ? `${number(time)} ms` : "press Race")],
  ];
  const size = wide ? "" : "s11";
  return (
    text(x0, wide ? 30 : 13, `n = ${state.n.toLocaleString("en-US")}, vectors of 64 numbers`, {
      class: "bold",
    }) +
    panels
      .map(([title, values, largest, label], p) => {
        const y = top + p * height;
        const band = bandScale(4, [y + height * 0.08, y + height * 0.84], 0.3);
        const names = values.map((_, w) =>
          text(x0 - 8, band.middle(w) + 4, (wide ? WAYS : SHORT)[w], {
            class: `end bold t${w === 0 ? "" : COLORS[w]} ${size}`,
          }),
        );
        const bars = barX({
          values,
          band,
          scale: scaleOf({ domain: [0, largest], range: [x0, x1] }),
          attributes: (w) => ({ class: w === 0 ? "fthird" : `f${COLORS[w]}` }),
          track: { class: "fhover" },
          label: (w) => label(values[w]),
          labelAttributes: { class: size },
        });
        return text(x0, y, title, { class: `second ${size}` }) + names.join("") + bars;
      })
      .join("")
  );
}
