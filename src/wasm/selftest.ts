/**
 * The self-test of wide kernels: V8's revectoriser is experimental, so before the level is used its results must equal
 * the 128-bit kernel's bit for bit, over enough calls for the optimising compiler to have replaced the first code.
 */
import { Tensor } from "../core/tensor.ts";
import type { Result } from "../plan/backend.ts";
import { type Problem, resolve } from "../plan/problem.ts";
import { causal } from "../score/causal.ts";

/** Calls of the wide kernel; the optimised code is there after 2 to 5. */
const CALLS = 24;

/** True where wide and relaxed kernels agree to the bit. */
export function agrees(forward: (problem: Problem, out: Result, level: "wide" | "relaxed") => void): boolean {
  const [N, d] = [96, 64];
  const numbers = (salt: number) =>
    new Tensor(
      Float32Array.from({ length: N * d }, (_, i) => Math.sin(i * 12.9898 + salt) * 3),
      [N, d],
      "float32",
    );
  const [q, k, v] = [numbers(1), numbers(2), numbers(3)];
  const outputOf = (problem: Problem, level: "wide" | "relaxed"): Int32Array => {
    const output = new Float32Array(N * d);
    forward(problem, { output, lse: new Float32Array(N), batch: N * d, head: N * d, row: d }, level);
    return new Int32Array(output.buffer);
  };
  for (const options of [{}, { attnMask: causal() }]) {
    const problem = resolve("self-test", q, k, v, options);
    const want = outputOf(problem, "relaxed");
    for (let n = 0; n < CALLS; n++) {
      const got = outputOf(problem, "wide");
      for (let i = 0; i < want.length; i++) if (got[i] !== want[i]) return false;
    }
  }
  return true;
}
