/** Copying results out of the engine's memory: merged over splits, rounded to the output's dtype, in its layout. */

import type { Result } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import { arrayName, narrow } from "../../core/dtype.ts";
import type { EngineMemory } from "../engine/memory.ts";
import { addressOf } from "../engine/transfer.ts";
import type { Placed } from "./place.ts";
import type { ForwardPlan } from "./plan.ts";

/** Copies the output and lse of a stage out. */
export function copyResultsOut(
  memory: EngineMemory,
  problem: Problem,
  plan: ForwardPlan,
  placed: Placed,
  out: Result,
): void {
  const { shape } = problem;
  const { G, Nq, Hq, dv } = shape;
  const { splits } = plan.tiling;
  const { f32 } = memory;
  const [r0, r1] = placed.rows;
  if (splits > 1) mergeSplits(f32, plan, placed, problem);
  if (placed.contiguous) {
    const at = placed.out(0, 0, 0, 0);
    // What a kernel wrote in place is not copied.
    if (addressOf(memory, out.output) !== at)
      put(problem, out, 0, f32.subarray(at / 4, at / 4 + shape.B * Hq * Nq * dv));
    const lse = placed.lse(0, 0, 0, 0) / 4;
    out.lse.set(f32.subarray(lse, lse + shape.B * Hq * Nq));
    return;
  }
  for (const { b, hk } of placed.heads)
    for (let h = hk * G; h < (hk + 1) * G; h++) {
      const at = placed.out(b, h, r0, 0) / 4;
      const start = b * out.batch + h * out.head + r0 * out.row;
      if (out.row === dv) put(problem, out, start, f32.subarray(at, at + (r1 - r0) * dv));
      else
        for (let n = 0; n < r1 - r0; n++)
          put(problem, out, start + n * out.row, f32.subarray(at + n * dv, at + (n + 1) * dv));
      const lse = placed.lse(b, h, r0, 0) / 4;
      out.lse.set(f32.subarray(lse, lse + r1 - r0), (b * Hq + h) * Nq + r0);
    }
}

/** Writes float32 results at `start`, rounded to 16 bits where the output has them. */
function put(problem: Problem, out: Result, start: number, values: Float32Array): void {
  const data = out.output as Float32Array;
  if (problem.dtype === "float32" || arrayName(data) === "Float16Array") data.set(values, start);
  else narrow(problem.dtype as "float16" | "bfloat16", values, out.output as Uint16Array, start);
}

/** Joins the parts of each row into the first: mergeStates' rule, over what the kernels left. */
function mergeSplits(f32: Float32Array, plan: ForwardPlan, placed: Placed, problem: Problem): void {
  const { G, dv } = problem.shape;
  const { splits } = plan.tiling;
  for (const { b, hk } of placed.heads)
    for (let h = hk * G; h < (hk + 1) * G; h++)
      for (let row = placed.rows[0]; row < placed.rows[1]; row++) {
        let m = -Infinity;
        for (let n = 0; n < splits; n++) {
          const x = f32[placed.lse(b, h, row, n) / 4];
          if (!(x <= m)) m = x;
        }
        if (m === -Infinity) continue;
        const shares = Array.from({ length: splits }, (_, n) =>
          Math.exp(f32[placed.lse(b, h, row, n) / 4] - m),
        );
        const sum = shares.reduce((x, y) => x + y, 0);
        const first = placed.out(b, h, row, 0) / 4;
        const step = placed.splitBytes / 4;
        for (let e = 0; e < dv; e++) {
          let o = 0;
          // A part that saw nothing has share 0; its output is 0 as well.
          for (let n = 0; n < splits; n++) o += shares[n] * f32[first + n * step + e];
          f32[first + e] = o / sum;
        }
        f32[placed.lse(b, h, row, 0) / 4] = m + Math.log(sum);
      }
}
