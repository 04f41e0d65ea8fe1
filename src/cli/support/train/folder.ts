/** The folder of `heed train`: its lock, what may be there before a run, and the checkpoint to resume from. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { OptionError } from "../../../core/errors.ts";
import { lockFolder, type Unlock } from "../../../io/filesystem/lock.ts";
import { previousOf } from "../../../io/filesystem/save.ts";
import { loadCheckpoint } from "../../../train/index.ts";
import type { Io } from "../line/command.ts";
import { checkPlace } from "../output/output.ts";

/** Name of the last checkpoint; the one before has `.1` after it. */
export const CHECKPOINT = "checkpoint.safetensors";

/** The lock of a run on its folder. `check` throws if another process has taken the lock over. */
export function folderLock(folder: string, io: Pick<Io, "stderr">) {
  let unlock: Unlock | undefined;
  const onWait = (text: string) => io.stderr.write(`heed train: ${text}\n`);
  return {
    acquire: async () => void (unlock = await lockFolder(folder, "heed train", { onWait })),
    check: async () => unlock?.check(),
    release: async () => unlock?.(),
  };
}

/**
 * True if the folder has a checkpoint to resume from. Throws if there is none to resume, or if the folder has files that a new
 * run would overwrite.
 */
export async function checkFolder(folder: string, resumes: boolean): Promise<boolean> {
  const path = join(folder, CHECKPOINT);
  if ((await stat(folder).catch(() => undefined)) === undefined) {
    if (resumes) throw new OptionError("resume", `there is no folder ${folder} to resume`, { path: folder });
    await checkPlace(folder);
    return false;
  }
  await checkPlace(path);
  const names = await readdir(folder);
  const checkpoint = [CHECKPOINT, previousOf(CHECKPOINT)].find((name) => names.includes(name));
  if (resumes && checkpoint === undefined)
    throw new OptionError(
      "resume",
      `there is no ${CHECKPOINT} in ${folder}; omit --resume to start a new run`,
      { path },
    );
  if (resumes) return true;
  const modelFiles = ["model.safetensors", "config.json", "tokenizer.json"];
  const old = checkpoint ?? modelFiles.find((name) => names.includes(name));
  if (old === undefined) return false;
  throw new OptionError(
    "output",
    `${folder} already has a ${old}; ${checkpoint ? "--resume continues it, or " : ""}choose another folder`,
    { path: join(folder, old) },
  );
}

/**
 * The bytes of the last checkpoint of a folder, or of the one before where the last is damaged or missing; a line on stderr says
 * so.
 */
export async function readLastCheckpoint(folder: string, io: Io): Promise<Uint8Array<ArrayBuffer>> {
  const { bytes, damage, path, checkpoint } = await loadCheckpoint(join(folder, CHECKPOINT));
  if (damage)
    io.stderr.write(
      `heed train: ${damage.message.replace(/^\w+: /, "")}; resuming from ${path}, of step ${checkpoint.step}\n`,
    );
  return bytes;
}
