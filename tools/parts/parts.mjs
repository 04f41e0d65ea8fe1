/**
 * Parts of a run that are in progress at the same time, with output that is read one part after the other: the first part that
 * has not ended is shown while it writes, the output of later ones when all before them have ended.
 */
import { spawn } from "node:child_process";
import { Tally } from "./tally.mjs";

/** Programs whose output ends in a terminal color it, although they write into a pipe. */
const COLOR = process.stderr.isTTY && process.env.NO_COLOR === undefined ? { FORCE_COLOR: "1" } : {};

/**
 * One part: its counts, its output, and the programs that it runs.
 * @typedef {{ text: string, status: number | null, late: boolean }} Ended what a program wrote to stdout, and how it ended
 */
export class Part {
  tally = new Tally((line) => this.write(`${line}\n`));
  /** Output that is not shown yet. */
  waiting = "";
  hasEnded = false;

  /**
   * @param {string} title
   * @param {Parts} parts
   */
  constructor(title, parts) {
    this.title = title;
    this.parts = parts;
  }

  /** @param {string} text */
  write(text) {
    this.waiting += text;
    this.parts.flush();
  }

  /**
   * Runs a program and resolves when it ended.
   * @param {string} command
   * @param {string[]} argv
   * @param {{ timeout?: number, title?: string, env?: Record<string, string> }} [options] timeout in seconds, none by default;
   * title: the output is written in one piece under this title when the program ends, not as it comes
   * @returns {Promise<Ended>}
   */
  run(command, argv, { timeout, title, env = {} } = {}) {
    return new Promise((resolve) => {
      const started = this.parts.seconds();
      const child = spawn(command, argv, {
        cwd: this.parts.root,
        env: { ...process.env, ...COLOR, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let [text, output, late] = ["", "", false];
      const timer =
        timeout &&
        setTimeout(() => {
          late = true;
          child.kill("SIGKILL");
        }, timeout * 1000);
      const show = (/** @type {string} */ chunk) => {
        if (title === undefined) this.write(chunk);
        else output += chunk;
      };
      child.stdout.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
        show(chunk);
      });
      child.stderr.setEncoding("utf8").on("data", show);
      child.on("error", (error) => show(`${command}: ${error.message}\n`));
      child.on("close", (status) => {
        clearTimeout(timer);
        if (title !== undefined) this.write(`· ${title} (${this.parts.seconds() - started} s)\n${output}`);
        resolve({ text, status, late });
      });
    });
  }

  /**
   * A check that passes if a program exits with 0. Resolves to whether it did.
   * @param {string} name
   * @param {string} command
   * @param {string[]} argv
   * @param {{ title?: string }} [options] see `run`
   */
  async check(name, command, argv, options) {
    const { status } = await this.run(command, argv, options);
    this.tally.check(name, status === 0 ? "" : `it ended with status ${status} (see above)`);
    return status === 0;
  }

  /**
   * Runs a plain script, whose last line has its counts, and adds them.
   * @param {string} name
   * @param {string} command
   * @param {string[]} argv
   * @param {{ timeout: number, title?: string }} options see `run`; a script that takes longer counts as hanging
   */
  async script(name, command, argv, options) {
    const { status, text, late } = await this.run(command, argv, options);
    const counts = new Tally(() => {});
    const isClosed = counts.add(text);
    this.tally.include(counts);
    if (late) this.tally.check(name, `had not ended by itself after ${options.timeout} s`);
    else if (!isClosed) this.tally.check(name, `ended with status ${status} and no closing line`);
    else if (status !== 0 && counts.failed === 0) this.tally.check(name, `ended with status ${status}`);
  }
}

/** The parts of a run, in the order in which they are shown. */
export class Parts {
  /** @type {Part[]} */
  all = [];

  /**
   * @param {string} root the folder in which programs run
   * @param {(text: string) => void} show
   * @param {() => number} [now] milliseconds
   */
  constructor(root, show, now = Date.now) {
    this.root = root;
    this.show = show;
    this.now = now;
    this.began = now();
  }

  /** Whole seconds since the run began. */
  seconds() {
    return Math.round((this.now() - this.began) / 1000);
  }

  /**
   * Adds a part, which does its work when `begin` is called.
   * @param {string} title
   * @param {(part: Part) => Promise<void>} work
   * @returns {() => Promise<void>} begins the work and resolves when it ended
   */
  add(title, work) {
    const part = new Part(title, this);
    this.all.push(part);
    return async () => {
      const started = this.seconds();
      part.write(`\n── ${title} (from ${started} s)\n`);
      try {
        await work(part);
      } catch (error) {
        part.tally.check(title, error instanceof Error ? `${error.stack}` : String(error));
      }
      part.write(`── ${part.tally} in ${this.seconds() - started} s\n`);
      part.hasEnded = true;
      this.flush();
    };
  }

  /** Shows what may be shown: the output of parts that have ended, up to the first that has not, and what that one has written. */
  flush() {
    for (const part of this.all) {
      if (part.waiting !== "") this.show(part.waiting);
      part.waiting = "";
      if (!part.hasEnded) return;
    }
  }

  /** The counts of all parts. */
  tally() {
    const sum = new Tally(() => {});
    for (const { tally } of this.all) sum.include(tally);
    return sum;
  }
}
