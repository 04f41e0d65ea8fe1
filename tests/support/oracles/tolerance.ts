/**
 * Every tolerance of the suite, with its derivation.
 *
 * The reference R is the formula in float64 on the unchanged inputs (16-bit ones widened exactly). u is the unit roundoff of
 * the arithmetic of a call: 2^-24, or 2^-53 for float64. **Bound B**, for element e of row i, hard and untuned:
 *
 *   |O − R| ≤ (dᵢ + c_M·u)·Σⱼ pᵢⱼ|vⱼₑ| + floor
 *   dᵢ = c_D·u·|scale|·maxⱼ Σ_d |q_d·k_jd| + 2·u·maxⱼ |biasᵢⱼ|
 *
 * dᵢ is the error of a score: a sum of D products, rounded at each step, moves by at most (D + 3)·u·Σ|q·k| with
 * the rounding of scale and of the subtraction of the maximum; an error δ of a score moves its weight by the factor 1 + δ,
 * and the sum below the fraction by as much again, hence the 2 in c_D. c_M covers the M products p·v, the sum of
 * p and the exponentials. Worst cases (constant inputs round the same way each time): c_D = 2(D + 3), c_M = M + 16.
 * Random inputs round up as often as down, so sums grow as √: c_D = 2√D + 4, c_M = √M + 6. No factor depends on
 * the case, so none can be tuned until a test passes.
 *
 * A bias is added in one rounding of a number that may be all bias, and it does not average out: if a row has few visible
 * keys, error δⱼ moves the output by Σpⱼδⱼ(vⱼ − o), and Σp|v − o| ≤ 2·Σp|v| is nearly reached by one light
 * key among heavy ones. Hence its 2 (with 1, a large constant bias over few keys broke the bound about once in 7,400 cases).
 *
 * The other terms, each first order in u, with the same factor 2:
 *
 * - **soft cap** c·tanh(s/c): slope ≤ 1, so the error of the input does not grow. The division moves the result by
 *   c·x·sech²x·u ≤ |c·tanh x|·u, tanh is accurate to 6.2 ulp ≤ 12.4·u of its value, the product adds u: together 15·u·|result|.
 * - **ALiBi, tables and other changes**: u for each rounding of the term added, u·|result| for the addition;
 *   a factor on the score multiplies the error of the inputs.
 * - **several additive tensors**: each of the n additions rounds a number of at most Σ|bias|, so n·Σ|bias| is the bias.
 * - **a sink** is one of the scores, so |sink| counts as a bias.
 *
 * Floor: each of the M weights may be below 2^-120 of the largest and then counts as 0, so M·2^-120·max|v|; and M·2^-149 for values so
 * small that products with them leave the normal range. 16-bit outputs are rounded once more, by u₁₆·|R| or half the spacing of subnormals.
 * Where dᵢ > 0.05 (scores of 10⁶ and more, whose last bit has that size) a first-order bound does not apply: the
 * output must then be in the hull of the visible values, |O| ≤ (1 + c_M·u)·max|v|, and lse within dᵢ of its reference.
 */

/** The arithmetic of a call. */
export type Precision = "float32" | "float64";

/** Unit roundoff of the arithmetic. A float64 reference has the error of a float64 result, so twice that. */
export const unit = (precision: Precision): number => (precision === "float64" ? 2 ** -52 : 2 ** -24);

/** Unit roundoff and half the subnormal spacing of the output's dtype, if it is narrower than the arithmetic. */
export const OUTPUT_ROUNDING: Readonly<Record<string, { u: number; least: number }>> = {
  float16: { u: 2 ** -11, least: 2 ** -25 },
  bfloat16: { u: 2 ** -8, least: 2 ** -134 },
};

/** Unit roundoff and half the subnormal spacing of any dtype. */
export const roundingOf = (dtype: string): { u: number; least: number } =>
  OUTPUT_ROUNDING[dtype] ?? { u: dtype === "float64" ? 2 ** -53 : 2 ** -24, least: 0 };

/**
 * Bound of a result of `parts` parts: each part is within its bound, which is at most that of the result, and is rounded to its
 * dtype. `size`: the sum of the parts' absolute values.
 */
export const partsBound = (
  parts: number,
  bound: number,
  { u, least }: { u: number; least: number },
  size: number,
): number => parts * (bound + u * (size + bound) + least);

/** c_D and c_M of Bound B. */
export function constants(D: number, M: number, structured: boolean): { cD: number; cM: number } {
  return structured ? { cD: 2 * (D + 3), cM: M + 16 } : { cD: 2 * Math.sqrt(D) + 4, cM: Math.sqrt(M) + 6 };
}

/** If dᵢ is larger, only the hull of the values bounds the output. */
export const FIRST_ORDER = 0.05;

/** Error a soft cap adds to a score, in units of u. */
export const softcapError = (capped: number): number => 15 * Math.abs(capped);

/** Bound of the error of underflow: in weights, and in products with values near the smallest number. */
export const floorOf = (largest: number, M: number): number => M * (2 ** -120 * largest + 2 ** -149);

/** Bound for lse: the error of its scores, of the sum, and the rounding of itself. */
export const lseBound = (d: number, cM: number, u: number, lse: number): number =>
  d + cM * u + 2 * u * Math.abs(lse);

/** Over a run: ratio of the largest error to that of a textbook float32 computation (Statistic A). */
export const STATISTIC_A = { median: 1.15, p99: 5 };

/** ONNX's own arithmetic: |got − want| ≤ t + t·|want| (../shared/conformance/onnx-attention/README.md). */
export const ONNX_TOLERANCE: Readonly<Record<string, number>> = { F32: 2e-6, F64: 2e-6, F16: 2e-3 };

/** The first bad index of two lists, both values and the worst error in float32 ulps, as a message; undefined if all are within the bound. */
export function difference(
  got: ArrayLike<number>,
  want: ArrayLike<number>,
  tolerance: (i: number) => number,
): string | undefined {
  let first = -1;
  let [worst, worstAt] = [0, -1];
  if (got.length !== want.length) return `${got.length} numbers, expected ${want.length}`;
  for (let i = 0; i < want.length; i++) {
    if (Object.is(got[i], want[i]) || (got[i] === 0 && want[i] === 0)) continue;
    const error = Math.abs(got[i] - want[i]);
    if (error <= tolerance(i)) continue;
    if (first < 0) first = i;
    const ulps = error / Math.max(Math.abs(want[i]) * 2 ** -23, 2 ** -149);
    if (!(ulps <= worst)) [worst, worstAt] = [ulps, i];
  }
  if (first < 0) return undefined;
  return `element ${first}: got ${got[first]}, expected ${want[first]} ± ${tolerance(first)}; worst ${worst.toPrecision(3)} ulp at ${worstAt} (got ${got[worstAt]}, expected ${want[worstAt]} ± ${tolerance(worstAt)})`;
}
