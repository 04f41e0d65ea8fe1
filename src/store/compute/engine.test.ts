import { describe, expect, it } from "vitest";
import { engineKernel } from "../../../tests/support/backends/engine-rows.ts";
import { randomInput } from "../../../tests/support/cases/store.ts";
import { storeFrom } from "../layout/from.ts";

/** Every number in measures, by its path. */
function numbersIn(value: unknown, path = ""): Record<string, number> {
  if (typeof value === "number") return { [path]: value };
  if (value === null || typeof value !== "object") return {};
  return Object.assign({}, ...Object.entries(value).map(([key, x]) => numbersIn(x, `${path}.${key}`)));
}

describe("engineKernel", () => {
  it("gives the sums, measures and overviews of the plain kernel, to float32 precision", async () => {
    for (let seed = 0; seed < 24; seed++) {
      const input = randomInput(seed, { wide: seed % 5 === 0 });
      const plain = storeFrom(input);
      const engine = storeFrom(input, { kernel: engineKernel });
      for (let head = 0; head < plain.blocks[0].heads; head++) {
        const ref = { block: 0, layer: 0, head };
        const [a, b] = [await plain.lse(ref), await engine.lse(ref)];
        a.forEach((x, i) => {
          if (x === -Infinity) expect(b[i], `seed ${seed}, row ${i}`).toBe(-Infinity);
          else
            expect(Math.abs(b[i] - x), `seed ${seed}, row ${i}: ${b[i]} and ${x}`).toBeLessThanOrEqual(
              1e-5 * Math.max(1, Math.abs(x)),
            );
        });
        const [m, n] = [numbersIn(await plain.measures(ref)), numbersIn(await engine.measures(ref))];
        expect(Object.keys(n)).toEqual(Object.keys(m));
        for (const [key, x] of Object.entries(m))
          if (Number.isNaN(x)) expect(n[key], `seed ${seed}, ${key}`).toBeNaN();
          else
            expect(Math.abs(n[key] - x), `seed ${seed}, ${key}`).toBeLessThanOrEqual(2e-5 * Math.max(1, x));
        const [x, y] = [await plain.overview(ref, 8), await engine.overview(ref, 8)];
        expect(Math.max(0, ...x.max.map((code, at) => Math.abs(code - y.max[at])))).toBeLessThanOrEqual(1);
        expect(y.marks).toEqual(x.marks);
      }
      plain.dispose();
      engine.dispose();
    }
  });

  it("tiles after such a pass are still exact: their rows' sums are computed in float64", async () => {
    const input = randomInput(12, { Nq: 64, Nk: 64, heads: 1, keyHeads: 1, recipe: { mask: "causal" } });
    const [plain, engine] = [storeFrom(input), storeFrom(input, { kernel: engineKernel })];
    const ref = { block: 0, layer: 0, head: 0 };
    await engine.overview(ref, 16);
    const address = { stage: "weights", transfer: "sqrt", level: 0, i: 0, j: 0 } as const;
    expect((await engine.tile(ref, address)).codes).toEqual((await plain.tile(ref, address)).codes);
    plain.dispose();
    engine.dispose();
  });
});
