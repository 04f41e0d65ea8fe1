/**
 * One step of training: the loss and the gradients of its micro-batches, then the update of the parameters. In one process,
 * on another device, or shared by ranks (ranks.ts).
 */
import { stepMemory, tidy } from "../../api/tidy.ts";
import type { PartedScope } from "../../core/arena.ts";
import { HeedError } from "../../core/errors.ts";
import type { Pause } from "../../core/synchronous.ts";
import { COPY, type Tensor } from "../../core/tensor.ts";
import { inDropout, withDropout } from "../../nn/ops/dropout.ts";
import { gradientNorm } from "../clip.ts";
import { Generator } from "../data/random.ts";
import { addTo, type Gradients, Tape } from "../tape.ts";
import { findNonFinite, type NonFinite } from "./non-finite.ts";
import {
  checkedCount,
  checkedLoss,
  countTargets,
  type LossPart,
  lossInParts,
  lossOverRanks,
  type SequenceRanks,
  type TrainOptions,
} from "./options.ts";
import { sumTree } from "./parallel.ts";

/** One micro-batch: the number of its counted targets, and its loss. */
export interface MicroBatch {
  readonly count: number;
  readonly loss: () => Tensor;
  /** `loss`, recorded by a tape in parts. */
  readonly lossInParts: (tape: Tape, pause: Pause) => Promise<Tensor>;
  /** `lossOverRanks`, where ranks share the sequences. */
  readonly lossOver: <T>(
    context: SequenceRanks,
    work: (loss: number, part: LossPart) => Promise<T>,
  ) => Promise<T>;
}

/** Loss of a step, and norm of its gradients. */
export interface StepValues {
  readonly loss: number;
  readonly norm: number;
}

/** Applies the gradients of a step to the parameters, if loss and norm are finite. */
export type Update = (gradients: Gradients, values: StepValues) => void;

/** The micro-batches of step `step`, with the dropout of each. */
export function microBatches<B>(options: TrainOptions<B>, batches: readonly B[], step: number): MicroBatch[] {
  const { model, countOf = countTargets, seed = 0 } = options;
  return batches.map((batch, m) => ({
    count: checkedCount(countOf(batch)),
    loss: () => withDropout(dropoutSeed(seed, step, m), () => checkedLoss("train", model.loss(batch))),
    lossInParts(tape, pause) {
      const dropout = { seed: dropoutSeed(seed, step, m), next: 0 };
      const run = <T>(part: () => T) => tape.run(() => inDropout(dropout, part));
      return lossInParts("train", model, batch, { run, pause });
    },
    lossOver: (context, work) => lossOverRanks(context, model, batch, dropoutSeed(seed, step, m), work),
  }));
}

/** Seed of the dropout of a micro-batch. */
function dropoutSeed(seed: number, step: number, microBatch: number): number {
  return new Generator(seed, 7 + 16 * step, microBatch).bits();
}

/** Loss and gradients of a micro-batch. */
export interface LossGradients {
  readonly loss: number;
  readonly gradients: Gradients;
}

/** A tape whose results are in memory that later steps reuse. */
class StepTape extends Tape {
  readonly #memory: PartedScope;

  constructor(
    memory: PartedScope,
    pause: Pause,
    complete?: (tensor: Tensor, gradient: Tensor | undefined) => void,
  ) {
    super();
    this.#memory = memory;
    this.pause = pause;
    if (complete) this.complete = complete;
  }

  protected override within<T>(part: () => T): T {
    return this.#memory.run(part);
  }
}

/**
 * What `result` makes of the loss and the gradients of a micro-batch, weighted by its share of the step's targets, which are disposed
 * afterwards. No gradients where the loss is not finite. `pause` is awaited between operations: where it throws, nothing has changed.
 * `complete` gets each gradient when the backward pass has completed it.
 */
export async function differentiate<T>(
  microBatch: MicroBatch,
  parameters: ReadonlyMap<string, Tensor>,
  share: number,
  pause: Pause,
  result: (values: LossGradients) => T,
  complete?: (parameter: Tensor, gradient: Tensor | undefined) => void,
): Promise<T> {
  const memory = stepMemory();
  try {
    const tape = new StepTape(memory, pause, complete);
    const mean = await microBatch.lossInParts(tape, pause);
    const loss = share * mean.toFloat64()[0];
    // A loss that is not finite has no useful gradients: `nonFiniteError` finds its origin.
    const gradients = Number.isFinite(loss)
      ? await tape.gradientsAsync(mean, parameters.values(), share)
      : new Map();
    await pause();
    return memory.run(() => result({ loss, gradients }));
  } finally {
    memory.end();
  }
}

/**
 * `differentiate`, where ranks share the sequences: what `result` makes of the loss over all of them and this rank's part of the
 * gradients, which are disposed afterwards.
 */
export const differentiateOver = <T>(
  context: SequenceRanks,
  microBatch: MicroBatch,
  parameters: ReadonlyMap<string, Tensor>,
  share: number,
  result: (values: LossGradients) => T,
): Promise<T> =>
  microBatch.lossOver(context, async (mean, { tape, loss: part }) => {
    const loss = share * mean;
    if (!Number.isFinite(loss)) return result({ loss, gradients: new Map() });
    return result({ loss, gradients: await tape.gradientsAsync(part, parameters.values(), share) });
  });

/** Measures the norm of gradients, and applies them. */
export function applied(gradients: Gradients, loss: number, update: Update): StepValues {
  // There is no gradient of a loss that is not finite.
  const values = { loss, norm: gradients.size === 0 ? 0 : gradientNorm(gradients).toFloat64()[0] };
  update(gradients, values);
  return values;
}

/**
 * A step of a model on another device: gradients of the micro-batches are added there, in the order of the tree of parallel.ts,
 * and only the losses and the norm are read.
 */
export async function stepOnDevice(
  batches: readonly MicroBatch[],
  parameters: ReadonlyMap<string, Tensor>,
  update: Update,
  signal: AbortSignal | undefined,
): Promise<StepValues> {
  const total = batches.reduce((sum, { count }) => sum + count, 0);
  const shares = batches.map(({ count }) => (batches.length === 1 ? 1 : count / total));
  const { losses, gradients, norm } = tidy(() => {
    const losses: Tensor[] = [];
    const gradients = sumTree<Gradients>(
      0,
      batches.length,
      (m) => {
        const tape = new Tape();
        const mean = tape.run(batches[m].loss);
        losses.push(mean[COPY]());
        const parts = tape.gradients(mean, parameters.values(), shares[m]);
        // Copies: gradients may share memory with each other or with the caller's tensors.
        return new Map([...parts].map(([parameter, gradient]) => [parameter, gradient[COPY]()]));
      },
      addGradients,
    );
    return { losses, gradients, norm: gradientNorm(gradients) };
  });
  try {
    const [norms, ...means] = await Promise.all([norm, ...losses].map((t) => t.read()));
    signal?.throwIfAborted();
    const loss = means.reduce((sum, mean, m) => sum + shares[m] * Number(mean[0]), 0);
    const values = { loss, norm: Number(norms[0]) };
    tidy(() => update(gradients, values));
    return values;
  } finally {
    for (const t of [norm, ...losses, ...gradients.values()]) t.dispose();
  }
}

function addGradients(sums: Gradients, others: Gradients): void {
  for (const [parameter, gradient] of others) {
    const sum = sums.get(parameter);
    if (sum) addTo(sum, gradient);
    else sums.set(parameter, gradient);
  }
}

/** The error of a step whose loss or gradients are not finite: it names the origin, and the last checkpoint. */
export async function nonFiniteError(
  batches: readonly MicroBatch[],
  parameters: ReadonlyMap<string, Tensor>,
  { step, loss, lastSaved }: { step: number; loss: number; lastSaved: number | undefined },
): Promise<HeedError> {
  let origin: NonFinite | undefined;
  for (const { loss } of batches) origin ??= await findNonFinite(parameters, loss);
  const failure = Number.isFinite(loss) ? "a gradient is not finite" : `loss is ${loss}`;
  const first = origin ? `; first non-finite: ${origin.text}` : "";
  const checkpoint = lastSaved === undefined ? "" : `; the last checkpoint is of step ${lastSaved}`;
  return new HeedError("non-finite", `train: ${failure} at step ${step}${first}${checkpoint}`, {
    step,
    loss,
    kind: origin?.kind,
    layer: origin?.layer,
    operation: origin?.step,
  });
}
