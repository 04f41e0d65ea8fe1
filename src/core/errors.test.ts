/** Errors have their kind, a stable code and the values; values are formatted for messages. */
import { expect, it } from "vitest";
import {
  FormatError,
  formatTensor,
  formatValue,
  HeedError,
  OptionError,
  ShapeError,
  UnsupportedError,
} from "./errors.ts";

it("each kind is a HeedError and an Error, named after itself", () => {
  for (const Kind of [ShapeError, OptionError, UnsupportedError, FormatError]) {
    const error = new Kind("a-code", "what happened", { n: 3 });
    expect([
      error instanceof HeedError,
      error instanceof Error,
      error.name,
      error.code,
      error.message,
      error.fields.n,
    ]).toEqual([true, true, Kind.name, "a-code", "what happened", 3]);
  }
});

it("formats tensors and all other values", () => {
  expect(formatTensor("query", { shape: [2, 3], dtype: "float32" })).toBe("query [2, 3] float32");
  expect([
    formatValue("x"),
    formatValue(5n),
    formatValue(null),
    formatValue(undefined),
    formatValue(1.5),
    formatValue(Number.NaN),
  ]).toEqual(['"x"', "5n", "null", "undefined", "1.5", "NaN"]);
  expect([
    formatValue([1, "a"]),
    formatValue(new Array(9).fill(0)),
    formatValue(new Float32Array(3)),
    formatValue(new Map()),
    formatValue({}),
    formatValue(Object.create(null)),
  ]).toEqual(['[1, "a"]', "an array of 9", "Float32Array of 3", "Map", "Object", "an object"]);
});

it("formats a function by its name, not by its source", () => {
  expect([formatValue(function causal() {}), formatValue(() => 1)]).toEqual([
    "the function causal",
    "a function",
  ]);
});
