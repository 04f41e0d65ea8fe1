/**
 * The size of softmax's derivative at a row of weights: ‖J‖ with J = diag(p) − p·pᵀ.
 *
 * ‖J‖² = Σ pᵢ²·(Σ_{j≠i} pⱼ)² + Σ_{i≠j} pᵢ²·pⱼ². The shorter closed form Σp² − 2Σp³ + (Σp²)² subtracts numbers that are nearly
 * equal and gives exactly 0 for most saturated rows. Sums of "all but i" are a running sum from the left plus one from
 * the right, so nothing is subtracted here.
 */
export function jacobianNorm(p: ArrayLike<number>): number {
  const n = p.length;
  const right = new Float64Array(n + 1);
  const rightSquares = new Float64Array(n + 1);
  for (let i = n - 1; i >= 0; i--) {
    right[i] = right[i + 1] + p[i];
    rightSquares[i] = rightSquares[i + 1] + p[i] * p[i];
  }
  let [left, leftSquares, sum] = [0, 0, 0];
  for (let i = 0; i < n; i++) {
    const square = p[i] * p[i];
    const others = left + right[i + 1];
    sum += square * others * others + square * (leftSquares + rightSquares[i + 1]);
    left += p[i];
    leftSquares += square;
  }
  return Math.sqrt(sum);
}
