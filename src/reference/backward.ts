/**
 * Gradients of attention, one head, in float64: the formula of `forward.ts` run backwards.
 *
 * Given dO = ∂L/∂O of a loss L, backwards through O = P·V, P = softmax(S), S = Q·Kᵀ·scale:
 *
 *   dV = Pᵀ·dO      dP = dO·Vᵀ      dS = P ∘ (dP − δ),  δ = rowsum(P ∘ dP) = rowsum(O ∘ dO)
 *   dQ = scale·dS·K      dK = scale·dSᵀ·Q
 *
 * dS is the softmax: the derivative of pⱼ with respect to its own score is pⱼ·(1 − pⱼ), with respect to another score sᵢ it is
 * −pⱼ·pᵢ; summed over the row that is P ∘ (dP − δ). δ needs only the output, so kernels (Dao et al. 2022) rebuild P from lse
 * one tile at a time and never store it. docs/06-gradients.md derives it step by step.
 */
import { checkCount, formatValue, ShapeError } from "../core/errors.ts";
import type { FormulaOptions, FormulaSizes, Forward } from "./forward.ts";
import { checkInputs, forward, OPTIONS, scaleOf } from "./forward.ts";

/** Options of `forward`, and the derivative of its score mod. */
export interface FormulaBackwardOptions extends FormulaOptions {
  /** Derivative f′(s) of `score` with respect to its argument. Required with `score`. Default: 1. */
  readonly slope?: (s: number, i: number, j: number) => number;
}

/** All gradients that the formula computes. */
export interface Backward {
  /** [Nq, dk] */
  readonly dQuery: Float64Array;
  /** [Nk, dk] */
  readonly dKey: Float64Array;
  /** [Nk, dv] */
  readonly dValue: Float64Array;
  /** `[Nq, Nk]`: the gradient of the scores after all changes, and so of anything that was added to them. */
  readonly dScores: Float64Array;
}

/**
 * Gradients of Σ output·dOutput of one head.
 *
 * @param dOutput [Nq, dv]
 * @param q       [Nq, dk], as in `forward`; k [Nk, dk], v [Nk, dv]
 * @throws ShapeError where the length of an array does not match the sizes
 *
 * @example
 * const sizes = { Nq: 1, Nk: 1, dk: 1, dv: 1 };
 * const one = Float64Array.of(1);
 * Array.from(backward(one, one, one, one, sizes).dValue); // → [1]
 */
export function backward(
  dOutput: Float64Array,
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  sizes: FormulaSizes,
  options: FormulaBackwardOptions = {},
): Backward {
  checkCount("backward", arguments, 6);
  checkInputs("backward", q, k, v, sizes, options, [...OPTIONS, "slope"]);
  const { Nq, Nk, dk, dv } = sizes;
  if (!ArrayBuffer.isView(dOutput) || dOutput.length !== Nq * dv)
    throw new ShapeError(
      "sizes",
      `backward: dOutput must hold Nq × dv = ${Nq * dv} numbers, got ${formatValue(dOutput)}`,
      { name: "dOutput", length: Nq * dv },
    );
  const { slope, ...same } = options;
  const { scale = scaleOf(dk) } = same;
  const { weights }: Forward = forward(q, k, v, sizes, same);
  const dQuery = new Float64Array(Nq * dk);
  const dKey = new Float64Array(Nk * dk);
  const dValue = new Float64Array(Nk * dv);
  const dScores = new Float64Array(Nq * Nk);
  const dp = new Float64Array(Nk);

  for (let i = 0; i < Nq; i++) {
    const p = weights.subarray(i * Nk, (i + 1) * Nk);
    const dO = dOutput.subarray(i * dv, (i + 1) * dv);

    // 1. Through o = Σ p·v: dv = p·dO for each value, dp = dO·v for each weight.
    let delta = 0;
    for (let j = 0; j < Nk; j++) {
      dp[j] = 0;
      if (p[j] === 0) continue; // a masked value is not read
      for (let e = 0; e < dv; e++) {
        dp[j] += dO[e] * v[j * dv + e];
        dValue[j * dv + e] += p[j] * dO[e];
      }
      delta += p[j] * dp[j];
    }

    // 2. Through the softmax: ds = p·(dp − δ), where δ is the average of dp over the row.
    // 3. Through s = q·k·scale (and a change of the score: times its derivative).
    for (let j = 0; j < Nk; j++) {
      if (p[j] === 0) continue;
      let ds = p[j] * (dp[j] - delta);
      dScores[i * Nk + j] = ds;
      if (slope) {
        let dot = 0;
        for (let d = 0; d < dk; d++) dot += q[i * dk + d] * k[j * dk + d];
        ds *= slope(dot * scale, i, j);
      }
      for (let d = 0; d < dk; d++) {
        dQuery[i * dk + d] += ds * scale * k[j * dk + d];
        dKey[j * dk + d] += ds * scale * q[i * dk + d];
      }
    }
  }
  return { dQuery, dKey, dValue, dScores };
}
