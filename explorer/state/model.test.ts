import { describe, expect, it } from "vitest";
import { factsOf, largest, rankOf } from "./facts.ts";

describe("a row's facts", () => {
  it("are its entropy in nats, its sum, its maximum, and the share of hidden keys", () => {
    const facts = factsOf([0.5, 0.25, 0.25, 0], [1, 2]);
    expect(facts).toEqual({ entropy: 1.5 * Math.log(2), max: 0.5, sum: 1, hidden: 0.5, nonFinite: 0 });
  });

  it("count NaN and infinite values, and do not add them", () => {
    expect(factsOf([Number.NaN, 1, Number.POSITIVE_INFINITY])).toMatchObject({
      nonFinite: 2,
      sum: 1,
      max: 1,
    });
  });

  it("of a fully masked row are zeros", () => {
    expect(factsOf([0, 0])).toEqual({ entropy: 0, max: 0, sum: 0, hidden: 0, nonFinite: 0 });
  });
});

describe("the largest values of a row", () => {
  it("are sorted in descending order, ties by index, without NaN", () => {
    expect(largest([0.1, 0.5, Number.NaN, 0.5, 0.3], 3)).toEqual([1, 3, 4]);
    expect(largest([2, 1], 5)).toEqual([0, 1]);
    expect(largest([], 5)).toEqual([]);
  });

  it("have the first ranks", () => {
    expect(rankOf([0.1, 0.5, 0.4], 1)).toEqual({ rank: 1, of: 3 });
    expect(rankOf([0.1, 0.5, 0.4], 0)).toEqual({ rank: 3, of: 3 });
    expect(rankOf([0.1, 0.5, 0.4], 0, Uint8Array.of(1, 0, 1))).toEqual({ rank: 2, of: 2 });
  });
});
