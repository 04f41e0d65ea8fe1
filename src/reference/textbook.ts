/**
 * Attention as it is often written, and how each shortcut fails: the loops of `forward.ts` with one line changed,
 * marked `←`. For comparison and for learning; nothing in heed computes with them.
 */
import { checkCount } from "../core/errors.ts";
import { checkInputs, type FormulaOptions, type FormulaSizes, type Forward, scaleOf } from "./forward.ts";

/**
 * Without the 1/√dk: softmax(Q·Kᵀ)·V.
 *
 * A dot product of dk products of unit variance has variance dk, so scores spread as √dk (8 at dk = 64). Softmax of
 * such scores puts nearly all weight on one key, and the gradient through it, p·(1 − p), vanishes. At dk = 1 nothing changes. Vaswani et al. 2017, section 3.2.1, footnote 4.
 *
 * @example
 * const sizes = { Nq: 1, Nk: 2, dk: 2, dv: 1 };
 * const [q, k, v] = [Float64Array.of(1, 1), Float64Array.of(1, 1, 2, 2), Float64Array.of(3, 5)];
 * unscaled(q, k, v, sizes).weights[1] > forward(q, k, v, sizes).weights[1]; // → true
 */
export function unscaled(
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  sizes: FormulaSizes,
  options: Omit<FormulaOptions, "scale"> = {},
): Forward {
  checkCount("unscaled", arguments, 5);
  checkInputs("unscaled", q, k, v, sizes, options, ["allowed", "score"]);
  return threeLoops(q, k, v, sizes, { ...options, scale: 1 }); // ← not 1/√dk
}

/**
 * Masked scores set to −1e9 instead of −∞.
 *
 * It fails in three ways. A fully masked row has all scores at −1e9: softmax gives 1/Nk each, so the output is the mean of
 * all masked values instead of 0. Real scores below −1e9 lose to the masked ones. And a masked key or value is still
 * read: NaN in padding makes 0·NaN = NaN of the whole row. (In float16, −1e9 is not even a number: it is −∞.)
 *
 * @example
 * const sizes = { Nq: 1, Nk: 2, dk: 1, dv: 1 };
 * const [q, k, v] = [Float64Array.of(1), Float64Array.of(1, 2), Float64Array.of(3, 5)];
 * finiteMask(q, k, v, sizes, { allowed: () => false }).output; // → [4]
 * forward(q, k, v, sizes, { allowed: () => false }).output; // → [0]
 */
export function finiteMask(
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  sizes: FormulaSizes,
  options: FormulaOptions = {},
): Forward {
  checkCount("finiteMask", arguments, 5);
  checkInputs("finiteMask", q, k, v, sizes, options);
  return threeLoops(q, k, v, sizes, options, -1e9); // ← not −∞
}

/**
 * Softmax without subtracting the maximum: exp(s) / Σ exp(s).
 *
 * Mathematically equal, since exp(−m) cancels. But exp overflows above 709.78 in float64, 88.72 in float32 and 11.09 in
 * float16, and ∞/∞ is NaN; below −745 (−103, −17) every exponential is 0 and the row is 0/0.
 *
 * @example
 * const sizes = { Nq: 1, Nk: 2, dk: 1, dv: 1 };
 * const { output } = withoutMaximum(Float64Array.of(1), Float64Array.of(1000, 2), Float64Array.of(3, 5), sizes);
 * Number.isNaN(output[0]); // → true
 */
export function withoutMaximum(
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  sizes: FormulaSizes,
  options: FormulaOptions = {},
): Forward {
  checkCount("withoutMaximum", arguments, 5);
  checkInputs("withoutMaximum", q, k, v, sizes, options);
  return threeLoops(q, k, v, sizes, options, -Infinity, () => 0); // ← exp(s), not exp(s − m)
}

/** The largest score of a row. */
const maximumOf = (s: Float64Array): number => s.reduce((a, b) => Math.max(a, b), -Infinity);

/** Scores, softmax, average: the textbook's matrices; masked keys and values are read too. `masked` is the score of a masked cell. */
function threeLoops(
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  { Nq, Nk, dk, dv }: FormulaSizes,
  { scale = scaleOf(dk), allowed, score }: FormulaOptions,
  masked = -Infinity,
  subtracted = maximumOf,
): Forward {
  const weights = new Float64Array(Nq * Nk);
  const output = new Float64Array(Nq * dv);
  const lse = new Float64Array(Nq);
  for (let i = 0; i < Nq; i++) {
    const p = weights.subarray(i * Nk, (i + 1) * Nk);
    for (let j = 0; j < Nk; j++) {
      let dot = 0;
      for (let d = 0; d < dk; d++) dot += q[i * dk + d] * k[j * dk + d];
      const s = score ? score(dot * scale, i, j) : dot * scale;
      p[j] = allowed && !allowed(i, j) ? masked : s;
    }
    const m = subtracted(p);
    let l = 0;
    for (let j = 0; j < Nk; j++) l += p[j] = Math.exp(p[j] - m);
    for (let j = 0; j < Nk; j++) p[j] /= l;
    lse[i] = m + Math.log(l);
    for (let j = 0; j < Nk; j++) for (let e = 0; e < dv; e++) output[i * dv + e] += p[j] * v[j * dv + e];
  }
  return { output, weights, lse };
}
