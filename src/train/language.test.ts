import { describe, expect, test } from "vitest";
import { tensor } from "../core/create/construct.ts";
import type { Tensor } from "../core/tensor.ts";
import { maskedBatch, nextTokenBatch } from "./data/data.ts";
import { Generator } from "./data/random.ts";
import { type LanguageOptions, languageModel } from "./language.ts";
import { meanLoss } from "./loop/held-out.ts";
import { train } from "./loop/loop.ts";
import { crossEntropy, IGNORE_INDEX } from "./loss.ts";
import { Tape } from "./tape.ts";

const sizes: LanguageOptions = { vocabulary: 23, context: 12, layers: 2, heads: 2, width: 8 };
const random = (n: number, seed: number) => {
  const generator = new Generator(seed);
  return Int32Array.from({ length: n }, () => 4 + generator.below(19));
};
const masking = { mask: 3, vocabulary: 23, special: new Set([0, 1, 2, 3]), seed: 5, share: 0.3 };
const batches = {
  decoder: nextTokenBatch([random(13, 1), random(13, 2)]),
  encoder: maskedBatch([random(12, 1), random(12, 2)], 0, masking),
};

describe.each(["decoder", "encoder"] as const)("languageModel, %s", (kind) => {
  test("its gradients are those of central differences", () => {
    const model = languageModel(kind, { ...sizes, dtype: "float64", seed: 3 });
    const batch = batches[kind];
    const tape = new Tape();
    const loss = tape.run(() => model.loss(batch));
    const gradients = tape.gradients(loss, model.parameters().values());
    const generator = new Generator(7);
    for (const [name, parameter] of model.parameters()) {
      const gradient = gradients.get(parameter) as Tensor;
      expect(gradient?.isContiguous(), name).toBe(true);
      for (let n = 0; n < 3; n++) {
        const i = generator.below(parameter.size);
        const data = parameter.data as Float64Array;
        const at = (step: number) => {
          const before = data[i];
          data[i] += step;
          const value = meanLoss(model, [batch]);
          data[i] = before;
          return value;
        };
        // Numbers of an embedding are near 0.02, and the norm behind them bends as 1/0.02²: a step well below that.
        const slope = (at(2e-6) - at(-2e-6)) / 4e-6;
        expect(Math.abs((gradient.data as Float64Array)[i] - slope), name).toBeLessThan(1e-8);
      }
    }
  });

  test("the same seed gives the same numbers, and the model memorizes a batch, with dropout too", async () => {
    const [a, b] = [1, 1].map((seed) => languageModel(kind, { ...sizes, seed, dropout: 0.1 }));
    const run = (model: typeof a) =>
      train({ model, data: () => [batches[kind]], steps: 60, adamw: { lr: 0.02 }, seed: 4 });
    const [first, second] = [await run(a), await run(b)];
    expect(first.losses).toEqual(second.losses);
    expect(first.losses[0]).toBeGreaterThan(2.5);
    expect(meanLoss(a, [batches[kind]])).toBeLessThan(1.5);
  });

  test.each<[string, Partial<LanguageOptions>]>([
    ["heads", { heads: 3 }],
    ["layers", { layers: 0 }],
    ["width", { width: 1.5 }],
    ["dropout", { dropout: 1 }],
  ])("refuses wrong %s", (code, options) => {
    expect(() => languageModel(kind, { ...sizes, ...options })).toThrow(
      expect.objectContaining({ name: "OptionError", code }),
    );
  });
});

test.each([
  ["encoder", "bert.embeddings.position_embeddings.weight"],
  ["decoder", "transformer.wpe.weight"],
] as const)("positions of a new %s are alike where they are near", (kind, name) => {
  const { model } = languageModel(kind, { vocabulary: 16, context: 32, layers: 1, heads: 2, width: 8 });
  const positions = model.parameters().get(name)?.toFloat64();
  const row = (i: number) => positions?.subarray(8 * i, 8 * i + 8) as Float64Array;
  const alike = (i: number, j: number) => row(i).reduce((sum, x, d) => sum + x * row(j)[d], 0);
  for (const i of [0, 9, 20]) {
    expect(alike(i, i)).toBeGreaterThan(alike(i, i + 1));
    expect(alike(i, i + 1)).toBeGreaterThan(alike(i, i + 3));
    expect(alike(i, i + 1)).toBeCloseTo(alike(5, 6), 6);
  }
});

test("a masked loss computed at the masked places is the one over all places", () => {
  const model = languageModel("encoder", { ...sizes, dtype: "float64" });
  const { inputs, targets } = batches.encoder;
  const logits = model.model.forward(inputs);
  expect(meanLoss(model, [batches.encoder])).toBeCloseTo(crossEntropy(logits, targets).at(), 12);
});

test("an encoder reads nothing but its inputs: what is asked at one place does not depend on what others ask", () => {
  const model = languageModel("encoder", { ...sizes, dtype: "float64" });
  const { inputs } = batches.encoder;
  const only = (place: number) => {
    const targets = new Int32Array(inputs.size).fill(IGNORE_INDEX);
    targets[place] = 9;
    return { inputs, targets: tensor(targets, inputs.shape, "int32"), count: 1 };
  };
  const both = { ...only(3), count: 2 };
  both.targets.data[17] = 9;
  const mean = (meanLoss(model, [only(3)]) + meanLoss(model, [only(17)])) / 2;
  expect(meanLoss(model, [both])).toBeCloseTo(mean, 12);
});
