/** Flash, tile by tile. */
import { element, text } from "../../src/view/plot/svg.ts";
import { line, named, rect } from "../frame/marks.ts";
import { number } from "../frame/words.ts";
import { TILES } from "./shown.ts";
import type { VariantsView } from "./state.ts";

/** Flash on one row: its scores by tiles, and all that is kept. */
export function tiles(view: VariantsView): string {
  const { numbers: n, state, wide } = view;
  const [x0, x1, y0, y1] = wide ? [40, 830, 70, 330] : [24, 360, 52, 186];
  const all = n.tiles.flatMap(({ scores }) => scores);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const y = (score: number) => y1 - ((score - low) / (high - low || 1)) * (y1 - y0);
  const width = (x1 - x0) / TILES;
  const each = n.n / TILES;
  const now = state.tile === 0 ? undefined : n.tiles[state.tile - 1];
  const parts: string[] = [
    text(
      x0 - (wide ? 24 : 16),
      y0 - 24,
      `Flash, one word as query (${n.query}): its ${n.n} scores in tiles of ${each}`,
      {
        class: wide ? "bold" : "bold s12",
      },
    ),
  ];
  for (const [t, { scores }] of n.tiles.entries()) {
    const x = x0 + t * width;
    const done = t < state.tile;
    const step = width / each;
    parts.push(
      rect(x + 1, y0 - 6, x + width - 1, y1 + 6, {
        class: t === state.tile - 1 ? "fhover" : "none lline",
      }),
      element("path", {
        // One outline with whole heights: the picture of the markup stays small.
        d: `M${x} ${y1}${scores.map((score) => `V${Math.round(y(score))}h${Number(step.toFixed(3))}`).join("")}V${y1}`,
        class: done ? "fthird" : "fthird soft",
      }),
    );
  }
  if (now !== undefined) {
    const edge = x0 + state.tile * width;
    parts.push(
      named("maximum", line(x0, y(now.maximum), edge, y(now.maximum), "link")),
      text(Math.min(edge, x1 - 80), y(now.maximum) - 6, `maximum so far ${number(now.maximum)}`, {
        class: "bold s12 halo end",
      }),
    );
  }
  const base = y1 + (wide ? 36 : 26);
  const facts: [string, string][] =
    now === undefined
      ? [["nothing read yet", "press “next tile”"]]
      : [
          ["earlier sums multiplied by", number(now.rescale)],
          ["sum of e^(score − maximum)", number(now.sum)],
          ["maximum + log of the sum so far", number(n.merged[state.tile - 1][0], 4)],
          ["output so far, first number", number(n.merged[state.tile - 1][1])],
        ];
  for (const [f, [name, value]] of facts.entries())
    parts.push(
      text(wide ? x0 : 8, base + f * (wide ? 22 : 17), name, { class: "second s12" }),
      text(wide ? x0 + 190 : 190, base + f * (wide ? 22 : 17), value, { class: "mono s12 bold" }),
    );
  // Memory: a tile, against what the whole row would need by now.
  const [mx, mw] = wide ? [480, 350] : [250, 112];
  const bar = (y: number, share: number, name: string, title: string) =>
    text(mx, y - 4, title, { class: "s12 second" }) +
    element("rect", { x: mx, y, width: mw, height: 12, class: "fhover" }) +
    element("rect", { x: mx, y, width: mw * share, height: 12, class: name });
  parts.push(
    named(
      "memory",
      bar(
        base + 4,
        state.tile === 0 ? 0 : 1 / TILES,
        "fthird",
        wide
          ? `scores in memory with Flash: ${state.tile === 0 ? 0 : each}, now and always`
          : `Flash: ${state.tile === 0 ? 0 : each}`,
      ) +
        bar(
          base + 44,
          state.tile / TILES,
          "fthird",
          wide ? `by the whole matrix: ${state.tile * each} so far` : `matrix: ${state.tile * each}`,
        ),
    ),
  );
  return parts.join("");
}
