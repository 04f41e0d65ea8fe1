import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import type { ArrowsNumbers } from "./compute.ts";
import { page } from "./page.ts";

test("no number of the table is a rounding error in place of 0, wherever the query points", async () => {
  for (let turn = 0; turn < 72; turn++) {
    const [x, y] = [3 * Math.cos((turn * Math.PI) / 36), 3 * Math.sin((turn * Math.PI) / 36)];
    for (const change of [
      { x, y },
      { x: 1, y: 2 },
      { x: 2, y: -1 },
      { mode: "turned", angle: 5 * turn - 180 },
    ]) {
      const view = await viewOf("arrows", change);
      for (const cell of page.table(view as never).rows.flat())
        if (typeof cell === "number") expect(cell === 0 || Math.abs(cell) > 1e-9, `${cell}`).toBe(true);
    }
  }
});
test("a key can be moved: of two in one direction the longer gets more, and less from a query that points away", async () => {
  const first = await viewOf("arrows");
  expect(page.drags.key.key!(first as never, "1", 1, -1)).toEqual({
    keys: [1.5, 2, -1.95, 1.45, 2.5, 0.5, -0.5, -2.5, -2.5, -0.5],
  });
  // “sat” in the direction of “cat”, twice as long.
  const keys = [1.5, 2, 3, 4, 2.5, 0.5, -0.5, -2.5, -2.5, -0.5];
  const sharesOf = async (x: number, y: number) =>
    ((await viewOf("arrows", { keys, x, y })).numbers as ArrowsNumbers).shares;
  const [toward, away] = [await sharesOf(1.2, 1.6), await sharesOf(-1.2, -1.6)];
  expect(toward[1]).toBeGreaterThan(toward[0]);
  expect(away[1]).toBeLessThan(away[0]);
  // A key of length 0 has a place for its name.
  expect(page.picture((await viewOf("arrows", { keys: Array(10).fill(0) })) as never)).not.toContain("NaN");
  // Where the query is a word's, a key is pressed and not dragged.
  expect(page.picture((await viewOf("arrows", { mode: "same" })) as never)).not.toContain("key:");
});
