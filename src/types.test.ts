/** Types of results, checked by `npm run types`; the calls run as well. */
import {
  arange, attentionBackward, attentionWeights, cast, randint, randn, scaledDotProductAttention, type Tensor, tensor, zeros,
} from "heed"; // biome-ignore format: one list
import type { Bert, DecoderModel, Gpt2, TextModel, TransformerModel } from "heed/models";
import { generate, locateShipped, modelFromFiles, readModel } from "heed/models"; // biome-ignore format: one list
import {
  add, concat, DecoderBlock, EncoderBlock, type FloatTensor, gelu, type Index, LayerNorm, Linear, layerNorm, linear, MLP, MultiHeadAttention, matmul,
  mean, multiply, pick, Rope, SelfAttention, SwiGLU, softmax, split, stack, sum, transpose, tril, where,
} from "heed/nn"; // biome-ignore format: one list
import {
  AdditiveAttention, GRU, LinearAttention, LuongAttention, linearAttention, PerformerAttention, performerAttention,
} from "heed/nn/history"; // biome-ignore format: one list
import { crossEntropy, languageModel, Tape } from "heed/train";
import { expect, expectTypeOf, test } from "vitest";

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

test("returnWeights that is a boolean at run time gives weights that may be undefined", () => {
  const options: { returnWeights: boolean } = { returnWeights: false };
  const heads = new MultiHeadAttention(4, 2).forward(x, x, x, options);
  expectTypeOf(scaledDotProductAttention(x, x, x, options).weights).toEqualTypeOf<
    Tensor<"float32"> | undefined
  >();
  expectTypeOf(heads.weights).toEqualTypeOf<Tensor<"float32"> | undefined>();
  expectTypeOf(new SelfAttention(4).forward(x, options).weights).toEqualTypeOf<
    Tensor<"float32"> | undefined
  >();
  expect(heads.weights).toBe(undefined);
});

test("weights and gradients have the dtype of their tensor", () => {
  const state = scaledDotProductAttention(wide, wide, wide);
  expectTypeOf(attentionWeights(wide, wide, state.lse)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(attentionBackward(wide, wide, wide, wide, state).dKey).toEqualTypeOf<Tensor<"float64">>();
});

test("tensors have the dtype of the data that they were made from", () => {
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
  expectTypeOf(tensor(new Int32Array(2), [2])).toEqualTypeOf<Tensor<"int32">>();
  expectTypeOf(tensor(new BigInt64Array(2), [2])).toEqualTypeOf<Tensor<"int64">>();
  expectTypeOf(tensor(new Uint8Array(2), [2], "bool")).toEqualTypeOf<Tensor<"bool">>();
  expectTypeOf(zeros([1])).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(arange(3, { dtype: "int32" })).toEqualTypeOf<Tensor<"int32">>();
  expectTypeOf(randint(0, 2, [1])).toEqualTypeOf<Tensor<"int32">>();
});

test("the dtype flows through operations to data", () => {
  expectTypeOf(softmax(x)).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(softmax(x).data).toEqualTypeOf<Float32Array>();
  expectTypeOf(softmax(wide).data).toEqualTypeOf<Float64Array>();
  expectTypeOf(gelu(wide)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(sum(multiply(wide, wide), 0)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(mean(x).at()).toEqualTypeOf<number>();
  expectTypeOf(matmul(wide, transpose(wide))).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(linear(x, randn([5, 4]))).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(layerNorm(wide)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(pick(wide, 0, [0, 1] satisfies Index)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(concat([wide, wide])).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(stack([x, x])).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(split(x, [2, 2])).toEqualTypeOf<Tensor<"float32">[]>();
  expectTypeOf(tril(wide).reshape([-1])).toEqualTypeOf<Tensor<"float64">>();
  // A softmax in steps, as a course writes it
  const scores = multiply(matmul(wide, transpose(wide)), 0.5);
  const masked = where(tril(scores), scores, -Infinity);
  expectTypeOf(matmul(softmax(masked), wide).data).toEqualTypeOf<Float64Array>();
});

test("a number takes the dtype of the other operand, on either side", () => {
  expectTypeOf(add(wide, 1)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(add(1, wide)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(add(1, 2)).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(where(tensor([[true]]), 0, -Infinity)).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(where(tensor([[true]]), 0, wide)).toEqualTypeOf<Tensor<"float64">>();
  expect(add(1, wide).data).toBeInstanceOf(Float64Array);
});

test("operands whose type says no dtype give a tensor of either", () => {
  const named: string = "float32";
  expectTypeOf(softmax({ data: new Float32Array(2), shape: [2], dtype: named })).toEqualTypeOf<FloatTensor>();
  expectTypeOf(softmax({ data: new Float32Array(2), shape: [2] })).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(softmax({ data: new Float64Array(2), dims: [2] })).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(softmax(x as FloatTensor)).toEqualTypeOf<FloatTensor>();
  expectTypeOf(concat([x as FloatTensor, x])).toEqualTypeOf<FloatTensor>();
});

test("the dtype flows through layers, losses and gradients", () => {
  const y = wide;
  const float64 = { dtype: "float64" } as const;
  expectTypeOf(new Linear(4, 2).forward(x)).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(new LayerNorm(4, float64).forward(y)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(new MLP(4, float64).forward(y)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(new SwiGLU(4).forward(x)).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(new Rope().forward(y)).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(new MultiHeadAttention(4, 2, float64).forward(y).output).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(new EncoderBlock(4, 2).forward(x).attention.key).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(new DecoderBlock(4, 2, float64).forward(y).output.data).toEqualTypeOf<Float64Array>();
  expectTypeOf(new GRU(4, 2).forward(x).last).toEqualTypeOf<readonly Tensor<"float32">[]>();
  const tape = new Tape();
  const loss = tape.run(() => crossEntropy(y, tensor([[0, 1, 2], [3, 0, 1]], "int32"))); // biome-ignore format: rows
  expectTypeOf(loss).toEqualTypeOf<Tensor<"float64">>();
  expectTypeOf(tape.gradients(loss, [y]).get(y)).toEqualTypeOf<Tensor<"float64"> | undefined>();
});

test("layers with returnWeights give weights without an exclamation mark", () => {
  const wanted = { returnWeights: true } as const;
  const y = randn([2, 3, 8], { seed: 2 });
  const heads = new MultiHeadAttention(8, 2);
  expectTypeOf(heads.forward(y, y, y, wanted).weights).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(heads.forward(y, undefined, undefined, wanted).weights).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(heads.forward(y).weights).toEqualTypeOf<Tensor<"float32"> | undefined>();
  expectTypeOf(new SelfAttention(8).forward(y, wanted).weights).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(new SelfAttention(8).forward(y).weights).toEqualTypeOf<Tensor<"float32"> | undefined>();
  const additive = new AdditiveAttention(8, 8, 4);
  expectTypeOf(additive.forward(y, y, y, wanted).weights).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(additive.forward(y, y).weights).toEqualTypeOf<Tensor<"float32"> | undefined>();
  expectTypeOf(new LuongAttention(8, 8).forward(y, y, y, wanted).weights).toEqualTypeOf<Tensor<"float32">>();
  for (const layer of [new LinearAttention(8, 2), new PerformerAttention(8, 2)]) {
    expectTypeOf(layer.forward(y, y, y, wanted).weights).toEqualTypeOf<Tensor<"float32">>();
    expectTypeOf(layer.forward(y).weights).toEqualTypeOf<Tensor<"float32"> | undefined>();
  }
  expectTypeOf(linearAttention(y, y, y, wanted).weights).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(performerAttention(y, y, y, wanted).weights).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(performerAttention(y, y, y).weights).toEqualTypeOf<Tensor<"float32"> | undefined>();
});

test("models have the class of their family", async () => {
  const encoder = await readModel(locateShipped("encoder"));
  expectTypeOf(encoder.model).toEqualTypeOf<Bert>();
  const decoder = await readModel(locateShipped("decoder"), { dtype: "float64" });
  expectTypeOf(decoder.model).toEqualTypeOf<Gpt2>();
  expect([...generate(decoder.model, decoder.tokenizer.ids("The"), { maxTokens: 2 })]).toHaveLength(2);
  const folder: string = locateShipped("decoder");
  expectTypeOf((await readModel(folder)).model).toEqualTypeOf<TransformerModel>();
  expectTypeOf((await readModel(folder, { family: "gpt2" })).model).toEqualTypeOf<Gpt2>();
  expectTypeOf((await readModel(folder, { architecture: "decoder" })).model).toEqualTypeOf<DecoderModel>();
  expectTypeOf(modelFromFiles<"bert">).returns.resolves.toEqualTypeOf<TextModel<Bert>>();
  const sizes = { vocabulary: 16, context: 8, layers: 1, heads: 2, width: 8 };
  expectTypeOf(languageModel("decoder", sizes).model).toEqualTypeOf<Gpt2>();
  expectTypeOf(languageModel("encoder", sizes).model).toEqualTypeOf<Bert>();
});

test("a model of another family or architecture is rejected with the name of the option", async () => {
  const folder: string = locateShipped("encoder");
  await expect(readModel(folder, { family: "gpt2" })).rejects.toMatchObject({
    name: "OptionError",
    code: "family",
    message: 'readModel: the model is of the family "bert", but family is "gpt2"',
  });
  await expect(readModel(folder, { architecture: "decoder" })).rejects.toMatchObject({
    name: "OptionError",
    code: "architecture",
    message: 'readModel: the model is of the architecture "encoder", but architecture is "decoder"',
  });
});
