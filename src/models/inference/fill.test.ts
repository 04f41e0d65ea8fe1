import { describe, expect, test } from "vitest";
import { OptionError, UnsupportedError } from "../../core/errors.ts";
import { Bert, fillMask, locateShipped, readModel, textModel, trainTokenizer } from "../index.ts";

const tokenizer = trainTokenizer(["the cat sat on the mat and the dog ran"], {
  kind: "wordpiece",
  vocabSize: 60,
});
const config = {
  vocab_size: tokenizer.size,
  hidden_size: 8,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  intermediate_size: 16,
  max_position_embeddings: 16,
  initializer_range: 0.5,
};
const bert = new Bert(config, { seed: 1 });
const model = textModel(bert, tokenizer);

describe("fillMask", () => {
  test("gives softmax of the logits at each mask, best first", () => {
    const fills = fillMask(model, "the [MASK] sat on [MASK]", { top: 3 });
    const { ids } = tokenizer.encode("the [MASK] sat on [MASK]");
    const V = tokenizer.size;
    const logits = bert.forward(ids).toFloat64();
    expect(fills.map(({ position }) => position)).toEqual([2, ids.length - 2]);
    for (const { position, candidates } of fills) {
      const row = logits.subarray(position * V, (position + 1) * V);
      const total = row.reduce((sum, x) => sum + Math.exp(x), 0);
      const order = Array.from(row.keys()).sort((a, b) => row[b] - row[a]);
      expect(candidates.map(({ id }) => id)).toEqual(order.slice(0, 3));
      for (const { id, token, probability } of candidates) {
        expect(probability).toBeCloseTo(Math.exp(row[id]) / total, 6);
        expect(tokenizer.id(token)).toBe(id);
      }
    }
    expect(fillMask(model, "the <mask> sat on [MASK]", { top: 3 })).toEqual(fills);
    const all = fillMask(model, "[MASK]", { top: 1000 })[0].candidates;
    expect(all.length).toBe(V);
    expect(all.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 9);
  });

  test("logits that are NaN or infinite are an error, not a ranking of tokens", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const broken = new Bert(config, { seed: 1 });
      const weights = broken.parameters().get("bert.encoder.layer.0.attention.self.value.weight");
      (weights as { data: Float32Array }).data[0] = value;
      expect(() => fillMask(textModel(broken, tokenizer), "the [MASK]")).toThrow(
        expect.objectContaining({
          code: "non-finite",
          message: expect.stringContaining("fillMask: the logit of token"),
        }),
      );
    }
  });

  test("a decoder, a model without the head, a text without a mask and a wrong top are refused", async () => {
    const decoder = await readModel(locateShipped("decoder"));
    expect(() => fillMask(decoder, "a [MASK]")).toThrow(UnsupportedError);
    const headless = textModel(new Bert(config, { hasHead: false }), tokenizer);
    expect(() => fillMask(headless, "a [MASK]")).toThrow(/head/);
    expect(() => fillMask(model, "the cat")).toThrow(/no mask; write \[MASK\]/);
    expect(() => fillMask(model, "[MASK]", { top: 0 })).toThrow(OptionError);
  });
});
