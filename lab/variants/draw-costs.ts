/** Operations, memory and time of each way, as bars. */
import { bandScale, barX, scaleOf, text } from "../../src/view/plot/index.ts";
import { named } from "../frame/marks.ts";
import { byteCount, count, number } from "../frame/words.ts";
import { COLORS, SHORT, SIZES, type VariantsView, WAYS } from "./state.ts";

/** What each way costs at the race's n. The axes of work and memory end at the whole matrix of the largest n, so sizes are compared, too. */
export function costs({ numbers: n, state, wide }: VariantsView): string {
  const [x0, x1, top, height] = wide ? [124, 720, 64, 158] : [66, 284, 32, 86];
  const [matrix] = n.costs;
  const measured = !Number.isNaN(matrix.ms);
  const growth = (Math.max(...SIZES) / state.n) ** 2;
  const panels: [string, number[], number, (value: number) => string][] = [
    ["multiply and add", n.costs.map((cost) => cost.operations), matrix.operations * growth, count],
    ["memory in between", n.costs.map((cost) => cost.bytes), matrix.bytes * growth, byteCount],
    [
      measured ? "time here" : "time here: press Race",
      n.costs.map(({ ms }) => (measured ? ms : 0)),
      Math.max(1e-3, ...n.costs.map(({ ms }) => (measured ? ms : 0))),
      (ms) => (measured ? `${number(ms)} ms` : ""),
    ],
  ];
  return named(
    "costs",
    text(wide ? 16 : 8, wide ? 30 : 13, `at n = ${state.n.toLocaleString("en-US")}, vectors of 64 numbers`, {
      class: wide ? "s15 bold" : "bold s12",
    }) +
      panels
        .map(([title, values, largest, label], p) => {
          const y = top + p * height;
          const band = bandScale(values.length, [y + (wide ? 12 : 6), y + height - (wide ? 24 : 14)], 0.3);
          return (
            text(x0, y, title, { class: `second ${wide ? "" : "s11"}` }) +
            values
              .map((_, w) =>
                text(x0 - 8, band.middle(w) + 4, (wide ? WAYS : SHORT)[w], {
                  class: `end bold ${w === 0 ? "" : `t${COLORS[w]}`} ${wide ? "" : "s11"}`,
                }),
              )
              .join("") +
            barX({
              values,
              band,
              scale: scaleOf({ domain: [0, largest], range: [x0, x1] }),
              attributes: (w) => ({ class: w === 0 ? "fthird" : `f${COLORS[w]}` }),
              track: { class: "fhover" },
              label: (w) => label(values[w]),
              labelAttributes: { class: `mono ${wide ? "" : "s11"}` },
            })
          );
        })
        .join(""),
  );
}
