/** What a command of `heed` is, what it gets of the world, and the two errors that only the command line knows. */
import type { ParseArgsConfig } from "node:util";

/** Options the way `node:util` parseArgs describes them. */
export type OptionTable = NonNullable<ParseArgsConfig["options"]>;

/** Values of options by their long name: text, true, or a list where an option may come several times. */
export type Values = Readonly<Record<string, unknown>>;

/** What a command needs of the world. */
export interface Io {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether stdout is a terminal, and its columns where it is. */
  readonly isTTY: boolean;
  readonly columns?: number;
  /** Bits of color stdout shows: 0 (none), 4, 8 or 24. NO_COLOR and FORCE_COLOR are already in it. */
  readonly color: 0 | 4 | 8 | 24;
  /** Whether progress may be drawn: stderr is a terminal that can go back in a line. */
  readonly progress: boolean;
  /** Standard input, for `-`; left out where there is none. */
  readonly stdin?: StandardInput;
  /** Loads every command, for the one that prints completions. */
  readonly commands?: () => Promise<readonly Command[]>;
  /** Aborted by Ctrl-C. Long work looks at it between its pieces. */
  readonly signal: AbortSignal;
}

/** Standard input. */
export interface StandardInput {
  /** Whether it is a pipe or a file: somebody wrote `… | heed` or `heed … < FILE`. */
  readonly isPiped: boolean;
  /** All of it, once. */
  read(): Promise<Uint8Array>;
}

/** One command: one file beside this one exports one as `command`. */
export interface Command {
  readonly name: string;
  /** One line for the overview. */
  readonly summary: string;
  /** The synopsis; several lines where there are several ways. */
  readonly usage: string;
  readonly options: OptionTable;
  /** A line for each option: `VALUE  what it does`, or just what it does where it takes no value. */
  readonly help: Readonly<Record<string, string>>;
  /** Options whose value may be left out: `--causal` or `--causal=lower-right`. Their parseArgs type is `boolean`. */
  readonly optional?: readonly string[];
  /** More to say below the options. */
  readonly notes?: string;
  readonly examples: readonly string[];
  /** Runs the command; resolves to the exit code. */
  run(values: Values, positionals: readonly string[], io: Io): Promise<number>;
}

/** Exit codes. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** The command line is not one that the command takes: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Ctrl-C, noticed between two pieces of work: exit code 130. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  constructor() {
    super("interrupted");
  }
}

/** Lets signals in, and throws `Interrupted` where one has come. */
export async function breathe(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (signal.aborted) throw new Interrupted();
}
