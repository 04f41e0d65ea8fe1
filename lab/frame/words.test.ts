import { expect, test } from "vitest";
import { percent } from "./words.ts";

test("a share that is not nearly all is not written as 100 %", () => {
  expect(percent(0.9991)).toMatch(/^99\.9\s%$/u);
  expect(percent(0.995)).toMatch(/^99\.9\s%$/u);
  expect(percent(1 - 1e-9)).toMatch(/^100\s%$/u);
  expect(percent(0.4949)).toMatch(/^49\s%$/u);
});
