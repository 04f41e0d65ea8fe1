/** The common parts of plots: text for a terminal and SVG; scales, ticks and the SVG document. */

/** A plot: `console.log(plot)` and `String(plot)` draw it for a terminal, `plot.toSvg()` a picture that follows the reader's light or dark theme. */
export interface Plot {
  /** Lines for a terminal, of Unicode block characters. */
  toString(): string;
  /** A complete SVG document. */
  toSvg(): string;
}

/** A plot from a function that draws text and one that draws SVG. */
export function plotOf(text: () => string, svg: () => string): Plot {
  // `console.log(plot)` draws it.
  return Object.defineProperty({ toString: text, toSvg: svg }, Symbol.for("nodejs.util.inspect.custom"), {
    value: () => text(),
  });
}

/** Round numbers from `low` to `high`, about `count` of them: 1, 2 or 5 times a power of ten apart. */
export function ticks(low: number, high: number, count = 5): number[] {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((n) => n * power >= raw) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, n) => Number(((first + n) * step).toPrecision(12)));
}

/** A number as a label: at most four digits, exponents where it is very large or small. */
export function label(value: number): string {
  if (!Number.isFinite(value) || (Number.isInteger(value) && Math.abs(value) < 1e5)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5))
    return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
  return String(Number(value.toPrecision(4)));
}

/** Text inside SVG. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] as string);

/** Colors of series, distinct for people with any color vision (Okabe & Ito 2008), on light and dark paper. */
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b"] as const;
/** The same on dark paper. */
const DARK = ["#56b4e9", "#ff8c42", "#2ec4a0", "#e6a3c9", "#e0b84c"] as const;

/** The class of the n-th series: `fill-0`, `stroke-0`. */
export const colorClass = (kind: "fill" | "stroke", n: number): string => `${kind}-${n % COLORS.length}`;

const rules = (colors: readonly string[]): string =>
  colors.map((color, n) => `.fill-${n}{fill:${color}}.stroke-${n}{stroke:${color}}`).join("");

/** The SVG document around a drawing of `width` × `height`. */
export function svgDocument(width: number, height: number, title: string, body: readonly string[]): string {
  const name = escaped(title);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${name}" font-family="system-ui, sans-serif" font-size="13">`,
    `<style>.ink{fill:#1f2328}.soft{fill:#59636e}.line{stroke:#59636e;stroke-width:1}.grid{stroke:#59636e;stroke-opacity:.2}.paper{fill:#fff}${rules(COLORS)}@media(prefers-color-scheme:dark){.ink{fill:#e6edf3}.soft{fill:#9da7b1}.line{stroke:#9da7b1}.grid{stroke:#9da7b1}.paper{fill:#0d1117}${rules(DARK)}}</style>`,
    `<title>${name}</title>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...(title ? [`<text class="ink" x="16" y="24" font-size="15" font-weight="600">${name}</text>`] : []),
    ...body,
    "</svg>\n",
  ].join("\n");
}
