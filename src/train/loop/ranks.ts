/**
 * Training on several ranks: the terms of a run that they agree on, and a step whose micro-batches they share. The tree in
 * which their gradients are added is in parallel.ts.
 */
import { agreed, digest, type Terms } from "../../cluster/communicator/agree.ts";
import type { Communicator } from "../../cluster/communicator/communicator.ts";
import { OptionError } from "../../core/errors.ts";
import { pauses } from "../../core/slices.ts";
import type { Pause } from "../../core/synchronous.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Gradients } from "../tape.ts";
import { type SequenceRanks, type TrainOptions, unlessAborted } from "./options.ts";
import { Flat, GradientExchange, microBatchesOf, sumLocal, sumOverRanks } from "./parallel.ts";
import { differentiate, differentiateOver, type LossGradients, type MicroBatch } from "./step.ts";

/** The ranks of a run: all, those that share the micro-batches, and those that share each sequence. */
export interface Ranks {
  readonly all?: Communicator;
  readonly data?: Communicator;
  readonly context?: SequenceRanks;
}

/** The ranks of a run in which `sequenceRanks` adjacent ones share each sequence. */
export async function ranksOf(all: Communicator | undefined, sequenceRanks = 1): Promise<Ranks> {
  if (all === undefined || sequenceRanks === 1) return { all, data: all };
  const comm = await all.split(Math.floor(all.rank / sequenceRanks));
  const data = await all.split(all.rank % sequenceRanks);
  // Programs that share no sequence need not load it.
  const { tapeOfRanks } = await import("./context.ts");
  return { all, data, context: { comm, tapeOf: (length, step) => tapeOfRanks(comm, length, step) } };
}

/** Milliseconds of the last micro-batch after which the exchange of gradients goes on. */
const TURN = 3;

/** Takes the complete gradient of a parameter, and returns the parameter's number. */
type Completed = (parameter: Tensor, gradient: Tensor | undefined) => number;

/** Loss and gradients of a step: the sum over micro-batches, which ranks share. */
export class SharedSteps {
  readonly #parameters: ReadonlyMap<string, Tensor>;
  readonly #flat: Flat;
  readonly #ranks: Ranks;
  readonly #order: "fixed" | "fast";

  constructor(parameters: ReadonlyMap<string, Tensor>, ranks: Ranks, order: "fixed" | "fast") {
    this.#parameters = parameters;
    this.#flat = new Flat(parameters.values());
    this.#ranks = ranks;
    this.#order = order;
  }

  /** Undefined on all ranks where `signal` ended the step of one; `pause` throws then. */
  async differentiate(
    batches: readonly MicroBatch[],
    step: number,
    signal: AbortSignal | undefined,
    pause: Pause,
  ): Promise<{ loss: number; gradients: Gradients } | undefined> {
    const { all: everyone, data: comm, context } = this.#ranks;
    const M = batches.length;
    const { rank = 0, size = 1 } = comm ?? {};
    let stops = await agreeOnStep(everyone, M, step, signal?.aborted === true);
    if (stops) return undefined;
    checkMicroBatches(M, size, step);
    const flat = this.#flat;
    const total = batches.reduce((sum, { count }) => sum + count, 0);
    // Every rank sends its losses, which parameters have a gradient, and whether it stops.
    const width = (r: number) => {
      const [from, to] = microBatchesOf(M, size, r);
      return to - from + flat.count + 1;
    };
    const [from, to] = microBatchesOf(M, size, rank);
    const message = new Float64Array(width(rank));
    const present = new Uint8Array(flat.count);
    // A rank that stops, or whose loss is not finite, exchanges what it has with the others, which then drop the step as it does.
    let isDropped = false;
    const compute = async (m: number, pauseHere: Pause, complete: Completed): Promise<void> => {
      const share = batches[m].count / total;
      const note = (parameter: Tensor, gradient: Tensor | undefined) => {
        const n = complete(parameter, gradient);
        if (gradient) present[n] = 1;
      };
      const result = ({ loss }: LossGradients) => {
        message[m - from] = loss;
        isDropped = !Number.isFinite(loss);
        return true;
      };
      // Ranks that share a sequence wait for each other within it.
      if (context && !isDropped) stops = await anyOf(context.comm, signal?.aborted === true);
      if (isDropped || stops) return;
      if (context)
        await differentiateOver(context, batches[m], this.#parameters, share, (values) => {
          for (const [parameter, gradient] of values.gradients) note(parameter, gradient);
          return result(values);
        });
      else {
        const work = () => differentiate(batches[m], this.#parameters, share, pauseHere, result, note);
        stops = (await unlessAborted(signal, work)) === undefined;
      }
    };
    const sums = await sumLocal(M, [from, to], flat.zeros(), async (m) => {
      const gradients = flat.zeros();
      await compute(m, pause, (parameter, gradient) => flat.set(gradients, parameter, gradient));
      return gradients;
    });
    const over = comm && size > 1 ? comm : undefined;
    const exchange = new GradientExchange(
      flat,
      sums,
      over && ((nodes) => sumOverRanks(over, M, nodes, this.#order)),
    );
    const isShared = over && !context;
    await compute(to - 1, isShared ? pauses(signal, TURN) : pause, (...gradient) =>
      exchange.complete(...gradient),
    );
    const sum = await exchange.end();
    message.set(present, to - from);
    message[to - from + flat.count] = stops ? 1 : 0;
    const bytes = Array.from({ length: size }, (_, r) => 8 * width(r));
    const all = size === 1 ? message : new Float64Array(bytes.reduce((a, b) => a + b, 0) / 8);
    if (comm && size > 1) await comm.allGather(message, all, bytes);
    let [loss, at] = [0, 0];
    for (let r = 0; r < size; r++) {
      const [first, last] = microBatchesOf(M, size, r);
      for (let m = first; m < last; m++) loss += all[at++];
      for (let n = 0; n < flat.count; n++) if (all[at++] !== 0) present[n] = 1;
      if (all[at++] !== 0) stops = true;
    }
    if (stops) return undefined;
    if (!Number.isFinite(loss)) return { loss, gradients: new Map() };
    if (context) for (const array of sum) await context.comm.reduce(array, this.#order);
    return { loss, gradients: flat.to(sum, present) };
  }
}

/** True on all ranks where it is true on one. */
export async function anyOf(comm: Communicator, isTrue: boolean): Promise<boolean> {
  const all = new Uint8Array(comm.size);
  await comm.allGather(Uint8Array.of(isTrue ? 1 : 0), all);
  return all.includes(1);
}

/**
 * Makes sure before a step that all ranks have the same number of micro-batches, on which the lengths of its messages depend;
 * returns true where a rank wants to stop.
 */
async function agreeOnStep(
  comm: Communicator | undefined,
  M: number,
  step: number,
  aborted: boolean,
): Promise<boolean> {
  if (comm === undefined || comm.size === 1) return aborted;
  const all = new Float64Array(2 * comm.size);
  await comm.allGather(Float64Array.of(M, aborted ? 1 : 0), all);
  const counts = Array.from({ length: comm.size }, (_, r) => all[2 * r]);
  const other = counts.findIndex((count) => count !== counts[0]);
  if (other >= 0)
    throw agreed(
      new OptionError(
        "cluster-disagreement",
        `train: ranks disagree: step ${step} has ${counts[0]} micro-batches on rank 0, but ${counts[other]} on rank ${other}; data(step) must return the same batches on every rank`,
        { step, microBatches: counts },
      ),
    );
  return counts.some((_, r) => all[2 * r + 1] !== 0);
}

/** Throws where a rank would have no micro-batch. */
export function checkMicroBatches(M: number, size: number, step: number): void {
  if (M < size)
    throw agreed(
      new OptionError(
        "micro-batches",
        `train: step ${step} has ${M} micro-batch${M === 1 ? "" : "es"}, and there are ${size} ranks; give every rank at least one (heed train: --accumulate ${size})`,
        { microBatches: M, ranks: size },
      ),
    );
}

/** The terms that ranks of one run must agree on. */
export function termsOf<B>(
  options: TrainOptions<B>,
  parameters: ReadonlyMap<string, Tensor>,
  step: number,
): { terms: Terms; value: undefined } {
  const { steps, seed = 0, maxNorm = 1, adamw = {}, order = "fixed", heldOut, checkpoint } = options;
  let size = 0;
  const shapes: string[] = [];
  const sums: number[] = [];
  for (const [name, { shape, dtype, data, offset, size: n }] of parameters) {
    shapes.push(`${name} [${shape.join(", ")}] ${dtype}`);
    size += n;
    // A hash of the bytes: one number per parameter.
    const bytes = new Uint8Array(
      data.buffer,
      data.byteOffset + offset * data.BYTES_PER_ELEMENT,
      n * data.BYTES_PER_ELEMENT,
    );
    let sum = 0;
    for (let i = 0; i < bytes.length; i++) sum = (Math.imul(sum, 31) + bytes[i]) | 0;
    sums.push(sum);
  }
  return {
    value: undefined,
    terms: {
      parameters: `${parameters.size} of ${size} numbers, ${digest(shapes.join()).join("-")}`,
      "the first weights": sums.length > 0 ? digest(sums.join()).join("-") : "none",
      "the first step": step,
      steps,
      seed,
      maxNorm,
      adamw: JSON.stringify(adamw),
      order,
      "ranks of a sequence": options.sequenceRanks ?? 1,
      shardOptimizer: options.shardOptimizer ?? false,
      "held-out batches": heldOut ? `${heldOut.batches.length} every ${heldOut.every}` : "none",
      "steps between checkpoints": checkpoint ? (checkpoint.every ?? 100) : "no checkpoint",
    },
  };
}
