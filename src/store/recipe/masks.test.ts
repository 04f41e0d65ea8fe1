import { describe, expect, it } from "vitest";
import { randomParameters } from "../../../tests/support/cases/problem/mask-json.ts";
import { random } from "../../../tests/support/cases/random.ts";
import { attentionWeights, scaledDotProductAttention } from "../../index.ts";
import { MASK_KINDS, type MaskJson, maskFromJson } from "../../masks/registry.ts";
import { writeBundle } from "../formats/bundle.ts";
import { openStore } from "../formats/open.ts";
import { storeFrom } from "../layout/from.ts";
import { parseRecipe } from "./recipe.ts";

describe("a mask of the registry", () => {
  it.each(MASK_KINDS)("$name: a bundle with it shows the engine's weights", async (kind) => {
    const r = random(kind.name.length * 97);
    const n = 12;
    const parameters = randomParameters(r, n, kind);
    const mask: MaskJson = { [kind.name]: parameters };
    const numbers = () => Float32Array.from({ length: n * 4 }, () => r.normal());
    const [query, key] = [
      { data: numbers(), shape: [1, n, 4] },
      { data: numbers(), shape: [1, n, 4] },
    ];
    const input = {
      blocks: [
        {
          tokens: Array.from({ length: n }, (_, i) => `t${i}`),
          recipe: { mask: { named: mask } },
          layers: [{ query, key }],
        },
      ],
    };
    const { lse } = scaledDotProductAttention(query, key, key, { attnMask: maskFromJson(mask) });
    const want = attentionWeights(query, key, lse, { attnMask: maskFromJson(mask) }).toFloat64();
    for (const store of [storeFrom(input), await openStore(await writeBundle(input))]) {
      await store.load({ block: 0, layer: 0, head: 0 });
      for (let i = 0; i < n; i++)
        store
          .row({ block: 0, layer: 0, head: 0 }, i, "weights")
          .forEach((w, j) => expect(Math.abs(w - want[i * n + j])).toBeLessThan(2e-6));
      expect(store.report.sentences.join(" ")).toContain(kind.describe(parameters));
      store.dispose();
    }
  });

  it("with wrong parameters is refused, and the error names the parameter", () => {
    expect(parseRecipe({ mask: { dilated: 2 } })).toEqual({ mask: { named: { dilated: 2 } } });
    expect(() => parseRecipe({ mask: { dilated: 0 } })).toThrow(
      "recipe: mask: dilated: n must be an integer",
    );
    expect(() => maskFromJson({ dilated: 0 })).toThrow("dilated: n must be an integer from 1, got 0");
    expect(() => maskFromJson({ slidingWindow: { left: 1 } })).toThrow("right must be an integer from -1");
    expect(() => maskFromJson({ slidingWindow: { left: 1, right: 1, x: 2 } })).toThrow('no parameter "x"');
    expect(() => maskFromJson("every other")).toThrow(/expected one of .*causal.*documents/);
    expect(() => maskFromJson({ and: [] })).toThrow("expected a list of masks");
  });
});
