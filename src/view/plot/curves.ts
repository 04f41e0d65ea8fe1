/** Curves over one axis: cost against length, entropy against scale. Either axis may be logarithmic. */

import { checkCount, isList, OptionError, refuseGot, refuseValue } from "../../core/errors.ts";
import { checkKinds, checkNames } from "../../core/option-names.ts";
import { axis, axisTitle } from "./axis.ts";
import { CHART_AXIS, colorClass, type Plot, plotArea, plotOf, svgDocument } from "./document.ts";
import { dodge } from "./labels.ts";
import { dotMarks, lineMark } from "./marks.ts";
import { type PlotScale, scaleOf, tickLabel } from "./scale.ts";
import { text } from "./svg.ts";

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

// biome-ignore format: a table
const CURVE_OPTIONS = { "": "title logX logY columns", "a text": "x y", "an integer ≥ 1": "rows" } as const;

const MARKS = ["●", "▲", "■", "◆", "○"];

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
  checkCount("curves", arguments, 2);
  checkKinds("curves", options, CURVE_OPTIONS);
  const { title = "", columns = 60, rows = 14 } = options;
  const input: unknown = series;
  if (
    !Array.isArray(input) ||
    !input.every(
      (curve) => typeof curve?.name === "string" && Array.isArray(curve.points) && curve.points.every(isList),
    )
  )
    refuseGot("curves", "curves: series must be a list of { name, points: [[x, y], …] }", series);
  for (const curve of series) checkNames("curves: series", curve, ["name", "points"]);
  const points = series.flatMap((curve) => curve.points);
  if (points.length === 0) throw new OptionError("curves", "curves: there is nothing to draw");
  const domains = [0, 1].map((axis) =>
    domainOf(
      ["x", "y"][axis],
      points.map((point) => point[axis]),
      [options.logX, options.logY][axis] ?? false,
    ),
  );
  /** The two scales over ranges. */
  const scales = (x: readonly [number, number], y: readonly [number, number]) => [
    scaleOf({ type: options.logX ? "log" : "linear", domain: domains[0], range: x }),
    scaleOf({ type: options.logY ? "log" : "linear", domain: domains[1], range: y }),
  ];
  const xTitle = axisTitle(options.x, "", options.logX);
  const yTitle = axisTitle(options.y, "", options.logY);
  const sorted = series.map((curve) => ({ ...curve, points: curve.points.toSorted(([a], [b]) => a - b) }));
  const lines = () => {
    const [x, y] = scales([0, columns - 1], [rows - 1, 0]);
    const edges = [tickLabel(y.domain[1]), tickLabel(y.domain[0])];
    const width = Math.max(...edges.map((edge) => edge.length));
    const cells = terminalCells(sorted, x, y).map((cell, n) =>
      `${(n === 0 ? edges[0] : n === rows - 1 ? edges[1] : "").padStart(width)} │${cell.join("")}`.trimEnd(),
    );
    const [first, last] = x.domain.map(tickLabel);
    const middle = xTitle.padStart(Math.floor((columns - first.length + xTitle.length) / 2));
    return [
      ...[title, yTitle].filter((line) => line !== ""),
      ...cells,
      `${" ".repeat(width)} └${"─".repeat(columns)}`,
      `${" ".repeat(width + 2)}${first}${middle.padEnd(columns - first.length - last.length)}${last}`,
      sorted.map(({ name }, n) => `${MARKS[n % MARKS.length]} ${name}`).join("   "),
    ].join("\n");
  };
  const svg = (width: number) => {
    const height = (title ? 56 : 28) + 312;
    const area = plotArea(width, height, { top: height - 312, right: 128, bottom: 52, left: 72 });
    const [x, y] = scales(area.x, area.y);
    const placed = sorted.map((curve) => curve.points.map(([a, b]) => [x(a), y(b)] as const));
    // Names beside the last points, pushed apart where they would meet.
    const ends = dodge(
      placed.map((list) => list.at(-1)?.[1] ?? area.y[1]),
      16,
    );
    const style = CHART_AXIS;
    return svgDocument({ width, height }, title, described(sorted), [
      axis({
        ...{
          anchor: "left",
          scale: y,
          at: area.x[0],
          grid: area.x[1],
          gap: 8,
          marks: y.type === "log" ? 5 : 0,
        },
        ...{ title: options.y ?? "", style },
      }),
      axis({
        ...{
          anchor: "bottom",
          scale: x,
          at: area.y[0],
          gap: 20,
          marks: x.type === "log" ? 5 : 0,
          line: true,
        },
        ...{ title: options.x ?? "", style },
      }),
      ...placed.flatMap((list, n) => [
        lineMark(list, { class: colorClass("stroke", n), "stroke-width": 2 }),
        dotMarks(list, 3, { class: colorClass("fill", n) }),
      ]),
      ...sorted.map(({ name }, n) =>
        text(area.x[1] + 8, ends[n] + 4, name, { class: colorClass("fill", n) }),
      ),
    ]);
  };
  return plotOf(lines, svg);
}

/** The smallest and the largest value, which must be finite, and positive on a logarithmic axis. */
function domainOf(name: string, values: readonly number[], isLog: boolean): [number, number] {
  for (const value of values)
    if (!Number.isFinite(value) || (isLog && value <= 0))
      refuseValue("curves", name, `finite${isLog ? " and > 0 on a logarithmic axis" : ""}`, value);
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
}

/** The characters of the picture: a mark at each point, and dots between them. */
function terminalCells(series: readonly Curve[], x: PlotScale, y: PlotScale): string[][] {
  const [columns, rows] = [x.range[1] + 1, y.range[0] + 1];
  const cells = Array.from({ length: rows }, () => new Array<string>(columns).fill(" "));
  const column = (value: number) => Math.round(x(value));
  series.forEach(({ points }, n) => {
    for (let i = 1; i < points.length; i++) {
      const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
      const [from, to] = [column(x0), column(x1)];
      for (let c = from + 1; c < to; c++) {
        const row = Math.round(y(y0) + ((y(y1) - y(y0)) * (c - from)) / (to - from));
        if (cells[row][c] === " ") cells[row][c] = "·";
      }
    }
    for (const [a, b] of points) cells[Math.round(y(b))][column(a)] = MARKS[n % MARKS.length];
  });
  return cells;
}

/** The curves in words: where each begins and ends. */
function described(series: readonly Curve[]): string {
  const parts = series.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)].map((point) => point?.map(tickLabel).join(", "));
    return first === undefined ? `${name}: no points` : `${name}: from (${first}) to (${last})`;
  });
  return `Curves, each from its first point to its last. ${parts.join("; ")}.`;
}
