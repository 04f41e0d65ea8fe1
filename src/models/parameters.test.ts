/** Parameters of 16 bits: lookups and products widen what they read, a part at a time where the matrix is large. */
import { expect, test } from "vitest";
import { fromBfloat16, toBfloat16 } from "../core/dtype.ts";
import { OptionError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { tidy } from "../tidy.ts";
import { Parameters } from "./parameters.ts";

/** More numbers than are widened at a time. */
const [ROWS, WIDTH] = [2 ** 18 + 3, 65];
const valueAt = (n: number) => ((n * 2_654_435_761) % 2 ** 20) / 2 ** 20 - 0.5;
const bits = Uint16Array.from({ length: ROWS * WIDTH }, (_, n) => toBfloat16(valueAt(n)));
const plan = new Map([
  ["table", { shape: [ROWS, WIDTH], start: 0.02 }],
  ["bias", { shape: [ROWS], start: "zeros" as const }],
]);
const make = () =>
  new Parameters("test", plan, {
    parameters: new Map<string, Tensor>([
      ["table", new Tensor(bits, [ROWS, WIDTH], "bfloat16")],
      [
        "bias",
        new Tensor(
          Float32Array.from({ length: ROWS }, (_, n) => n % 7),
          [ROWS],
          "float32",
        ),
      ],
    ]),
  });

test("a product with a large 16-bit matrix is the product with its numbers, in every part", () => {
  const parameters = make();
  const x = Float32Array.from({ length: 2 * WIDTH }, (_, n) => Math.sin(n));
  // Twice, each in a scope of its own: nothing of the first may be gone in the second.
  for (let round = 0; round < 2; round++)
    tidy(() => {
      const y = parameters.linear(new Tensor(x, [2, WIDTH], "float32"), "table", "bias");
      expect(y.shape).toEqual([2, ROWS]);
      for (const row of [0, 1, 77, 258_110, 258_111, 258_112, ROWS - 1])
        for (const n of [0, 1]) {
          let sum = row % 7;
          for (let e = 0; e < WIDTH; e++) sum += x[n * WIDTH + e] * fromBfloat16(bits[row * WIDTH + e]);
          expect(y.at(n, row)).toBeCloseTo(sum, 4);
        }
    });
});

test("a lookup reads the rows that are asked for, and refuses those that are not there", () => {
  const parameters = make();
  const rows = parameters.lookup([ROWS - 1, 5], "table");
  expect(rows.shape).toEqual([2, WIDTH]);
  expect(rows.at(0, 64)).toBe(fromBfloat16(bits[ROWS * WIDTH - 1]));
  expect(rows.at(1, 0)).toBe(fromBfloat16(bits[5 * WIDTH]));
  expect(() => parameters.lookup([ROWS], "table")).toThrow(OptionError);
});

test("a parameter that is missing or has another shape is named", () => {
  expect(() => new Parameters("test", plan, { parameters: new Map() })).toThrow(/parameter table must be/);
});
