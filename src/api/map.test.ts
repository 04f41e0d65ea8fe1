import { attentionMap, configure, OptionError, randn, ShapeError, scaledDotProductAttention } from "heed";
import { describe, expect, it } from "vitest";
import { checkMap, MAPS } from "../../tests/support/cases/maps.ts";

describe("attentionMap has the largest and the mean weight of each cell", () => {
  for (const name of Object.keys(MAPS)) it(name, () => checkMap(name, async (t) => t));

  it("also on the reference backend", async () => {
    configure({ backend: "reference" });
    await checkMap("documents and score mods", async (t) => t);
  });

  it("of 16-bit heads without axes of heads, and without keys", () => {
    const [q, k] = [randn([9, 4], { seed: 1 }), randn([0, 4], { seed: 2 })];
    const { lse } = scaledDotProductAttention(q, k, k);
    expect(attentionMap(q, k, lse).mean.shape).toEqual([9, 0]);
  });

  it("wrong cells, and an lse of another call, are errors that name them", () => {
    const [q, k] = [randn([2, 9, 4], { seed: 1 }), randn([2, 11, 4], { seed: 2 })];
    const { lse } = scaledDotProductAttention(q, k, k);
    expect(() => attentionMap(q, k, lse, { size: 0 })).toThrow(/attentionMap: size must be .* got 0/);
    expect(() => attentionMap(q, k, lse, { cell: 1.5 })).toThrow(/attentionMap: cell must be .* got 1.5/);
    expect(() => attentionMap(q, k, lse, { size: 4, cell: 2 })).toThrow(OptionError);
    expect(() => attentionMap(q, k, lse, { heads: [5] })).toThrow(/heads holds 5/);
    expect(() => attentionMap(q, k, k)).toThrow(ShapeError);
    expect(() => attentionMap(q, k, lse, { isCausal: "upper-left" })).toThrow(/attentionMap: .* sum to/);
  });
});
