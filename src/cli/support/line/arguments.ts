/**
 * Parses arguments by a command's options. `node:util` parseArgs splits them into tokens; this file interprets the tokens, for
 * consistent errors: unknown options with the nearest known one, missing and superfluous values, options given twice.
 */
import { parseArgs } from "node:util";
import { type Command, optionsOf, UsageError, type Values } from "./command.ts";
import { didYouMean } from "./suggest.ts";

/** A parsed command line. */
export interface Parsed {
  readonly values: Values;
  readonly positionals: readonly string[];
  /** `--help` or `-h` was among the options. */
  readonly help: boolean;
}

/** `--help`, and the options of a command. */
const HELP: ReturnType<typeof optionsOf> = { help: { type: "boolean", short: "h" } };

/** Parses `args` by the options of a command. Throws a UsageError. */
export function parseCommandLine(command: Command, args: readonly string[]): Parsed {
  const options = { ...optionsOf(command), ...HELP };
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values: Record<string, unknown> = Object.assign(Object.create(null), command.defaults);
  const present = new Set<string>();
  let help = false;
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    if (!Object.hasOwn(options, name)) {
      const names = Object.keys(options);
      throw new UsageError(`unknown option ${rawName}${didYouMean(name, names, "--")}`);
    }
    if (name === "help") {
      help = true;
      continue;
    }
    const { type, multiple } = options[name];
    let got: string | true;
    if (type === "boolean") {
      if (value !== undefined && !command.optional?.includes(name))
        throw new UsageError(`${rawName} takes no value, got ${JSON.stringify(value)}`);
      got = value ?? true;
    } else {
      // A value may begin with a dash if it is a number, or follows "=".
      if (value === undefined || (!inlineValue && /^-[^\d.]/.test(value)))
        throw new UsageError(
          `${rawName} needs a value: ${rawName}${rawName.startsWith("--") ? "=" : " "}${wordOf(command, name)}`,
        );
      got = value;
    }
    // White space is a value only where a text is matched literally, such as the line break of --stop.
    if (got === "" || (got !== true && got.trim() === "" && !command.blank?.includes(name)))
      throw new UsageError(
        `${rawName} is empty; write ${rawName}${rawName.startsWith("--") ? "=" : " "}${wordOf(command, name)}`,
      );
    if (multiple) values[name] = [...(present.has(name) ? (values[name] as string[]) : []), got];
    else if (present.has(name)) throw new UsageError(`--${name} was given twice`);
    else values[name] = got;
    present.add(name);
  }
  return { values, positionals, help };
}

/** The name of an option's value in its help: `FILE` of `FILE  write the result there`. */
export function wordOf(command: Command, option: string): string {
  const [word, rest] = (command.help[option] ?? "").split("  ", 2);
  return rest === undefined ? "VALUE" : word;
}
