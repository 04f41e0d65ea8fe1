/** From arguments to an exit code: finds the command, parses its arguments, runs it, and reports an error in one line. */
import { readFileSync } from "node:fs";
import { HeedError, messageOf } from "../../../core/errors.ts";
import { COMMANDS } from "../../commands/index.ts";
import { jsonText, printable } from "../output/terminal.ts";
import { startDevice } from "../run/device.ts";
import { engineDefaults } from "../run/engine.ts";
import { parseCommandLine } from "./arguments.ts";
import { type Command, EXIT, Interrupted, type Io, UsageError } from "./command.ts";
import { commandPage, overview } from "./help.ts";
import { didYouMean } from "./suggest.ts";

/** The version in package.json, which is two folders above src/cli and dist/cli alike. */
function version(): string {
  return JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8")).version;
}

/** Runs `heed` with `args` (without the program's name); resolves to the exit code and never rejects. */
export async function dispatch(args: readonly string[], io: Io): Promise<number> {
  let name = "";
  const json = wantsJson(args);
  try {
    const [first, ...rest] = args;
    if (first === "--version" || first === "-V") {
      io.stdout.write(`${version()}\n`);
      return EXIT.ok;
    }
    if (
      first === undefined ||
      first === "--help" ||
      first === "-h" ||
      (first === "help" && rest.length === 0)
    ) {
      io.stdout.write(overview(version(), io));
      return EXIT.ok;
    }
    const asksHelp = first === "help";
    const command = await find(asksHelp ? rest[0] : first);
    if (asksHelp) {
      io.stdout.write(commandPage(command, io));
      return EXIT.ok;
    }
    name = ` ${command.name}`;
    const { values, positionals, help } = parseCommandLine(command, rest);
    if (help) {
      io.stdout.write(commandPage(command, io));
      return EXIT.ok;
    }
    await engineDefaults(command.comparesEngines ? {} : values, io);
    const commands = () => Promise.all(COMMANDS.map(({ load }) => load()));
    const device = await startDevice(values);
    try {
      const commandLine = shellLine(["heed", ...args]);
      return await command.run(values, positionals, { ...io, commands, commandLine, device });
    } finally {
      device?.destroy();
    }
  } catch (error) {
    return tell(error, `heed${name}`, json, io);
  }
}

/** Arguments as a line for a POSIX shell. */
function shellLine(args: readonly string[]): string {
  const quote = (text: string) =>
    /^[\w@%+=:,./-]+$/.test(text)
      ? text
      : /["$`\\!]/.test(text)
        ? `'${text.replaceAll("'", "'\\''")}'`
        : `"${text}"`;
  return args.map(quote).join(" ");
}

async function find(name: string): Promise<Command> {
  const entry = COMMANDS.find((one) => one.name === name);
  if (entry !== undefined) return entry.load();
  if (name.startsWith("-")) {
    const guess = didYouMean(name.replace(/^-+/, ""), ["help", "version"], "--");
    throw new UsageError(`unknown option ${name}${guess || "; options of a command come after its name"}`);
  }
  const names = COMMANDS.map((one) => one.name);
  const guess = didYouMean(name, [...names, "help"]);
  throw new UsageError(
    `unknown command ${JSON.stringify(name)}${guess || `; the commands are ${names.join(", ")}`}`,
  );
}

/** Whether to report errors as JSON: `--json` before any `--`. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).includes("--json");
}

/** Writes an error to stderr, as one line or one JSON object, and returns its exit code. */
export function tell(
  error: unknown,
  who: string,
  json: boolean,
  io: Pick<Io, "stderr" | "env" | "signal">,
): number {
  const interrupted = error instanceof Interrupted || io.signal.aborted;
  const usage = error instanceof UsageError || /^ERR_PARSE_ARGS/.test(codeOf(error) ?? "");
  const code = interrupted ? EXIT.interrupted : usage ? EXIT.usage : EXIT.failed;
  const raw = messageOf(error);
  const message = interrupted ? "interrupted" : raw === "" ? String(error) : withoutFunction(raw, who);
  if (json) {
    const kind = interrupted ? "Interrupted" : error instanceof Error ? error.name : "Error";
    const fields = error instanceof HeedError ? error.fields : {};
    io.stderr.write(jsonText({ error: { kind, code: codeOf(error) ?? null, message, fields, exit: code } }));
  } else {
    // The error about a pickle includes lines of Python; of others only the first line is printed.
    const line =
      codeOf(error) === "pickle"
        ? message.split("\n").map(printable).join("\n")
        : printable(message.split("\n")[0]);
    const text = line.startsWith(`${who}: `) ? line : `${who}: ${line}`;
    io.stderr.write(`${text}${usage ? ` (see ${who} --help)` : ""}\n`);
  }
  if (io.env.HEED_DEBUG && error instanceof Error && !interrupted) io.stderr.write(`${error.stack}\n`);
  return code;
}

/**
 * A message without the name of the library function at its start: `openStore: cannot open …`, `figure: layer must …`. On the
 * command line the command's name replaces it.
 */
function withoutFunction(message: string, who: string): string {
  const [, name] = /^([a-z]+[A-Za-z0-9]*): /.exec(message) ?? [];
  if (name === undefined) return message;
  const isFunction = /[A-Z]/.test(name) || who.endsWith(` ${name}`) || name === "open";
  return isFunction ? message.slice(name.length + 2) : message;
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}
