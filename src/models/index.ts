/**
 * Whole models over Hugging Face directories, each one readable page, with their tokenizers and text generation.
 * @module
 */
export { Bert, type BertOptions } from "./bert.ts";
export type { KeyValueCache } from "./cache.ts";
export { type BertConfig, type Gpt2Config, type ModelConfig, readConfig } from "./config.ts";
export { cosineSimilarity, embedTexts, type Pooling, type PoolingMode, readPooling } from "./embed.ts";
export {
  modelFromFiles,
  modelToFiles,
  type ReadModelOptions,
  readModel,
  type WriteModelOptions,
  writeModel,
} from "./files.ts";
export { type Candidate, fillMask, type MaskFill } from "./fill.ts";
export {
  type CachedDecoder,
  type GenerateOptions,
  type GenerateTextOptions,
  generate,
  generateText,
  tokenShares,
} from "./generate.ts";
export { type ForwardOptions, Gpt2, type LayerAttention } from "./gpt2.ts";
export { type HeadScores, headScores, inductionScores } from "./heads.ts";
export { type FoundModel, findModel } from "./hub/find.ts";
export { locateShipped, USE_LITE_PACKAGE, USE_LITE_VERSION } from "./locate.ts";
export type { StartOptions } from "./parameters.ts";
export {
  type AttentionModel,
  type TextAttention,
  type TextModel,
  type TextTokens,
  textModel,
  useLiteModel,
  type WeighedLayer,
  withWeights,
} from "./text-model.ts";
export {
  openGraphModel,
  parseManifest,
  readWeights,
  type WeightEntry,
  type WeightsManifest,
} from "./tfjs.ts";
export * from "./tokenizer/index.ts";
export { type Token, type Tokens, type Unigram, unigram, type VocabularyEntry } from "./unigram.ts";
export {
  type Encoded,
  type EncodedLayer,
  openUseLite,
  similarity,
  type UseLite,
  useLite,
} from "./use-lite.ts";
