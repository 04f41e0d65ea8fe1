/** The choice of a tile by time, and where it is stored. tests/conformance/webgpu-levels.test.ts measures on an adapter. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { TILES } from "./levels.ts";
import { defaultCache, fastest, fileCache } from "./tune.ts";

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

const folder = mkdtempSync(join(tmpdir(), "heed-tune-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("without localStorage a choice is stored in a file of the user's cache folder, and no other file remains", () => {
  process.env.XDG_CACHE_HOME = join(folder, "cache");
  const cache = defaultCache();
  expect(cache.getItem("a key")).toBeUndefined();
  cache.setItem("a key", "text");
  cache.setItem("another", "tile");
  expect([defaultCache().getItem("a key"), defaultCache().getItem("another")]).toEqual(["text", "tile"]);
  expect(readdirSync(join(folder, "cache", "heed"))).toEqual(["webgpu-tiles.json"]);
});

it.each([
  ["no JSON", "tiles"],
  ["another program's", '{"a key":"text"}'],
  ["a choice that is no text", '{"heed":"tiles","a key":5}'],
])("a file with %s is neither read nor changed, and a warning says so", (name, text) => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  const path = join(folder, `${name}.json`);
  writeFileSync(path, text);
  const cache = fileCache(path);
  expect(cache?.getItem("a key")).toBeUndefined();
  cache?.setItem("a key", "tile");
  expect(readFileSync(path, "utf8")).toBe(text);
  expect(warn.mock.calls).toEqual([
    [expect.stringMatching(/has no tiles of heed.webgpu, and is not changed; tuning measures/)],
  ]);
  warn.mockRestore();
});

it("a place that cannot be written is a warning", () => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  writeFileSync(join(folder, "file"), "");
  fileCache(join(folder, "file", "tiles.json"))?.setItem("a key", "tile");
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/cannot be written \(E/)]]);
  warn.mockRestore();
});
