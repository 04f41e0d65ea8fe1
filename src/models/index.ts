/**
 * Whole models over Hugging Face directories, each one readable page, with their tokenizers and text generation.
 * @module
 */

export type { KeyValueCache } from "./cache.ts";
export {
  type BertConfig,
  type DecoderConfig,
  type DecoderLayer,
  type DistilbertConfig,
  type ElectraConfig,
  type Gpt2Config,
  MODEL_TYPES,
  type ModelConfig,
  type MpnetConfig,
  type RobertaConfig,
  readConfig,
} from "./config/config.ts";
export type { AngleScaling, RotaryConfig } from "./families/angles.ts";
export {
  type AttentionChange,
  type AttentionRecipe,
  type ForwardOptions,
  type LayerAttention,
  layerWeights,
} from "./families/attend.ts";
export { Bert, type BertOptions } from "./families/bert.ts";
export { Decoder } from "./families/decoder.ts";
export { Distilbert } from "./families/distilbert.ts";
export { Electra } from "./families/electra.ts";
export type { Encoder, EncoderOptions, EncoderStart } from "./families/encoder.ts";
export { Gpt2 } from "./families/gpt2.ts";
export type { DecoderModel, DecoderOptions, ModelSizes, TransformerModel } from "./families/model.ts";
export { Mpnet } from "./families/mpnet.ts";
export { Roberta } from "./families/roberta.ts";
export {
  modelFromFiles,
  modelToFiles,
  type ReadModelOptions,
  readModel,
  type WriteModelOptions,
  writeModel,
} from "./files/files.ts";
export { locateShipped, type ModelFolder } from "./files/locate.ts";
export type { StartOptions } from "./files/parameters.ts";
export type { ModelFamily, ModelOf } from "./files/registry.ts";
export type { ModelNote } from "./files/weights.ts";
export { type FoundModel, findModel } from "./hub/find.ts";
export { type PulledModel, type PullOptions, type PullProgress, pullModel } from "./hub/pull.ts";
export {
  type AblatedHead,
  type AblatedRun,
  type AblateHeadsOptions,
  type AblateOptions,
  type Ablation,
  ablate,
  ablateHeads,
  ablation,
  type ComparedToken,
  type HeadEffect,
  type Replacement,
  withoutHead,
} from "./inference/ablate.ts";
export {
  cosineSimilarity,
  embedTexts,
  type Pooling,
  type PoolingMode,
  readPooling,
} from "./inference/embed.ts";
export { type Candidate, fillMask, type MaskFill } from "./inference/fill.ts";
export {
  type CachedDecoder,
  type GenerateOptions,
  type GenerateTextOptions,
  generate,
  generateText,
  tokenShares,
} from "./inference/generate.ts";
export { type HeadScores, headScores, inductionScores } from "./inference/heads.ts";
export type { Predicted } from "./inference/prediction.ts";
export {
  type AttentionModel,
  isDecoder,
  type TextAttention,
  type TextModel,
  type TextTokens,
  textModel,
  type WeighedLayer,
  withWeights,
} from "./text-model.ts";
export * from "./tokenizer/index.ts";
export { type Token, type Tokens, type Unigram, unigram, type VocabularyEntry } from "./unigram.ts";
