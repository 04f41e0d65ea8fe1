/** Plain plots, in a terminal and as SVG. */
export { type BarOptions, bars } from "./bars.ts";
export { type Curve, type CurveOptions, curves } from "./curves.ts";
export { type HistogramOptions, histogram } from "./histogram.ts";
export type { Plot } from "./plot.ts";
