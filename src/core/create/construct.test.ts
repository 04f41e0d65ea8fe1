/** Rejected input of the functions that make tensors: the message names the entry and the remedy. */
import { describe, expect, it } from "vitest";
import { tidy } from "../../api/tidy.ts";
import { cast, full, Generator, linspace, randn, tensor, zeros } from "../../index.ts";
import { multiply, sum } from "../../nn/index.ts";
import { Tape } from "../../train/index.ts";

// Without types, as in a JavaScript program.
const make = tensor as unknown as (...args: unknown[]) => unknown;

describe("tensor", () => {
  it.each([
    [[[[1, 2], [3, 4]], 5], "tensor: expected a shape or a dtype, as in tensor([1, 2], \"float64\"), got 5"], // biome-ignore format: a row a mistake
    [[new Set([4])], "needs a shape: tensor(data, [rows, columns])"],
    [[undefined], "tensor: expected numbers, got undefined; a name that a Map or an object does not have"],
    [
      [
        [
          [1, [2]],
          [3, 4],
        ],
      ],
      "tensor: rows must have one length; [0][1] is an array, others are not",
    ],
    [[[1, true]], "tensor: entries must be of one kind; the first is a number, [1] is true"],
    [[[1, 2], "float8"], 'tensor: unknown dtype "float8"; expected one of float32'],
    [[[0.5], "int32"], "tensor: int32 holds integers, got 0.5"],
    [[[2 ** 31], "int32"], "tensor: 2147483648 does not fit int32"],
  ] as const)("%j is rejected: %s", (args, words) => {
    expect(() => make(...args)).toThrow(words);
  });

  it("rejects an integer that its dtype cannot hold", () => {
    expect(() => tensor([2n ** 63n], "int64")).toThrow("does not fit int64");
  });

  it("an empty list gives an empty tensor, and -2^31 is an int32", () => {
    expect(tensor([]).shape).toEqual([0]);
    expect(tensor([-(2 ** 31)], "int32").toArray()).toEqual([-(2 ** 31)]);
  });

  it("a tensor larger than any array is an error that names its shape", () => {
    expect(() => zeros([2 ** 26, 2 ** 26])).toThrow(/^zeros: cannot allocate \[67108864, 67108864\]/);
  });
});

describe("numbers", () => {
  it("that are not finite are rejected by name", () => {
    expect(() => linspace(0, Infinity, 3)).toThrow("linspace: end must be a finite number, got Infinity");
    expect(() => full([2], "1" as never)).toThrow('full: value must be a number, got "1"');
    expect(() => new Generator(0.5)).toThrow("seed must be an integer below 2^53, got 0.5");
  });

  it("below a number that does not divide 2^32 are drawn again where the remainder would be biased", () => {
    // A quarter of the 32-bit numbers is rejected for 3·2^30, so more numbers are drawn than returned.
    const generator = new Generator(1);
    const n = 3 * 2 ** 30;
    const drawn = Array.from({ length: 200 }, () => generator.below(n));
    expect(generator.position).toBeGreaterThan(220);
    expect(Math.max(...drawn)).toBeLessThan(n);
    expect(drawn.filter((x) => x < n / 2).length).toBeGreaterThan(70);
  });
});

it("numbers of very different sizes are printed with exponents, zero as 0", () => {
  expect(tensor([1e-9, 0, 12345]).toString({ precision: 2 })).toContain("1.00e-9,");
  expect(tensor([1e-9, 0, 12345]).toString({ precision: 2 })).toMatch(/ 0,/);
  expect(() => tensor([1]).toString({ threshold: -1 })).toThrow(
    /^Tensor\.toString: threshold must be an integer ≥ 0, got -1$/,
  );
});

it("the gradient through a cast has the dtype of its input", () => {
  const x = randn([3], { seed: 1 });
  const tape = new Tape();
  const loss = tape.run(() => {
    const wide = cast(x, "float64");
    return sum(multiply(wide, wide));
  });
  const gradient = tape.gradients(loss, [x]).get(x)!;
  expect(gradient.dtype).toBe("float32");
  expect(gradient.toArray()).toEqual(Array.from(x.toFloat64(), (v) => Math.fround(2 * v)));
});

it("leading axes that do not broadcast are an error that names their lengths", async () => {
  const { scaledDotProductAttention } = await import("../../index.ts");
  const [a, b] = [randn([2, 3, 4], { seed: 1 }), randn([5, 3, 4], { seed: 2 })];
  expect(() => scaledDotProductAttention(a, b, b)).toThrow("leading axes 2, 5, 5 do not broadcast");
});

it("tidy does not dispose a tensor that was made outside", () => {
  const x = zeros([2]);
  expect(tidy(() => x)).toBe(x);
  expect(x.toArray()).toEqual([0, 0]);
});
