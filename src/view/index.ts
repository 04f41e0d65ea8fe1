/**
 * Views of attention: the store, which opens files and computes rows, tiles and measures of their heads; and pictures that need
 * no browser (heat maps for terminals, figures).
 * @module
 */

export * from "../store/index.ts";
export { distinctLabels, pieceLabel, truncate, widthOf } from "../store/text/label.ts";
export { formatNumber, type NumberOptions, num, onNumber } from "../store/text/number.ts";
export {
  colorAt,
  colorTable,
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
  type BarOptions,
  bars,
  type Curve,
  type CurveOptions,
  curves,
  type HistogramOptions,
  histogram,
  type Plot,
} from "./plot/index.ts";
export { COLOR_MODES, type ColorMode, choosePaint, type Paint } from "./terminal/paint.ts";
export { renderSimilarity, type SimilarityOptions } from "./terminal/similarity.ts";
export {
  type HeatMap,
  renderHeatMaps,
  renderScale,
  type TerminalOptions,
  type WeightMatrix,
} from "./terminal/terminal.ts";
export { explainLink, renderText, type TextOptions } from "./terminal/text.ts";
