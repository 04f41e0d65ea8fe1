/**
 * The backward pass of a complete problem in float64: every option, one row of scores at a time, in memory linear in Nk.
 * `backward.ts` is the formula alone; this file adds heads, groups, masks, dropout and tables.
 *
 *   δ = Σ p·dp = o·do       ds = p ∘ (dp − δ)       dq = scale·Σ ds·k       dk = scale·Σ ds·q       dv = Σ p·do
 *
 * (Dao 2023, FlashAttention-2, algorithm 2.) With a score mod s′ = f(s), ds is multiplied by f′(s), and the gradient of a
 * table entry that f reads is ds·∂f; with dropout, p and dp are multiplied by the factor of the cell. A sink is one more score
 * without a value: its dp is 0. A fully masked row adds nothing to any gradient.
 */

import type { BackwardInputs, Gradients, SlicedPart } from "../backend/contract.ts";
import { computeGradients } from "../backend/gradients.ts";
import type { Problem } from "../backend/problem.ts";
import { computeAll } from "../backend/results.ts";
import { derivative } from "../masks/expression/derivative.ts";
import { type Cell, compile, compileIndex } from "../masks/expression/js.ts";
import { rowsOf, rowWeights, vectorsOf } from "../rows/problem-rows.ts";
import { SLICE_OPERATIONS } from "./problem-forward.ts";

/** Fills the gradients of Σ output·dOutput, some rows at a time. */
function* backward(
  problem: Problem,
  upstream: BackwardInputs,
  gradients: Gradients,
): Generator<number, void> {
  const { B, Hq, Hkv, G, Nq, Nk, dk, dv, query, key, value } = problem.shape;
  const rows = rowsOf(problem);
  const change = changeOf(problem, gradients);
  const [q, k, v] = [query, key, value].map(vectorsOf);
  const dOut = vectorsOf(upstream.dOutput);
  const out = vectorsOf(upstream.output);
  const [qi, kj, doi, oi] = [dk, dk, dv, dv].map((n) => new Float64Array(n));
  const vj = new Float64Array(dv);
  const [scores, before, p, dp, factors] = Array.from({ length: 5 }, () => new Float64Array(Nk));
  const dqi = new Float64Array(dk);
  const sliceRows = Math.ceil(SLICE_OPERATIONS / (5 * Nk * (dk + dv) + 1));
  let count = 0;
  for (let b = 0; b < B; b++)
    for (let hk = 0; hk < Hkv; hk++) {
      const dKey = new Float64Array(Nk * dk);
      const dValue = new Float64Array(Nk * dv);
      for (let h = hk * G; h < (hk + 1) * G; h++)
        for (let row = 0; row < Nq; row++) {
          if (++count % sliceRows === 0) yield count / (B * Hq * Nq);
          const highest = rows.scores(b, h, row, scores, before);
          const { lse, complete } = rowWeights(problem, h, upstream.lse(b, h, row), highest, scores, p);
          if (lse === -Infinity) continue;
          q(b, h, row, qi);
          dOut(b, h, row, doi);
          let delta = 0;
          for (let j = 0; j < Nk; j++) {
            dp[j] = 0;
            if (scores[j] === -Infinity) continue;
            factors[j] = rows.dropoutFactor(b, h, row, j);
            v(b, hk, j, vj);
            for (let e = 0; e < dv; e++) dp[j] += doi[e] * vj[e];
            dp[j] *= factors[j];
            delta += p[j] * dp[j];
          }
          if (!complete || highest === -Infinity) {
            // These are only some of the keys of lse, or none. δ is a sum over all of its keys, so it is computed from the output.
            out(b, h, row, oi);
            delta = 0;
            for (let e = 0; e < dv; e++) delta += oi[e] * doi[e];
          }
          dqi.fill(0);
          for (let j = 0; j < Nk; j++) {
            if (scores[j] === -Infinity) continue;
            const w = p[j] * factors[j];
            for (let e = 0; e < dv; e++) dValue[j * dv + e] += w * doi[e];
            const ds = change(b, h, row, j, before[j], p[j] * (dp[j] - delta)) * problem.scale;
            k(b, hk, j, kj);
            for (let d = 0; d < dk; d++) {
              dqi[d] += ds * kj[d];
              dKey[j * dk + d] += ds * qi[d];
            }
          }
          gradients.dQuery.set(dqi, ((b * Hq + h) * Nq + row) * dk);
          if (gradients.sinks && problem.sinks) {
            const w = Math.exp(problem.sinks[h] - lse);
            if (w !== 0) gradients.sinks[h] -= w * delta;
          }
        }
      gradients.dKey.set(dKey, (b * Hkv + hk) * Nk * dk);
      gradients.dValue.set(dValue, (b * Hkv + hk) * Nk * dv);
    }
}

/** A function that adds ds to the gradients of masks and tables, and returns ds with respect to the score before all changes. */
function changeOf(
  problem: Problem,
  gradients: Gradients,
): (b: number, h: number, row: number, j: number, score: number, ds: number) => number {
  const { tensors, offsets, score } = problem;
  const derivatives = score && derivative(score);
  const byScore = derivatives?.score && compile(derivatives.score);
  const tables = (derivatives?.tables ?? []).flatMap(({ read, table, partial }) => {
    const into = gradients.tables.get(table);
    return into ? [{ into, index: compileIndex(read), partial: compile(partial) }] : [];
  });
  const cell: Cell = { b: 0, h: 0, i: 0, q: 0, k: 0, score: 0 };
  return (b, h, row, j, before, ds) => {
    for (let n = 0; n < tensors.length; n++) {
      const into = gradients.masks[n];
      if (into) into.data[into.base[b] + h * into.head + row * into.row + j * into.column] += ds;
    }
    if (!byScore && tables.length === 0) return ds;
    cell.b = b;
    cell.h = h;
    cell.i = row;
    cell.q = row + offsets[b];
    cell.k = j;
    cell.score = before;
    for (const { into, index, partial } of tables) into[index(cell)] += ds * partial(cell);
    return byScore ? ds * byScore(cell) : ds;
  };
}

/** The backward pass. */
export const referenceBackward: SlicedPart<"backward"> = {
  name: "reference",
  device: "cpu",
  supports: () => undefined,
  backward: (problem, tensors, wanted) =>
    computeAll(referenceBackward.backwardSlices(problem, tensors, wanted)),
  backwardSlices: (problem, tensors, wanted) =>
    computeGradients(problem, tensors, wanted, (inputs, gradients) => backward(problem, inputs, gradients)),
};
