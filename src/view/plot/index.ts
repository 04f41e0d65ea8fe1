/**
 * One kit for every plot: figures, charts, Lab pages and the labels of the explorer's canvas. Pure functions from scales and numbers to
 * the text of SVG elements; the caller joins them. Colors are classes or attributes that the caller names.
 *
 * - scale.ts: `scaleOf({ type, domain, range, clamp })` (linear, log, sqrt; `scale(value)`, `.invert`, `.ticks`), `bandScale`,
 *   `niceTicks`, `logTicks`, `minorLogTicks`, `niceStep`, `tickLabel`, `powerLabel`
 * - axis.ts: `axis({ anchor, scale, at, ticks, format, title, unit, grid, marks, line, style })`, `axisTitle`, `rule`
 * - marks.ts: `lineMark`, `linePath`, `dotMarks`, `barX`, `barY` (with tracks and labels), `legend`
 * - labels.ts: `keepApart` (leaves labels out by priority), `dodge` (moves them apart)
 * - svg.ts: `element`, `text`, `escapeXml`, `coordinate`
 * - document.ts: `svgDocument` with title and description, `plotArea` (the ranges inside margins, for any width), `Plot`
 * - bars.ts, curves.ts, histogram.ts: complete charts for a terminal and as SVG, public in `heed/view`
 *
 * @example
 * const area = plotArea(width, 200, { top: 20, right: 10, bottom: 30, left: 40 });
 * const x = scaleOf({ type: "log", domain: [16, 1024], range: area.x });
 * const y = scaleOf({ domain: [0, 4], range: area.y });
 * axis({ anchor: "left", scale: y, at: area.x[0], grid: area.x[1], title: "entropy", unit: "nats", style }) +
 *   axis({ anchor: "bottom", scale: x, at: area.y[0], line: true, style }) +
 *   lineMark(points.map(([d, entropy]) => [x(d), y(entropy)]), { class: "lq" });
 */

export { type AxisOptions, type AxisStyle, axis, axisTitle, rule } from "./axis.ts";
export { type BarOptions, bars } from "./bars.ts";
export { type Curve, type CurveOptions, curves } from "./curves.ts";
export { type Plot, type PlotArea, plotArea, svgDocument } from "./document.ts";
export { type HistogramOptions, histogram } from "./histogram.ts";
export { dodge, keepApart, type PlacedLabel } from "./labels.ts";
export {
  type BarMarks,
  barX,
  barY,
  dotMarks,
  type LegendEntry,
  type LegendStyle,
  legend,
  lineMark,
  linePath,
  type MarkAttributes,
} from "./marks.ts";
export {
  type BandScale,
  bandScale,
  logTicks,
  minorLogTicks,
  niceStep,
  niceTicks,
  type PlotScale,
  powerLabel,
  type ScaleOptions,
  scaleOf,
  tickLabel,
} from "./scale.ts";
export { type Attributes, coordinate, element, escapeXml, text } from "./svg.ts";
