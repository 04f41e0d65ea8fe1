/** Operations, memory and time of each way. */
import { label, mark, named } from "../frame/svg.ts";
import { byteCount, count, number } from "../frame/words.ts";
import { COLORS, type PageView, SHORT, WAYS } from "./state.ts";

/** What each way costs at the race's n. */
export function costs(view: PageView): string {
  const { numbers: n, state, wide } = view;
  const [x0, step, top] = wide ? [16, 212, 300] : [8, 92, 150];
  const measured = !Number.isNaN(n.costs[0].ms);
  const most = Math.max(...n.costs.map(({ ms }) => (measured ? ms : 1)));
  const size = `n = ${state.n.toLocaleString("en-US")}, vectors of 64 numbers`;
  const parts = [
    label(x0, top - 24, wide ? `what it costs at ${size}` : size, { class: wide ? "bold" : "bold s12" }),
  ];
  for (const [w, cost] of n.costs.entries()) {
    const x = x0 + w * step;
    const rows: [string, string][] = [
      ["multiply and add", count(cost.operations)],
      ["memory in between", byteCount(cost.bytes)],
      ["time here", measured ? `${number(cost.ms)} ms` : "press Race"],
    ];
    parts.push(
      label(x, top, (wide ? WAYS : SHORT)[w], { class: `bold ${w === 0 ? "" : `t${COLORS[w]}`} s12` }),
    );
    for (const [r, [name, value]] of rows.entries()) {
      const y = top + 26 + r * 42;
      if (wide || w === 0) parts.push(label(x, y, name, { class: "second s11" }));
      parts.push(
        label(x, y + 17, value, { class: `${wide ? "" : "s11"} ${r === 2 && measured ? "bold" : ""}` }),
      );
    }
    if (measured)
      parts.push(
        mark("rect", { x, y: top + 138, width: wide ? 180 : 82, height: 10, class: "fhover" }),
        mark("rect", {
          x,
          y: top + 138,
          width: Math.max(1, ((wide ? 180 : 82) * cost.ms) / most),
          height: 10,
          class: w === 0 ? "fthird" : `f${COLORS[w]}`,
        }),
      );
  }
  return named("costs", parts.join(""));
}
