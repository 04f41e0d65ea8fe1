/**
 * The size of softmax's derivative at a row of weights: ‖J‖ with J = diag(p) − p·pᵀ.
 *
 * ‖J‖² = Σ pᵢ²·(Σ_{j≠i} pⱼ)² + Σ_{i≠j} pᵢ²·pⱼ². The shorter closed form Σp² − 2Σp³ + (Σp²)² subtracts numbers that are nearly
 * equal and gives exactly 0 for most saturated rows. Here the sums without the largest weight are added up as they are; for every
 * other weight, at most half of the row, "all but i" may be the sum less that weight.
 */
export function jacobianNorm(p: ArrayLike<number>): number {
  const n = p.length;
  let top = 0;
  for (let i = 1; i < n; i++) if (p[i] > p[top]) top = i;
  let [rest, restSquares] = [0, 0];
  for (let i = 0; i < n; i++)
    if (i !== top) {
      rest += p[i];
      restSquares += p[i] * p[i];
    }
  const [all, allSquares] = [p[top] + rest, p[top] * p[top] + restSquares];
  let sum = p[top] * p[top] * (rest * rest + restSquares);
  for (let i = 0; i < n; i++)
    if (i !== top) {
      const square = p[i] * p[i];
      sum += square * ((all - p[i]) * (all - p[i]) + (allSquares - square));
    }
  return Math.sqrt(sum);
}
