/**
 * Computes one problem in pieces, so that progress is real and Ctrl-C is handled between them: one batch entry or one head per
 * call of `scaledDotProductAttention`. The bits are those of one call: positions, tables and masks are sliced
 * (attention-options.ts), and a problem with a plan that depends on its size in a way that would change the bits is computed in
 * one call. Dropout is keyed by batch entry and head, so a problem with dropout is never split.
 */
import { type AttentionResult, attentionWeights, scaledDotProductAttention } from "../../../api/attention.ts";
import { explain } from "../../../api/explain.ts";
import type { Plan } from "../../../backend/plan/plan.ts";
import { type Problem, resolve } from "../../../backend/problem.ts";
import { zeros } from "../../../core/create/construct.ts";
import type { FloatDType, TypedData } from "../../../core/dtype.ts";
import { outputShape, rowShape } from "../../../core/shape.ts";
import { Tensor } from "../../../core/tensor.ts";
import { breathe } from "../line/command.ts";
import { runBlocking } from "../output/interrupt.ts";
import { type Call, optionsOf, type Piece, pieceOptions } from "./attention-options.ts";

/** A problem to compute. */
export interface Job {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly call: Call;
  readonly problem: Problem;
  /** The weights to compute as well. */
  readonly weights?: true | { readonly heads?: readonly number[]; readonly rows?: readonly number[] };
}

/** The result, and how it was computed. */
export interface Done extends AttentionResult {
  readonly plan: Plan;
  /** Calls of `scaledDotProductAttention` it took. */
  readonly pieces: number;
  /** Seconds spent computing. */
  readonly seconds: number;
}

/** Work of a problem, masks not counted: 2·B·H·Nq·Nk·(dk + dv). */
export function flopsOf({ shape: { B, Hq, Nq, Nk, dk, dv } }: Pick<Problem, "shape">): number {
  return 2 * B * Hq * Nq * Nk * (dk + dv);
}

/** A rough upper limit of the seconds that work takes, from slow machines at the plan's level. */
export function guessSeconds(flops: number, { backend }: Pick<Plan, "backend">): number {
  return flops / (backend === "reference" ? 2e8 : 1e10);
}

/** Minimum work to split a problem: some tenths of a second at the level's speed. */
function worthCutting(plan: Plan): number {
  return plan.backend === "reference" ? 5e7 : 2e10;
}

/** Reads the shapes and checks every option. Throws before any work. */
export function problemOf(what: string, query: Tensor, key: Tensor, value: Tensor, call: Call): Problem {
  const { shape } = resolve(what, query, key, value, { layout: call.layout });
  return resolve(what, query, key, value, optionsOf(call, shape));
}

/**
 * Computes a job.
 *
 * @param tell called with the share done, from 0 to 1, after each piece
 * @param least minimum work to split the problem; default by level
 */
export async function compute(
  job: Job,
  signal: AbortSignal,
  tell: (share: number) => void = () => {},
  least?: number,
): Promise<Done> {
  const { query, key, value, call, problem, weights } = job;
  const { shape } = problem;
  const options = optionsOf(call, shape);
  const plan: Plan = { ...explain(query, key, value, options) };
  const pieces = cut(problem, call, plan, least ?? worthCutting(plan));
  let seconds = 0;
  const calls = Math.max(1, pieces.length);
  const timed = <T>(work: () => T): T => {
    const start = performance.now();
    try {
      return runBlocking(guessSeconds(flopsOf(problem) / calls, plan), work);
    } finally {
      seconds += (performance.now() - start) / 1e3;
    }
  };
  await breathe(signal);
  let result: AttentionResult;
  if (pieces.length <= 1) result = timed(() => scaledDotProductAttention(query, key, value, options));
  else {
    const output = zerosLike(problem);
    const lse = zeros(rowShape(shape), problem.dtype === "float64" ? "float64" : "float32");
    for (const [n, piece] of pieces.entries()) {
      const part = timed(() =>
        scaledDotProductAttention(...viewsOf(problem, piece), pieceOptions(call, problem, piece)),
      );
      place(part, problem, piece, output, lse);
      tell((n + 1) / pieces.length);
      await breathe(signal);
    }
    result = { output, lse };
  }
  if (weights !== undefined) {
    const chosen = weights === true ? {} : weights;
    const all = timed(() => attentionWeights(query, key, result.lse, { ...options, ...chosen }));
    result = { ...result, weights: all };
  }
  return { ...result, plan, pieces: calls, seconds };
}

/** The pieces of a problem; none or one if it is computed in one call. */
function cut(problem: Problem, call: Call, plan: Plan, least: number): Piece[] {
  const { B, Hq } = problem.shape;
  const flops = flopsOf(problem);
  if (problem.dropoutP > 0 || B * Hq <= 1 || flops < least) return [];
  const splitsBatch = B > 1 && flops / B < least;
  const pieces: Piece[] = [];
  for (let b = 0; b < B; b++)
    if (splitsBatch) pieces.push({ b, first: 0, end: Hq });
    else for (let h = 0; h < Hq; h++) pieces.push({ b, first: h, end: h + 1 });
  // Other splits of the keys, or other tile sizes, would add partial sums in another order.
  const piecePlan = explain(...viewsOf(problem, pieces[0]), pieceOptions(call, problem, pieces[0]));
  const same = (["backend", "simd", "splits", "keyTile"] as const).every(
    (name) => piecePlan[name] === plan[name],
  );
  return same ? pieces : [];
}

/** Query, key and value of a piece, [1, heads, N, d], as views. */
function viewsOf({ shape }: Problem, { b, first, end }: Piece): [Tensor, Tensor, Tensor] {
  const { query, key, value, G, Nq, Nk, dk, dv } = shape;
  const [kvFirst, kvEnd] = [Math.floor(first / G), Math.floor((end - 1) / G) + 1];
  const view = (o: typeof query, from: number, to: number, N: number, d: number) =>
    new Tensor(
      o.tensor.data,
      [1, to - from, N, d],
      o.tensor.dtype,
      [0, o.head, o.row, o.column],
      o.base[b] + from * o.head,
    );
  return [
    view(query, first, end, Nq, dk),
    view(key, kvFirst, kvEnd, Nk, dk),
    view(value, kvFirst, kvEnd, Nk, dv),
  ];
}

/** The whole output, zeros in the query's dtype. */
function zerosLike(problem: Problem): Tensor<FloatDType> {
  return zeros(outputShape(problem.shape), problem.dtype);
}

/** Copies the results of a piece into the whole. */
function place(
  part: AttentionResult,
  problem: Problem,
  { b, first, end }: Piece,
  output: Tensor,
  lse: Tensor,
): void {
  const { Hq, Nq, dv, layout } = problem.shape;
  const [from, to] = [part.output.data, output.data] as [TypedData, Float32Array];
  for (let h = first; h < end; h++)
    if (layout === "bhsd") {
      const start = (h - first) * Nq * dv;
      to.set(from.subarray(start, start + Nq * dv) as Float32Array, (b * Hq + h) * Nq * dv);
    } else
      for (let row = 0; row < Nq; row++) {
        const start = ((h - first) * Nq + row) * dv;
        to.set(from.subarray(start, start + dv) as Float32Array, ((b * Nq + row) * Hq + h) * dv);
      }
  (lse.data as Float32Array).set(part.lse.data as Float32Array, (b * Hq + first) * Nq);
}
