/**
 * `heed/models`: whole models computed by heed, each one readable page, and what they need to read a text.
 */
export { USE_LITE_PACKAGE, USE_LITE_VERSION } from "./locate.ts";
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
