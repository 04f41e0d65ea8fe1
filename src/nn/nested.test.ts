/** Nested arrays as tensors: in layers, parameters and losses as in every function, with the results of tensors. */
import { ones, tensor } from "heed";
import { buffer, Linear, MultiHeadAttention, parameter } from "heed/nn";
import { AdamW, crossEntropy } from "heed/train";
import { expect, it } from "vitest";

const ROWS = [
  [[1, 0, 2, 1], [0, 1, 1, 3]],
]; // biome-ignore format: a matrix

it("MultiHeadAttention, crossEntropy, parameter and buffer take nested arrays", () => {
  const x = tensor(ROWS);
  const heads = new MultiHeadAttention(4, 2, { seed: 1 });
  expect(heads.forward(ROWS, ROWS, ROWS).output.toArray()).toEqual(heads.forward(x, x, x).output.toArray());
  expect(() => heads.forward(x, { isCausal: true } as never)).toThrow("options are the fourth argument");
  const loss = crossEntropy(x, tensor([[3, -100]], "int32")).at();
  for (const targets of [[[3, -100]], tensor([[3, -100]], "int32")])
    expect(crossEntropy(ROWS, targets).at()).toBe(loss);
  expect(crossEntropy(ROWS[0], [3, 1]).at()).toBe(
    crossEntropy(tensor(ROWS[0]), tensor([3, 1], "int32")).at(),
  );
  expect(() => crossEntropy(ROWS[0], [3, 0.5])).toThrow(
    "crossEntropy: expected integers as targets, got 0.5",
  );
  expect(() => crossEntropy(ROWS[0], [3, 4])).toThrow("crossEntropy: target 4 of row 1 is no class of 4");
  for (const make of [parameter, buffer]) {
    expect(make(ROWS).toArray()).toEqual(ROWS);
    expect(make([2, 1]).toArray()).toEqual([[0], [0]]);
  }
});

it("an optimizer says that a parameter is of another copy of heed", () => {
  const { weight } = new Linear(2, 2, { seed: 1 });
  const foreign = Object.assign(Object.create({ isContiguous: () => true }), {
    data: weight.data,
    shape: [2, 2],
  });
  expect(() => new AdamW([foreign])).toThrow("must be a Tensor of this copy of heed; install heed once");
  expect(() => new AdamW([[ones([2]), 1] as never])).toThrow(/must be a Tensor, got/);
});
