import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bandsOf } from "./bands.ts";

/** Random matrices with rows that sum to 1. */
const steps = fc
  .record({ tokens: fc.integer({ min: 1, max: 7 }), layers: fc.integer({ min: 1, max: 4 }) })
  .chain(({ tokens, layers }) =>
    fc
      .array(
        fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), {
          minLength: tokens ** 2,
          maxLength: tokens ** 2,
        }),
        {
          minLength: layers,
          maxLength: layers,
        },
      )
      .map((all) => ({
        tokens,
        steps: all.map((numbers) => {
          const matrix = Float64Array.from(numbers);
          for (let i = 0; i < tokens; i++) {
            const row = matrix.subarray(i * tokens, (i + 1) * tokens);
            const sum = row.reduce((a, b) => a + b, 0);
            for (let j = 0; j < tokens; j++) row[j] /= sum;
          }
          return matrix;
        }),
      })),
  );

describe("the bands of a rollout", () => {
  it("sum to 1 at every layer, and end in the target's row of the product", () => {
    fc.assert(
      fc.property(steps, fc.nat({ max: 6 }), (rolled, at) => {
        const { tokens } = rolled;
        const target = at % tokens;
        const { shares, bands, drawn } = bandsOf(rolled, target);
        expect(shares).toHaveLength(rolled.steps.length + 1);
        for (const share of shares) expect(share.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 10);
        // The product of all layers by plain loops.
        let row = Float64Array.from({ length: tokens }, (_, j) => Number(j === target));
        for (const step of [...rolled.steps].reverse())
          row = row.map((_, j) => row.reduce((sum, x, i) => sum + x * step[i * tokens + j], 0));
        row.forEach((x, j) => {
          expect(shares[0][j]).toBeCloseTo(x, 10);
        });
        expect(drawn).toBeLessThanOrEqual(1 + 1e-9);
        expect(drawn * rolled.steps.length).toBeCloseTo(
          bands.reduce((sum, { share }) => sum + share, 0),
          10,
        );
      }),
    );
  });

  it("leaves out links that are too thin to see, and returns the share of the drawn ones", () => {
    const tokens = 1000;
    const { bands, drawn } = bandsOf({ tokens, steps: [new Float64Array(tokens ** 2).fill(1 / tokens)] }, 3);
    expect(bands).toHaveLength(0);
    expect(drawn).toBe(0);
  });
});
