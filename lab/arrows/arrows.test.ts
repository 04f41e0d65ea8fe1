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
test("word2vec: words with the same neighbors come from any directions to one, and look at each other", async () => {
  const trained = async (change: object) =>
    (await viewOf("arrows", { mode: "trained", word: 0, ...change })).numbers as ArrowsNumbers;
  const first = await trained({ steps: 0 });
  expect(first.words.slice(0, 4)).toEqual(["cat", "dog", "king", "queen"]);
  expect(first.cosines[0]).toBe(first.cosines[1]);
  expect(first.cosines[0]).toBeLessThan(-0.9);
  for (let seed = 1; seed <= 100; seed++) {
    const { keys, cosines } = await trained({ seed });
    expect(cosines[1], `seed ${seed}`).toBeGreaterThan(0.9);
    // No arrow leaves the picture.
    expect(Math.max(...keys.flat().map(Math.abs))).toBeLessThan(4);
  }
  const last = await trained({});
  const king = await trained({ word: 2 });
  expect(last.shares[1]).toBeGreaterThan(3 * last.shares[2]);
  expect(king.shares[3]).toBeGreaterThan(3 * king.shares[1]);
  // The query of a trained word is not dragged.
  expect(page.picture((await viewOf("arrows", { mode: "trained" })) as never)).not.toContain("query:");
});

test("each score is in the picture, wide and narrow, and has no color of keys", async () => {
  const view = (await viewOf("arrows")) as { numbers: ArrowsNumbers };
  for (const wide of [true, false]) {
    const picture = page.picture({ ...view, wide } as never);
    for (const score of view.numbers.scores)
      expect(picture, wide ? "wide" : "narrow").toContain(`>${score.toFixed(2).replace("-", "−")}<`);
  }
  const scores = /data-name="scores">(.*?)<\/g>/.exec(page.picture({ ...view, wide: true } as never))![1];
  expect(scores).toContain("<rect");
  expect(scores).not.toMatch(/class="fk/);
});
