/**
 * Every function with options rejects an unknown option by its name, so that no call silently ignores a misspelled one. For the
 * names of PyTorch and NumPy, the error suggests heed's.
 */
// biome-ignore-all lint/suspicious/noExplicitAny: mistakes that the types reject
import * as h from "heed";
import * as io from "heed/io";
import * as models from "heed/models";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import * as reference from "heed/reference";
import * as train from "heed/train";
import * as view from "heed/view";
import { webgpu } from "heed/webgpu";
import { expect, it } from "vitest";

const bad = { zzz: 1 };
const x = h.randn([4, 4], { seed: 1 });
const q = h.randn([1, 2, 4, 8], { seed: 2 });
const bytes = io.writeSafetensors({ x });
const encoder = await models.readModel(models.locateShipped("encoder"));
const decoder = await models.readModel(models.locateShipped("decoder"));
const file = await io.openSafetensors(new Blob([bytes]));
const npz = await io.writeNpz({ x });
const attention = decoder.attention("the old ship");
const ids = Int32Array.of(1, 2);
// Without types, as in a JavaScript program.
const [H, N, O, I, T, M, V, R]: any[] = [h, nn, history, io, train, models, view, reference];
const one = Float64Array.of(1);
const single = { Nq: 1, Nk: 1, dk: 1, dv: 1 };
const sizes = { vocabulary: 10, context: 4, layers: 1, heads: 1, width: 4 };

// biome-ignore format: a call is a line
const CALLS: Record<string, () => unknown> = {
  scaledDotProductAttention: () => H.scaledDotProductAttention(q, q, q, bad),
  webgpu: () => webgpu(bad as object),
  attentionWeights: () => H.attentionWeights(q, q, h.scaledDotProductAttention(q, q, q).lse, bad),
  attentionMap: () => H.attentionMap(q, q, h.scaledDotProductAttention(q, q, q).lse, bad),
  attentionBackward: () => H.attentionBackward(q, q, q, q, h.scaledDotProductAttention(q, q, q), bad),
  scaledDotProductAttentionAsync: () => H.scaledDotProductAttentionAsync(q, q, q, bad),
  attentionBackwardAsync: () => H.attentionBackwardAsync(q, q, q, q, h.scaledDotProductAttention(q, q, q), bad),
  explain: () => H.explain(q, q, q, bad),
  explainMatmul: () => H.explainMatmul(x, x, bad),
  randn: () => H.randn([2], bad),
  rand: () => H.rand([2], bad),
  randint: () => H.randint(0, 3, [2], bad),
  arange: () => H.arange(3, bad),
  "Tensor.toString": () => (x as any).toString(bad),
  Linear: () => new N.Linear(2, 2, bad),
  LayerNorm: () => new N.LayerNorm(2, bad),
  RMSNorm: () => new N.RMSNorm(2, bad),
  Embedding: () => new N.Embedding(2, 2, bad),
  LearnedPositions: () => new N.LearnedPositions(2, 2, bad),
  SinusoidalPositions: () => new N.SinusoidalPositions(2, bad),
  Rope: () => new N.Rope(bad),
  MLP: () => new N.MLP(4, bad),
  SwiGLU: () => new N.SwiGLU(4, bad),
  SelfAttention: () => new N.SelfAttention(4, bad),
  MultiHeadAttention: () => new N.MultiHeadAttention(4, 2, bad),
  EncoderBlock: () => new N.EncoderBlock(4, 2, bad),
  DecoderBlock: () => new N.DecoderBlock(4, 2, bad),
  AdditiveAttention: () => new O.AdditiveAttention(4, 4, 4, bad),
  LuongAttention: () => new O.LuongAttention(4, 4, bad),
  GRUCell: () => new O.GRUCell(4, 4, bad),
  GRU: () => new O.GRU(4, 4, bad),
  RecurrentEncoderDecoder: () => new O.RecurrentEncoderDecoder({ sourceWords: 4, targetWords: 4, ...bad }),
  LinearAttention: () => new O.LinearAttention(4, 2, bad),
  PerformerAttention: () => new O.PerformerAttention(4, 2, bad),
  sum: () => N.sum(x, 0, bad),
  mean: () => N.mean(x, 0, bad),
  max: () => N.max(x, 0, bad),
  variance: () => N.variance(x, 0, bad),
  norm: () => N.norm(x, bad),
  sort: () => N.sort(x, bad),
  topk: () => N.topk(x, 1, bad),
  cumsum: () => N.cumsum(x, bad),
  min: () => N.min(x, 0, bad),
  matmul: () => N.matmul(x, x, bad),
  rope: () => N.rope(q, bad),
  sinusoidalPositions: () => N.sinusoidalPositions(4, 4, bad),
  layerNorm: () => N.layerNorm(x, undefined, undefined, bad),
  rmsNorm: () => N.rmsNorm(x, undefined, bad),
  dropout: () => N.dropout(x, 0.5, bad),
  gelu: () => N.gelu(x, bad),
  readNpy: () => I.readNpy(io.writeNpy(x), bad),
  readNpz: () => I.readNpz(npz, bad),
  writeNpz: () => I.writeNpz({ x }, bad),
  readSafetensors: () => I.readSafetensors(bytes, bad),
  writeSafetensors: () => I.writeSafetensors({ x }, bad),
  openSafetensors: () => I.openSafetensors(new Blob([bytes]), bad),
  "openSafetensors: read": () => (file as any).read("x", bad),
  AdamW: () => new T.AdamW([h.zeros([2])], bad),
  crossEntropy: () => T.crossEntropy(h.randn([2, 3]), h.tensor([0, 1], "int32"), bad),
  schedule: () => T.schedule({ lr: 1, ...bad }),
  languageModel: () => T.languageModel("decoder", { ...sizes, ...bad }),
  Corpus: () => new T.Corpus(["the old ship ".repeat(99)], decoder.tokenizer, { kind: "decoder", context: 8, ...bad }),
  train: () => T.train({ model: T.languageModel("decoder", sizes), data: () => [], steps: 0, ...bad }),
  renderLoss: () => T.renderLoss({ losses: [1] }, bad),
  readModel: () => M.readModel(models.locateShipped("encoder"), bad),
  modelFromFiles: () => M.modelFromFiles(new Map(), bad),
  readImageModel: () => M.readImageModel("/nowhere", bad),
  imageModelFromFiles: () => M.imageModelFromFiles(new Map(), bad),
  readPng: () => I.readPng(new Uint8Array(8), bad),
  writeModel: () => M.writeModel("/nowhere", decoder.model, decoder.tokenizer, bad),
  readTokenizer: () => M.readTokenizer("{}", bad),
  trainTokenizer: () => M.trainTokenizer(["a b"], { kind: "bpe", vocabSize: 260, ...bad }),
  "Tokenizer.encode": () => (decoder.tokenizer as any).encode("a", undefined, bad),
  "Tokenizer.decode": () => (decoder.tokenizer as any).decode([1], bad),
  Gpt2: () => (decoder.model as any).forward(ids, bad),
  bert: () => (encoder.model as any).forward(ids, bad),
  generate: () => [...M.generate(decoder.model, ids, bad)],
  embedTextsAsync: () => M.embedTextsAsync(encoder, ["a"], bad),
  embedTexts: () => M.embedTexts(encoder, ["a"], { modes: ["mean"], normalize: false, ...bad }),
  answerQuestion: () => M.answerQuestion(encoder, "who?", "a ship", bad),
  fillMask: () => M.fillMask(encoder, "the [MASK]", bad),
  fillMaskAsync: () => M.fillMaskAsync(encoder, "the [MASK]", bad),
  ablate: () => M.ablate(decoder, "the old", bad),
  ablateHeads: () => M.ablateHeads(decoder, "the old", [], bad),
  measureEffects: () => M.measureEffects(decoder, "the old", { of: "text" }, bad),
  splitScore: () => M.splitScore(decoder, "the old", { layer: 0, head: 0, query: 1, key: 0, ...bad }),
  attributeLogits: () => M.attributeLogits(decoder, "the old", bad),
  bars: () => V.bars({ a: 1 }, bad),
  curves: () => V.curves([{ name: "a", points: [[0, 1]] }], bad),
  histogram: () => V.histogram([1, 2], bad),
  headsOverTexts: () => V.headsOverTexts([{ name: "a", open: () => view.storeFromModel(attention) }], bad),
  openStore: () => V.openStore(new Blob([bytes]), bad),
  storeFromModel: () => V.storeFromModel(attention, bad),
  renderFigure: () => V.renderFigure(view.storeFromModel(attention), bad),
  "GRU: forward": () => new O.GRU(2, 2).forward(h.zeros([1, 3, 2]), bad),
  "RecurrentEncoderDecoder: read": () => new O.RecurrentEncoderDecoder({ sourceWords: 4, targetWords: 4 }).read([[1]], bad),
  forward: () => R.forward(one, one, one, single, bad),
  unscaled: () => R.unscaled(one, one, one, single, bad),
  finiteMask: () => R.finiteMask(one, one, one, single, bad),
  withoutMaximum: () => R.withoutMaximum(one, one, one, single, bad),
  online: () => [...R.online(one, one, one, single, bad)],
  backward: () => R.backward(one, one, one, one, single, bad),
  attentionDoubleBackward: () => R.attentionDoubleBackward(q, q, q, q, { dQuery: q }, bad),
  "Linear.loadStateDict": () => new N.Linear(2, 2).loadStateDict(new Map(), bad),
  "Tokenizer.ids": () => (decoder.tokenizer as any).ids("a", bad),
  "Tokenizer.stream": () => (decoder.tokenizer as any).stream(bad),
  textModel: () => M.textModel(decoder.model, decoder.tokenizer, bad),
  modelToFiles: () => M.modelToFiles(decoder.model, decoder.tokenizer, bad),
  tokenShares: () => M.tokenShares(one, bad),
  "Gpt2: new": () => new M.Gpt2((decoder.model as any).config, bad),
  "Bert: new": () => new M.Bert((encoder.model as any).config, bad),
  splitBlocks: () => T.splitBlocks(99, { window: 9, ...bad }),
  writePng: () => I.writePng(1, 1, bad),
  renderText: () => V.renderText(view.storeFromModel(attention), "a text", bad),
  renderSimilarity: () => V.renderSimilarity(["a", "b"], [[1, 1], [1, 1]], bad),
};

it.each(Object.keys(CALLS))("%s rejects an unknown option", async (name) => {
  const error = await (async () => CALLS[name]())().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(h.OptionError);
  const [function_] = name.split(": ");
  expect((error as Error).message).toMatch(
    new RegExp(`^${function_}: unknown option "zzz"; expected one of \\w`),
  );
});

// biome-ignore format: a mistake is a line
it.each([
  ["PyTorch's keepdim", () => N.sum(x, 0, { keepdim: true }), "sum: unknown option \"keepdim\"; did you mean keepAxis?"],
  ["PyTorch's dim", () => N.softmax(x, { dim: 0 }), "softmax: unknown option \"dim\"; did you mean axis?"],
  ["PyTorch's dim of sort", () => N.sort(x, { dim: 0 }), "sort: unknown option \"dim\"; did you mean axis?"],
  ["several axes", () => N.sum(x, { axes: [0, 1] }), "sum: unknown option \"axes\"; did you mean axis?"],
  ["NumPy's keepdims", () => N.max(x, 0, { keepdims: true }), "max: unknown option \"keepdims\"; did you mean keepAxis?"],
  ["PyTorch's weight_decay", () => new T.AdamW([h.zeros([2])], { weight_decay: 0 }), "AdamW: unknown option \"weight_decay\"; did you mean weightDecay?"],
  ["a learning rate by its full name", () => new T.AdamW([h.zeros([2])], { learningRate: 1 }), "AdamW: unknown option \"learningRate\"; did you mean lr?"],
  ["a learning rate of train", () => T.train({ model: T.languageModel("decoder", sizes), lr: 1, steps: 1 }), "train: unknown option \"lr\"; did you mean adamw: { lr }?"],
  ["PyTorch's dropout of a layer", () => new N.MultiHeadAttention(4, 2, { dropout: 0.1 }), "MultiHeadAttention: unknown option \"dropout\"; did you mean dropoutP?"],
  ["PyTorch's dim_feedforward", () => new N.EncoderBlock(4, 2, { dim_feedforward: 8 }), "EncoderBlock: unknown option \"dim_feedforward\"; did you mean feedForward?"],
  ["PyTorch's ignore_index", () => T.crossEntropy(x, x, { ignore_index: 0 }), "crossEntropy: unknown option \"ignore_index\"; did you mean ignoreIndex?"],
  ["a causal mask in the formula", () => R.forward(one, one, one, single, { isCausal: true }), "forward: unknown option \"isCausal\"; did you mean allowed?"],
  ["keepdim as a third argument", () => N.sum(x, 0, true), "sum: options must be an object, got true"],
] as [string, () => unknown, string][])("for %s the error suggests heed's name", async (_, call, words) => {
  await expect((async () => call())()).rejects.toThrow(words);
});
