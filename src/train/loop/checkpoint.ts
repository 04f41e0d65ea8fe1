/**
 * Checkpoints: everything that a run needs to resume with the same bits as an uninterrupted run, in one safetensors file that
 * is written atomically (`io/filesystem/save.ts`): parameters as `model.NAME`, the moments of AdamW as `adamw.m.NAME` and
 * `adamw.v.NAME`, the losses so far, and as metadata the number of completed steps and a description of the run. Data order
 * and masks are functions of the seed and the step, so no generator state is stored.
 */
import { isDeviceData } from "../../core/device/device.ts";
import { checkArgument, FormatError, formatValue, isMap, OptionError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { type FileTensor, readSafetensors, writeSafetensors } from "../../io/index.ts";
import type { AdamW } from "../adamw.ts";

/** The version of the layout below. */
const VERSION = "1";
const WHAT = "readCheckpoint";

/** The progress of a run. */
export interface Progress {
  /** Completed steps. */
  readonly step: number;
  /** Loss of each completed step. */
  readonly losses: readonly number[];
  /** Held-out losses: the number of completed steps, and the loss at that point. */
  readonly heldOut: readonly (readonly [step: number, loss: number])[];
}

/** A checkpoint that was read. */
export interface Checkpoint extends Progress {
  /** The description that `writeCheckpoint` received. */
  readonly config: string;
  /** Copies the values into a run's parameters and optimizer. */
  restore(parameters: ReadonlyMap<string, Tensor>, optimizer: AdamW): void;
}

/**
 * The bytes of a checkpoint of a model on any device. `config` is a text of the caller: for example the options of the run.
 *
 * @example
 * const layer = new Linear(8, 8, { seed: 1 });
 * const optimizer = new AdamW(layer.parameters());
 * const bytes = await writeCheckpoint(layer.parameters(), optimizer, { step: 5, losses: [1, 1, 1, 1, 1], heldOut: [] }, "run 1");
 */
export async function writeCheckpoint(
  parameters: ReadonlyMap<string, Tensor>,
  optimizer: AdamW,
  progress: Progress,
  config: string,
): Promise<Uint8Array<ArrayBuffer>> {
  checkArgument(
    isMap(parameters) && typeof optimizer === "object" && typeof progress === "object",
    "writeCheckpoint",
    "a Map of parameters by name, their optimizer, and the progress",
    isMap(parameters) ? optimizer : parameters,
  );
  const { steps } = optimizer;
  const state = [...stateOf(parameters, optimizer)];
  const tensors = new Map(
    await Promise.all(state.map(async ([name, t]) => [name, await t.to("cpu")] as const)),
  );
  const list = (values: readonly number[], shape: number[]) =>
    new Tensor(Float64Array.from(values), shape, "float64");
  tensors.set("losses", list(progress.losses, [progress.losses.length]));
  tensors.set("heldOut", list(progress.heldOut.flat(), [progress.heldOut.length, 2]));
  return writeSafetensors(tensors, {
    metadata: {
      "heed.checkpoint": VERSION,
      step: String(progress.step),
      "adamw.steps": String(steps),
      config,
    },
  });
}

/** The tensors of a checkpoint, by their names in the file. */
function stateOf(parameters: ReadonlyMap<string, Tensor>, optimizer: AdamW): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const [name, tensor] of parameters) tensors.set(`model.${name}`, tensor);
  for (const [name, tensor] of optimizer.moments()) tensors.set(`adamw.${name}`, tensor);
  return tensors;
}

/**
 * Reads a checkpoint. Throws FormatError for a file of another kind.
 *
 * @example
 * const layer = new Linear(8, 8, { seed: 1 });
 * const optimizer = new AdamW(layer.parameters());
 * const bytes = await writeCheckpoint(layer.parameters(), optimizer, { step: 5, losses: [1, 1, 1, 1, 1], heldOut: [] }, "run 1");
 * const checkpoint = readCheckpoint(bytes); // `resume` of train takes it
 * checkpoint.step; // → 5
 */
export function readCheckpoint(bytes: Uint8Array): Checkpoint {
  const { tensors, metadata } = readSafetensors(bytes);
  const refuse = (code: string, text: string, fields = {}): never => {
    throw new FormatError(code, `${WHAT}: ${text}`, fields);
  };
  const version = metadata.get("heed.checkpoint");
  if (version !== VERSION)
    refuse(
      "checkpoint",
      `not a checkpoint of version ${VERSION}: heed.checkpoint is ${formatValue(version)}`,
    );
  const whole = (name: string): number => {
    const value = Number(metadata.get(name) ?? Number.NaN);
    if (!(Number.isSafeInteger(value) && value >= 0))
      refuse("checkpoint", `${name} must be an integer ≥ 0, got ${formatValue(metadata.get(name))}`);
    return value;
  };
  const numbers = (name: string, rank: number): Float64Array => {
    const tensor = tensors.get(name);
    if (tensor?.dtype !== "float64" || tensor.shape.length !== rank)
      refuse("tensor", `tensor ${formatValue(name)} must be float64 of ${rank} axes`, { tensor: name });
    return (tensor as FileTensor).data as Float64Array;
  };
  const step = whole("step");
  const adamwSteps = whole("adamw.steps");
  const losses = Array.from(numbers("losses", 1));
  const pairs = numbers("heldOut", 2);
  const heldOut = Array.from(
    { length: pairs.length / 2 },
    (_, i) => [pairs[2 * i], pairs[2 * i + 1]] as const,
  );
  return {
    step,
    losses,
    heldOut,
    config: metadata.get("config") ?? "",
    restore(parameters, optimizer) {
      const targets = stateOf(parameters, optimizer);
      for (const [name, target] of targets) {
        const found = tensors.get(name);
        if (found === undefined || found.dtype !== target.dtype || found.shape.join() !== target.shape.join())
          throw new OptionError(
            "checkpoint",
            `${WHAT}: the model has ${name} [${target.shape.join(", ")}] ${target.dtype}, the checkpoint ${
              found ? `[${found.shape.join(", ")}] ${found.dtype}` : "has none of that name"
            }`,
            { tensor: name },
          );
      }
      for (const [name, target] of targets) {
        const found = (tensors.get(name) as FileTensor).data as Float32Array;
        const { storage } = target;
        if (isDeviceData(storage)) storage.device.write(storage, found);
        else (target.data as Float32Array).set(found, target.offset);
      }
      optimizer.steps = adamwSteps;
    },
  };
}
