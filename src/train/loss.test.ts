import { describe, expect, test } from "vitest";
import { tensor } from "../core/create/construct.ts";
import type { Tensor } from "../core/tensor.ts";
import { Generator } from "./data/random.ts";
import { crossEntropy } from "./loss.ts";
import { Tape } from "./tape.ts";

const ids = (...list: number[]) => tensor(Int32Array.from(list), [list.length], "int32");

function random(rows: number, size: number, seed: number): Tensor<"float64"> {
  const generator = new Generator(seed);
  return tensor(
    Float64Array.from({ length: rows * size }, () => 6 * generator.uniform() - 3),
    [rows, size],
    "float64",
  );
}

/** By the formula, rows with a target < 0 left out. */
function expected(logits: Tensor, targets: readonly number[]): number {
  const [, size] = logits.shape;
  const x = logits.toFloat64();
  let sum = 0;
  let count = 0;
  targets.forEach((target, row) => {
    if (target < 0) return;
    const part = x.subarray(row * size, (row + 1) * size);
    sum += Math.log(part.reduce((total, value) => total + Math.exp(value), 0)) - part[target];
    count++;
  });
  return sum / count;
}

describe("crossEntropy", () => {
  test("is the mean of −ln softmax at the counted targets", () => {
    const logits = random(7, 5, 1);
    const targets = [4, 0, -100, 2, 2, -100, 1];
    expect(crossEntropy(logits, ids(...targets)).at()).toBeCloseTo(expected(logits, targets), 14);
  });

  test("its gradient is that of central differences, and zero in rows that are not counted", () => {
    const logits = random(4, 6, 2);
    const targets = ids(5, -1, 0, 3);
    const tape = new Tape();
    const loss = tape.run(() => crossEntropy(logits, targets, { ignoreIndex: -1 }));
    const gradient = tape.gradients(loss, [logits], 3).get(logits) as Tensor;
    const at = (i: number, step: number) => {
      const moved = tensor(logits.data.slice(), logits.shape);
      moved.data[i] += step;
      return 3 * crossEntropy(moved, targets, { ignoreIndex: -1 }).at();
    };
    for (let i = 0; i < 24; i++)
      expect(gradient.toFloat64()[i]).toBeCloseTo((at(i, 1e-5) - at(i, -1e-5)) / 2e-5, 8);
    expect(Array.from(gradient.toFloat64().subarray(6, 12))).toEqual(new Array(6).fill(0));
  });

  test("huge logits neither overflow nor lose precision", () => {
    const logits = tensor(Float32Array.of(3e38, -3e38, 3e38, -1e30, -1e30, -2e30), [2, 3]);
    expect(crossEntropy(logits, ids(0, 1)).at()).toBeCloseTo(Math.log(2), 6);
  });

  test("a NaN logit makes the loss NaN", () => {
    const logits = tensor(Float32Array.of(0, Number.NaN, 1), [1, 3]);
    expect(crossEntropy(logits, ids(0)).at()).toBeNaN();
  });

  test("takes any leading axes and strides", () => {
    const logits = random(6, 4, 3);
    const targets = [0, 1, 2, 3, 0, 1];
    const strided = tensor(logits.data, [4, 6], "float64", { strides: [1, 4] }).transpose();
    const cube = tensor(logits.data, [2, 3, 4]);
    const square = tensor(Int32Array.from(targets), [2, 3], "int32");
    expect(crossEntropy(strided, ids(...targets)).at()).toBe(crossEntropy(cube, square).at());
  });

  test.each<[string, () => Tensor, string]>([
    ["targets of another shape", () => crossEntropy(random(2, 3, 1), ids(0, 1, 2)), "targets"],
    ["a target that is no class", () => crossEntropy(random(2, 3, 1), ids(0, 3)), "targets"],
    ["targets of which none counts", () => crossEntropy(random(2, 3, 1), ids(-100, -100)), "targets"],
    ["float targets", () => crossEntropy(random(1, 3, 1), tensor([0], [1], "float32")), "targets"],
    ["16-bit logits", () => crossEntropy(tensor(new Uint16Array(3), [1, 3], "float16"), ids(0)), "logits"],
  ])("refuses %s", (_, work, code) => {
    expect(work).toThrow(expect.objectContaining({ code }));
  });
});
