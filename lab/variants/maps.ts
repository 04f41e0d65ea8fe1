/** The maps of weights of the four ways. */
import { element, text } from "../../src/view/plot/svg.ts";
import { named, weightClass } from "../frame/marks.ts";
import { BANDS } from "./shown.ts";
import { SHORT, type VariantsView, WAY_KEYS, WAYS, wayMark, wrong } from "./state.ts";

/** Where the maps are: corner, size, distance from one to the next. */
const mapsAt = (wide: boolean) => (wide ? [16, 52, 160, 212] : [8, 22, 84, 92]);

/** Every fourth color of the scale: neighbors in a map are then often alike, and the page is smaller. */
const mapClass = (weight: number) => `w${4 * Math.round(Number(weightClass(weight).slice(1)) / 4)}`;

/** The four maps of weights. */
export function maps(view: VariantsView): string {
  const { numbers: n, wide } = view;
  const [x0, y0, size, step] = mapsAt(wide);
  const unit = size / BANDS;
  const parts: string[] = [];
  for (const [w, way] of n.ways.entries()) {
    const x = x0 + w * step;
    // One path for each color: lines as wide as a cell, each from the end of the one before, which packs well. The most frequent
    // color is below all others.
    const colors = way.map.flat().map(mapClass);
    const counts = new Map<string, number>();
    for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
    const [ground] = [...counts].reduce((best, one) => (one[1] > best[1] ? one : best));
    const paths = new Map<string, { d: string; i: number; j: number }>();
    for (let at = 0; at < colors.length; ) {
      const color = colors[at];
      const [i, j] = [Math.floor(at / BANDS), at % BANDS];
      let end = j + 1;
      while (end < BANDS && colors[i * BANDS + end] === color) end++;
      if (color !== ground) {
        const path = paths.get(color);
        const start = path ? `${path.d}m${j - path.j} ${i - path.i}` : `M${j} ${i}.5`;
        paths.set(color, { d: `${start}h${end - j}`, i, j: end });
      }
      at += end - j;
    }
    const cells =
      element("rect", { width: BANDS, height: BANDS, class: ground }) +
      [...paths].map(([color, { d }]) => element("path", { d, class: color })).join("");
    parts.push(
      wayMark(w, x + 6, wide ? 15 : 10, wide ? 6 : 4),
      text(w === 0 ? x : x + 18, wide ? 20 : 14, (wide ? WAYS : SHORT)[w], {
        class: `bold ${wide ? "s15" : "s12"}`,
      }),
      wide || w < 2 ? "" : text(x, y0 + size + 14, wrong(way.error), { class: "bold s12" }),
      named(
        WAY_KEYS[w],
        element(
          "g",
          {
            transform: `translate(${x} ${y0}) scale(${unit})`,
            "shape-rendering": "crispEdges",
            class: "runs",
          },
          cells,
        ),
      ),
      element("rect", { x, y: y0, width: size, height: size, class: "none lline" }),
    );
    if (wide)
      parts.push(
        text(
          x,
          40,
          [
            `all ${n.n} × ${n.n} weights`,
            "in tiles, none is kept",
            `${n.window} to each side, and word 0`,
            `${n.features} random features`,
          ][w],
          { class: "second s12" },
        ),
        text(x, y0 + size + 20, `wrong by ${wrong(way.error)}`, { class: `${w > 1 ? "bold" : "second"}` }),
      );
  }
  return parts.join("");
}
