/**
 * Node's built-in modules for the functions that need them, looked up at the call, so that the same files load in
 * a browser; and errors of its file system as typed errors. The package's types do not contain its declarations.
 */
import { formatValue, HeedError, OptionError } from "../../core/errors.ts";

/** Node's built-in module `name`, or undefined elsewhere. */
export function builtin<T>(name: string): T | undefined {
  return globalThis.process?.getBuiltinModule?.(name) as T | undefined;
}

/** Node's file system, for a function that needs it. */
export function fileSystem(what: string): typeof import("node:fs/promises") {
  const fs = builtin<typeof import("node:fs/promises")>("node:fs/promises");
  if (fs) return fs;
  throw new OptionError("path", `${what}: paths need Node; pass a Blob or bytes here`);
}

let names = 0;

/** A part of a file's name that this thread uses once: the time and a counter. */
export const uniqueName = (): string => `${Date.now().toString(36)}-${names++}`;

/** The message of a system error, without its code, the call and the path: "no such file or directory". */
export const systemText = (error: Error): string =>
  error.message.replace(/^E[A-Z]+: ([^,]*), \w+(?: '.*')?$/s, "$1");

/** An error of the file system as a typed one that keeps the system's code. */
export function fileError(what: string, doing: string, path: string, error: unknown): HeedError {
  if (error instanceof HeedError) return error;
  const { code } = error as NodeJS.ErrnoException;
  const place = typeof path === "string" ? path : formatValue(path);
  return new OptionError("file", `${what}: cannot ${doing} ${place}: ${systemText(error as Error)}`, {
    path,
    errno: code,
  });
}
