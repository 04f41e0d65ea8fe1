/**
 * Ctrl-C (and SIGTERM, SIGHUP): the first signal asks the command to stop; a second signal, or one second without an answer, ends
 * the process. During work that cannot be interrupted (a synchronous call blocks the event loop) the process removes its signal
 * handlers, and the system ends it immediately (the shell reports 130); no file is being written then. While a file is being
 * saved, the process ends only after it is complete or removed; training saves a checkpoint first.
 */
import { type Contents, saveFile } from "../../../io/filesystem/save.ts";

/** The signals that ask a command to end, with the exit codes that shells give them. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type EndSignal = keyof typeof SIGNALS;

/** What the handler of this process's signals must know. */
class Interrupts {
  #handler: ((signal: EndSignal) => void) | undefined;
  /** Exit code of the latest signal. */
  #code: number = SIGNALS.SIGINT;
  /** Files that are being saved, and pieces of work that handle a signal themselves. */
  #saving = 0;
  #answering = 0;
  /** True if Ctrl-C is the normal end of the running command, so that the command's exit code applies. */
  isNormalEnd = false;

  /** Installs the handler for SIGINT (Ctrl-C), SIGTERM, and SIGHUP (the terminal was closed; Node hears it under `nohup` too). */
  listen(stop: AbortController): void {
    this.#handler = (signal) => {
      if (stop.signal.aborted && this.#saving === 0) process.exit(SIGNALS[signal]);
      this.#code = SIGNALS[signal];
      stop.abort();
      setTimeout(() => {
        if (this.#saving === 0 && this.#answering === 0) process.exit(this.#code);
      }, 1000).unref();
    };
    this.#install(true);
  }

  /** The exit code of the process after a command that returned `code`. */
  exitCode(code: number, stopped: boolean): number {
    return stopped && !this.isNormalEnd ? this.#code : code;
  }

  /** Runs work without the handler. */
  unhandled<T>(work: () => T): T {
    this.#install(false);
    try {
      return work();
    } finally {
      this.#install(true);
    }
  }

  async saving<T>(work: () => Promise<T>): Promise<T> {
    this.#saving++;
    try {
      return await work();
    } finally {
      this.#saving--;
    }
  }

  async answering<T>(work: () => Promise<T>): Promise<T> {
    this.#answering++;
    try {
      return await work();
    } finally {
      this.#answering--;
    }
  }

  #install(on: boolean): void {
    if (this.#handler === undefined) return;
    for (const signal of Object.keys(SIGNALS)) process[on ? "on" : "off"](signal, this.#handler);
  }
}

const interrupts = new Interrupts();

/** Makes the signals abort `stop`. */
export function listenToSignals(stop: AbortController): void {
  interrupts.listen(stop);
}

/** The exit code of the process: that of the command, or of the signal that stopped it. */
export function exitCodeAfter(code: number, stopped: boolean): number {
  return interrupts.exitCode(code, stopped);
}

/** Runs synchronous work; during work that may take longer than a second, a signal ends the process immediately. */
export function runBlocking<T>(seconds: number, work: () => T): T {
  return seconds < 1 ? work() : interrupts.unhandled(work);
}

/** Declares that Ctrl-C is the normal end of the running command, so that the command's exit code applies. */
export function endsByCtrlC(): void {
  interrupts.isNormalEnd = true;
}

/** Runs work that handles the signal itself, and may take more than a second to save its state and end. */
export async function answers<T>(work: () => Promise<T>): Promise<T> {
  return interrupts.answering(work);
}

/** Runs work that saves files, which Ctrl-C does not interrupt. */
export const saving = <T>(work: () => Promise<T>): Promise<T> => interrupts.saving(work);

/** `saveFile`, which Ctrl-C does not interrupt. */
export const save = (path: string, contents: Contents): Promise<void> =>
  saving(() => saveFile(path, contents));
