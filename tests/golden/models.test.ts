/**
 * GPT-2's architecture against PyTorch: the intermediate values of the 86 K model that sorts digits
 * (../shared/golden/nano-gpt-sort), its weights read in place. Left out where the data is not there.
 */
import { readFileSync } from "node:fs";
import { attentionWeights, type Tensor, tensor } from "heed";
import { Gpt2, type Gpt2Config, generate, type LayerAttention, readConfig } from "heed/models";
import { describe, expect, test } from "vitest";
import { hasShared, readTensors, shared } from "../support/shared.ts";

const path = (name: string) => shared("golden", "nano-gpt-sort", name);

describe.skipIf(!hasShared("golden", "nano-gpt-sort"))("the GPT that sorts digits", () => {
  const present = hasShared("golden", "nano-gpt-sort");
  const config = present ? (readConfig(readFileSync(path("config.json"))).config as Gpt2Config) : undefined;
  const partials = present ? readTensors(path("partials.safetensors")) : new Map<string, Tensor>();
  const weights = present ? readTensors(path("model.safetensors")) : new Map<string, Tensor>();
  const get = (name: string) => partials.get(name) as Tensor;

  const model = (dtype: "float32" | "float64") => {
    const parameters = new Map(
      [...weights].map(([name, t]) => [
        name,
        dtype === "float32" ? t : tensor(t.toFloat64(), t.shape, dtype),
      ]),
    );
    return new Gpt2(config as Gpt2Config, { dtype, parameters: parameters as never });
  };
  const worst = (got: Tensor, want: Tensor) => {
    expect(got.shape).toEqual(want.shape);
    const other = want.toFloat64();
    return Math.max(...got.toFloat64().map((x, i) => (x === other[i] ? 0 : Math.abs(x - other[i]))));
  };

  test.each(["float32", "float64"] as const)(
    "%s: queries, keys, values, weights and logits agree to 5e-6",
    (dtype) => {
      const layers: LayerAttention[] = [];
      const idx = tensor(get("idx").data, get("idx").shape, "int32");
      const logits = model(dtype).forward(idx, { onAttention: (_, it) => void layers.push(it) });
      expect(worst(logits, get("lm_head"))).toBeLessThan(5e-6);
      const { query, key, value, lse, options } = layers[0];
      expect(worst(query, get("q"))).toBeLessThan(5e-6);
      expect(worst(key, get("k"))).toBeLessThan(5e-6);
      expect(worst(value, get("v"))).toBeLessThan(5e-6);
      const got = attentionWeights(query, key, lse, options);
      expect(worst(got, get("attSm"))).toBeLessThan(5e-6);
      // Above the diagonal exact zeros on both sides.
      get("attSm")
        .toFloat64()
        .forEach((x, i) => x === 0 && expect(got.toFloat64()[i]).toBe(0));
    },
  );

  test("it sorts six digits, token by token out of the cache", () => {
    const sorter = model("float32");
    for (const digits of [
      [2, 0, 1, 2, 1, 0],
      [1, 1, 0, 0, 2, 0],
      [2, 2, 2, 0, 1, 1],
    ])
      expect([...generate(sorter, digits, { maxTokens: 6 })]).toEqual(digits.toSorted());
  });
});
