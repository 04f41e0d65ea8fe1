/** The captures in models/captures: whole words, and the weights that PyTorch computes in float64 from the same model. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "heed/view";
import { describe, expect, test } from "vitest";

const folder = join(import.meta.dirname, "../../models/captures");

/** [file, text, links [from, to, layer, head, weight in transformers eager, float64]] */
const CAPTURES = [
  ["time-flies", "time flies like an arrow", [["flies", "arrow", 5, 11, 0.580727043383416], ["flies", "time", 2, 11, 0.7480150410756674]]],
  ["fruit-flies", "fruit flies like a banana", [["flies", "banana", 5, 11, 0.2977260435279798], ["flies", "fruit", 2, 11, 0.31939487091000823]]],
  ["river-bank", "they walked along the river bank", [["bank", "river", 2, 11, 0.6599205445959672], ["bank", "river", 5, 6, 0.3462179905298496]]],
  ["savings-bank", "they walked to the savings bank", [["bank", "savings", 2, 11, 0.7505449284357909], ["bank", "savings", 5, 4, 0.7740769387240537]]],
  ["tired-cat", "The cat sat on the mat because it was tired", [["it", "cat", 5, 11, 0.6826292512967275], ["sat", "cat", 5, 11, 0.7861281538014501]]],
] as const; // biome-ignore format: one capture a line

describe.each(CAPTURES)("%s", (name, text, links) => {
  const path = join(folder, `${name}.safetensors`);

  test("holds every word of its text as one token, in at most 180 kB", async () => {
    const store = await openStore(readFileSync(path), { name });
    expect(store.blocks).toHaveLength(1);
    const [{ queryTokens, layers, heads }] = store.blocks;
    expect(queryTokens).toEqual(["[CLS]", ...text.toLowerCase().split(" "), "[SEP]"]);
    expect([layers.length, heads]).toEqual([6, 12]);
    expect(statSync(path).size).toBeLessThan(180_000);
    expect(store.report.problems).toEqual([]);
    // Queries and keys in float16 against the model's own log-sum-exp.
    expect(store.report.verified?.maxDelta).toBeLessThan(0.01);
    store.dispose();
  });

  test("its links have PyTorch's weights, to what float16 keeps", async () => {
    const store = await openStore(readFileSync(path), { name });
    const [{ queryTokens }] = store.blocks;
    for (const [from, to, layer, head, weight] of links) {
      const ref = { block: 0, layer, head };
      await store.load(ref);
      const row = store.row(ref, queryTokens.lastIndexOf(from), "weights");
      expect(Math.abs(row[queryTokens.indexOf(to)] - weight)).toBeLessThan(5e-4);
    }
    store.dispose();
  });
});
