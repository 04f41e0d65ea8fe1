/** The bench of products and row-wise operations without timing: everything that it times computes the right result. */
import { expect, it } from "vitest";
import { reference } from "../src/reference/backend.ts";
import { wasm } from "../src/wasm/backend.ts";
import { PRODUCTS, productOf, rowwise } from "./matmul.ts";

it.each(PRODUCTS.map((c) => ({ ...c, M: Math.min(c.M, 100), K: Math.min(c.K, 600), N: Math.min(c.N, 300) })))(
  "$name is the product",
  (c) => {
    expect(productOf(c).error()).toBeLessThanOrEqual(1);
  },
);

it.each(rowwise(3))(
  "$name: the engine's numbers are those of the reference",
  ({ name, operation, result }) => {
    // AdamW updates its arrays in place: the two are one step apart, but their steps have the same size.
    const rough = name === "AdamW" ? 2e-3 : 3e-5;
    wasm.rowwise(operation);
    const got = result.slice();
    reference.rowwise(operation);
    result.forEach((want, n) => {
      if (!(Math.abs(got[n] - want) <= rough * (1 + Math.abs(want))))
        expect.fail(`number ${n}: ${got[n]}, expected ${want}`);
    });
  },
);
