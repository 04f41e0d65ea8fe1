#!/usr/bin/env node
/**
 * The program `heed`: connects `dispatch` to the process. Ctrl-C, SIGTERM and SIGHUP ask the command to stop, with exit codes
 * 130, 143 and 129. A closed pipe ends it silently. The process is never forced to exit after a command, so that pipes are
 * flushed first.
 */
import { fstatSync } from "node:fs";
import { EXIT, type Io } from "./support/line/command.ts";
import { dispatch } from "./support/line/dispatch.ts";
import { exitCodeAfter, listenToSignals } from "./support/output/interrupt.ts";
import { colorDepth } from "./support/output/terminal.ts";

const [major, minor] = process.versions.node.split(".").map(Number);
const args = process.argv.slice(2);
const stop = new AbortController();

// A closed pipe (`heed … | head -1`) is not an error, and a file is still written completely.
const toFile = args.some((arg) => /^(-o|--output)/.test(arg)) || args[0] === "convert";
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") {
    if (!toFile) process.exit(EXIT.ok);
    return;
  }
  process.stderr.write(`heed: cannot write to stdout: ${error.message}\n`);
  process.exit(EXIT.failed);
});
// There is no other stream on which to report an error.
process.stderr.on("error", () => {});

listenToSignals(stop);

/** A socket does not count as a pipe: programs that start others leave one open without writing to it. */
function isPiped(): boolean {
  try {
    const stat = fstatSync(0);
    return stat.isFIFO() || stat.isFile();
  } catch {
    return false;
  }
}

/** COLUMNS, which is set for programs whose output goes to a pipe or a file. */
function columnsOfEnvironment(): number | undefined {
  const columns = Number(process.env.COLUMNS);
  return Number.isInteger(columns) && columns > 0 ? columns : undefined;
}

const io: Io = {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  isTTY: process.stdout.isTTY === true,
  columns: process.stdout.columns ?? columnsOfEnvironment(),
  color: colorDepth(process.stdout, process.env),
  progress: process.stderr.isTTY === true && process.env.TERM !== "dumb",
  stdin: {
    isPiped: isPiped(),
    async read() {
      if (process.stdin.isTTY) process.stderr.write("reading standard input; Ctrl-D ends it\n");
      const chunks: Uint8Array[] = [];
      for await (const chunk of process.stdin) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  },
  signal: stop.signal,
};

if (major < 20 || (major === 20 && minor < 19)) {
  io.stderr.write(`heed: Node 20.19 or later is needed, this is ${process.version}\n`);
  process.exitCode = EXIT.failed;
} else {
  const code = await dispatch(args, io);
  process.exitCode = exitCodeAfter(code, stop.signal.aborted);
}
