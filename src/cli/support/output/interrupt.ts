/**
 * Ctrl-C (and SIGTERM, SIGHUP) around work that cannot be asked to stop. A synchronous call keeps the event loop from seeing the signal, so
 * while a long one runs the process has no handler of its own and the system ends it at once (the shell reports 130);
 * no file is being written then. While a file is being saved the signal waits until it is whole or gone.
 */
import { type Contents, saveFile } from "../../../io/save.ts";

let handler: { readonly on: () => void; readonly off: () => void } | undefined;
let saving = 0;
let ends = false;
let answering = 0;

/** The signals that ask a command to end, with the exit codes that shells give them. */
export const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
export type EndSignal = keyof typeof SIGNALS;

/** The process's handler of these signals, and the way to take it away for a moment. */
export const whileBlocking = {
  /** Installs the handler for SIGINT (Ctrl-C), SIGTERM, and SIGHUP (the terminal was closed; Node hears it under `nohup` too). */
  listen(interrupt: (signal: EndSignal) => void): void {
    const signals = Object.keys(SIGNALS) as EndSignal[];
    handler = {
      on: () => {
        for (const signal of signals) process.on(signal, interrupt);
      },
      off: () => {
        for (const signal of signals) process.off(signal, interrupt);
      },
    };
    handler.on();
  },
  /** Runs synchronous work; where it may take longer than a second, a signal ends the process at once meanwhile. */
  run<T>(seconds: number, work: () => T): T {
    if (handler === undefined || seconds < 1) return work();
    handler.off();
    try {
      return work();
    } finally {
      handler.on();
    }
  },
};

/** Says that Ctrl-C is how the running command ends: it is no interruption, and the command's own exit code counts. */
export function endsByCtrlC(): void {
  ends = true;
}

/** True where Ctrl-C is how the running command ends. */
export function isEndedByCtrlC(): boolean {
  return ends;
}

/** True while a file is being saved. */
export function isSaving(): boolean {
  return saving > 0;
}

/** True while work goes on that answers Ctrl-C itself. */
export function isAnswering(): boolean {
  return answering > 0;
}

/** Runs work that looks at the signal and ends in its own time, be it after more than a second: it has something to save. */
export async function answers<T>(work: () => Promise<T>): Promise<T> {
  answering++;
  try {
    return await work();
  } finally {
    answering--;
  }
}

/** `saveFile`, which Ctrl-C does not tear. */
export async function save(path: string, contents: Contents): Promise<void> {
  saving++;
  try {
    await saveFile(path, contents);
  } finally {
    saving--;
  }
}
