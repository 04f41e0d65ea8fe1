/** Errors carry their kind, a stable code and the values; and values print in a way that helps. */
import { expect, it } from "vitest";
import { came, FormatError, HeedError, OptionError, ShapeError, show, UnsupportedError } from "./errors.ts";

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

it("shows tensors and whatever else came", () => {
  expect(show("query", { shape: [2, 3], dtype: "float32" })).toBe("query [2, 3] float32");
  expect([came("x"), came(5n), came(null), came(undefined), came(1.5), came(Number.NaN)]).toEqual([
    '"x"',
    "5n",
    "null",
    "undefined",
    "1.5",
    "NaN",
  ]);
  expect([
    came([1, "a"]),
    came(new Array(9).fill(0)),
    came(new Float32Array(3)),
    came(new Map()),
    came({}),
    came(Object.create(null)),
  ]).toEqual(['[1, "a"]', "an array of 9", "Float32Array of 3", "Map", "Object", "an object"]);
});

it("a function is shown by its name, not by its text", () => {
  expect([came(function causal() {}), came(() => 1)]).toEqual(["the function causal", "a function"]);
});
