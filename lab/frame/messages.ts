/** What the page and its worker say to each other. */
import type { State } from "./page.ts";

/** A page's numbers are asked for. */
export interface Ask {
  readonly id: number;
  readonly page: string;
  readonly state: State;
}

/** The numbers, or why there are none. */
export interface Answer {
  readonly id: number;
  readonly numbers?: unknown;
  readonly error?: string;
  /** Of long work: how far it is, 0 to 1. Another answer follows. */
  readonly progress?: number;
}

/** What a page's compute.ts exports: numbers from a state. `tell` hands out what is there of long work. */
export interface Computation<S extends State = State, N = unknown> {
  compute(state: S, tell?: (numbers: N, progress: number) => void): N | Promise<N>;
}
