/**
 * A file system that fails at a selected call. Patches Node's `fs/promises` in this process: before the n-th
 * call `act` runs, and may throw, kill the process or do nothing. Every handle's methods count too; a write at
 * the chosen call first writes half of its bytes.
 */
import type { FileHandle } from "node:fs/promises";

const FUNCTIONS = ["open", "rename", "unlink", "stat", "readdir", "realpath"] as const;
const METHODS = ["write", "sync", "close", "chmod"] as const;

/** Installs the patch; returns a function that removes it and returns the calls that were made. */
export function faultAt(n: number, act: (call: string) => void): () => string[] {
  const fs = process.getBuiltinModule("node:fs/promises") as unknown as Record<
    string,
    (...args: never[]) => Promise<unknown>
  >;
  const originals = Object.fromEntries(FUNCTIONS.map((name) => [name, fs[name]]));
  const calls: string[] = [];
  const count = (call: string) => {
    calls.push(call);
    if (calls.length === n) act(call);
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
