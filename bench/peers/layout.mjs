/** Layouts the peers want, and the causal pattern as numbers. */

/** [B, A, C, D] to [B, C, A, D]. */
export function swapAxes(x, B, A, C, D) {
  const out = new Float32Array(x.length);
  for (let b = 0; b < B; b++)
    for (let a = 0; a < A; a++)
      for (let c = 0; c < C; c++) {
        const from = ((b * A + a) * C + c) * D;
        out.set(x.subarray(from, from + D), ((b * C + c) * A + a) * D);
      }
  return out;
}

/** What causal attention adds to the scores, [Nq, Nk]: 0 up to the diagonal, −∞ beyond it. */
export function lowerTriangle(Nq, Nk) {
  const mask = new Float32Array(Nq * Nk);
  for (let i = 0; i < Nq; i++)
    if (i + 1 < Nk) mask.fill(Number.NEGATIVE_INFINITY, i * Nk + i + 1, (i + 1) * Nk);
  return mask;
}
