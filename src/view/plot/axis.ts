/**
 * An axis of a scale: labels at its ticks, and where they are requested a line, grid lines, small ticks, and a title with its unit.
 * How it looks is in its style: classes on a page, presentation attributes in a file.
 */

import { widthOf } from "../../store/text/label.ts";
import { keepApart } from "./labels.ts";
import { minorLogTicks, type PlotScale, tickLabel } from "./scale.ts";
import { type Attributes, coordinate, element, text } from "./svg.ts";

/** The attributes of an axis' parts: a class each, or colors and sizes. */
export interface AxisStyle {
  readonly label: Attributes;
  readonly title?: Attributes;
  readonly line?: Attributes;
  readonly grid?: Attributes;
  /** The labels' font size, by which their widths are estimated. Default 11. */
  readonly size?: number;
}

/** The options of an axis. Lengths are in the units of the picture. */
export interface AxisOptions {
  /** Where the labels are: below the axis, or on its left or right. */
  readonly anchor: "bottom" | "left" | "right";
  readonly scale: PlotScale;
  /** The y of a bottom axis, the x of the others. */
  readonly at: number;
  readonly style: AxisStyle;
  /** The values that have labels, or about how many. Default 5. */
  readonly ticks?: number | readonly number[];
  /** The label of a tick. Default `tickLabel`. */
  readonly format?: (value: number) => string;
  /**
   * What the axis shows, and its unit: "loss", "nats" is written "loss, in nats". It is below the middle of a bottom axis, above the end
   * of others. The title of a logarithmic scale says so.
   */
  readonly title?: string;
  readonly unit?: string;
  /** True: a line along the scale. Default false. */
  readonly line?: boolean;
  /** A line from each tick to here: the other end of the plot. */
  readonly grid?: number;
  /** Length of small ticks: 1, 2 … 9 of each decade of a logarithmic scale, else one at each label. Default 0: none. */
  readonly marks?: number;
  /** Distance of the labels from the axis. Default 16 below, 6 on the left and right. */
  readonly gap?: number;
  /** True: the labels of both ends are inside the range. Default false. */
  readonly inside?: boolean;
}

/** Half of an average character of a sans-serif font, as a share of its size. */
const HALF_EM = 0.27;

/** "loss, in nats (log scale)". */
export function axisTitle(title = "", unit = "", isLog = false): string {
  return `${title}${unit === "" ? "" : `, in ${unit}`}${isLog ? " (log scale)" : ""}`.trimStart();
}

/** An axis as SVG. Of labels that would overlap, the later ones are left out. */
export function axis(options: AxisOptions): string {
  const {
    anchor,
    scale,
    at,
    style,
    ticks = 5,
    format = tickLabel,
    grid,
    marks = 0,
    inside = false,
  } = options;
  const isBottom = anchor === "bottom";
  const gap = options.gap ?? (isBottom ? 16 : 6);
  const size = style.size ?? 11;
  const values = typeof ticks === "number" ? scale.ticks(ticks) : ticks;
  const labels = values.flatMap((value) => {
    const [label, position] = [format(value), scale(value)];
    const half = isBottom ? widthOf(label) * size * HALF_EM : size / 2;
    return Number.isFinite(position) ? [{ label, at: position, half }] : [];
  });
  const [start, end] = [...scale.range].sort((a, b) => a - b);
  const anchorOf = (position: number) => {
    if (!isBottom) return anchor === "left" ? "end" : undefined;
    if (inside && position === start) return undefined;
    return inside && position === end ? "end" : "middle";
  };
  const across = isBottom ? "x" : "y";
  const lines = grid === undefined ? [] : labels.map((tick) => rulePath(across, tick.at, [at, grid]));
  const texts = keepApart(labels, 0).map(({ at: position, label }) => {
    const [x, y] = isBottom
      ? [position, at + gap]
      : [at + (anchor === "left" ? -gap : gap), position + 0.35 * size];
    return text(x, y, label, { ...style.label, "text-anchor": anchorOf(position) });
  });
  const small = scale.type === "log" ? minorLogTicks(...scale.domain) : values;
  const line = options.line === true ? [rulePath(isBottom ? "y" : "x", at, [start, end])] : [];
  const toward = anchor === "left" ? at - marks : at + marks;
  if (marks > 0) line.push(...small.map((value) => rulePath(across, scale(value), [at, toward])));
  return [
    lines.length === 0 ? "" : element("path", { d: lines.join(""), ...style.grid }),
    line.length === 0 ? "" : element("path", { d: line.join(""), ...style.line }),
    ...texts,
    titleOf(options, [start, end], at, gap),
  ].join("");
}

function titleOf(options: AxisOptions, [start, end]: readonly number[], at: number, gap: number): string {
  const { anchor, scale, style } = options;
  const title = axisTitle(options.title, options.unit, scale.type === "log");
  if (title === "" || options.title === undefined) return "";
  const align = { bottom: "middle", left: undefined, right: "end" }[anchor];
  const [x, y] = anchor === "bottom" ? [(start + end) / 2, at + gap + 22] : [at, start - 12];
  return text(x, y, title, { ...style.title, "text-anchor": align });
}

/** A straight line at one value of x (`"x"`) or of y (`"y"`), from and to positions on the other axis. */
export function rule(
  of: "x" | "y",
  at: number,
  ends: readonly [from: number, to: number],
  attributes: Attributes,
): string {
  return element("path", { d: rulePath(of, at, ends), ...attributes });
}

function rulePath(of: "x" | "y", at: number, ends: readonly [from: number, to: number]): string {
  const [position, from, to] = [at, ...ends].map(coordinate);
  return of === "x" ? `M${position} ${from}V${to}` : `M${from} ${position}H${to}`;
}
