/** From arguments to an exit code: finds the command, parses its arguments, runs it, and reports an error in one line. */
import { readFileSync } from "node:fs";
import { HeedError, messageOf } from "../../../core/errors.ts";
import { COMMANDS, type Entry } from "../../commands/index.ts";
import { jsonText, printable, styler, wrap } from "../output/terminal.ts";
import { startDevice } from "../run/device.ts";
import { engineDefaults } from "../run/engine.ts";
import { parseCommandLine, wordOf } from "./arguments.ts";
import { type Command, EXIT, Interrupted, type Io, optionsOf, UsageError } from "./command.ts";
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

/** The output of `heed` and `heed --help`. */
function overview(version: string, io: Pick<Io, "color">, entries: readonly Entry[] = COMMANDS): string {
  const { bold } = styler(io);
  const width = Math.max(...entries.map(({ name }) => name.length));
  return [
    `${bold("heed")} ${version}: attention for TypeScript`,
    "",
    `${bold("Usage:")} heed COMMAND [ARGUMENTS] [OPTIONS]`,
    "",
    bold("Commands:"),
    ...entries.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    bold("Options:"),
    "  -h, --help     this page; after a command, the page of that command",
    "  -V, --version  the version",
    "",
    bold("Environment:"),
    "  HEED_SIMD      wide, relaxed or strict; default wide on Node 24, else relaxed",
    "  HEED_BACKEND   auto, wasm or reference (plain TypeScript, no WebAssembly)",
    "  HEED_THREADS   maximum threads of a call",
    "  HEED_DEBUG     print the stack of an error",
    "  NO_COLOR, FORCE_COLOR",
    "",
    bold("Examples:"),
    '  heed show "time flies like an arrow" "fruit flies like a banana"',
    "  heed run qkv.safetensors --causal -o out.npz",
    "  heed explain --shape 1,12,4096,64 --causal --window 256,0",
    "  heed inspect model.safetensors --stats",
    "  heed doctor",
    "",
    "Exit codes: 0 done, 1 bad input or failure, 2 wrong command line, 130 interrupted.",
    "",
  ].join("\n");
}

/** The output of `heed COMMAND --help`. */
export function commandPage(command: Command, io: Pick<Io, "color" | "columns">): string {
  const { bold } = styler(io);
  const columns = Math.max(60, Math.min(io.columns || 100, 110));
  const rows = Object.entries(optionsOf(command)).map(([name, { type, short }]) => {
    const dash = short ? `-${short}, ` : "    ";
    const text = command.help[name] ?? "";
    const word = wordOf(command, name);
    const optional = command.optional?.includes(name);
    const shown = type === "string" ? ` ${word}` : optional ? `[=${word}]` : "";
    const says = type === "string" || optional ? text.slice(text.indexOf("  ") + 2) : text;
    return { head: `  ${dash}--${name}${shown}`, says };
  });
  rows.push({ head: "  -h, --help", says: "this page" });
  const width = Math.min(34, Math.max(...rows.map(({ head }) => head.length)));
  const lines = [`${bold(`heed ${command.name}`)}: ${command.summary}`, "", bold("Usage:")];
  lines.push(...command.usage.split("\n").map((line) => `  ${line.trim()}`), "", bold("Options:"));
  for (const { head, says } of rows) {
    const text = wrap(says, columns - width - 2);
    if (head.length > width) lines.push(head);
    else lines.push(`${head.padEnd(width)}  ${text.shift() ?? ""}`.trimEnd());
    lines.push(...text.map((line) => `${" ".repeat(width)}  ${line}`));
  }
  if (command.notes) lines.push("", ...command.notes.trim().split("\n"));
  lines.push("", bold("Examples:"), ...command.examples.map((line) => `  ${line}`), "");
  return lines.join("\n");
}
