/**
 * What `train` is given and returns: the model, the options and their checks, the reports.
 */
import { stepMemory } from "../../api/tidy.ts";
import type { Communicator } from "../../cluster/communicator/communicator.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import { isFunction, OptionError, refuseGot, refuseValue } from "../../core/errors.ts";
import { checkKinds, checkOptionNames } from "../../core/option-names.ts";
import type { WorkParts } from "../../core/synchronous.ts";
import { sameDevice, Tensor } from "../../core/tensor.ts";
import type { AdamWOptions } from "../adamw.ts";
import type { Batch } from "../data/data.ts";
import type { Schedule } from "../schedule.ts";
import type { Checkpoint } from "./checkpoint.ts";
import type { ContextTape, StepOptions } from "./context.ts";
import { allFinite } from "./non-finite.ts";

/** A model that can be trained on batches of type B. */
export interface Trainable<B = Batch> {
  /** Every parameter by name, row-major float32 or float64; they are updated in place. `Module` of heed/nn has this. */
  parameters(): ReadonlyMap<string, Tensor>;
  /** The mean loss over the counted targets of a batch: a tensor of one number. */
  loss(batch: B): Tensor;
  /**
   * This rank's part of `loss(batch)`, whose sequences ranks share: the parts of all ranks add up to the loss, and their gradients to
   * its gradients. `tapeOf(N)` makes the tape of sequences of N tokens, with the positions of this rank. `sequenceRanks` needs it;
   * the models of `languageModel` have it.
   * @beta
   */
  lossOver?(tapeOf: TapeOf, batch: B): Promise<LossPart>;
}

/** Makes the tape of this rank's positions of sequences of `length` tokens. */
export type TapeOf = (length: number) => ContextTape;

/** A rank's part of a loss, and the tape that recorded it. */
export interface LossPart {
  readonly tape: ContextTape;
  readonly loss: Tensor;
}

/** The report of a step. */
export interface StepReport {
  /** Completed steps, including this one. */
  readonly step: number;
  readonly loss: number;
  readonly lr: number;
  /** Norm of the gradients before clipping. */
  readonly norm: number;
  /** Held-out loss, if it was measured after this step. */
  readonly heldOut?: number;
}

/** Where and when a run saves checkpoints. Paths need Node. */
export interface CheckpointOptions {
  readonly path: string;
  /** Steps between two checkpoints; default 100. A checkpoint is always written at the end and at an interruption. */
  readonly every?: number;
  /** A text to store in it: for example the options of the run. */
  readonly config?: string;
  /** Writes a file; by default atomically, and the checkpoint before is kept as `PATH.1`. With `shardOptimizer` every rank calls it. */
  readonly save?: (path: string, bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
}

/** Options of `train`. */
export interface TrainOptions<B = Batch> {
  readonly model: Trainable<B>;
  /** The micro-batches of step s = 0, 1, …: it must depend on s only, so that a run can resume. */
  readonly data: (step: number) => readonly B[];
  /** Number of counted targets of a batch: its weight in the step's loss. By default its `count`, or 1 without one. */
  readonly countOf?: (batch: B) => number;
  /** Total number of steps. */
  readonly steps: number;
  /** Learning rate of step s; by default that of `adamw`. */
  readonly schedule?: Schedule;
  readonly adamw?: AdamWOptions;
  /** Gradients with a larger norm are scaled down to this norm; default 1, Infinity for never. */
  readonly maxNorm?: number;
  /** Seed of the dropout of layers (`withDropout`), combined with step and micro-batch. Default 0. */
  readonly seed?: number;
  /** Batches on which the held-out loss is measured, every `every` steps and at the end. */
  readonly heldOut?: { readonly batches: readonly B[]; readonly every: number };
  readonly checkpoint?: CheckpointOptions;
  /** A checkpoint to resume from (`readCheckpoint`). */
  readonly resume?: Checkpoint;
  /**
   * Stops the run, between two operations of a step: that step changes nothing, and a checkpoint of those before it is saved. A loss that
   * is not that of `languageModel` is one operation; ranks that share sequences end after a micro-batch, other devices after their work.
   */
  readonly signal?: AbortSignal;
  /**
   * Ranks that train together (`joinCluster` of heed/cluster): they share the micro-batches, and their gradients are summed.
   * Every rank calls `train` with the same model, data and options; rank 0 writes the checkpoint. Any number of ranks gives
   * the same bits. Default: this process alone.
   */
  readonly comm?: Communicator;
  /**
   * Ranks that share each sequence (context parallel), a divisor of the number of ranks: each computes its own positions, so that a
   * sequence may be longer than the memory of one rank allows. The others share the micro-batches. The losses are those of one process
   * up to rounding; for one `sequenceRanks` the bits do not depend on the number of ranks. Needs `comm` and `model.lossOver`. Default 1.
   * @beta
   */
  readonly sequenceRanks?: number;
  /**
   * Each rank has the moments of AdamW for a part of the parameters alone, and updates that part: less memory, the same bits. The checkpoint
   * is in parts too, files beside its path that `loadCheckpoint` joins; any number of ranks resumes it. Default false.
   * @beta
   */
  readonly shardOptimizer?: boolean;
  /** `"fixed"` adds gradients in one order for any number of ranks (default); `"fast"` leaves the order to the engine. */
  readonly order?: "fixed" | "fast";
  /** Called after each step, outside its memory: tensors that the function creates are ordinary ones, which outlive the step. */
  readonly onStep?: (report: StepReport) => void;
}

/** The result of a run. */
export interface TrainResult {
  /** Completed steps, including those before a resume. */
  readonly step: number;
  /** True if `signal` stopped the run. */
  readonly interrupted: boolean;
  /** Loss of each step from step 0 on, including those before a resume. */
  readonly losses: readonly number[];
  /** The number of completed steps, and the held-out loss at that point. */
  readonly heldOut: readonly (readonly [step: number, loss: number])[];
}

const isPromise = (x: unknown) => typeof (x as { then?: unknown } | null | undefined)?.then === "function";

/** Refuses batches that are not a list. */
export function checkedBatches<B>(batches: readonly B[]): readonly B[] {
  return Array.isArray(batches)
    ? batches
    : refuseValue(
        "train",
        "data",
        `a function that returns a list of batches${isPromise(batches) ? ", not a promise" : ""}`,
        batches,
      );
}

/** Refuses a rate that is not a number ≥ 0. */
export function checkedRate(lr: number, step: number): number {
  return Number.isFinite(lr) && lr >= 0
    ? lr
    : refuseValue("train", "schedule", `a function that returns a rate ≥ 0 for step ${step}`, lr);
}

/** The number of counted targets of a batch; 1 where it has no `count`. */
export const countTargets = (batch: unknown): number => (batch as { count?: number }).count ?? 1;

/** Refuses a count of targets that is not a number ≥ 0. */
export function checkedCount(count: number, what = "train"): number {
  return Number.isFinite(count) && count >= 0
    ? count
    : refuseValue(what, "countOf", "a function that returns the number of targets of a batch", count);
}

/** The ranks that share each sequence of a run, and the tape of their sequences. */
export interface SequenceRanks {
  readonly comm: Communicator;
  readonly tapeOf: (length: number, step: StepOptions) => ContextTape;
}

/**
 * The loss of a batch, of which each rank has a part, and what `work` returns for this rank's part. Their tensors are disposed afterwards:
 * later batches reuse their memory.
 */
export async function lossOverRanks<B, T>(
  { comm, tapeOf }: SequenceRanks,
  model: Trainable<B>,
  batch: B,
  dropoutSeed: number | undefined,
  work: (loss: number, part: LossPart) => T | Promise<T>,
): Promise<T> {
  const memory = stepMemory();
  try {
    const { lossOver } = model as Required<Trainable<B>>;
    const part = await lossOver.call(model, (length) => tapeOf(length, { memory, dropoutSeed }), batch);
    const sum = Float64Array.of(part.loss.toFloat64()[0]);
    await comm.reduce(sum);
    return await work(sum[0], part);
  } finally {
    memory.end();
  }
}

type LossInParts<B> = (batch: B, parts: WorkParts) => Promise<Tensor>;

/** The computation in parts of a `loss`, by that function: a model with another `loss` has none. */
const lossesInParts = new WeakMap<object, LossInParts<never>>();

/** Lets a signal end the computation of a loss: `inParts` computes the bits of `loss`. */
export function setLossInParts<B>(loss: Trainable<B>["loss"], inParts: LossInParts<B>): void {
  lossesInParts.set(loss, inParts);
}

/** `model.loss(batch)`, in parts where it has them. */
export async function lossInParts<B>(what: string, model: Trainable<B>, batch: B, parts: WorkParts) {
  const inParts = lossesInParts.get(model.loss) as LossInParts<B> | undefined;
  return inParts?.(batch, parts) ?? parts.run(() => checkedLoss(what, model.loss(batch)));
}

/** What `work` resolves to; undefined where the signal ended it. */
export async function unlessAborted<T>(
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted && error === signal.reason) return undefined;
    throw error;
  }
}

/** Refuses a loss that is not a tensor. */
export function checkedLoss(what: string, loss: Tensor): Tensor {
  return loss instanceof Tensor
    ? loss
    : refuseValue(
        what,
        "loss",
        `a method that returns a tensor of one number${isPromise(loss) ? ", not a promise: load batches in data" : ""}`,
        loss,
      );
}

/** Checks the options of `train`. */
export function checkTrainOptions<B>(options: TrainOptions<B>): void {
  if (options === null || typeof options !== "object")
    refuseGot("options", "train: expected { model, data, steps }", options);
  const { model, steps, heldOut, checkpoint, resume, order } = options;
  const refuse = (name: string, expected: string, got: unknown): never =>
    refuseValue("train", name, expected, got);
  if (typeof model?.parameters !== "function" || typeof model.loss !== "function")
    refuse("model", "an object with parameters() and loss(batch), as languageModel returns", model);
  checkOptionNames(
    "train",
    options,
    "model data countOf steps schedule adamw maxNorm seed heldOut checkpoint " +
      "resume signal comm sequenceRanks shardOptimizer order onStep",
  );
  if (!isFunction(options.data)) refuse("data", "a function of the step that returns batches", options.data);
  if (!(Number.isSafeInteger(steps) && steps >= 0)) refuse("steps", "an integer ≥ 0", steps);
  const positive = (name: string, every: unknown) =>
    (Number.isSafeInteger(every) && (every as number) > 0) || refuse(name, "an integer > 0", every);
  if (options.comm !== undefined && typeof options.comm?.exchange !== "function")
    refuse("comm", "what joinCluster returns", options.comm);
  const { sequenceRanks = 1, comm } = options;
  const divides = Number.isSafeInteger(sequenceRanks) && sequenceRanks > 0;
  if (!divides || (comm?.size ?? 1) % sequenceRanks !== 0)
    refuse("sequenceRanks", `a divisor of the ${comm?.size ?? 1} ranks of comm`, sequenceRanks);
  if (![undefined, true, false].includes(options.shardOptimizer))
    refuse("shardOptimizer", "true or false", options.shardOptimizer);
  if (sequenceRanks > 1 && typeof model.lossOver !== "function")
    refuse("model", "one with lossOver(tapeOf, batch), as languageModel has, for sequenceRanks", model);
  if (order !== undefined && order !== "fixed" && order !== "fast")
    refuse("order", '"fixed" or "fast"', order);
  for (const name of ["schedule", "countOf", "onStep"] as const)
    if (options[name] !== undefined && typeof options[name] !== "function")
      refuse(name, "a function", options[name]);
  if (options.signal !== undefined && typeof options.signal?.aborted !== "boolean")
    refuse("signal", "the signal of an AbortController", options.signal);
  if (resume !== undefined && typeof resume?.restore !== "function")
    refuse("resume", "what readCheckpoint returns", resume);
  if (checkpoint !== undefined && typeof checkpoint?.path !== "string")
    refuse("checkpoint", "{ path }, the file to write", checkpoint);
  if (checkpoint) {
    checkKinds("train: checkpoint", checkpoint, { "a text": "config", "": "path every save" });
    positive("checkpoint.every", checkpoint.every ?? 100);
  }
  if (
    heldOut !== undefined &&
    !(Array.isArray(heldOut?.batches) && !heldOut.batches.some((batch) => batch == null))
  )
    refuse("heldOut", "{ batches, every }, a list of batches and a number of steps", heldOut);
  if (heldOut !== undefined) checkKinds("train: heldOut", heldOut, { "": "batches every" });
  if (heldOut) positive("heldOut.every", heldOut.every);
  if (heldOut?.batches.length === 0) refuse("heldOut.batches", "at least one batch", heldOut.batches);
  if (options.maxNorm !== undefined && !(typeof options.maxNorm === "number" && options.maxNorm > 0))
    refuse("maxNorm", "a number > 0", options.maxNorm);
  if (resume && resume.step > steps)
    throw new OptionError("steps", `train: the checkpoint is of step ${resume.step}, but steps is ${steps}`, {
      step: resume.step,
      steps,
    });
}

/** Throws unless all parameters are on one device, which ranks require to be the CPU, and are finite. */
export async function checkParameters<B>({ model, comm }: TrainOptions<B>): Promise<void> {
  const map = model.parameters();
  if (!(map instanceof Map)) refuseValue("train", "model.parameters()", "a Map of tensors by name", map);
  const parameters = [...map];
  if (parameters.length > 0)
    sameDevice(
      "train",
      parameters.map(([name, { device }]) => [name, device]),
    );
  if (comm) for (const [name, parameter] of parameters) checkOnCpu("train with ranks", name, parameter);
  for (const [name, parameter] of parameters)
    if (!(await allFinite(parameter)))
      throw new OptionError("parameters", `train: parameter ${name} is not finite before the first step`, {
        name,
      });
}
