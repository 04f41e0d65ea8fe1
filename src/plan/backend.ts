/** What a backend is: it says whether it takes a problem, how it would run it, and runs it. */
import type { TypedData } from "../core/dtype.ts";
import type { Plan } from "./plan.ts";
import type { Problem } from "./problem.ts";

/** Where results go: element e of row n, head h, batch b is output[b·batch + h·head + n·row + e]; lse is [B, Hq, Nq]. */
export interface Result {
  readonly output: TypedData;
  readonly batch: number;
  readonly head: number;
  readonly row: number;
  readonly lse: Float32Array | Float64Array;
}

/** The log-sum-exp of a row. */
export type LseReader = (b: number, h: number, row: number) => number;

/** One way to run attention. */
export interface Backend {
  readonly name: "wasm" | "reference";
  /** Why this backend cannot take the problem, in words, or undefined where it can. */
  refuses(problem: Problem): string | undefined;
  /** What it would do. */
  plan(problem: Problem): Plan;
  /** Fills the output and lse. */
  forward(problem: Problem, out: Result): void;
  /** Fills `out` [B, heads, rows, Nk] with weights rebuilt from lse. */
  weights(
    problem: Problem,
    lse: LseReader,
    heads: readonly number[],
    rows: readonly number[],
    out: TypedData,
  ): void;
}
