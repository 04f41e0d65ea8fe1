/**
 * Gradients by a tape over whole tensors, losses, AdamW, schedules, batches from text, checkpoints and the training loop.
 * The layers to train are in `heed/nn`.
 * @module
 */

export { keep, tidy } from "../tidy.ts";
export { AdamW, type AdamWOptions, type AdamWStep, clipScale, gradientNorm } from "./adamw.ts";
export { type Checkpoint, type Progress, readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
export { Corpus, type CorpusOptions } from "./corpus.ts";
export {
  type Batch,
  type MaskingOptions,
  maskedBatch,
  nextTokenBatch,
  type Span,
  type Split,
  type SplitOptions,
  splitBlocks,
  type WindowOptions,
  Windows,
  windowsInOrder,
} from "./data.ts";
export {
  type LanguageKind,
  type LanguageModel,
  type LanguageOptions,
  languageModel,
  specialIds,
} from "./language.ts";
export {
  type CheckpointOptions,
  meanLoss,
  type StepReport,
  type Trainable,
  type TrainOptions,
  type TrainResult,
  train,
} from "./loop.ts";
export { type CrossEntropyOptions, crossEntropy, IGNORE_INDEX } from "./loss.ts";
export { Ngram } from "./ngram.ts";
export { findNonFinite, type NonFinite } from "./non-finite.ts";
export { type LossCurve, renderLoss } from "./plot.ts";
export { Generator, permutation } from "./random.ts";
export { type Schedule, type ScheduleOptions, schedule } from "./schedule.ts";
export { type Gradients, Tape, type TapeGradients } from "./tape.ts";
