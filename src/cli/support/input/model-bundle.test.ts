/** Bundles of models: the recipe of every layer is the model's, so that weights rebuilt from the file are those of transformers. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { carrierTokenizer } from "../../../../tests/golden/carrier.ts";
import { readTensors } from "../../../../tests/support/shared.ts";
import type { Tensor } from "../../../core/tensor.ts";
import { modelFromFiles } from "../../../models/index.ts";
import { openStore } from "../../../store/formats/open.ts";
import { bundleOfTexts } from "./model-bundle.ts";

const root = join(import.meta.dirname, "../../../../tests/golden/models");

const families = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());

describe.each(families.map(({ name }) => name))("%s", (family) => {
  test("every head drawn from the file has the weights of transformers", async () => {
    const files = ["config.json", "model.safetensors"].map(
      (name) => [name, readFileSync(join(root, family, name))] as const,
    );
    const model = await modelFromFiles(new Map([...files, ["tokenizer.json", carrierTokenizer()]]));
    const golden = readTensors(join(root, family, "golden.safetensors"));
    const ids = (golden.get("ids.0") as Tensor).toFloat64();
    const N = ids.length;
    const layers = model.attentionOf(ids);
    const attention = {
      ...model.tokenize(""),
      texts: [""],
      tokens: Array.from(ids, String),
      special: Array.from(ids, () => false),
      sequences: new Int8Array(N),
      layers,
    };
    const store = await openStore(await bundleOfTexts(model, [attention, attention]), { name: family });
    expect(store.report.problems).toEqual([]);
    expect(store.report.verified?.maxDelta).toBeLessThan(1e-4);
    const want = (golden.get("attention.0") as Tensor).toFloat64();
    for (let layer = 0; layer < model.layers; layer++)
      for (let head = 0; head < model.heads; head++) {
        const ref = { block: 1, layer, head };
        await store.load(ref);
        for (let i = 0; i < N; i++) {
          const at = ((layer * model.heads + head) * N + i) * N;
          store
            .row(ref, i, "weights")
            .forEach((w, j) => expect(Math.abs(w - want[at + j])).toBeLessThan(1e-4));
        }
      }
    store.dispose();
  });
});
