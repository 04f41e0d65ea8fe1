/**
 * A lock on a folder: a file in it with the process that holds it. One process gets the lock; others get an error with the
 * holder. The lock of a dead process is taken over. Node only.
 */
import { OptionError } from "../../core/errors.ts";
import { builtin, fileError, fileSystem, uniqueName } from "./node.ts";

/** Name of the file. */
export const LOCK = ".heed-lock";

/** How often a lock that is being written or removed is looked at again, 10 ms apart. */
const ATTEMPTS = 20;

/**
 * Locks an existing folder, and returns a function that unlocks it. Throws an OptionError of code `locked` while another process,
 * or another caller in this one, has the lock.
 *
 * @param doing the holder's activity for the error message of others: "training"
 */
export async function lockFolder(folder: string, doing: string): Promise<() => Promise<void>> {
  const what = "lockFolder";
  const fs = fileSystem(what);
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const { hostname } = builtin<typeof import("node:os")>("node:os")!;
  const path = join(folder, LOCK);
  const own = JSON.stringify({ pid: process.pid, host: hostname(), doing, id: uniqueName() });
  const read = (file: string) => fs.readFile(file, "utf8").catch(() => "");
  const isDead = (holder: Holder | undefined) =>
    holder !== undefined && holder.host === hostname() && !isAlive(holder.pid);

  /** Writes a lock file; false where one is there. */
  async function create(file: string): Promise<boolean> {
    try {
      await fs.writeFile(file, own, { flag: "wx" });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw fileError(what, "lock", folder, error);
    }
  }

  /**
   * Removes the lock of a dead process. Several processes may see it: only the one with a second lock removes it, and only
   * while it is still the same, so that no process removes the new lock of a faster one.
   */
  async function removeDead(file: string, text: string): Promise<void> {
    const removal = `${file}-removal`;
    if (await create(removal)) {
      if ((await read(file)) === text) await fs.unlink(file).catch(() => {});
      await fs.unlink(removal).catch(() => {});
    } else {
      const other = await read(removal);
      if (isDead(holderOf(other))) await removeDead(removal, other);
    }
  }

  for (let attempt = 0; ; attempt++) {
    if (await create(path))
      return async () => {
        if ((await read(path)) === own) await fs.unlink(path).catch(() => {});
      };
    const text = await read(path);
    const holder = holderOf(text);
    if (attempt < ATTEMPTS) {
      if (isDead(holder)) await removeDead(path, text);
      // An empty file is being written, or was removed just now.
      if (isDead(holder) || text === "") {
        if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, 10));
        continue;
      }
    }
    const who = holder ? `process ${holder.pid} on ${holder.host} (${holder.doing})` : "another process";
    throw new OptionError(
      "locked",
      `${folder} is in use by ${who}; wait for it, or remove ${path} if no process is using the folder`,
      { path, holder },
    );
  }
}

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly doing: string;
}

function holderOf(text: string): Holder | undefined {
  try {
    const { pid, host, doing } = JSON.parse(text);
    return Number.isSafeInteger(pid) && typeof host === "string" && typeof doing === "string"
      ? { pid, host, doing }
      : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
