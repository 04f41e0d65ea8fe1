/**
 * A real Llama of 260 K parameters (../shared/golden/stories260k, read in place): ids of its tokenizer, its greedy texts to the letter,
 * its logits, and the attention of every head. Left out where the data is not there.
 */
import { readFileSync } from "node:fs";
import type { Tensor } from "heed";
import type { DecoderModel, LayerAttention, TextModel } from "heed/models";
import { generate, layerWeights, readModel } from "heed/models";
import { beforeAll, describe, expect, test } from "vitest";
import { hasShared, readTensors, shared } from "../support/shared.ts";

const folder = shared("golden", "stories260k");
const present = hasShared("golden", "stories260k");

interface Prompt {
  readonly prompt: string;
  readonly ids: readonly number[];
  readonly continuation: readonly number[];
  readonly text: string;
}

describe.skipIf(!present)("stories260k", () => {
  const { prompts }: { prompts: readonly Prompt[] } = present
    ? JSON.parse(readFileSync(`${folder}/golden.json`, "utf8"))
    : { prompts: [] };
  let model: TextModel<DecoderModel>;
  beforeAll(async () => {
    model = (await readModel(folder)) as TextModel<DecoderModel>;
  });

  test("prompts have the published ids", () => {
    for (const { prompt, ids } of prompts) expect([...model.tokenizer.encode(prompt).ids]).toEqual(ids);
  });

  test("greedy texts of 200 tokens are the published ones, to the letter", () => {
    for (const { ids, continuation, text } of prompts) {
      const written: number[] = [];
      // No id ends the text here: the last of a continuation may be <s> or </s>.
      for (const id of generate(model.model, ids, { maxTokens: continuation.length, stop: [] }))
        written.push(id);
      expect(written).toEqual(continuation);
      expect(model.tokenizer.decode([...ids, ...written])).toBe(text);
    }
  });

  test.each([
    ["float32", 2e-4, 1e-5],
    ["float64", 1e-9, 1e-6],
  ] as const)("%s: logits and attention are PyTorch's", async (dtype, logitsWithin, weightsWithin) => {
    const golden = readTensors(`${folder}/attention.safetensors`);
    const get = (name: string) => (golden.get(name) as Tensor).toFloat64();
    const { model: network } = await readModel(folder, { dtype });
    const layers: LayerAttention[] = [];
    const logits = network.forward(Int32Array.from(get("ids")), {
      onAttention: (_, it) => void layers.push(it),
    });
    const want = get("logits");
    logits.toFloat64().forEach((x, i) => expect(Math.abs(x - want[i])).toBeLessThan(logitsWithin));
    const weights = get("attention");
    const each = weights.length / layers.length;
    layers.forEach((it, layer) =>
      layerWeights(it)
        .toFloat64()
        .forEach((x, i) => expect(Math.abs(x - weights[layer * each + i])).toBeLessThan(weightsWithin)),
    );
  });
});
