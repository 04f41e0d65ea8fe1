/** Conversion between dtypes. */
import { cast, DTypeError, tensor } from "heed";
import { describe, expect, it } from "vitest";
import type { DType } from "../core/dtype.ts";

const ALL: readonly DType[] = ["float32", "float64", "float16", "bfloat16", "bool", "int32", "int64"];

describe("cast", () => {
  it("between all pairs of dtypes keeps small integers", () => {
    for (const from of ALL)
      for (const to of ALL) {
        const values = from === "bool" || to === "bool" ? [0, 1, 1, 0] : [0, 1, -2, 96];
        const x = tensor(values, from);
        expect([...cast(x, to).toFloat64()], `${from} to ${to}`).toEqual(values);
        expect(cast(x, to).dtype).toBe(to);
      }
  });
  it("reads views in row-major order", () => {
    const x = tensor([
      [1, 2],
      [3, 4],
    ]).transpose();
    expect([...cast(x, "int32").data]).toEqual([1, 3, 2, 4]);
    expect([...cast(x, "float16").toFloat64()]).toEqual([1, 3, 2, 4]);
  });
  it("rounds once to nearest even, truncates to integers, and returns a tensor of the same dtype unchanged", () => {
    expect([...cast(tensor([1 / 3], "float64"), "bfloat16").toFloat64()]).toEqual([0.333984375]);
    expect([...cast(tensor([-1.9, 2.5]), "int32").data]).toEqual([-1, 2]);
    expect([...cast(tensor([0, -0, 0.1, Number.NaN]), "bool").data]).toEqual([0, 0, 1, 1]);
    const x = tensor([1, 2]);
    expect(cast(x, "float32")).toBe(x);
  });
  it("rejects numbers that an integer dtype cannot hold and unknown dtypes", () => {
    for (const x of [Number.NaN, 2 ** 31, -(2 ** 40), Infinity])
      expect(() => cast(tensor([x], "float64"), "int32")).toThrow(/int32 cannot hold/);
    expect(() => cast(tensor([2n ** 40n]), "int32")).toThrow(/int32 cannot hold 1099511627776/);
    expect(() => cast(tensor([1]), "half" as never)).toThrow(DTypeError);
  });
  it("nested arrays convert to every dtype", () => {
    expect([...tensor([[1.5], [-2]], "float16").data]).toEqual([0x3e00, 0xc000]);
    expect(tensor([2n ** 62n + 1n]).data[0]).toBe(2n ** 62n + 1n);
    expect(tensor(7).shape).toEqual([]);
    expect(tensor([[], []]).shape).toEqual([2, 0]);
    expect(() => tensor([1.5], "int64")).toThrow(/int64 holds integers, got 1.5/);
  });
});
