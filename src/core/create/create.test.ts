/** Computed tensors, and tensors as nested arrays, text and JSON. */

import { inspect } from "node:util";
import {
  arange, cast, eye, full, Generator, linspace, ones, rand, randint, randn, tensor, withSeed, zeros,
} from "heed"; // biome-ignore format: one list
import { describe, expect, it } from "vitest";

describe("constants and ranges", () => {
  it("have the elements of their definition", () => {
    expect(ones([2, 2]).toArray()).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(full([2], 1.5, "float16").toArray()).toEqual([1.5, 1.5]);
    expect(eye(2, "int32").toArray()).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(arange(3).toArray()).toEqual([0, 1, 2]);
    expect(arange(1, 0, { step: -0.5, dtype: "float64" }).toArray()).toEqual([1, 0.5]);
    expect(arange(5, 2).shape).toEqual([0]);
    expect(linspace(0, 1, 5).toArray()).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(linspace(3, 9, 1).toArray()).toEqual([3]);
  });
  it("reject invalid arguments", () => {
    expect(() => arange(0, 1, { step: 0 })).toThrow(/step must be a finite number other than 0/);
    expect(() => ones([-1])).toThrow(/ones: every axis must be an integer ≥ 0/);
    expect(() => ones(3 as never)).toThrow(/ones: shape must be a list of lengths/);
    expect(() => full([1], "a" as never)).toThrow(/full: value must be a number/);
    expect(() => zeros([1], "half" as never)).toThrow(/zeros: dtype must be one of float32/);
    expect(() => randn([1], { dtype: "int32" as never })).toThrow(
      /randn: dtype must be a float dtype.*randint/,
    );
    expect(() => randint(3, 3, [1])).toThrow(/low < high/);
    // An integer dtype does not truncate or wrap.
    for (const [make, words] of [
      [() => full([1], 1.5, "int32"), "full: int32 holds integers, got 1.5"],
      [() => full([1], Number.NaN, "int64"), "full: int64 holds integers, got NaN"],
      [() => full([1], 1e20, "int32"), "full: 100000000000000000000 does not fit int32"],
      [() => arange(0, 2, { step: 0.5, dtype: "int64" }), "arange: int64 holds integers, got 0.5"],
      [() => linspace(0, 1, 3, "int32"), "linspace: int32 holds integers, got 0.5"],
      [() => randint(0, 2 ** 32, [1]), "randint: 4294967295 does not fit int32"],
    ] as const)
      expect(make).toThrow(words);
    expect(randint(0, 2 ** 32, [1], { dtype: "int64", seed: 1 }).at(0)).toBeLessThan(2 ** 32);
  });
  it("of bool are true where the number is not 0", () => {
    for (const x of [0.5, 256, 1e20, Infinity, Number.NaN])
      expect(full([1], x, "bool").toArray()).toEqual([true]);
    expect(linspace(0, 1, 3, "bool").toArray()).toEqual([false, true, true]);
  });
});

describe("random tensors", () => {
  it("are the same for the same seed and differ from call to call without one", () => {
    expect(randn([3], { seed: 7 }).data).toEqual(randn([3], { seed: 7 }).data);
    expect(randn([3]).data).not.toEqual(randn([3]).data);
    expect(withSeed(5, () => randn([3]).data)).toEqual(randn([3], { seed: 5 }).data);
    const generator = new Generator(9);
    const first = randn([4], { seed: generator });
    expect(generator.position).toBe(8);
    expect(randn([4], { seed: generator }).data).not.toEqual(first.data);
  });
  it("have the mean and variance of their distribution", () => {
    const moments = (t: { toFloat64(): Float64Array }) => {
      const x = t.toFloat64();
      const mean = x.reduce((a, b) => a + b) / x.length;
      return [mean, x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length];
    };
    const [m, v] = moments(randn([100, 1000], { seed: 1 }));
    expect([Math.abs(m) < 0.02, Math.abs(v - 1) < 0.02]).toEqual([true, true]);
    const [mu, vu] = moments(rand([100, 1000], { seed: 1 }));
    expect([Math.abs(mu - 0.5) < 0.01, Math.abs(vu - 1 / 12) < 0.002]).toEqual([true, true]);
    const dice = randint(1, 7, [6000], { seed: 2 }).toFloat64();
    expect([Math.min(...dice), Math.max(...dice)]).toEqual([1, 6]);
    expect(Math.abs(moments({ toFloat64: () => dice })[0] - 3.5)).toBeLessThan(0.1);
  });
});

describe("a tensor as text", () => {
  it("shows its shape, its dtype and aligned rows", () => {
    expect(
      String(
        tensor([
          [1, 20],
          [-3, 4],
        ]),
      ),
    ).toBe("tensor [2, 2] float32\n[[ 1, 20],\n [-3,  4]]");
    expect(
      String(
        tensor([
          [0.5, 0.25],
          [1 / 3, 1],
        ]),
      ),
    ).toBe("tensor [2, 2] float32\n[[0.5000, 0.2500],\n [0.3333, 1.0000]]");
    expect(String(tensor([0.5, 1.5]))).toBe("tensor [2] float32\n[0.5, 1.5]");
    expect(String(tensor([true, false]))).toBe("tensor [2] bool\n[ true, false]");
    expect(String(tensor(3.5))).toBe("tensor [] float32\n3.5");
    expect(String(zeros([0, 3]))).toBe("tensor [0, 3] float32, empty");
    expect(
      String(
        tensor([
          [[1], [2]],
          [[3], [4]],
        ]),
      ),
    ).toBe("tensor [2, 2, 1] float32\n[[[1],\n  [2]],\n\n [[3],\n  [4]]]");
  });
  it("writes NaN, infinities, small and large numbers", () => {
    expect(String(tensor([0, -Infinity, Number.NaN]))).toBe(
      "tensor [3] float32\n[        0, -Infinity,       NaN]",
    );
    expect(tensor([1e-7, 1], "float64").toString({ precision: 2 })).toBe("tensor [2] float64\n[0.00, 1.00]");
    expect(tensor([1e-9, 2e-9], "float64").toString({ precision: 2 })).toBe(
      "tensor [2] float64\n[1.00e-9, 2.00e-9]",
    );
    expect(String(tensor([-0.00001, 0.5], "float64"))).toBe("tensor [2] float64\n[0.0000, 0.5000]");
    expect(String(tensor([2n ** 60n, 1n]))).toContain("1152921504606846976");
    expect(String(tensor([123456789, -1], "int32"))).toBe("tensor [2] int32\n[123456789,        -1]");
    expect(tensor([0.5]).toString({ precision: 30 })).toBe("tensor [1] float32\n[0.5]");
  });
  it("breaks rows at 80 characters", () => {
    const lines = String(arange(60).reshape([2, 1, 30])).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines.slice(1, 4)).toEqual([
      "[[[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18,",
      "   19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]],",
      "",
    ]);
    const deep = tensor([-Infinity, 1]).reshape([...Array(40).fill(1), 2]);
    expect(String(deep)).toContain("[-Infinity,\n");
    expect(arange(1200).toString({ threshold: Infinity })).toContain(" 600, ");
  });
  it("is shortened to its edges where it is long", () => {
    const text = String(arange(10000).reshape([100, 100]));
    expect(text.split("\n")).toHaveLength(8);
    expect(text).toContain("[   0,    1,    2, …,   97,   98,   99]");
    expect(String(arange(12).toString({ threshold: 10, edge: 1 }))).toBe("tensor [12] float32\n[ 0, …, 11]");
    expect(() => arange(2).toString({ precision: -1 })).toThrow(/precision must be an integer/);
  });
  it("is what console.log shows", () => expect(inspect(tensor([1, 2]))).toBe("tensor [2] float32\n[1, 2]"));
});

describe("a tensor as arrays and JSON", () => {
  it("survives a round trip in every dtype, special numbers included", () => {
    for (const t of [
      tensor([
        [1.5, Number.NaN],
        [-Infinity, -0],
      ]),
      tensor([0.1], "float64"),
      tensor([1.5, 2], "bfloat16"),
      tensor([0.1, 65504], "float16"),
      tensor([true, false]),
      tensor([2n ** 62n + 1n, -5n]),
      tensor([1, 2], "int32"),
      tensor(3),
      zeros([0, 2]),
      tensor([
        [1, 2],
        [3, 4],
      ]).transpose(),
    ]) {
      const back = tensor(JSON.parse(JSON.stringify(t)));
      expect([back.dtype, back.shape]).toEqual([t.dtype, t.shape]);
      expect([...back.data]).toEqual([...t.contiguous().data].map((x) => (Object.is(x, -0) ? 0 : x)));
    }
  });
  it("toArray reads views", () => {
    expect(
      tensor([
        [1, 2],
        [3, 4],
      ])
        .transpose()
        .toArray(),
    ).toEqual([
      [1, 3],
      [2, 4],
    ]);
    expect(cast(tensor([1, 0]), "bool").toArray()).toEqual([true, false]);
    expect(tensor(4).toArray()).toBe(4);
  });
});
