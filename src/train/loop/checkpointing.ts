/**
 * When and where a run saves its checkpoints (their bytes are in checkpoint.ts): every so many steps, at the end and at an
 * interruption, by rank 0. The last two are kept, so that a run can resume from the older one where the newer is damaged.
 */

import { checkCount, FormatError } from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";
import { fileError, fileSystem } from "../../io/filesystem/node.ts";
import { keepPrevious, previousOf, replaceFile } from "../../io/filesystem/save.ts";
import type { AdamW } from "../adamw.ts";
import { type Checkpoint, type Progress, readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
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
      const state = (await parts?.collect(optimizer)) ?? optimizer;
      if (comm === undefined || comm.rank === 0)
        await save(path, await writeCheckpoint(parameters, state, progress, config));
      lastSaved = progress.step;
    },
  };
}

/**
 * Writes the checkpoints of a run: the last one is at `path`, the one before at `previousOf(path)`. A damaged checkpoint is not
 * kept, and none of another run: `isResumed` is false for a run that starts at step 0.
 */
export function checkpointSaver(isResumed: boolean): NonNullable<CheckpointOptions["save"]> {
  let isFirst = true;
  return async (path, bytes) => {
    const keeps = isFirst ? isResumed && (await isIntact(path)) : true;
    // Not earlier: a save that fails, on a full disk for example, leaves both checkpoints as they are.
    await replaceFile(path, bytes, keeps ? () => keepPrevious(path) : undefined);
    if (isFirst && !isResumed)
      await fileSystem("train")
        .unlink(previousOf(path))
        .catch(() => {});
    isFirst = false;
  };
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
  const bytes = await fileSystem("loadCheckpoint")
    .readFile(path)
    .catch((error) => {
      throw fileError("loadCheckpoint", "read", path, error);
    });
  const copy = new Uint8Array(bytes);
  try {
    return { checkpoint: readCheckpoint(copy), bytes: copy, path };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    // The path takes the place of the name of the reader.
    const text = error.message.replace(/^\w+: /, "");
    throw new FormatError(error.code, `${path}: ${text}`, { ...error.fields, path });
  }
}
