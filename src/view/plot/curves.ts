/** Curves over one axis: cost against length, entropy against scale. Either axis may be logarithmic. */

import { formatValue, OptionError } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { colorClass, escaped, label, type Plot, plotOf, svgDocument, ticks } from "./plot.ts";

/** One curve. */
export interface Curve {
  readonly name: string;
  /** Points in any order; they are joined from left to right. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** How curves are drawn. */
export interface CurveOptions {
  title?: string;
  /** What the axes show. */
  x?: string;
  y?: string;
  /** Logarithmic axes, for positive numbers; their names say "log scale", and an SVG has the ticks 1, 2 … 9 of each decade. Default false. */
  logX?: boolean;
  logY?: boolean;
  /** Characters of the picture in the terminal. Default 60 × 14. */
  columns?: number;
  rows?: number;
}

const MARKS = ["●", "▲", "■", "◆", "○"];

interface Axis {
  readonly low: number;
  readonly high: number;
  /** 0 … 1 along the axis. */
  readonly place: (value: number) => number;
  readonly ticks: readonly number[];
  /** Ticks without a label: 1, 2 … 9 of each decade of a logarithmic axis. */
  readonly minor: readonly number[];
}

/**
 * Curves with their axes and names.
 *
 * @example
 * const cost = [128, 256, 512].map((N) => [N, 4 * N * N * 64] as const);
 * console.log(String(curves([{ name: "attention", points: cost }], { x: "tokens", y: "operations" })));
 *
 * @throws OptionError where there is no point, where a number is not finite, or not positive on a logarithmic axis
 */
export function curves(series: readonly Curve[], options: CurveOptions = {}): Plot {
  checkNames("curves", options, ["title", "x", "y", "logX", "logY", "columns", "rows"]);
  const { title = "", columns = 60, rows = 14 } = options;
  const given: unknown = series;
  if (!Array.isArray(given) || !given.every((one) => Array.isArray(one?.points)))
    throw new OptionError(
      "curves",
      `curves: series must be a list of { name, points: [[x, y], …] }, got ${formatValue(series)}`,
      { got: series },
    );
  const points = series.flatMap((one) => one.points);
  if (points.length === 0) throw new OptionError("curves", "curves: there is nothing to draw");
  const xAxis = axisOf(
    "x",
    points.map(([x]) => x),
    options.logX ?? false,
  );
  const yAxis = axisOf(
    "y",
    points.map(([, y]) => y),
    options.logY ?? false,
  );
  const xName = axisName(options.x, options.logX);
  const yName = axisName(options.y, options.logY);
  const sorted = series.map((one) => ({ ...one, points: one.points.toSorted(([a], [b]) => a - b) }));
  const text = () => {
    const cells = Array.from({ length: rows }, () => new Array<string>(columns).fill(" "));
    const column = (x: number) => Math.round(xAxis.place(x) * (columns - 1));
    const row = (place: number) => Math.round((1 - place) * (rows - 1));
    sorted.forEach((one, n) => {
      for (let i = 1; i < one.points.length; i++) {
        const [[x0, y0], [x1, y1]] = [one.points[i - 1], one.points[i]];
        const [from, to, p, q] = [column(x0), column(x1), yAxis.place(y0), yAxis.place(y1)];
        for (let c = from + 1; c < to; c++) {
          const at = row(p + ((q - p) * (c - from)) / (to - from));
          if (cells[at][c] === " ") cells[at][c] = "·";
        }
      }
      for (const [x, y] of one.points) cells[row(yAxis.place(y))][column(x)] = MARKS[n % MARKS.length];
    });
    const edge = [label(yAxis.high), label(yAxis.low)];
    const wide = Math.max(...edge.map((s) => s.length));
    const lines = cells.map((cell, n) =>
      `${(n === 0 ? edge[0] : n === rows - 1 ? edge[1] : "").padStart(wide)} │${cell.join("")}`.trimEnd(),
    );
    const [first, last] = [label(xAxis.low), label(xAxis.high)];
    const axis = `${" ".repeat(wide)} └${"─".repeat(columns)}`;
    const below = `${" ".repeat(wide + 2)}${first}${xName.padStart(Math.floor((columns - first.length + xName.length) / 2)).padEnd(columns - first.length - last.length)}${last}`;
    const names = sorted.map(({ name }, n) => `${MARKS[n % MARKS.length]} ${name}`).join("   ");
    return [...(title ? [title] : []), ...(yName ? [yName] : []), ...lines, axis, below, names].join("\n");
  };
  const svg = () => {
    const [left, top, width, height] = [72, title ? 56 : 28, 440, 260];
    const bottom = top + height;
    const x = (value: number) => left + xAxis.place(value) * width;
    const y = (value: number) => top + (1 - yAxis.place(value)) * height;
    // Names beside the last points, pushed apart where they would meet.
    const ends = sorted
      .map((one, n) => ({
        name: one.name,
        n,
        at: one.points.length > 0 ? y(one.points[one.points.length - 1][1]) : top,
      }))
      .toSorted((a, b) => a.at - b.at);
    for (let i = 1; i < ends.length; i++) ends[i].at = Math.max(ends[i].at, ends[i - 1].at + 16);
    return svgDocument(640, bottom + 52, title, [
      ...yAxis.ticks.flatMap((n) => [
        `<line class="grid" x1="${left}" x2="${left + width}" y1="${y(n).toFixed(1)}" y2="${y(n).toFixed(1)}"/>`,
        `<text class="soft" x="${left - 8}" y="${(y(n) + 4).toFixed(1)}" text-anchor="end">${escaped(label(n))}</text>`,
      ]),
      ...xAxis.ticks.map(
        (n) =>
          `<text class="soft" x="${x(n).toFixed(1)}" y="${bottom + 20}" text-anchor="middle">${escaped(label(n))}</text>`,
      ),
      ...(xName
        ? [
            `<text class="soft" x="${left + width / 2}" y="${bottom + 42}" text-anchor="middle">${escaped(xName)}</text>`,
          ]
        : []),
      ...(yName ? [`<text class="soft" x="${left}" y="${top - 12}">${escaped(yName)}</text>`] : []),
      // The axis, and the ticks of logarithmic ones.
      `<path class="line" d="M${left},${bottom}h${width}${[
        ...xAxis.minor.map((n) => `M${x(n).toFixed(1)},${bottom}v5`),
        ...yAxis.minor.map((n) => `M${left},${y(n).toFixed(1)}h-5`),
      ].join("")}"/>`,
      ...sorted.flatMap((one, n) => [
        `<polyline fill="none" class="${colorClass("stroke", n)}" stroke-width="2" points="${one.points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ")}"/>`,
        ...one.points.map(
          ([a, b]) =>
            `<circle class="${colorClass("fill", n)}" cx="${x(a).toFixed(1)}" cy="${y(b).toFixed(1)}" r="3"/>`,
        ),
      ]),
      ...ends.map(
        ({ name, n, at }) =>
          `<text class="${colorClass("fill", n)}" x="${left + width + 8}" y="${(at + 4).toFixed(1)}">${escaped(name)}</text>`,
      ),
    ]);
  };
  return plotOf(text, svg);
}

/** The name of an axis, which says that it is logarithmic. */
const axisName = (name = "", isLog = false): string => (isLog ? `${name} (log scale)`.trimStart() : name);

function axisOf(name: string, values: readonly number[], isLog: boolean): Axis {
  for (const value of values)
    if (!Number.isFinite(value) || (isLog && value <= 0))
      throw new OptionError(
        name,
        `curves: ${name} must be finite${isLog ? " and > 0 on a logarithmic axis" : ""}, got ${formatValue(value)}`,
        { got: value },
      );
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  const scale = isLog ? Math.log10 : (x: number) => x;
  const span = scale(high) - scale(low);
  const place = (value: number) => (span === 0 ? 0.5 : (scale(value) - scale(low)) / span);
  if (!isLog) return { low, high, place, ticks: ticks(low, high), minor: [] };
  // The multiples of powers of a base by some digits, from low to high.
  const steps = (base: number, digits: readonly number[]) => {
    const marks: number[] = [];
    for (let power = base ** Math.floor(Math.log(low) / Math.log(base)); power <= high * 1.001; power *= base)
      for (const digit of digits)
        if (digit * power >= low * 0.999 && digit * power <= high * 1.001) marks.push(digit * power);
    return marks;
  };
  // Powers of ten, or of two where those are fewer than three.
  const decades = steps(10, [1]);
  const marks = decades.length >= 3 ? decades : steps(2, [1]);
  const stride = Math.ceil(marks.length / 7);
  const minor = steps(10, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  return { low, high, place, ticks: marks.filter((_, n) => n % stride === 0), minor };
}
