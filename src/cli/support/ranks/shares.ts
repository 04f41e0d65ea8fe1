/**
 * Corpus jobs: a file of documents is split into shares, with one result file per document, written atomically; existing results
 * are skipped. So any scheduler that starts every share at least once completes the work, despite failures.
 *
 * A share is `I/N`, I from 0 to N − 1. Without the option it comes from the environment: Open MPI, MPICH and Slurm set rank and
 * size, a Slurm array its task, a Kubernetes Indexed Job its index (with N from --shard).
 */

import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { createInterface } from "node:readline";
import { launchOf } from "../../../cluster/index.ts";
import { FormatError, formatValue } from "../../../core/errors.ts";
import { readError } from "../input/text-file.ts";
import { UsageError } from "../line/command.ts";

/** Share `index` of `count`: the documents n with n mod count = index. */
export interface Share {
  readonly index: number;
  readonly count: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The share of this process: from `--shard I/N` or `--shard N`, and the environment. */
export function shareOf(option: string | undefined, env: Environment): Share {
  const scheduled = indexFrom(env);
  if (option === undefined) {
    if (scheduled === undefined) return { index: 0, count: 1 };
    if (scheduled.count !== undefined) return checkShare(scheduled.index, scheduled.count, scheduled.from);
    throw new UsageError(`${scheduled.from} says which share this is; say of how many: --shard N`);
  }
  const match = /^(?:(\d+)\/)?(\d+)$/.exec(option);
  if (!match) throw new UsageError(`--shard is I/N, such as 3/64, or N, got ${formatValue(option)}`);
  const count = Number(match[2]);
  if (match[1] !== undefined) return checkShare(Number(match[1]), count, "--shard");
  if (scheduled === undefined)
    throw new UsageError(
      `--shard ${count} takes the share's index from the environment (Slurm, Kubernetes, mpirun), and there is none; say --shard I/${count}`,
    );
  return checkShare(scheduled.index, count, scheduled.from);
}

function checkShare(index: number, count: number, from: string): Share {
  if (count >= 1 && index >= 0 && index < count && Number.isSafeInteger(count)) return { index, count };
  throw new UsageError(`${from}: a share's index is from 0 to ${count - 1}, got ${index} of ${count}`);
}

/** The index of this process, and the number of processes, from the environment of a scheduler. */
function indexFrom(env: Environment): { index: number; count?: number; from: string } | undefined {
  const launch = launchOf(env);
  if (launch) return { index: launch.rank, count: launch.size, from: launch.launcher };
  const number = (name: string): number | undefined => {
    const text = env[name];
    return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
  };
  const task = number("SLURM_ARRAY_TASK_ID");
  if (task !== undefined) {
    const [first, step, count] = [
      number("SLURM_ARRAY_TASK_MIN") ?? 0,
      number("SLURM_ARRAY_TASK_STEP") ?? 1,
      number("SLURM_ARRAY_TASK_COUNT"),
    ];
    return {
      index: Math.floor((task - first) / Math.max(1, step)),
      ...(count !== undefined && { count }),
      from: "the Slurm array",
    };
  }
  const completion = number("JOB_COMPLETION_INDEX");
  return completion === undefined ? undefined : { index: completion, from: "JOB_COMPLETION_INDEX" };
}

/** A document of a corpus. */
export interface Document {
  /** Line of the file, from 1. */
  readonly line: number;
  /** Name of its result: its id, or its line number. */
  readonly name: string;
  readonly text: string;
  readonly pair?: string;
}

/**
 * The documents of a share: lines of a JSONL file, `{ "text": …, "id"?: …, "pair"?: … }` or a string. An id names the result,
 * so it must be usable as a file name; the default is the line number. Empty lines are skipped.
 */
export async function* documentsOf(path: string, { index, count }: Share): AsyncGenerator<Document> {
  const stream = createReadStream(path);
  const failed = new Promise<never>((_, reject) => {
    stream.on("error", (error) => reject(readError(path, error)));
  });
  failed.catch(() => undefined);
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })[
    Symbol.asyncIterator
  ]();
  let [line, n] = [0, 0];
  for (;;) {
    const next = await Promise.race([lines.next(), failed]);
    if (next.done) break;
    line++;
    if (next.value.trim() === "") continue;
    if (n++ % count === index) yield documentOf(path, line, next.value);
  }
}

function documentOf(path: string, line: number, text: string): Document {
  const refuse = (why: string): never => {
    throw new FormatError("document", `${path}, line ${line}: ${why}`, { path, line });
  };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refuse(`not JSON: ${(error as Error).message}`);
  }
  const fields = (typeof value === "string" ? { text: value } : value) as Record<string, unknown> | null;
  if (fields === null || typeof fields !== "object" || typeof fields.text !== "string")
    return refuse('a document is a string or an object with a "text"');
  const { id, pair } = fields;
  if (id !== undefined && typeof id !== "string" && typeof id !== "number")
    return refuse(`"id" must be a string or a number, got ${formatValue(id)}`);
  const name = id === undefined ? String(line).padStart(6, "0") : String(id);
  // Only characters that every file system allows, and no path separators.
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/.test(name))
    return refuse(
      `id ${formatValue(name)} cannot name a file; ids are up to 100 letters, digits, "_", "-" and ".", the first no "." or "-"`,
    );
  if (pair !== undefined && typeof pair !== "string") return refuse('"pair" must be a string');
  return { line, name, text: fields.text, ...(pair !== undefined && { pair }) };
}

/** Names of the `.safetensors` files in a folder, without the suffix: the finished documents. */
export async function finishedIn(folder: string): Promise<Set<string>> {
  const names = await readdir(folder).catch(() => [] as string[]);
  return new Set(names.flatMap((name) => /^(.*)\.safetensors$/.exec(name)?.[1] ?? []));
}
