/** What the charts share: a plot as text for a terminal and as SVG, the space of a drawing, and the document with its colors as classes. */

import { checkMethods, refuseValue } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { element, escapeXml, text } from "./svg.ts";

/** A plot: `console.log(plot)` and `String(plot)` draw it for a terminal, `plot.toSvg()` a picture that follows the reader's light or dark theme. */
export interface Plot {
  /** Lines for a terminal, of Unicode block characters. */
  toString(): string;
  /** A complete SVG document, 640 units wide or `width`, at least 320. */
  toSvg(options?: { readonly width?: number }): string;
}

/** A plot from a function that draws text and one that draws SVG. */
export function plotOf(draw: () => string, svg: (width: number) => string): Plot {
  const toSvg: Plot["toSvg"] = (options = {}) => {
    checkNames("toSvg", options, ["width"]);
    const { width = 640 } = options;
    if (!(Number.isFinite(width) && width >= 320)) refuseValue("toSvg", "width", "a number ≥ 320", width);
    return svg(width);
  };
  // `console.log(plot)` draws it.
  const plot = checkMethods("Plot", { toString: draw, toSvg }, { toString: 0, toSvg: 1 });
  return Object.defineProperty(plot, Symbol.for("nodejs.util.inspect.custom"), { value: () => draw() });
}

/** The ranges of a plot's scales inside its margins; y points up. */
export interface PlotArea {
  readonly x: readonly [left: number, right: number];
  readonly y: readonly [bottom: number, top: number];
}

/** The area of a plot of `width` × `height` inside its margins. */
export function plotArea(
  width: number,
  height: number,
  margin: { readonly top: number; readonly right: number; readonly bottom: number; readonly left: number },
): PlotArea {
  return { x: [margin.left, width - margin.right], y: [height - margin.bottom, margin.top] };
}

/** Colors of series, distinct for people with any color vision (Okabe & Ito 2008), on light and dark paper. */
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b"] as const;
const DARK = ["#56b4e9", "#ff8c42", "#2ec4a0", "#e6a3c9", "#e0b84c"] as const;

/** The class of the n-th series: `fill-0`, `stroke-0`. */
export const colorClass = (kind: "fill" | "stroke", n: number): string => `${kind}-${n % COLORS.length}`;

/** How the axes of charts look: classes of the document. */
export const CHART_AXIS = {
  label: { class: "soft" },
  title: { class: "soft" },
  line: { class: "line" },
  grid: { class: "grid" },
  size: 13,
} as const;

const rules = (colors: readonly string[]): string =>
  colors.map((color, n) => `.fill-${n}{fill:${color}}.stroke-${n}{stroke:${color}}`).join("");

/** The SVG document around a drawing, with a title above it and a description for those who do not see it. */
export function svgDocument(
  size: { readonly width: number; readonly height: number },
  title: string,
  description: string,
  body: readonly string[],
): string {
  const { width, height } = size;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}" font-family="system-ui, sans-serif" font-size="13">`,
    `<style>.ink{fill:#1f2328}.soft{fill:#59636e}.line,.grid{fill:none;stroke:#59636e}.grid{stroke-opacity:.2}.paper{fill:#fff}${rules(COLORS)}@media(prefers-color-scheme:dark){.ink{fill:#e6edf3}.soft{fill:#9da7b1}.line,.grid{stroke:#9da7b1}.paper{fill:#0d1117}${rules(DARK)}}</style>`,
    element("title", {}, escapeXml(title) || " "),
    element("desc", {}, escapeXml(description) || " "),
    element("rect", { class: "paper", width, height }),
    ...(title ? [text(16, 24, title, { class: "ink", "font-size": 15, "font-weight": 600 })] : []),
    ...body,
    "</svg>\n",
  ].join("\n");
}
