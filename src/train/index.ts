/**
 * Gradients by a tape over whole tensors, losses, AdamW, schedules, batches from text, checkpoints and the training loop.
 * The layers to train are in `heed/nn`.
 * @module
 */
import "./absent.ts";

export { keep, tidy } from "../api/tidy.ts";
export { Adam, AdamW, type AdamWOptions, type AdamWStep } from "./adamw.ts";
export { clipScale, gradientNorm } from "./clip.ts";
export { Corpus, type CorpusOptions } from "./data/corpus.ts";
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
} from "./data/data.ts";
export { Ngram } from "./data/ngram.ts";
export { Generator, permutation } from "./data/random.ts";
export { type GradOf, type GradTarget, grad, valueAndGrad } from "./grad.ts";
export {
  type LanguageKind,
  type LanguageModel,
  type LanguageOptions,
  languageModel,
  specialIds,
} from "./language.ts";
export { type Checkpoint, type Progress, readCheckpoint, writeCheckpoint } from "./loop/checkpoint.ts";
export { type LoadedCheckpoint, loadCheckpoint } from "./loop/checkpointing.ts";
export { ContextTape } from "./loop/context.ts";
export { meanLoss } from "./loop/held-out.ts";
export { train } from "./loop/loop.ts";
export { findNonFinite, type NonFinite } from "./loop/non-finite.ts";
export type {
  CheckpointOptions,
  LossPart,
  StepReport,
  TapeOf,
  Trainable,
  TrainOptions,
  TrainResult,
} from "./loop/options.ts";
export { type LossCurve, renderLoss } from "./loop/plot.ts";
export { type CrossEntropyOptions, crossEntropy, IGNORE_INDEX } from "./loss.ts";
export type { Decays, Optimizer, OptimizerStep } from "./optimizer.ts";
export { type Schedule, type ScheduleOptions, schedule } from "./schedule.ts";
export { SGD, type SGDOptions } from "./sgd.ts";
export { type Gradients, Tape, type TapeGradients } from "./tape.ts";
