/**
 * Attention as in the paper, one head, three loops in float64. Start reading here.
 *
 *   Attention(Q, K, V) = softmax(Q·Kᵀ / √dk)·V        (Vaswani et al. 2017, equation 1)
 *
 * The letters are those of every other file: s the scores, m their maximum, l the sum of exponentials, p the
 * weights, o the output. It stores all Nq × Nk weights, to show them; `online.ts` does not. This is the obvious version.
 * `src/rows` is the same formula for every option, one row in memory: it is tested against this page, and float64 calls and all
 * pictures compute with it.
 */
import { checkCount, formatValue, refuseValue, ShapeError } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";

/** Lengths: Nq queries and Nk keys of dk numbers each, Nk values of dv numbers. */
export interface FormulaSizes {
  readonly Nq: number;
  readonly Nk: number;
  readonly dk: number;
  readonly dv: number;
}

/** Options of the formula. */
export interface FormulaOptions {
  /** Multiplies q·k. Default 1/√dk. */
  readonly scale?: number;
  /** True where query i attends to key j; other keys are not read. Default: all. */
  readonly allowed?: (i: number, j: number) => boolean;
  /** Changes the score after scaling: a cap, a bias, a penalty on distance. Default: no change. */
  readonly score?: (s: number, i: number, j: number) => number;
}

/** Names of `FormulaOptions`. */
export const OPTIONS: readonly string[] = ["scale", "allowed", "score"];

/** Everything that the formula computes. */
export interface Forward {
  /** [Nq, dv] */
  readonly output: Float64Array;
  /** `[Nq, Nk]`: each row sums to 1, or is 0 where a query is fully masked. */
  readonly weights: Float64Array;
  /** `[Nq]`: log Σ exp(s), −∞ where a query is fully masked. Any weight is exp(s − lse). */
  readonly lse: Float64Array;
}

/**
 * softmax(q·kᵀ·scale)·v of one head.
 *
 * @param q [Nq, dk], row after row
 * @param k [Nk, dk]
 * @param v [Nk, dv]
 *
 * @example
 * const sizes = { Nq: 1, Nk: 2, dk: 1, dv: 1 };
 * const { output, weights } = forward(Float64Array.of(0), Float64Array.of(1, 2), Float64Array.of(3, 5), sizes);
 * Array.from(output); // → [4]
 */
export function forward(
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  sizes: FormulaSizes,
  options: FormulaOptions = {},
): Forward {
  checkCount("forward", arguments, 5);
  checkInputs("forward", q, k, v, sizes, options);
  const { Nq, Nk, dk, dv } = sizes;
  const { scale = scaleOf(dk), allowed, score } = options;
  const weights = new Float64Array(Nq * Nk);
  const output = new Float64Array(Nq * dv);
  const lse = new Float64Array(Nq).fill(-Infinity);
  const s = new Float64Array(Nk);

  for (let i = 0; i < Nq; i++) {
    const p = weights.subarray(i * Nk, (i + 1) * Nk);
    const o = output.subarray(i * dv, (i + 1) * dv);

    // 1. How well does query i match each key?  s = q·k·scale, and m is the largest score.
    let m = -Infinity;
    for (let j = 0; j < Nk; j++) {
      s[j] = -Infinity;
      if (allowed && !allowed(i, j)) continue;
      let dot = 0;
      for (let d = 0; d < dk; d++) dot += q[i * dk + d] * k[j * dk + d];
      s[j] = score ? score(dot * scale, i, j) : dot * scale;
      if (s[j] > m) m = s[j];
    }

    // 2. Softmax: p = exp(s − m) / l. Without − m a score of 710 overflows; with it the largest exponential is 1.
    let l = 0;
    for (let j = 0; j < Nk; j++) {
      // −∞ means masked (and −∞ − m would be NaN where m is −∞ too: a fully masked row).
      p[j] = s[j] === -Infinity ? 0 : Math.exp(s[j] - m);
      l += p[j];
    }
    if (l === 0) continue; // a fully masked row: weights and output 0, lse −∞
    for (let j = 0; j < Nk; j++) p[j] /= l;
    lse[i] = m + Math.log(l);

    // 3. The output is the average of the values, weighted by p.
    for (let j = 0; j < Nk; j++) {
      if (s[j] === -Infinity) continue; // a masked value is not read: 0·NaN would be NaN
      for (let e = 0; e < dv; e++) o[e] += p[j] * v[j * dv + e];
    }
  }
  return { output, weights, lse };
}

/** 1/√dk: keeps the variance of a dot product of dk unit-variance products at 1. Nothing to scale where dk is 0. */
export function scaleOf(dk: number): number {
  return dk === 0 ? 1 : 1 / Math.sqrt(dk);
}

/** Throws where an option is unknown, or the length of an array does not match the sizes. */
export function checkInputs(
  what: string,
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  sizes: FormulaSizes,
  options: FormulaOptions,
  names: readonly string[] = OPTIONS,
): void {
  checkNames(what, options, names, (name) => (/mask|causal/.test(name) ? "allowed" : undefined));
  if (sizes === null || typeof sizes !== "object")
    throw new ShapeError("sizes", `${what}: sizes must be { Nq, Nk, dk, dv }, got ${formatValue(sizes)}`, {
      got: sizes,
    });
  checkNames(`${what}: sizes`, sizes, ["Nq", "Nk", "dk", "dv"]);
  const { Nq, Nk, dk, dv } = sizes;
  for (const [name, n] of Object.entries({ Nq, Nk, dk, dv }))
    if (!(Number.isSafeInteger(n) && n >= 0))
      throw new ShapeError("sizes", `${what}: ${name} must be an integer ≥ 0, got ${formatValue(n)}`, {
        got: n,
      });
  for (const name of ["allowed", "score"] as const)
    if (options[name] !== undefined && typeof options[name] !== "function")
      refuseValue(
        what,
        name,
        `a function of positions, ${name === "score" ? "(s, i, j) => s" : "(i, j) => j <= i"}`,
        options[name],
      );
  // A function without return, or an async one, would mask all keys or none.
  const isAllowed = Nq * Nk > 0 ? options.allowed?.(0, 0) : undefined;
  if (options.allowed && Nq * Nk > 0 && typeof isAllowed !== "boolean")
    refuseValue(what, "allowed", "a function that returns true or false", isAllowed);
  // A score is asked for only where the query attends to the key.
  if (options.score && Nq * Nk > 0 && isAllowed !== false) {
    const score = options.score(0, 0, 0);
    if (typeof score !== "number") refuseValue(what, "score", "a function that returns a number", score);
  }
  if (options.scale !== undefined && !Number.isFinite(options.scale))
    refuseValue(what, "scale", "a number", options.scale);
  const want = [
    ["q", q, "Nq × dk", Nq * dk],
    ["k", k, "Nk × dk", Nk * dk],
    ["v", v, "Nk × dv", Nk * dv],
  ] as const;
  for (const [name, array, rule, length] of want)
    if (!ArrayBuffer.isView(array) || array.length !== length)
      throw new ShapeError(
        "sizes",
        `${what}: ${name} must hold ${rule} = ${length} numbers, got ${formatValue(array)}`,
        { name, length },
      );
}
