/** Tensors: views, reshaping, tensors of other libraries, rejected input. */
import { describe, expect, it } from "vitest";
import { tensor, zeros } from "./create/construct.ts";
import { DTypeError, ShapeError, UnsupportedError } from "./errors.ts";
import { asTensor, eachRow, rowMajor, sizeOf, Tensor } from "./tensor.ts";

const six = tensor(Float32Array.of(0, 1, 2, 3, 4, 5), [2, 3]);

describe("a tensor", () => {
  it("is row-major, shares its data, and has ONNX Runtime's property names", () => {
    expect([six.strides, six.offset, six.size, six.dims, six.type, six.device]).toEqual([
      [3, 1],
      0,
      6,
      [2, 3],
      "float32",
      "cpu",
    ]);
    const data = new Float32Array(4);
    expect(tensor(data, [4]).data).toBe(data);
  });
  it("returns an element by index, negative from the end", () => {
    expect([six.at(1, 2), six.at(-1, -3), six.at(0, 0)]).toEqual([5, 3, 0]);
    expect(() => six.at(2, 0)).toThrow(/index 2 on axis 0 of length 2/);
    expect(() => six.at(1)).toThrow(/1 indices for a tensor of 2 axes/);
    expect(() => six.at(0, 0.5)).toThrow(ShapeError);
  });
  it("exchanges two axes without a copy", () => {
    const t = six.transpose();
    expect([t.shape, t.strides, t.at(2, 1), t.data === six.data, t.isContiguous()]).toEqual([
      [3, 2],
      [1, 3],
      5,
      true,
      false,
    ]);
    expect(zeros([2, 3, 4, 5]).transpose(1, -1).shape).toEqual([2, 5, 4, 3]);
    expect(() => six.transpose(0, 5)).toThrow(/axes 0, 5 of a tensor of 2 axes/);
    expect(() => six.transpose(0, "1" as never)).toThrow(/two axes to exchange as numbers.*got "1"/);
  });
  it("reshapes without a copy where possible, with one axis −1", () => {
    expect(six.reshape([3, -1]).shape).toEqual([3, 2]);
    expect(six.reshape([6]).data).toBe(six.data);
    expect([...six.transpose().reshape([6]).data]).toEqual([0, 3, 1, 4, 2, 5]);
    expect(zeros([0, 4]).reshape([2, 0]).shape).toEqual([2, 0]);
    expect(() => six.reshape([4])).toThrow(/\[2, 3\] has 6 elements, \[4\] does not/);
    expect(() => six.reshape([4, -1])).toThrow(ShapeError);
    for (const shape of [
      [-2, -3],
      [-1, -6],
      [-1, -1],
    ])
      for (const x of [six, zeros([0, 3])]) expect(() => x.reshape(shape), `${shape}`).toThrow(ShapeError);
  });
  it("copies any view in row-major order, of any dtype", () => {
    const view = tensor(
      Float32Array.from({ length: 12 }, (_, i) => i),
      [2, 2],
      undefined,
      { strides: [-3, 2], offset: 7 },
    );
    expect([...view.contiguous().data]).toEqual([7, 9, 4, 6]);
    expect([...view.toFloat64()]).toEqual([7, 9, 4, 6]);
    const ids = tensor(BigInt64Array.of(1n, 2n, 3n, 4n), [2, 2])
      .transpose()
      .contiguous();
    expect([...(ids.data as BigInt64Array)]).toEqual([1n, 3n, 2n, 4n]);
    expect([...tensor(Uint16Array.of(0x3c00, 0xc000), [2], "float16").toFloat64()]).toEqual([1, -2]);
  });
  it("counts axes of length 1 and empty tensors as contiguous", () => {
    expect(new Tensor(new Float32Array(3), [3, 1], "float32", [1, 99]).isContiguous()).toBe(true);
    expect(new Tensor(new Float32Array(0), [0, 5], "float32", [1, 1]).isContiguous()).toBe(true);
  });
  it("without axes has one element", () => {
    const one = tensor([7], []);
    expect([one.size, one.at(), [...one.toFloat64()]]).toEqual([1, 7, [7]]);
  });
  it("moves to registered devices only; read copies its elements", async () => {
    await expect(six.to("cpu")).resolves.toBe(six);
    await expect(six.transpose().read()).resolves.toEqual(six.transpose().contiguous().data);
    await expect(six.to("nowhere")).rejects.toThrow(
      /Tensor.to: unknown device "nowhere"; expected one of cpu/,
    );
  });
});

describe("tensors of other libraries", () => {
  it("are read without a copy, by shape or dims, dtype or type, strides or stride", () => {
    const data = new Float32Array(8);
    for (const like of [
      { data, shape: [2, 4] },
      { data, dims: [2, 4], type: "float32" },
      { data, shape: Int32Array.of(2, 4) as unknown as number[], dtype: "F32" },
      { data, shape: [2, 4], stride: [4, 1] },
    ]) {
      const t = asTensor("x", like);
      expect([t.data === data, t.shape, t.strides]).toEqual([true, [2, 4], [4, 1]]);
    }
  });
  it("may have their first axis fastest", () => {
    const data = Float32Array.of(0, 3, 1, 4, 2, 5);
    const t = asTensor("x", { data, shape: [2, 3], fortranOrder: true });
    expect([t.strides, t.toArray()]).toEqual([[1, 2], six.toArray()]);
  });
  it("lists of numbers become float32, of booleans bool, others the requested dtype", () => {
    expect(tensor([1, 2], [2]).data).toEqual(Float32Array.of(1, 2));
    expect(tensor([true, false], [2])).toMatchObject({ dtype: "bool", data: Uint8Array.of(1, 0) });
    expect(tensor([1, 0], [2], "bool").dtype).toBe("bool");
    expect(tensor([1, 2], [2], "float64").data).toEqual(Float64Array.of(1, 2));
    expect(tensor([1, 2], [2], "int64").data).toEqual(BigInt64Array.of(1n, 2n));
  });
  it("nested lists with a shape and strings are rejected; lists may be of 16-bit dtypes", () => {
    expect(() => tensor([[1], [2]] as never, [2])).toThrow(
      /nested arrays have a shape of their own; leave the second argument out/,
    );
    expect([...tensor([1, 2], [2], "float16").data]).toEqual([0x3c00, 0x4000]);
    expect(() => tensor(["1"] as never, [1])).toThrow(DTypeError);
  });
  it("views that exceed their array at either end are rejected", () => {
    const data = new Float32Array(10);
    const like = (strides: number[], offset: number) => () =>
      asTensor("x", { data, shape: [3, 2], strides, offset });
    expect(like([4, 1], 0)).not.toThrow();
    expect(like([4, 1], 1)).toThrow(
      /x: shape \[3, 2\] with strides \[4, 1\] and offset 1 reads elements 1 to 10, the array has 10/,
    );
    expect(like([-4, 1], 7)).toThrow(/reads elements -1 to 8/);
    expect(like([4], 0)).toThrow(/strides \[4\] must be one integer for each axis/);
    expect(like([4, 0.5], 0)).toThrow(ShapeError);
    expect(like([4, 1], -1)).toThrow(/offset must be an integer ≥ 0, got -1/);
    expect(() => asTensor("x", { data, shape: [0, 99], strides: [50, 1] })).not.toThrow();
  });
  it("a tensor whose array was transferred throws where its elements are read", async () => {
    const data = new Float32Array(6);
    const t = tensor(data, [2, 3]);
    structuredClone(data, { transfer: [data.buffer] });
    for (const read of [
      () => t.at(0, 0),
      () => t.toFloat64(),
      () => t.toArray(),
      () => t.toJSON(),
      () => String(t),
      () => t.transpose().contiguous(),
    ])
      expect(read, String(read)).toThrow(
        /^Tensor: the array of \[\d, \d\] was transferred to another thread; send a copy/,
      );
    await expect(t.read()).rejects.toThrow(ShapeError);
  });
  it("invalid shapes are rejected", () => {
    const data = new Float32Array(4);
    for (const shape of [[-1], [1.5], [Number.NaN], [2 ** 53]])
      expect(() => asTensor("x", { data, shape })).toThrow(ShapeError);
    expect(() => asTensor("x", { data } as never)).toThrow(/without a shape/);
    expect(() => new Tensor(data, 3 as never, "float32")).toThrow(
      /new Tensor: expected a list of lengths as shape/,
    );
    expect(() => asTensor("x", undefined as never)).toThrow(
      /got undefined; a name that a Map or an object does not/,
    );
    expect(() => asTensor("x", [data] as never)).toThrow(/rows that are typed arrays: stack/);
    expect(() =>
      asTensor("x", { data, shape: [2, 3], fortranOrder: true, strides: [3, 1] } as never),
    ).toThrow("x: fortranOrder and strides contradict each other; leave one of them out");
    expect(() => zeros([2 ** 30, 2 ** 30])).toThrow(/more than 2\^53 elements/);
  });
});

describe("helpers", () => {
  it("strides, sizes and bytes", () => {
    expect(rowMajor([2, 3, 4])).toEqual([12, 4, 1]);
    expect([sizeOf([]), sizeOf([2, 0]), sizeOf([2, 3])]).toEqual([1, 0, 6]);
    expect(zeros([3], "bfloat16").data.byteLength).toBe(6);
  });
  it("eachRow visits the rows of a view in order", () => {
    const rows: number[][] = [];
    eachRow([2, 2, 3], [1, 10, 100], 5, (...row) => rows.push(row));
    expect(rows).toEqual([
      [5, 3, 100],
      [15, 3, 100],
      [6, 3, 100],
      [16, 3, 100],
    ]);
    eachRow([], [], 4, (...row) => expect(row).toEqual([4, 1, 1]));
    eachRow([2, 0], [1, 1], 0, () => expect.fail("nothing to visit"));
  });
});

it("new Tensor copies nothing, refuses the arrays that tensor refuses, and can be extended", () => {
  const data = Float32Array.of(1, 2);
  expect(new Tensor(data, [2], "float32").data).toBe(data);
  for (const [array, shape, dtype, error] of [
    [data, [3], "float32", ShapeError],
    [data, [2], "float64", DTypeError],
    [new Uint8Array(2), [2], "float32", DTypeError],
    [data, [2], "real", DTypeError],
  ] as const) {
    expect(() => new Tensor(array, shape, dtype as "float32"), `new Tensor ${dtype}`).toThrow(error);
    expect(() => tensor(array, shape, dtype as "float32"), `tensor ${dtype}`).toThrow(error);
  }
  class Named extends Tensor<"float32"> {
    readonly name = "x";
  }
  expect(sizeOf(new Named(data, [2], "float32").reshape([1, 2]).shape)).toBe(2);
});

it("zeros larger than any array, and an invalid shape, are typed errors", () => {
  expect(() => zeros([1e5, 1e5, 10])).toThrow(UnsupportedError);
  expect(() => zeros([1e5, 1e5, 10])).toThrow(/cannot allocate \[100000, 100000, 10\]/);
  expect(() => zeros(undefined as never)).toThrow(/zeros: shape must be a list of lengths, got undefined/);
});
