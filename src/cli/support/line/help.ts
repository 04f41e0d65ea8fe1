/** The texts of `--help`: the overview, and the page of one command. This file does not load the engine. */

import { COMMANDS, type Entry } from "../../commands/index.ts";
import { styler, wrap } from "../output/terminal.ts";
import { wordOf } from "./arguments.ts";
import { type Command, type Io, optionsOf } from "./command.ts";

/** The output of `heed` and `heed --help`. */
export function overview(
  version: string,
  io: Pick<Io, "color">,
  entries: readonly Entry[] = COMMANDS,
): string {
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
