/**
 * Attention to look at: the store that opens files and computes rows, tiles and measures of their heads; and pictures
 * without a browser (heat maps for terminals, figures).
 * @module
 */

export * from "../store/index.ts";
export { distinctLabels, pieceLabel, truncate, widthOf } from "../store/text/label.ts";
export { formatNumber, type NumberOptions, num, onNumber } from "../store/text/number.ts";
export {
  colourAt,
  colourTable,
  hex,
  lightness,
  placeOf,
  type Ramp,
  type Rgb,
  type Transfer,
  xterm256,
} from "./color.ts";
export {
  csvLines,
  type DrawnFigure,
  type ExplorerState,
  FIGURE_VIEWS,
  type FigureOptions,
  type FigureTable,
  type FigureView,
  figureOptions,
  figureTable,
  jsonLines,
  type RasterOptions,
  renderFigure,
  renderRaster,
  type TableValue,
} from "./figure/index.ts";
export {
  entropyOf,
  type HeadMetrics,
  type HeadWeights,
  headMetrics,
  type Link,
  strongestLinks,
  type WeightMatrix,
} from "./metrics.ts";
export {
  type Explained,
  explainSentence,
  explainStrongest,
  headsOf,
  type SeenHead,
  type SeenLayer,
  type SeenText,
} from "./report.ts";
export { renderSvg, type SvgOptions } from "./svg.ts";
export { COLOUR_MODES, type ColourMode, choosePaint, type Paint } from "./terminal/paint.ts";
export { type ReportOptions, renderSimilarity, renderText } from "./terminal/report.ts";
export { type HeatMap, renderHeatMaps, renderScale, type TerminalOptions } from "./terminal/terminal.ts";
