/** `heed completions SHELL`: a script for a shell's completion of commands, options, their values and files. */
import { type Command, EXIT, UsageError } from "../support/line/command.ts";
import { completedCommand, completionScript, SHELLS } from "../support/line/completions.ts";
import { jsonText } from "../support/output/terminal.ts";

export const command: Command = {
  name: "completions",
  summary: "print the completion script of a shell for heed's commands",
  usage: `heed completions ${SHELLS.join("|")}
    heed completions --json`,
  help: { json: "print the commands and options as JSON, for other shells" },
  notes: `bash: eval "$(heed completions bash)" in ~/.bashrc
zsh:  source <(heed completions zsh) in ~/.zshrc, after compinit
fish: heed completions fish > ~/.config/fish/completions/heed.fish`,
  examples: [
    "heed completions bash > ~/.local/share/bash-completion/completions/heed",
    "source <(heed completions zsh)",
    "heed completions fish > ~/.config/fish/completions/heed.fish",
  ],
  async run(values, positionals, io) {
    const isJson = values.json === true;
    if (positionals.length !== (isJson ? 0 : 1))
      throw new UsageError(
        isJson ? "--json takes no shell" : `name one shell: ${SHELLS.join(", ")}; got ${positionals.length}`,
      );
    const shell = SHELLS.find((one) => one === positionals[0]);
    if (!isJson && shell === undefined)
      throw new UsageError(
        `there are completions for ${SHELLS.join(", ")}, got ${JSON.stringify(positionals[0])}`,
      );
    const commands = ((await io.commands?.()) ?? []).map(completedCommand);
    io.stdout.write(shell === undefined ? jsonText(commands) : completionScript(shell, commands));
    return EXIT.ok;
  },
};
