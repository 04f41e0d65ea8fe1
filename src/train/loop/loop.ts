/**
 * The training loop: each step computes the loss and its gradients over one or more micro-batches, clips their norm and
 * updates the parameters with AdamW. At intervals it measures the held-out loss and saves a checkpoint. A run that resumes
 * from a checkpoint gives the same bits as an uninterrupted run.
 *
 * The caller defines the model: parameters by name, and the loss of a batch.
 */
import { agree, agreed, digest, type Terms } from "../../cluster/communicator/agree.ts";
import type { Communicator } from "../../cluster/communicator/communicator.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import { checkArgument, formatValue, HeedError, OptionError, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { COPY, sameDevice, Tensor } from "../../core/tensor.ts";
import { saveFile } from "../../io/index.ts";
import { withDropout } from "../../nn/ops/dropout.ts";
import { withRecorder } from "../../nn/record.ts";
import { tidy } from "../../tidy.ts";
import { AdamW, type AdamWOptions, clipScale, gradientNorm } from "../adamw.ts";
import type { Batch } from "../data/data.ts";
import { Generator } from "../data/random.ts";
import type { Schedule } from "../schedule.ts";
import { addTo, type Gradients, Tape } from "../tape.ts";
import { type Checkpoint, writeCheckpoint } from "./checkpoint.ts";
import { allFinite, findNonFinite, type NonFinite } from "./non-finite.ts";
import { Flat, type FlatGradients, microBatchesOf, sumOverRanks, sumOwn, sumTree } from "./parallel.ts";

/** A model that can be trained on batches of type B. */
export interface Trainable<B = Batch> {
  /** Every parameter by name, row-major float32 or float64; they are updated in place. `Module` of heed/nn has this. */
  parameters(): ReadonlyMap<string, Tensor>;
  /** The mean loss over the counted targets of a batch: a tensor of one number. */
  loss(batch: B): Tensor;
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
  /** Writes the file; `saveFile` by default, which is atomic. */
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
  /** Stops the run after the current step; a checkpoint is saved. */
  readonly signal?: AbortSignal;
  /**
   * Ranks that train together (`joinCluster` of heed/cluster): they share the micro-batches, and their gradients are summed.
   * Every rank calls `train` with the same model, data and options; rank 0 writes the checkpoint. Any number of ranks gives
   * the same bits. Default: this process alone.
   */
  readonly comm?: Communicator;
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
  check(options);
  await checkParameters(options);
  const { model, data, steps, schedule, maxNorm = 1, heldOut, checkpoint, resume, signal, onStep } = options;
  const { countOf = ownCount, seed = 0, comm, order = "fixed" } = options;
  const parameters = model.parameters();
  const isOnDevice = [...parameters.values()].some(({ device }) => device !== "cpu");
  const optimizer = new AdamW(parameters, options.adamw);
  resume?.restore(parameters, optimizer);
  let step = resume?.step ?? 0;
  let saved = resume?.step;
  const losses = [...(resume?.losses ?? [])];
  const measured = [...(resume?.heldOut ?? [])];
  const run: Run = { parameters, flat: new Flat(parameters.values()), comm, order };
  if (comm) await agree(comm, "train", () => termsOf(options, parameters, step));

  const save = async () => {
    if (checkpoint === undefined || saved === step) return;
    const { path, config = "", save: write = saveFile } = checkpoint;
    if (comm === undefined || comm.rank === 0)
      await write(
        path,
        await writeCheckpoint(parameters, optimizer, { step, losses, heldOut: measured }, config),
      );
    saved = step;
  };

  let stopped = comm === undefined && signal?.aborted === true;
  while (step < steps && !stopped) {
    const batches = batchesOf(data(step));
    const lr = schedule && rateOf(schedule(step), step);
    const parts: Part[] = batches.map((batch, m) => ({
      count: countedTargets(countOf, batch),
      loss: () => withDropout(dropoutSeed(seed, step, m), () => checkedLoss("train", model.loss(batch))),
    }));
    const update = (gradients: Gradients, { loss, norm }: StepValues): StepValues => {
      if (Number.isFinite(loss) && Number.isFinite(norm))
        optimizer.step(gradients, {
          lr,
          scale: maxNorm === Number.POSITIVE_INFINITY ? 1 : clipScale(norm, maxNorm),
        });
      return { loss, norm };
    };
    let done: StepValues;
    if (isOnDevice) {
      checkMicroBatches(parts.length, 1, step);
      done = await stepOnDevice(parts, parameters, update);
    } else if (comm === undefined && parts.length === 1)
      done = tidy(() => {
        const { loss, gradients } = differentiate(parts[0], parameters);
        return update(gradients, { loss, norm: gradientNorm(gradients).toFloat64()[0] });
      });
    else {
      const { loss, gradients, ...summed } = await differentiateAll(
        run,
        parts,
        step,
        signal?.aborted === true,
      );
      done = tidy(() => update(gradients, { loss, norm: gradientNorm(gradients).toFloat64()[0] }));
      stopped = summed.stopped;
    }
    const { loss, norm } = done;
    if (!Number.isFinite(loss) || !Number.isFinite(norm))
      throw agreed(await nonFinite(parts, parameters, step, loss, saved));
    losses.push(loss);
    step++;
    let now: number | undefined;
    if (heldOut !== undefined && (step % heldOut.every === 0 || step === steps)) {
      now = await heldOutLoss(model, heldOut.batches, countOf, comm);
      measured.push([step, now]);
    }
    onStep?.({ step, loss, lr: lr ?? options.adamw?.lr ?? 1e-3, norm, heldOut: now });
    if (checkpoint !== undefined && step % (checkpoint.every ?? 100) === 0) await save();
    // Timers and abort signals run here.
    await new Promise((resolve) => setTimeout(resolve, 0));
    // Ranks stop together, at the step where one of them was aborted.
    if (comm === undefined) stopped = signal?.aborted === true;
  }
  await save();
  return { step, interrupted: step < steps, losses, heldOut: measured };
}

function refuseValue(what: string, name: string, expected: string, got: unknown): never {
  throw new OptionError(name, `${what}: ${name} must be ${expected}, got ${formatValue(got)}`, { got });
}

const isPromise = (x: unknown) => typeof (x as { then?: unknown } | null | undefined)?.then === "function";

function batchesOf<B>(batches: readonly B[]): readonly B[] {
  return Array.isArray(batches)
    ? batches
    : refuseValue(
        "train",
        "data",
        `a function that returns a list of batches${isPromise(batches) ? ", not a promise" : ""}`,
        batches,
      );
}

function rateOf(lr: number, step: number): number {
  return Number.isFinite(lr) && lr >= 0
    ? lr
    : refuseValue("train", "schedule", `a function that returns a rate ≥ 0 for step ${step}`, lr);
}

function countedTargets<B>(countOf: (batch: B) => number, batch: B): number {
  const count = countOf(batch);
  return Number.isFinite(count) && count >= 0
    ? count
    : refuseValue("train", "countOf", "a function that returns the number of targets of a batch", count);
}

function checkedLoss(what: string, loss: Tensor): Tensor {
  return loss instanceof Tensor
    ? loss
    : refuseValue(
        what,
        "loss",
        `a method that returns a tensor of one number${isPromise(loss) ? ", not a promise: load batches in data" : ""}`,
        loss,
      );
}

/** Loss of a step, and norm of its gradients. */
interface StepValues {
  readonly loss: number;
  readonly norm: number;
}

/**
 * A step of a model on another device: gradients of the micro-batches are added there, in the order of the tree of parallel.ts,
 * and only the losses and the norm are read.
 */
async function stepOnDevice(
  parts: readonly Part[],
  parameters: ReadonlyMap<string, Tensor>,
  update: (gradients: Gradients, values: StepValues) => StepValues,
): Promise<StepValues> {
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  const shares = parts.map(({ count }) => (parts.length === 1 ? 1 : count / total));
  const { losses, gradients, norm } = tidy(() => {
    const losses: Tensor[] = [];
    const gradients = sumTree<Gradients>(
      0,
      parts.length,
      (m) => {
        const tape = new Tape();
        const mean = tape.run(parts[m].loss);
        losses.push(mean[COPY]());
        const found = tape.gradients(mean, parameters.values(), shares[m]);
        // Copies: gradients may share memory with each other or with the caller's tensors.
        return new Map([...found].map(([parameter, gradient]) => [parameter, gradient[COPY]()]));
      },
      addGradients,
    ) as Gradients;
    return { losses, gradients, norm: gradientNorm(gradients) };
  });
  const [norms, ...values] = await Promise.all([norm, ...losses].map((t) => t.read()));
  const loss = values.reduce((sum, value, m) => sum + shares[m] * Number(value[0]), 0);
  const done = tidy(() => update(gradients, { loss, norm: Number(norms[0]) }));
  for (const t of [norm, ...losses, ...gradients.values()]) t.dispose();
  return done;
}

function addGradients(sums: Gradients, others: Gradients): void {
  for (const [parameter, gradient] of others) {
    const sum = sums.get(parameter);
    if (sum) addTo(sum, gradient);
    else sums.set(parameter, gradient);
  }
}

const ownCount = (batch: unknown): number => (batch as { count?: number }).count ?? 1;

/**
 * The mean loss over the counted targets of batches, without recording. The model is on the CPU.
 *
 * @example
 * const corpus = new Corpus([text], decoder.tokenizer, { kind: "decoder", context: 16 });
 * const sizes = { vocabulary: decoder.tokenizer.size, context: 16, layers: 1, heads: 2, width: 16, seed: 1 };
 * meanLoss(languageModel("decoder", sizes), corpus.heldOut); // nats a token
 */
export function meanLoss<B>(
  model: Trainable<B>,
  batches: readonly B[],
  countOf: (batch: B) => number = ownCount,
): number {
  checkArgument(
    typeof (model as Partial<Trainable<B>> | undefined)?.loss === "function" && Array.isArray(batches),
    "meanLoss",
    "a model with loss(batch), as languageModel returns, and a list of batches",
    Array.isArray(batches) ? model : batches,
  );
  return weightedMean(
    batches.map(countOf),
    batches.map((batch) => lossOf(model, batch)),
  );
}

const lossOf = <B>(model: Trainable<B>, batch: B): number =>
  tidy(() => {
    const loss = withRecorder(undefined, () => checkedLoss("meanLoss", model.loss(batch)));
    if (loss.device !== "cpu")
      throw new UnsupportedError(
        "device",
        `meanLoss: the model is on the device "${loss.device}", and a number cannot be returned before the device has computed it; measure with train({ heldOut }), or move the model: await model.to("cpu")`,
        { device: loss.device },
      );
    return loss.toFloat64()[0];
  });

/** The losses of batches, of a model on any device: all are enqueued before the first is read. */
async function lossesOf<B>(model: Trainable<B>, batches: readonly B[]): Promise<number[]> {
  const losses = batches.map((batch) => tidy(() => withRecorder(undefined, () => model.loss(batch))[COPY]()));
  const values = await Promise.all(losses.map((loss) => loss.read()));
  for (const loss of losses) loss.dispose();
  return values.map((value) => Number(value[0]));
}

function weightedMean(counts: readonly number[], losses: ArrayLike<number>): number {
  let sum = 0;
  let total = 0;
  counts.forEach((count, n) => {
    sum += count * losses[n];
    total += count;
  });
  return sum / total;
}

/** The held-out loss; ranks share its batches. */
async function heldOutLoss<B>(
  model: Trainable<B>,
  batches: readonly B[],
  countOf: (batch: B) => number,
  comm: Communicator | undefined,
): Promise<number> {
  if (comm === undefined) return weightedMean(batches.map(countOf), await lossesOf(model, batches));
  const shares = Array.from({ length: comm.size }, (_, r) => microBatchesOf(batches.length, comm.size, r));
  const [from, to] = shares[comm.rank];
  const losses = new Float64Array(batches.length);
  const own = Float64Array.from(batches.slice(from, to), (batch) => lossOf(model, batch));
  await comm.allGather(
    own,
    losses,
    shares.map(([a, b]) => 8 * (b - a)),
  );
  return weightedMean(batches.map(countOf), losses);
}

/** One micro-batch: the number of its counted targets, and its loss. */
interface Part {
  readonly count: number;
  readonly loss: () => Tensor;
}

/** The constants of a run. */
interface Run {
  readonly parameters: ReadonlyMap<string, Tensor>;
  readonly flat: Flat;
  readonly comm: Communicator | undefined;
  readonly order: "fixed" | "fast";
}

/** Loss and gradients of a micro-batch, weighted by its share of the step's targets. No gradients where the loss is not finite. */
function differentiate(
  part: Part,
  parameters: ReadonlyMap<string, Tensor>,
  share = 1,
): { loss: number; gradients: Gradients } {
  const tape = new Tape();
  const mean = tape.run(part.loss);
  const loss = share * mean.toFloat64()[0];
  // A loss that is not finite has no useful gradients: `nonFinite` finds its origin.
  if (!Number.isFinite(loss)) return { loss, gradients: new Map() };
  return { loss, gradients: tape.gradients(mean, parameters.values(), share) };
}

/** Throws where a rank would have no micro-batch. */
function checkMicroBatches(M: number, size: number, step: number): void {
  if (M < size)
    throw agreed(
      new OptionError(
        "micro-batches",
        `train: step ${step} has ${M} micro-batch${M === 1 ? "" : "es"}, and there are ${size} ranks; give every rank at least one (heed train: --accumulate ${size})`,
        { microBatches: M, ranks: size },
      ),
    );
}

/** Loss and gradients of a step: the sum over micro-batches, which ranks share. */
async function differentiateAll(
  { parameters, flat, comm, order }: Run,
  parts: readonly Part[],
  step: number,
  wantsToStop: boolean,
): Promise<{ loss: number; gradients: Gradients; stopped: boolean }> {
  const M = parts.length;
  const { rank = 0, size = 1 } = comm ?? {};
  checkMicroBatches(M, size, step);
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  // Every rank sends its losses, whether it wants to stop, and which parameters have a gradient.
  const width = (r: number) => {
    const [from, to] = microBatchesOf(M, size, r);
    return to - from + 1 + flat.count;
  };
  const [from, to] = microBatchesOf(M, size, rank);
  const own = new Float64Array(width(rank));
  const present = new Uint8Array(flat.count);
  const nodes = sumOwn(M, [from, to], (m) =>
    // Only the flat copy outlives the scope.
    tidy(() => {
      const { loss, gradients } = differentiate(parts[m], parameters, parts[m].count / total);
      own[m - from] = loss;
      return Number.isFinite(loss) ? flat.from(gradients, present) : undefined;
    }),
  );
  own[to - from] = wantsToStop ? 1 : 0;
  own.set(present, to - from + 1);
  const bytes = Array.from({ length: size }, (_, r) => 8 * width(r));
  const all = size === 1 ? own : new Float64Array(bytes.reduce((a, b) => a + b, 0) / 8);
  if (comm && size > 1) await comm.allGather(own, all, bytes);
  let [loss, at, stopped] = [0, 0, false];
  for (let r = 0; r < size; r++) {
    const [first, last] = microBatchesOf(M, size, r);
    for (let m = first; m < last; m++) loss += all[at++];
    if (all[at++] !== 0) stopped = true;
    for (let n = 0; n < flat.count; n++) if (all[at++] !== 0) present[n] = 1;
  }
  if (!Number.isFinite(loss) || nodes === undefined) return { loss, gradients: new Map(), stopped };
  const sum =
    comm && size > 1 ? await sumOverRanks(comm, M, nodes, order) : ([...nodes.values()][0] as FlatGradients);
  return { loss, gradients: flat.to(sum, present), stopped };
}

/** The terms that ranks of one run must agree on. */
function termsOf<B>(
  options: TrainOptions<B>,
  parameters: ReadonlyMap<string, Tensor>,
  step: number,
): { terms: Terms; value: undefined } {
  const { steps, seed = 0, maxNorm = 1, adamw = {}, order = "fixed", heldOut, checkpoint } = options;
  let size = 0;
  const shapes: string[] = [];
  const values: number[] = [];
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
    values.push(sum);
  }
  const { decays: _, ...rates } = adamw;
  return {
    value: undefined,
    terms: {
      parameters: `${parameters.size} of ${size} numbers, ${digest(shapes.join()).join("-")}`,
      "the first weights": values.length > 0 ? digest(values.join()).join("-") : "none",
      "the first step": step,
      steps,
      seed,
      maxNorm,
      adamw: JSON.stringify(rates),
      order,
      "held-out batches": heldOut ? `${heldOut.batches.length} every ${heldOut.every}` : "none",
      "steps between checkpoints": checkpoint ? (checkpoint.every ?? 100) : "no checkpoint",
    },
  };
}

/** Seed of the dropout of a micro-batch. */
function dropoutSeed(seed: number, step: number, part: number): number {
  return new Generator(seed, 7 + 16 * step, part).bits();
}

async function nonFinite(
  parts: readonly Part[],
  parameters: ReadonlyMap<string, Tensor>,
  step: number,
  loss: number,
  saved: number | undefined,
): Promise<HeedError> {
  let found: NonFinite | undefined;
  for (const part of parts) found ??= await findNonFinite(parameters, part.loss);
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
  const { model, steps, heldOut, checkpoint, resume, order } = options;
  const refuse = (name: string, expected: string, got: unknown): never =>
    refuseValue("train", name, expected, got);
  if (typeof model?.parameters !== "function" || typeof model.loss !== "function")
    refuse("model", "an object with parameters() and loss(batch), as languageModel returns", model);
  checkOptionNames("train", options, [
    "model",
    "data",
    "countOf",
    "steps",
    "schedule",
    "adamw",
    "maxNorm",
    "seed",
    "heldOut",
    "checkpoint",
    "resume",
    "signal",
    "comm",
    "order",
    "onStep",
  ]);
  if (typeof options.data !== "function")
    refuse("data", "a function of the step that returns batches", options.data);
  if (!(Number.isSafeInteger(steps) && steps >= 0)) refuse("steps", "an integer ≥ 0", steps);
  const positive = (name: string, every: unknown) =>
    (Number.isSafeInteger(every) && (every as number) > 0) || refuse(name, "an integer > 0", every);
  if (options.comm !== undefined && typeof options.comm?.exchange !== "function")
    refuse("comm", "what joinCluster returns", options.comm);
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
  if (checkpoint) positive("checkpoint.every", checkpoint.every ?? 100);
  if (heldOut && !Array.isArray(heldOut.batches))
    refuse("heldOut", "{ batches, every }, a list of batches and a number of steps", heldOut);
  if (heldOut) positive("heldOut.every", heldOut.every);
  if (heldOut?.batches.length === 0) refuse("heldOut.batches", "at least one batch", heldOut.batches);
  if (options.maxNorm !== undefined && !(options.maxNorm > 0))
    refuse("maxNorm", "a number > 0", options.maxNorm);
  if (resume && resume.step > steps)
    throw new OptionError("steps", `train: the checkpoint is of step ${resume.step}, but steps is ${steps}`, {
      step: resume.step,
      steps,
    });
}

/** Throws unless all parameters are on one device, which ranks require to be the CPU, and are finite. */
async function checkParameters<B>({ model, comm }: TrainOptions<B>): Promise<void> {
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
