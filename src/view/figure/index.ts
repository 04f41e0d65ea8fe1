/** Figures of a store without a browser: SVG, the numbers as a table, and cells as PNG. */
export type { DrawnFigure } from "./drawn.ts";
export { renderFigure } from "./figure.ts";
export {
  type ExplorerState,
  FIGURE_VIEWS,
  FIGURE_WORDS,
  type FigureOptions,
  type FigureView,
  figureOptions,
} from "./options.ts";
export { type RasterOptions, renderRaster } from "./raster.ts";
export { csvLines, type FigureTable, figureTable, jsonLines, type TableValue } from "./table.ts";
