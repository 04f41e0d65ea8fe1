/** The operations a course is written with: their values, their gradients, what they refuse. */
import { eye, ones, randn, type Tensor, tensor } from "heed";
import * as nn from "heed/nn";
import { describe, expect, it } from "vitest";
import { gradcheck } from "../../../tests/support/oracles/gradcheck.ts";

const d = (rows: never | number | number[] | number[][]) => tensor(rows as number[], "float64");
const r = (shape: number[], seed: number) => randn(shape, { seed, dtype: "float64" });
const condition = tensor([
  [true, false, true],
  [false, true, true],
]);

describe("gradients by central differences", () => {
  const x = r([2, 3], 1);
  const y = r([2, 3], 2);
  const row = r([3], 3);
  const batch = r([2, 1, 3, 2], 4);
  const other = r([1, 4, 2, 3], 5);
  const positive = nn.add(nn.square(r([2, 3], 6)), 0.5);
  const CASES: Record<string, [Record<string, Tensor>, () => Tensor]> = {
    exp: [{ x }, () => nn.exp(x)],
    log: [{ positive }, () => nn.log(positive)],
    sqrt: [{ positive }, () => nn.sqrt(positive)],
    square: [{ x }, () => nn.square(x)],
    abs: [{ x }, () => nn.abs(x)],
    divide: [{ x, positive, row: row }, () => nn.add(nn.divide(x, positive), nn.divide(row, positive))],
    "numbers on either side": [{ x }, () => nn.add(nn.multiply(2, nn.sub(1, x)), nn.divide(nn.add(x, 3), 4))],
    where: [{ x, row }, () => nn.where(condition, x, row)],
    "where with a number": [{ x }, () => nn.where(condition, x, -9)],
    "tril and triu": [{ x }, () => nn.add(nn.tril(x), nn.triu(x, 1))],
    "max and min": [{ x, y }, () => nn.multiply(nn.max(x, 1), nn.min(y, 1))],
    "max of all": [{ x }, () => nn.max(x)],
    "max of the first axis, kept": [{ x }, () => nn.multiply(y, nn.max(x, 0, { keepAxis: true }))],
    "max of two axes": [{ batch }, () => nn.max(batch, [1, 3])],
    stack: [{ x, y }, () => nn.stack([x, y, x], 1)],
    pick: [{ batch }, () => nn.pick(batch, -1, null, [0, 3, 2])],
    "pick of a view": [{ x }, () => nn.pick(nn.transpose(x), [1, 3], 0)],
    "softmax over the first axis": [{ x }, () => nn.softmax(x, 0)],
    "matmul of batches that broadcast": [{ batch, other }, () => nn.matmul(batch, other)],
    "matmul of vectors": [{ x, row }, () => nn.matmul(x, row)],
    "matmul of a row": [{ x, y }, () => nn.matmul(nn.pick(x, 0), nn.transpose(y))],
  };
  for (const [name, [inputs, work]] of Object.entries(CASES)) it(name, () => gradcheck(inputs, work));
});

describe("values", () => {
  const x = d([
    [1, 5, 2],
    [7, 3, 7],
  ]);
  it("argmax returns the first of the largest elements", () => {
    expect([...nn.argmax(x, 1).data]).toEqual([1, 0]);
    expect([...nn.argmax(x, 0).data]).toEqual([1, 0, 1]);
    expect(nn.argmax(x).toArray()).toBe(3);
    expect(nn.argmax(d([1, Number.NaN, 9])).toArray()).toBe(1);
  });
  it("max and min go over an axis or all", () => {
    expect(nn.max(x, 1).toArray()).toEqual([5, 7]);
    expect(nn.min(x, 0, { keepAxis: true }).toArray()).toEqual([[1, 3, 2]]);
    expect(nn.max(x).shape).toEqual([]);
    expect(() => nn.max(tensor([[], []]), 1)).toThrow(/max: there is no element to choose from/);
  });
  it("triangles keep a diagonal", () => {
    expect(nn.tril(ones([3, 3])).toArray()).toEqual([
      [1, 0, 0],
      [1, 1, 0],
      [1, 1, 1],
    ]);
    expect(nn.triu(ones([2, 3]), 1).toArray()).toEqual([
      [0, 1, 1],
      [0, 0, 1],
    ]);
    expect(nn.tril(ones([2, 2, 2]), -1).toArray()).toEqual([
      [
        [0, 0],
        [1, 0],
      ],
      [
        [0, 0],
        [1, 0],
      ],
    ]);
  });
  it("where takes numbers and nested conditions", () => {
    expect(nn.where([[1, 0]], 0, -Infinity).toArray()).toEqual([[0, -Infinity]]);
    expect(
      nn
        .where(
          nn.tril(ones([2, 2])),
          d([
            [1, 2],
            [3, 4],
          ]),
          -9,
        )
        .toArray(),
    ).toEqual([
      [1, -9],
      [3, 4],
    ]);
  });
  it("pick takes positions, ranges and steps of views", () => {
    expect(nn.pick(x, 0).toArray()).toEqual([1, 5, 2]);
    expect(nn.pick(x, null, [0, 3, 2]).toArray()).toEqual([
      [1, 2],
      [7, 7],
    ]);
    expect(nn.pick(x, -1, -1).toArray()).toBe(7);
    expect(() => nn.pick(x, 2)).toThrow(/pick: 2 on axis 0 of length 2/);
    expect(() => nn.pick(x, null, [2, 1])).toThrow(/pick: \[2, 1\] on axis 1 of length 3/);
    expect(() => nn.pick(x, 0, 0, 0)).toThrow(/3 indices for 2 axes/);
  });
  it("matmul broadcasts leading axes and takes vectors", () => {
    expect(nn.matmul(eye(2), tensor([3, 4])).toArray()).toEqual([3, 4]);
    expect(nn.matmul(tensor([1, 2]), tensor([3, 4])).toArray()).toBe(11);
    expect(nn.matmul(ones([2, 8, 3, 4]), ones([1, 8, 4, 5])).shape).toEqual([2, 8, 3, 5]);
  });
  it("stack refuses shapes that differ", () => {
    expect(nn.stack([tensor([1, 2]), tensor([3, 4])], -1).toArray()).toEqual([
      [1, 3],
      [2, 4],
    ]);
    expect(() => nn.stack([tensor([1]), tensor([1, 2])])).toThrow(/stack: all tensors must have one shape/);
    expect(() => nn.stack([])).toThrow(/one or more tensors/);
  });
});
