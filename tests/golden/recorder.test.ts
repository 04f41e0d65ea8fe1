/** Files that the PyTorch recorder wrote: every block has its own recipe, and the weights are those of eager attention. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tensor } from "heed";
import { openStore } from "heed/view";
import { describe, expect, test } from "vitest";
import { readTensors } from "../support/shared.ts";

const folder = join(import.meta.dirname, "recorder");

describe.each([
  [
    "bart",
    {
      enc: { mask: "none", kind: "self", layers: ["enc.0", "enc.1"] },
      dec: { mask: "causal", kind: "self", layers: ["dec.0", "dec.1"] },
      cross: { mask: "none", kind: "cross", layers: ["cross.0", "cross.1"] },
    },
  ],
  [
    "modernbert",
    {
      self: { mask: "none", kind: "self", layers: ["self.0", "self.3"] },
      "self-window3": { mask: { window: 3, causal: false }, kind: "self", layers: ["self.1", "self.2"] },
    },
  ],
] as const)("%s", (name, blocks) => {
  test("is drawn as the model computed it", async () => {
    const store = await openStore(readFileSync(join(folder, `${name}.safetensors`)), { name });
    const golden = readTensors(join(folder, `${name}.golden.safetensors`));
    expect(store.report.problems).toEqual([]);
    expect(store.report.verified?.maxDelta).toBeLessThan(1e-5);
    expect(store.blocks.map((block) => block.name).sort()).toEqual(Object.keys(blocks).sort());
    for (const [b, block] of store.blocks.entries()) {
      const want = (blocks as Record<string, { mask: unknown; kind: string; layers: readonly string[] }>)[
        block.name
      ];
      expect([block.recipe.mask, block.kind]).toEqual([want.mask, want.kind]);
      for (const [n, layer] of block.layers.entries()) {
        const weights = golden.get(want.layers[n]) as Tensor;
        expect(layer).toBe(Number(want.layers[n].split(".")[1]));
        for (let head = 0; head < block.heads; head++) {
          const ref = { block: b, layer, head };
          await store.load(ref);
          for (let i = 0; i < block.Nq; i++)
            store
              .row(ref, i, "weights")
              .forEach((w, j) => expect(Math.abs(w - weights.at(head, i, j))).toBeLessThan(1e-5));
        }
      }
    }
    store.dispose();
  });
});
