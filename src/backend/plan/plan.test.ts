/** Plans as text. */
import { expect, it } from "vitest";
import { type Plan, printPlan, threadShares } from "./plan.ts";

const plan: Plan = {
  operation: "forward",
  backend: "wasm",
  simd: "strict",
  kernel: "forward mul+add 5x2 d64 q45 k128 f32 mask le(k,q)",
  threads: 2,
  tasks: 24,
  rowTile: 45,
  keyTile: 128,
  splits: 1,
  stages: 1,
  bytes: 3 * 2 ** 20,
  operations: 1_234_567,
};

it("a plan prints one fact per line", () => {
  expect(printPlan(plan).split("\n")).toEqual([
    "backend wasm",
    "simd    strict",
    "kernel  forward mul+add 5x2 d64 q45 k128 f32 mask le(k,q)",
    "threads 2",
    "tasks   24 of 45 query rows × 128 keys a tile",
    "splits  1 over the keys, 1 stage",
    "memory  3.00 MiB beyond inputs and output",
    "work    1.23M operations (forward)",
  ]);
});

it("with a mask, its tiles and their shares; with a reason, the reason", () => {
  const text = printPlan({
    ...plan,
    backend: "reference",
    fallbackReason: "float64 is computed in plain loops",
    stages: 3,
    tiles: { skipped: 6, full: 1, partial: 1 },
  });
  expect(text).toContain("reference (float64 is computed in plain loops)");
  expect(text).toContain("3 stages");
  expect(text).toContain("tiles   6 (75.0 %) skipped, 1 (12.5 %) full, 1 (12.5 %) partial");
  expect(printPlan({ ...plan, tiles: { skipped: 0, full: 0, partial: 0 } })).toContain("0 (0.0 %) skipped");
});

it("the rectangle of a backward task is no tile, and one row is not rows", () => {
  expect(printPlan({ ...plan, operation: "backward" })).toContain("tasks   24 of 45 query rows × 128 keys\n");
  expect(printPlan({ ...plan, rowTile: 1, keyTile: 16 })).toContain("of 1 query row × 16 keys a tile\n");
});

it("a matrix product has rows, columns and stages, and no keys", () => {
  const text = printPlan({ ...plan, operation: "matmul", kernel: "matmul fma 6x2 f32", stages: 6 });
  expect(text).toContain("tasks   24 of 45 rows × 128 columns");
  expect(text).toContain("stages  6, one part of the product after another\n");
  expect(text).not.toContain("keys");
});

it("a plan states the bytes of the weights, and the share of each thread", () => {
  const text = printPlan({ ...plan, weightsBytes: 3 * 2 ** 30, threadShares: [0.6, 0.4] });
  expect(text).toContain("weights 3.00 GiB in full, not stored");
  expect(text).toContain("shares  60.0 %, 40.0 % a thread (largest 1.20 × the mean)");
});

it("each task goes to the first idle thread", () => {
  expect(threadShares([4, 3, 2, 1], 2)).toEqual([0.5, 0.5]);
  expect(threadShares([6, 1, 1], 2)).toEqual([0.75, 0.25]);
  expect(threadShares([], 2)).toEqual([0.5, 0.5]);
  expect(threadShares([5], 1)).toEqual([1]);
});
