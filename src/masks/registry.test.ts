/** Masks by name: built from JSON, described, or rejected with the path of the error. */
import { FormatError, OptionError } from "heed";
import { describe, expect, it } from "vitest";
import { alibi } from "./alibi.ts";
import { documents } from "./document.ts";
import { maskMod } from "./expression/expr.ts";
import { table } from "./expression/table.ts";
import { and, causal, dilated, globalTokens, not, or, prefixLm, slidingWindow } from "./index.ts";
import { describeMask, isMaskJson, type MaskJson, maskFromJson } from "./registry.ts";

describe("a mask by name", () => {
  it("is the mask of its builder, with parameters and in combinations", () => {
    for (const [json, mask] of [
      ["causal", causal()],
      [{ causal: null }, causal()],
      [{ dilated: 3 }, dilated(3)],
      [{ dilated: { n: 3 } }, dilated(3)],
      [{ slidingWindow: { left: 2, right: -1 } }, slidingWindow(2, -1)],
      [{ prefixLm: 4 }, prefixLm(4)],
      [{ not: { dilated: 2 } }, not(dilated(2))],
      [{ and: ["causal", { dilated: 3 }] }, and(causal(), dilated(3))],
      [{ or: ["causal", { globalTokens: [0] }] }, or(causal(), globalTokens([0]))],
    ] as const)
      expect(JSON.stringify(maskFromJson(json)), JSON.stringify(json)).toBe(JSON.stringify(mask));
  });

  it("is described in words", () => {
    for (const [json, words] of [
      [{ dilated: 1 }, "every key"],
      [{ dilated: 4 }, "one key in 4"],
      [{ slidingWindow: { left: -1, right: 0 } }, "window of all before and 0 after"],
      [{ slidingWindow: { left: 2, right: -1 } }, "window of 2 before and all after"],
      [{ and: ["causal", { dilated: 2 }] }, "causal and one key in 2"],
      [{ or: ["causal", { dilated: 2 }] }, "causal or one key in 2"],
      [{ not: { dilated: 2 } }, "not one key in 2"],
    ] as [MaskJson, string][])
      expect(describeMask(json)).toBe(words);
  });

  it("is distinguished from other values", () => {
    for (const value of ["causal", { dilated: 2 }, { not: "causal" }, { and: [] }])
      expect(isMaskJson(value)).toBe(true);
    for (const value of ["casual", null, 3, ["causal"], {}, { causal: null, dilated: 2 }, { nand: [] }])
      expect(isMaskJson(value), JSON.stringify(value)).toBe(false);
  });

  it("is rejected with the path of the error and the expected value", () => {
    for (const [json, words] of [
      ["casual", "mask: expected one of "],
      [{ and: "causal" }, 'mask.and: expected a list of masks, got "causal"'],
      [{ or: [] }, "mask.or: expected a list of masks, got []"],
      [{ and: ["causal", { not: "odd" }] }, "mask.and[1].not[0]: expected one of"],
      [{ causal: { n: 2 } }, 'mask: causal has no parameter "n"; it takes none'],
      [{ dilated: { every: 2 } }, 'mask: dilated has no parameter "every"; it takes n'],
      [
        { slidingWindow: { left: 1, rigth: 2 } },
        'mask: slidingWindow has no parameter "rigth"; it takes left, right',
      ],
      [{ dilated: 0 }, "mask: dilated: n must be an integer from 1, got 0"],
      [{ dilated: 2.5 }, "mask: dilated: n must be an integer from 1, got 2.5"],
      [
        { slidingWindow: { left: 1 } },
        "mask: slidingWindow: right must be an integer from -1, got undefined",
      ],
      [{ globalTokens: [0, -1] }, "must be a list of integers from 0, got [0, -1]"],
      [{ globalTokens: "0" }, 'must be a list of integers from 0, got "0"'],
    ] as const) {
      const call = () => maskFromJson(json);
      expect(call, JSON.stringify(json)).toThrow(FormatError);
      expect(call).toThrow(words);
    }
  });
});

describe("masks of tables", () => {
  it("take nested arrays with one row for each batch entry", () => {
    expect(JSON.stringify(alibi([[1, 2], [3, 4]]))).toBe(
      JSON.stringify(alibi({ data: new Float64Array([1, 2, 3, 4]), shape: [2, 2] })),
    ); // biome-ignore format: rows
    expect(JSON.stringify(documents([[0, 0, 1]]))).not.toBe(JSON.stringify(documents([0, 0, 1])));
    const nested = table([[1, 2], [3, 4]]); // biome-ignore format: rows
    expect(nested.table).toMatchObject({ shape: [2, 2], type: "int" });
    expect(table([[0.5, 2]]).table).toMatchObject({ shape: [1, 2], type: "float" });
  });

  it("combining a mask with another value is rejected, and lost boolean expressions are counted", () => {
    expect(() => causal().and(true as never)).toThrow("and: expected a mask, got true");
    expect(() => causal().or("causal" as never)).toThrow(OptionError);
    expect(() => maskMod(({ q, k }) => [q.ge(k), k.lt(3), q.lt(9)][2])).toThrow(
      "maskMod: statements made and not used: 2",
    );
  });
});
