/** The store of heads: opening, asking, explaining, writing; see `types.ts` for its words. */

export type { Port } from "./compute/messages.ts";
export { type Kernel, plainKernel } from "./compute/row-source.ts";
export { serveStore } from "./compute/serve.ts";
export { writeBundle } from "./formats/bundle.ts";
export { type OpenStoreOptions, openStore } from "./formats/open.ts";
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
export { rescaledLedger, topShare } from "./measures/ledger.ts";
export {
  type LayerMatrices,
  ROLLOUT_WARNING,
  type Rollout,
  type RolloutOptions,
  rollout,
} from "./measures/rollout.ts";
export { codeOf, isSigned, LOG_DECADES, signedCodeOf, valueOfCode } from "./measures/transfer.ts";
export { parseRecipe, type RecipeBias, type RecipeMask, type ScoreRecipe } from "./recipe/recipe.ts";
export { type Plant, plantsOf, type SampleOptions, sampleBundle } from "./sample.ts";
export { describeHead, sentenceOf } from "./sentences/sentence.ts";
export { type TellingLink, type TellingOptions, tellingLink } from "./sentences/telling.ts";
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
  type Link,
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
