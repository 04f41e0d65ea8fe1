/** Types of results, checked by `npm run types`; the calls run as well. */
import {
  arange, attentionBackward, attentionWeights, cast, randint, randn, scaledDotProductAttention, type Tensor, tensor, zeros,
} from "heed"; // biome-ignore format: one list
import {
  type Bert, type DecoderModel, type Gpt2, generate, locateShipped, modelFromFiles, readModel, type TextModel, type TransformerModel,
} from "heed/models"; // biome-ignore format: one list
import { type FloatTensor, MultiHeadAttention, SelfAttention } from "heed/nn";
import {
  AdditiveAttention, LinearAttention, LuongAttention, linearAttention, PerformerAttention, performerAttention,
} from "heed/nn/history"; // biome-ignore format: one list
import { languageModel } from "heed/train";
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
  expectTypeOf(heads.weights).toEqualTypeOf<FloatTensor | undefined>();
  expectTypeOf(new SelfAttention(4).forward(x, options).weights).toEqualTypeOf<FloatTensor | undefined>();
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
  expectTypeOf(zeros([1])).toEqualTypeOf<Tensor<"float32">>();
  expectTypeOf(arange(3, { dtype: "int32" })).toEqualTypeOf<Tensor<"int32">>();
  expectTypeOf(randint(0, 2, [1])).toEqualTypeOf<Tensor<"int32">>();
});

test("layers with returnWeights give weights without an exclamation mark", () => {
  const wanted = { returnWeights: true } as const;
  const y = randn([2, 3, 8], { seed: 2 });
  const heads = new MultiHeadAttention(8, 2);
  expectTypeOf(heads.forward(y, y, y, wanted).weights).toEqualTypeOf<FloatTensor>();
  expectTypeOf(heads.forward(y, undefined, undefined, wanted).weights).toEqualTypeOf<FloatTensor>();
  expectTypeOf(heads.forward(y).weights).toEqualTypeOf<FloatTensor | undefined>();
  expectTypeOf(new SelfAttention(8).forward(y, wanted).weights).toEqualTypeOf<FloatTensor>();
  expectTypeOf(new SelfAttention(8).forward(y).weights).toEqualTypeOf<FloatTensor | undefined>();
  const additive = new AdditiveAttention(8, 8, 4);
  expectTypeOf(additive.forward(y, y, y, wanted).weights).toEqualTypeOf<FloatTensor>();
  expectTypeOf(additive.forward(y, y).weights).toEqualTypeOf<FloatTensor | undefined>();
  expectTypeOf(new LuongAttention(8, 8).forward(y, y, y, wanted).weights).toEqualTypeOf<FloatTensor>();
  for (const layer of [new LinearAttention(8, 2), new PerformerAttention(8, 2)]) {
    expectTypeOf(layer.forward(y, y, y, wanted).weights).toEqualTypeOf<FloatTensor>();
    expectTypeOf(layer.forward(y).weights).toEqualTypeOf<FloatTensor | undefined>();
  }
  expectTypeOf(linearAttention(y, y, y, wanted).weights).toEqualTypeOf<FloatTensor>();
  expectTypeOf(performerAttention(y, y, y, wanted).weights).toEqualTypeOf<FloatTensor>();
  expectTypeOf(performerAttention(y, y, y).weights).toEqualTypeOf<FloatTensor | undefined>();
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
