/** Tilings: splits cover the keys, stages fit their budget, and neither depends on the number of threads. */
import { expect, it } from "vitest";
import { random } from "../../../tests/support/cases/random.ts";
import { explain } from "../../api/explain.ts";
import { zeros } from "../../core/create/construct.ts";
import { alibi, causal, maskMod, slidingWindow } from "../../masks/index.ts";
import { tileFor } from "../../wasm/engine/features.ts";
import { type AttentionOptions, resolve } from "../problem.ts";
import { configure } from "../settings.ts";
import { chooseTiling, type Machine, planStaging } from "./tiling.ts";

const machine: Machine = { tileRows: 6, panel: 8 };
const problemOf = (
  shape: { B?: number; Hq: number; Hkv?: number; Nq: number; Nk: number; d?: number },
  options: AttentionOptions = {},
) => {
  const { B = 1, Hq, Hkv = Hq, Nq, Nk, d = 64 } = shape;
  const view = (H: number, N: number) => ({
    data: zeros([d]).data,
    shape: [B, H, N, d],
    strides: [0, 0, 0, 1],
  });
  return resolve("test", view(Hq, Nq), view(Hkv, Nk), view(Hkv, Nk), options);
};

it("few rows use the decode kernel, many the forward kernel; tiles are multiples of the register tile", () => {
  expect(chooseTiling(problemOf({ Hq: 2, Nq: 1, Nk: 100 }), machine).kind).toBe("decode");
  const how = chooseTiling(problemOf({ Hq: 2, Nq: 100, Nk: 100 }), machine);
  expect([how.kind, how.rowTile % 6, how.headsPerTask]).toEqual(["forward", 0, 1]);
});

it("heads of a group decode in one task, unless an option depends on the head", () => {
  const shape = { Hq: 8, Hkv: 2, Nq: 1, Nk: 100 };
  expect(chooseTiling(problemOf(shape), machine).headsPerTask).toBe(4);
  expect(chooseTiling(problemOf({ ...shape, Nq: 3 }), machine).headsPerTask).toBe(4);
  expect(chooseTiling(problemOf(shape, { attnMask: causal() }), machine).headsPerTask).toBe(4);
  for (const options of [
    { attnMask: maskMod(({ h, k }) => k.ge(h)) },
    { attnMask: zeros([8, 1, 100], "bool") },
    { dropoutP: 0.1, seed: 0 },
    { attnMask: causal(), scoreMod: alibi(new Float32Array(8)) },
  ])
    expect(chooseTiling(problemOf(shape, options), machine).headsPerTask).toBe(1);
});

it("splits cover the keys once, each a multiple of the key tile", () => {
  for (const Nk of [1, 100, 2047, 2048, 2049, 9001, 65_537, 1_000_003])
    for (const Hq of [1, 3, 16, 64]) {
      const { splits, splitKeys, keyTile } = chooseTiling(problemOf({ Hq, Nq: 1, Nk }), machine);
      expect(splits).toBeGreaterThanOrEqual(1);
      expect((splits - 1) * splitKeys).toBeLessThan(Nk);
      expect(splits * splitKeys).toBeGreaterThanOrEqual(Nk);
      if (splits > 1) expect(splitKeys % keyTile).toBe(0);
    }
});

it("stages fit the budget, or are as small as they can be", () => {
  for (const N of [1000, 40_000, 300_000])
    for (const budget of [2 ** 20, 2 ** 24, 2 ** 28])
      for (const cell of [0, 4]) {
        const problem = problemOf({ Hq: 4, Nq: N, Nk: N });
        const how = chooseTiling(problem, machine);
        const costs = { key: 1024, row: 768, cell };
        const { heads, rows, keys, count } = planStaging(problem, how, costs, budget);
        const bytes = heads * (keys * costs.key + rows * costs.row + rows * keys * cell);
        if (rows > how.rowTile || keys > how.keyTile) expect(bytes).toBeLessThanOrEqual(1.4 * budget);
        expect(count).toBeGreaterThanOrEqual(1);
        if (keys < N) expect(keys % how.keyTile).toBe(0);
        if (rows < N) expect(rows % how.rowTile).toBe(0);
      }
});

it("a tiling does not depend on threads and memory, which would change bits", () => {
  // Few heads and many keys, so that keys are split.
  const problem = problemOf({ Hq: 1, Nq: 50, Nk: 7000 }, { attnMask: causal() });
  const before = configure();
  try {
    const cuts = [1, 2, 64].map((threads) => {
      configure({ threads, bytesPerThread: threads * 2 ** 20 });
      return chooseTiling(problem, machine);
    });
    expect(cuts[0].splits).toBeGreaterThan(1);
    for (const one of cuts) expect(one).toEqual(cuts[0]);
  } finally {
    configure(before);
  }
});

it("tilings and stages have the sizes that the kernels of every level need", () => {
  const r = random(11);
  for (const level of ["wide", "relaxed", "strict"] as const) {
    const tile = tileFor(level);
    for (let n = 0; n < 500; n++) {
      const Hkv = r.int(1, 4);
      const [Nq, Nk] = [r.size(100_000), r.size(100_000)];
      const d = r.size(400);
      const problem = problemOf({ B: r.int(1, 3), Hq: Hkv * r.int(1, 8), Hkv, Nq, Nk, d });
      const { G } = problem.shape;
      const budget = r.size(2 ** 26);
      const how = chooseTiling(problem, { tileRows: tile.rows, panel: 4 * tile.vectors });
      expect(how.keyTile % 8).toBe(0);
      if (how.kind === "forward") {
        expect(how.keyTile % (4 * tile.vectors)).toBe(0);
        expect(how.rowTile % tile.rows).toBe(0);
      } else {
        expect(G % how.headsPerTask).toBe(0);
        expect(how.rowTile).toBe(how.headsPerTask * Nq);
      }
      const costs = { key: 4 * d * r.int(1, 4), row: 8 * d + 4, cell: r.pick([0, 0, 1, 5]) };
      const staging = planStaging(problem, how, costs, budget);
      expect([staging.rows, staging.keys].every((x) => x > 0)).toBe(true);
      if (staging.keys < Nk) expect([staging.keys % how.keyTile, how.splits]).toEqual([0, 1]);
      if (staging.rows < Nq) expect(staging.rows % how.rowTile).toBe(0);
      if (staging.heads > 1) expect([staging.rows, staging.keys]).toEqual([Nq, Nk]);
      const { B } = problem.shape;
      expect(staging.count).toBe(
        Math.ceil((B * Hkv) / staging.heads) * Math.ceil(Nq / staging.rows) * Math.ceil(Nk / staging.keys),
      );
    }
  }
});

it("the numbers of a printed plan add up", () => {
  for (const [Nq, Nk] of [
    [1, 900],
    [300, 300],
    [777, 130],
  ]) {
    const view = (N: number) => ({ data: zeros([64]).data, shape: [2, 4, N, 64], strides: [0, 0, 0, 1] });
    const plan = explain(view(Nq), view(Nk), view(Nk), { attnMask: slidingWindow(100, 50) });
    const { skipped, full, partial } = plan.tiles as NonNullable<typeof plan.tiles>;
    const blocks = Math.ceil(Nq / plan.rowTile);
    expect(plan.tasks).toBe(2 * 4 * blocks * plan.splits);
    expect(skipped + full + partial).toBe(2 * 4 * blocks * Math.ceil(Nk / plan.keyTile));
    expect(plan.kernel).toContain(`q${plan.rowTile} k${plan.keyTile}`);
    expect([plan.stages, plan.threads].every((n) => n >= 1)).toBe(true);
    expect(plan.bytes).toBeGreaterThan(0);
  }
});
