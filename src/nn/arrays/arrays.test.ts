/** The operations that finish a course, against their definitions, with their gradients and what they refuse. */
import { cast, ones, randn, type Tensor, tensor } from "heed";
import * as nn from "heed/nn";
import { grad } from "heed/train";
import { describe, expect, it } from "vitest";
import { gradcheck } from "../../../tests/support/oracles/gradcheck.ts";

const r = (shape: number[], seed: number) => randn(shape, { seed, dtype: "float64" });
const x = r([2, 3], 1);
const y = r([2, 3], 2);
const row = r([3], 3);
const cube = r([2, 3, 4], 4);
const positive = nn.add(nn.square(r([2, 3], 6)), 0.5);
const rows = tensor([
  [3, 1, 2],
  [-4, 0, 5],
]);

describe("gradients by central differences", () => {
  const CASES: Record<string, [Record<string, Tensor>, () => Tensor | Tensor[]]> = {
    permute: [{ cube }, () => nn.permute(cube, [2, 0, -2])],
    "squeeze and expandDims": [{ x }, () => nn.squeeze(nn.expandDims(x, [0, 2]), 0)],
    pow: [{ positive, row }, () => nn.pow(positive, row)],
    "pow of negative numbers to a number": [{ x }, () => nn.pow(x, 3)],
    "a number to a power": [{ row }, () => nn.pow(2, row)],
    "mul and div": [{ x, positive }, () => nn.div(nn.mul(x, 2), positive)],
    clip: [{ cube }, () => nn.clip(cube, -0.5, 0.7)],
    maskedFill: [{ x }, () => nn.maskedFill(x, [true, false, true], -9)],
    cumsum: [{ cube }, () => [nn.cumsum(cube, 0), nn.cumsum(cube, 1), nn.cumsum(cube, { axis: -1 })]],
    sort: [{ cube }, () => [nn.sort(cube).values, nn.sort(cube, { axis: 1, descending: true }).values]],
    topk: [{ cube }, () => [nn.topk(cube, 2).values, nn.topk(cube, 1, { axis: 0, largest: false }).values]],
    "sum and mean of several axes": [{ cube }, () => [nn.sum(cube, [0, -1]), nn.mean(cube, { axis: [1, 2], keepAxis: true })]],
    variance: [{ cube }, () => [nn.variance(cube), nn.variance(cube, 1), nn.variance(cube, [0, 2], { correction: 0 })]],
    norm: [{ cube }, () => [nn.norm(cube), nn.norm(cube, 2), nn.norm(cube, [0, 1], { keepAxis: true })]],
    take: [{ cube }, () => [nn.take(cube, [1, 1, -2]), nn.take(cube, tensor([[0, 2], [2, -1]], "int32"), 1)]],
    gather: [{ cube }, () => nn.gather(cube, tensor([[[3, 0], [1, 1]]], "int32"), 2)],
    einsum: [{ x, y, row }, () => [nn.einsum("ij,kj,j->ik", x, y, row), nn.einsum("ij,ij->i", x, y), nn.einsum("ij", x), nn.einsum("...,...->", x, nn.expandDims(row, 0))]],
  }; // biome-ignore format: a case a line
  for (const [name, [inputs, work]] of Object.entries(CASES)) it(name, () => gradcheck(inputs, work));

  it("the norm of zeros and x⁰ at 0 have the gradient 0", () => {
    const zero = tensor([0, 0], "float64");
    const steps: nn.Operation[] = [];
    nn.withRecorder(
      (step) => steps.push(step),
      () => [nn.norm(zero), nn.pow(zero, 0)],
    );
    expect(steps[0].backward([tensor(1, "float64")])[0]!.toArray()).toEqual([0, 0]);
    expect(steps[1].backward([tensor([1, 1], "float64")])[0]!.toArray()).toEqual([0, 0]);
  });
});

describe("values", () => {
  it("take and gather are their definitions, element by element", () => {
    const taken = nn.take(cube, [2, 0], 1);
    const picked = tensor([[[0, 1, 2, 0]], [[2, 2, 1, 0]]], "int32"); // biome-ignore format: a list
    const gathered = nn.gather(cube, picked, 1);
    for (let i = 0; i < 2; i++)
      for (let k = 0; k < 4; k++) {
        expect([taken.at(i, 0, k), taken.at(i, 1, k)]).toEqual([cube.at(i, 2, k), cube.at(i, 0, k)]);
        expect(gathered.at(i, 0, k)).toBe(cube.at(i, picked.at(i, 0, k), k));
      }
  });

  it("einsum is the sum of products over every letter that the result lacks", () => {
    const [a, b] = [r([2, 3, 4], 7), r([2, 5, 4], 8)];
    const z = nn.einsum("bqd,bkd->bqk", a, b);
    for (let i = 0; i < 2; i++)
      for (let q = 0; q < 3; q++)
        for (let k = 0; k < 5; k++) {
          const products = [0, 1, 2, 3].map((d) => a.at(i, q, d) * b.at(i, k, d));
          expect(z.at(i, q, k)).toBeCloseTo(
            products.reduce((s, p) => s + p, 0),
            13,
          );
        }
    expect(nn.einsum("ji", x).toArray()).toEqual(x.transpose().toArray());
    expect(nn.einsum("ijk->kij", cube).toArray()).toEqual(nn.permute(cube, [2, 0, 1]).toArray());
    expect(nn.einsum("i,j->ij", tensor([1, 2]), tensor([3, 4])).toArray()).toEqual([[3, 4], [6, 8]]); // biome-ignore format: a matrix
    expect(nn.einsum("i,j->", tensor([1, 2]), tensor([3, 4])).toArray()).toBe(21);
    const [q, k] = [r([2, 1, 3, 4], 7), r([3, 5, 4], 8)];
    expect(nn.einsum("...qd,...kd->...qk", q, k).toArray()).toEqual(nn.matmul(q, k.transpose()).toArray());
    expect(nn.einsum("...qd,kd", q, r([5, 4], 9)).shape).toEqual([2, 1, 5, 3]);
    expect(nn.einsum("i...->...", cube).toArray()).toEqual(nn.sum(cube, 0).toArray());
    expect(nn.einsum("...j->j", cube).toArray()).toEqual(nn.sum(cube, [0, 1]).toArray());
    expect(() => nn.einsum("...i,...i->...", q, r([3, 2, 4], 9))).toThrow("an axis of ...");
    expect(() => nn.einsum("...ij", row)).toThrow('"...ij" names 2 axes');
    expect(nn.einsum("ij,jk", rows, ones([3, 2])).toArray()).toEqual([[6, 6], [1, 1]]); // biome-ignore format: a matrix
    // A letter that only a later operand has beside an earlier one is not summed before.
    const [c, d, e] = [r([3, 4], 9), r([4, 2], 10), r([2, 2], 11)];
    const chain = nn.matmul(nn.matmul(x, c), d);
    expect(nn.einsum("ij,jk,kl,il->", x, c, d, e).at()).toBeCloseTo(nn.sum(nn.multiply(chain, e)).at(), 12);
  });

  it("sort is stable, NaN is the largest, and the indices give the values", () => {
    const list = tensor([2, Number.NaN, -Infinity, 2, Infinity, 0]);
    const { values, indices } = nn.sort(list);
    expect(values.toArray()).toEqual([-Infinity, 0, 2, 2, Infinity, Number.NaN]);
    expect(indices.toArray()).toEqual([2, 5, 0, 3, 4, 1]);
    expect(nn.sort(list, { descending: true }).indices.toArray()).toEqual([1, 4, 0, 3, 5, 2]);
    const { values: best, indices: places } = nn.topk(rows, 2);
    expect(best.toArray()).toEqual([[3, 2], [5, 0]]); // biome-ignore format: a matrix
    expect(nn.gather(rows, places, 1).toArray()).toEqual(best.toArray());
  });

  it("an axis is a number, a list of one, or an option, also in functions of one axis", () => {
    const one = {
      softmax: nn.softmax,
      cumsum: nn.cumsum,
      argmax: nn.argmax,
      sort: (x: Tensor, a: never) => nn.sort(x, a).values,
    };
    const topk = (x: Tensor, a: never) => nn.topk(x, 1, a).values;
    for (const [name, f] of Object.entries({ ...one, topk } as Record<
      string,
      (x: Tensor, axis: never) => Tensor
    >)) {
      const [want, ...others] = [0, [0], -2, { axis: 0 }].map((axis) => f(rows, axis as never).toArray());
      for (const other of others) expect(other, name).toEqual(want);
      expect(want, name).not.toEqual(f(rows, 1 as never).toArray());
      expect(() => f(rows, [0, 1] as never), name).toThrow(
        `${name}: the axis must be one integer, got [0, 1]`,
      );
    }
  });

  it("comparisons are false with NaN, and ne is true; their count is a sum", () => {
    const list = tensor([1, Number.NaN, 3]);
    const results = [nn.lt, nn.le, nn.gt, nn.ge, nn.eq, nn.ne].map((f) => f(list, 1).toArray());
    expect(results).toEqual([
      [false, false, false], [true, false, false], [false, false, true], [true, false, true], [true, false, false], [false, true, true],
    ]); // biome-ignore format: a row
    expect(nn.sum(nn.gt(rows, 0)).toArray()).toBe(4);
    expect(nn.sum(nn.gt(rows, 0), 1).toArray()).toEqual([3, 1]);
    expect(nn.mean(nn.eq(nn.argmax(rows, -1), [0, 1])).toArray()).toBe(0.5);
    expect(nn.sum([[true, false], [true, true]], 0).toArray()).toEqual([2, 1]); // biome-ignore format: a matrix
    expect(nn.eq(tensor([5n, 6n]), 6).toArray()).toEqual([false, true]);
    expect(nn.lt(0.1, cast(list, "float64")).toArray()).toEqual([true, false, true]);
  });

  it("an axis is a number, a list or an option", () => {
    const want = nn.sum(nn.sum(cube, 2), 0).toArray();
    for (const sum of [
      nn.sum(cube, [0, 2]),
      nn.sum(cube, { axis: [-1, 0] }),
      nn.sum(cube, undefined, { axis: [0, 2] }),
    ])
      expect(sum.toFloat64().every((v, n) => Math.abs(v - (want as number[])[n]) < 1e-14)).toBe(true);
    expect(nn.max(rows, { axis: 1 }).toArray()).toEqual([3, 5]);
    expect(nn.max(cube, [0, 2]).toArray()).toEqual(nn.max(nn.max(cube, 2), 0).toArray());
    expect(nn.softmax(rows, { axis: 0 }).toArray()).toEqual(nn.softmax(rows, 0).toArray());
    expect(nn.argmax(rows, { axis: 0 }).toArray()).toEqual([0, 0, 1]);
    expect(nn.concat([rows, rows], { axis: 1 }).shape).toEqual([2, 6]);
  });

  it("variance, norm, cumsum, clip, pow and the shapes", () => {
    expect(nn.variance(tensor([1, 2, 3, 4])).at()).toBeCloseTo(5 / 3, 6);
    expect(nn.variance(tensor([1, 2, 3, 4]), { correction: 0 }).at()).toBe(1.25);
    expect(nn.norm(tensor([[3, 4], [6, 8]]), 1).toArray()).toEqual([5, 10]); // biome-ignore format: a matrix
    expect(nn.cumsum(rows, 1).toArray()).toEqual([[3, 4, 6], [-4, -4, 1]]); // biome-ignore format: a matrix
    expect(nn.clip(tensor([-2, Number.NaN, 0.5, 3]), 0, 1).toArray()).toEqual([0, Number.NaN, 0.5, 1]);
    expect(nn.pow(tensor([-2, 3]), 2).toArray()).toEqual([4, 9]);
    expect(nn.squeeze(tensor([[[true, false]]])).toArray()).toEqual([true, false]);
    expect(nn.permute(tensor([[1n, 2n]]), [1, 0]).shape).toEqual([2, 1]);
    expect(nn.squeeze(ones([2, 1, 3, 1]), [1]).shape).toEqual([2, 3, 1]);
  });

  it("empty tensors: no elements, no error", () => {
    const none = ones([0, 3]);
    expect(nn.sort(none).values.shape).toEqual([0, 3]);
    expect(nn.cumsum(none, 0).shape).toEqual([0, 3]);
    expect(nn.take(none, [], 0).shape).toEqual([0, 3]);
    expect(nn.sum(nn.lt(none, 1)).toArray()).toBe(0);
    expect(nn.einsum("ij,kj->ik", none, ones([2, 3])).shape).toEqual([0, 2]);
    // The gradient of one that was broadcast has its shape.
    const column = ones([0, 1]);
    const one = ones([1]);
    const loss = ([a, b]: readonly Tensor[]) => nn.sum(nn.add(nn.mul(a, none), b));
    expect(grad(loss)([column, one]).map((x) => x.toArray())).toEqual([[], [0]]);
    expect(grad(loss)([column, one])[0].shape).toEqual([0, 1]);
  });
});
