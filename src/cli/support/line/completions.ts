/**
 * Completion scripts for bash, zsh and fish, generated from the table of commands: names, options, the values that an option's
 * help lists, and files. What is completed is the same in all shells; the function of a shell only formats it.
 */
import { wordOf } from "./arguments.ts";
import { type Command, optionsOf } from "./command.ts";

/** The shells. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** The value of an option or an argument: one of a few words, a file, or a value that a shell cannot complete. */
export type Expected =
  | { readonly kind: "words"; readonly words: readonly string[]; readonly orFile?: boolean }
  | { readonly kind: "file" }
  | { readonly kind: "other" };

/** One option, as shells complete it. */
export interface CompletedOption {
  readonly name: string;
  readonly short?: string;
  /** Its help in one line. */
  readonly says: string;
  /** The name of its value; undefined if it takes none. */
  readonly word?: string;
  /** Whether the value is optional, and given with "=". */
  readonly isOptional: boolean;
  readonly value: Expected;
}

/** One command, as shells complete it. */
export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** Its arguments. */
  readonly argument: Expected;
}

const FILES = /^(FILE|IN|OUT|DIR|FOLDER|PAGE\.|FIGURE|VECTORS|RUN|DOCS|QUERY\.|SOURCE|SENTENCES)/;
/** A model: those of this package, and folders. */
const MODELS: Expected = { kind: "words", words: ["encoder", "decoder", "translator"], orFile: true };

/** The expected value, from the help: a list such as "wide, relaxed or strict (default …)", a file by its name, or unknown. */
function expectedOf(word: string, says: string): Expected {
  if (word === "MODEL") return MODELS;
  const words: string[] = [];
  const entry = /^([a-z][a-z0-9-]*)(?: \(default[^)]*\))?(?=, | or |, or |$|[ ;(])/;
  for (let rest = says; ; ) {
    const [match, name] = entry.exec(rest) ?? [];
    if (match === undefined) break;
    const after = rest.slice(match.length);
    const isLast = !/^(, or | or |, )/.test(after);
    // Any text may follow the last word of a list; a single word is not a list.
    words.push(name);
    if (isLast) break;
    rest = after.replace(/^(, or | or |, )/, "");
  }
  if (words.length > 1) return { kind: "words", words };
  return { kind: FILES.test(word) ? "file" : "other" };
}

/** A command, as shells complete it. */
export function completedCommand(command: Command): CompletedCommand {
  const options = Object.entries(optionsOf(command)).map(([name, { type, short }]): CompletedOption => {
    const text = command.help[name] ?? "";
    const isOptional = command.optional?.includes(name) ?? false;
    const word = type === "string" || isOptional ? wordOf(command, name) : undefined;
    const says = word === undefined ? text : text.slice(text.indexOf("  ") + 2);
    const value: Expected = word === undefined ? { kind: "other" } : expectedOf(word, says);
    // Help that is a list of values is shown in full.
    const isList = value.kind === "words" && !value.orFile;
    return { name, short, says: isList ? value.words.join(", ") : firstPart(says), word, isOptional, value };
  });
  const help: CompletedOption = {
    name: "help",
    short: "h",
    says: "help of this command",
    isOptional: false,
    value: { kind: "other" },
  };
  return {
    name: command.name,
    summary: command.summary,
    options: [...options, help],
    argument: argumentOf(command),
  };
}

/** A command's arguments, from its synopsis: words separated by bars, files, a model, or texts. */
function argumentOf({ usage }: Command): Expected {
  const [, rest = ""] = /^heed \S+ (.*)/.exec(usage) ?? [];
  const choices = /^([a-z]+(?:\|[a-z]+)+)/.exec(rest)?.[1].split("|");
  if (choices) return { kind: "words", words: choices };
  if (/^\[?MODEL/.test(rest)) return MODELS;
  return { kind: FILES.test(rest.replace(/^\[/, "")) ? "file" : "other" };
}

/** The first part of a help text, since shells show one line. */
function firstPart(text: string): string {
  return text.split(/[;:(]/)[0].trim();
}

/** The script for a shell. */
export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  return { bash, zsh, fish }[shell](commands);
}

/** Text in single quotes of a POSIX shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const flags = ({ name, short }: CompletedOption) => [`--${name}`, ...(short ? [`-${short}`] : [])];

function bash(commands: readonly CompletedCommand[]): string {
  const lines = [
    '# Completion of heed for bash: eval "$(heed completions bash)", for example in ~/.bashrc.',
    "_heed() {",
    `  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}`,
    "  COMPREPLY=()",
    "  # No -o default: files are completed where a file is expected, and nowhere else.",
    '  _heed_words() { COMPREPLY=($(compgen -W "$1" -- "$current")); }',
    "  _heed_files() { compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$current\")); }",
    '  _heed_words_or_files() { _heed_files; COMPREPLY+=($(compgen -W "$1" -- "$current")); }',
    "  if [[ $COMP_CWORD -eq 1 ]]; then",
    `    _heed_words ${quoted(`${commands.map(({ name }) => name).join(" ")} help --help --version`)}`,
    "    return",
    "  fi",
    `  case \${COMP_WORDS[1]} in`,
    "    help)",
    `      _heed_words ${quoted(commands.map(({ name }) => name).join(" "))}`,
    "      ;;",
  ];
  const reply = (expected: Expected): string =>
    expected.kind === "words"
      ? `_heed_words${expected.orFile ? "_or_files" : ""} ${quoted(expected.words.join(" "))}`
      : expected.kind === "file"
        ? "_heed_files"
        : ":";
  for (const { name, options, argument } of commands) {
    lines.push(`    ${name})`, "      case $previous in");
    for (const option of options)
      if (option.word !== undefined && !option.isOptional)
        lines.push(`        ${flags(option).join("|")}) ${reply(option.value)}; return ;;`);
    lines.push("      esac", "      if [[ $current == -* ]]; then");
    lines.push(`        _heed_words ${quoted(options.flatMap(flags).join(" "))}`);
    lines.push("      else", `        ${reply(argument)}`, "      fi", "      ;;");
  }
  return `${[...lines, "  esac", "}", "complete -F _heed heed"].join("\n")}\n`;
}

function zsh(commands: readonly CompletedCommand[]): string {
  /** Brackets and colons are syntax in a specification of _arguments. */
  const plain = (text: string) => text.replace(/[\\[\]:]/g, "\\$&");
  const action = (expected: Expected) =>
    expected.kind === "words"
      ? expected.orFile
        ? `{_values model ${expected.words.join(" ")}; _files}`
        : `(${expected.words.join(" ")})`
      : expected.kind === "file"
        ? "_files"
        : " ";
  const lines = [
    "#compdef heed",
    "# Completion of heed for zsh: source <(heed completions zsh), or saved as _heed in a folder of $fpath.",
    "_heed() {",
    "  local -a commands",
    "  local state line",
    "  commands=(",
    ...commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`),
    "  )",
    "  _arguments -C '1: :->command' '*:: :->arguments'",
    "  case $state in",
    "    command) _describe -t commands command commands ;;",
    "    arguments)",
    "      case $words[1] in",
    "        help) _describe -t commands command commands ;;",
  ];
  for (const { name, options, argument } of commands) {
    const specs = options.map((option) => {
      const { word, isOptional, says, value } = option;
      const after = word === undefined ? "" : `:${isOptional ? ":" : ""}${plain(word)}:${action(value)}`;
      const names = flags(option).map(
        (flag) =>
          `${flag}${word !== undefined && isOptional ? "=-" : word !== undefined && flag.startsWith("--") ? "=" : ""}`,
      );
      // The long and the short form of an option exclude each other.
      const heads = names.length > 1 ? [`(${flags(option).join(" ")})`] : [""];
      return names.map((one) => quoted(`${heads[0]}${one}[${plain(says)}]${after}`)).join(" ");
    });
    lines.push(`        ${name})`, "          _arguments \\");
    for (const spec of specs) lines.push(`            ${spec} \\`);
    lines.push(`            ${quoted(`*: :${action(argument)}`)}`, "          ;;");
  }
  lines.push(
    "      esac",
    "      ;;",
    "  esac",
    "}",
    'if [[ $funcstack[1] == _heed ]]; then _heed "$@"; else compdef _heed heed; fi',
  );
  return `${lines.join("\n")}\n`;
}

function fish(commands: readonly CompletedCommand[]): string {
  const text = (words: string) => `'${words.replace(/[\\']/g, "\\$&")}'`;
  const lines = [
    "# Completion of heed for fish: heed completions fish > ~/.config/fish/completions/heed.fish",
    "complete -c heed -f",
    ...commands.map(
      ({ name, summary }) => `complete -c heed -n __fish_use_subcommand -a ${name} -d ${text(summary)}`,
    ),
    `complete -c heed -n '__fish_seen_subcommand_from help' -a ${text(commands.map(({ name }) => name).join(" "))}`,
  ];
  for (const { name, options, argument } of commands) {
    const when = `complete -c heed -n '__fish_seen_subcommand_from ${name}'`;
    for (const { name: long, short, says, word, isOptional, value } of options) {
      const takes =
        word === undefined || isOptional
          ? ""
          : value.kind === "words"
            ? ` ${value.orFile ? "-r -F" : "-x"} -a ${text(value.words.join(" "))}`
            : value.kind === "file"
              ? " -r -F"
              : " -x";
      lines.push(`${when} -l ${long}${short ? ` -s ${short}` : ""} -d ${text(says)}${takes}`);
    }
    if (argument.kind === "words") lines.push(`${when} -a ${text(argument.words.join(" "))}`);
    if (argument.kind === "file" || (argument.kind === "words" && argument.orFile)) lines.push(`${when} -F`);
  }
  return `${lines.join("\n")}\n`;
}
