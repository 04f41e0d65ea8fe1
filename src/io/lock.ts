/**
 * A lock on a folder: a file in it with the process that holds it. One process gets the lock; others get an error with the
 * holder. The lock of a dead process is taken over. Node only.
 */
import { OptionError } from "../core/errors.ts";
import { builtin, fileError, fileSystem } from "./node.ts";

/** Name of the file. */
export const LOCK = ".heed-lock";

let locks = 0;

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
  const own = JSON.stringify({ pid: process.pid, host: hostname(), doing, id: `${Date.now()}-${locks++}` });
  for (let attempt = 0; ; attempt++) {
    try {
      await fs.writeFile(path, own, { flag: "wx" });
      return async () => {
        // Another process may have taken the lock over.
        if ((await fs.readFile(path, "utf8").catch(() => "")) === own) await fs.unlink(path).catch(() => {});
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw fileError(what, "lock", folder, error);
    }
    const text = await fs.readFile(path, "utf8").catch(() => "");
    const holder = holderOf(text);
    if (attempt < 3 && holder !== undefined && holder.host === hostname() && !isAlive(holder.pid)) {
      // Only one of several processes that see a dead lock can rename the file.
      const aside = `${path}.${process.pid}.${attempt}`;
      const moved = await fs.rename(path, aside).then(
        () => true,
        () => false,
      );
      if (moved) {
        const same = (await fs.readFile(aside, "utf8").catch(() => "")) === text;
        if (same) await fs.unlink(aside).catch(() => {});
        // The renamed file is the new lock of a faster process: restore it.
        else
          await fs
            .link(aside, path)
            .catch(() => {})
            .then(() => fs.unlink(aside).catch(() => {}));
      }
      continue;
    }
    if (text === "" && attempt < 20) {
      // The file is being written or was just removed.
      await new Promise((resolve) => setTimeout(resolve, 10));
      continue;
    }
    const who = holder ? `process ${holder.pid} on ${holder.host} (${holder.doing})` : "another process";
    throw new OptionError(
      "locked",
      `${folder} is in use by ${who}; wait for it, or remove ${path} where no process works there`,
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
