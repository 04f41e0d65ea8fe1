import { describe, expect, it } from "vitest";
import { Tensor } from "../../../core/tensor.ts";
import type { FileTensor } from "../../../io/index.ts";
import { Counter, toFloat } from "./elements.ts";

const of = (...x: number[]) => new Tensor(Float64Array.from(x), [x.length], "float64") as FileTensor;

describe("Counter", () => {
  it("counts over pieces what it counts over the whole", () => {
    const numbers = Array.from({ length: 100 }, (_, i) => Math.sin(i) * 10 + 1e9);
    const [single, pieces] = [new Counter(), new Counter()];
    single.add(of(...numbers));
    pieces.add(of(...numbers.slice(0, 33)));
    pieces.add(of(...numbers.slice(33)));
    expect(pieces.stats).toEqual(single.stats);
    const mean = numbers.reduce((a, b) => a + b) / 100;
    const variance = numbers.reduce((a, b) => a + (b - mean) ** 2, 0) / 100;
    expect(single.stats.mean).toBeCloseTo(mean, 6);
    expect(single.stats.std).toBeCloseTo(Math.sqrt(variance), 6);
  });

  it("keeps NaN and infinities out of mean and deviation", () => {
    const counter = new Counter();
    counter.add(of(1, Number.NaN, 5, Number.POSITIVE_INFINITY, 0, Number.NEGATIVE_INFINITY));
    expect(counter.stats).toMatchObject({ count: 6, nan: 1, inf: 2, zeros: 1, mean: 2 });
    expect(counter.stats).toMatchObject({ min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY });
  });

  it("an empty tensor and one of NaN alone have no extremes", () => {
    const counter = new Counter();
    expect(counter.stats.min).toBeNaN();
    counter.add(of(Number.NaN));
    expect(counter.stats).toMatchObject({ count: 1, nan: 1, min: Number.NaN, mean: Number.NaN });
  });

  it("does not count raw 8-bit floats", () => {
    expect(new Counter().add({ dtype: "F8_E8M0", shape: [1], data: new Uint8Array(1) })).toBe(false);
  });
});

describe("toFloat", () => {
  it("rounds once to nearest even and counts what overflows", () => {
    const { tensor, overflows } = toFloat(
      "x",
      of(1 + 2 ** -11, 65519, 65520, Number.POSITIVE_INFINITY, -1e300),
      "float16",
    );
    expect([...tensor.toFloat64()]).toEqual([
      1,
      65504,
      ...[1, 1, -1].map((s) => s * Number.POSITIVE_INFINITY),
    ]);
    expect(overflows).toBe(2);
  });

  it("converts integers, and refuses raw 8-bit floats by name", () => {
    const ints: FileTensor = { dtype: "uint64", shape: [2], data: BigUint64Array.of(3n, 1n << 60n) };
    expect([...toFloat("x", ints, "float64").tensor.toFloat64()]).toEqual([3, 2 ** 60]);
    const raw: FileTensor = { dtype: "F8_E5M2FNUZ", shape: [1], data: new Uint8Array(1) };
    expect(() => toFloat("w", raw, "float32")).toThrow("w: F8_E5M2FNUZ is kept as raw bytes");
  });
});
