/** The choice of a tile by time, and where it is stored. tests/conformance/webgpu-levels.test.ts measures on an adapter. */
import { expect, it } from "vitest";
import { TILES } from "./levels.ts";
import { defaultCache, fastest } from "./tune.ts";

it("the fastest tile by its shortest time wins, and tiles are timed in turn", async () => {
  const order: number[] = [];
  const { tile, times } = await fastest(TILES, async (one) => {
    const n = TILES.indexOf(one);
    order.push(n);
    // The third is fast in the second round only.
    return n === 2 ? (order.length > 7 && order.length < 15 ? 1 : 90) : 5 + n;
  });
  expect(tile).toBe(TILES[2]);
  expect(order).toEqual([0, 1, 2].flatMap(() => TILES.map((_, n) => n)));
  expect(times["64 × 32, 4 rows a thread"]).toBe(1);
  expect(Object.keys(times)).toHaveLength(7);
});

it("without localStorage a choice is stored for the process", () => {
  const cache = defaultCache();
  expect(cache.getItem("a key")).toBeUndefined();
  cache.setItem("a key", "text");
  expect(defaultCache().getItem("a key")).toBe("text");
});
