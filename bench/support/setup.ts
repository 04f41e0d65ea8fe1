/** What every bench does first and last: its options, heed's level and threads, measurements in a fresh process, and tables. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { columnsOf } from "../../src/cli/support/output/terminal.ts";
import { configure, prepare, type SimdLevel } from "../../src/index.ts";

/** A default as its general type. */
type Wide<T> = T extends boolean ? boolean : T extends number ? number : string;

/**
 * The options of a command line, from their defaults: a number is parsed as one, `false` is a flag.
 *
 * @example
 * const { level, threads, memory } = optionsOf({ level: "wide", threads: 1, memory: false }).values;
 */
export function optionsOf<T extends Readonly<Record<string, string | number | boolean>>>(
  defaults: T,
): { readonly values: { readonly [K in keyof T]: Wide<T[K]> }; readonly positionals: readonly string[] } {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) =>
      typeof value === "boolean"
        ? [name, { type: "boolean" as const, default: value }]
        : [name, { type: "string" as const, default: String(value) }],
    ),
  );
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const parsed = Object.entries(values).map(([name, value]) => {
    if (typeof defaults[name] !== "number") return [name, value];
    const number = Number(value);
    if (!Number.isFinite(number)) throw new Error(`--${name} takes a number, got ${value}`);
    return [name, number];
  });
  return { values: Object.fromEntries(parsed), positionals };
}

/** Starts heed's threads, at a level or at the one that is configured. */
export async function startThreads(threads: number, level?: string): Promise<void> {
  configure({ threads, ...(level !== undefined && { simd: level as SimdLevel }) });
  const ready = await prepare();
  if (ready < threads) throw new Error(`bench: ${ready} of ${threads} threads are ready`);
}

/** "2 threads". */
export const threadText = (threads: number): string => `${threads} thread${threads === 1 ? "" : "s"}`;

/** The first line of a bench's output: "wide, 2 threads, Node 24.1.0". */
export const conditions = (level: string, threads: number): string =>
  `${level}, ${threadText(threads)}, Node ${process.versions.node}`;

/** Prints rows in columns; those of `right` are aligned on the right. */
export function printTable(rows: readonly (readonly string[])[], right?: readonly number[]): void {
  console.log(columnsOf(rows, right).join("\n"));
}

/** Runs a bench again in a fresh process, and returns what its last line says as JSON. */
export function inProcess<T>(file: string, args: readonly string[]): T {
  const argv = ["--expose-gc", "--no-warnings", fileURLToPath(file), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  if (status !== 0) throw new Error(`bench: a measurement in its own process failed: ${stderr}`);
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as T;
}

/** True in the file that node was started with; false in a page. */
export const isMain = (file: string): boolean =>
  "process" in globalThis && process.argv[1] === fileURLToPath(file);
