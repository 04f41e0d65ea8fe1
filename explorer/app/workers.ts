/**
 * Where long work is done, and where the whole module is found: each build says it for itself (index.ts, whole.ts), since a
 * bundler finds a worker's file only where its address is written out.
 */
import type { Port } from "../../src/store/compute/messages.ts";

/** What a build provides. */
export interface Build {
  /** Starts a worker that runs `serveStore`. */
  readonly worker: () => Port;
  /** The text of the module that holds everything, for one-file pages. */
  readonly module: () => Promise<string>;
}

let provided: Build | undefined;

/** Says how this build does it. */
export function provide(build: Build): void {
  provided = build;
}

/** How this build does it. */
export function build(): Build {
  if (provided === undefined) throw new Error("attention-view: loaded without its module");
  return provided;
}
