/**
 * How to start a worker and how to get the text of the whole module. Each build provides both (entries/index.ts,
 * entries/single-file.ts): a bundler finds the file of a worker only if its address is a literal.
 */
import type { Port } from "../../src/store/compute/messages.ts";

/** What a build provides. */
export interface Build {
  /** Starts a worker that runs `serveStore`. */
  readonly worker: () => Port;
  /** The text of the single-file module, for one-file pages. */
  readonly module: () => Promise<string>;
}

let provided: Build | undefined;

/** Sets the functions of this build. */
export function provide(build: Build): void {
  provided = build;
}

/** The functions of this build. */
export function build(): Build {
  if (provided === undefined) throw new Error("attention-view: loaded without its module");
  return provided;
}

let ahead: Port | undefined;

/** Starts a worker for the next store: its modules load while the file is read. */
export function startAhead(): void {
  if (ahead !== undefined) return;
  try {
    const port = build().worker();
    ahead = port;
    // One that could not be loaded is no store's.
    port.addEventListener("error", () => {
      if (ahead === port) ahead = undefined;
    });
  } catch {
    // A security policy forbids workers: the store gets the same error, and computes on this thread.
  }
}

/** A worker: the one that was started ahead, or a new one. */
export function takeWorker(): Port {
  const port = ahead ?? build().worker();
  ahead = undefined;
  return port;
}
