/** After the loss of a thread, results that were added or written in place are not written twice. */
import { describe, expect, it } from "vitest";
import { hasRelaxed } from "../../backend/levels.ts";
import { allocateResult, resolveProduct } from "../../backend/product.ts";
import { Tensor } from "../../core/tensor.ts";
import { matmul as plain } from "../../reference/matmul.ts";
import { type Engine, getEngine } from "../engine/engine.ts";
import { tileFor } from "../engine/features.ts";
import { WorkerLostError } from "../engine/worker-pool.ts";
import { productKernel, productKey, productWorkspace, taskRows } from "../kernels/matmul/matmul.ts";
import { fillProduct } from "./matmul.ts";
import { runPipeline } from "./row-pipeline.ts";
import { pipelineOf } from "./rowwise.ts";

/** The engine, with a pool that loses a thread in job number `lost`. */
function failing(lost: number): Engine & { jobs: number } {
  const engine = getEngine() as Engine;
  const counted = { ...engine, jobs: 0 };
  const run: Engine["pool"]["run"] = (...job) => {
    const meanwhile = job[6];
    if (counted.jobs++ === lost) {
      meanwhile?.();
      throw new WorkerLostError("in a test");
    }
    engine.pool.run(...job);
  };
  const reserve: Engine["pool"]["reserve"] = (...x) => engine.pool.reserve(...x);
  counted.pool = { run, reserve } as Engine["pool"];
  return counted;
}

const numbers = (salt: number, shape: readonly number[]): Tensor =>
  new Tensor(
    Float32Array.from({ length: shape.reduce((x, y) => x * y, 1) }, (_, i) => Math.sin(i * 1.7 + salt)),
    shape,
    "float32",
  );

/** The first index at which two arrays differ, or −1. */
const differs = (got: Tensor["data"], want: Tensor["data"]): number =>
  (got as Float32Array).findIndex((x, i) => !Object.is(x, want[i]));

describe("after the loss of a thread", () => {
  it("a product with accumulate adds every output once", () => {
    // Three outputs of rows; and one in steps along K.
    for (const [M, K, N] of [[400, 300, 200], [40, 1500, 30]]) {
      const [a, b, start] = [numbers(1, [M, K]), numbers(2, [K, N]), numbers(3, [M, N])];
      const complete = failing(-1);
      const want = start.contiguous();
      fillProduct(complete, allocateResult(resolveProduct("test", a, b, { accumulate: want })).product, "strict", 1, { collected: 0 });
      expect(complete.jobs).toBeGreaterThan(2);
      for (let lost = 0; lost < complete.jobs; lost++) {
        const got = start.contiguous();
        const { product } = allocateResult(resolveProduct("test", a, b, { accumulate: got }));
        const progress = { collected: 0 };
        expect(() => fillProduct(failing(lost), product, "strict", 1, progress)).toThrow(WorkerLostError);
        fillProduct(failing(-1), product, "strict", 1, progress);
        expect(differs(got.data, want.data)).toBe(-1);
      }
    }
  }); // biome-ignore format: rows of sizes

  it("operations in place run once", () => {
    const n = 120_000;
    const g = numbers(5, [n]).data as Float32Array;
    const scalars = { scale: 1, beta1: 0.9, oneMinusBeta1: 0.1, beta2: 0.99, oneMinusBeta2: 0.01, weightDecayFactor: 0.9, rate: 0.1, biasCorrection2: 3, eps: 0.1 };
    const step = ([w, m, v]: readonly Float32Array[]) => pipelineOf({ name: "adamw", w, g, m, v, scalars });
    const arrays = () => [0, 1, 2].map((salt) => (numbers(salt, [n]).data as Float32Array).map(Math.abs));
    const complete = failing(-1);
    const want = arrays();
    runPipeline(complete, step(want), false, 1, { rows: 0 });
    expect(complete.jobs).toBeGreaterThan(2);
    for (let lost = 0; lost < complete.jobs; lost++) {
      const got = arrays();
      const work = step(got);
      const done = { rows: 0 };
      expect(() => runPipeline(failing(lost), work, false, 1, done)).toThrow(WorkerLostError);
      runPipeline(failing(-1), work, false, 1, done);
      expect(got.map((x, i) => differs(x, want[i]))).toEqual([-1, -1, -1]);
    }
  }); // biome-ignore format: the scalars in a row

  it("all memory is freed, after errors too", () => {
    const engine = getEngine() as Engine;
    const used = engine.memory.resetPeak();
    const { product } = allocateResult(
      resolveProduct("test", numbers(1, [400, 300]), numbers(2, [300, 200]), {}),
    );
    const x = new Float32Array(10_000);
    for (const lost of [0, 1, -1]) {
      const run = () => fillProduct(failing(lost), product, "strict", 1, { collected: 0 });
      if (lost < 0) run();
      else expect(run).toThrow(WorkerLostError);
      const flow = () =>
        runPipeline(failing(lost), pipelineOf({ name: "map", map: "silu", x, y: x }), false, 1, { rows: 0 });
      if (lost === 0) expect(flow).toThrow(WorkerLostError);
      else flow();
    }
    expect(engine.memory.resetPeak()).toBe(used);
  });
});

it("memory beyond the operands stays bounded, for thin products and many small ones too", () => {
  const engine = getEngine() as Engine;
  for (const [a, b] of [
    [[500_000, 2], [2, 1]],
    [[1, 2], [2, 500_000]],
    [[2, 300_000], [300_000, 2]],
    [[100_000, 1, 2], [100_000, 2, 1]],
  ] as const) {
    const [x, y] = [numbers(1, a), numbers(2, b)];
    const { product, result } = allocateResult(resolveProduct("test", x, y, {}));
    const before = engine.memory.resetPeak();
    fillProduct(engine, product, "strict", 1, { collected: 0 });
    expect(engine.memory.peak - before).toBeLessThan(24 * 2 ** 20);
    const want = allocateResult(resolveProduct("test", x, y, {}));
    plain(want.product);
    const tolerance = 1e-4 * Math.sqrt(product.K);
    expect(result.data.findIndex((value, n) => !(Math.abs(value - want.result.data[n]) <= tolerance))).toBe(-1);
  }
}); // biome-ignore format: rows of sizes

it("keys distinguish kernels, and sizes are not in them", () => {
  const spec = { fused: true, wide: false, tile: tileFor("relaxed"), a: "float32", b: "float32", shared: true } as const;
  expect(productKey(spec)).toMatch(/^matmul fma \dx\d f32$/);
  const others = [
    { ...spec, fused: false },
    { ...spec, wide: true },
    { ...spec, tile: { rows: 5, vectors: 2, unroll: 8 } },
    { ...spec, b: "float16" },
    { ...spec, shared: false },
  ] as const;
  expect(new Set([spec, ...others].map(productKey)).size).toBe(6);
}); // biome-ignore format: the spec in a row

it("every kernel is a valid module of a few kilobytes", () => {
  for (const level of ["wide", "relaxed", "strict"] as const)
    for (const storage of ["float32", "float16", "bfloat16"] as const) {
      const fused = level !== "strict";
      if (fused && !hasRelaxed()) continue;
      const spec = {
        fused,
        wide: level === "wide",
        tile: tileFor(level),
        a: storage,
        b: storage,
        shared: true,
      };
      expect(taskRows(spec.tile) % spec.tile.rows).toBe(0);
      expect(productWorkspace(spec).size % 64).toBe(0);
      const code = productKernel(spec);
      expect(code.length).toBeLessThan(16384);
      expect(WebAssembly.validate(code)).toBe(true);
    }
});
