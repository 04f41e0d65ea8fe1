/**
 * The Universal Sentence Encoder lite against what TensorFlow.js computes from the same weights: 11 sentences, their
 * pieces, the attention of both layers and the embeddings. Left out where ../shared is not there.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readSafetensors } from "heed/io";
import { describe, expect, test } from "vitest";
import { openUseLite } from "../../examples/universal-sentence-encoder/use-lite.ts";

const folder = join(import.meta.dirname, "../../../shared/golden/use-lite");

interface Golden {
  sentences: { text: string; ids: number[]; pieces: string[]; embedding: number[]; attention: string[] }[];
}

describe.skipIf(!existsSync(folder))("the encoder reproduces TensorFlow.js", () => {
  const { sentences } = existsSync(folder)
    ? (JSON.parse(readFileSync(join(folder, "golden.json"), "utf8")) as Golden)
    : { sentences: [] };
  const bytes = existsSync(folder) ? readFileSync(join(folder, "attention.safetensors")) : new Uint8Array();
  const model = openUseLite();

  test.each(sentences)("$text", (golden) => {
    const got = model.run(golden.text);
    expect(got.ids).toEqual(golden.ids);
    expect(got.pieces).toEqual(golden.pieces);
    const maps = readSafetensors(bytes).tensors;
    golden.attention.forEach((name, layer) => {
      const want = maps.get(name)!;
      const { weights } = got.layers[layer];
      expect(weights.shape).toEqual(want.shape);
      expect(worst(weights.toFloat64(), want.data as Float32Array)).toBeLessThan(1e-5);
    });
    expect(worst(got.embedding, golden.embedding)).toBeLessThan(2e-6);
  });
});

function worst(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  let most = 0;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]));
  return most;
}
