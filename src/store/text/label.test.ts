import { expect, test } from "vitest";
import { clean, distinctLabels, oneLine, pad, pieceLabel, truncate, widthOf, wrap } from "./label.ts";

test("wide characters and emoji take two columns, marks none", () => {
  expect(["a", "日本", "한", "ｆ", "😀", "👨‍👩‍👧", "é", "e\u0301", "❤️", "ｱ"].map(widthOf)).toEqual([
    1, 4, 2, 2, 2, 2, 1, 1, 2, 1,
  ]);
});

test("a label is cut to its columns and never in the middle of a character", () => {
  expect(truncate("children", 5)).toBe("chil…");
  expect(truncate("日本語", 4)).toBe("日…");
  expect(truncate("👨‍👩‍👧👨‍👩‍👧", 3)).toBe("👨‍👩‍👧…");
  expect(truncate("ab", 2)).toBe("ab");
  expect(truncate("abc", 0)).toBe("");
  expect(pad("日", 4)).toBe("日  ");
  expect(pad("日", 4, "start")).toBe("  日");
});

test("escape sequences, bidirectional controls and lone surrogates never reach the output", () => {
  expect(clean("a\x1b[31mb\u202ec\u2066\ud800\u0000")).toBe("a�[31mb�c���");
  expect(clean("👨‍👩‍👧")).toBe("👨‍👩‍👧");
  expect(oneLine("a\n\tb\u2028c")).toBe("a b c");
});

test("pieces lose the ▁ of their beginning unless nothing else is in them", () => {
  expect(["▁time", "ies", "▁", "▁▁a"].map(pieceLabel)).toEqual(["time", "ies", "▁", "a"]);
});

test("labels that come again are counted", () => {
  expect(distinctLabels(["the", "cat", "the", "the"])).toEqual(["the", "cat", "the₂", "the₃"]);
  expect(distinctLabels(Array(12).fill("a")).at(-1)).toBe("a₁₂");
  expect(distinctLabels(["the", "the"], true)).toEqual(["the", "the#2"]);
});

test("lines break at spaces", () => {
  expect(wrap("aa bb ccc dddddd", 5)).toEqual(["aa bb", "ccc", "dddddd"]);
});
