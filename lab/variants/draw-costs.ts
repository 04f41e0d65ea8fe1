/** Operations, memory and time of each way. */
import { element, text } from "../../src/view/plot/svg.ts";
import { named } from "../frame/marks.ts";
import { byteCount, count, number } from "../frame/words.ts";
import { RACE } from "./shown.ts";
import { COLORS, SHORT, type VariantsView, WAYS } from "./state.ts";

/** What each way computes in the race. */
const COMPUTES = ["all weights", "all, in tiles", `${RACE.window} a side`, `${RACE.features} features`];

/** What each way costs at the race's n. */
export function costs(view: VariantsView): string {
  const { numbers: n, state, wide } = view;
  const [x0, step, top] = wide ? [16, 212, 96] : [8, 92, 66];
  const measured = !Number.isNaN(n.costs[0].ms);
  const largest = Math.max(...n.costs.map(({ ms }) => (measured ? ms : 1)));
  const size = `n = ${state.n.toLocaleString("en-US")}, vectors of 64 numbers`;
  const parts = [
    text(x0, top - 24, wide ? `what it costs at ${size}` : size, { class: wide ? "bold" : "bold s12" }),
  ];
  for (const [w, cost] of n.costs.entries()) {
    const x = x0 + w * step;
    const rows: [string, string][] = [
      ["computes", COMPUTES[w]],
      ["multiply and add", count(cost.operations)],
      ["memory in between", byteCount(cost.bytes)],
      ["time here", measured ? `${number(cost.ms)} ms` : "press Race"],
    ];
    parts.push(
      text(x, top, (wide ? WAYS : SHORT)[w], { class: `bold ${w === 0 ? "" : `t${COLORS[w]}`} s12` }),
    );
    for (const [r, [name, value]] of rows.entries()) {
      const y = top + 26 + r * 42;
      if (wide || w === 0) parts.push(text(x, y, name, { class: "second s11" }));
      parts.push(
        text(x, y + 17, value, { class: `${wide ? "" : "s11"} ${r === 3 && measured ? "bold" : ""}` }),
      );
    }
    if (measured)
      parts.push(
        element("rect", { x, y: top + 180, width: wide ? 180 : 82, height: 10, class: "fhover" }),
        element("rect", {
          x,
          y: top + 180,
          width: Math.max(1, ((wide ? 180 : 82) * cost.ms) / largest),
          height: 10,
          class: w === 0 ? "fthird" : `f${COLORS[w]}`,
        }),
      );
  }
  return named("costs", parts.join(""));
}
