/** The bench of the backward pass without timing: the calls that it times compute the right gradients. */
import { expect, it } from "vitest";
import { BACKWARD, callsOf, errorOf, operations } from "./backward.ts";

it.each(BACKWARD.map((c) => ({ ...c, N: Math.round(c.N / 16), H: Math.min(c.H, 2) })))(
  "$name: the gradients are right",
  (c) => {
    const { inputs, backward } = callsOf(c);
    const got = backward();
    expect(errorOf(c, inputs, got)).toBeLessThanOrEqual(1);
    (got.dKey.data as Float32Array)[got.dKey.size - 1] += 1e-2;
    expect(errorOf(c, inputs, got)).toBeGreaterThan(1);
  },
);

it("counts five products of 2·N²·d operations per head; with a causal mask, half of them and half a diagonal", () => {
  const c = { name: "", H: 3, N: 10, d: 4, isCausal: false };
  expect([operations(c), operations({ ...c, isCausal: true })]).toEqual([12_000, 6_600]);
});
