/** Messages between a page and its worker. */
import type { LabState } from "../fields.ts";

/** A request for the numbers of a page. */
export interface ComputeRequest {
  readonly id: number;
  readonly page: string;
  readonly state: LabState;
}

/** The numbers, or why there are none. */
export interface ComputeReply {
  readonly id: number;
  readonly numbers?: unknown;
  readonly error?: string;
  /** True if a script could not be loaded: this worker will not load it again, another may. */
  readonly unloaded?: boolean;
  /** Progress of long work, 0 to 1; another reply follows. */
  readonly progress?: number;
}

/**
 * What a page's compute.ts exports: numbers from a state. `report` sends intermediate numbers of long work. `prepare` computes in short
 * steps what the next states will need; it is stopped by the next request.
 */
export interface PageComputation<S extends LabState = LabState, N = unknown> {
  compute(state: S, report?: (numbers: N, progress: number) => void): N | Promise<N>;
  prepare?(state: S): Iterable<void>;
}
