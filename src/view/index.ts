/**
 * Pictures of attention, without a browser: a figure in one call (`figureOf`, `show`); the store, which opens files and computes rows and
 * measures of their heads; figures, lines for terminals, plots.
 * @module
 */

export type { Block, HeadRef, Segment, Stage } from "../store/block.ts";
export type { RequestOptions } from "../store/compute/request.ts";
export { type BundleOptions, writeBundle } from "../store/formats/bundle.ts";
export { type OpenStoreOptions, openStore } from "../store/formats/open.ts";
export type {
  Evidence,
  StoredComponent,
  StoredComponentShare,
  StoredEffect,
  StoredEffects,
  StoredScore,
  StoredShare,
} from "../store/formats/stored-evidence.ts";
export type { HeadStore, Link, States } from "../store/head-store.ts";
export { type ComputeOptions, type ModelInput, storeFrom, storeFromModel } from "../store/layout/from.ts";
export type { BlockInput, LayerInput, StoreInput } from "../store/layout/input.ts";
export { askHeads, type HeadAnswer, type HeadOrder, type HeadQuestion } from "../store/measures/ask-heads.ts";
export { type AttentionFlow, attentionFlow } from "../store/measures/attention-flow.ts";
export { contrastOf, type LinkContrast } from "../store/measures/contrast.ts";
export type { Ledger, LedgerLine } from "../store/measures/ledger.ts";
export type { HeadMeasures } from "../store/measures/measures.ts";
export {
  beyondText,
  type HeadOverTexts,
  headsOverTexts,
  type MeasuredText,
  type OverTextsOptions,
  type TextExample,
  type TextOfHead,
  type TextSpread,
} from "../store/measures/over-texts.ts";
export type { Overview } from "../store/measures/pool.ts";
export { type LayerMatrices, type Rollout, type RolloutOptions, rollout } from "../store/measures/rollout.ts";
export type { Tile, TileAddress } from "../store/measures/tile.ts";
export type { TileTransfer } from "../store/measures/transfer.ts";
export type { RecipeBias, RecipeMask, ScoreRecipe } from "../store/recipe/recipe.ts";
export { type SampleOptions, sampleBundle } from "../store/sample.ts";
export { type DescribedLink, evidenceText } from "../store/sentences/evidence.ts";
export type { LoadReport } from "../store/sentences/report.ts";
export { describeHead } from "../store/sentences/sentence.ts";
export { type TellingLink, type TellingOptions, tellingLink } from "../store/sentences/telling.ts";
export {
  type DrawnFigure,
  type FigureOptions,
  type FigureTable,
  type FigureView,
  figureTable,
  type RasterOptions,
  renderFigure,
  renderRaster,
  type TableValue,
} from "./figure/index.ts";
export { type AttentionPicture, figureOf, type PictureOptions, type PictureSource, show } from "./picture.ts";
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
export type { ColorMode, Paint } from "./terminal/paint.ts";
export { renderSimilarity, type SimilarityOptions } from "./terminal/similarity.ts";
export {
  type HeatMap,
  renderHeatMaps,
  type TerminalOptions,
  type WeightMatrix,
} from "./terminal/terminal.ts";
export { explainLink, renderText, type TextOptions } from "./terminal/text.ts";
