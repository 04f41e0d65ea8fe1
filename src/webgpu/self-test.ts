/**
 * The self-test of an adapter: the output and lse of a small causal call of two heads that share keys, compared with the formula in float64.
 * Its sizes cross the edges of tiles, of rows, keys and columns. It compiles only the forward kernel: a software driver takes half a minute
 * for those of the backward pass.
 */
import { resolve } from "../backend/problem.ts";
import { tensorOver } from "../core/device/tensor.ts";
import { HeedError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { forward } from "./attention/forward.ts";
import { device, uninitialized } from "./device.ts";
import type { GpuSession } from "./session.ts";

const [H, M, N, D, E] = [2, 33, 41, 36, 34];
/** Largest error of a number that counts as rounding: float32 gives less than 1e-5 for numbers of this size. */
const TOLERANCE = 1e-4;

/** Numbers between −1 and 1 that do not repeat. */
const numbers = (length: number, seed: number): Float32Array =>
  Float32Array.from({ length }, (_, n) => Math.sin(seed + 1.7 * n * (1 + seed / 7)));

/** Output and lse by the formula in float64. */
function expected(q: Float32Array, k: Float32Array, v: Float32Array) {
  const output = new Float64Array(H * M * E);
  const lse = new Float64Array(H * M);
  for (let row = 0; row < H * M; row++) {
    // Causal from the lower right: the last query sees all keys.
    const p = Float64Array.from({ length: N - M + (row % M) + 1 }, (_, j) => {
      let s = 0;
      for (let c = 0; c < D; c++) s += q[row * D + c] * k[j * D + c];
      return Math.exp(s / Math.sqrt(D));
    });
    const l = p.reduce((sum, x) => sum + x, 0);
    lse[row] = Math.log(l);
    p.forEach((x, j) => {
      for (let e = 0; e < E; e++) output[row * E + e] += (x / l) * v[j * E + e];
    });
  }
  return { output, lse };
}

/** What an adapter computes wrongly: the first number that differs, or the driver's words. A loss and a lack of memory are thrown. */
export async function selfTest(session: GpuSession): Promise<string | undefined> {
  const data = [H * M * D, N * D, N * E].map((length, seed) => numbers(length, seed + 1));
  const shapes = [[H, M, D], [1, N, D], [1, N, E]]; // biome-ignore format: a row
  const inputs = data.map((values, n): Tensor => {
    const storage = uninitialized("float32", values.length);
    device.write(storage, values);
    return tensorOver(storage, shapes[n], "float32");
  });
  const [query, key, value] = inputs;
  const got = forward(session, resolve("webgpu", query, key, value, { isCausal: "lower-right" }));
  const right = expected(data[0], data[1], data[2]);
  try {
    for (const name of Object.keys(right) as (keyof typeof right)[]) {
      const values = (await got[name].read()) as Float32Array;
      const at = right[name].findIndex((x, n) => !(Math.abs(x - values[n]) <= TOLERANCE));
      if (at >= 0)
        return `in its self-test element ${at} of ${name} is ${values[at]}, the formula in float64 gives ${right[name][at]}`;
    }
  } catch (error) {
    if (error instanceof HeedError && error.code === "device") return error.message;
    throw error;
  } finally {
    for (const t of [...inputs, got.output, got.lse]) t.dispose();
  }
  return undefined;
}
