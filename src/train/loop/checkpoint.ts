/**
 * Checkpoints: everything that a run needs to resume with the same bits as an uninterrupted run, in one safetensors file that
 * is written atomically (`io/filesystem/save.ts`): parameters as `model.NAME`, the moments of AdamW as `adamw.m.NAME` and
 * `adamw.v.NAME`, the losses so far, and as metadata the number of completed steps, a description of the run, and the SHA-256
 * of each tensor and of the metadata. Data order and masks are functions of the seed and the step, so no generator state is
 * stored. When checkpoints are saved and which one is read: checkpointing.ts.
 */

import { isDeviceData } from "../../core/device/device.ts";
import {
  checkArgument,
  checkCount,
  FormatError,
  formatValue,
  isMap,
  OptionError,
  refuseValue,
} from "../../core/errors.ts";
import { checkKind, checkKinds, type FieldKinds } from "../../core/option-names.ts";
import { markChanged } from "../../core/recording/changes.ts";
import { Tensor } from "../../core/tensor.ts";
import { type FileTensor, readSafetensors, writeSafetensors } from "../../io/index.ts";
import { sha256 } from "../../io/sha256.ts";
import type { Optimizer } from "../optimizer.ts";

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
  restore(parameters: ReadonlyMap<string, Tensor>, optimizer: Optimizer): void;
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
  optimizer: Pick<Optimizer, "steps" | "moments">,
  progress: Progress,
  config: string,
): Promise<Uint8Array<ArrayBuffer>> {
  checkCount("writeCheckpoint", arguments, 4);
  checkTrained("writeCheckpoint", parameters, optimizer);
  checkProgress(progress);
  checkKind("writeCheckpoint", "config", "a text", config);
  const { steps } = optimizer;
  const state = [...stateOf(parameters, optimizer)];
  const tensors = new Map(
    await Promise.all(state.map(async ([name, t]) => [name, await t.to("cpu")] as const)),
  );
  const list = (values: readonly number[], shape: number[]) =>
    new Tensor(Float64Array.from(values), shape, "float64");
  tensors.set("losses", list(progress.losses, [progress.losses.length]));
  tensors.set("heldOut", list(progress.heldOut.flat(), [progress.heldOut.length, 2]));
  const metadata = { step: String(progress.step), "adamw.steps": String(steps), config };
  const sums = Object.fromEntries([...tensors].map(([name, t]) => [name, sumOf(t)]));
  return writeSafetensors(tensors, {
    metadata: {
      "heed.checkpoint": VERSION,
      ...metadata,
      sha256: JSON.stringify({ metadata: sumOfMetadata(metadata), tensors: sums }),
    },
  });
}

function checkTrained(
  what: string,
  parameters: ReadonlyMap<string, Tensor>,
  optimizer: Pick<Optimizer, "moments">,
): void {
  checkArgument(
    isMap(parameters) && typeof optimizer?.moments === "function",
    what,
    "a Map of parameters by name, their optimizer, and the progress",
    isMap(parameters) ? optimizer : parameters,
  );
  for (const [name, t] of parameters)
    if (!(t instanceof Tensor)) refuseValue(what, `parameters: ${formatValue(name)}`, "a tensor", t);
}

const PROGRESS: FieldKinds = { "an integer ≥ 0": "step", "a list": "losses", "a list of lists": "heldOut" };

/** A loss that is not finite is a loss. */
function checkProgress(progress: Progress): void {
  const what = "writeCheckpoint: progress";
  checkKinds(what, progress, PROGRESS);
  const isNumber = (x: unknown) => typeof x === "number";
  const { step, losses, heldOut } = progress;
  checkKind(what, "step", "an integer ≥ 0", step);
  if (!losses?.every(isNumber) || losses.length !== step)
    refuseValue(what, "losses", `a list of numbers, one for each of ${step} steps`, losses);
  if (!Array.isArray(heldOut) || !heldOut.every((pair) => pair.length === 2 && pair.every(isNumber)))
    refuseValue(what, "heldOut", "pairs [step, loss]", heldOut);
}

/** SHA-256 of the elements of a tensor. */
function sumOf(t: Tensor): string {
  const { data, offset, size } = t.dense();
  return sumOfData((data as Float32Array).subarray(offset, offset + size));
}

const sumOfData = (data: ArrayBufferView): string =>
  sha256(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));

const sumOfMetadata = (metadata: Readonly<Record<"step" | "adamw.steps" | "config", string>>): string =>
  sha256(new TextEncoder().encode(JSON.stringify([metadata.step, metadata["adamw.steps"], metadata.config])));

/** The tensors of a checkpoint, by their names in the file. */
function stateOf(
  parameters: ReadonlyMap<string, Tensor>,
  optimizer: Pick<Optimizer, "moments">,
): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const [name, tensor] of parameters) tensors.set(`model.${name}`, tensor);
  for (const [name, tensor] of optimizer.moments()) tensors.set(`adamw.${name}`, tensor);
  return tensors;
}

/**
 * Reads a checkpoint. Throws FormatError for a file of another kind, and one of code `checkpoint-damaged` where a checksum or a
 * counter does not match. A checkpoint of an earlier version has no checksums; its counters are checked.
 *
 * @example
 * const layer = new Linear(8, 8, { seed: 1 });
 * const optimizer = new AdamW(layer.parameters());
 * const bytes = await writeCheckpoint(layer.parameters(), optimizer, { step: 5, losses: [1, 1, 1, 1, 1], heldOut: [] }, "run 1");
 * const checkpoint = readCheckpoint(bytes); // `resume` of train takes it
 * checkpoint.step; // → 5
 */
export function readCheckpoint(bytes: Uint8Array): Checkpoint {
  checkCount("readCheckpoint", arguments, 1);
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
  const integer = (name: string): number => {
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
  const step = integer("step");
  const adamwSteps = integer("adamw.steps");
  const losses = Array.from(numbers("losses", 1));
  const pairs = numbers("heldOut", 2);
  const heldOut = Array.from(
    { length: pairs.length / 2 },
    (_, i) => [pairs[2 * i], pairs[2 * i + 1]] as const,
  );
  const config = metadata.get("config") ?? "";
  const damaged = (text: string): never => refuse("checkpoint-damaged", `the file is damaged: ${text}`);
  if (losses.length !== step) damaged(`it has ${losses.length} losses of ${step} steps`);
  if (heldOut.some(([at], i) => !Number.isSafeInteger(at) || at > step || at <= (heldOut[i - 1]?.[0] ?? 0)))
    damaged(`the held-out losses are not of increasing steps up to ${step}`);
  const sums = sumsOf(metadata.get("sha256"));
  if (sums) {
    const texts = {
      step: metadata.get("step") ?? "",
      "adamw.steps": metadata.get("adamw.steps") ?? "",
      config,
    };
    if (sums.metadata !== sumOfMetadata(texts)) damaged("the checksum of its metadata does not match");
    for (const name of new Set([...tensors.keys(), ...Object.keys(sums.tensors)])) {
      const tensor = tensors.get(name);
      if (tensor === undefined || sums.tensors[name] !== sumOfData(tensor.data))
        damaged(`the checksum of ${formatValue(name)} does not match`);
    }
  }
  return {
    step,
    losses,
    heldOut,
    config,
    restore(parameters, optimizer) {
      checkCount("Checkpoint.restore", arguments, 2);
      checkTrained("Checkpoint.restore", parameters, optimizer);
      const targets = stateOf(parameters, optimizer);
      const other = [...tensors.keys()].find((name) => name.startsWith("model.") && !targets.has(name));
      if (other !== undefined)
        throw new OptionError(
          "checkpoint",
          `${WHAT}: the checkpoint has ${other}, which is none of the parameters; pass those of the model that was saved`,
          { tensor: other },
        );
      for (const [name, target] of targets) {
        const tensor = tensors.get(name);
        if (tensor?.dtype !== target.dtype || tensor.shape.join() !== target.shape.join())
          throw new OptionError(
            "checkpoint",
            `${WHAT}: the model has ${name} [${target.shape.join(", ")}] ${target.dtype}, the checkpoint ${
              tensor ? `[${tensor.shape.join(", ")}] ${tensor.dtype}` : "has none of that name"
            }`,
            { tensor: name },
          );
      }
      for (const [name, target] of targets) {
        const data = (tensors.get(name) as FileTensor).data as Float32Array;
        const { storage } = target;
        if (isDeviceData(storage)) storage.device.write(storage, data);
        else (target.data as Float32Array).set(data, target.offset);
        markChanged(target);
      }
      optimizer.steps = adamwSteps;
    },
  };
}

interface Sums {
  readonly metadata: string;
  readonly tensors: Readonly<Record<string, string>>;
}

/** The checksums of a checkpoint; undefined for one of an earlier version. */
function sumsOf(text: string | undefined): Sums | undefined {
  if (text === undefined) return undefined;
  try {
    const { metadata, tensors } = JSON.parse(text) as Partial<Sums>;
    if (typeof metadata === "string" && typeof tensors === "object" && tensors !== null)
      return { metadata, tensors };
  } catch {
    // Reported below, as for JSON of another kind.
  }
  throw new FormatError(
    "checkpoint-damaged",
    `${WHAT}: the file is damaged: its list of checksums cannot be read`,
  );
}
