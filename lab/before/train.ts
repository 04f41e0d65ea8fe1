/**
 * Training of the encoder and decoder: 32 random words a step, AdamW, gradients clipped to length 1; on the GPU where the reader chooses
 * it. Where the GPU fails, the CPU trains from the start, because the state of the optimizer is lost.
 */
import { messageOf } from "../../src/core/errors.ts";
import { tensor } from "../../src/index.ts";
import type { RecurrentEncoderDecoder } from "../../src/nn/history/index.ts";
import {
  AdamW,
  clipScale,
  crossEntropy,
  Generator,
  gradientNorm,
  Tape,
  tidy,
} from "../../src/train/index.ts";
import { type GpuStart, startGpu } from "../../ui/gpu.ts";
import type { Before, BeforeNumbers, Run, RunAccess } from "./compute.ts";
import { LETTERS, WORD } from "./letters.ts";

const [BATCH, SNAPSHOT_EVERY] = [32, 8];

/** A model on the device that trains it, its optimizer and its random words. */
class Training {
  readonly #model: RecurrentEncoderDecoder;
  readonly #parameters;
  readonly #optimizer: AdamW;
  readonly #random: Generator;

  constructor(model: RecurrentEncoderDecoder, seed: number) {
    this.#random = new Generator(seed);
    this.#model = model;
    this.#parameters = model.parameters();
    this.#optimizer = new AdamW(this.#parameters, { lr: 1e-2, weightDecay: 0 });
  }

  /** One step: the loss before it. */
  async step(): Promise<number> {
    const [letters, length] = [LETTERS.length, WORD.length];
    const words = Array.from({ length: BATCH }, () =>
      Array.from({ length }, () => this.#random.below(letters)),
    );
    const backwards = words.map((word) => word.toReversed());
    // The id after the alphabet begins each written word.
    const before = backwards.map((word) => [letters, ...word.slice(0, -1)]);
    const ids = (rows: readonly number[][]) => tensor(Int32Array.from(rows.flat()), [rows.length, length]);
    const { loss, gradients, norm } = tidy(() => {
      const tape = new Tape();
      const loss = tape.run(() =>
        crossEntropy(this.#model.forward(ids(words), ids(before)).logits, ids(backwards)),
      );
      const gradients = tape.gradients(loss, this.#parameters.values());
      return { loss, gradients, norm: gradientNorm(gradients) };
    });
    const [[lossBefore], [size]] = await Promise.all([loss.read(), norm.read()]);
    tidy(() => this.#optimizer.step(gradients, { scale: clipScale(Number(size), 1) }));
    for (const one of [loss, norm, ...gradients.values()]) one.dispose();
    return Number(lossBefore);
  }

  /** Copies of the parameters on the CPU. */
  async parameters(): Promise<readonly Float32Array[]> {
    const all = await Promise.all(Array.from(this.#parameters.values(), (one) => one.read()));
    return all.map((one) => Float32Array.from(one as Float32Array));
  }
}

/** The GPU, or the reason why the CPU trains, while the reader chooses the GPU. */
let gpuStart: Promise<GpuStart> | undefined;

/** The runs of the seeds that the reader has thrown, by device and seed. */
const runs = new Map<string, Run>();
const trainings = new WeakMap<Run, Training>();

/** Trains the run of a seed on the chosen device up to a step; `report` receives numbers every few steps. */
export async function train(
  request: Before,
  access: RunAccess,
  report?: (numbers: BeforeNumbers, progress: number) => void,
): Promise<BeforeNumbers> {
  const { steps, seed, device } = request;
  gpuStart = device === "gpu" ? (gpuStart ?? startGpu("gpu")) : undefined;
  const { text, gpu } = (await gpuStart) ?? { text: "CPU: chosen" };
  const name = gpu?.name ?? "cpu";
  const key = `${name} ${seed}`;
  const run = runs.get(key) ?? access.newRun(seed);
  runs.set(key, run);
  const { losses, snapshots } = run;
  const shown = () => {
    const earlier = steps > 0 ? [...runs.values()].filter((one) => one.seed !== seed) : [];
    return access.show(
      run,
      text,
      earlier.map((one) => one.losses),
    );
  };
  try {
    while (losses.length < steps) {
      if (report !== undefined && losses.length % SNAPSHOT_EVERY === 0) {
        report(shown(), losses.length / steps);
        // Lets the worker receive a newer request.
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      const training = trainings.get(run) ?? new Training(await access.newModel(seed).to(name), seed);
      trainings.set(run, training);
      losses.push(await training.step());
      if (losses.length % SNAPSHOT_EVERY === 0) snapshots.set(losses.length, await training.parameters());
    }
  } catch (error) {
    if (gpu === undefined) throw error;
    runs.delete(key);
    gpuStart = Promise.resolve({ text: `CPU: the GPU failed: ${messageOf(error)}` });
    return train(request, access, report);
  }
  return shown();
}
