import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
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
