/**
 * The completion scripts in the shells themselves. Debian's zsh and fish are installed where this process is allowed to; without a
 * shell its tests are counted as skipped.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { installPackages } from "../support/processes/debian.mjs";
import { heed, unix, work } from "./cli.ts";

installPackages(["zsh", "fish"], ["/usr/bin/zsh", "/usr/bin/fish"]);

/** Runs a shell in the working folder. */
const run = (shell: string, args: readonly string[], env: Record<string, string> = {}) =>
  execFileSync(shell, args, {
    cwd: work,
    encoding: "utf8",
    env: { ...process.env, ...env },
    timeout: 120_000,
    stdio: ["ignore", "pipe", "inherit"],
  });

const lines = (text: string) => text.split("\n").filter((line) => line !== "");

/** The completions of a line in bash: the function is called as bash calls it. */
function bash(line: string): string[] {
  const script = `source heed.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _heed; printf "%s\\n" "\${COMPREPLY[@]}"`;
  return lines(run("bash", ["-c", script, "bash", ...line.split(" ")]));
}

/** The completions of a line in fish, which prints a description after each. */
function fish(line: string): string[] {
  const env = { HOME: work, XDG_CONFIG_HOME: work, XDG_DATA_HOME: work, TERM: "dumb" };
  const out = run("fish", ["--no-config", "-c", "source heed.fish; complete -C $argv[1]", line], env);
  return lines(out).map((one) => one.split("\t")[0]);
}

/** What an interactive zsh runs: it completes the line of `$LINE`, and writes what was added to a file. */
const ZSHRC = `
autoload -Uz compinit; compinit -u -d $ZDOTDIR/dump
source ./heed.zsh
compadd() {
  if [[ " $* " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return; fi
  local -a hits; builtin compadd -A hits "$@"
  print -rl -- $hits >> hits
  builtin compadd "$@"
}
capture() { BUFFER=$LINE; CURSOR=$#BUFFER; zle complete-word; exit }
zle -N zle-line-init capture
`;

/** The completions of a line in zsh, which completes only in a terminal: the module zsh/zpty makes one. */
function zsh(line: string): string[] {
  mkdirSync(join(work, "zsh"), { recursive: true });
  writeFileSync(join(work, "zsh", ".zshrc"), ZSHRC);
  rmSync(join(work, "hits"), { force: true });
  const script = "zmodload zsh/zpty; zpty shell zsh -i; while zpty -r shell printed; do :; done";
  run("zsh", ["-fc", script], { LINE: line, ZDOTDIR: join(work, "zsh"), TERM: "dumb" });
  return lines(readFileSync(join(work, "hits"), "utf8"));
}

/** Whether zsh is there, and can make a terminal. */
function hasZsh(): boolean {
  try {
    execFileSync("zsh", ["-fc", "zmodload zsh/zpty && zpty shell true"], {
      stdio: "ignore",
      timeout: 60_000,
    });
    return true;
  } catch {
    return false;
  }
}

const SHELLS = [
  { name: "bash", complete: bash, isThere: unix },
  { name: "zsh", complete: zsh, isThere: hasZsh() },
  { name: "fish", complete: fish, isThere: existsSync("/usr/bin/fish") },
];

describe("completions", () => {
  for (const { name, complete, isThere } of SHELLS) {
    if (!isThere)
      process.stderr.write(`skipped: completions in ${name}, which is missing (apt-get install ${name})\n`);
    it.runIf(isThere)(
      `${name} completes commands, options, their values and files`,
      { timeout: 300_000 },
      async () => {
        const script = await heed(["completions", name]);
        expect(script.code).toBe(0);
        writeFileSync(join(work, `heed.${name}`), script.out);
        // The shell parses the script.
        run(name, ["-n", `heed.${name}`]);
        for (const [line, ...expected] of [
          ["heed r", "run"],
          ["heed run --lay", "--layout"],
          ["heed run --layout ", "bhsd", "bshd"],
          ["heed run qkv.n", "qkv.npz"],
          ["heed show --simd re", "reference", "relaxed"],
          ["heed figure --ramp ", "cividis", "grey", "plum"],
          ["heed figure --wor", "--words"],
          ["heed completions f", "fish"],
          ["heed show --model enc", "encoder"],
          ["heed help com", "completions"],
        ])
          expect([line, ...complete(line).sort()]).toEqual([line, ...expected]);
      },
    );
  }

  it("every shell's script has every command and option of the table", async () => {
    const table = JSON.parse((await heed(["completions", "--json"])).out);
    for (const shell of ["bash", "zsh", "fish"]) {
      const { out } = await heed(["completions", shell]);
      for (const { name, options } of table) {
        expect(out).toContain(name);
        for (const option of options)
          expect(out).toContain(shell === "fish" ? `-l ${option.name} ` : `--${option.name}`);
      }
    }
    expect(await heed(["completions", "tcsh"])).toMatchObject({
      code: 2,
      err: expect.stringContaining('there are completions for bash, zsh, fish, got "tcsh"'),
    });
  });
});
