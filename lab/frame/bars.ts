/** Panels of bars: what several ways cost. */
import { bandScale, barX, scaleOf, text } from "../../src/view/plot/index.ts";

/** A bar for each of several ways, with labels; `largest` is where the axis ends, by default the largest value. A NaN has no bar. */
export type BarPanel = readonly [
  title: string,
  values: readonly number[],
  label: (value: number) => string,
  largest?: number,
];

/** Where panels of bars are: the ends of the bars, the height of a panel, and the baseline of its title. */
export function panelsAt(panels: number, wide: boolean) {
  const [x0, x1, first, all] = wide ? [124, 720, 64, 474] : [66, 284, 32, 258];
  return { x0, x1, height: all / panels, top: (p: number) => first + (p * all) / panels };
}

/** Panels of bars, one below the other, with the names on the left. */
export function barPanels(
  names: readonly string[],
  title: string,
  wide: boolean,
  panels: readonly BarPanel[],
): string {
  const { x0, x1, height, top } = panelsAt(panels.length, wide);
  const size = wide ? "" : "s11";
  const drawn = panels.map(([title, exact, label, largest], p) => {
    const values = exact.map((value) => value || 0);
    const domain = [0, largest ?? Math.max(1e-3, ...values)] as const;
    const band = bandScale(values.length, [top(p) + height * 0.08, top(p) + height * 0.84], 0.3);
    const name = (_: unknown, w: number) =>
      text(x0 - 8, band.middle(w) + 4, names[w], { class: `end bold ${size}` });
    const bars = barX({
      ...{ values, band, scale: scaleOf({ domain, range: [x0, x1] }), label: (w) => label(exact[w]) },
      ...{ attributes: { class: "fthird" }, track: { class: "fhover" }, labelAttributes: { class: size } },
    });
    return text(x0, top(p), title, { class: `second ${size}` }) + values.map(name).join("") + bars;
  });
  return text(x0, wide ? 30 : 13, title, { class: "bold" }) + drawn.join("");
}
