/** The store of heads: opening, requests, explanations, bundles; `head-store.ts` is its interface. */

export type { Block, HeadRef, Segment, Stage } from "./block.ts";
export type { Edits } from "./compute/head.ts";
export type { Port } from "./compute/messages.ts";
export type { RequestOptions } from "./compute/request.ts";
export { type Kernel, plainKernel } from "./compute/row-source.ts";
export { serveStore } from "./compute/serve.ts";
export type { BundleOptions } from "./formats/bundle.ts";
export { writeBundle } from "./formats/bundle.ts";
export type { LoadProblem } from "./formats/metadata.ts";
export { type OpenStoreOptions, openStore } from "./formats/open.ts";
export type { HeadStore, Link } from "./head-store.ts";
export { type ComputeOptions, type ModelInput, storeFrom, storeFromModel } from "./layout/from.ts";
export type { BlockInput, LayerInput, StoreInput } from "./layout/input.ts";
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
} from "./measures/aggregate.ts";
export {
  askHeads,
  type HeadAnswer,
  type HeadOrder,
  type HeadQuestion,
  sortAnswers,
} from "./measures/ask-heads.ts";
export {
  ATTENTION_FLOW_WARNING,
  type AttentionFlow,
  attentionFlow,
  type PairFlow,
  pairFlow,
} from "./measures/attention-flow.ts";
export {
  type ContrastOptions,
  type ContrastRow,
  contrastOf,
  contrastRows,
  type LinkContrast,
  type Verdict,
  verdictOf,
} from "./measures/contrast.ts";
export type { Ledger, LedgerLine } from "./measures/ledger.ts";
export { rescaledLedger, topShare } from "./measures/ledger.ts";
export type { HeadMeasures } from "./measures/measures.ts";
export type { Overview } from "./measures/pool.ts";
export {
  type LayerMatrices,
  ROLLOUT_WARNING,
  type Rollout,
  type RolloutOptions,
  rollout,
} from "./measures/rollout.ts";
export { TILE, type Tile, type TileAddress } from "./measures/tile.ts";
export type { TileTransfer } from "./measures/transfer.ts";
export { codeOf, isSigned, LOG_DECADES, signedCodeOf, valueOfCode } from "./measures/transfer.ts";
export { parseRecipe, type RecipeBias, type RecipeMask, type ScoreRecipe } from "./recipe/recipe.ts";
export { type Plant, plantsOf, type SampleOptions, sampleBundle } from "./sample.ts";
export { type DescribedLink, evidenceOf, evidenceText } from "./sentences/evidence.ts";
export type { LoadReport } from "./sentences/report.ts";
export { describeHead, sentenceOf } from "./sentences/sentence.ts";
export { type TellingLink, type TellingOptions, tellingLink } from "./sentences/telling.ts";
export type { Num } from "./text/number.ts";
