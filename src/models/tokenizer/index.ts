/** Tokenizers: learned, read from `tokenizer.json`, written to it. */
export type { AddedToken } from "./added.ts";
export type { BpeVocabulary } from "./bpe.ts";
export { readTokenizer } from "./file.ts";
export type { BertNormalizer } from "./normalize.ts";
export type { TokenizerSpec } from "./spec.ts";
export type { Slot, Template } from "./template.ts";
export {
  type EncodeOptions,
  type Encoding,
  type TextStream,
  Tokenizer,
} from "./tokenizer.ts";
export { type TrainTokenizerOptions, trainTokenizer } from "./train.ts";
export type { WordPieceVocabulary } from "./wordpiece.ts";
export { writeTokenizer } from "./write.ts";
