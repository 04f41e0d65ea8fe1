/**
 * Common mistakes, each with heed's response: a typed error with a helpful message, before any work, or the intended result. A row is
 * a call with the start of its message. The table prevents untyped errors and silently wrong results.
 */
// biome-ignore-all lint/suspicious/noExplicitAny: mistakes that the types reject
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as h from "heed";
import * as backend from "heed/backend";
import * as io from "heed/io";
import * as models from "heed/models";
import * as nn from "heed/nn";
import * as hist from "heed/nn/history";
import * as reference from "heed/reference";
import * as tr from "heed/train";
import * as view from "heed/view";
import { afterAll, describe, expect, it } from "vitest";

/** The dtypes of the table, as an error lists them; src/core/dtype.test.ts has their names. */
let DTYPE_NAMES = "";
try {
  h.zeros([1], "none" as never);
} catch (error) {
  [, DTYPE_NAMES] = /one of (.{60,}), got "none"/.exec((error as Error).message)!;
}
const q = h.randn([2, 4, 5, 8], { seed: 1 });
const k = h.randn([2, 4, 7, 8], { seed: 2 });
const v = h.randn([2, 4, 7, 8], { seed: 3 });
const sq = h.randn([4, 4], { seed: 4 });
const x2 = h.randn([2, 5, 16], { seed: 5 });
// Without types, as in a JavaScript program.
const sd: any = h.scaledDotProductAttention;
const [N, M, T, I, V]: any[] = [nn, models, tr, io, view];
const mha: any = new nn.MultiHeadAttention(16, 2);
const bert = await models.readModel(models.locateShipped("encoder"));
const gpt = await models.readModel(models.locateShipped("decoder"));

const folder = mkdtempSync(join(tmpdir(), "heed-mistakes-"));
afterAll(() => rmSync(folder, { recursive: true }));
/** A folder with these files. */
function folderOf(name: string, files: readonly string[]): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const file of files) writeFileSync(join(path, file), "{}");
  return path;
}

/** Trains a layer for a step with these options, and with these methods in place of the model's. */
function trained(options: object, methods: object = {}): unknown {
  const layer = new nn.Linear(16, 4, { seed: 1 });
  const model = { parameters: () => layer.parameters(), loss: () => nn.mean(layer.forward(x2)), ...methods };
  return T.train({ model, data: () => [1], steps: 1, ...options });
}

type Row = [what: string, name: string, code: string, words: string, call: () => unknown];

// biome-ignore format: a mistake is a line
const REFUSED: Row[] = [
  ["PyTorch's key_padding_mask, which means the opposite", "OptionError", "option-name", 'MultiHeadAttention: unknown option "keyPaddingMask"; did you mean keyMask: eq(key_padding_mask, 0), for true means attend here', () => mha.forward(x2, x2, x2, { keyPaddingMask: [[true]] })],
  ["scoreMod with an operator, which would keep the score", "OptionError", "score-mod", "scoreMod: it has an operator of JavaScript, such as >=, beside an expression", () => h.scoreMod((({ score, q, k }: any) => (q >= k ? score : -Infinity)) as never)],
  ["scoreMod with ===", "OptionError", "score-mod", "scoreMod: the function has === or !== beside a variable, which JavaScript evaluates while the expression is made; write q.eq(k)", () => h.scoreMod((({ score, q, k }: any) => (k === q ? score : score.mul(2))) as never)],
  ["maskMod with === and ||", "OptionError", "mask", "maskMod: the function has === or !== beside a variable", () => h.maskMod((({ q: row, k: column }: any) => column.mod(2) === 0 || column.le(row)) as never)],
  ["maskMod with < and ||", "OptionError", "mask", "maskMod: it has an operator of JavaScript, such as >=, beside an expression", () => h.maskMod((({ q, k }: any) => k < 1 || k.le(q)) as never)],
  ["sinks with NaN", "OptionError", "sinks", "scaledDotProductAttention: sinks must hold numbers, got NaN", () => sd(q, q, q, { sinks: [Number.NaN, 0, 0, 0] })],
  ["queryOffset as a tensor", "ShapeError", "query-offset", "scaledDotProductAttention: queryOffset must be a number or one for each of 2 batch entries, got Tensor", () => sd(q, k, v, { queryOffset: h.tensor([2, 2]), isCausal: true })],
  ["keyPositions as a tensor", "ShapeError", "key-positions", "scaledDotProductAttention: keyPositions must be a list of 7 positions, one for each key, got Tensor", () => sd(q, k, v, { keyPositions: h.arange(7), isCausal: true })],
  ["a mask as keyMask", "OptionError", "key-mask", "MultiHeadAttention: keyMask takes a flag for each key; a mask such as keyLengths(lengths) goes into attnMask", () => mha.forward(x2, x2, x2, { keyMask: h.keyLengths([5, 3]) })],
  ["a mask as the condition of where", "OptionError", "condition", "where: condition takes a tensor; a mask such as causal() is for attnMask, a triangle is tril(ones([n, n]))", () => N.where(h.causal(), sq, 0)],
  ["maskedFill with a mask of attention", "OptionError", "mask", "maskedFill: mask takes a tensor; a mask such as causal() is for attnMask", () => N.maskedFill(sq, h.causal(), 0)],
  ["a generator as data", "ShapeError", "shape", "tensor: an object needs a shape", () => h.tensor((function* () {})() as never)],
  ["x.cast as of TensorFlow.js", "UnsupportedError", "method", "Tensor has no cast; await x.to(device) moves it, cast(x, dtype) converts it", () => (sq as any).cast("float64")],
  ["Keras' layer.predict", "UnsupportedError", "method", "Module has no predict; a layer is called by forward(x)", () => mha.predict(x2)],
  ["options as the memory of a block", "OptionError", "memory", "DecoderBlock.forward: memory must be a tensor or nested arrays; options are the third argument", () => new N.DecoderBlock(16, 2, { crossAttention: true }).forward(x2, { memory: x2 })],
  ["positions of a tensor", "OptionError", "positions", "LearnedPositions: there are 10 positions; got N = Tensor from offset 0 on; N is a count, such as x.shape.at(-2)", () => new N.LearnedPositions(10, 16).forward(x2)],
  ["sinusoids of an odd size", "OptionError", "size", "SinusoidalPositions: size must be even, got 15", () => new nn.SinusoidalPositions(15)],
  ["rotary positions by dim", "OptionError", "option-name", 'Rope: unknown option "dim"; did you mean rotaryDim?', () => new N.Rope({ dim: 64 })],
  ["rotary positions by theta", "OptionError", "option-name", 'rope: unknown option "theta"; did you mean base?', () => N.rope(x2, { theta: 1e4 })],
  ["numbers as a parameter", "OptionError", "a flat list", "parameter: a flat list must be lengths, or numbers as a tensor: tensor([0.5, 2]), got [1.5, 2]", () => nn.parameter([1.5, 2])],
  ["a layer's method in grad", "OptionError", "argument", "grad: expected a function, as in grad((x) => sum(layer.forward(x)))(x), got the function forward", () => tr.grad(new nn.Linear(4, 4).forward as never)(sq)],
  ["Map as the work of tidy", "OptionError", "work", "tidy: work must be a function, got the class Map", () => T.tidy(Map)],
  ["Map as the loss of findNonFinite", "OptionError", "argument", "findNonFinite: expected a Map of parameters by name, and a function that returns the loss, got the class Map", () => T.findNonFinite(new Map(), Map)],
  ["one-hot targets", "ShapeError", "targets", "crossEntropy: targets must be [2] int32 for logits [2, 2], got [2, 2] int32; of one-hot rows they are argmax(targets, -1)", () => tr.crossEntropy(h.eye(2), [[1, 0], [0, 1]])],
  ["a text as ids", "OptionError", "ids", 'embedding: ids must be token ids, got "the sea"; encode(text) of a tokenizer has them in its field ids', () => gpt.model.forward("the sea" as never)],
  ["tokens as ids", "OptionError", "ids", "embedding: ids must be token ids, got Object; encode(text)", () => gpt.model.forward(gpt.tokenize("the sea") as never)],
  ["a picture of queries alone", "OptionError", "source", "figureOf: queries need keys, { query, key }", () => V.figureOf({ query: sq })],
  ["a picture of a model's attention", "OptionError", "source", "figureOf: the attention of a model has many heads; one layer is figureOf(attention.layers[0])", () => V.figureOf(gpt.attention("the sea"))],
  ["a store of a model's attention", "OptionError", "store", "storeFrom: expected { blocks: [...] } (of a model's attention, storeFromModel makes a store), got Object", () => V.storeFrom(gpt.attention("the sea"))],
  ["PyTorch's batch_first", "OptionError", "option-name", 'MultiHeadAttention: unknown option "batch_first"; heed is always batch first, [B, N, d]. The options are', () => new N.MultiHeadAttention(16, 2, { batch_first: true })],
  ["NumPy's x.T", "UnsupportedError", "method", "Tensor has no T; x.transpose() exchanges the last two axes", () => N.matmul(q, (k as any).T)],
  ["NumPy's x[0]", "ShapeError", "tensor", "matmul: b: expected a tensor { data, shape } or nested arrays, got undefined; a name that a Map or an object does not have gives undefined (x[0] is pick(x, 0) of heed/nn)", () => N.matmul(q, (k as any)[0])],
  ["Python's q.shape[-1]", "OptionError", "scale", "scaledDotProductAttention: scale must be a finite number, got NaN; the last size of a tensor is q.shape.at(-1)", () => sd(q, k, v, { scale: q.shape[-1]! ** -0.5 })],
  ["PyTorch's randn(1, 3, 8)", "OptionError", "argument-count", "randn: expected at most 2 arguments, got 3; a list is one argument: [1, 3, 8]", () => (h.randn as any)(1, 3, 8)],
  ["NumPy's x.reshape(2, 8)", "OptionError", "argument-count", "Tensor.reshape: expected one argument, got 2; a list is one argument: [2, 8]", () => (sq as any).reshape(2, 8)],
  ["NumPy's sqrt(d)", "ShapeError", "tensor", "sqrt: x: expected a tensor, got 64; of a number it is Math.sqrt(64)", () => N.sqrt(64)],
  ["NumPy's ddof", "OptionError", "option-name", 'variance: unknown option "ddof"; did you mean correction?', () => N.variance(sq, { ddof: 1 })],
  ["PyTorch's enable_gqa", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "enable_gqa"; key and value may have fewer heads than query. The options are', () => sd(q, q, q, { enable_gqa: true })],
  ["PyTorch's average_attn_weights", "OptionError", "option-name", 'MultiHeadAttention: unknown option "average_attn_weights"; weights are of each head, [..., H, Nq, Nk]; mean(weights, -3) averages them. The options are', () => mha.forward(x2, x2, x2, { average_attn_weights: true })],
  ["PyTorch's cuda", "OptionError", "device", 'Tensor.to: unknown device "cuda"; expected one of cpu; a GPU is await webgpu() of heed/webgpu', () => sq.to("cuda")],
  ["a 0/1 mask of keys", "DTypeError", "key-mask", "MultiHeadAttention: keyMask must be bool, true where a key is attended to, got keyMask [2, 5] int32; for 1 = attend pass cast(mask, \"bool\")", () => mha.forward(x2, x2, x2, { keyMask: h.ones([2, 5], "int32" as never) })],
  ["Keras' use_causal_mask", "OptionError", "option-name", 'MultiHeadAttention: unknown option "use_causal_mask"; did you mean isCausal?', () => mha.forward(x2, x2, x2, { use_causal_mask: true })],
  ["Keras' return_attention_scores", "OptionError", "option-name", 'MultiHeadAttention: unknown option "return_attention_scores"; did you mean returnWeights?', () => mha.forward(x2, x2, x2, { return_attention_scores: true })],
  ["Keras' training", "OptionError", "option-name", 'MultiHeadAttention: unknown option "training"; dropout runs inside withDropout(seed, work) only. The options are', () => mha.forward(x2, x2, x2, { training: true })],
  ["Keras' model.fit", "UnsupportedError", "method", "Module has no fit; train({ model, data, steps }) of heed/train trains a model", () => mha.fit(x2)],
  ["JAX's key_value_seq_lengths", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "key_value_seq_lengths"; did you mean attnMask: keyLengths(lengths)?', () => sd(q, k, v, { key_value_seq_lengths: [7, 3] })],
  ["JAX's local_window_size", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "local_window_size"; did you mean attnMask?', () => sd(q, k, v, { local_window_size: [2, 0] })],
  ["a mask [B, 1, Nq, Nk] on inputs without heads", "ShapeError", "mask-shape", "scaledDotProductAttention: attnMask must broadcast, right-aligned, to [2, 5, 5], got attnMask [2, 1, 5, 5] bool; leave out its axis of heads", () => sd(x2, x2, x2, { attnMask: h.ones([2, 1, 5, 5], "bool") })],
  ["{ mask } instead of { attnMask }", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "mask"; did you mean attnMask?', () => sd(q, k, v, { mask: h.causal() })],
  ["{ causal } instead of { isCausal }", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "causal"; did you mean isCausal?', () => sd(q, q, q, { causal: true })],
  ["PyTorch's attn_mask", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "attn_mask"; did you mean attnMask?', () => sd(q, q, q, { attn_mask: h.causal() })],
  ["{ dropout } instead of { dropoutP }", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "dropout"; did you mean dropoutP?', () => sd(q, q, q, { dropout: 0.1 })],
  ["PyTorch's is_causal", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "is_causal"; did you mean isCausal?', () => sd(q, q, q, { is_causal: true })],
  ["return_weights", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "return_weights"; did you mean returnWeights?', () => sd(q, q, q, { return_weights: true })],
  ["PyTorch's need_weights", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "needWeights"; did you mean returnWeights?', () => sd(q, q, q, { needWeights: true })],
  ["a mask tensor as the fourth argument", "OptionError", "options", "scaledDotProductAttention: the options are { … }, got Tensor; a mask goes into them: { attnMask: mask }", () => sd(q, k, v, h.tensor([[true]]))],
  ["causal() as the fourth argument", "OptionError", "options", "scaledDotProductAttention: the options are { … }, got BoolExpression; a mask goes into them: { attnMask: mask", () => sd(q, q, q, h.causal())],
  ["causal without its call", "OptionError", "mask", "scaledDotProductAttention: attnMask takes what causal(…) returns, got the function itself; call it: attnMask:", () => sd(q, q, q, { attnMask: h.causal })],
  ["a mask by its name", "OptionError", "mask", "scaledDotProductAttention: attnMask takes a tensor or a mask such as causal() or slidingWindow(256, 0), got", () => sd(q, q, q, { attnMask: "causal" })],
  ["attnMask nested ragged", "ShapeError", "ragged", "scaledDotProductAttention: attnMask: rows must have one length; [0] has 2 entries, [1] has 1", () => sd(sq, sq, sq, { attnMask: [[true, false], [true]] })],
  ["attnMask wrong shape", "ShapeError", "mask-shape", "scaledDotProductAttention: attnMask must broadcast, right-aligned, to [2, 4, 5, 7], got attnMask [5, 6] bool", () => sd(q, k, v, { attnMask: h.tensor(new Uint8Array(30).fill(1), [5, 6], "bool") })],
  ["attnMask [B,N]", "ShapeError", "mask-shape", "scaledDotProductAttention: attnMask must broadcast, right-aligned, to [2, 4, 5, 7], got attnMask [2, 7] bool;", () => sd(q, k, v, { attnMask: h.tensor(new Uint8Array(14).fill(1), [2, 7], "bool") })],
  ["attnMask 0/1 float", "OptionError", "mask-zeros-ones", "scaledDotProductAttention: attnMask holds only 0 and 1, and a float mask is added to the scores. Where 1", () => sd(sq, sq, sq, { attnMask: nn.tril(h.ones([4, 4])) })],
  ["attnMask int32", "DTypeError", "mask-dtype", "scaledDotProductAttention: attnMask must be bool or float32, got attnMask [4, 4] int32; for 1 = attend pass", () => sd(sq, sq, sq, { attnMask: h.ones([4, 4], "int32" as never) })],
  ["attnMask float64 w float32", "DTypeError", "mask-dtype", "scaledDotProductAttention: attnMask must be bool or float32, got attnMask [4, 4] float64", () => sd(sq, sq, sq, { attnMask: h.full([4, 4], -1, "float64" as never) })],
  ["1-D", "ShapeError", "rank", "scaledDotProductAttention: query has 1 axis, expected [..., N, d] or [..., H, N, d]", () => sd(h.ones([3]), h.ones([3]), h.ones([3]))],
  ["scalars", "ShapeError", "tensor", "scaledDotProductAttention: query: expected a tensor { data, shape } or nested arrays, got 1", () => sd(1, 2, 3)],
  ["undefined", "ShapeError", "tensor", "scaledDotProductAttention: query: expected a tensor { data, shape } or nested arrays, got undefined", () => sd(undefined, k, v)],
  ["missing value", "ShapeError", "tensor", "scaledDotProductAttention: value: expected a tensor { data, shape } or nested arrays, got undefined", () => sd(q, k)],
  ["nested arrays of unequal rows", "ShapeError", "ragged", "scaledDotProductAttention: query: rows must have one length", () => sd([[1, 2], [3]], sq, sq)],
  ["X3 bytes without a dtype", "DTypeError", "dtype", "tensor: Uint8Array", () => h.tensor(new Uint8Array(4) as any, [2, 2])],
  ["X4 a longer array", "ShapeError", "extent", "tensor: [2, 3] has 6 numbers, the array has 7; a part of it is data.subarray(0, 6)", () => h.tensor(new Float32Array(7), [2, 3])],
  ["X4 a longer array in an object", "ShapeError", "extent", "scaledDotProductAttention: query: [5, 4] has 20 numbers, the array has 100", () => sd({ data: new Float32Array(100), shape: [5, 4] }, sq, sq)],
  ["X5 fortran_order", "OptionError", "option-name", 'scaledDotProductAttention: query: a tensor: unknown option "fortran_order"; did you mean fortranOrder?', () => sd({ data: new Float32Array(4), shape: [2, 2], fortran_order: true }, sq, sq)],
  ["X5 byteOffset", "OptionError", "option-name", 'scaledDotProductAttention: query: a tensor: unknown option "byteOffset"', () => sd({ data: new Float32Array(4), shape: [2, 2], byteOffset: 8 }, sq, sq)],
  ["X5 shape against dims", "ShapeError", "tensor", "scaledDotProductAttention: query: shape and dims contradict each other", () => sd({ data: new Float32Array(4), shape: [2, 2], dims: [4, 1] }, sq, sq)],
  ["X5 dtype against type", "ShapeError", "tensor", "scaledDotProductAttention: query: dtype and type contradict each other", () => sd({ data: new Uint16Array(4), shape: [2, 2], dtype: "float16", type: "bfloat16" }, sq, sq)],
  ["X5 strides against stride", "ShapeError", "tensor", "scaledDotProductAttention: query: strides and stride contradict each other", () => sd({ data: new Float32Array(4), shape: [2, 2], strides: [2, 1], stride: [1, 2] }, sq, sq)],
  ["X5 strides against fortranOrder", "ShapeError", "tensor", "scaledDotProductAttention: query: fortranOrder and strides contradict each other", () => sd({ data: new Float32Array(4), shape: [2, 2], strides: [2, 1], fortranOrder: true }, sq, sq)],
  ["X5 stride as a fourth argument", "OptionError", "option-name", 'tensor: the fourth argument: unknown option "stride"; expected one of strides, offset', () => (h.tensor as any)(new Float32Array(4), [2, 2], "float32", { stride: [1, 2] })],
  ["X6 transpose with three axes", "OptionError", "argument", "Tensor.transpose: expected two axes to exchange as numbers, x.transpose(0, 1); any order of axes is permute(x, [1, 0])", () => (sq as any).transpose(0, 2, 1)],
  ["X8 dropout of attention without a seed", "OptionError", "seed", "scaledDotProductAttention: dropoutP needs a seed, an integer", () => sd(q, k, v, { dropoutP: 0.5 })],
  ["X8 dropout without a seed", "OptionError", "seed", "dropout: p > 0 needs a seed", () => nn.dropout(x2, 0.5)],
  ["X9 attentionBackward with other masks", "OptionError", "weights-sum", "attentionBackward: the weights of row 0 of head 0 of batch entry 0 sum to", () => h.attentionBackward(q, q, q, q, sd(q, q, q, { isCausal: true }))],
  ["X9 attentionBackward with another scale", "OptionError", "weights-sum", "attentionBackward: the weights of row 0 of head 0 of batch entry 0 sum to", () => h.attentionBackward(q, q, q, q, sd(q, q, q), { scale: 1 })],
  ["X9 attentionBackward without the padding", "OptionError", "weights-sum", "attentionBackward: the weights of row 0 of head 0 of batch entry 1 sum to", () => h.attentionBackward(q, q, k, v, sd(q, k, v, { attnMask: h.keyLengths([7, 3]) }))],
  ["X11 || between masks", "OptionError", "mask", "maskMod: the function has || or ?? after a call", () => h.maskMod(({ q, k }) => q.ge(k) || k.lt(1))],
  ["X11 ?? between masks", "OptionError", "mask", "maskMod: the function has || or ?? after a call", () => h.maskMod(({ q, k }) => q.ge(k) ?? k.lt(1))],
  ["X11 a mask as a callback", "OptionError", "mask", "scaledDotProductAttention: attnMask takes no function: a mask is made once, as an expression", () => sd(q, k, v, { attnMask: (i: number, j: number) => j <= i })],
  ["X12 keyLengths beyond the keys", "ShapeError", "length", "scaledDotProductAttention: keyLengths counts 70 keys, the call has 7", () => sd(q, k, v, { attnMask: h.keyLengths(70) })],
  ["X12 one of keyLengths beyond the keys", "ShapeError", "length", "scaledDotProductAttention: keyLengths counts 70 keys, the call has 7", () => sd(q, k, v, { attnMask: h.keyLengths([7, 70]) })],
  ["X12 queryLengths beyond the rows", "ShapeError", "length", "scaledDotProductAttention: queryLengths counts 70 rows, the call has 5", () => sd(q, k, v, { attnMask: h.and(h.causal(), h.queryLengths(70)) })],
  ["X12 prefixLm beyond the keys", "ShapeError", "length", "scaledDotProductAttention: prefixLm counts 70 keys, the call has 7", () => sd(q, k, v, { attnMask: h.prefixLm(70) })],
  ["X13 pick with a list of positions", "ShapeError", "index", "pick: [0, 2, 3] is [start, end, step], and its step is longer than its range; positions one by one are take(x, [0, 2, 3], axis)", () => nn.pick(sq, [0, 2, 3])],
  ["take beyond the axis", "OptionError", "index", "take: index 4 at position 1 of the indices; axis 0 has 4 positions", () => nn.take(sq, [0, 4])],
  ["take with fractions", "OptionError", "index", "take: index 0.5 at position 0 of the indices", () => nn.take(sq, [0.5])],
  ["take with a float tensor", "DTypeError", "ids", "take: indices must be int32, int64 or uint8, got indices [1] float32", () => nn.take(sq, h.tensor([1]))],
  ["gather with the rows of take", "ShapeError", "indices", "gather: indices must have the axes of x, none but axis 0 longer, got indices [3]; x [4, 4] float32; rows by index are take(", () => nn.gather(sq, [0, 2, 3], 0)],
  ["permute like transpose", "OptionError", "argument-count", "permute: expected at most 2 arguments, got 3; the order is a list of axes, permute(x, [1, 0])", () => N.permute(sq, 0, 1)],
  ["permute with an axis twice", "ShapeError", "axis", "permute: [0, 0] names axis 0 twice", () => nn.permute(sq, [0, 0])],
  ["squeeze of a long axis", "ShapeError", "axis", "squeeze: axis 0 has length 4, and only axes of length 1 can be removed", () => nn.squeeze(sq, 0)],
  ["a sum over no axes", "ShapeError", "axis", "sum: the list of axes is empty; leave it out for all axes", () => nn.sum(sq, [])],
  ["an axis twice", "ShapeError", "axis", "sum: [1, -1] names axis 1 twice", () => nn.sum(sq, [1, -1])],
  ["an axis as argument and option", "OptionError", "axis", "mean: the axis is named twice", () => nn.mean(sq, 0, { axis: 1 })],
  ["clip with the bounds exchanged", "OptionError", "bounds", "clip: expected two numbers, low ≤ high, got 1 and 0", () => nn.clip(sq, 1, 0)],
  ["clip with one bound", "OptionError", "bounds", "clip: expected two numbers, low ≤ high, got 0 and undefined; Infinity leaves a side open", () => N.clip(sq, 0)],
  ["masked_fill with 0 and 1", "DTypeError", "mask-dtype", "maskedFill: the mask must be bool, true where the value is filled in, got mask [4, 4] float32; for 1 = fill pass eq(mask, 1)", () => nn.maskedFill(sq, h.ones([4, 4]), 0)],
  ["a comparison of dtypes", "DTypeError", "dtype-mixed", 'eq: both must have one dtype; x [4] int32, y [4] float32; convert one: cast(x, "float32")', () => nn.eq(nn.argmax(sq, 1), h.ones([4]))],
  ["a comparison of float16", "DTypeError", "dtype", 'lt: computes in float32 and float64 and compares integers, got x [4, 4] float16; convert it: cast(x, "float32")', () => nn.lt(h.cast(sq, "float16"), 0)],
  ["topk of too many", "OptionError", "k", "topk: k must be an integer from 0 to 4, the length of axis 1, got 5", () => nn.topk(sq, 5)],
  ["variance of one number", "OptionError", "correction", "variance: correction must be a number from 0 to below 1, the elements of each sum, got 1", () => nn.variance(h.ones([3, 1]), 1)],
  ["einsum without an equation", "OptionError", "argument", 'einsum: expected an equation and tensors, as in einsum("ij,jk->ik", a, b)', () => N.einsum(sq, sq)],
  ["einsum of other lengths", "ShapeError", "einsum", "einsum: j has length 4 and, in operand 1, 3", () => nn.einsum("ij,jk->ik", sq, h.ones([3, 4]))],
  ["einsum of too few operands", "OptionError", "equation", 'einsum: "ij,jk->ik" has 2 operands, got 1', () => nn.einsum("ij,jk->ik", sq)],
  ["einsum with a letter from nowhere", "OptionError", "equation", 'einsum: "ij->k" must be letters, commas and one "->"', () => nn.einsum("ij->k", sq)],
  ["einsum with two ellipses", "OptionError", "equation", 'einsum: "......ij->ij" must be letters, commas and one "->"', () => nn.einsum("......ij->ij", sq)],
  ["einsum of a diagonal", "UnsupportedError", "equation", 'einsum: "ii" names an axis twice, which is a diagonal', () => nn.einsum("ii->i", sq)],
  ["X14 scoreMod without score", "OptionError", "score-mod", "scoreMod: the expression does not have score, so queries and keys would not matter", () => h.scoreMod(({ q, k }) => q.sub(k).abs().mul(-0.1))],
  ["X15 new Tensor of a list", "OptionError", "argument", "new Tensor: expected a typed array", () => new (h.Tensor as any)([1, 2], [2], "float32")],
  ["X15 new Tensor without a dtype", "DTypeError", "dtype", "new Tensor: dtype must be one of", () => new (h.Tensor as any)(new Float32Array(2), [2])],
  ["X15 new Tensor of too few numbers", "ShapeError", "extent", "new Tensor: [5, 4] needs 20 numbers, the array has 2", () => new h.Tensor(new Float32Array(2), [5, 4], "float32")],
  ["X15 int32 weights", "DTypeError", "dtype", "Linear.loadStateDict: weight must have a float dtype, got weight [2, 2] int32", () => new nn.Linear(2, 2).loadStateDict(new Map([["weight", h.ones([2, 2], "int32" as never)], ["bias", h.zeros([2])]]))],
  ["X15 weights with NaN", "FormatError", "not-a-number", "Linear.loadStateDict: weight has NaN", () => new nn.Linear(2, 2).loadStateDict(new Map([["weight", h.full([2, 2], NaN)], ["bias", h.zeros([2])]]))],
  ["X15 a tensor as the weights of a map", "OptionError", "argument", "renderHeatMaps: expected weights as a list of queries × keys = 4 numbers, such as tensor.toFloat64()", () => V.renderHeatMaps([{ title: "a", weights: h.ones([2, 2]), queries: 2, keys: 2 }], { queryLabels: ["a", "b"], keyLabels: ["a", "b"] })],
  ["X15 weights of a map that are too few", "OptionError", "argument", "renderHeatMaps: expected weights as a list of queries × keys = 4 numbers", () => view.renderHeatMaps([{ title: "a", weights: [1, 0], queries: 2, keys: 2 }], { queryLabels: ["a", "b"], keyLabels: ["a", "b"] })],
  ["X15 new Tensor of another dtype than its array", "DTypeError", "dtype-array", "new Tensor: dtype float64 is stored in Float64Array, got Float32Array", () => new h.Tensor(new Float32Array(2), [2], "float64")],
  ["X15 a state without any name of the layer", "FormatError", "state", "Linear.loadStateDict: no name of the state is one of the layer's", () => new nn.Linear(2, 2).loadStateDict(new Map(), { strict: false })],
  ["X15 a state merged with itself", "OptionError", "states", "mergeStates: states[1] is states[0] again; its keys would count twice", () => { const state = { output: h.ones([2, 4]), lse: h.zeros([2]) }; return h.mergeStates([state, state]); }],
  ["a tensor in JavaScript's arithmetic", "UnsupportedError", "arithmetic", "Tensor: JavaScript's operators do not compute with tensors; use multiply(x, 2)", () => (sq as any) * 2],
  ["typed array", "ShapeError", "tensor", "scaledDotProductAttention: query: expected a tensor { data, shape }, got Float32Array of 4 without a shape", () => sd(new Float32Array(4), new Float32Array(4), new Float32Array(4))],
  ["dk differs", "ShapeError", "head-size", "scaledDotProductAttention: query and key must have the same head size dk, got 8 and 9", () => sd(q, h.randn([2, 4, 7, 9]), v)],
  ["Nk differs", "ShapeError", "key-length", "scaledDotProductAttention: key and value must have the same length Nk, got 7 and 6", () => sd(q, k, h.randn([2, 4, 6, 8]))],
  ["heads do not divide", "ShapeError", "heads", "scaledDotProductAttention: 3 key heads do not divide 7 query heads; where the axes are [B, N, H, d], pass", () => sd(h.randn([1, 7, 5, 8]), h.randn([1, 3, 5, 8]), h.randn([1, 3, 5, 8]))],
  ["batch differs", "ShapeError", "batch", "scaledDotProductAttention: leading axes 2, 3, 3 do not broadcast", () => sd(q, h.randn([3, 4, 7, 8]), h.randn([3, 4, 7, 8]))],
  ["bshd without layout", "ShapeError", "heads", "scaledDotProductAttention: 7 key heads do not divide 5 query heads; where the axes are [B, N, H, d], pass", () => sd(h.randn([2, 5, 4, 8]), h.randn([2, 7, 4, 8]), h.randn([2, 7, 4, 8]))],
  ["layout BSHD", "OptionError", "layout", 'scaledDotProductAttention: layout must be "bhsd" or "bshd", got "BSHD"', () => sd(q, k, v, { layout: "BSHD" })],
  ["causal Nq != Nk", "OptionError", "causal-alignment", 'scaledDotProductAttention: isCausal: true is ambiguous for 5 queries and 7 keys; say isCausal: "upper-left"', () => sd(q, k, v, { isCausal: true })],
  ["isCausal 'lower'", "OptionError", "causal", 'scaledDotProductAttention: isCausal must be true, false, "upper-left" or "lower-right", got "lower"', () => sd(q, k, v, { isCausal: "lower" })],
  ["isCausal 1", "OptionError", "causal", 'scaledDotProductAttention: isCausal must be true, false, "upper-left" or "lower-right", got 1', () => sd(q, q, q, { isCausal: 1 })],
  ["float32 x float64", "DTypeError", "dtype-mixed", "scaledDotProductAttention: float64 does not mix with other dtypes; convert the others first: cast(x,", () => sd(q, h.cast(k, "float64"), v)],
  ["int query", "DTypeError", "dtype", "scaledDotProductAttention: attention computes with float32, float64, float16 and bfloat16, got query [2, 2]", () => sd(h.ones([2, 2], "int32" as never), h.ones([2, 2]), h.ones([2, 2]))],
  ["BigUint64Array raw", "DTypeError", "dtype", "scaledDotProductAttention: query: no dtype is stored in BigUint64Array of 4", () => sd({ data: new BigUint64Array(4), shape: [2, 2] }, sq, sq)],
  ["wrong length", "ShapeError", "extent", "tensor: [2, 2] needs 4 numbers, the array has 3", () => h.tensor([1, 2, 3], [2, 2])],
  ["wrong length typed", "ShapeError", "extent", "tensor: [2, 2] needs 4 numbers, the array has 3", () => h.tensor(new Float32Array(3), [2, 2])],
  ["ragged", "ShapeError", "ragged", "tensor: rows must have one length; [0] has 2 entries, [1] has 1", () => h.tensor([[1, 2], [3]])],
  ["mixed nested", "ShapeError", "ragged", "tensor: rows must have one length; [0] has 2 entries, [1] is 3", () => h.tensor([[1, 2], 3] as never)],
  ["strings", "DTypeError", "dtype", 'tensor: expected numbers or booleans, got "a" at [0]', () => h.tensor(["a"] as never)],
  ["null", "DTypeError", "dtype", "tensor: expected numbers or booleans, got null at [0]", () => h.tensor([null] as never)],
  ["neg shape", "ShapeError", "shape", "zeros: every axis must be an integer ≥ 0, got [-1, 2]", () => h.zeros([-1, 2])],
  ["zeros(3,4)", "ShapeError", "shape", "zeros: shape must be a list of lengths, got 3", () => (h.zeros as any)(3, 4)],
  ["zeros fraction", "ShapeError", "shape", "zeros: every axis must be an integer ≥ 0, got [1.5]", () => h.zeros([1.5])],
  ["dtype float", "DTypeError", "dtype", `zeros: dtype must be one of ${DTYPE_NAMES}, got "float"`, () => h.zeros([2], "float" as never)],
  ["dtype fp16", "DTypeError", "dtype", `zeros: dtype must be one of ${DTYPE_NAMES}, got "fp16"`, () => h.zeros([2], "fp16" as never)],
  ["randn(3,4)", "ShapeError", "shape", "randn: shape must be a list of lengths, got 3", () => (h.randn as any)(3, 4)],
  ["reshape(4)", "ShapeError", "shape", "Tensor.reshape: shape must be a list of lengths such as [2, -1], got 4", () => (sq as any).reshape(4)],
  ["nn.reshape(x, 4)", "ShapeError", "shape", "Tensor.reshape: shape must be a list of lengths such as [2, -1], got 4", () => N.reshape(sq, 4)],
  ["cast without a dtype", "DTypeError", "dtype", `cast: dtype must be one of ${DTYPE_NAMES}, got undefined`, () => (h.cast as any)(sq)],
  ["PyTorch's x.to(dtype)", "OptionError", "device", 'Tensor.to: unknown device "float16"; expected one of cpu; cast(x, "float16") changes the dtype', () => sq.to("float16")],
  ["alibiSlopes without heads", "OptionError", "heads", "alibiSlopes: heads must be an integer ≥ 1, got undefined", () => (h.alibiSlopes as any)()],
  ["tape.run without a function", "OptionError", "work", "Tape.run: expected a function, as in tape.run(() => loss()), got undefined", () => (new tr.Tape() as any).run()],
  ["tape.gradients of one tensor", "OptionError", "wanted", "Tape.gradients: the second argument is a list of tensors, as in tape.gradients(loss, [x]) or parameters.values(), got Tensor", () => { const t = new tr.Tape(); const l = t.run(() => nn.sum(sq)); return t.gradients(l, sq as never); }],
  ["bars of a tensor", "OptionError", "bars", "bars: entries must be { name: value }, [name, value] pairs or an array of numbers such as tensor.toFloat64(), got Tensor", () => V.bars(sq)],
  ["curves of numbers", "OptionError", "curves", "curves: series must be a list of { name, points: [[x, y], …] }, got [1, 2]", () => V.curves([1, 2])],
  ["curves of an object", "OptionError", "curves", "curves: series must be a list of { name, points: [[x, y], …] }, got Object", () => V.curves({ a: [1, 2] })],
  ["histogram of a tensor", "OptionError", "histogram", "histogram: values must be an array of numbers, such as tensor.toFloat64(), got Tensor", () => V.histogram(sq)],
  ["openStore of nothing", "OptionError", "source", "openStore: expected a path, a file handle, a Blob, bytes or { size, read }, got undefined", () => V.openStore()],
  ["embedTexts by a name", "OptionError", "model", 'embedTexts: model must be what readModel returns, got "encoder"', () => M.embedTexts("encoder", ["a"])],
  ["fillMask by a name", "OptionError", "model", 'fillMask: model must be what readModel returns, got "encoder"', () => M.fillMask("encoder", "[MASK]")],
  ["reshape wrong", "ShapeError", "reshape", "Tensor.reshape: [2, 4, 5, 8] has 320 elements, [3, 3] does not", () => q.reshape([3, 3])],
  ["transpose wrong", "ShapeError", "axis", "Tensor.transpose: axes 0, 9 of a tensor of 4 axes", () => (q as any).transpose(0, 9)],
  ["at out", "ShapeError", "index", "Tensor.at: index 4 on axis 0 of length 4", () => sq.at(4, 0)],
  ["at few", "ShapeError", "rank", "Tensor.at: 1 indices for a tensor of 2 axes", () => (sq as any).at(0)],
  ["scale NaN", "OptionError", "scale", "scaledDotProductAttention: scale must be a finite number, got NaN", () => sd(q, q, q, { scale: Number.NaN })],
  ["scale text", "OptionError", "scale", 'scaledDotProductAttention: scale must be a finite number, got "0.1"', () => sd(q, q, q, { scale: "0.1" })],
  ["dropoutP 1.5", "OptionError", "dropout", "scaledDotProductAttention: dropoutP must be in [0, 1), got 1.5", () => sd(q, q, q, { dropoutP: 1.5 })],
  ["dropoutP 50", "OptionError", "dropout", "scaledDotProductAttention: dropoutP must be in [0, 1), got 50", () => sd(q, q, q, { dropoutP: 50 })],
  ["seed text", "OptionError", "seed", 'scaledDotProductAttention: seed must be an integer below 2^53, got "x"', () => sd(q, q, q, { dropoutP: 0.1, seed: "x" })],
  ["sinks length", "ShapeError", "sinks", "scaledDotProductAttention: sinks must be [Hq = 4], got [1, 2]", () => sd(q, q, q, { sinks: [1, 2] })],
  ["returnWeights rows out", "OptionError", "selection", "scaledDotProductAttention: rows holds 9, expected integers from 0 to 4", () => sd(q, q, q, { returnWeights: { rows: [9] } })],
  ["returnWeights heads out", "OptionError", "selection", "scaledDotProductAttention: heads holds 4, expected integers from 0 to 3", () => sd(q, q, q, { returnWeights: { heads: [4] } })],
  ["returnWeights 'yes'", "OptionError", "weights", 'scaledDotProductAttention: returnWeights must be true, false or { heads?, rows? }, got "yes"', () => sd(q, q, q, { returnWeights: "yes" })],
  ["softcap 0", "OptionError", "softcap", "softcap: c must be > 0, got 0", () => sd(q, q, q, { scoreMod: h.softcap(0) })],
  ["softcap option", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "softcap"; did you mean scoreMod?', () => sd(q, q, q, { softcap: 30 })],
  ["scoreMod fn", "OptionError", "score-mod", "scaledDotProductAttention: scoreMod takes what softcap(c), alibi(slopes), relativeBias(table) or scoreMod(f) returns, got", () => sd(q, q, q, { scoreMod: ({ score }: any) => score })],
  ["scoreMod softcap uncalled", "OptionError", "score-mod", "scaledDotProductAttention: scoreMod takes what softcap(c), alibi(slopes), relativeBias(table) or scoreMod(f) returns, got", () => sd(q, q, q, { scoreMod: h.softcap })],
  ["scoreMod js math", "OptionError", "score-mod", "scoreMod: it has an operator of JavaScript, such as >=, beside an expression; the variables are b, h, i, q, k, score", () => (h.scoreMod as any)(({ score, q: i, k: j }: any) => score - Math.abs(i - j))],
  ["maskMod js compare", "OptionError", "mask", "maskMod: it has an operator of JavaScript, such as >=, beside an expression; the variables are b, h, i, q, k, score", () => h.maskMod((({ q: i, k: j }: any) => i >= j) as never)],
  ["maskMod && ", "OptionError", "mask", "maskMod: statements made and not used: 1; join them by and(), or() and select()", () => h.maskMod(({ q: i, k: j }: any) => i.ge(j) && j.lt(3))],
  ["maskMod !", "OptionError", "mask", "maskMod: the function must return a statement such as k.le(q), got false", () => h.maskMod((({ q: i, k: j }: any) => !i.ge(j)) as never)],
  ["maskMod undefined", "OptionError", "mask", "maskMod: the function must return a statement such as k.le(q), got undefined", () => h.maskMod((() => {}) as never)],
  ["maskMod no fn", "OptionError", "mask", "maskMod: expected a function of one object, such as ({ q, k }) => …, got true", () => (h.maskMod as any)(true)],
  ["and of tensors", "OptionError", "mask", "and: expected masks such as causal(), got Tensor", () => (h.and as any)(h.causal(), h.tensor([[true]]))],
  ["and of fn", "OptionError", "mask", "and: expected masks such as causal(), got the function causal", () => (h.and as any)(h.causal, h.causal())],
  ["keyLengths too long", "ShapeError", "table-length", "scaledDotProductAttention: keyLengths has 3 entries on axis 0, but this call has 2: b (batch entry) runs to", () => sd(q, k, v, { attnMask: h.keyLengths([3, 4, 1]) })],
  ["keyLengths too short", "ShapeError", "table-length", "scaledDotProductAttention: keyLengths has 1 entries on axis 0, but b (batch entry) runs from 0 to 1", () => sd(q, k, v, { attnMask: h.keyLengths([3]) })],
  ["queryLengths long", "ShapeError", "table-length", "scaledDotProductAttention: queryLengths has 3 entries on axis 0, but this call has 2: b (batch entry) runs to", () => sd(q, k, v, { attnMask: h.queryLengths([3, 4, 1]) })],
  ["prefixLm long", "ShapeError", "table-length", "scaledDotProductAttention: prefixLm has 3 entries on axis 0, but this call has 2: b (batch entry) runs to 1;", () => sd(q, k, v, { attnMask: h.prefixLm([3, 4, 1]) })],
  ["alibi long", "ShapeError", "table-length", "scaledDotProductAttention: alibi slopes has 5 entries on axis 0, but this call has 4: h (query head) runs to", () => sd(q, k, v, { scoreMod: h.alibi([1, 2, 3, 4, 5]) })],
  ["alibi short", "ShapeError", "table-length", "scaledDotProductAttention: alibi slopes has 3 entries on axis 0, but h (query head) runs from 0 to 3", () => sd(q, k, v, { scoreMod: h.alibi([1, 2, 3]) })],
  ["blockSparse too big", "ShapeError", "table-length", "scaledDotProductAttention: blockSparse has 3 entries on axis 0, but this call has 2: its index runs to 1;", () => sd(sq, sq, sq, { attnMask: (h.blockSparse as any)(h.tensor([[true, true, true], [true, true, true], [true, true, true], ]), 2), })],
  ["globalTokens out", "ShapeError", "table-length", "scaledDotProductAttention: globalTokens lists position 17, but this call has positions 0 to 3", () => sd(sq, sq, sq, { attnMask: h.globalTokens([17]) })],
  ["documents length", "ShapeError", "table-length", "scaledDotProductAttention: documents has 3 entries on axis 0, but q (query position) runs from 0 to 3", () => sd(sq, sq, sq, { attnMask: h.documents([0, 0, 1]) })],
  ["slidingWindow one arg", "OptionError", "window", "slidingWindow: right must be an integer ≥ 0, or −1 for open, got undefined", () => (h.slidingWindow as any)(3)],
  ["slidingWindow neg", "OptionError", "window", "slidingWindow: left must be an integer ≥ 0, or −1 for open, got -2", () => h.slidingWindow(-2, 0)],
  ["dilated 0", "OptionError", "dilated", "dilated: n must be an integer ≥ 1, got 0", () => h.dilated(0)],
  ["keyLengths neg", "OptionError", "length", "keyLengths: expected an integer ≥ 0 or one for each batch entry, got -1", () => sd(q, k, v, { attnMask: h.keyLengths(-1) })],
  ["queryOffset neg", "ShapeError", "query-offset", 'scaledDotProductAttention: queryOffset must be a number or one for each of 2 batch entries, got "2"', () => sd(q, k, v, { queryOffset: "2" })],
  ["lse forgotten, output given", "ShapeError", "lse", "attentionWeights: lse must be [2, 4, 5] float32, got lse [2, 4, 5, 8] float32", () => { const { output } = h.scaledDotProductAttention(q, k, v); return (h.attentionWeights as any)(q, k, output); }],
  ["attentionWeights other options", "OptionError", "weights-sum", "attentionWeights: the weights of row 0 of head 0 of batch entry 0 sum to 1.383, not to 1.000; give the", () => { const { lse } = h.scaledDotProductAttention(q, q, q, { isCausal: true }); return h.attentionWeights(q, q, lse); }],
  ["attentionWeights other options, with dropout", "OptionError", "weights-sum", "attentionWeights: the weights of row 0 of head 0 of batch entry 0 sum to 1.383, not to 1.000; give the", () => { const { lse } = h.scaledDotProductAttention(q, q, q, { isCausal: true, dropoutP: 0.5, seed: 0 }); return h.attentionWeights(q, q, lse, { dropoutP: 0.5, seed: 0 }); }],
  ["attentionWeights state", "ShapeError", "tensor", "attentionWeights: lse: expected a tensor { data, shape }, got Object without a shape", () => (h.attentionWeights as any)(q, k, h.scaledDotProductAttention(q, k, v))],
  ["mergeStates two args", "OptionError", "states", "mergeStates: expected a list of one or more states, mergeStates([a, b]) of { output, lse }, got Object", () => (h.mergeStates as any)(h.scaledDotProductAttention(q, k, v), h.scaledDotProductAttention(q, k, v))],
  ["mergeStates []", "OptionError", "states", "mergeStates: expected a list of one or more states, mergeStates([a, b]) of { output, lse }, got []", () => h.mergeStates([])],
  ["mergeStates shapes", "ShapeError", "states", "mergeStates: states[1] must have output [2, 4, 5, 8] and lse [2, 4, 5], got output [4, 4] float32, lse [4]", () => h.mergeStates([h.scaledDotProductAttention(q, k, v), h.scaledDotProductAttention(sq, sq, sq)])],
  ["backward no state", "OptionError", "state", "attentionBackward: the fifth argument must be what the forward call returned, { output, lse }, got undefined", () => (h.attentionBackward as any)(q, q, q, q)],
  ["backward dOutput shape", "ShapeError", "dOutput", "attentionBackward: dOutput must have the shape of the output, [2, 4, 5, 8], got dOutput [2, 4, 7, 8] float32", () => h.attentionBackward(k, q, k, v, h.scaledDotProductAttention(q, k, v))],
  ["configure unknown", "OptionError", "setting", 'configure: unknown setting "thread"; expected one of backend, simd, threads, bytesPerThread, onWarning', () => (h.configure as any)({ thread: 2 })],
  ["configure threads 0", "OptionError", "threads", "configure: threads: expected an integer from 1 to 64, got 0", () => h.configure({ threads: 0 })],
  ["configure simd avx", "OptionError", "simd", 'configure: simd: expected "wide", "relaxed", "strict", got "avx"', () => h.configure({ simd: "avx" as never })],
  ["configure simd reference", "OptionError", "simd", 'configure: simd: "reference" is a backend, not a SIMD level; set configure({ backend: "reference" })', () => h.configure({ simd: "reference" as never })],
  ["configure backend gpu", "OptionError", "backend", 'configure: backend: expected "auto", "wasm", "reference", got "gpu"', () => h.configure({ backend: "gpu" as never })],
  ["await promise", "ShapeError", "tensor", "scaledDotProductAttention: query: expected a tensor { data, shape }, got Promise without a shape", () => sd(Promise.resolve(q), k, v)],
  ["numpy-like {data,shape:list of str}", "ShapeError", "shape", 'scaledDotProductAttention: query: every axis must be an integer ≥ 0, got ["2", "2"]', () => sd({ data: new Float32Array(4), shape: ["2", "2"] }, sq, sq)],
  ["JSON array-like", "ShapeError", "tensor", "scaledDotProductAttention: query: expected a tensor { data, shape }, got Object without a shape", () => sd({ 0: 1, 1: 2 }, sq, sq)],
  ["detached", "ShapeError", "extent", "scaledDotProductAttention: query: [2, 2] needs 4 numbers, the array has 0", () => { const f = new Float32Array(4); structuredClone(f.buffer, { transfer: [f.buffer] }); return sd({ data: f, shape: [2, 2] }, sq, sq); }],
  ["nn.softmax axis 5", "ShapeError", "axis", "softmax: axis 5 of a tensor of 2 axes", () => N.softmax(sq, 5)],
  ["nn.matmul shapes", "ShapeError", "inner", "matmul: a has 3 columns and b 4 rows, which must be equal; a [2, 3] float32, b [4, 5] float32", () => nn.matmul(h.ones([2, 3]), h.ones([4, 5]))],
  ["nn.add shapes", "ShapeError", "broadcast", "add: shapes do not broadcast at their last axes; x [2, 3] float32, y [4] float32", () => nn.add(h.ones([2, 3]), h.ones([4]))],
  ["nn.matmul dtype", "DTypeError", "dtype-mixed", "matmul: all tensors must have one dtype; the first is float32, got b [2, 2] float64", () => nn.matmul(h.ones([2, 2]), h.ones([2, 2], "float64" as never))],
  ["MHA heads", "OptionError", "heads", "MultiHeadAttention: numHeads must divide embedDim, and numKvHeads numHeads; got embedDim 10, numHeads 3,", () => new nn.MultiHeadAttention(10, 3)],
  ["MHA 0", "OptionError", "size", "MultiHeadAttention: embedDim must be an integer ≥ 1, got 0", () => new nn.MultiHeadAttention(0, 1)],
  ["mha keyMask shape", "ShapeError", "key-mask", "MultiHeadAttention: keyMask must be [2, 5], one for each key, got keyMask [2] bool", () => mha.forward(x2, x2, x2, { keyMask: h.tensor([true, false]) })],
  ["mha keyMask float", "DTypeError", "key-mask", "MultiHeadAttention: keyMask must be bool, true where a key is attended to, got keyMask [2, 5] float32", () => mha.forward(x2, x2, x2, { keyMask: h.ones([2, 5]) })],
  ["mha width", "ShapeError", "query", "MultiHeadAttention: the last axis of query must be embedDim 16, got query [2, 5, 15] float32", () => mha.forward(h.randn([2, 5, 15]))],
  ["mha key width", "ShapeError", "key", "MultiHeadAttention: the last axis of key must be kdim 16, got key [2, 6, 12] float32", () => mha.forward(x2, h.randn([2, 6, 12]))],
  ["mha vdim", "ShapeError", "value", "MultiHeadAttention: the last axis of value must be vdim 4, got value [2, 5, 16] float32", () => new nn.MultiHeadAttention(16, 2, { vdim: 4 }).forward(x2)],
  ["decoder memory", "OptionError", "memory", "DecoderBlock: got a memory, but this block was built without crossAttention; new DecoderBlock(embedDim, numHeads, { crossAttention: true }) has it", () => new nn.DecoderBlock(16, 2).forward(x2, x2)],
  ["padding mask of [B, N, d] inputs", "ShapeError", "mask-shape", "scaledDotProductAttention: attnMask must broadcast, right-aligned, to [2, 5, 5], got attnMask [2, 5] bool; for padding use keyLengths(lengths), or a mask of [B, 1, Nk]", () => sd(x2, x2, x2, { attnMask: h.zeros([2, 5], "bool") })],
  ["padding mask of [B, H, N, d] inputs", "ShapeError", "mask-shape", "scaledDotProductAttention: attnMask must broadcast, right-aligned, to [2, 4, 5, 7], got attnMask [2, 7] bool; for padding use keyLengths(lengths), or a mask of [B, 1, 1, Nk]", () => sd(q, k, v, { attnMask: h.zeros([2, 7], "bool") })],
  ["tensor dtype option", "ShapeError", "shape", 'tensor: expected a shape or a dtype, as in tensor([1, 2], "float64"), got Object', () => (h.tensor as any)([1, 2], { dtype: "float64" })],
  ["concat without a list", "OptionError", "concat", "concat: expected a list of one or more tensors, as in concat([a, b], axis), got Tensor", () => N.concat(sq, sq)],
  ["mha options as key", "ShapeError", "tensor", "MultiHeadAttention: key: expected a tensor { data, shape }, got Object; options are the fourth argument:", () => mha.forward(x2, { isCausal: true })],
  ["Linear width", "ShapeError", "linear", "linear: weight must be [out, in] with in = the last axis of x; x [2, 3] float32, weight [2, 4] float32", () => new nn.Linear(4, 2).forward(h.ones([2, 3]))],
  ["Embedding id", "OptionError", "id", "embedding: id 4 at position 0; the table has rows 0 to 3", () => new nn.Embedding(4, 2).forward(new Int32Array([4]) as never)],
  ["Embedding float ids", "DTypeError", "ids", "embedding: ids must be int32, int64 or uint8, got ids [1] float32", () => new nn.Embedding(4, 2).forward(h.tensor([0.5]) as never)],
  ["LayerNorm width", "ShapeError", "weight", "layerNorm: weight must be [3], got weight [4] float32", () => new nn.LayerNorm(4).forward(h.ones([2, 3]))],
  ["loadStateDict missing", "FormatError", "state", "Linear.loadStateDict: the state does not fit; missing: weight, bias; unexpected: none", () => new nn.Linear(2, 2).loadStateDict(new Map())],
  ["loadStateDict shape", "ShapeError", "state", "Linear.loadStateDict: weight must be [2, 2], got weight [3, 2] float32", () => new nn.Linear(2, 2).loadStateDict(new Map([["weight", h.ones([3, 2])], ["bias", h.ones([2])], ]))],
  ["tape no loss dependency", "OptionError", "loss", "Tape.gradients: the loss does not depend on any wanted tensor; compute it inside tape.run, from them", () => { const t = new tr.Tape(); const l = t.run(() => nn.sum(h.ones([2]))); return t.gradients(l, [sq as never]); }],
  ["tape loss not scalar", "ShapeError", "loss", "Tape.gradients: loss must be one number, got [4, 4] float32; sum or average it first", () => { const t = new tr.Tape(); const l = t.run(() => nn.add(sq, sq)); return t.gradients(l, [sq as never]); }],
  ["tape weights in loss", "UnsupportedError", "derivative", "scaledDotProductAttention: lse and weights: no gradient is defined through this result; compute the weights", () => { const t = new tr.Tape(); const l = t.run(() => nn.sum(h.scaledDotProductAttention(sq, sq, sq, { returnWeights: true }).weights)); return t.gradients(l, [sq as never]); }],
  ["AdamW model", "OptionError", "parameters", "AdamW: parameters must be a Map of tensors by name or a list of tensors, got MultiHeadAttention; a layer has", () => new (tr.AdamW as any)(mha)],
  ["train({})", "OptionError", "model", "train: model must be an object with parameters() and loss(batch), as languageModel returns, got undefined", () => T.train({})],
  ["train no loss", "OptionError", "argument-count", "train: expected one argument, got 2; the model is a field: train({ model, data, steps })", () => T.train({ parameters: () => new Map() }, {})],
  ["crossEntropy target", "OptionError", "targets", "crossEntropy: target 7 of row 1 is no class of 3, nor ignoreIndex -100", () => tr.crossEntropy(h.ones([2, 3]), [0, 7])],
  ["crossEntropy shape", "ShapeError", "targets", "crossEntropy: targets must be [2] int32 for logits [2, 3], got [1] int32", () => tr.crossEntropy(h.ones([2, 3]) as never, new Int32Array([0]) as never)],
  ["languageModel gpt", "OptionError", "kind", 'languageModel: kind must be decoder or encoder, got "gpt"', () => T.languageModel("gpt", {})],
  ["languageModel sizes", "OptionError", "vocabulary", "languageModel: vocabulary must be an integer > 0, got undefined", () => T.languageModel("decoder", { layers: 1 })],
  ["tidy async", "OptionError", "work", "tidy: work must be synchronous, but it returned a promise", () => (tr.tidy as any)(async () => 1)],
  ["generate text", "OptionError", "ids", 'generate: ids must be token ids, got the text "hello"; encode it with the model\'s tokenizer first', () => [...M.generate(gpt.model, "hello")]],
  ["generate bert", "OptionError", "model", "generate: model must be a decoder with a cache, such as Gpt2, got Bert", () => [...M.generate(bert.model, [1, 2])]],
  ["generate textModel", "OptionError", "model", "generate: model must be a decoder with a cache, such as Gpt2, got Object; pass its field model", () => [...M.generate(gpt, [1, 2])]],
  ["generate empty", "OptionError", "ids", "generate: ids must be 1 to 128 tokens, got 0", () => [...M.generate(gpt.model, [])]],
  ["generate id out", "OptionError", "id", "embedding: id 99999 at position 0; the table has rows 0 to 1023", () => [...M.generate(gpt.model, [99999])]],
  ["generate option", "OptionError", "option-name", 'generate: unknown option "max_new_tokens"; did you mean maxTokens?', () => [...M.generate(gpt.model, [1], { max_new_tokens: 3 })]],
  ["generate temp", "OptionError", "temperature", "generate: temperature must be a number ≥ 0, got -1", () => [...M.generate(gpt.model, [1], { temperature: -1 })]],
  ["readModel hub name", "OptionError", "file", "readModel: there is no folder bert-base-uncased; give the path of one with config.json, tokenizer.json and", () => M.readModel("bert-base-uncased")],
  ["readModel file", "OptionError", "file", "readModel: not a folder: package.json; give the path of one with config.json, tokenizer.json and", () => M.readModel("package.json")],
  ["readImageModel of texts", "UnsupportedError", "model-type", 'model_type is "bert"; of models that read pictures heed has vit, deit,', () => M.readImageModel("models/encoder")],
  ["readImageModel empty dir", "FormatError", "model-files", "readImageModel: docs: there is no config.json, no model.safetensors", () => M.readImageModel("docs")],
  ["readPicture of a path", "OptionError", "bytes", "readPicture: expected a Uint8Array or an ArrayBuffer, such as what readFileSync returns, got", () => M.readPicture("photo.png")],
  ["readModel empty dir", "FormatError", "model-files", "docs has no config.json, no tokenizer.json, no model.safetensors; a model's folder has config.json,", () => M.readModel("docs")],
  ["locateShipped gpt", "OptionError", "model", 'locateShipped: there is an "encoder", a "decoder" and a "translator", got "gpt2"', () => M.locateShipped("gpt2")],
  ["readTokenizer {}", "FormatError", "tokenizer", "readTokenizer: model: expected an object, got nothing (byte 2)", () => M.readTokenizer("{}")],
  ["readTokenizer model null", "FormatError", "tokenizer", "readTokenizer: model: expected an object, got null (byte 10)", () => M.readTokenizer('{"model": null}')],
  ["readTokenizer not json", "OptionError", "argument", 'readTokenizer: expected the text or the bytes of a tokenizer.json', () => M.readTokenizer("abc")],
  ["tokenizer decode str", "OptionError", "argument", 'Tokenizer.decode: expected a list of token ids, got "abc"', () => gpt.tokenizer.decode("abc" as never)],
  ["attention empty text", "OptionError", "empty-text", "attention: there is no token to read", () => gpt.attention("")],
  ["fillMask no mask", "OptionError", "text", "fillMask: the text has no mask; write [MASK] where a token is to be filled in", () => M.fillMask(bert, "no mask here")],
  ["fillMask decoder", "UnsupportedError", "mask", "fillMask: decoder was not trained to fill in masks: it is a decoder, which continues a text (generateText, heed generate)", () => M.fillMask(gpt, "a [MASK]")],
  ["embedTexts str", "OptionError", "texts", 'embedTexts: texts must be a list of strings, not empty, got "one text"', () => M.embedTexts(bert, "one text")],
  ["ablate layer", "OptionError", "layer", "ablate: layer must be 0 to 3, got 9", () => M.ablate(gpt, "the old", { layer: 9 })],
  ["readNpy text", "OptionError", "bytes", 'readNpy: expected a Uint8Array or an ArrayBuffer, such as what readFileSync returns, got "x.npy"', () => I.readNpy("x.npy")],
  ["readNpy not npy", "FormatError", "npy-magic", "readNpy: not an npy file: it does not begin with \\x93NUMPY (byte 0)", () => I.readNpy(new Uint8Array(20))],
  ["readNpy await file path buf", "FormatError", "npy-truncated", "readNpy: the file ends inside its header (byte 0)", () => I.readNpy(new Uint8Array(0))],
  ["readNpz not zip", "FormatError", "zip-end", "readNpz: not a zip file: no end record closes it (byte 100)", () => I.readNpz(new Uint8Array(100))],
  ["readSafetensors pickle", "FormatError", "safetensors-header-size", "readSafetensors: not a safetensors file, or damaged: its first 8 bytes say a header of 50579438895744 bytes; at most 100000000 are read (byte 0)", () => I.readSafetensors(new Uint8Array([0x80, 2, 0x7d, 0x71, 0, 0x2e, 0, 0, 0, 0]))],
  ["openSafetensors missing", "OptionError", "file", "openSafetensors: cannot open nope.safetensors: no such file or directory", () => I.openSafetensors("nope.safetensors")],
  ["writeNpy bf16", "UnsupportedError", "npy-dtype", "writeNpy: NumPy has no bfloat16; convert to float32, or write safetensors, which has it", () => I.writeNpy(h.cast(sq, "bfloat16"))],
  ["writeSafetensors tensor", "DTypeError", "tensors", "writeSafetensors: one tensor needs a name: { x: tensor }", () => I.writeSafetensors(sq)],
  ["writeSafetensors bad value", "ShapeError", "tensor", "writeSafetensors, a: expected a tensor { data, shape } or nested arrays, got 3", () => I.writeSafetensors({ a: 3 })],
  ["saveFile bad", "OptionError", "file", "saveFile: cannot look into the folder of /nope/x/y.npy: no such file or directory", () => I.saveFile("/nope/x/y.npy", new Uint8Array(1))],
  ["storeFromModel(model)", "OptionError", "shown", "storeFromModel: expected the result of model.attention(text), { tokens, layers }, got Object", () => V.storeFromModel(gpt)],
  ["storeFromModel(text)", "OptionError", "shown", 'storeFromModel: expected the result of model.attention(text), { tokens, layers }, got "text"', () => V.storeFromModel("text")],
  ["openStore missing", "OptionError", "file", "openStore: cannot open nope.npz: no such file or directory", () => V.openStore("nope.npz")],
  ["renderFigure layer", "OptionError", "layer", "figure: layer must be one of block self's layers, 0 to 3, got 9", async () => V.renderFigure(V.storeFromModel(gpt.attention("the old")), { layer: 9 })],
  ["renderFigure view", "OptionError", "view", 'figure: view must be one of matrix, lines, text, atlas, row, got "heatmap"', async () => V.renderFigure(V.storeFromModel(gpt.attention("the old")), { view: "heatmap" })],
  ["bars", "OptionError", "argument", 'bars: expected { name: value }, [name, value] pairs or an array of numbers, got "x"', () => V.bars("x")],
  ["cast to float8", "DTypeError", "dtype", `cast: dtype must be one of ${DTYPE_NAMES}, got "float8"`, () => (h.cast as any)(sq, "float8")],
  ["stack shapes", "ShapeError", "stack", "stack: all tensors must have one shape; x[0] [2] float32, x[1] [3] float32", () => N.stack([h.ones([2]), h.ones([3])])],
  ["concat axis", "ShapeError", "axis", "concat: axis 5 of a tensor of 2 axes", () => N.concat([sq, sq], 5)],
  ["dropout p", "OptionError", "dropout", "dropout: p must be in [0, 1), got 2", () => N.dropout(sq, 2)],
  ["shape [2,2] strides", "ShapeError", "extent", "scaledDotProductAttention: query: [2, 2] needs 4 numbers, the array has 3", () => sd({ data: new Float32Array(3), shape: [2, 2] }, sq, sq)],
  ["keyMask in sdpa", "OptionError", "option-name", 'scaledDotProductAttention: unknown option "keyMask"; did you mean attnMask?', () => sd(q, q, q, { keyMask: h.tensor([true]) })],
  ["explain no args", "ShapeError", "tensor", "explain: query: expected a tensor { data, shape } or nested arrays, got undefined", () => (h.explain as any)()],
  ["empty no shape", "ShapeError", "shape", "empty: shape must be a list of lengths, got undefined", () => (h.empty as any)()],
  ["arange neg step", "OptionError", "options", "arange: the step is an option: { step: 0 }", () => (h.arange as any)(0, 5, 0)],
  ["eye frac", "ShapeError", "shape", "eye: n must be an integer ≥ 0, got 1.5", () => h.eye(1.5)],
  ["linspace", "OptionError", "count", "linspace: count must be an integer ≥ 0, got undefined", () => (h.linspace as any)(0, 1)],
  ["toString bad", "OptionError", "precision", "Tensor.toString: precision must be an integer ≥ 0, got -1", () => sq.toString({ precision: -1 })],
  ["performer features", "ShapeError", "features", "performerAttention: expected features [m, dk], query [..., Nq, dk], key [..., Nk, dk]; features [2, 3]", () => hist.performerAttention(sq, sq, sq, { features: h.ones([2, 3]) })],
  ["linear attention option", "OptionError", "option-name", 'linearAttention: unknown option "attnMask"; expected one of isCausal, keyMask, returnWeights', () => (hist.linearAttention as any)(sq, sq, sq, { attnMask: h.causal() })],
  ["Luong dot sizes", "OptionError", "score", 'LuongAttention: the score "dot" needs dq = dk, got 3 and 4', () => new hist.LuongAttention(3, 4, { score: "dot" })],
  ["a folder of TensorFlow's weights", "FormatError", "model-files", "Its weights are those of TensorFlow or Flax; convert them in Python", () => M.readModel(folderOf("tf", ["tokenizer.json", "tf_model.h5"]))],
  ["a folder of ONNX files", "UnsupportedError", "onnx-only", "has the weights as ONNX only, which heed does not run", () => M.readModel(folderOf("onnx", ["tokenizer.json", "model.onnx"]))],
  ["a folder of two GGUF files", "FormatError", "model-files", "there are 2 GGUF files, a.gguf, b.gguf: keep one in the folder", () => M.readModel(folderOf("gguf", ["a.gguf", "b.gguf"]))],
  ["a tensor of a scope that is over", "HeedError", "disposed", "this tensor was disposed when its tidy() scope ended, or by dispose(); return it from the scope, keep(tensor) it", () => { let inner: any; h.configure({}); tr.tidy(() => { inner = nn.add(sq, sq); }); return nn.add(inner, sq); }],
  ["writeModel without its arguments", "OptionError", "directory", 'writeModel: the first argument is the path of a folder, writeModel("my-model", model, tokenizer), got undefined', () => M.writeModel()],
  ["writeModel without a folder", "OptionError", "directory", "writeModel: the first argument is the path of a folder", () => M.writeModel(gpt.model, gpt.tokenizer)],
  ["writeModel without a model", "OptionError", "model", "textModel: model must be the network, the field `model` of what readModel or languageModel returns, got undefined", () => M.writeModel(join(folder, "none"))],
  ["writeModel of a text model", "OptionError", "model", "textModel: model must be the network, the field `model` of what", () => M.writeModel(join(folder, "none"), gpt, gpt.tokenizer)],
  ["writeModel without a tokenizer", "OptionError", "tokenizer", "textModel: tokenizer must be what readTokenizer returns, got undefined", () => M.writeModel(join(folder, "none"), gpt.model)],
  ["split into a number of parts", "ShapeError", "split", "split: sizes must be a list of lengths such as [4, 4], got 2", () => N.split(x2, 2)],
  ["gradients of a number", "OptionError", "loss", "Tape.gradients: loss must be a tensor, got 3", () => new T.Tape().gradients(3, [x2])],
  ["optimizer.step() as in PyTorch", "OptionError", "gradients", "AdamW.step: gradients must be what tape.gradients(loss, parameters) returns, got undefined", () => new T.AdamW(mha.parameters()).step()],
  ["optimizer.step(parameters)", "OptionError", "gradients", "AdamW.step: gradients must be what tape.gradients(loss, parameters) returns, got Map", () => new T.AdamW(mha.parameters()).step(mha.parameters())],
  ["an unknown option of a step", "OptionError", "option-name", 'AdamW.step: unknown option "learningRate"; did you mean lr', () => new T.AdamW(mha.parameters()).step(new Map(), { learningRate: 1 })],
  ["gradientNorm of nothing", "OptionError", "gradients", "gradientNorm: gradients must be what tape.gradients", () => T.gradientNorm()],
  ["clipScale of a text", "OptionError", "norm", 'clipScale: norm must be a number ≥ 0, got "4"', () => T.clipScale("4", 1)],
  ["a backend that names no device", "OptionError", "backend", "registerBackend: expected a backend with the name of its device, and that device", () => (backend as any).registerBackend({})],
  ["reference.forward of tensors", "ShapeError", "sizes", "forward: sizes must be { Nq, Nk, dk, dv }, got undefined", () => (reference as any).forward(q, q, q)],
  ["PyTorch's order of arguments", "OptionError", "argument-count", "scaledDotProductAttention: expected at most 4 arguments, got 6; they are query, key, value and { options }", () => sd(q, q, q, undefined, 0, true)],
  ["options in a Map", "OptionError", "options", "scaledDotProductAttention: options must be an object, got Map", () => sd(q, q, q, new Map([["isCausal", true]]))],
  ["options that were not awaited", "OptionError", "options", "scaledDotProductAttention: options must be an object, got Promise", () => sd(q, q, q, Promise.resolve({ isCausal: true }))],
  ["a mask as scoreMod", "OptionError", "score-mod", "scaledDotProductAttention: scoreMod takes what softcap(c), alibi(slopes), relativeBias(table) or scoreMod(f) returns, got BoolExpression", () => sd(sq, sq, sq, { scoreMod: h.causal() })],
  ["FlexAttention's mask_mod(b, h, q, k)", "OptionError", "mask", "maskMod: expected a function of one object, such as ({ q, k }) => …, got a function", () => (h.maskMod as any)((_b: any, _h: any, i: any, j: any) => i.ge(j))],
  ["FlexAttention's score_mod(score, b, h, q, k)", "OptionError", "score-mod", "scoreMod: expected a function of one object, such as ({ q, k }) => …, got a function", () => (h.scoreMod as any)((score: any, _b: any, _h: any, _q: any, _k: any) => score)],
  ["scoreMod with ? :", "OptionError", "score-mod", "scoreMod: statements made and not used: 1; join them by and(), or() and select(), not by &&", () => h.scoreMod(({ score, q: i, k: j }) => (i.ge(j) ? score : score.sub(100)))],
  ["an array that shrank", "ShapeError", "extent", "scaledDotProductAttention: query: [2, 2] needs 4 numbers, the array has 2", () => { const buffer: any = new (ArrayBuffer as any)(16, { maxByteLength: 32 }); const t = h.tensor(new Float32Array(buffer), [2, 2]); buffer.resize(8); return sd(t, t, t); }],
  ["a shape that was assigned", "ShapeError", "extent", "scaledDotProductAttention: query: [5, 2] needs 10 numbers, the array has 8", () => { const t: any = h.ones([4, 2]); t.shape = [5, 2]; return sd(t, t, t); }],
  ["a BigUint64Array", "DTypeError", "dtype", "tensor: no dtype is stored in BigUint64Array of 4; pass a Float32Array", () => h.tensor(new BigUint64Array(4) as never, [2, 2])],
  ["eye of a shape", "ShapeError", "shape", "eye: n must be an integer ≥ 0, got [3]", () => (h.eye as any)([3])],
  ["full of a fraction in int32", "DTypeError", "dtype", "full: int32 holds integers, got 1.5", () => h.full([2], 1.5, "int32")],
  ["full of a number above int32", "DTypeError", "dtype", "full: 3000000000 does not fit int32", () => h.full([2], 3e9, "int32")],
  ["arange by halves in int32", "DTypeError", "dtype", "arange: int32 holds integers, got 0.5", () => h.arange(0, 2, { step: 0.5, dtype: "int32" })],
  ["withSeed of async work", "OptionError", "work", "withSeed: work must be synchronous, but it returned a promise", () => (h.withSeed as any)(1, async () => h.randn([2]))],
  ["withDropout of async work", "OptionError", "work", "withDropout: work must be synchronous, but it returned a promise", () => nn.withDropout(1, async () => 1)],
  ["tape.run of async work", "OptionError", "work", "Tape.run: work must be synchronous, but it returned a promise", () => new tr.Tape().run(async () => nn.sum(sq))],
  ["a layer in float16", "OptionError", "dtype", 'Linear: dtype must be "float32" or "float64", got "float16"', () => new nn.Linear(4, 4, { dtype: "float16" as never })],
  ["layers in a Map", "OptionError", "field", "Module: field layers has layers in Map; they are found in fields and lists", () => { class Net extends nn.Module { layers = new Map([["a", new nn.Linear(2, 2)]]); } return new Net().parameters(); }],
  ["layers in an object", "OptionError", "field", "Module: field layers has layers in Object; they are found", () => { class Net extends nn.Module { layers = { a: new nn.Linear(2, 2) }; } return new Net().parameters(); }],
  ["strict as an argument", "OptionError", "options", "Linear.loadStateDict: options must be an object, got false", () => (new nn.Linear(2, 2) as any).loadStateDict(new Map(), false)],
  ["past_key_values as a pair", "OptionError", "past", "MultiHeadAttention: past must be { key, value }, tensors [2, 2, Npast, 8] and [2, 2, Npast, 8], got [Tensor, Tensor]", () => mha.forward(x2, x2, x2, { past: [x2, x2] })],
  ["words in place of ids", "OptionError", "ids", 'embedding: ids must be integers, got "the" at position 0', () => new nn.Embedding(4, 2).forward(["the"] as never)],
  ["gradients of parameters(), a Map", "OptionError", "wanted", "Tape.gradients: the second argument is a list of tensors, as in tape.gradients(loss, [x]) or parameters.values(), got Map", () => { const t = new tr.Tape(); const l = t.run(() => nn.sum(mha.forward(x2).output)); return t.gradients(l, mha.parameters()); }],
  ["gradients of a number in the list", "OptionError", "wanted", "or parameters.values(), got [Tensor, 3]", () => { const t = new tr.Tape(); const l = t.run(() => nn.sum(sq)); return t.gradients(l, [sq, 3] as never); }],
  ["gradients with options", "OptionError", "scale", "Tape.gradients: scale must be a number, got Object", () => { const t = new tr.Tape(); const l = t.run(() => nn.sum(sq)); return t.gradients(l, [sq], { scale: 2 } as never); }],
  ["a parameter that is listed twice", "OptionError", "parameters", "AdamW: parameter 1 is listed twice", () => new tr.AdamW([sq, sq])],
  ["a step with a rate of NaN", "OptionError", "lr", "AdamW.step: lr must be a number ≥ 0, got NaN", () => new tr.AdamW([h.ones([2])]).step(new Map(), { lr: Number.NaN })],
  ["a gradient of another shape", "ShapeError", "parameter", "AdamW.step: the gradient of 0 must be a row-major [2] float32 tensor, got [3] float32", () => { const p = h.ones([2]); new tr.AdamW([p]).step(new Map([[p, h.ones([3])]])); }],
  ["gradients of another model", "OptionError", "gradients", "AdamW.step: no gradient is of a parameter of this optimizer (after model.to, call optimizer.to)", () => new tr.AdamW([h.ones([2])]).step(new Map([[sq, sq]]))],
  ["targets in int64", "ShapeError", "targets", 'crossEntropy: targets must be [2] int32 for logits [2, 3], got [2] int64; cast(targets, "int32") converts ids', () => tr.crossEntropy(h.ones([2, 3]), h.tensor([0n, 1n]))],
  ["a loss that is a number", "OptionError", "loss", "train: loss must be a method that returns a tensor of one number, got 3", () => trained({}, { loss: () => 3 })],
  ["a loss that is async", "OptionError", "loss", "train: loss must be a method that returns a tensor of one number, not a promise: load batches in data, got Promise", () => trained({}, { loss: async () => nn.sum(sq) })],
  ["data that is async", "OptionError", "data", "train: data must be a function that returns a list of batches, not a promise, got Promise", () => trained({ data: async () => [1] })],
  ["one batch in place of a list", "OptionError", "data", "train: data must be a function that returns a list of batches, got Object", () => trained({ data: () => ({ inputs: sq }) })],
  ["parameters() as a list", "OptionError", "model.parameters()", "train: model.parameters() must be a Map of tensors by name, got [Tensor]", () => trained({}, { parameters: () => [sq] })],
  ["a schedule that is a number", "OptionError", "schedule", "train: schedule must be a function, got 0.001", () => trained({ schedule: 1e-3 })],
  ["a schedule that gives NaN", "OptionError", "schedule", "train: schedule must be a function that returns a rate ≥ 0 for step 0, got NaN", () => trained({ schedule: () => Number.NaN })],
  ["the controller in place of its signal", "OptionError", "signal", "train: signal must be the signal of an AbortController, got AbortController", () => trained({ signal: new AbortController() })],
  ["resume by a path", "OptionError", "resume", 'train: resume must be what readCheckpoint returns, got "run.ckpt"', () => trained({ resume: "run.ckpt" })],
  ["a checkpoint by its path", "OptionError", "checkpoint", 'train: checkpoint must be { path }, the file to write, got "run.ckpt"', () => trained({ checkpoint: "run.ckpt" })],
  ["heldOut without every", "OptionError", "heldOut", "train: heldOut must be { batches, every }, a list of batches and a number of steps, got [1]", () => trained({ heldOut: [1] })],
  ["a count that is no number", "OptionError", "countOf", "train: countOf must be a function that returns the number of targets of a batch, got NaN", () => trained({ countOf: () => Number.NaN })],
  ["onStep that is no function", "OptionError", "onStep", "train: onStep must be a function, got true", () => trained({ onStep: true })],
  ["sequences that are lists", "OptionError", "argument", "nextTokenBatch: expected sequences that are Int32Arrays, as in Int32Array.of(3, 1), got [1, 2, 3]", () => T.nextTokenBatch([[1, 2, 3]])],
  ["sequences of two lengths", "ShapeError", "sequences", "nextTokenBatch: all sequences must have one length; the first has 3 tokens, number 1 has 2", () => T.nextTokenBatch([Int32Array.of(1, 2, 3), Int32Array.of(1, 2)])],
  ["a corpus of one text", "OptionError", "argument", 'Corpus: expected a list of texts as the first argument, as in new Corpus([text], tokenizer, options), got "text"', () => new T.Corpus("text", gpt.tokenizer, { kind: "decoder", context: 4 })],
  ["a corpus without a tokenizer", "OptionError", "argument", "Corpus: expected a tokenizer as the second argument", () => new T.Corpus(["text"], undefined, { kind: "decoder", context: 4 })],
  ["attentionOf a text", "OptionError", "ids", 'attentionOf: ids must be token ids, got the text "hello"; encode it', () => bert.attentionOf("hello" as never)],
  ["attentionOf a fraction", "OptionError", "ids", "attentionOf: ids must be integers, got 1.5 at position 0", () => bert.attentionOf([1.5])],
  ["typeIds of another length", "OptionError", "typeIds", "attentionOf: typeIds must be one for each of 2 ids, got 1", () => bert.attentionOf([1, 2], [0])],
  ["stop by a text", "OptionError", "stop", 'generate: stop must be a list of token ids, where generateText takes texts as stopTexts, got "."', () => [...M.generateText(gpt, "hi", { stop: "." })]],
  ["ablate without a text", "OptionError", "argument", "ablate: expected a text as the second argument, got undefined", () => M.ablate(gpt)],
  ["ablate an unknown part", "OptionError", "parts", 'ablate: parts are head, attention, mlp, got "neuron"', () => M.ablate(gpt, "the sea", { parts: ["neuron"] })],
  ["ablate one part without a list", "OptionError", "parts", 'ablate: parts must be a list such as ["head"], got "mlp"', () => M.ablate(gpt, "the sea", { parts: "mlp" })],
  ["ablate a link as a list", "OptionError", "options", "ablate: link: options must be an object, got [1, 0]", () => M.ablate(gpt, "the sea", { link: [1, 0] })],
  ["ablate parts and a link", "OptionError", "link", "ablate: parts and link exclude each other; leave out one of them", () => M.ablate(gpt, "the sea", { parts: ["mlp"], link: { query: 1, key: 0 } })],
  ["measureEffects without a quantity", "OptionError", "quantity", "measureEffects: the quantity is of logit, state, text or weight, got undefined", () => M.measureEffects(gpt, "the sea")],
  ["measureEffects without a text", "OptionError", "argument", "measureEffects: expected a text as the second argument, got undefined", () => M.measureEffects(gpt)],
  ["measureEffects of a token that is two", "OptionError", "token", 'measureEffects: " zyzzyva" must be one token of the vocabulary, got 8 tokens', () => M.measureEffects(gpt, "the sea", { of: "logit", token: " zyzzyva", against: " sea" })],
  ["a patch without a second text", "OptionError", "other", "measureEffects: a patch needs a second text (other)", () => M.measureEffects(gpt, "the sea", { of: "text" }, { patch: true })],
  ["a patch of a link", "OptionError", "link", "measureEffects: a link cannot be patched; leave out patch, or name parts", () => M.measureEffects(gpt, "the sea", { of: "text" }, { patch: true, other: "the ship", link: { query: 1, key: 0 } })],
  ["splitScore of a later key", "OptionError", "key", "splitScore: token 0 may not attend to token 1 in layer 0", () => M.splitScore(gpt, "the sea", { layer: 0, head: 0, query: 0, key: 1 })],
  ["splitScore by words", "OptionError", "query", 'splitScore: query must be 0 to 3, got "sea"', () => M.splitScore(gpt, "the sea", { layer: 0, head: 0, query: "sea", key: 0 })],
  ["splitScore without a link", "OptionError", "options", "splitScore: options must be an object, got undefined", () => M.splitScore(gpt, "the sea")],
  ["intervene on one part without a list", "OptionError", "argument", "intervene: expected a list of heads, such as [{ layer: 0, head: 1 }], got Object", () => M.intervene(gpt, { part: "mlp", layer: 0 })],
  ["intervene on a head without its number", "OptionError", "head", "intervene: head must be 0 to 3, got undefined", () => M.intervene(gpt, [{ layer: 0 }])],
  ["intervene with a text as the patch", "OptionError", "replace", 'intervene: replace must be "zero", "mean" or { from: recordActivations(…) }, got "the ship"', () => M.intervene(gpt, [{ part: "mlp", layer: 0, replace: "the ship" }])],
  ["recordActivations of a text", "OptionError", "argument", 'recordActivations: expected tokens, as model.tokenize(text) returns them, got "the sea"', () => M.recordActivations(gpt, "the sea")],
  ["headsOverTexts of strings", "OptionError", "argument", "headsOverTexts: expected a list of texts, { name, open }, got", () => V.headsOverTexts(["the sea"])],
  ["headsOverTexts of one store", "OptionError", "argument", "headsOverTexts: expected a list of texts, { name, open }, got", () => V.headsOverTexts(V.storeFromModel(gpt.attention("the sea")))],
  ["beyondText of a link", "OptionError", "argument", "beyondText: expected a head, as headsOverTexts returns it, got", () => V.beyondText()],
  ["ablateHeads of one head", "OptionError", "argument", "ablateHeads: expected a list of heads, as in [{ layer: 0, head: 1 }], got Object", () => M.ablateHeads(gpt, "the sea", { layer: 0, head: 0 })],
];

describe("rejected with a helpful message", () => {
  it.each(REFUSED)("%s", async (_, name, code, words, call) => {
    const error = await Promise.resolve()
      .then(call)
      .then(
        (result) => ({
          name: "no error",
          code: "",
          message: `it gave ${JSON.stringify(result)?.slice(0, 80)}`,
        }),
        (thrown) => thrown,
      );
    expect({ name: error.name, code: error.code, message: error.message }).toEqual({
      name,
      code,
      message: expect.stringContaining(words),
    });
    expect(error).toBeInstanceOf(h.HeedError);
  });
});

/** Calls as users write them, and the intended result. */
const MEANT: [what: string, call: () => unknown, result: unknown][] = [
  [
    "nested booleans as a mask",
    () =>
      sd(h.ones([2, 2]), h.ones([2, 2]), h.eye(2), {
        attnMask: [
          [true, false],
          [true, true],
        ],
      }).output.toArray(),
    [
      [1, 0],
      [0.5, 0.5],
    ],
  ],
  [
    "a tril of booleans, as textbooks write",
    () =>
      sd(h.ones([2, 2]), h.ones([2, 2]), h.eye(2), {
        attnMask: h.cast(nn.tril(h.ones([2, 2])), "bool"),
      }).output.toArray(),
    [
      [1, 0],
      [0.5, 0.5],
    ],
  ],
  [
    "plain lists as data",
    () =>
      sd(
        { data: [1, 2], shape: [1, 2] },
        { data: [1, 2], shape: [1, 2] },
        { data: [3, 4], shape: [1, 2] },
      ).output.toArray(),
    [[3, 4]],
  ],
  [
    "a float16 cache under a float32 query",
    () => sd(q, h.cast(k, "float16"), h.cast(v, "float16")).output.dtype,
    "float32",
  ],
  [
    "softmax over the first axis",
    () =>
      nn
        .softmax(
          h.tensor([
            [0, 5],
            [0, 5],
          ]),
          0,
        )
        .toArray(),
    [
      [0.5, 0.5],
      [0.5, 0.5],
    ],
  ],
  ["a number added to a tensor", () => nn.add(h.tensor([1, 2]), 1).toArray(), [2, 3]],
  [
    "matmul of batches that broadcast",
    () => nn.matmul(h.ones([2, 3, 2, 2]), h.ones([1, 3, 2, 2])).shape,
    [2, 3, 2, 2],
  ],
  ["AdamW of a list of tensors", () => new (tr.AdamW as any)([h.ones([2])]).steps, 0],
  ["a tensor of a tensor", () => h.tensor(sq as never).toArray(), sq.toArray()],
  [
    "scale: 0, which makes weights even",
    () => sd(h.eye(2), h.eye(2), h.eye(2), { scale: 0 }).output.toArray(),
    [
      [0.5, 0.5],
      [0.5, 0.5],
    ],
  ],
  [
    "isCausal beside causal()",
    () => sd(h.eye(2), h.eye(2), h.eye(2), { isCausal: true, attnMask: h.causal() }).output.toArray()[0],
    [1, 0],
  ],
  [
    "a gradient through scaledDotProductAttention",
    () => {
      const tape = new tr.Tape();
      const loss = tape.run(() => nn.sum(nn.multiply(sq, h.scaledDotProductAttention(sq, sq, sq).output)));
      const [a, b] = [tape.gradients(loss, [sq as never]).get(sq as never), new tr.Tape()];
      const same = b.run(() => nn.sum(nn.multiply(sq, nn.attention(sq, sq, sq).output)));
      return (
        a?.toArray().toString() ===
        b
          .gradients(same, [sq as never])
          .get(sq as never)
          ?.toArray()
          .toString()
      );
    },
    true,
  ],
  [
    "a gradient through a method of Tensor",
    () => {
      const x = h.tensor([
        [1, 2],
        [3, 4],
      ]);
      const tape = new tr.Tape();
      const loss = tape.run(() => nn.sum(nn.multiply(x, x.reshape([2, 2]))));
      return tape
        .gradients(loss, [x as never])
        .get(x as never)
        ?.toArray();
    },
    [
      [2, 4],
      [6, 8],
    ],
  ],
  ["X7 concat joins the first axis", () => nn.concat([h.ones([2, 2]), h.ones([2, 2])]).shape, [4, 2]],
  [
    "X15 a shape does not change",
    () => {
      const shape = [2, 2];
      const t: any = h.ones(shape);
      shape[0] = 1;
      try {
        t.shape[0] = 1;
      } catch {}
      return t.shape;
    },
    [2, 2],
  ],
  [
    "cosines of nested arrays",
    () =>
      models.cosineSimilarity([
        [1, 0],
        [0, 2],
      ]),
    [
      [1, 0],
      [0, 1],
    ],
  ],
  ["nested arrays as tensors", () => sd([[1, 2]], [[1, 2]], [[3, 4]]).output.toArray(), [[3, 4]]],
  ["a typed array without a shape is a row", () => h.tensor(new Float32Array(4)).shape, [4]],
  ["int64 ids in a list", () => new nn.Embedding(4, 2).forward([1n, 2n] as never).shape, [2, 2]],
  [
    "int64 ids of another library's tokenizer",
    () => [...M.generate(gpt.model, BigInt64Array.of(5n, 6n), { maxTokens: 3 })],
    [...models.generate(gpt.model, [5, 6], { maxTokens: 3 })],
  ],
  [
    "ids as a tensor",
    () => [...M.generate(gpt.model, h.tensor([5, 6], "int32"), { maxTokens: 3 })],
    [...models.generate(gpt.model, [5, 6], { maxTokens: 3 })],
  ],
  [
    "a tape inside the run of another: both record",
    () => {
      const [outer, inner] = [new tr.Tape(), new tr.Tape()];
      const loss = outer.run(() =>
        nn.add(
          nn.sum(sq),
          inner.run(() => nn.sum(nn.multiply(sq, 5))),
        ),
      );
      return outer.gradients(loss, [sq]).get(sq)?.at(0, 0);
    },
    6,
  ],
  [
    "the store of a decoder's text: no position attends to later ones",
    async () => {
      const store = view.storeFromModel(gpt.attention("the old red house by the river"));
      const head = { block: 0, layer: 0, head: 3 };
      await store.load(head);
      return Array.from(store.row(head, 2, "weights"))
        .slice(3)
        .every((x) => x === 0 || Number.isNaN(x));
    },
    true,
  ],
];

describe("computed as intended", () => {
  it.each(MEANT)("%s", async (_, call, result) => {
    expect(await call()).toEqual(result);
  });
});
