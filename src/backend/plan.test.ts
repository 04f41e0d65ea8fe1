/** Plans as people read them. */
import { expect, it } from "vitest";
import { type Plan, printPlan } from "./plan.ts";

const plan: Plan = {
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
};

it("a plan prints one fact a line", () => {
  expect(printPlan(plan).split("\n")).toEqual([
    "backend wasm",
    "simd    strict",
    "kernel  forward mul+add 5x2 d64 q45 k128 f32 mask le(k,q)",
    "threads 2",
    "tasks   24 of 45 query rows × 128 keys a tile",
    "splits  1 over the keys, 1 stage",
    "memory  3.00 MiB beyond inputs and output",
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
