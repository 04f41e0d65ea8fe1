/**
 * Arguments of the right type with wrong values, of the wrong kind, or stale: each call is refused before any work, in words that help.
 * A row is a call with its code and the start of its message. mistakes.test.ts has wrong names, shapes and orders.
 */
// biome-ignore-all lint/suspicious/noExplicitAny: mistakes that the types reject
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as h from "heed";
import * as backend from "heed/backend";
import * as cluster from "heed/cluster";
import * as io from "heed/io";
import * as models from "heed/models";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import * as reference from "heed/reference";
import * as train from "heed/train";
import * as view from "heed/view";
import { describe, expect, it } from "vitest";

const q = h.randn([2, 4, 5, 8], { seed: 1 });
const x = h.tensor([
  [1, 2, 3],
  [4, 5, 6],
]);
const [H, I, N, R, T, V]: any[] = [h, io, nn, reference, train, view];
const four = new Float32Array(4);
const state = h.scaledDotProductAttention(q, q, q);
const other = h.scaledDotProductAttention(h.full([2, 4, 5, 8], 2), q, q);
const gpt = await models.readModel(models.locateShipped("decoder"));
const store = view.storeFromModel(gpt.attention("the old ship sailed"));
const input = { blocks: [{ tokens: ["a"], layers: [{ weights: h.ones([1, 1, 1]) }] }] };
const head = { block: 0, layer: 0, head: 0 };
const file = await io.openSafetensors(io.writeSafetensors({ x }));
const sizes = { Nq: 1, Nk: 2, dk: 1, dv: 1 };
const [oneQuery, keys] = [Float64Array.of(0), Float64Array.of(1, 2)];
const [ids, spans] = [Int32Array.of(1, 2, 3, 1, 2), [{ start: 0, end: 5 }]];
const windows = new train.Windows(ids, spans, { window: 2, seed: 1 });
const ngram = new train.Ngram(2, 4, ids, spans);
const masking = { mask: 4, vocabulary: 10, special: new Set([0]), seed: 1 };
const step = (gradient: h.Tensor) => {
  const parameter = h.ones([2]);
  new T.AdamW([parameter]).step(new Map([[parameter, gradient]]));
};

const metadata = { "heed.checkpoint": "1", step: "-1", "adamw.steps": "0" };
const negative = io.writeSafetensors(
  { losses: h.zeros([0], "float64"), heldOut: h.zeros([0, 2], "float64") },
  { metadata },
);

/** A list whose first entry is missing, which every() and map() skip. */
const hole = (...rest: any[]): any => {
  const list = [0, ...rest];
  delete list[0];
  return list;
};

type Row = [name: string, code: string, words: string, call: () => unknown];

// biome-ignore format: a mistake is a line
const REFUSED: Row[] = [
  ["new Tensor: a list without a dtype", "argument", "new Tensor: expected a typed array", () => new H.Tensor([x, x], [1])],
  ["new Tensor: strides beyond the array", "extent", "new Tensor: shape [2, 2] with strides [5, 5] and offset 0 reads elements 0 to 10, the array has 4", () => new h.Tensor(four, [2, 2], "float32", [5, 5])],
  ["new Tensor: strides of one axis", "strides", "new Tensor: strides [1] must be one integer for each axis of [2, 2]", () => new h.Tensor(four, [2, 2], "float32", [1])],
  ["new Tensor: a negative offset", "offset", "new Tensor: offset must be an integer ≥ 0, got -1", () => new h.Tensor(four, [2, 2], "float32", undefined, -1)],
  ["new Tensor: a shape of NaN", "shape", "new Tensor: every axis must be an integer ≥ 0", () => new h.Tensor(four, [NaN], "float32")],
  ["new Tensor: negative lengths", "shape", "new Tensor: every axis must be an integer ≥ 0", () => new h.Tensor(four, [-2, -2], "float32")],
  ["new Tensor: a length with a fraction", "shape", "new Tensor: every axis must be an integer ≥ 0", () => new h.Tensor(four, [1.5, 2], "float32")],
  ["a tensor with another shape", "shape", "tensor: Tensor has a shape of its own; tensor(t) reads it, and reshape(t, [6])", () => H.tensor(x, [6])],
  ["a list of tensors", "dtype", "tensor: expected numbers or booleans, got Tensor", () => H.tensor([[1, x]])],
  ["a tensor in place of options", "options", "scaledDotProductAttention: the options are { … }, got ", () => H.scaledDotProductAttention(q, q, q, { data: four, dims: [4] })],
  ["empty with options", "dtype", "empty: dtype must be one of", () => H.empty([2], {})],
  ["zeros with the name of a function", "argument-count", "zeros: expected at most 2 arguments, got 3; leave out \"ones\"", () => H.zeros([2], "float32", "ones")],
  ["zeros of a view of bytes", "shape", "zeros: shape must be a list of lengths, got DataView", () => H.zeros(new DataView(new ArrayBuffer(8)))],
  ["randn of a mask without options", "shape", "randn: shape must be a list of lengths, got ", () => H.randn(h.causal(), null)],
  ["three arguments for one, the second an object", "argument-count", "abs: expected one argument, got 3", () => N.abs(x, Object.create(null), [x])],
  ["a layer of a symbol", "size", "MLP: size must be an integer ≥ 1, got Symbol(x)", () => new N.MLP(Symbol("x"))],
  ["a block of a symbol", "size", "EncoderBlock: embedDim must be an integer ≥ 1, got Symbol(x)", () => new N.EncoderBlock(Symbol("x"), 2)],
  ["a file at bytes", "argument", "saveFile: expected the path of a file, got Uint8Array of 1", () => I.saveFile(Uint8Array.of(1), Uint8Array.of(1))],
  ["sizeOf of a function", "shape", "sizeOf: shape must be a list of lengths, got the function max", () => backend.sizeOf(Math.max as any)],
  ["sizeOf of integers of 64 bits", "shape", "sizeOf: every axis must be an integer ≥ 0, got [2n]", () => backend.sizeOf(BigInt64Array.of(2n) as any)],
  ["a class as work", "argument", "noGrad: expected a function, as in noGrad(() => model.forward(x)), got the class Linear", () => N.noGrad(nn.Linear)],
  ["a class as the work of tidy", "work", "tidy: work must be a function, got the class Linear", () => (train as any).tidy(nn.Linear)],
  ["parameters in a WeakMap", "parameters", "AdamW: parameters must be a Map of tensors by name or a list of tensors, got WeakMap", () => new T.AdamW(new WeakMap())],
  ["a DataView as the heads to read first", "refs", "HeadStore.prioritize: refs must be a list of objects, got DataView of 8", () => (store as any).prioritize(new DataView(new ArrayBuffer(8)))],
  ["a status that is no number", "code", "Communicator.abort: code must be an integer", async () => (await cluster.localCluster(1, (comm) => comm))[0].abort("x" as any)],
  ["headKey of a text", "argument", 'headKey: expected integers, got ["1", 0, 0]', () => backend.headKey("1" as any, 0, 0)],
  ["rowKey without a position", "argument", "rowKey: expected integers, got [1, undefined]", () => (backend as any).rowKey(1)],
  ["cellBits of a fraction", "argument", "cellBits: expected integers, got [1, 0.5]", () => backend.cellBits(1, 0.5)],
  ["tensorOver of a list", "dtype-array", "tensorOver: dtype float32 is stored in Float32Array, got [1, 2]", () => (backend as any).tensorOver([1, 2], [2], "float32")],
  ["tensorOver of a list alone", "shape", "tensorOver: shape must be a list of lengths, got undefined", () => (backend as any).tensorOver([1, 2])],
  ["tensorOver of nothing", "dtype-array", "tensorOver: dtype float32 is stored in Float32Array, got null", () => (backend as any).tensorOver(null, [2], "float32")],
  ["tensorOver of too few elements", "argument", "tensorOver: expected storage of 6 elements of float32, got Float32Array of 2", () => backend.tensorOver(new Float32Array(2), [2, 3], "float32")],
  ["tensorOver of another dtype", "argument", "tensorOver: expected storage of 1 elements of float32, got ", () => backend.tensorOver({ device: { name: "x" }, dtype: "int32", length: 1 } as any, [1], "float32")],
  ["tensorOver of half an axis", "shape", "tensorOver: every axis must be an integer ≥ 0, got [0.5]", () => backend.tensorOver(new Float32Array(2), [0.5], "float32")],
  ["dropoutThreshold of 2", "argument", "dropoutThreshold: expected a share from 0 to 1, got 2", () => backend.dropoutThreshold(2)],
  ["two open axes", "reshape", "Tensor.reshape: only one axis may be -1, got [-1, -1]", () => x.reshape([-1, -1])],
  ["reshape with two numbers", "argument-count", "Tensor.reshape: expected one argument, got 2; leave out 1", () => (x as any).reshape([3, 2], 1)],
  ["toArray with a number", "argument-count", "Tensor.toArray: expected no arguments, got 1", () => (x as any).toArray(1)],
  ["transpose with a list", "argument", "Tensor.transpose: expected two axes to exchange as numbers, x.transpose(0, 1); any order of axes is permute(x, [1, 0])", () => (x as any).transpose([1, 0])],
  ["fill with a text", "argument", "fill: expected a number as value", () => N.fill(h.zeros([2]), "1")],
  ["fillUniform without bounds", "argument", "fillUniform: expected two numbers after the seed, low ≤ high", () => N.fillUniform(h.zeros([2]), 1)],
  ["fillUniform with exchanged bounds", "argument", "fillUniform: expected two numbers after the seed, low ≤ high", () => nn.fillUniform(h.zeros([2]), 1, 3, 1)],
  ["fillLinear without fanIn", "argument", "fillLinear: expected a number ≥ 0 as fanIn", () => N.fillLinear(h.zeros([2]), 1)],
  ["fillXavierUniform of a vector", "argument", "fillXavierUniform: expected a weight [out, in]", () => nn.fillXavierUniform(h.zeros([2]), 1)],
  ["fillNormal with a negative std", "argument", "fillNormal: expected a number ≥ 0 as std", () => nn.fillNormal(h.zeros([2]), 1, -1)],
  ["fillNormal of integers", "argument", "fillNormal: expected a float32 or float64 tensor", () => nn.fillNormal(h.zeros([2], "int32"), 1)],
  ["alibi with NaN", "table", "alibi slopes: expected numbers, got NaN", () => h.alibi([NaN])],
  ["alibi with NaN for an entry", "table", "alibi slopes: expected numbers, got NaN", () => h.alibi([[0.5, NaN]])],
  ["a table with a number as options", "options", "table: options must be an object, got 3", () => H.table([1, 2], 3)],
  ["a table with an unknown option", "option-name", 'table: unknown option "strikt"', () => H.table([1, 2], { strikt: true })],
  ["sinks of bools", "sinks", "scaledDotProductAttention: sinks must be floats, got sinks [4] bool", () => h.scaledDotProductAttention(q, q, q, { sinks: h.tensor([true, false, true, false]) })],
  ["LayerNorm with eps NaN", "eps", "LayerNorm: eps must be a number ≥ 0, got NaN", () => new nn.LayerNorm(4, { eps: NaN })],
  ["LayerNorm with eps below 0", "eps", "LayerNorm: eps must be a number ≥ 0, got -1", () => new nn.LayerNorm(4, { eps: -1 })],
  ["RMSNorm with eps below 0", "eps", "RMSNorm: eps must be a number ≥ 0, got -1", () => new nn.RMSNorm(4, { eps: -1 })],
  ["Rope with a negative base", "base", "Rope: base must be a number above 0, got -1", () => new nn.Rope({ base: -1 })],
  ["SinusoidalPositions with base 0", "base", "SinusoidalPositions: base must be a number above 0, got 0", () => new nn.SinusoidalPositions(4, { base: 0 })],
  ["a gradient with NaN", "gradients", "AdamW.step: the gradient of 0 has NaN at position 1; nothing is updated", () => step(h.tensor([1, NaN]))],
  ["an infinite gradient", "gradients", "AdamW.step: the gradient of 0 has Infinity at position 0", () => step(h.tensor([Infinity, 0]))],
  ["clipScale of NaN", "norm", "clipScale: norm must be a number ≥ 0, got NaN", () => train.clipScale(NaN, 1)],
  ["one state in two objects", "states", "mergeStates: states[1] is states[0] again; its keys would count twice", () => h.mergeStates([state, { output: state.output, lse: state.lse }])],
  ["renderLoss without columns", "columns", "renderLoss: columns must be an integer ≥ 1, got 0", () => train.renderLoss({ losses: [1, 2] }, { columns: 0 })],
  ["rollout with an unknown option", "option-name", 'rollout: unknown option "alfa"; expected one of block, ', () => V.rollout(store, { alfa: 1 })],
  ["rollout with an unknown request", "option-name", 'rollout: unknown option "abort"; expected one of signal, onProgress', () => V.rollout(store, {}, { abort: 1 })],
  ["attentionFlow with an unknown option", "option-name", 'attentionFlow: unknown option "alfa"', () => V.attentionFlow(store, { alfa: 1 })],
  ["tellingLink with an unknown option", "option-name", 'tellingLink: unknown option "layers"', () => V.tellingLink(store, { layers: 1 })],
  ["tellingLink of a layer that is not there", "head", "tellingLink: no head has", () => view.tellingLink(store, { layer: 99 })],
  ["contrastOf with an unknown option", "option-name", 'contrastOf: unknown option "max"', () => V.contrastOf(store, head, 1, 0, { max: 1 })],
  ["contrastOf of a query beyond the text", "query", "contrastOf: query must be an integer from 0 to", () => view.contrastOf(store, head, 99, 0)],
  ["askHeads with an unknown option", "option-name", 'askHeads: unknown option "row"; expected one of block, query, key, special', () => V.askHeads(store, { row: 1, query: 1 })],
  ["describeHead of nothing", "argument", "describeHead: expected a block, store.blocks[0], got", () => V.describeHead({}, {})],
  ["writeNpz of a list", "tensors", "writeNpz: expected a Map or an object of tensors by name, { x: tensor }, got", () => I.writeNpz([x])],
  ["writeSafetensors of a list", "tensors", "writeSafetensors: expected a Map or an object of tensors by name", () => I.writeSafetensors([x])],
  ["a tensor by its number", "tensor", "openSafetensors: no tensor 0", () => (file as any).read(0)],
  ["rows as a number", "rows", 'openSafetensors: rows 1 of tensor "x" [2, 3]; expected [from, to]', () => (file as any).read("x", { rows: 1 })],
  ["a color beyond 255", "palette", "writePng: a color is [red, green, blue], integers from 0 to 255; palette[0] is [300, 0, 0]", () => io.writePng(1, 1, { palette: [[300, 0, 0]] })],
  ["a transparent color that is not there", "transparent", "writePng: transparent must be an index of palette, got 1", () => io.writePng(1, 1, { palette: [[0, 0, 0]], transparent: 1 })],
  ["a negative density", "density", "writePng: density must be an integer ≥ 1, got -1", () => io.writePng(1, 1, { density: -1 })],
  ["a pixel beyond the palette", "row", "writePng: pixel 0 of row 0 is 9, and palette has 1 colors", () => io.writePng(1, 1, { palette: [[0, 0, 0]] }).row(Uint8Array.of(9))],
  ["forward with a nested mask", "allowed", "forward: allowed must be a function of positions, (i, j) => j <= i, got", () => R.forward(oneQuery, keys, keys, sizes, { allowed: [[true, false]] })],
  ["forward with a scale of NaN", "scale", "forward: scale must be a number, got NaN", () => reference.forward(oneQuery, keys, keys, sizes, { scale: NaN })],
  ["a read of a closed file", "closed", 'openSafetensors: the file is closed; read "x" before close()', async () => { const closed = await io.openSafetensors(io.writeSafetensors({ x })); await closed.close(); await closed.read("x"); }],
  ["memory that is too small", "into", "openSafetensors: into must have 24 bytes for this read, got 4", () => file.read("x", { into: new Uint8Array(4) })],
  ["decode of a text", "argument", 'Tokenizer.decode: expected a list of token ids, got "12"', () => gpt.tokenizer.decode("12" as any)],
  ["Generator: a stream of NaN", "stream", "Generator: stream must be an integer ≥ 0, got NaN", () => new h.Generator(0, NaN)],
  ["Generator: a negative stream", "stream", "Generator: stream must be an integer ≥ 0, got -1", () => new h.Generator(0, -1)],
  ["Generator: a position with a fraction", "position", "Generator: position must be an integer ≥ 0, got 0.5", () => new h.Generator(0, 0, 0.5)],
  ["Generator: a position of NaN, set later", "position", "Generator: position must be an integer ≥ 0, got NaN", () => { new h.Generator().position = NaN; }],
  ["Windows with an unknown option", "option-name", 'Windows: unknown option "stride"; expected one of window, seed, overlap, repeats', () => new T.Windows(ids, spans, { window: 2, seed: 1, stride: 1 })],
  ["Windows without a seed", "seed", "Windows: seed must be an integer below 2^53, got undefined", () => new T.Windows(ids, spans, { window: 2 })],
  ["Windows of a list", "argument", "Windows: expected token ids, an Int32Array", () => new T.Windows([1, 2, 3], spans, { window: 2, seed: 1 })],
  ["Windows: a sequence before the first", "n", "Windows.sequence: n must be an integer ≥ 0, got -1", () => windows.sequence(-1)],
  ["Windows: a sequence of NaN", "n", "Windows.sequence: n must be an integer ≥ 0, got NaN", () => windows.sequence(NaN)],
  ["a span beyond the text", "end", "windowsInOrder: end must be an integer from 0 to 5, got 50", () => train.windowsInOrder(ids, [{ start: 0, end: 50 }], 2)],
  ["a span that ends before it starts", "end", "windowsInOrder: end must be an integer from 5 to 5, got 0", () => train.windowsInOrder(ids, [{ start: 5, end: 0 }], 2)],
  ["a span as a pair", "start", "windowsInOrder: start must be an integer from 0 to 5, got undefined", () => T.windowsInOrder(ids, [[0, 5]], 2)],
  ["splitBlocks without a window", "window", "splitBlocks: window must be an integer ≥ 1, got undefined", () => T.splitBlocks(100, {})],
  ["Ngram: an id beyond the vocabulary", "id", "Ngram: id 7 at position 1; the vocabulary has ids 0 to 2", () => new train.Ngram(2, 3, Int32Array.of(1, 7), [{ start: 0, end: 2 }])],
  ["Ngram: a vocabulary of NaN", "vocabulary", "Ngram: vocabulary must be an integer from 1 to", () => new train.Ngram(2, NaN, ids, spans)],
  ["Ngram: a text of other ids", "id", "Ngram.logProbabilities: id 9 at position 0; the vocabulary has ids 0 to 3", () => ngram.logProbabilities(Int32Array.of(9))],
  ["Ngram: ids as a text", "argument", "Ngram.logProbabilities: expected token ids, an Int32Array", () => ngram.logProbabilities("ab" as any)],
  ["Ngram: a loss of no sequence", "the number of tokens that count", "Ngram.loss: the number of tokens that count must be an integer ≥ 1, got 0", () => ngram.loss([])],
  ["Ngram: what counts as a flag", "argument", "Ngram.loss: expected a function as the second argument", () => ngram.loss([ids], true as any)],
  ["maskedBatch: a first of NaN", "first", "maskedBatch: first must be an integer ≥ 0, got NaN", () => train.maskedBatch([ids], NaN, masking)],
  ["maskedBatch: a mask beyond the vocabulary", "mask", "maskedBatch: mask must be an integer from 0 to 9, got 99", () => train.maskedBatch([ids], 0, { ...masking, mask: 99 })],
  ["maskedBatch: a share of 2", "share", "maskedBatch: share must be a number from 0 to 1, got 2", () => train.maskedBatch([ids], 0, { ...masking, share: 2 })],
  ["maskedBatch: an unknown option", "option-name", 'maskedBatch: unknown option "p"', () => T.maskedBatch([ids], 0, { ...masking, p: 0.15 })],
  ["maskedBatch: an id beyond the vocabulary", "id", "maskedBatch: id 50 at position 0; the vocabulary has ids 0 to 9", () => train.maskedBatch([Int32Array.of(50)], 0, masking)],
  ["maskedBatch of special tokens only", "sequences", "maskedBatch: all tokens are special", () => train.maskedBatch([ids], 0, { ...masking, special: new Set(ids) })],
  ["maskedBatch of nothing", "the number of tokens of a sequence", "maskedBatch: the number of tokens of a sequence must be an integer ≥ 1, got 0", () => train.maskedBatch([new Int32Array(0)], 0, masking)],
  ["nextTokenBatch of one token", "the number of tokens of a sequence", "nextTokenBatch: the number of tokens of a sequence must be an integer ≥ 2, got 1", () => train.nextTokenBatch([Int32Array.of(1)])],
  ["schedule of a step before the first", "step", "schedule: step must be an integer ≥ 0, got -1", () => train.schedule({ lr: 1, decay: "linear", steps: 10 })(-1)],
  ["schedule of NaN", "step", "schedule: step must be an integer ≥ 0, got NaN", () => train.schedule({ lr: 1 })(NaN)],
  ["schedule with negative steps", "steps", "schedule: steps must be an integer ≥ 1, got -3", () => train.schedule({ lr: 1, steps: -3 })],
  ["SGD with momentum 1", "momentum", "SGD: momentum must be below 1", () => new train.SGD([h.ones([2])], { momentum: 1 })],
  ["ignoreIndex with a fraction", "ignoreIndex", "crossEntropy: ignoreIndex must be an integer from", () => train.crossEntropy(x, [0, 1], { ignoreIndex: 0.5 })],
  ["ignoreIndex as a text", "ignoreIndex", 'crossEntropy: ignoreIndex must be an integer from -2147483648 to 2147483647, got "-100"', () => T.crossEntropy(x, [0, 1], { ignoreIndex: "-100" })],
  ["gradientNorm of no gradient", "gradients", "gradientNorm: there are no gradients; pass what tape.gradients(loss, parameters) returns", () => train.gradientNorm(new Map())],
  ["softmaxRow without the highest score", "highest", "softmaxRow: highest must be the largest score, 2, got undefined", () => R.softmaxRow(Float64Array.of(1, 2))],
  ["softmaxRow with a score above the highest", "highest", "softmaxRow: highest must be the largest score, 2000, got 1", () => reference.softmaxRow(Float64Array.of(1, 2000), 1)],
  ["softmaxRow of integers", "argument", "softmaxRow: expected a row of scores, a Float64Array", () => R.softmaxRow(Int32Array.of(1, 2), 2)],
  ["exponentiateRow with a sink of NaN", "sink", "exponentiateRow: sink must be a number, got NaN", () => reference.exponentiateRow(Float64Array.of(1, 2), 2, NaN)],
  ["weightOf without lse", "argument", "weightOf: expected two numbers, a score and lse, got [1, undefined]", () => R.weightOf(1)],
  ["attentionDoubleBackward without g", "options", "attentionDoubleBackward: the gradients of the backward pass: options must be an object, got undefined", () => R.attentionDoubleBackward(q, q, q, q)],
  ["attentionDoubleBackward with a gradient of another name", "option-name", 'attentionDoubleBackward: the gradients of the backward pass: unknown option "dq"', () => R.attentionDoubleBackward(q, q, q, q, { dq: q })],
  ["attentionBackward with another call's output", "output", "attentionBackward: output is", () => h.attentionBackward(q, q, q, q, { output: other.output, lse: state.lse })],
  ["attentionBackward with another output, with dropout", "output", "attentionBackward: output is", () => h.attentionBackward(q, q, q, q, { output: state.output, lse: state.lse }, { dropoutP: 0.5, seed: 1 })],
  ["tokenShares of no logit", "argument", "tokenShares: expected the logits [V], a Float64Array or a tensor, got []", () => models.tokenShares([] as any)],
  ["tokenShares of NaN", "non-finite", "tokenShares: the logit of token 0 is NaN", () => models.tokenShares(Float64Array.of(NaN, 1))],
  ["tokenShares with topP 0", "topP", "tokenShares: topP must be a share above 0, at most 1, got 0", () => models.tokenShares(Float64Array.of(1, 2), { topP: 0 })],
  ["inductionScores of one token", "length", "inductionScores: length must be an integer ≥ 2, got 1", () => models.inductionScores(gpt, { length: 1 })],
  ["inductionScores of no sequence", "sequences", "inductionScores: sequences must be an integer ≥ 1, got 0", () => models.inductionScores(gpt, { sequences: 0 })],
  ["inductionScores with an unknown option", "option-name", 'inductionScores: unknown option "len"; expected one of length, sequences, seed', () => models.inductionScores(gpt, { len: 3 } as any)],
  ["componentName of nothing", "argument", "componentName: expected a component, as splitScore returns it, got Object", () => models.componentName({} as any)],
  ["componentName of a head without a layer", "layer", "componentName: layer must be an integer ≥ 0, got undefined", () => models.componentName({ kind: "head" })],
  ["a cache of no token", "capacity", "KeyValueCache: capacity must be an integer ≥ 1, got 0", () => gpt.model.cache(0)],
  ["pullModel with a text as options", "options", 'pullModel: options must be an object, got "x"', () => models.pullModel("x/x", "x" as any)],
  ["pullModel with an unknown option", "option-name", 'pullModel: unknown option "token"; expected one of onProgress, env, onRetry, signal', () => models.pullModel("x/x", { token: "x" } as any)],
  ["renderRaster at scale 7", "scale", "renderRaster: scale must be an integer from 1 to 4, got 7", () => view.renderRaster(store, { view: "matrix" }, { scale: 7 as any })],
  ["renderRaster with an unknown option", "option-name", 'renderRaster: unknown option "size"; expected one of scale', () => V.renderRaster(store, { view: "matrix" }, { size: 7 })],
  ["histogram with a range of NaN", "range", "histogram: range must be [low, high] around all values, 1 to 2, got [NaN, 1]", () => view.histogram([1, 2], { range: [NaN, 1] })],
  ["histogram of values beyond the range", "range", "histogram: range must be [low, high] around all values, 1 to 9, got [0, 5]", () => view.histogram([1, 9], { range: [0, 5] })],
  ["bars of NaN", "bars", 'bars: values must be finite and ≥ 0, got NaN for "1"', () => view.bars([1, NaN])],
  ["renderSimilarity of NaN", "cosines", "renderSimilarity: cosines must be 2 rows of as many numbers from -1 to 1, got [[1, NaN], [NaN, 1]]", () => view.renderSimilarity(["a", "b"], [[1, NaN], [NaN, 1]])],
  ["renderSimilarity of another number of texts", "cosines", "renderSimilarity: cosines must be 3 rows of as many numbers", () => view.renderSimilarity(["a", "b", "c"], [[1]])],
  ["store.link of no query", "queries", "HeadStore.link: queries must be a list of positions, not empty, got []", () => store.link(head, [], [0])],
  ["store.link of a number", "queries", "HeadStore.link: queries must be a list of positions, not empty, got 1", () => store.link(head, 1 as any, [0])],
  ["sampleBundle of no token", "tokens", "sampleBundle: tokens must be a list of texts, not empty, got []", () => view.sampleBundle("causal", { tokens: [] })],
  ["sampleBundle with an unknown option", "option-name", 'sampleBundle: unknown option "token"; expected one of tokens, seed', () => V.sampleBundle("causal", { token: ["a"] })],
  ["sampleBundle with a seed of NaN", "seed", "sampleBundle: seed must be an integer below 2^53, got NaN", () => view.sampleBundle("causal", { seed: NaN })],
  ["sampleBundle of an inherited name", "argument", 'sampleBundle: expected "causal" or "bidirectional", got "toString"', () => V.sampleBundle("toString")],
  ["saveFile of floats", "bytes", "saveFile: expected a Uint8Array or an ArrayBuffer, got Float32Array of 4", () => io.saveFile(join(tmpdir(), "heed-floats.bin"), four as any)],
  ["readNpy of floats", "bytes", "readNpy: expected a Uint8Array or an ArrayBuffer, got Float32Array of 4", () => io.readNpy(four as any)],
  ["an npz name above its folder", "name", 'writeNpz: "../x" cannot name an array in an npz file', () => io.writeNpz({ "../x": x })],
  ["a flag as a text", "bias", 'Linear: bias must be true or false, got "false"', () => new N.Linear(2, 2, { bias: "false" })],
  ["keepAxis as a text", "keepAxis", 'sum: keepAxis must be true or false, got "false"', () => N.sum(x, 0, { keepAxis: "false" })],
  ["descending as a number", "descending", "sort: descending must be true or false, got 1", () => N.sort(x, { descending: 1 })],
  ["checkSums as null", "checkSums", "attentionBackward: checkSums must be a value or left out, got null", () => H.attentionBackward(q, q, q, q, state, { checkSums: null })],
  ["a seed that no number is drawn from", "seed", "LayerNorm: seed must be an integer below 2^53, got 0.5", () => new nn.LayerNorm(2, { seed: 0.5 })],
  ["layerDropout outside of withDropout", "dropout", "layerDropout: p must be in [0, 1), got -1", () => nn.layerDropout(x, -1)],
  ["parameter with an unknown dtype", "dtype", 'parameter: dtype must be "float32" or "float64", got "int8"', () => N.parameter([2, 2], "int8")],
  ["SinusoidalPositions with an unknown dtype", "dtype", 'SinusoidalPositions: dtype must be "float32" or "float64", got "half"', () => new N.SinusoidalPositions(4, { dtype: "half" })],
  ["sinusoidalPositions with an offset of NaN", "offset", "sinusoidalPositions: offset must be a number, got NaN", () => nn.sinusoidalPositions(3, 4, { offset: NaN })],
  ["Rope with an unknown layout", "layout", 'Rope: layout must be "half" or "interleaved", got "pairs"', () => new N.Rope({ layout: "pairs" })],
  ["Rope with an amplitude of NaN", "amplitude", "Rope: amplitude must be a number, got NaN", () => new nn.Rope({ amplitude: NaN })],
  ["rope: true", "rope", "MultiHeadAttention: rope must be new Rope(…), got true", () => new N.MultiHeadAttention(4, 2, { rope: true })],
  ["DecoderBlock with a number as options", "options", "DecoderBlock: options must be an object, got 7", () => new N.DecoderBlock(4, 2, 7)],
  ["new Tensor: strides as a number", "strides", "new Tensor: strides must be a list of integers, got 7", () => new H.Tensor(four, [2, 2], "float32", 7)],
  ["randint of an unknown dtype", "dtype", "randint: dtype must be one of", () => H.randint(0, 5, [2], { dtype: "int" })],
  ["table with a text as highest", "highest", 'table: highest must be a number, got "3"', () => H.table([1, 2], { highest: "3" })],
  ["globalTokens of a function", "global-tokens", "globalTokens: expected a list of positions, got", () => H.globalTokens(() => 1)],
  ["reference.forward of a text", "sizes", "forward: q", () => R.forward("x", keys, keys, sizes)],
  ["attentionDoubleBackward with a number as options", "options", "attentionDoubleBackward: options must be an object, got 7", () => R.attentionDoubleBackward(q, q, q, q, {}, 7)],
  ["a hook that is no function", "onHidden", "onHidden must be a function, got 7", () => gpt.model.hidden([1, 2], { onHidden: 7 } as any)],
  ["attentionOf with an unknown option", "option-name", 'attentionOf: unknown option "zzz"', () => gpt.attentionOf([1, 2], undefined, { zzz: 1 } as any)],
  ["a cache that advances by a number", "argument", "KeyValueCache.advance: expected a list of token ids, got 1", () => gpt.model.cache(4).advance(1 as any)],
  ["clipScale with a text", "maxNorm", 'clipScale: maxNorm must be a number > 0, got "3"', () => T.clipScale(1, "3")],
  ["specialIds of an unknown kind", "kind", 'specialIds: kind must be "decoder" or "encoder", got "gpt"', () => T.specialIds("gpt", gpt.tokenizer)],
  ["Corpus of an unknown kind", "kind", 'Corpus: kind must be "decoder" or "encoder", got "gpt"', () => new T.Corpus(["a b"], gpt.tokenizer, { kind: "gpt", context: 8 })],
  ["meanLoss of no batch", "argument", "meanLoss: expected one or more batches, got []", () => train.meanLoss({ parameters: () => new Map(), loss: () => x }, [])],
  ["columns of -1", "columns", "renderText: columns must be an integer ≥ 1, got -1", () => view.renderText(store, "a", { columns: -1 })],
  ["columns of NaN", "columns", "renderSimilarity: columns must be an integer ≥ 1, got NaN", () => view.renderSimilarity(["a"], [[1]], { columns: NaN })],
  ["bars with a width of NaN", "width", "bars: width must be an integer from 1 to 1000, got NaN", () => view.bars([1], { width: NaN })],
  ["bars with a format that is no function", "format", 'bars: format must be a function of a value, got "%d"', () => V.bars([1], { format: "%d" })],
  ["a title that is no text", "title", "curves: title must be a text, got 7", () => V.curves([{ name: "a", points: [[0, 1]] }], { title: 7 })],
  ["toSvg with a number", "options", "toSvg: options must be an object, got 400", () => (view.bars([1]) as any).toSvg(400)],
  ["workers of -1", "workers", "workers must be an integer from 0 to 64, got -1", () => view.storeFromModel(gpt.attention("the old ship"), { workers: -1 })],
  ["a request with an unknown option", "option-name", 'HeadStore: unknown option "abort"; expected one of signal, onProgress', () => store.lse(head, { abort: 1 } as any)],
  ["an edit of an unknown part", "option-name", 'HeadStore: edits: unknown option "q"; expected one of query, key, scale', () => store.row(head, 1, "weights", { q: 1 } as any)],
  ["a tile of an unknown transfer", "transfer", 'HeadStore.tile: transfer must be "sqrt", "linear" or "log", got "cube"', () => store.tile(head, { stage: "weights", transfer: "cube" as any, level: 0, i: 0, j: 0 })],
  ["prioritize a head that is not there", "head-ref", "head must be an integer from 0 to", () => store.prioritize([{ block: 0, layer: 0, head: 99 }])],
  // One check of kinds (checkKinds) at each entry; null is no value.
  ["null as an option", "scale", "scaledDotProductAttention: scale must be a value or left out, got null", () => H.scaledDotProductAttention(q, q, q, { scale: null })],
  ["returnWeights as a Map", "weights", "returnWeights must be true, false or { heads?, rows? }, got Map", () => H.scaledDotProductAttention(q, q, q, { returnWeights: new Map() })],
  ["returnWeights of a layer as a list", "weights", "returnWeights must be true, false or { heads?, rows? }, got []", () => new N.SelfAttention(8).forward(h.ones([1, 2, 8]), { returnWeights: [] })],
  ["attnMask: true of SelfAttention", "tensor", "SelfAttention: attnMask: expected a tensor", () => new N.SelfAttention(8).forward(h.ones([1, 2, 8]), { attnMask: true })],
  ["keyMask: false", "keyMask", "keyMask must be a tensor or a list, got false", () => new N.SelfAttention(8).forward(h.ones([1, 2, 8]), { keyMask: false })],
  ["rope: false", "rope", "MultiHeadAttention: rope must be new Rope(…), got false", () => new N.MultiHeadAttention(4, 2, { rope: false })],
  ["Rope with a text as rotaryDim", "rotaryDim", 'Rope: rotaryDim must be an integer ≥ 2, got "4"', () => new N.Rope({ rotaryDim: "4" })],
  ["freeze of a text", "isFrozen", 'Module.freeze: isFrozen must be true or false, got "no"', () => new N.Linear(2, 2).freeze("no")],
  ["linear with a bias of false", "tensor", "linear", () => N.linear(x, [[1, 2, 3]], false)],
  ["sum over the axis null", "argument", "sum: expected an axis, a list of axes or options, got null", () => N.sum(x, null)],
  ["squeeze with an unknown option", "option-name", 'squeeze: unknown option "axes"', () => N.squeeze(h.ones([1, 2]), { axis: 0, axes: 1 })],
  ["alibi of null", "slopes", "alibi: slopes must be numbers, got null", () => H.alibi([null])],
  ["a table with exact as a text", "exact", 'table: exact must be a list of true or false, got "yes"', () => H.table([1, 2], { exact: "yes" })],
  ["a score mod of a function", "argument", "ScoreMod: expected an expression of score, got a function", () => new H.ScoreMod(() => 1)],
  ["configure with a Map", "setting", "configure: expected an object of settings, got Map", () => H.configure(new Map())],
  ["writeNpz of a promise", "tensors", "writeNpz: expected a Map or an object of tensors by name, { x: tensor }, got Promise", () => I.writeNpz(Promise.resolve({ x }))],
  ["metadata as a number", "metadata", "writeSafetensors: metadata must be a Map or an object of texts, got 1", () => I.writeSafetensors({ x }, { metadata: 1 })],
  ["storeFrom with an unknown field", "option-name", 'storeFrom: unknown option "block"; expected one of name, model, text, warnings, lang, blocks', () => V.storeFrom({ ...input, block: [] })],
  ["a block with an unknown field", "option-name", 'storeFrom: blocks[0]: unknown option "token"', () => V.storeFrom({ blocks: [{ ...input.blocks[0], token: ["a"] }] })],
  ["a layer with an unknown field", "option-name", 'storeFrom: blocks[0].layers[0]: unknown option "weight"', () => V.storeFrom({ blocks: [{ layers: [{ weight: q }] }] })],
  ["a block that is null", "options", "storeFrom: blocks[0]: options must be an object, got null", () => V.storeFrom({ blocks: [null] })],
  ["tokens as a text", "tokens", 'storeFrom: blocks[0]: tokens must be a list of texts, got "a b"', () => V.storeFrom({ blocks: [{ tokens: "a b", layers: [] }] })],
  ["workerBytes as a text", "workerBytes", 'storeFrom: workerBytes must be an integer ≥ 1, got "1e6"', () => V.storeFrom(input, { workerBytes: "1e6" })],
  ["a segment that is none", "query", "storeFrom: segments[0]: query must be a list of integers ≥ 0, got [NaN, 1]", () => V.storeFrom({ blocks: [{ ...input.blocks[0], segments: [{ name: "s", query: [NaN, 1] }] }] })],
  ["a function in a recipe", "a value", "storeFrom: recipe.scale: a value must be an object, got", () => V.storeFrom({ blocks: [{ ...input.blocks[0], recipe: { scale: () => 1 } }] })],
  ["paint of show", "paint", 'show: paint must be "truecolor", "256", "mono" or "ascii", got "red"', () => V.show([[1]], { paint: "red" })],
  ["links of renderText", "links", "renderText: links must be an integer ≥ 1, got 0.5", () => V.renderText(store, "a", { links: 0.5 })],
  ["words of renderText", "words", 'renderText: words must be true or false, got "yes"', () => V.renderText(store, "a", { words: "yes" })],
  ["a title of renderText", "title", "renderText: title must be a text, got undefined", () => V.renderText(store)],
  ["notes of figureOf", "notes", 'figureOf: notes must be a list of texts, got "n"', () => V.figureOf([[1]], { notes: "n" })],
  ["whatIf of figureOf", "whatIf", "figureOf: whatIf must be an object, got false", () => V.figureOf([[1]], { whatIf: false })],
  ["rows of curves", "rows", "curves: rows must be an integer ≥ 1, got -1", () => V.curves([{ name: "a", points: [[0, 1]] }], { rows: -1 })],
  ["renderHeatMaps without options", "options", "renderHeatMaps: options must be an object, got undefined", () => V.renderHeatMaps([])],
  ["labels of another number", "queryLabels", "renderHeatMaps: queryLabels must be a list of 2 texts, got [\"a\"]", () => V.renderHeatMaps([{ title: "", weights: [1, 0, 0, 1], queries: 2, keys: 2 }], { queryLabels: ["a"], keyLabels: ["a", "b"] })],
  ["query of tellingLink", "query", "tellingLink: query must be an integer from 0 to", () => V.tellingLink(store, { query: 99 })],
  ["key of headsOverTexts", "key", "headsOverTexts: key must be a text, got 1", () => V.headsOverTexts([{ name: "a", open: () => store }], { key: 1 })],
  ["special of askHeads", "special", 'askHeads: special must be true or false, got "no"', () => V.askHeads(store, { query: 1, special: "no" })],
  ["a head that is null", "argument", "HeadStore: expected a head, { block, layer, head }, got null", () => V.storeFrom(input).ready(null)],
  ["a request that is null", "options", "HeadStore: options must be an object, got null", () => store.column(head, 0, "weights", null as any)],
  ["a signal that is none", "signal", "HeadStore: signal must be the signal of an AbortController, got 1", () => store.range(head, "scores", { signal: 1 } as any)],
  ["edits as a list of texts", "query", "HeadStore: edits: query must be a list of numbers", () => store.row(head, 1, "weights", { query: ["a"] } as any)],
  ["a tile without an address", "options", "HeadStore.tile: options must be an object, got undefined", () => (store as any).tile(head)],
  ["layers of a bundle as a number", "layers", "writeBundle: layers must be a list of integers ≥ 0, got 0", () => V.writeBundle(input, { layers: 0 })],
  ["a cache without sizes", "options", "KeyValueCache: options must be an object, got undefined", () => new (gpt.model.cache(1).constructor as any)()],
  ["a cached key that is no tensor", "argument", "KeyValueCache.append: expected keys and values [heads, n, d], got [1]", () => gpt.model.cache(4).append(0, [1] as any, x)],
  ["a layer beyond the cache", "layer", "KeyValueCache.append: layer must be an integer from 0 to", () => gpt.model.cache(4).append(99, h.ones([2, 1, 4]), h.ones([2, 1, 4]))],
  ["a cached token that is none", "a token id", "KeyValueCache.advance: a token id must be an integer ≥ 0, got NaN", () => gpt.model.cache(4).advance([NaN])],
  ["a cache that is none", "cache", "cache must be what cache() returns, got 1", () => gpt.model.hidden([1], { cache: 1 } as any)],
  ["options of a decoder as null", "options", "options must be an object, got null", () => gpt.model.hidden([1], null as any)],
  ["logits of a list", "hidden", "hidden must be states, what hidden returns, got [1]", () => gpt.model.logits([1] as any)],
  ["name of textModel", "name", "textModel: name must be a text, got 1", () => models.textModel(gpt.model, gpt.tokenizer, { name: 1 } as any)],
  ["notes of textModel", "notes", 'textModel: notes must be a list of objects, got "n"', () => models.textModel(gpt.model, gpt.tokenizer, { notes: "n" } as any)],
  ["chat of textModel", "template", "textModel: chat: template must be a text, got undefined", () => models.textModel(gpt.model, gpt.tokenizer, { chat: {} } as any)],
  ["variables of chatPrompt", "variables", 'chatPrompt: variables must be an object, got "x"', () => models.chatPrompt(gpt, [{ role: "user", content: "" }], { variables: "x" } as any)],
  ["an intervention with an unknown field", "option-name", 'intervene: an intervention: unknown option "heads"', () => models.intervene(gpt, [{ layer: 0, head: 0, heads: 1 } as any])],
  ["a quantity with an unknown field", "option-name", 'measureEffects: the quantity: unknown option "tokens"', () => models.measureEffects(gpt, "the old ship", { of: "logit", token: " the", against: 5, tokens: 1 } as any)],
  ["an intervention at a text", "position", 'intervene: position must be an integer ≥ 0, got "1"', () => models.intervene(gpt, [{ layer: 0, head: 0, position: "1" } as any])],
  ["a token that is a number", "token", "Tokenizer.id: token must be a text, got 5", () => gpt.tokenizer.id(5 as any)],
  ["an id that is a text", "id", 'Tokenizer.token: id must be an integer ≥ 0, got "5"', () => gpt.tokenizer.token("5" as any)],
  ["ids of languageModel", "ids", "languageModel: ids must be what specialIds returns, { eos_token_id: id }, got Object", () => T.languageModel("decoder", { vocabulary: 9, context: 4, layers: 1, heads: 1, width: 4, ids: { eos: 1 } })],
  ["a checkpoint of the step NaN", "step", "writeCheckpoint: progress: step must be an integer ≥ 0, got NaN", () => train.writeCheckpoint(new Map(), new train.SGD([h.ones([1])]), { step: NaN, losses: [], heldOut: [] }, "")],
  ["renderLoss with pairs that are none", "heldOut", "renderLoss: heldOut must be a list of lists, got [1]", () => T.renderLoss({ losses: [1], heldOut: [1] })],
  ["a chat token that is no text", "tokens.bos_token", "textModel: chat: tokens.bos_token must be a text, got 5", () => models.textModel(gpt.model, gpt.tokenizer, { chat: { template: "", tokens: { bos_token: 5 } } } as any)],
  ["a message with a number", "content", "chatPrompt: content must be a text or a list of objects, got 5", () => models.chatPrompt(gpt, [{ role: "user", content: 5 } as any])],
  ["a message without content", "content", "chatPrompt: content must be a text or a list of objects, got undefined", () => models.chatPrompt(gpt, [{ role: "user", contents: "a" } as any])],
  ["isCausal of a layer of storeFromModel", "isCausal", 'storeFromModel: the options of layer 0: isCausal must be true, false, "upper-left" or "lower-right", got "true"', () => V.storeFromModel({ tokens: ["a"], layers: [{ query: x, key: x, options: { isCausal: "true" } }] })],
  ["a Tokenizer with addPrefixSpace as a text", "addPrefixSpace", 'Tokenizer: addPrefixSpace must be true or false, got "no"', () => new models.Tokenizer({ ...gpt.tokenizer.spec, addPrefixSpace: "no" } as any)],
  ["a Tokenizer with an unknown field", "option-name", 'Tokenizer: unknown option "prefixSpace"; expected one of addPrefixSpace, merges, added, kind, vocab, template', () => new models.Tokenizer({ ...gpt.tokenizer.spec, prefixSpace: true } as any)],
  ["an added token with an unknown field", "option-name", 'Tokenizer: an added token: unknown option "text"', () => new models.Tokenizer({ ...gpt.tokenizer.spec, added: [{ id: 0, text: "a" }] } as any)],
  ["a mask tensor of another length", "mask-shape", "shardSequence: attnMask must broadcast, right-aligned, to [..., 8, 8], as length says, got attnMask [4, 4] bool", () => cluster.shardSequence({ length: 8, ranks: 2, attnMask: h.tensor(new Uint8Array(16), [4, 4], "bool") })],
  ["env of findModel as a text", "env", 'findModel: env must be an object, got "/tmp"', () => models.findModel("a/b", "/tmp" as any)],
  ["HF_HOME as a number", "HF_HOME", "env: HF_HOME must be a text, got 5", () => models.findModel("a/b", { HF_HOME: 5 } as any)],
  ["a checkpoint that says step −1", "checkpoint", 'readCheckpoint: step must be an integer ≥ 0, got "-1"', () => train.readCheckpoint(negative)],
  ["a list with a hole", "betas", "AdamW: betas must be", () => new T.AdamW([h.ones([2])], { betas: hole(0.99) })],
  ["strides of NaN", "strides", "tensor: strides [] must be one integer for each axis of [2, 2]", () => H.tensor({ data: four, shape: [2, 2], strides: NaN })],
  ["new Tensor: an array of no element", "extent", "new Tensor: [2, 2] needs 4 numbers, the array has 0", () => new h.Tensor(new Float32Array(0), [2, 2], "float32", [2, 1])],
  ["arange with null", "options", "arange: options must be an object, got null", () => H.arange(3, null)],
  ["writeNpy with an unknown field", "option-name", 'writeNpy: a tensor: unknown option "order"', () => I.writeNpy({ data: four, shape: [2, 2], order: "F" })],
  ["writeNpy of an array that was transferred", "extent", "writeNpy: ", () => { const data = new Float32Array(4); structuredClone(data, { transfer: [data.buffer] }); io.writeNpy({ data, shape: [2, 2] }); }],
  ["rows of three numbers", "rows", 'openSafetensors: rows [0, 1, 2] of tensor "x" [2, 3]; expected [from, to]', () => (file as any).read("x", { rows: [0, 1, 2] })],
  ["a row of pixels as floats", "pixels", "PngWriter.row: pixels must be a Uint8Array, got Float32Array of 4", () => io.writePng(1, 1).row(four as any)],
  ["relativeBias of bools", "dtype", "relativeBias: the table must be floats, got table [4, 1] bool", () => h.relativeBias(h.tensor(new Uint8Array(4), [4, 1], "bool"), { numBuckets: 4 })],
  ["allowed without return", "allowed", "forward: allowed must be a function that returns true or false, got undefined", () => R.forward(oneQuery, keys, keys, sizes, { allowed: () => {} })],
  ["an async allowed", "allowed", "online: allowed must be a function that returns true or false, got Promise", () => [...R.online(oneQuery, keys, keys, sizes, { allowed: async () => false })]],
  ["a score that is no number", "score", "forward: score must be a function that returns a number, got undefined", () => R.forward(oneQuery, keys, keys, sizes, { score: () => {} })],
  ["sizes with an unknown field", "option-name", 'forward: sizes: unknown option "B"', () => R.forward(oneQuery, keys, keys, { ...sizes, B: 1 })],
  ["backward with a list as dOutput", "sizes", "backward: dOutput must hold Nq × dv = 1 numbers, got [1]", () => R.backward([1], oneQuery, keys, keys, sizes)],
  ["a gradient that is a number", "a gradient", "AdamW.step: a gradient must be a tensor, got 1", () => step(1 as any)],
  ["gradientNorm of null", "a gradient", "gradientNorm: a gradient must be a tensor, got null", () => T.gradientNorm(new Map([[x, null]]))],
  ["parameters with a hole", "parameters", "SGD: parameter 0 must be a Tensor, got undefined", () => new T.SGD(hole(h.ones([2])))],
  ["decays that returns a promise", "the result of decays", "SGD: the result of decays must be true or false, got Promise", () => new T.SGD([h.ones([2])], { decays: async () => false })],
  ["a size that is a bigint", "size", "MLP: size must be an integer ≥ 1, got 8n", () => new N.MLP(8n)],
  ["an embedDim that is a bigint", "size", "EncoderBlock: embedDim must be an integer ≥ 1, got 8n", () => new N.EncoderBlock(8n, 2)],
  ["fill of int64", "dtype", 'fill: dtype must be other than int64, got "int64"', () => N.fill(h.zeros([2], "int64"), 1)],
  ["Ngram: an async function of what counts", "the result of the function", "Ngram.loss: the result of the function must be true or false, got Promise", () => ngram.loss([ids], (async () => false) as any)],
  ["meanLoss with counts of NaN", "countOf", "meanLoss: countOf must be a function that returns the number of targets of a batch, got NaN", () => train.meanLoss({ parameters: () => new Map(), loss: () => h.ones([]) }, [1], () => NaN)],
  ["a checkpoint with losses of other steps", "losses", "writeCheckpoint: progress: losses must be a list of numbers, one for each of 3 steps, got [1]", () => train.writeCheckpoint(new Map(), new train.SGD([h.ones([1])]), { step: 3, losses: [1], heldOut: [] }, "")],
  ["a checkpoint restored into no parameter", "checkpoint", "readCheckpoint: the checkpoint has model.w, which is none of the parameters", async () => { const sgd = new train.SGD([h.ones([1])]); train.readCheckpoint(await train.writeCheckpoint(new Map([["w", x]]), sgd, { step: 0, losses: [], heldOut: [] }, "")).restore(new Map(), sgd); }],
  ["findNonFinite of a function without return", "argument", "findNonFinite: expected a function that returns the loss, a tensor, got undefined", () => T.findNonFinite(new Map(), () => {})],
  ["within of readModel as true", "within", "readModel: within must be a text, got true", () => models.readModel("x", { within: true } as any)],
  ["typeIds of 0", "tensor", "attentionOf: typeIds", () => gpt.attentionOf([1, 2], 0 as any)],
  ["tokenShares of texts", "argument", 'tokenShares: expected the logits [V], a Float64Array or a tensor, got ["1", "2"]', () => models.tokenShares(["1", "2"] as any)],
  ["a copy of a model without its tokenizer", "model", "generateText: model must be what readModel returns, got Object", () => [...models.generateText({ ...gpt, tokenizer: undefined } as any, "a")]],
  ["messages with a hole", "argument", "chatPrompt: expected a list of messages", () => models.chatPrompt(gpt, hole({ role: "user", content: "a" }))],
  ["transposeA as a text", "transposeA", 'matmul: transposeA must be true or false, got "true"', () => N.matmul(x, x, { transposeA: "true" })],
  ["a block that is not in the store", "block", "renderText: block must be an integer from 0 to 0, got 9", () => V.renderText(store, "a", { block: 9 })],
  ["cosines with a hole", "cosines", "renderSimilarity: cosines must be 2 rows", () => V.renderSimilarity(["a", "b"], hole([0, 1]))],
  ["tokens of sampleBundle with a hole", "tokens", "sampleBundle: tokens must be a list of texts, not empty", () => V.sampleBundle("causal", { tokens: hole("b") })],
  ["keys of another head size", "cache", "KeyValueCache.append: keys and values must be", () => gpt.model.cache(4).append(0, h.ones([2, 1, 3]), h.ones([2, 1, 3]))],
  ["logits of states of another width", "hidden", "hidden must be states [..., ", () => gpt.model.logits(h.ones([2, 3]))],
  ["layerWeights of a layer without a query", "argument", "layerWeights: expected the attention of a layer", () => models.layerWeights({ key: x, lse: x } as any)],
  ["a picture with an unknown field", "option-name", 'figureOf: the source: unknown option "mask"', () => V.figureOf({ query: x, key: x, mask: x })],
  ["a query beyond the text", "query", "renderText: query must be an integer from 0 to", () => V.renderText(store, "a", { query: 99 })],
  ["a range of three numbers", "range", "histogram: range must be [low, high] around all values, 1 to 2, got [0, 3, 4]", () => V.histogram([1, 2], { range: [0, 3, 4] })],
  ["a curve with an unknown field", "option-name", 'curves: series: unknown option "color"', () => V.curves([{ name: "a", points: [[0, 1]], color: "red" }])],
  ["contrastOf with maxCells as a text", "maxCells", 'contrastOf: maxCells must be an integer ≥ 1, got "9"', () => V.contrastOf(store, head, 1, 0, { maxCells: "9" })],
  ["evidenceText of nothing", "argument", "evidenceOf: expected a block, store.blocks[0], got Object", () => V.evidenceText({}, {}, "a")],
  ["queryOffset of a layer of storeFromModel", "queryOffset", "storeFromModel: the options of layer 0: queryOffset must be an integer from", () => V.storeFromModel({ tokens: ["a"], layers: [{ query: x, key: x, options: { queryOffset: NaN } }] })],
  ["ranges of a ShardPlan that leave positions out", "ranges", "ShardPlan: ranges must be [from, to) that hold each of 4 positions once", () => new cluster.ShardPlan(4, "contiguous", [[[0, 2]]], [1])],
  ["costs of a ShardPlan of other ranks", "costs", "ShardPlan: costs must be one number for each of 1 ranks, got [1, 2]", () => new cluster.ShardPlan(4, "contiguous", [[[0, 4]]], [1, 2])],
  // A name that another library has.
  ["x.T of PyTorch", "method", "Tensor has no T; x.transpose() exchanges the last two axes", () => (x as any).T],
  ["x.sum()", "method", "Tensor has no sum; operations are functions of heed/nn: add(x, y), sum(x, axis)", () => (x as any).sum()],
  ["x.numpy()", "method", "Tensor has no numpy; toArray() gives nested arrays", () => (x as any).numpy()],
  ["x.item()", "method", "Tensor has no item; toArray() gives nested arrays", () => (x as any).item()],
  ["Array.from(x), which would be empty", "method", "Tensor has no length; toArray()", () => Array.from(x as any)],
  ["new Float32Array(x), which would be empty", "method", "Tensor has no length; toArray()", () => new Float32Array(x as any)],
  ["requires_grad = false, which would freeze nothing", "method", "Tensor has no requires_grad; gradients are those of the tensors that you name", () => { (h.ones([1]) as any).requires_grad = false; }],
  ["x.detach()", "method", "Tensor has no detach; contiguous() copies, and stopGradient(x)", () => (x as any).detach()],
  ["loss.backward()", "method", "Tensor has no backward; gradients are those", () => (x as any).backward()],
  ["x.shape assigned, as in NumPy", "strides", "Tensor: strides [3, 1] must be one integer for each axis of [6]", () => { const y: any = h.tensor([[1, 2, 3], [4, 5, 6]]); y.shape = [6]; y.toArray(); }],
  ["layer.eval()", "method", "Module has no eval; dropout runs inside withDropout(seed, work) only", () => (new nn.Linear(2, 2, { seed: 1 }) as any).eval()],
  ["layer.state_dict()", "method", "Module has no state_dict; a state is stateDict()", () => (new nn.Linear(2, 2, { seed: 1 }) as any).state_dict()],
  ["optimizer.zero_grad()", "method", "Optimizer has no zero_grad; gradients are not stored", () => (new T.AdamW([h.ones([2])])).zero_grad()],
  ["optimizer.lr assigned, which would change no rate", "method", "Optimizer has no lr; the rate of a step is an option: step(gradients, { lr })", () => { new T.AdamW([h.ones([2])]).lr = 0.1; }],
  ["tape.backward(loss)", "method", "Tape has no backward; gradients are what tape.gradients(loss, [x]) returns", () => new T.Tape().backward(x)],
  ["a tensor as options", "options", "max: options must be { axis, keepAxis }, got Tensor", () => N.max(x, x)],
  ["the index of gather as its axis", "options", "gather: options must be { axis }, got Tensor", () => N.gather(x, 1, x)],
  ["an optimizer as its options", "options", "AdamW: options must be { lr, betas, eps, weightDecay, decays }, got AdamW", () => T.train({ model: { parameters: () => new Map(), loss: () => x }, data: () => [1], steps: 1, adamw: new T.AdamW([h.ones([2])]) })],
  ["a store as the input of a bundle", "options", "storeFrom: options must be { name, model, text, warnings, lang, blocks }, got LocalStore", () => V.writeBundle(store)],
  ["pick of a variable that is undefined", "index", "pick: undefined on axis 0 of length 2", () => N.pick(x, undefined, 0)],
  ["a past of other heads", "past", "MultiHeadAttention: past must be { key, value }, tensors [1, 2, Npast, 4] and [1, 2, Npast, 4]", () => { const y = h.ones([1, 3, 8]); new N.MultiHeadAttention(8, 2, { seed: 1 }).forward(y, y, y, { past: { key: h.ones([1, 4, 3, 2]), value: h.ones([1, 4, 3, 2]) } }); }],
  ["a state of another batch", "h", "GRUCell: h must be [2, 8], got h [3, 8] float32", () => new history.GRUCell(4, 8, { seed: 1 }).forward(h.ones([2, 4]), h.zeros([3, 8]))],
  ["a method that an expression has not", "mask", "maskMod: k.lte is not a function; the variables are b, h, i, q, k, score", () => H.maskMod(({ q, k }: any) => k.lte(q))],
  ["variables of other names", "score-mod", "scoreMod: Cannot read properties of undefined (reading 'le')", () => H.scoreMod(({ key }: any) => key.le(1))],
  ["keyLengths of rows", "length", "keyLengths: expected an integer ≥ 0 or one for each batch entry, got [[3], [7]]", () => H.keyLengths([[3], [7]])],
  ["mergeStates of outputs", "states", "mergeStates: states[0] must be { output, lse }, got Tensor", () => H.mergeStates([x, x])],
  ["a promise as a device", "device", "Tensor.to: unknown device Promise; expected one of cpu", () => x.to(Promise.resolve() as any)],
  ["headScores of no text", "argument", "headScores: expected a model, as readModel returns, and a list of texts, not empty, got []", () => models.headScores(gpt, [])],
  ["a token against itself", "against", "measureEffects: against must be another token than token, got 1", () => models.measureEffects(gpt, "the old ship", { of: "logit", token: 1, against: 1 })],
  ["attributeLogits of a text without a mask", "text", "attributeLogits: the text has no mask; write [MASK] where a token is predicted", async () => models.attributeLogits(await models.readModel(models.locateShipped("encoder")), "the old ship")],
  ["isDecoder of a text model", "argument", "isDecoder: expected the network, the field model of what readModel returns", () => models.isDecoder(gpt as any)],
  ["readTokenizer of a path", "argument", "readTokenizer: expected the text or the bytes of a tokenizer.json, such as readFileSync(path)", () => models.readTokenizer("model/tokenizer.json")],
  ["generate checks at the call", "option-name", 'generate: unknown option "max_new_tokens"', () => { (models as any).generate(gpt.model, [1], { max_new_tokens: 2 }); }],
  ["generateText checks at the call", "model", "generateText: model must be what readModel returns", () => { models.generateText(gpt.model as any, "a"); }],
  ["a path in place of bytes", "bytes", "readNpy: expected a Uint8Array or an ArrayBuffer, such as what readFileSync returns, got", () => I.readNpy("q.npy")],
  ["readSafetensors of an npy file", "safetensors-header-size", "readSafetensors: not a safetensors file, or damaged", () => io.readSafetensors(io.writeNpy(x))],
  ["a number as metadata", "metadata.step", "writeSafetensors: metadata.step must be a text, got 3", () => I.writeSafetensors({ x }, { metadata: { step: 3 } })],
  ["writeSafetensors with the path first", "tensors", "writeSafetensors: expected a Map or an object of tensors by name", () => I.writeSafetensors("x.safetensors", { x })],
  ["a picture of scores", "weights", "figureOf: 2 given weights are negative (the smallest is −1); weights of attention are 0 or more: are these scores (logits) before softmax?", () => view.figureOf([[-1, 2], [2, -1]])],
  ["a picture of percentages", "weights", "figureOf: rows of the given weights should sum to 1; the worst row checked sums to 100", () => view.figureOf([[50, 50], [20, 80]])],
  ["a picture of nothing", "weights", "figureOf: there is nothing to draw, 0 rows of 0 keys", () => view.figureOf(h.zeros([0, 0]))],
  ["the input of a store in place of it", "argument", "renderText: expected a store, as openStore and storeFrom return, got Object", () => V.renderText(input, "a")],
  ["a link without its query", "query", "explainLink: query must be an integer ≥ 0, got undefined", () => V.explainLink(store, head)],
  ["a tape in place of a session of onnxruntime", "argument", "attentionOf: expected an InferenceSession of onnxruntime, got Tape", () => models.attentionOf(new train.Tape() as any, {})],
  ["a message for a rank that has returned", "cluster-ended", "heed/cluster: rank 0 waits for rank 1, whose function has returned; every rank must make the same calls", () => cluster.localCluster(2, (comm) => (comm.rank === 0 ? comm.barrier() : undefined))],
  ["a rank that returns while another waits", "cluster-ended", "heed/cluster: rank 0 waits for rank 1", () => cluster.localCluster(2, async (comm) => { if (comm.rank === 0) return comm.barrier(); await new Promise((done) => setTimeout(done, 10)); })],
  ["a cluster that is over", "cluster-ended", "heed/cluster: rank 1 waits for rank 0, whose function has returned", async () => { let later: any; await cluster.localCluster(2, (comm) => { if (comm.rank === 1) later = comm; }); await later.barrier(); }],
  ["gradients over shards with another mask", "options", "contextAttentionBackward: mask differs from the call that returned the state; give the same options", () => { const plan = cluster.shardSequence({ length: 8, ranks: 2 }); return cluster.localCluster(2, async (comm) => { const s = plan.take(comm.rank, h.randn([1, 2, 8, 4], { seed: 1 })); const first = await cluster.contextAttention(comm, plan, s, s, s, { isCausal: true }); return cluster.contextAttentionBackward(comm, plan, s, s, s, s, first); }); }],
];

describe("refused with what to do", () => {
  it.each(REFUSED)("%s", async (_, code, words, call) => {
    let error: unknown;
    try {
      await call();
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(h.HeedError);
    expect((error as h.HeedError).message).toContain(words);
    expect((error as h.HeedError).code).toBe(code);
  });
});

describe("what is near a mistake still works", () => {
  it("settings are changed by configure only", () => {
    expect(() => Object.assign(h.configure(), { threads: "x" })).toThrow(TypeError);
  });
  it("a module of the user may have a method or a field of such a name", () => {
    class Net extends nn.Module {
      view: nn.Linear;
      constructor() {
        super();
        Object.assign(this, { call: new nn.Linear(2, 2, { seed: 1 }) });
        this.view = new nn.Linear(2, 2, { seed: 1 });
      }
      train() {
        return "trained";
      }
    }
    const net = new Net();
    expect([net.train(), [...net.parameters().keys()].length]).toEqual(["trained", 4]);
  });
  it("a cache whose layers have one size takes keys of that size", () => {
    const Cache = gpt.model.cache(1).constructor as any;
    const cache = new Cache({ layers: 1, heads: 2, d: 3, capacity: 4, dtype: "float32" });
    expect(cache.append(0, h.ones([2, 1, 3]), h.ones([2, 1, 3]))[0].shape).toEqual([2, 1, 3]);
  });
  it("the name of an array in an npz file may have a /, as in NumPy", async () => {
    expect([...(await io.readNpz(await io.writeNpz({ "a/b": x }))).keys()]).toEqual(["a/b"]);
  });
  it("at temperature 0 the most likely token has all", () => {
    expect([...models.tokenShares(Float64Array.of(1, 3, 2), { temperature: 0 })]).toEqual([0, 1, 0]);
  });
  it("a picture of NaN says so, and marks the cell", async () => {
    const { caption, svg } = await view.figureOf([
      [NaN, 0.5],
      [0.5, 0.5],
    ]);
    expect(caption).toContain("weights that are not numbers: 1");
    expect(svg).toContain("<title>0 to 0 not a number</title>");
  });
  it("gradients of attention with dropout, float16 or NaN need no other output", () => {
    const options = { dropoutP: 0.5, seed: 1, isCausal: true };
    for (const t of [q, h.cast(q, "float16"), h.full([2, 4, 5, 8], NaN)]) {
      const forward = h.scaledDotProductAttention(t, t, t, options);
      expect(h.attentionBackward(t, t, t, t, forward, options).dKey.shape).toEqual(t.shape);
    }
  });
  it("NaN in a tensor of slopes propagates, as in the formula: slopes may be learned", () => {
    const scoreMod = h.alibi(h.full([4], NaN));
    expect(h.scaledDotProductAttention(q, q, q, { scoreMod }).lse.data[0]).toBeNaN();
  });
  it("losses that are not finite are gaps of the curve", () => {
    const drawn = train.renderLoss(
      { losses: [2, NaN, 1], heldOut: [[2, Infinity]] },
      { columns: 20, rows: 4 },
    );
    expect(drawn).toHaveLength(5);
    expect(drawn.join("\n")).not.toMatch(/NaN|o/);
  });
  it("a refused step changes no parameter and counts no step", () => {
    const [a, b] = [h.ones([2]), h.ones([2])];
    const optimizer = new train.AdamW([a, b]);
    const gradients = new Map([
      [a, h.ones([2])],
      [b, h.full([2], NaN)],
    ]);
    expect(() => optimizer.step(gradients as never)).toThrow(/the gradient of 1 has NaN/);
    expect([optimizer.steps, ...a.data]).toEqual([0, 1, 1]);
  });
  it("states of disjoint parts of one array are two states", () => {
    const lse = (offset: number) => new h.Tensor(Float32Array.of(0, 1), [1], "float32", [1], offset);
    const output = h.ones([1, 2]);
    expect(
      h.mergeStates([
        { output, lse: lse(0) },
        { output, lse: lse(1) },
      ]).lse.shape,
    ).toEqual([1]);
  });
});
