import { describe, expect, it } from "vitest";
import { mostSimilar, similarity } from "./partner.ts";

const SENTENCES = [
  "The cat sat on the mat because it was tired",
  "time flies like an arrow",
  "fruit flies like a banana",
  "they walked along the river bank",
  "they walked to the savings bank",
];

describe("the text that is compared first", () => {
  it("is the one with the most words in common", () => {
    expect(SENTENCES.map((_, n) => mostSimilar(SENTENCES, n))).toEqual([0, 2, 1, 4, 3]);
    expect(similarity(SENTENCES[1], SENTENCES[2])).toBeCloseTo(0.4, 12);
  });

  it("is the text itself if it is the only one, or if the others are sentences with other words", () => {
    expect(mostSimilar(["alone"], 0)).toBe(0);
    expect(mostSimilar(["the cat sat", "a dog ran"], 1)).toBe(1);
  });

  it("is none of those that are no candidates", () => {
    expect(mostSimilar([undefined, "a dog sat on the mat", "the cat sat"], 2)).toBe(1);
    expect(mostSimilar(["the cat sat on the mat", undefined], 0)).toBe(0);
  });

  it("is the next file if no name has a word in common", () => {
    expect(mostSimilar(["minilm.safetensors", "bert.safetensors", "gpt2.npz"], 1)).toBe(2);
    expect(mostSimilar(["a", "b"], 1)).toBe(0);
    expect(mostSimilar(["", ""], 0)).toBe(1);
  });
});
