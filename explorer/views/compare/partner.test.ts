import { describe, expect, it } from "vitest";
import { likeness, mostLike } from "./partner.ts";

const SENTENCES = [
  "The cat sat on the mat because it was tired",
  "time flies like an arrow",
  "fruit flies like a banana",
  "they walked along the river bank",
  "they walked to the savings bank",
];

describe("the text that is compared first", () => {
  it("is the one with the most words in common", () => {
    expect(SENTENCES.map((_, n) => mostLike(SENTENCES, n))).toEqual([0, 2, 1, 4, 3]);
    expect(likeness(SENTENCES[1], SENTENCES[2])).toBeCloseTo(0.4, 12);
  });

  it("is the text itself where it is alone, or the others are sentences of other words", () => {
    expect(mostLike(["alone"], 0)).toBe(0);
    expect(mostLike(["the cat sat", "a dog ran"], 1)).toBe(1);
  });

  it("is the next file where no name has a word in common", () => {
    expect(mostLike(["minilm.safetensors", "bert.safetensors", "gpt2.npz"], 1)).toBe(2);
    expect(mostLike(["a", "b"], 1)).toBe(0);
    expect(mostLike(["", ""], 0)).toBe(1);
  });
});
