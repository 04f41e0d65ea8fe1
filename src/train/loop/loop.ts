/**
 * The training loop: each step computes the loss and its gradients over one or more micro-batches, clips their norm and
 * updates the parameters with AdamW. At intervals it measures the held-out loss and saves a checkpoint. A run that resumes
 * from a checkpoint gives the same bits as an uninterrupted run.
 *
 * The caller defines the model: parameters by name, and the loss of a batch. Options and their checks are in options.ts, the
 * step in step.ts, ranks in ranks.ts, the held-out loss in held-out.ts, checkpoints in checkpointing.ts.
 */

import { tidy } from "../../api/tidy.ts";
import { agree, agreed } from "../../cluster/communicator/agree.ts";
import { checkCount } from "../../core/errors.ts";
import { pauses } from "../../core/slices.ts";
import { AdamW } from "../adamw.ts";
import { clipScale } from "../clip.ts";
import type { Batch } from "../data/data.ts";
import { startCheckpointing } from "./checkpointing.ts";
import { heldOutLoss } from "./held-out.ts";
import { OptimizerParts } from "./optimizer-parts.ts";
import type { TrainOptions, TrainResult } from "./options.ts";
import {
  checkedBatches,
  checkedRate,
  checkParameters,
  checkTrainOptions,
  countTargets,
  unlessAborted,
} from "./options.ts";
import { checkMicroBatches, ranksOf, SharedSteps, termsOf } from "./ranks.ts";
import type { StepValues, Update } from "./step.ts";
import { applied, differentiate, microBatches, nonFiniteError, stepOnDevice } from "./step.ts";

/**
 * Trains a model. Throws a HeedError of code `non-finite` where a loss or a gradient is NaN or infinite: it names the step, the
 * layer and the tensor. The step changes neither the model nor the checkpoint.
 *
 * A model on another device (`Module.to`) is trained there: each step reads its losses and the norm of its gradients.
 *
 * @example
 * const corpus = new Corpus([text], decoder.tokenizer, { kind: "decoder", context: 16, batch: 8 });
 * const sizes = { vocabulary: decoder.tokenizer.size, context: 16, layers: 1, heads: 2, width: 16, seed: 1 };
 * const model = languageModel("decoder", sizes);
 * const { losses } = await train({ model, data: (step) => corpus.batches(step), steps: 2 });
 * losses.length; // → 2
 */
export async function train<B = Batch>(options: TrainOptions<B>): Promise<TrainResult> {
  checkCount("train", arguments, 1, "the model is a field: train({ model, data, steps })");
  checkTrainOptions(options);
  await checkParameters(options);
  const { model, data, steps, schedule, maxNorm = 1, heldOut, resume, signal, onStep } = options;
  const { countOf = countTargets, comm, order = "fixed" } = options;
  const parameters = model.parameters();
  const isOnDevice = [...parameters.values()].some(({ device }) => device !== "cpu");
  const parts = comm && options.shardOptimizer ? new OptimizerParts(comm, parameters) : undefined;
  const optimizer = new AdamW(parts?.local ?? parameters, options.adamw);
  resume?.restore(parameters, optimizer);
  let step = resume?.step ?? 0;
  const losses = [...(resume?.losses ?? [])];
  const heldOutLosses = [...(resume?.heldOut ?? [])];
  if (comm) await agree(comm, "train", () => termsOf(options, parameters, step));
  const ranks = await ranksOf(comm, options.sequenceRanks);
  const shared = new SharedSteps(parameters, ranks, order);
  const checkpoints = startCheckpointing(options, optimizer, parts);

  const pause = pauses(signal);
  /** The held-out loss, where it is due; a run that was stopped meanwhile measures it when it resumes. */
  const measure = async (): Promise<number | undefined> => {
    const isDue = heldOut !== undefined && step > 0 && (step % heldOut.every === 0 || step === steps);
    if (!isDue || heldOutLosses.at(-1)?.[0] === step) return undefined;
    const measured = await heldOutLoss(model, heldOut.batches, countOf, ranks, { signal, pause });
    if (measured !== undefined) heldOutLosses.push([step, measured]);
    else stopped = true;
    return measured;
  };

  let stopped = comm === undefined && signal?.aborted === true;
  if (!stopped) await measure();
  while (step < steps && !stopped) {
    const batches = microBatches(options, checkedBatches(data(step)), step);
    const lr = schedule && checkedRate(schedule(step), step);
    const update: Update = (gradients, { loss, norm }) => {
      if (!(Number.isFinite(loss) && Number.isFinite(norm))) return;
      const scale = maxNorm === Number.POSITIVE_INFINITY ? 1 : clipScale(norm, maxNorm);
      if (parts) parts.step(optimizer, gradients, { lr, scale });
      else optimizer.step(gradients, { lr, scale });
    };
    const values = await unlessAborted(signal, async (): Promise<StepValues | undefined> => {
      if (isOnDevice) {
        checkMicroBatches(batches.length, 1, step);
        return stepOnDevice(batches, parameters, update, signal);
      }
      if (comm === undefined && batches.length === 1)
        return differentiate(batches[0], parameters, 1, pause, ({ gradients, loss }) =>
          applied(gradients, loss, update),
        );
      const result = await shared.differentiate(batches, step, signal, pause);
      return result && tidy(() => applied(result.gradients, result.loss, update));
    });
    // The step has changed nothing; ranks stop together.
    if (values === undefined) break;
    const { loss, norm } = values;
    if (!Number.isFinite(loss) || !Number.isFinite(norm))
      throw agreed(
        await nonFiniteError(batches, parameters, { step, loss, lastSaved: checkpoints.lastSaved }),
      );
    await parts?.share();
    losses.push(loss);
    step++;
    const measured = await measure();
    onStep?.({ step, loss, lr: lr ?? options.adamw?.lr ?? 1e-3, norm, heldOut: measured });
    if (checkpoints.isDue(step)) await checkpoints.save({ step, losses, heldOut: heldOutLosses });
    // Timers and abort signals run here.
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (comm === undefined && signal?.aborted) stopped = true;
  }
  await checkpoints.save({ step, losses, heldOut: heldOutLosses });
  return { step, interrupted: step < steps, losses, heldOut: heldOutLosses };
}
