/** The interface of a command of `heed`, its environment, and the two errors of the command line. */
import type { ParseArgsConfig } from "node:util";
import type { WebGpuDevice } from "../../../webgpu/index.ts";

/** Values of options by their long name: text, true, or a list if an option may be given several times. */
export type Values = Readonly<Record<string, unknown>>;

/** The environment of a command. */
export interface Io {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether stdout is a terminal. */
  readonly isTTY: boolean;
  /** Columns of the terminal; without one, the variable COLUMNS. */
  readonly columns?: number;
  /** Color depth of stdout in bits: 0 (none), 4, 8 or 24, with NO_COLOR and FORCE_COLOR applied. */
  readonly color: 0 | 4 | 8 | 24;
  /** Whether to draw progress: stderr is a terminal that can overwrite a line. */
  readonly progress: boolean;
  /** Standard input, for `-`; undefined if there is none. */
  readonly stdin?: StandardInput;
  /** The command as a line for a shell; results that are stored have it. */
  readonly commandLine?: string;
  /** Loads every command, for the one that prints completions. */
  readonly commands?: () => Promise<readonly Command[]>;
  /** Aborted by Ctrl-C. Long work checks it between its pieces. */
  readonly signal: AbortSignal;
  /** The device of `--device gpu`, where models compute; undefined for the CPU. */
  readonly device?: WebGpuDevice;
}

/** Standard input. */
export interface StandardInput {
  /** Whether it is a pipe or a file: `… | heed` or `heed … < FILE`. */
  readonly isPiped: boolean;
  /** Reads all of it; may be called once. */
  read(): Promise<Uint8Array>;
}

/** A command: each file in commands/ exports one as `command`. */
export interface Command {
  readonly name: string;
  /** One line for the overview. */
  readonly summary: string;
  /** The synopsis, one line for each form. */
  readonly usage: string;
  /** The options, a line for each: `VALUE  description`, or only the description for an option without a value. */
  readonly help: Readonly<Record<string, string>>;
  /** Options with an optional value: `--causal` or `--causal=lower-right`. */
  readonly optional?: readonly string[];
  /** Options that may be given several times: their value is a list. */
  readonly multiple?: readonly string[];
  /** True where `--simd` and `--threads` are lists, which the command itself applies. */
  readonly comparesEngines?: boolean;
  /** Values of options that are not given. */
  readonly defaults?: Readonly<Record<string, string>>;
  /** Options whose value may be white space: texts that are matched literally. */
  readonly blank?: readonly string[];
  /** Notes below the options. */
  readonly notes?: string;
  readonly examples: readonly string[];
  /** Runs the command; resolves to the exit code. */
  run(values: Values, positionals: readonly string[], io: Io): Promise<number>;
}

/** Options with a letter, which is the same in every command. */
const SHORT: Readonly<Record<string, string>> = { output: "o", stats: "s", verbose: "v" };

/** The options of a command as `node:util` parseArgs describes them; its help says which have a value. */
export function optionsOf({
  help,
  optional = [],
  multiple = [],
}: Pick<Command, "help" | "optional" | "multiple">): NonNullable<ParseArgsConfig["options"]> {
  const rows = Object.entries(help).map(([name, text]) => {
    const type = text.includes("  ") && !optional.includes(name) ? "string" : "boolean";
    const short = SHORT[name];
    return [name, { type, ...(short && { short }), multiple: multiple.includes(name) }] as const;
  });
  return Object.fromEntries(rows);
}

/** Exit codes. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** A wrong command line: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Ctrl-C, detected between two pieces of work: exit code 130. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  constructor() {
    super("interrupted");
  }
}

/** Yields to the event loop, so that signals are handled, and throws `Interrupted` after one. */
export async function breathe(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (signal.aborted) throw new Interrupted();
}
