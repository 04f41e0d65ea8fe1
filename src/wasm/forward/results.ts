/** Copies results out of the engine's memory: merges splits, rounds to the output's dtype, writes its layout. */

import type { Result } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import { arrayName, type FloatDType, narrow, type TypedData } from "../../core/dtype.ts";
import type { EngineMemory } from "../engine/memory.ts";
import { addressOf } from "../engine/transfer.ts";
import type { Placed } from "./place.ts";
import type { ForwardPlan } from "./plan.ts";

/** Copies the output and lse of a stage out of the engine's memory. */
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
    // An output that the kernel wrote in place is not copied.
    if (addressOf(memory, out.output) !== at)
      storeRounded(problem.dtype, out.output, 0, f32.subarray(at / 4, at / 4 + shape.B * Hq * Nq * dv));
    const lse = placed.lse(0, 0, 0, 0) / 4;
    out.lse.set(f32.subarray(lse, lse + shape.B * Hq * Nq));
    return;
  }
  for (const { b, hk } of placed.heads)
    for (let h = hk * G; h < (hk + 1) * G; h++) {
      const at = placed.out(b, h, r0, 0) / 4;
      const start = b * out.batch + h * out.head + r0 * out.row;
      if (out.row === dv)
        storeRounded(problem.dtype, out.output, start, f32.subarray(at, at + (r1 - r0) * dv));
      else
        for (let n = 0; n < r1 - r0; n++)
          storeRounded(
            problem.dtype,
            out.output,
            start + n * out.row,
            f32.subarray(at + n * dv, at + (n + 1) * dv),
          );
      const lse = placed.lse(b, h, r0, 0) / 4;
      out.lse.set(f32.subarray(lse, lse + r1 - r0), (b * Hq + h) * Nq + r0);
    }
}

/** Stores float32 results at `start`, rounded to a 16-bit dtype. */
export function storeRounded(dtype: FloatDType, out: TypedData, start: number, values: Float32Array): void {
  if (dtype === "float32" || arrayName(out) === "Float16Array") (out as Float32Array).set(values, start);
  else narrow(dtype as "float16" | "bfloat16", values, out as Uint16Array, start);
}

/** Merges the parts of each row into the first, by the rule of `mergeStates`. */
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
          // A part without visible keys has share 0, and its output is 0 as well.
          for (let n = 0; n < splits; n++) o += shares[n] * f32[first + n * step + e];
          f32[first + e] = o / sum;
        }
        f32[placed.lse(b, h, row, 0) / 4] = m + Math.log(sum);
      }
}
