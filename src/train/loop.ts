/**
 * The training loop: for each step the loss and its gradients over one or more micro-batches, the norm clipped, one
 * update of AdamW; now and then the held-out loss and a checkpoint. The same call with a checkpoint in place goes on
 * where that one stopped and gives the same bits as a run that never did.
 *
 * What the model is, is the caller's business: parameters by name, and the loss of a batch.
 */
import { formatValue, HeedError, OptionError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { saveFile } from "../io/index.ts";
import { withDropout } from "../nn/ops/dropout.ts";
import { withRecorder } from "../nn/record.ts";
import { tidy } from "../tidy.ts";
import { AdamW, type AdamWOptions, clipScale, gradientNorm } from "./adamw.ts";
import { type Checkpoint, writeCheckpoint } from "./checkpoint.ts";
import type { Batch } from "./data.ts";
import { allFinite, findNonFinite, type NonFinite } from "./non-finite.ts";
import { Generator } from "./random.ts";
import type { Schedule } from "./schedule.ts";
import { addTo, type Gradients, Tape } from "./tape.ts";

/** A model that can be trained on batches of type B. */
export interface Trainable<B = Batch> {
  /** Every parameter by name, row-major float32 or float64; they are updated in place. `Module` of heed/nn has this. */
  parameters(): ReadonlyMap<string, Tensor>;
  /** The mean loss over the targets of a batch that count: one number. */
  loss(batch: B): Tensor;
}

/** What is known after a step. */
export interface StepReport {
  /** Steps done, this one included. */
  readonly step: number;
  readonly loss: number;
  readonly lr: number;
  /** Norm of the gradients before clipping. */
  readonly norm: number;
  /** Held-out loss, where it was measured after this step. */
  readonly heldOut?: number;
}

/** Where and when a run saves itself. Paths need Node. */
export interface CheckpointOptions {
  readonly path: string;
  /** Steps between two checkpoints; default 100. One is written at the end and at an interruption in any case. */
  readonly every?: number;
  /** A text to keep with it: what the run was started with. */
  readonly config?: string;
  /** Writes the file; `saveFile` by default, which is atomic. */
  readonly save?: (path: string, bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
}

/** How to train. */
export interface TrainOptions<B = Batch> {
  readonly model: Trainable<B>;
  /** The micro-batches of step s = 0, 1, …: a function of s alone, so that a run can resume. */
  readonly data: (step: number) => readonly B[];
  /** Targets of a batch that count; its share of the step's loss. By default its `count`, or 1 where it has none. */
  readonly countOf?: (batch: B) => number;
  /** Steps in all. */
  readonly steps: number;
  /** Learning rate of step s; by default that of `adamw`. */
  readonly schedule?: Schedule;
  readonly adamw?: AdamWOptions;
  /** Gradients are scaled down to this norm where theirs is larger; default 1, Infinity to never. */
  readonly maxNorm?: number;
  /** Seed of the dropout of layers (`withDropout`): step and micro-batch are keyed into it. Default 0. */
  readonly seed?: number;
  /** Batches on which the held-out loss is measured after every `every` steps and at the end. */
  readonly heldOut?: { readonly batches: readonly B[]; readonly every: number };
  readonly checkpoint?: CheckpointOptions;
  /** A checkpoint to go on from (`readCheckpoint`). */
  readonly resume?: Checkpoint;
  /** Stops the run after the step it is in; a checkpoint is saved. */
  readonly signal?: AbortSignal;
  /** Told after each step. */
  readonly onStep?: (report: StepReport) => void;
}

/** What a run came to. */
export interface TrainResult {
  /** Steps done in all. */
  readonly step: number;
  /** True where `signal` stopped it. */
  readonly interrupted: boolean;
  /** Loss of each step, from step 0 on, also of those before a resume. */
  readonly losses: readonly number[];
  /** Steps done, and the held-out loss then. */
  readonly heldOut: readonly (readonly [step: number, loss: number])[];
}

/**
 * Trains a model. Throws a HeedError of code `non-finite` where a loss or a gradient is NaN or infinite: it names the
 * step, the layer and the tensor, and neither the model nor the checkpoint has seen the step.
 */
export async function train<B = Batch>(options: TrainOptions<B>): Promise<TrainResult> {
  check(options);
  const { model, data, steps, schedule, maxNorm = 1, heldOut, checkpoint, resume, signal, onStep } = options;
  const { countOf = ownCount, seed = 0 } = options;
  const parameters = model.parameters();
  const optimiser = new AdamW(parameters, options.adamw);
  resume?.restore(parameters, optimiser);
  let step = resume?.step ?? 0;
  let saved = resume?.step;
  const losses = [...(resume?.losses ?? [])];
  const measured = [...(resume?.heldOut ?? [])];
  const sums: Gradients = new Map();

  const save = async () => {
    if (checkpoint === undefined || saved === step) return;
    const { path, config = "", save: write = saveFile } = checkpoint;
    await write(path, writeCheckpoint(parameters, optimiser, { step, losses, heldOut: measured }, config));
    saved = step;
  };

  while (step < steps && !signal?.aborted) {
    const batches = data(step);
    const lr = schedule?.(step);
    const parts: Part[] = batches.map((batch, m) => ({
      count: countOf(batch),
      loss: () => withDropout(dropoutSeed(seed, step, m), () => model.loss(batch)),
    }));
    const { loss, norm } = tidy(() => {
      const { loss, gradients } = differentiate(parts, parameters, sums);
      const norm = gradientNorm(gradients);
      if (!Number.isFinite(loss) || !Number.isFinite(norm))
        throw nonFinite(parts, parameters, step, loss, saved);
      optimiser.step(gradients, {
        lr,
        scale: maxNorm === Number.POSITIVE_INFINITY ? 1 : clipScale(norm, maxNorm),
      });
      return { loss, norm };
    });
    losses.push(loss);
    step++;
    let now: number | undefined;
    if (heldOut !== undefined && (step % heldOut.every === 0 || step === steps)) {
      now = meanLoss(model, heldOut.batches, countOf);
      measured.push([step, now]);
    }
    onStep?.({ step, loss, lr: lr ?? options.adamw?.lr ?? 1e-3, norm, heldOut: now });
    if (checkpoint !== undefined && step % (checkpoint.every ?? 100) === 0) await save();
    // Lets signals and timers in.
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await save();
  return { step, interrupted: step < steps, losses, heldOut: measured };
}

const ownCount = (batch: unknown): number => (batch as { count?: number }).count ?? 1;

/** The mean loss over the targets of batches, nothing recorded. */
export function meanLoss<B>(
  model: Trainable<B>,
  batches: readonly B[],
  countOf: (batch: B) => number = ownCount,
): number {
  let sum = 0;
  let total = 0;
  for (const batch of batches) {
    const count = countOf(batch);
    sum += count * tidy(() => withRecorder(undefined, () => model.loss(batch)).toFloat64()[0]);
    total += count;
  }
  return sum / total;
}

/** One micro-batch: targets that count, and its loss. */
interface Part {
  readonly count: number;
  readonly loss: () => Tensor;
}

/** Loss and gradients of a step: the sum over micro-batches, each with its share of the targets. */
function differentiate(
  parts: readonly Part[],
  parameters: ReadonlyMap<string, Tensor>,
  sums: Gradients,
): { loss: number; gradients: Gradients } {
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  for (const sum of sums.values()) (sum.data as Float32Array).fill(0);
  let loss = 0;
  for (const part of parts) {
    const share = part.count / total;
    const tape = new Tape();
    const mean = tape.run(part.loss);
    loss += share * mean.toFloat64()[0];
    // No gradients of what is NaN already: `nonFinite` looks for its origin.
    if (!Number.isFinite(loss)) return { loss, gradients: new Map() };
    const gradients = tape.gradients(mean, parameters.values(), share);
    if (parts.length === 1) return { loss, gradients };
    for (const [parameter, gradient] of gradients) {
      const sum = sums.get(parameter);
      if (sum) addTo(sum, gradient);
      else sums.set(parameter, copied(gradient));
    }
  }
  return { loss, gradients: sums };
}

/** A copy that outlives the step. */
function copied({ data, offset, size, shape, dtype }: Tensor): Tensor {
  return new Tensor(data.slice(offset, offset + size), shape, dtype);
}

/** Seed of the dropout of a micro-batch. */
function dropoutSeed(seed: number, step: number, part: number): number {
  return new Generator(seed, 7 + 16 * step, part).bits();
}

function nonFinite(
  parts: readonly Part[],
  parameters: ReadonlyMap<string, Tensor>,
  step: number,
  loss: number,
  saved: number | undefined,
): HeedError {
  let found: NonFinite | undefined;
  for (const part of parts) found ??= findNonFinite(parameters, part.loss);
  const what = Number.isFinite(loss) ? "a gradient is not finite" : `loss is ${loss}`;
  const origin = found ? `; first non-finite: ${found.text}` : "";
  const kept = saved === undefined ? "" : `; the last checkpoint is of step ${saved}`;
  return new HeedError("non-finite", `train: ${what} at step ${step}${origin}${kept}`, {
    step,
    loss,
    kind: found?.kind,
    layer: found?.layer,
    operation: found?.step,
  });
}

function check<B>(options: TrainOptions<B>): void {
  if (options === null || typeof options !== "object")
    throw new OptionError("options", `train: expected { model, data, steps }, got ${formatValue(options)}`);
  const { model, steps, heldOut, checkpoint, resume } = options;
  const refuse = (name: string, expected: string, got: unknown): never => {
    throw new OptionError(name, `train: ${name} must be ${expected}, got ${formatValue(got)}`, { got });
  };
  if (typeof model?.parameters !== "function" || typeof model.loss !== "function")
    refuse("model", "an object with parameters() and loss(batch), as languageModel returns", model);
  if (typeof options.data !== "function")
    refuse("data", "a function of the step that returns batches", options.data);
  if (!(Number.isSafeInteger(steps) && steps >= 0)) refuse("steps", "an integer ≥ 0", steps);
  const positive = (name: string, every: unknown) =>
    (Number.isSafeInteger(every) && (every as number) > 0) || refuse(name, "an integer > 0", every);
  if (checkpoint) positive("checkpoint.every", checkpoint.every ?? 100);
  if (heldOut) positive("heldOut.every", heldOut.every);
  if (heldOut?.batches.length === 0) refuse("heldOut.batches", "at least one batch", heldOut.batches);
  if (options.maxNorm !== undefined && !(options.maxNorm > 0))
    refuse("maxNorm", "a number > 0", options.maxNorm);
  if (resume && resume.step > steps)
    throw new OptionError(
      "steps",
      `train: the checkpoint is of step ${resume.step}, and only ${steps} steps are asked for`,
      { step: resume.step, steps },
    );
  for (const [name, parameter] of model.parameters())
    if (!allFinite(parameter))
      throw new OptionError("parameters", `train: parameter ${name} is not finite before the first step`, {
        name,
      });
}
