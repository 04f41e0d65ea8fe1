/**
 * The marks of plots, after Observable Plot: lines, bars, dots and legends from scales and numbers. A value that is
 * not a number has no mark. Attributes are classes or colors, for all marks of a list or for each by its index.
 */

import type { BandScale, PlotScale } from "./scale.ts";
import { type Attributes, coordinate, element, text } from "./svg.ts";

/** Attributes for all marks, or for each by its index. */
export type MarkAttributes = Attributes | ((index: number) => Attributes);

const attributesOf = (attributes: MarkAttributes, index: number): Attributes =>
  typeof attributes === "function" ? attributes(index) : attributes;

/** The path of a line through points; a point with a coordinate that is not finite interrupts it. */
export function linePath(points: readonly (readonly [x: number, y: number])[]): string {
  let path = "";
  let pen = "M";
  for (const [x, y] of points)
    if (Number.isFinite(x) && Number.isFinite(y)) {
      path += `${pen}${coordinate(x)} ${coordinate(y)}`;
      pen = "L";
    } else pen = "M";
  return path;
}

/** A line through points. */
export function lineMark(
  points: readonly (readonly [x: number, y: number])[],
  attributes: Attributes,
): string {
  return element("path", { d: linePath(points), fill: "none", ...attributes });
}

/** A circle at each point; `radius` may depend on the index. */
export function dotMarks(
  points: readonly (readonly [x: number, y: number])[],
  radius: number | ((index: number) => number),
  attributes: MarkAttributes,
): string {
  return points
    .map(([x, y], n) => {
      const r = typeof radius === "number" ? radius : radius(n);
      return Number.isFinite(x) && Number.isFinite(y)
        ? element("circle", { cx: x, cy: y, r, ...attributesOf(attributes, n) })
        : "";
    })
    .join("");
}

/** Bars over a band scale. */
export interface BarMarks {
  readonly values: ArrayLike<number>;
  readonly band: BandScale;
  /** From values to lengths; bars begin at 0, on a logarithmic scale at its start. */
  readonly scale: PlotScale;
  readonly attributes: MarkAttributes;
  /** Behind each bar, as long as the scale's range. */
  readonly track?: Attributes;
  /** The least length of a bar. Default 0. */
  readonly minimum?: number;
  /** A text past the end of a bar, or in front of it where it is negative. */
  readonly label?: (index: number) => string;
  readonly labelAttributes?: MarkAttributes;
  /** Distance of the label from the end. Default 6. */
  readonly labelGap?: number;
  /** From the middle of a label's line to its baseline. Default 4. */
  readonly baseline?: number;
}

/** Horizontal bars, one below the other. */
export const barX = (options: BarMarks): string => barMarks(options, true);

/** Vertical bars, side by side. */
export const barY = (options: BarMarks): string => barMarks(options, false);

function barMarks(options: BarMarks, horizontal: boolean): string {
  const { band, scale, minimum = 0, label, labelGap = 6, baseline = 4 } = options;
  const rect = (n: number, from: number, to: number, attributes: Attributes) => {
    const [start, length] = [Math.min(from, to), Math.abs(to - from)];
    const [across, width] = [band.start(n), band.bandwidth];
    const box = horizontal
      ? { x: start, y: across, width: length, height: width }
      : { x: across, y: start, width, height: length };
    return element("rect", { ...box, ...attributes });
  };
  const base = scale.type === "log" ? scale.range[0] : scale(0);
  const direction = Math.sign(scale.range[1] - scale.range[0]) || 1;
  return Array.from(options.values, (value, n) => {
    const track = options.track === undefined ? "" : rect(n, scale.range[0], scale.range[1], options.track);
    const exact = scale(value);
    if (!Number.isFinite(exact)) return track;
    const sign = Math.sign(exact - base) || direction;
    const end = base + sign * Math.max(minimum, Math.abs(exact - base));
    const bar = rect(n, base, end, attributesOf(options.attributes, n));
    if (label === undefined) return track + bar;
    const [x, y] = horizontal
      ? [end + sign * labelGap, band.middle(n) + baseline]
      : [band.middle(n), sign < 0 ? end - labelGap : end + labelGap + 2 * baseline];
    const anchor = horizontal ? (sign < 0 ? "end" : undefined) : "middle";
    return `${track}${bar}${text(x, y, label(n), { "text-anchor": anchor, ...attributesOf(options.labelAttributes ?? {}, n) })}`;
  }).join("");
}

/** An entry of a legend: a swatch, drawn with its left end at (x, y) on the middle of the line, and a name. */
export interface LegendEntry {
  readonly name: string;
  readonly swatch: (x: number, y: number) => string;
}

/** How a legend is set: lengths of a swatch and between entries, the width of a name, and its attributes. */
export interface LegendStyle {
  readonly swatch: number;
  readonly gap: number;
  readonly widthOf: (name: string) => number;
  readonly label: Attributes;
  /** From the middle of the line to the names' baseline. Default 4. */
  readonly baseline?: number;
}

/** Entries side by side from (x, y), the middle of the line; `end` is where the last one ends. */
export function legend(
  entries: readonly LegendEntry[],
  x: number,
  y: number,
  { swatch, gap, widthOf, label, baseline = 4 }: LegendStyle,
): { readonly svg: string; readonly end: number } {
  let svg = "";
  let end = x;
  for (const [n, entry] of entries.entries()) {
    if (n > 0) end += gap;
    svg += entry.swatch(end, y) + text(end + swatch + gap / 4, y + baseline, entry.name, label);
    end += swatch + gap / 4 + widthOf(entry.name);
  }
  return { svg, end };
}
