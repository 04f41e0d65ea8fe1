/**
 * Ctrl-C (and SIGTERM, SIGHUP) during work that cannot be interrupted. A synchronous call blocks the event loop, so during a long
 * one the process removes its signal handlers and the system ends it immediately (the shell reports 130); no file is being
 * written then. While a file is being saved, the process ends only after it is complete or removed.
 */
import { type Contents, saveFile } from "../../../io/filesystem/save.ts";

let handler: { readonly on: () => void; readonly off: () => void } | undefined;
let saving = 0;
let ends = false;
let answering = 0;

/** The signals that ask a command to end, with the exit codes that shells give them. */
export const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
export type EndSignal = keyof typeof SIGNALS;

/** Installs the process's handler of these signals, and removes it during blocking work. */
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
  /** Runs synchronous work; during work that may take longer than a second, a signal ends the process immediately. */
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

/** Declares that Ctrl-C is the normal end of the running command, so that the command's exit code applies. */
export function endsByCtrlC(): void {
  ends = true;
}

/** True if Ctrl-C is the normal end of the running command. */
export function isEndedByCtrlC(): boolean {
  return ends;
}

/** True while a file is being saved. */
export function isSaving(): boolean {
  return saving > 0;
}

/** True during work that handles Ctrl-C itself. */
export function isAnswering(): boolean {
  return answering > 0;
}

/** Runs work that handles the signal itself, and may take more than a second to save its state and end. */
export async function answers<T>(work: () => Promise<T>): Promise<T> {
  answering++;
  try {
    return await work();
  } finally {
    answering--;
  }
}

/** `saveFile`, which Ctrl-C does not interrupt. */
export async function save(path: string, contents: Contents): Promise<void> {
  saving++;
  try {
    await saveFile(path, contents);
  } finally {
    saving--;
  }
}
