/**
 * The levels for tensors of 16 bits: `half` gives the bits of the portable level, `matrices`, where the adapter has them, numbers within a stated
 * bound. Needs an adapter, as webgpu.test.ts; HEED_GPU_LEVEL=matrices gives it the feature.
 */
import {
  type AttentionOptions,
  cast,
  type DType,
  explain,
  maskMod,
  scaledDotProductAttention,
  slidingWindow,
  softcap,
  Tensor,
} from "heed";
import { type LevelName, webgpu } from "heed/webgpu";
import { afterAll, describe, expect, it } from "vitest";
import type { Problem } from "../../src/backend/problem.ts";
import { resolve } from "../../src/backend/problem.ts";
import { rowMajor, viewOf } from "../../src/core/tensor.ts";
import { forward, forwardShape } from "../../src/webgpu/attention/forward.ts";
import { session } from "../../src/webgpu/device.ts";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { wrongGpu } from "../support/backends/wrong-gpu.ts";
import { normal } from "../support/cases/call.ts";

const { gpu, reason } = await gpuAtHand();
/** A software driver takes seconds to compile a kernel: some run where HEED_GPU is "all". */
const isAll = process.env.HEED_GPU === "all";
type Inputs = [query: Tensor, key: Tensor, value: Tensor];

let started: Awaited<ReturnType<typeof webgpu>> | undefined;
/** Tensors on the GPU, at a level. */
async function on(level: LevelName, tensors: readonly Tensor[]): Promise<Inputs> {
  started = await webgpu({ gpu: gpu!, level });
  expect(started.level).toBe(level);
  return (await Promise.all(tensors.map((t) => t.to("webgpu")))) as Inputs;
}
/** The portable level, and those of 16 bits on this adapter. */
async function levels(): Promise<LevelName[]> {
  started = await webgpu({ gpu: gpu! });
  const all = started.levels.filter(({ state }) => state !== "not available").map(({ name }) => name);
  return all.filter((name) => name === "portable" || name === "half" || name === "matrices");
}
const numbers = async (t: Tensor) => (await t.to("cpu")).toFloat64();
const as = (dtype: DType, tensors: readonly Tensor[]) => tensors.map((t) => cast(t, dtype)) as Inputs;

/** Grouped heads, incomplete tiles and two groups of columns. */
const inputs = (Nq: number, Nk: number) =>
  [normal(1, [2, 4, Nq, 12]), normal(2, [2, 2, Nk, 12]), normal(3, [2, 2, Nk, 34])] as const;

/** The largest |got − want| over 1 + |want|. */
const worst = (got: ArrayLike<number>, want: ArrayLike<number>) =>
  Array.from(got, (x, i) => Math.abs(x - want[i]) / (1 + Math.abs(want[i]))).reduce(
    (a, b) => (a >= b ? a : b),
    0,
  );

const matrix = (rows: number, columns: number, at: (i: number, e: number) => number) =>
  cast(new Tensor(Float32Array.from({ length: rows * columns }, (_, n) => at(Math.floor(n / columns), n % columns)), [rows, columns], "float32"), "float16"); // biome-ignore format: a row

/** Row j of a Hadamard matrix of 128: its product with itself is 128, with all others 0. */
const code = (j: number, x: number): number => {
  let bits = j & x;
  let odd = 0;
  for (; bits > 0; bits >>= 1) odd ^= bits & 1;
  return odd ? -1 : 1;
};
/** Scores of 9,998: a factor that float16 has. */
const LARGE = 884;
/** Queries and keys at the edges of tiles of 32 and 64 rows, 32 keys and matrices of 8 and 16. */
const SIZES = [[33, 1], [40, 7], [41, 9], [63, 31], [64, 32], [65, 33], [127, 63], [128, 64], [129, 65], [70, 97]] as const; // biome-ignore format: a row

describe.skipIf(!gpu)(`levels of 16 bits on webgpu${reason && `: ${reason}`}`, { timeout: 600_000 }, () => {
  afterAll(() => started?.destroy());

  it.each(isAll ? ([["float16", ""], ["bfloat16", ""], ["float16", " with masks, a score mod and sinks"]] as const) : ([["float16", ""]] as const))("%s%s: the bits of the portable level; matrices within a rounding", async (dtype, isMasked) => {
    for (const Nq of isAll ? [1, 20, 65] : [65]) {
      const tensors = as(dtype, inputs(Nq, Nq === 1 ? 600 : 70));
      const options: AttentionOptions = isMasked ? { attnMask: [slidingWindow(40, 50), maskMod(({ k, h }) => k.mod(5).gt(h))], queryOffset: 5, scoreMod: softcap(3), sinks: [0.5, -1, 0, -Infinity] } : { isCausal: "lower-right" };
      const want = scaledDotProductAttention(...as("float64", tensors), options);
      let bits: unknown;
      for (const level of await levels()) {
        const placed = await on(level, tensors);
        const { output, lse } = scaledDotProductAttention(...placed, options);
        const isMatrices = level === "matrices" && dtype === "float16" && Nq > 32;
        expect(explain(...placed, options).kernel).toMatch(isMatrices ? /^matrices/ : level === "portable" ? /^portable/ : /^half/);
        const got = [await numbers(output), await numbers(lse)];
        bits ??= got;
        if (!isMatrices) expect(got, `${level}, ${Nq}`).toEqual(bits);
        expect(worst(got[0], want.output.toFloat64())).toBeLessThanOrEqual(dtype === "float16" ? 2 ** -11 : 2 ** -8);
        expect(worst(got[1], want.lse.toFloat64())).toBeLessThanOrEqual(2e-6);
      }
    }
  }); // biome-ignore format: one test

  it.skipIf(!isAll)("before the output is rounded to float16, matrices differ from float64 by no more than the portable level's bound", async () => {
    const tensors = as("float16", [normal(1, [1, 4, 130, 64]), normal(2, [1, 4, 300, 64]), normal(3, [1, 4, 300, 64])]);
    const want = scaledDotProductAttention(...as("float64", tensors)).output.toFloat64();
    for (const level of await levels()) {
      const placed = await on(level, tensors);
      const problem: Problem = { ...resolve("test", ...placed, {}), dtype: "float32" };
      const shape = forwardShape(session(), resolve("test", ...placed, {}));
      const { output } = forward(session(), problem, shape);
      expect(worst(await numbers(output), want), level).toBeLessThanOrEqual(5e-7);
    }
  }); // biome-ignore format: one test

  it("tensors whose columns are no pairs are computed on the level below, with the same bits", async () => {
    const odd = (t: Tensor) => viewOf(t, [...t.shape.slice(0, 3), 11], rowMajor(t.shape), 1);
    const tensors = as("float16", inputs(40, 70));
    const results: unknown[] = [];
    for (const level of ["portable", "half"] as const) {
      const [q, k, v] = await on(level, tensors);
      const placed: Inputs = [odd(q), odd(k), v];
      expect(explain(...placed).kernel).not.toMatch(/^half/);
      results.push(await numbers(scaledDotProductAttention(...placed).output));
    }
    expect(results[1]).toEqual(results[0]);
  }); // biome-ignore format: one test

  it("every key at the edges of tiles is read at its place, with scores of ±1e4", async () => {
    for (const level of (await levels()).slice(1))
      for (const [Nq, Nk] of SIZES) {
        const keyOf = (i: number) => (7 * i + 3) % Nk;
        const keys = matrix(Nk, 128, code);
        const storedAt = (j: number, e: number) => j - 8 * e;
        const placed = await on(level, [matrix(Nq, 128, (i, x) => LARGE * code(keyOf(i), x)), keys, matrix(Nk, 34, storedAt)]);
        const hot = await numbers(scaledDotProductAttention(...placed).output);
        hot.forEach((x, n) => x === storedAt(keyOf(Math.floor(n / 34)), n % 34) || expect.fail(`${level}, ${Nq} × ${Nk}: element ${n} is ${x}`));
        // All scores are −9,998: the mean of the values, to one rounding.
        const [q, k] = await on(level, [matrix(Nq, 128, (_, x) => -LARGE * code(1, x)), matrix(Nk, 128, (_, x) => code(1, x))]);
        const mean = await numbers(scaledDotProductAttention(q, k, placed[2]).output);
        mean.forEach((x, n) => Math.abs(x - ((Nk - 1) / 2 - 8 * (n % 34))) <= 0.125 || expect.fail(`${level}, ${Nq} × ${Nk}: element ${n} is ${x}`));
      }
  }); // biome-ignore format: one test

  it("NaN and infinity outside of a mask change nothing, and inside they are results", async () => {
    const [Nq, Nk] = [70, 97];
    const attnMask = maskMod(({ k }) => k.ge(5).and(k.lt(Nk - 3)));
    const isHidden = (j: number) => j < 5 || j >= Nk - 3;
    const [q, k, v] = as("float16", [normal(4, [Nq, 12]), normal(5, [Nk, 12]), normal(6, [Nk, 34])]);
    const put = (t: Tensor, at: (j: number, e: number) => number | undefined) => {
      const [values, width] = [t.toFloat64(), t.shape[1]];
      return matrix(Nk, width, (j, e) => at(j, e) ?? values[j * width + e]);
    };
    const hide = (t: Tensor) => put(t, (j) => (isHidden(j) ? [Number.NaN, Infinity, -Infinity][j % 3] : undefined));
    for (const level of (await levels()).slice(1)) {
      const run = async (tensors: readonly Tensor[]) => numbers(scaledDotProductAttention(...(await on(level, tensors)), { attnMask }).output);
      const clean = await run([q, k, v]);
      expect(worst(await run([q, hide(k), hide(v)]), clean), level).toBeLessThanOrEqual(2 ** -11);
      // A visible infinity in column 3, a visible NaN in column 4.
      const got = await run([q, k, put(v, (j, e) => (j === 40 && e === 3 ? Infinity : j === 41 && e === 4 ? Number.NaN : undefined))]);
      got.forEach((x, n) => {
        const e = n % 34;
        if (e === 3) expect(x).toBe(Infinity);
        else if (e === 4) expect(x).toBeNaN();
        else expect(Math.abs(x - clean[n])).toBeLessThanOrEqual(2 ** -10 * (1 + Math.abs(clean[n])));
      });
    }
  }); // biome-ignore format: one test

  it("an adapter that computes half or matrices wrongly uses the level below, and a request for them is refused", async () => {
    for (const [level, from, to] of [["half", "return (x.xz >> vec2u(16u))", "return (x.yw >> vec2u(16u))"], ["matrices", "subgroupMatrixStore<col_major>(&products, 0 +", "subgroupMatrixStore<col_major>(&products, 8 +"]] as const) {
      if (!(await levels()).includes(level)) continue;
      const wrong = wrongGpu(gpu!, from, to, `a wrong ${level}`);
      const { levels: all } = await webgpu({ gpu: wrong.gpu });
      const states = Object.fromEntries(all.map((one) => [one.name, one.state]));
      expect(states).toMatchObject({ subgroups: "in use", half: level === "half" ? "not available" : "in use" });
      await expect(webgpu({ gpu: wrong.gpu, level })).rejects.toThrow(/wrong numbers with the kernel "forward, tiles of 64 × 32.*(?:float16 in workgroup memory|matrices of \d+).*in its self-test element/);
      started = await webgpu({ gpu: wrong.gpu });
      expect(started.levels.find(({ name }) => name === level)?.reason).toMatch(/in its self-test element/);
      expect(started.levels.find(({ name }) => name === "subgroups")?.state).toBe("in use");
    }
  }); // biome-ignore format: one test
});
