/**
 * Whole models over Hugging Face directories, each one readable page, with their tokenizers and text generation.
 * @module
 */

export type { ChatFormat } from "./chat/format.ts";
export { type ChatMessage, type ChatOptions, chatPrompt } from "./chat/index.ts";
export type {
  BertConfig,
  DistilbertConfig,
  ElectraConfig,
  Gpt2Config,
  ModelConfig,
  MpnetConfig,
  RobertaConfig,
} from "./config/types.ts";
export type { KeyValueCache } from "./decoder/cache.ts";
export { Decoder } from "./decoder/decoder.ts";
export { Encoder, type EncoderOptions, type EncoderStart } from "./encoder/encoder.ts";
export { EncoderDecoder } from "./encoder-decoder/encoder-decoder.ts";
export {
  generateTarget,
  generateTargetAsync,
  type TargetAsyncOptions,
  type TargetOptions,
} from "./encoder-decoder/target.ts";
export {
  type TranslateAsyncOptions,
  type TranslateOptions,
  type Translation,
  translate,
  translateAsync,
} from "./encoder-decoder/translate.ts";
export { Bert, type BertOptions } from "./families/encoders/bert.ts";
export { Distilbert } from "./families/encoders/distilbert.ts";
export { Electra } from "./families/encoders/electra.ts";
export { Mpnet } from "./families/encoders/mpnet.ts";
export { Roberta } from "./families/encoders/roberta.ts";
export { Gpt2 } from "./families/gpt/gpt2.ts";
export { MODEL_TYPES, type ModelFamily, type ModelOf } from "./families/index.ts";
export { readConfig } from "./families/read-config.ts";
export {
  modelFromFiles,
  modelToFiles,
  type ReadModelOptions,
  readModel,
  type WriteModelOptions,
  writeModel,
} from "./files/files.ts";
export { locateShipped, type ModelFolder } from "./files/locate.ts";
export type { ModelNote } from "./files/weights.ts";
export { type FoundModel, findModel } from "./hub/find.ts";
export { type PulledModel, type PullOptions, type PullProgress, pullModel } from "./hub/pull.ts";
export type { ImageConfig, ImageEncoderConfig } from "./images/config.ts";
export { readPicture } from "./images/decode.ts";
export { ImageEncoder } from "./images/image-encoder.ts";
export {
  type ImageAttention,
  type ImageModel,
  imageModelFromFiles,
  type PatchGrid,
  type ReadImageOptions,
  readImageModel,
} from "./images/image-model.ts";
export type { ImageProcessor } from "./images/processor.ts";
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
  type PredictionEffect,
  withoutHead,
} from "./inference/ablate.ts";
export { type Answer, type AnswerOptions, type Answers, answerQuestion } from "./inference/answer.ts";
export {
  type AttributeLogitsOptions,
  attributeLogits,
  type LogitAttribution,
  type LogitShare,
} from "./inference/attribution.ts";
export {
  type Effect,
  type Effects,
  type EffectsOptions,
  measureEffects,
  type Quantity,
} from "./inference/effects.ts";
export {
  cosineSimilarity,
  type EmbedAsyncOptions,
  embedTexts,
  embedTextsAsync,
  type Pooling,
  type PoolingMode,
  readPooling,
} from "./inference/embed.ts";
export {
  type Candidate,
  type FillOptions,
  fillMask,
  fillMaskAsync,
  type MaskFill,
} from "./inference/fill.ts";
export {
  type CachedDecoder,
  type Generated,
  type GenerateTextOptions,
  generate,
  generateText,
  tokenShares,
} from "./inference/generate.ts";
export { type HeadScores, headScores, inductionScores } from "./inference/heads.ts";
export {
  type Activations,
  type Intervention,
  type InterventionHooks,
  intervene,
  type LinkIntervention,
  type OutputIntervention,
  type Patch,
  type Replacement,
  recordActivations,
} from "./inference/intervene.ts";
export { type LensRow, type LogitLens, type LogitLensOptions, logitLens } from "./inference/lens.ts";
export type { EffectPart, LinkPlace, PartsOptions } from "./inference/parts.ts";
export type { Predicted } from "./inference/prediction.ts";
export { type Component, componentName } from "./inference/residual.ts";
export type { GenerateOptions } from "./inference/sampling.ts";
export {
  type ComponentShare,
  type ScoreShare,
  type ScoreSplit,
  type ScoreSplitOptions,
  type ScoreTerm,
  splitScore,
} from "./inference/score-split.ts";
export { type ExposedLayer, type ExposedModel, exposeAttention } from "./onnx/expose.ts";
export type { OnnxLayout, OnnxRefusal, OnnxStep } from "./onnx/find.ts";
export { attentionOf, type OnnxPipeline, type OnnxSession } from "./onnx/session.ts";
export {
  type AttentionModel,
  isDecoder,
  type LayerWithWeights,
  type LayerWithWeights as WeighedLayer,
  materializeWeights,
  materializeWeights as withWeights,
  type TargetAttention,
  type TextAttention,
  type TextModel,
  type TextTokens,
  textModel,
} from "./text-model.ts";
export * from "./tokenizer/index.ts";
export type { AngleScaling, RotaryConfig } from "./transformer/angles.ts";
export {
  type AttentionChange,
  type AttentionRecipe,
  type ForwardOptions,
  type LayerAttention,
  layerWeights,
  type StateHook,
} from "./transformer/attend.ts";
export type {
  DecoderConfig,
  EncoderConfig,
  EncoderDecoderConfig,
  LayerConfig,
  LayerConfig as DecoderLayer,
  NormConfig,
  TensorNames,
  TransformerConfig,
} from "./transformer/config.ts";
export type {
  Architecture,
  CrossOptions,
  DecoderModel,
  DecoderOptions,
  ModelSizes,
  TransformerModel,
} from "./transformer/model.ts";
export type { StartOptions } from "./transformer/parameters.ts";
