/** Inside a tape every public function of heed and every method of Tensor records its derivative, or throws. */
import * as heed from "heed";
import { add, attention, fillNormal, multiply, sum } from "heed/nn";
import { Tape } from "heed/train";
import { describe, expect, test, vi } from "vitest";

const { scaledDotProductAttention, tensor, zeros } = heed;
type T = heed.Tensor<"float64">;
const normal = (shape: number[], seed: number) => fillNormal(zeros(shape, "float64"), seed);
const [q, k, v, g] = [1, 2, 3, 4].map((seed) => normal([3, 4], seed)) as [T, T, T, T];

/** The gradient of `loss` for `x`, and the central difference of its first number. */
function compare(x: T, loss: () => heed.Tensor) {
  const tape = new Tape();
  const gradient = tape.gradients(tape.run(loss), [x]).get(x)!.toFloat64();
  const difference = [...x.data].map((value, n) => {
    const at = (moved: number) => {
      x.data[n] = moved;
      return loss().toFloat64()[0];
    };
    const d = (at(value + 1e-5) - at(value - 1e-5)) / 2e-5;
    x.data[n] = value;
    return d;
  });
  expect(gradient.length).toBe(difference.length);
  for (const [n, want] of difference.entries()) expect(gradient[n]).toBeCloseTo(want, 7);
}

describe("a tape over scaledDotProductAttention", () => {
  test("includes the attention path in the gradient, beside a residual", () => {
    for (const x of [q, k, v])
      compare(x, () => sum(multiply(g, add(q, scaledDotProductAttention(q, k, v).output))));
  });

  test("attention of heed/nn is the same function", () => expect(attention).toBe(scaledDotProductAttention));

  test("float16 tensors add their gradients by value, not by bits", () => {
    const half = tensor(new Uint16Array(4).fill(0x3c00), [2, 2], "float16");
    const tape = new Tape();
    const { output } = tape.run(() => scaledDotProductAttention(half, half, half));
    const loss = tape.run(() => output.reshape([4]).reshape([2, 2]));
    expect(loss.dtype).toBe("float16");
    const one = tensor(new Uint16Array(1).fill(0x3c00), [1, 1], "float16");
    const second = new Tape();
    const attentionSum = second.run(() => scaledDotProductAttention(one, one, one).output.reshape([]));
    // The output is the value: its gradient is 1; query and key have 0, all three are one tensor.
    expect(second.gradients(attentionSum, [one]).get(one)?.toFloat64()).toEqual(Float64Array.of(1));
  });
});

describe("methods of Tensor inside a tape", () => {
  const METHODS: Record<string, (x: T) => heed.Tensor> = {
    reshape: (x) => x.reshape([4, 3]).reshape([3, 4]),
    transpose: (x) => x.transpose().contiguous().transpose(),
    contiguous: (x) => x.contiguous(),
    dense: (x) => x.transpose().dense().transpose(),
  };
  for (const [name, method] of Object.entries(METHODS))
    test(`${name} propagates its gradient`, () => compare(q, () => sum(multiply(g, add(q, method(q))))));

  test("cast propagates its gradient, in the dtype of its input", () => {
    const tape = new Tape();
    const loss = tape.run(() => sum(multiply(g, heed.cast(heed.cast(q, "float32"), "float64"))));
    const gradient = tape.gradients(loss, [q]).get(q)!;
    expect(gradient.dtype).toBe("float64");
    for (const [n, x] of gradient.toFloat64().entries()) expect(x).toBeCloseTo(g.data[n], 6);
  });

  test("no other method or getter makes a tensor", () => {
    // Names of other libraries throw (core/absent.ts).
    const prototype = Object.getOwnPropertyDescriptors(heed.Tensor.prototype);
    const others = Object.entries(prototype)
      .filter(([name, { get }]) => name !== "constructor" && !(name in METHODS) && get?.name !== "refuse")
      .map(([name]) => name);
    const x = normal([2, 2], 5);
    for (const name of others) {
      const value = (x as unknown as Record<string, unknown>)[name];
      const result = typeof value === "function" ? value.call(x, ...(name === "at" ? [0, 0] : [])) : value;
      // A promise of numbers, or of the tensor somewhere else.
      if (result instanceof Promise) result.catch(() => {});
      expect(result instanceof heed.Tensor, name).toBe(false);
    }
  });
});

test("a tensor that another copy of heed computed is refused inside a tape: its gradient would be lost", async () => {
  vi.resetModules();
  const other = await import("heed");
  expect(other.Tensor).not.toBe(heed.Tensor);
  const compute = () => add(q, other.scaledDotProductAttention(q, k, v).output);
  expect(compute().shape).toEqual([3, 4]);
  expect(() => new Tape().run(compute)).toThrow(
    "add: y: no gradient is defined through a tensor of another copy of heed",
  );
});

describe("an operation without a derivative throws when a gradient reaches it", () => {
  const REFUSED: Record<string, [RegExp, () => heed.Tensor]> = {
    "the weights of attention": [
      /lse and weights: no gradient is defined.*softmax/,
      () => scaledDotProductAttention(q, k, v, { returnWeights: true }).weights,
    ],
    "lse of attention": [/lse and weights: no gradient/, () => scaledDotProductAttention(q, k, v).lse],
    attentionWeights: [
      /attentionWeights: no gradient is defined.*softmax/,
      () => heed.attentionWeights(q, k, scaledDotProductAttention(q, k, v).lse),
    ],
    attentionMap: [
      /attentionMap: no gradient is defined.*picture/,
      () => heed.attentionMap(q, k, scaledDotProductAttention(q, k, v).lse, { size: 2 }).mean,
    ],
    mergeStates: [
      /mergeStates: no gradient is defined.*one call of scaledDotProductAttention/,
      () => heed.mergeStates([scaledDotProductAttention(q, k, v)]).output,
    ],
    attentionBackward: [
      /attentionBackward: no gradient is defined.*attentionDoubleBackward/,
      () => heed.attentionBackward(g, q, k, v, scaledDotProductAttention(q, k, v)).dQuery,
    ],
    "a second derivative": [
      /Tape.gradients: no gradient is defined/,
      () => {
        const inner = new Tape();
        return inner
          .gradients(
            inner.run(() => sum(multiply(q, q))),
            [q],
          )
          .get(q)!;
      },
    ],
  };
  for (const [name, [message, work]] of Object.entries(REFUSED))
    test(name, () => {
      const tape = new Tape();
      const loss = tape.run(() => sum(work()));
      expect(() => tape.gradients(loss, [q])).toThrow(message);
      // Computed beside a loss that does not read it, it harms nothing.
      const other = new Tape();
      const fine = other.run(() => {
        work();
        return sum(q);
      });
      expect(other.gradients(fine, [q]).get(q)?.at(0, 0)).toBe(1);
    });
});

const ASYNCHRONOUS = {
  scaledDotProductAttentionAsync: () => heed.scaledDotProductAttentionAsync(q, k, v),
  attentionBackwardAsync: () =>
    heed.attentionBackwardAsync(g, q, k, v, heed.scaledDotProductAttention(q, k, v)),
};

test.each(Object.entries(ASYNCHRONOUS))(
  "%s is refused in a recording, which ends before it does",
  async (_, call) => {
    let result: Promise<unknown> | undefined;
    new Tape().run(() => {
      result = call();
      // The rejection is read below.
      result.catch(() => {});
      return sum(q);
    });
    await expect(result).rejects.toThrow("not available inside a recording");
  },
);

test("every function of heed that makes a tensor from tensors is covered here", () => {
  const covered = [
    "cast",
    "scaledDotProductAttention",
    "attentionWeights",
    "attentionMap",
    "attentionBackward",
    "mergeStates",
  ];
  // What makes tensors of numbers, or nothing that holds a tensor's values.
  const constant = [
    "arange",
    "eye",
    "full",
    "linspace",
    "ones",
    "rand",
    "randint",
    "randn",
    "withSeed",
    "tensor",
    "zeros",
    "empty",
    "explain",
    "explainMatmul",
    "configure",
    "prepare",
  ];
  const expressions = [
    "alibi", "alibiSlopes", "and", "blockSparse", "causal", "dilated", "documents", "globalTokens", "keyLengths",
    "longformer", "maskMod", "not", "or", "prefixLm", "queryLengths", "relativeBias", "scoreMod", "slidingWindow",
    "softcap", "table",
  ]; // biome-ignore format: one list
  const functions = Object.entries(heed)
    .filter(([, value]) => typeof value === "function" && !/^class\b/.test(String(value)))
    .map(([name]) => name);
  expect(functions.toSorted()).toEqual(
    [...covered, ...constant, ...expressions, ...Object.keys(ASYNCHRONOUS)].toSorted(),
  );
});
