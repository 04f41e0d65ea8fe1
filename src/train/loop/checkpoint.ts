/**
 * Checkpoints: everything that a run needs to resume with the same bits as an uninterrupted run, in one safetensors file that
 * is written atomically (`io/filesystem/save.ts`): parameters as `model.NAME`, the moments of AdamW as `adamw.m.NAME` and
 * `adamw.v.NAME`, the losses so far, and as metadata the number of completed steps, a description of the run, and the SHA-256
 * of each tensor and of the metadata. Data order and masks are functions of the seed and the step, so no generator state is
 * stored. When checkpoints are saved and which one is read: checkpointing.ts.
 *
 * A checkpoint in parts has the same tensors and metadata in several such files: each part has some of the parameters with their
 * moments, and the index has the losses and, as `parts`, the name of each part with the SHA-256 of its list of checksums.
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
import { type FileTensor, type NamedTensors, readSafetensors, writeSafetensors } from "../../io/index.ts";
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
  return (await fileOf(stateOf(parameters, optimizer), progress, optimizer.steps, { config })).bytes;
}

/** A file of a checkpoint, and the SHA-256 of its list of checksums. */
export interface SummedFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sum: string;
}

/** A part of a checkpoint: these parameters with their moments. `part` says which one it is, as in "2 of 4". */
export const writePart = (
  parameters: ReadonlyMap<string, Tensor>,
  optimizer: Pick<Optimizer, "steps" | "moments">,
  { step }: Progress,
  part: string,
): Promise<SummedFile> => fileOf(stateOf(parameters, optimizer), { step }, optimizer.steps, { part });

/** The index of a checkpoint whose parts have these names and sums. */
export const writeIndex = (
  parts: readonly (readonly [name: string, sum: string])[],
  progress: Progress,
  steps: number,
  config: string,
): Promise<SummedFile> =>
  fileOf(new Map(), progress, steps, { config, parts: JSON.stringify(Object.fromEntries(parts)) });

async function fileOf(
  state: ReadonlyMap<string, Tensor>,
  { step, losses, heldOut }: Pick<Progress, "step"> & Partial<Progress>,
  steps: number,
  texts: Readonly<Record<string, string>>,
): Promise<SummedFile> {
  const tensors = new Map(
    await Promise.all([...state].map(async ([name, t]) => [name, await t.to("cpu")] as const)),
  );
  const list = (values: readonly number[], shape: number[]) =>
    new Tensor(Float64Array.from(values), shape, "float64");
  if (losses) tensors.set("losses", list(losses, [losses.length]));
  if (heldOut) tensors.set("heldOut", list(heldOut.flat(), [heldOut.length, 2]));
  const sums = Object.fromEntries([...tensors].map(([name, t]) => [name, sumOf(t)]));
  return withSums(tensors, sums, { step: String(step), "adamw.steps": String(steps), ...texts });
}

function withSums(
  tensors: NamedTensors,
  sums: Sums["tensors"],
  metadata: Readonly<Record<string, string>>,
): SummedFile {
  // By name, as the tensors of the file.
  const sorted = Object.fromEntries(Object.entries(sums).sort(([a], [b]) => (a < b ? -1 : 1)));
  const list = JSON.stringify({
    metadata: sumOfMetadata(new Map(Object.entries(metadata))),
    tensors: sorted,
  });
  const texts = { "heed.checkpoint": VERSION, ...metadata, sha256: list };
  return { bytes: writeSafetensors(tensors, { metadata: texts }), sum: sumOfText(list) };
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

const sumOfText = (text: string): string => sha256(new TextEncoder().encode(text));

/** SHA-256 of the metadata but the checksums; files of earlier versions have the first three alone. */
const sumOfMetadata = (metadata: ReadonlyMap<string, string>): string =>
  sumOfText(
    JSON.stringify([
      ...["step", "adamw.steps", "config"].map((name) => metadata.get(name) ?? ""),
      ...["part", "parts"].flatMap((name) => metadata.get(name) ?? []),
    ]),
  );

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
  const file = openFile(bytes);
  const parts = file.metadata.get("parts");
  if (parts !== undefined)
    refuse("checkpoint", "the file is the index of a checkpoint in parts; loadCheckpoint(path) reads them");
  return checkpointOf(file);
}

/** A file of a checkpoint. */
interface CheckpointFile {
  readonly tensors: ReadonlyMap<string, FileTensor>;
  readonly metadata: ReadonlyMap<string, string>;
  readonly step: number;
  readonly adamwSteps: number;
}

const refuse = (code: string, text: string, fields = {}): never => {
  throw new FormatError(code, `${WHAT}: ${text}`, fields);
};

const damaged = (text: string): never => refuse("checkpoint-damaged", `the file is damaged: ${text}`);

/** Reads a file, whose checksums `checkSums` compares. */
function openFile(bytes: Uint8Array): CheckpointFile {
  const { tensors, metadata } = readSafetensors(bytes);
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
  return { tensors, metadata, step: integer("step"), adamwSteps: integer("adamw.steps") };
}

/** Throws where a checksum does not match. Returns the checksums; undefined for a file of an earlier version. */
function checkSums({ tensors, metadata }: CheckpointFile): Sums | undefined {
  const sums = sumsOf(metadata.get("sha256"));
  if (sums === undefined) return undefined;
  if (sums.metadata !== sumOfMetadata(metadata)) damaged("the checksum of its metadata does not match");
  for (const name of new Set([...tensors.keys(), ...Object.keys(sums.tensors)])) {
    const tensor = tensors.get(name);
    if (tensor === undefined || sums.tensors[name] !== sumOfData(tensor.data))
      damaged(`the checksum of ${formatValue(name)} does not match`);
  }
  return sums;
}

/** The parts of the checkpoint that a file is the index of, by name; none for a checkpoint in one file. */
export function partsIn(bytes: Uint8Array): ReadonlyMap<string, string> {
  const file = openFile(bytes);
  const text = file.metadata.get("parts");
  if (text === undefined) return new Map();
  if (checkSums(file) === undefined) damaged("it has no checksums");
  const isPart = ([name, sum]: [string, unknown]) => /^[^/\\]+$/.test(name) && typeof sum === "string";
  const parts = jsonOf<Record<string, string>>(text, (list) => Object.entries(list).every(isPart));
  return new Map(Object.entries(parts ?? damaged("its list of parts cannot be read")));
}

/** Throws unless a file is the part that the index lists with this sum. */
export function checkPart(bytes: Uint8Array, index: Uint8Array, sum: string): void {
  const part = openFile(bytes);
  checkSums(part);
  const { step, adamwSteps } = openFile(index);
  if (part.step !== step || part.adamwSteps !== adamwSteps)
    damaged(
      `it is of step ${part.step} and ${part.adamwSteps} steps of the optimizer, its index of ${step} and ${adamwSteps}`,
    );
  if (sumOfText(part.metadata.get("sha256") ?? "") !== sum)
    damaged("it is not the part that the index lists");
}

/** The checkpoint in one file of an index and its parts, which were checked: the bytes that one process writes. */
export function joinParts(index: Uint8Array, parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const { step, "adamw.steps": steps, config } = Object.fromEntries(openFile(index).metadata);
  const files = [index, ...parts].map(openFile);
  const tensors = new Map(files.flatMap((file) => [...file.tensors]));
  const sums = Object.assign({}, ...files.map(({ metadata }) => sumsOf(metadata.get("sha256"))?.tensors));
  return withSums(tensors, sums, { step, "adamw.steps": steps, config }).bytes;
}

function checkpointOf(file: CheckpointFile): Checkpoint {
  const { tensors, metadata, step, adamwSteps } = file;
  const part = metadata.get("part");
  if (part !== undefined)
    refuse("checkpoint", `the file is part ${part} of a checkpoint; read the file that lists its parts`);
  const numbers = (name: string, rank: number): Float64Array => {
    const tensor = tensors.get(name);
    if (tensor?.dtype !== "float64" || tensor.shape.length !== rank)
      refuse("tensor", `tensor ${formatValue(name)} must be float64 of ${rank} axes`, { tensor: name });
    return (tensor as FileTensor).data as Float64Array;
  };
  const losses = Array.from(numbers("losses", 1));
  const pairs = numbers("heldOut", 2);
  const heldOut = Array.from(
    { length: pairs.length / 2 },
    (_, i) => [pairs[2 * i], pairs[2 * i + 1]] as const,
  );
  if (losses.length !== step) damaged(`it has ${losses.length} losses of ${step} steps`);
  if (heldOut.some(([at], i) => !Number.isSafeInteger(at) || at > step || at <= (heldOut[i - 1]?.[0] ?? 0)))
    damaged(`the held-out losses are not of increasing steps up to ${step}`);
  checkSums(file);
  const config = metadata.get("config") ?? "";
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

/** The checksums of a file; undefined for one of an earlier version. */
function sumsOf(text: string | undefined): Sums | undefined {
  if (text === undefined) return undefined;
  const isSums = ({ metadata, tensors }: Partial<Sums>) =>
    typeof metadata === "string" && typeof tensors === "object" && tensors !== null;
  return jsonOf<Sums>(text, isSums) ?? damaged("its list of checksums cannot be read");
}

/** An object of a JSON text; undefined where it is none, or not of this kind. */
function jsonOf<T extends object>(text: string, isOfKind: (value: T) => boolean): T | undefined {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && isOfKind(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
