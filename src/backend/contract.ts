/** What a backend is: it says whether it takes a problem, how it would run it, and runs it. */
import type { TypedData } from "../core/dtype.ts";
import type { Operand } from "../core/shape.ts";
import type { Table } from "../masks/expression/expr.ts";
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

/** What the backward pass reads beside its problem: the forward pass's results and the gradient of its output. */
export interface BackwardInputs {
  /** [B, Hq, Nq, dv], as the output. */
  readonly dOutput: Operand;
  readonly output: Operand;
  /** As the forward call gave it. A float32 lse of 10⁴ is off by up to 5e-4, and weights rebuilt from it alone would be too. */
  readonly lse: LseReader;
}

/** Where the gradient of a float mask tensor goes: as `MaskTensor` reads it, with a stride of 0 along axes that were broadcast. */
export interface MaskGradient {
  readonly data: Float64Array;
  readonly base: Float64Array;
  readonly head: number;
  readonly row: number;
  readonly column: number;
}

/** Where gradients go, row-major. Everything is zero at the start; masks, sinks and tables are added to. */
export interface Gradients {
  /** [B, Hq, Nq, dk], float64 in float64 calls. */
  readonly dQuery: Float32Array | Float64Array;
  /** `[B, Hkv, Nk, dk]`: the sum over the query heads of a group. */
  readonly dKey: Float32Array | Float64Array;
  /** [B, Hkv, Nk, dv] */
  readonly dValue: Float32Array | Float64Array;
  /** One for each of `problem.tensors`; undefined for bool masks and where none is wanted. */
  readonly masks: readonly (MaskGradient | undefined)[];
  /** [Hq] */
  readonly sinks?: Float64Array;
  /** By table of the score expression, in the table's own shape: slopes, relative tables, one's own. */
  readonly tables: ReadonlyMap<Table, Float64Array>;
}

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
  /** Why this backend cannot take the backward pass of a problem it takes forward, or undefined where it can. */
  refusesBackward(problem: Problem): string | undefined;
  /** Gradients of Σ output·dOutput. */
  backward(problem: Problem, upstream: BackwardInputs, gradients: Gradients): void;
}
