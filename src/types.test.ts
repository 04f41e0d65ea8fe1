/** Types that narrow: what the compiler knows of results. Checked by `npm run types`; the calls run as well. */
import {
  arange, attentionBackward, attentionWeights, cast, randint, randn, scaledDotProductAttention, type Tensor, tensor, zeros,
} from "heed"; // biome-ignore format: one list
import { expectTypeOf, test } from "vitest";

const x = randn([2, 3, 4], { seed: 1 });
const wide = cast(x, "float64");

test("the dtype flows from the query to output.data", () => {
  expectTypeOf(scaledDotProductAttention(x, x, x).output).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(scaledDotProductAttention(x, x, x).output.data).toEqualTypeOf<Float32Array>();
  expectTypeOf(scaledDotProductAttention(wide, wide, wide).lse).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(scaledDotProductAttention(cast(x, "bfloat16"), x, x).output.data).toEqualTypeOf<Uint16Array>();
  expectTypeOf(scaledDotProductAttention(cast(x, "bfloat16"), x, x).lse).toEqualTypeOf<Tensor<"float32">>();
});

test("returnWeights gives weights without an exclamation mark", () => {
  const { weights } = scaledDotProductAttention(x, x, x, { returnWeights: true });
  expectTypeOf(weights).toEqualTypeOf<Tensor<"float32">>();
  const { weights: rows } = scaledDotProductAttention(x, x, x, { returnWeights: { rows: [0] } });
  expectTypeOf(rows).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(scaledDotProductAttention(x, x, x).weights).toEqualTypeOf<Tensor<"float32"> | undefined>();
});

test("weights and gradients have the dtype of what they belong to", () => {
  const state = scaledDotProductAttention(wide, wide, wide);
  expectTypeOf(attentionWeights(wide, wide, state.lse)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(attentionBackward(wide, wide, wide, wide, state).dKey).toEqualTypeOf<Tensor<"float64">>();
});

test("tensors hold what they were made of", () => {
  expectTypeOf(tensor([1, 2])).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(tensor([1, 2]).data[0]).toEqualTypeOf<number>();
  expectTypeOf(
    tensor([
      [1, 2],
      [3, 4],
    ]),
  ).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(tensor([1, 2, 3, 4], [2, 2])).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(tensor([[true]])).toEqualTypeOf<Tensor<"bool">>();
  expectTypeOf(tensor([1n]).data).toEqualTypeOf<BigInt64Array>();
  expectTypeOf(tensor([[1]], "float64")).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(tensor(new Float64Array(2), [2])).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(zeros([1])).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(arange(3, { dtype: "int32" })).toEqualTypeOf<Tensor<"int32">>();
  expectTypeOf(randint(0, 2, [1])).toEqualTypeOf<Tensor<"int32">>();
});
