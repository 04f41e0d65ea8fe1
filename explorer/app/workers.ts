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
