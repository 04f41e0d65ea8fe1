/**
 * Saves a file atomically: writes and syncs a temporary file in the same folder, renames it over the old file, and syncs the
 * folder. If the process dies at any time, the path has the old file or the new one. Temporary files of dead processes are
 * deleted at the next save into their folder. Node only.
 */
import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { checkArgument, checkCount, OptionError, refuseGot } from "../../core/errors.ts";
import { asBytes } from "../refuse.ts";
import { builtin, fileError, fileSystem, uniqueName } from "./node.ts";

/** The contents of a file: bytes, or an iterable of bytes. */
export type Contents = Uint8Array | ArrayBuffer | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

const WHAT = "saveFile";

/**
 * Writes `contents` to `path` atomically. A link is followed; the mode of a file that is replaced is kept.
 * Refuses to replace what is not a regular file (a device, a folder).
 *
 * @example
 * await saveFile("out.safetensors", writeSafetensors({ q })); // atomic
 */
export async function saveFile(path: string, contents: Contents): Promise<void> {
  checkCount("saveFile", arguments, 2);
  checkArgument(typeof path === "string", WHAT, "the path of a file", path);
  await replaceFile(path, contents);
}

/** `saveFile`, with something to do when the new file is written and synced, before it replaces the old one. */
export async function replaceFile(
  path: string,
  contents: Contents,
  beforeRename?: () => Promise<void>,
): Promise<void> {
  const pieces = piecesOf(contents);
  const fs = fileSystem(WHAT);
  const { basename, dirname, join } = builtin<typeof import("node:path")>("node:path")!;
  const attempt = async <T>(doing: string, step: Promise<T>): Promise<T> => {
    try {
      return await step;
    } catch (error) {
      throw fileError(WHAT, doing, path, error);
    }
  };
  const old = await attempt("look at", unlessMissing(fs.stat(path)));
  if (old !== undefined && !old.isFile())
    throw new OptionError("file", `${WHAT}: ${path} is not a regular file`, { path });
  const target = old === undefined ? path : await attempt("look at", fs.realpath(path));
  const folder = dirname(target);
  await attempt("look into the folder of", sweep(folder));

  const begin = async (): Promise<readonly [string, FileHandle]> => {
    const temporary = join(folder, temporaryName(basename(target)));
    try {
      return [temporary, await fs.open(temporary, "wx", old === undefined ? 0o666 : old.mode & 0o777)];
    } catch (error) {
      // Another thread of this process, which counts its own saves, has taken the name in the same millisecond.
      TEMPORARY.delete(basename(temporary));
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return begin();
      throw error;
    }
  };
  const [temporary, file] = await attempt("write", begin());
  try {
    try {
      if (old !== undefined) await attempt("write", file.chmod(old.mode & 0o777));
      for await (const piece of pieces) await attempt("write", writeAll(file, asBytes(WHAT, piece)));
      await attempt("write", file.sync());
    } finally {
      await attempt("write", file.close());
    }
    await beforeRename?.();
    await attempt("replace", fs.rename(temporary, target));
  } catch (error) {
    await fs.unlink(temporary).catch(() => {}); // A remaining file is deleted later; the first error is the one to report.
    throw error;
  } finally {
    TEMPORARY.delete(basename(temporary));
  }
  await attempt("make durable the folder of", syncFolder(folder));
}

/** The path of the previous version of a file. */
export const previousOf = (path: string): string => `${path}.1`;

/**
 * Keeps the file at `path` under the name `previousOf(path)` as well, in place of the one there, so that the next rename over `path`
 * leaves two versions. `path` always names a file. A second name of the same file, where the file system allows it, else a copy.
 */
export async function keepPrevious(path: string): Promise<void> {
  const fs = fileSystem("keepPrevious");
  const { basename, dirname, join } = builtin<typeof import("node:path")>("node:path")!;
  const previous = previousOf(path);
  const temporary = join(dirname(path), temporaryName(basename(previous)));
  try {
    await fs.link(await fs.realpath(path), temporary);
  } catch (error) {
    TEMPORARY.delete(basename(temporary));
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return;
    const bytes = await fs.readFile(path).catch((failure) => {
      throw fileError("keepPrevious", "read", path, failure);
    });
    return saveFile(previous, new Uint8Array(bytes));
  }
  try {
    await fs.rename(temporary, previous);
  } catch (error) {
    throw fileError("keepPrevious", "replace", previous, error);
  } finally {
    // Renaming a name of a file to another name of the same file does nothing (POSIX).
    await fs.unlink(temporary).catch(() => {});
    TEMPORARY.delete(basename(temporary));
  }
}

/** A name for a temporary file that `sweep` recognizes. Truncated: many file systems allow 255 bytes, and the suffix takes up to 80. */
function temporaryName(name: string): string {
  const temporary = `.${name.slice(0, 40)}.${host()}.${process.pid}.${uniqueName()}.heed-tmp`;
  TEMPORARY.add(temporary);
  return temporary;
}

/** Names of temporary files that this process is writing: no clock says which of its number are its own. */
const TEMPORARY = new Set<string>();

function piecesOf(contents: Contents): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  if (ArrayBuffer.isView(contents) || contents instanceof ArrayBuffer) return [asBytes(WHAT, contents)];
  const value = contents as Iterable<Uint8Array> & AsyncIterable<Uint8Array>;
  if (
    typeof value === "object" &&
    value !== null &&
    (Symbol.iterator in value || Symbol.asyncIterator in value)
  )
    return value;
  refuseGot("contents", `${WHAT}: expected bytes or an iterable of bytes`, contents);
}

async function unlessMissing(stat: Promise<Stats>): Promise<Stats | undefined> {
  return stat.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

/** What `writeAll` needs of an open file. Not Node's type: pages check these declarations too. */
interface Writable {
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number | null,
  ): Promise<{ readonly bytesWritten: number }>;
}

/** Writes all of `bytes`, at the file's position or from offset `at`: one write may write fewer. */
export async function writeAll(file: Writable, bytes: Uint8Array, at?: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const length = Math.min(bytes.length - done, 2 ** 26);
    const { bytesWritten } = await file.write(bytes, done, length, at === undefined ? null : at + done);
    done += bytesWritten;
  }
}

/** Makes a folder, and those above it that are missing, durably. */
export async function makeFolder(path: string): Promise<void> {
  const { dirname } = builtin<typeof import("node:path")>("node:path")!;
  try {
    const first = await fileSystem("makeFolder").mkdir(path, { recursive: true });
    if (first !== undefined) await syncFolder(dirname(first));
  } catch (error) {
    throw fileError("makeFolder", "make the folder", path, error);
  }
}

/** Syncs a folder after a rename. Windows cannot open a folder, and does not need it. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await fileSystem(WHAT).open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The host name as a part of a file name: process numbers of other machines in a shared folder are unrelated. */
function host(): string {
  const name = builtin<typeof import("node:os")>("node:os")?.hostname() ?? "";
  return name.replace(/[^A-Za-z0-9-]/g, "-").slice(0, 30) || "host";
}

/** Deletes the temporary files of dead processes of this machine. */
async function sweep(folder: string): Promise<void> {
  const fs = fileSystem(WHAT);
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const names = await fs.readdir(folder);
  for (const name of names) {
    const match = /^\..*\.([A-Za-z0-9-]+)\.(\d+)\.[a-z0-9]+-\d+\.heed-tmp$/.exec(name);
    if (match === null || match[1] !== host() || TEMPORARY.has(name)) continue;
    const stray = join(folder, name);
    if (!(await isStray(stray, Number(match[2])))) continue;
    await fs.unlink(stray).catch(() => {}); // Another process may sweep the same file; none depends on it.
  }
}

async function isStray(path: string, pid: number): Promise<boolean> {
  if (pid === process.pid) {
    // This number may have belonged to another process before (in a container it is often 1).
    const stat = await unlessMissing(fileSystem(WHAT).stat(path));
    return stat !== undefined && stat.mtimeMs < Date.now() - process.uptime() * 1000;
  }
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
