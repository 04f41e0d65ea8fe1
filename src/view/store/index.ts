/** The store of heads: opening, asking, explaining, writing; see `types.ts` for its words. */
export {
  combineRows,
  type Edge,
  type Edges,
  edgesOf,
  type HiddenRow,
  hideKeys,
  type KeepEdges,
  keptKeys,
  largestKeys,
  massOf,
  overWords,
  rankKeys,
  type Span,
  wordRow,
} from "./aggregate.ts";
export { writeBundle } from "./bundle.ts";
export { type Engine, engineKernel } from "./engine.ts";
export { type ComputeOptions, type ModelInput, storeFrom, storeFromModel } from "./from.ts";
export type { BlockInput, LayerInput, StoreInput } from "./input.ts";
export { type Kernel, plainKernel } from "./kernel.ts";
export { topShare } from "./ledger.ts";
export type { Port } from "./messages.ts";
export { type OpenStoreOptions, openStore } from "./open.ts";
export { parseRecipe, type RecipeBias, type RecipeMask, type ScoreRecipe } from "./recipe.ts";
export { type Plant, plantsOf, type SampleOptions, sampleBundle } from "./sample.ts";
export { describeHead, sentenceOf } from "./sentence.ts";
export { serveStore } from "./serve.ts";
export { codeOf, isSigned, LOG_DECADES, signedCodeOf, valueOfCode } from "./transfer.ts";
export {
  type Asking,
  type Block,
  type BundleOptions,
  type Edits,
  type HeadMeasures,
  type HeadRef,
  type HeadStore,
  type Ledger,
  type LedgerLine,
  type LoadProblem,
  type LoadReport,
  type Num,
  type Overview,
  type Segment,
  type Stage,
  TILE,
  type Tile,
  type TileAddress,
  type TileTransfer,
} from "./types.ts";
