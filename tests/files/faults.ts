/**
 * A file system that fails at a selected call. Patches Node's `fs/promises` in this process: before the n-th
 * call `act` runs, and may throw, kill the process or do nothing. Every handle's methods count too; a write at
 * the chosen call first writes half of its bytes.
 */
import type { FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import type { Random } from "../support/cases/random.ts";

const FUNCTIONS = ["open", "rename", "unlink", "stat", "readdir", "realpath"] as const;
const METHODS = ["write", "sync", "close", "chmod"] as const;

/**
 * Installs the patch; returns a function that removes it and returns the calls that were made. With `last` beyond `n`, `act` runs before the
 * calls after the n-th too, as in a process that has died.
 */
export function faultAt(n: number, act: (call: string) => void, last = n): () => string[] {
  const fs = process.getBuiltinModule("node:fs/promises") as unknown as Record<
    string,
    (...args: never[]) => Promise<unknown>
  >;
  const originals = Object.fromEntries(FUNCTIONS.map((name) => [name, fs[name]]));
  const calls: string[] = [];
  const count = (call: string) => {
    calls.push(call);
    if (calls.length >= n && calls.length <= last) act(call);
  };
  for (const name of FUNCTIONS)
    fs[name] = async (...args: never[]) => {
      count(name);
      const result = await originals[name](...args);
      if (name === "open") patchHandle(result as FileHandle, count, () => calls.length + 1 === n);
      return result;
    };
  return () => {
    for (const name of FUNCTIONS) fs[name] = originals[name];
    return calls;
  };
}

function patchHandle(handle: FileHandle, count: (call: string) => void, isNext: () => boolean): void {
  const methods = handle as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const name of METHODS) {
    const original = methods[name].bind(handle);
    methods[name] = async (...args) => {
      if (name === "write" && isNext()) await original(args[0], args[1], Math.floor((args[2] as number) / 2));
      // A handle that fails to close is closed all the same, as the system does.
      if (name === "close" && isNext()) await original();
      count(name);
      return original(...args);
    };
  }
}

/** The functions and methods that fail at random: those above, others of whole files, and reads. */
const ALL = [
  ...FUNCTIONS, "access", "copyFile", "link", "mkdir", "readFile", "readlink", "rm", "symlink", "writeFile",
] as const; // biome-ignore format: one list
const ALL_METHODS = [...METHODS, "read"] as const;
const ERRORS = [
  ["ENOSPC", "no space left on device"],
  ["EIO", "i/o error"],
  ["EDQUOT", "disk quota exceeded"],
] as const;

/**
 * A file system that fails at random calls, each with probability `share`, and whose reads and writes move a random part of their
 * bytes, at least one. The functions in `spared` do not fail. Returns a function that removes the patch and returns the calls that failed.
 */
export function randomFaults(r: Random, share: number, spared: readonly string[] = []): () => string[] {
  const fs = process.getBuiltinModule("node:fs/promises") as unknown as Functions;
  const originals = ALL.map((name) => [name, fs[name]] as const);
  const failed: string[] = [];
  const fail = (call: string) => {
    if (spared.includes(call) || !r.chance(share)) return;
    failed.push(call);
    const [code, text] = r.pick(ERRORS);
    throw Object.assign(new Error(`${code}: ${text}, ${call}`), { code, syscall: call });
  };
  for (const [name, original] of originals)
    fs[name] = async (...args) => {
      fail(name);
      const result = await original(...args);
      if (name === "open") failHandle(result as FileHandle);
      return result;
    };
  function failHandle(handle: FileHandle): void {
    const methods = handle as unknown as Functions;
    let isClosed = false;
    for (const name of ALL_METHODS) {
      const original = methods[name].bind(handle);
      methods[name] = async (...args: unknown[]) => {
        // A stream over the handle closes it once more.
        if (isClosed) return original(...args);
        isClosed = name === "close";
        const [bytes, offset, length, at] = args as [Uint8Array, number, number, number | null];
        const moves = name === "write" || name === "read";
        const part = moves && length > 0 ? r.int(1, length) : length;
        // As the system does, a handle that fails to close is closed, and a write that fails may have written a part.
        try {
          fail(name);
        } catch (error) {
          if (name === "close") await original();
          if (name === "write") await original(bytes, offset, part, at);
          throw error;
        }
        return moves ? original(bytes, offset, part, at) : original(...args);
      };
    }
  }
  // Modules that import the functions by name have them too.
  syncBuiltinESMExports();
  return () => {
    for (const [name, original] of originals) fs[name] = original;
    syncBuiltinESMExports();
    return failed;
  };
}

type Functions = Record<string, (...args: unknown[]) => Promise<unknown>>;
