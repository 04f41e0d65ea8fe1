import { describe, expect, it } from "vitest";
import { FormatError } from "../../core/errors.ts";
import { describeRecipe, parseRecipe, recipeOfLayer } from "./recipe.ts";

describe("parseRecipe", () => {
  it("reads every field", () => {
    const recipe = {
      scale: 0.0625,
      mask: { window: 128, causal: true, globals: [0, 3] },
      keyLengths: [5, 6],
      queryOffset: 12,
      softcap: 50,
      bias: { relative: "self.relative", maxDistance: 64, bidirectional: false },
      sinks: "self.sinks",
      layerOverrides: { 1: { mask: "causal" }, 3: { softcap: 30, bias: { alibi: [1, 0.5] } } },
    };
    expect(parseRecipe(JSON.parse(JSON.stringify(recipe)))).toEqual(recipe);
    for (const mask of ["none", "causal", { prefix: 4 }, { tensor: "m", polarity: "drop" }])
      expect(parseRecipe({ mask })).toEqual({ mask });
    for (const bias of [
      { alibi: [1] },
      { dense: "b" },
      { relative: "r" },
      { disentangled: { keys: "k", rows: [0, 1, 2] } },
    ])
      expect(parseRecipe({ bias })).toEqual({ bias });
    expect(parseRecipe({})).toEqual({});
  });

  it("names an unknown field at any depth", () => {
    const cases: [unknown, RegExp][] = [
      [{ rope: 10000 }, /recipe of `dec`: the field "rope" is unknown/],
      [{ mask: { window: 3, causal: true, dilation: 2 } }, /recipe of `dec`: mask: the field "dilation"/],
      [{ mask: { prefix: 3, suffix: 2 } }, /mask: the field "suffix"/],
      [{ mask: { everyOther: [1] } }, /mask: the field "everyOther"/],
      [{ bias: { kerple: [1] } }, /bias: the field "kerple"/],
      [{ bias: { relative: "t", buckets: 3 } }, /bias: the field "buckets"/],
      [{ layerOverrides: { 2: { rope: 1 } } }, /layerOverrides.2: the field "rope"/],
      [{ layerOverrides: { 2: { layerOverrides: {} } } }, /layerOverrides.2: the field "layerOverrides"/],
    ];
    for (const [value, message] of cases) {
      expect(() => parseRecipe(value, "recipe of `dec`"), JSON.stringify(value)).toThrow(message);
      expect(() => parseRecipe(value)).toThrow(FormatError);
    }
  });

  it("says what a value should have been", () => {
    const cases: [unknown, RegExp][] = [
      [null, /recipe: expected an object, got null/],
      [[], /recipe: expected an object, got \[\]/],
      [{ scale: "1" }, /recipe: scale: expected a finite number, got "1"/],
      [{ scale: null }, /scale: expected a finite number, got null/],
      [{ softcap: 0 }, /softcap: expected a number above 0, got 0/],
      [{ queryOffset: 0.5 }, /queryOffset: expected an integer from -1073741824, got 0.5/],
      [{ keyLengths: [-1] }, /keyLengths: expected an integer from 0, got -1/],
      [{ mask: "triangle" }, /mask: expected "none", "causal", .* got "triangle"/],
      [{ mask: { window: 3 } }, /mask: causal: expected true or false, got undefined/],
      [{ mask: { tensor: "m" } }, /mask: polarity: expected "keep" or "drop", got undefined/],
      [{ mask: { tensor: "", polarity: "keep" } }, /mask: tensor: expected the name of a tensor, got ""/],
      [{ mask: { window: 1, causal: true, globals: 3 } }, /globals: expected a list of numbers, got 3/],
      [{ bias: { alibi: ["a"] } }, /alibi: expected a finite number, got "a"/],
      [{ bias: { relative: "t", maxDistance: 0 } }, /maxDistance: expected an integer from 1, got 0/],
      [{ bias: { relative: "t", bidirectional: 1 } }, /bidirectional: expected true or false, got 1/],
      [{ bias: { disentangled: { rows: [0, 1] } } }, /rows: expected an odd number of rows, got 2/],
      [{ bias: { disentangled: { rows: [-1] } } }, /rows: expected an integer from 0, got -1/],
      [{ bias: { disentangled: { rows: [0], keys: 3 } } }, /keys: expected the name of a tensor, got 3/],
      [{ sinks: 3 }, /sinks: expected the name of a tensor, got 3/],
      [{ layerOverrides: { "-1": {} } }, /layerOverrides.-1: expected a layer's number, got "-1"/],
      [{ layerOverrides: [] }, /layerOverrides: expected an object/],
    ];
    for (const [value, message] of cases)
      expect(() => parseRecipe(value), JSON.stringify(value)).toThrow(message);
  });
});

describe("a recipe", () => {
  it("of a layer includes the overrides of the layer", () => {
    const recipe = parseRecipe({
      scale: 2,
      mask: "causal",
      layerOverrides: { 1: { mask: { window: 4, causal: true } } },
    });
    expect(recipeOfLayer(recipe, 0)).toEqual({ scale: 2, mask: "causal" });
    expect(recipeOfLayer(recipe, 1)).toEqual({ scale: 2, mask: { window: 4, causal: true } });
  });

  it("lists the tensors it reads, and is described in words", () => {
    const recipe = parseRecipe({
      mask: { tensor: "m", polarity: "drop" },
      bias: { dense: "b" },
      sinks: "s",
      softcap: 30,
      keyLengths: 7,
      queryOffset: 2,
    });
    expect(describeRecipe(recipe, 64)).toBe(
      "scale 1/√64, mask `m` (nonzero = drop), 7 real keys, query 0 at position 2, soft cap 30, bias `b`, sinks `s`",
    );
    expect(
      describeRecipe(
        parseRecipe({
          scale: 0.1,
          mask: { window: 8, causal: false },
          bias: { alibi: [1] },
          layerOverrides: { 4: {} },
        }),
        8,
      ),
    ).toBe("scale 0.1, window of ±8, ALiBi, overrides in layers 4");
  });
});
