/**
 * When and where a run saves its checkpoints (their bytes are in checkpoint.ts): every so many steps, at the end and at an
 * interruption, by rank 0. The last two are kept, so that a run can resume from the older one where the newer is damaged.
 *
 * Where the optimizer's state is in parts, so is the checkpoint: each rank writes its part, `PATH.STEP.2-of-4.SUM`, and when all are
 * on the disk rank 0 replaces the file at the path, which lists them. A part is never written over: its name has a checksum. Parts that
 * neither of the last two checkpoints lists are deleted.
 */

import { together } from "../../cluster/communicator/agree.ts";
import type { Communicator } from "../../cluster/communicator/communicator.ts";
import { checkCount, FormatError, OptionError } from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";
import { builtin, fileError, fileSystem } from "../../io/filesystem/node.ts";
import { keepPrevious, previousOf, replaceFile } from "../../io/filesystem/save.ts";
import type { AdamW } from "../adamw.ts";
import type { Checkpoint, Progress } from "./checkpoint.ts";
import {
  checkPart,
  joinParts,
  partsIn,
  readCheckpoint,
  writeCheckpoint,
  writeIndex,
  writePart,
} from "./checkpoint.ts";
import type { OptimizerParts } from "./optimizer-parts.ts";
import type { CheckpointOptions, TrainOptions } from "./options.ts";

/** The checkpoints of a run. */
export interface Checkpointing {
  /** The step of the last checkpoint, also the one that the run resumed from. */
  readonly lastSaved: number | undefined;
  /** True after steps at which a checkpoint is to be saved. */
  isDue(step: number): boolean;
  /** Saves a checkpoint, unless this step has one. */
  save(progress: Progress): Promise<void>;
}

/** The checkpoints of a run with these options; nothing is saved without `checkpoint`. */
export function startCheckpointing<B>(
  { model, checkpoint, resume, comm }: TrainOptions<B>,
  optimizer: AdamW,
  parts: OptimizerParts | undefined,
): Checkpointing {
  const parameters = model.parameters();
  const saveByDefault = checkpointSaver(resume !== undefined);
  let lastSaved = resume?.step;
  return {
    get lastSaved() {
      return lastSaved;
    },
    isDue: (step) => checkpoint !== undefined && step % (checkpoint.every ?? 100) === 0,
    async save(progress) {
      if (checkpoint === undefined || lastSaved === progress.step) return;
      const { path, config = "", save = saveByDefault } = checkpoint;
      if (parts && comm && comm.size > 1) {
        const { local } = parts;
        const list = await saveParts(comm, { path, save, local, optimizer, progress });
        if (comm.rank === 0)
          await save(path, (await writeIndex(list, progress, optimizer.steps, config)).bytes);
      } else if (comm === undefined || comm.rank === 0)
        await save(path, await writeCheckpoint(parameters, optimizer, progress, config));
      lastSaved = progress.step;
    },
  };
}

/** The state of this rank and where it is saved. */
interface PartOfRank {
  readonly path: string;
  readonly save: NonNullable<CheckpointOptions["save"]>;
  readonly local: OptimizerParts["local"];
  readonly optimizer: AdamW;
  readonly progress: Progress;
}

/** Saves the part of each rank, and returns the names and sums of all when they are on the disk. */
async function saveParts(
  comm: Communicator,
  { path, save, local, optimizer, progress }: PartOfRank,
): Promise<(readonly [string, string])[]> {
  const { rank, size } = comm;
  const { step } = progress;
  const nameOf = (r: number, sum: string) => `${step}.${r + 1}-of-${size}.${sum.slice(0, 8)}`;
  const terms = { step, "steps of the optimizer": optimizer.steps };
  const mine = await together(comm, "train", terms, async () => {
    const { bytes, sum } = await writePart(local, optimizer, progress, `${rank + 1} of ${size}`);
    await save(`${path}.${nameOf(rank, sum)}`, bytes);
    return sum;
  });
  const all = new Uint8Array(mine.length * size);
  await comm.allGather(new TextEncoder().encode(mine), all);
  const sums = new TextDecoder().decode(all).match(/.{64}/g) as string[];
  const base = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  return sums.map((sum, r) => [`${base}.${nameOf(r, sum)}`, sum]);
}

/** The names of parts. */
const PART = /\.\d+\.\d+-of-\d+\.[0-9a-f]{8}$/;

/**
 * Writes the checkpoints of a run: the last one is at `path`, the one before at `previousOf(path)`. A damaged checkpoint is not
 * kept, and none of another run: `isResumed` is false for a run that starts at step 0.
 */
export function checkpointSaver(isResumed: boolean): NonNullable<CheckpointOptions["save"]> {
  let isFirst = true;
  return async (path, bytes) => {
    if (PART.test(path)) return replaceFile(path, bytes);
    await checkParts(path, bytes);
    const keeps = isFirst ? isResumed && (await isIntact(path)) : true;
    // Not earlier: a save that fails, on a full disk for example, leaves both checkpoints as they are.
    await replaceFile(path, bytes, keeps ? () => keepPrevious(path) : undefined);
    if (isFirst && !isResumed)
      await fileSystem("train")
        .unlink(previousOf(path))
        .catch(() => {});
    isFirst = false;
    // What cannot be deleted now is deleted after a later save.
    await deleteParts(path).catch(() => {});
  };
}

/** The path of a file in the folder of another. */
function beside(path: string, name: string): string {
  const { dirname, join } = builtin<typeof import("node:path")>("node:path")!;
  return join(dirname(path), name);
}

/** Throws where a part that the index lists is not in the folder of the index. */
async function checkParts(path: string, index: Uint8Array): Promise<void> {
  for (const name of partsIn(index).keys())
    await fileSystem("train")
      .stat(beside(path, name))
      .catch(() => {
        throw new OptionError(
          "checkpoint-parts",
          `train: ${beside(path, name)} is not there on rank 0; a checkpoint in parts needs a folder that all ranks share`,
          { path: beside(path, name) },
        );
      });
}

/** Deletes the parts that neither the checkpoint at a path nor the one before lists. */
async function deleteParts(path: string): Promise<void> {
  const fs = fileSystem("train");
  const { basename, dirname } = builtin<typeof import("node:path")>("node:path")!;
  const names = await fs.readdir(dirname(path));
  const parts = names.filter((name) => name.startsWith(`${basename(path)}.`) && PART.test(name));
  if (parts.length === 0) return;
  const files = [path, previousOf(path)].filter((file) => names.includes(basename(file)));
  const lists = await Promise.all(files.map(async (file) => partsIn(await bytesOf(file))));
  for (const name of parts) if (!lists.some((list) => list.has(name))) await fs.unlink(beside(path, name));
}

const isIntact = (path: string): Promise<boolean> =>
  readFrom(path).then(
    () => true,
    () => false,
  );

/** A checkpoint that was read from a file. */
export interface LoadedCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The file: the path, or the older checkpoint, `PATH.1`. */
  readonly path: string;
  /** Why the newer checkpoint was not read; undefined where it was. */
  readonly damage?: Error;
}

/**
 * Reads the last checkpoint of a run, or the one before, `PATH.1`, where the last is missing or damaged: then `damage` says why.
 * Throws what is wrong with the last one if neither can be read. Node only.
 *
 * @example
 * const { checkpoint, damage } = await loadCheckpoint("run/checkpoint.safetensors");
 * if (damage) console.warn(damage.message);
 */
export async function loadCheckpoint(path: string): Promise<LoadedCheckpoint> {
  checkCount("loadCheckpoint", arguments, 1);
  checkKind("loadCheckpoint", "path", "a text", path);
  try {
    return await readFrom(path);
  } catch (damage) {
    const older = await readFrom(previousOf(path)).catch(() => undefined);
    if (older === undefined) throw damage;
    return { ...older, damage: damage as Error };
  }
}

async function readFrom(path: string): Promise<LoadedCheckpoint> {
  const file = await bytesOf(path);
  const parts: Uint8Array[] = [];
  for (const [name, sum] of naming(path, () => partsIn(file))) {
    const part = await bytesOf(beside(path, name));
    naming(beside(path, name), () => checkPart(part, file, sum));
    parts.push(part);
  }
  return naming(path, () => {
    const bytes = parts.length > 0 ? joinParts(file, parts) : file;
    return { checkpoint: readCheckpoint(bytes), bytes, path };
  });
}

const bytesOf = async (path: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(
    await fileSystem("loadCheckpoint")
      .readFile(path)
      .catch((error) => {
        throw fileError("loadCheckpoint", "read", path, error);
      }),
  );

/** Runs `work`, whose errors name the file in place of the reader. */
function naming<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const text = error.message.replace(/^\w+: /, "");
    throw new FormatError(error.code, `${path}: ${text}`, { ...error.fields, path });
  }
}
