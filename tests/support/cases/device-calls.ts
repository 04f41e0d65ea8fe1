/**
 * A call of every public function of heed, heed/nn, heed/nn/history, heed/train and heed/cluster, and of every method of `Tensor`,
 * for tensors of any device. `tests/conformance/devices.test.ts` runs each on a device and compares it with the CPU.
 */
import * as h from "heed";
import * as cluster from "heed/cluster";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import * as train from "heed/train";
import { normal } from "./call.ts";

/** Copies a CPU tensor to the device under test; the identity on the CPU. */
export type Place = <D extends h.DType>(t: h.Tensor<D>) => h.Tensor<D>;

/** A call whose tensors `at` placed, and the name of their device. */
export type Call = (at: Place, device: string) => unknown;

/**
 * What a function does with tensors of a device: a call that runs there, a call that needs the CPU and throws, or the reason why
 * the function takes no tensor of a device. `errorOf`: the function that its error names.
 */
export type Row = Call | { readonly cpu: Call; readonly errorOf?: string } | string;

const x = normal(1, [3, 4]);
const y = normal(2, [3, 4]);
const square = normal(3, [4, 4]);
const sequence = normal(4, [2, 3, 8]);
const [q, k, v] = [5, 6, 7].map((seed) => normal(seed, [2, 2, 5, 4]));
const targets = h.tensor([3, 0, 1], "int32");
const SHARDS = cluster.shardSequence({ length: 5, ranks: 1 });
const attend = (at: Place, options: h.AttentionOptions) =>
  h.scaledDotProductAttention(at(q), at(k), at(v), options);
/** A layer that needs the CPU, moved to the device. */
const layer = <M extends nn.Module>(make: () => M, forward: (module: M, t: h.Tensor) => unknown): Row => ({
  cpu: async (at, device) => forward(await make().to(device), at(sequence)),
});
const unary =
  (f: (t: h.Tensor) => unknown): Call =>
  (at) =>
    f(at(x));
/** A step of training of a small model on the device. */
const linearModel = async (device: string) => {
  const model = await new nn.Linear(4, 4, { seed: 1 }).to(device);
  const loss = (batch: h.Tensor) => train.crossEntropy(model.forward(batch), targets);
  return { model, loss, parameters: () => model.parameters() };
};
const stepped = async (
  at: Place,
  device: string,
  make = (parameters: Map<string, h.Tensor>): train.Optimizer => new train.AdamW(parameters, { lr: 0.1 }),
) => {
  const { model, loss } = await linearModel(device);
  const optimizer = make(model.parameters());
  const tape = new train.Tape();
  const mean = tape.run(() => loss(at(x)));
  const gradients = tape.gradients(mean, model.parameters().values());
  optimizer.step(gradients);
  return { model, optimizer, mean, gradients };
};

const NO_TENSOR = "takes no tensor";
const NEW = "makes a tensor of the CPU, which `to` moves";
const INDICES = "takes numbers and lists";
const CLASS = "a type; other rows use it";

/** Masks by name run with their smallest parameters: a new one needs no row of its own. */
type NamedMask = {
  [K in keyof typeof h]: (typeof h)[K] extends { readonly kind: h.MaskKind } ? K : never;
}[keyof typeof h];
const NAMED = Object.fromEntries(
  Object.entries(h as Readonly<Record<string, unknown>>).flatMap(([name, builder]) => {
    if (typeof builder !== "function" || !("kind" in builder)) return [];
    const { build, parameters } = builder.kind as h.MaskKind;
    const smallest = parameters.map(({ name, type, least }) => [name, type === "integer" ? Math.max(least, 1) : [Math.max(least, 0)]]);
    return [[name, (at: Place) => attend(at, { attnMask: build(Object.fromEntries(smallest)) })]];
  }),
) as unknown as Record<NamedMask, Row>; // biome-ignore format: a step a line

/** heed */
const HEED: Record<keyof typeof h, Row> = {
  ...NAMED,
  scaledDotProductAttention: (at) => attend(at, { isCausal: true, returnWeights: true }),
  attentionWeights: (at) => h.attentionWeights(at(q), at(k), attend(at, {}).lse, { rows: [0, 4] }),
  attentionMap: (at) => Object.values(h.attentionMap(at(q), at(k), attend(at, {}).lse, { size: 3 })),
  attentionBackward: (at) => h.attentionBackward(at(v), at(q), at(k), at(v), attend(at, {})),
  scaledDotProductAttentionAsync: (at) => h.scaledDotProductAttentionAsync(at(q), at(k), at(v), { isCausal: true }),
  attentionBackwardAsync: (at) => h.attentionBackwardAsync(at(v), at(q), at(k), at(v), attend(at, {})),
  mergeStates: (at) => h.mergeStates([attend(at, {}), attend(at, { isCausal: true })]),
  cast: unary((t) => h.cast(t, "float16")),
  explain: (at, device) => [at(x), expectBackend(h.explain(at(q), at(k), at(v)).backend, device)],
  explainMatmul: (at, device) => [at(x), expectBackend(h.explainMatmul(at(square), at(square)).backend, device)],
  tensor: unary((t) => h.tensor(t)),
  alibi: (at) => attend(at, { scoreMod: h.alibi(at(normal(8, [2]))) }),
  relativeBias: (at) => attend(at, { scoreMod: h.relativeBias(at(normal(9, [8, 2]))) }),
  table: (at) => {
    const rows = h.table(at(normal(10, [2])));
    return attend(at, { scoreMod: h.scoreMod(({ score, h: head }) => score.mul(rows.at(head))) });
  },
  documents: { cpu: (at) => h.documents(at(h.tensor([0, 0, 1, 1, 1], "int32"))) },
  keyLengths: { cpu: (at) => h.keyLengths(at(h.tensor([2, 5], "int32"))) },
  queryLengths: { cpu: (at) => h.queryLengths(at(h.tensor([2, 5], "int32"))) },
  prefixLm: { cpu: (at) => h.prefixLm(at(h.tensor([2, 5], "int32"))) },
  blockSparse: { cpu: (at) => h.blockSparse(at(h.tensor([[1, 0], [1, 1]], "int32")), 3) },
  and: (at) => attend(at, { attnMask: h.and(h.causal(), h.slidingWindow(1, 0)) }),
  or: (at) => attend(at, { attnMask: h.or(h.causal(), h.globalTokens([1])) }),
  not: (at) => attend(at, { attnMask: h.not(h.keyLengths(2)) }),
  longformer: (at) => attend(at, { attnMask: h.longformer(1, [0]) }),
  maskMod: (at) => attend(at, { attnMask: h.maskMod(({ q: row, k: key }) => key.le(row)) }),
  scoreMod: (at) => attend(at, { scoreMod: h.scoreMod(({ score }) => score.mul(2)) }),
  softcap: (at) => attend(at, { scoreMod: h.softcap(2) }),
  prepare: async (at, device) => [at(x), await h.prepare({ device })].slice(0, 1),
  alibiSlopes: NO_TENSOR, configure: NO_TENSOR, withSeed: NO_TENSOR, Generator: NO_TENSOR,
  arange: NEW, eye: NEW, full: NEW, linspace: NEW, ones: NEW, rand: NEW, randint: NEW, randn: NEW, zeros: NEW, empty: NEW,
  Tensor: CLASS, BoolExpression: CLASS, NumberExpression: CLASS, ScoreMod: CLASS,
  DTypeError: CLASS, FormatError: CLASS, HeedError: CLASS, OptionError: CLASS, ShapeError: CLASS, UnsupportedError: CLASS,
}; // biome-ignore format: a function a line

/** heed/nn, without the functions that compute: layers.test.ts runs these, and their gradients. */
const NN: Partial<Record<keyof typeof nn, Row>> = {
  fill: { cpu: (at) => nn.fill(at(x), 1) },
  fillLinear: { cpu: (at) => nn.fillLinear(at(x), 1, 4) },
  fillNormal: { cpu: (at) => nn.fillNormal(at(x), 1) },
  fillUniform: { cpu: (at) => nn.fillUniform(at(x), 1, 0, 1) },
  fillXavierUniform: { cpu: (at) => nn.fillXavierUniform(at(x), 1) },
  record: (at) => recordedGradient(at),
  noGrad: (at) => nn.noGrad(() => nn.relu(at(x))),
  stopGradient: (at) => nn.stopGradient(at(x)),
  withRecorder: (at) => nn.withRecorder(() => {}, () => nn.relu(at(x))),
  withDropout: (at) => nn.withDropout(1, () => nn.layerDropout(at(x), 0.5)),
  Module: async (_, device) => (await new nn.Linear(4, 4, { seed: 1 }).to(device)).stateDict(),
  sinusoidalPositions: (_, device) => nn.sinusoidalPositions(3, 4, { device }),
  buffer: NEW, parameter: NEW, dropoutSeed: NO_TENSOR, isRecording: NO_TENSOR, withSeed: NO_TENSOR, Generator: NO_TENSOR,
}; // biome-ignore format: a function a line

/** heed/nn/history, likewise. */
const HISTORY: Partial<Record<keyof typeof history, Row>> = {
  LinearAttention: layer(() => new history.LinearAttention(8, 2, { seed: 1 }), (m, t) => m.forward(t)),
  PerformerAttention: layer(() => new history.PerformerAttention(8, 2, { seed: 1 }), (m, t) => m.forward(t)),
  linearAttention: { cpu: (at) => history.linearAttention(at(q), at(k), at(v)) },
  performerAttention: { cpu: (at) => history.performerAttention(at(q), at(k), at(v)) },
  orthogonalFeatures: NEW,
}; // biome-ignore format: a function a line

/** heed/train */
const TRAIN: Record<keyof typeof train, Row> = {
  ContextTape: {
    cpu: (at) => cluster.localCluster(1, (comm) => new train.ContextTape(comm, SHARDS).attend(...([q, k, v].map(at) as [never, never, never]))),
    errorOf: "contextAttention",
  },
  Tape: (at, device) => stepped(at, device).then(({ mean, gradients }) => ({ mean, gradients })),
  AdamW: (at, device) => stepped(at, device).then(({ model, optimizer }) => [model.stateDict(), optimizer.moments()]),
  Adam: (at, device) => stepped(at, device, (p) => new train.Adam(p, { lr: 0.1, weightDecay: 0.1 })).then(({ model }) => model.stateDict()),
  SGD: (at, device) => stepped(at, device, (p) => new train.SGD(p, { lr: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.1 })).then(({ model, optimizer }) => [model.stateDict(), optimizer.moments()]),
  grad: (at) => train.grad((t: h.Tensor) => nn.sum(nn.square(t)))(at(x)),
  valueAndGrad: (at) => train.valueAndGrad((t: h.Tensor) => nn.sum(nn.square(t)))(at(x)),
  gradientNorm: (at, device) => stepped(at, device).then(({ gradients }) => train.gradientNorm(gradients)),
  crossEntropy: (at) => train.crossEntropy(at(x), targets),
  tidy: (at) => train.tidy(() => nn.relu(at(x))),
  keep: (at) => train.tidy(() => [train.keep(nn.relu(at(x)))]),
  train: async (at, device) => {
    const { model, loss, parameters } = await linearModel(device);
    await train.train({ model: { parameters, loss }, data: () => [at(x)], steps: 2, heldOut: { batches: [at(y)], every: 1 } });
    return model.stateDict();
  },
  writeCheckpoint: async (at, device) => {
    const { model, optimizer } = await stepped(at, device);
    const bytes = await train.writeCheckpoint(model.parameters(), optimizer, { step: 1, losses: [1], heldOut: [] }, "");
    const other = await new nn.Linear(4, 4, { seed: 2 }).to(device);
    train.readCheckpoint(bytes).restore(other.parameters(), new train.AdamW(other.parameters()));
    return other.stateDict();
  },
  readCheckpoint: (at, device) => (TRAIN.writeCheckpoint as Call)(at, device), loadCheckpoint: "reads a file",
  findNonFinite: async (at, device) => {
    const { model, loss } = await linearModel(device);
    const report = await train.findNonFinite(model.parameters(), () => loss(nn.divide(at(x), 0)));
    if (report?.step !== "divide") throw new Error(`findNonFinite found ${report?.text}`);
    return at(x);
  },
  meanLoss: {
    cpu: async (at, device) => {
      const { loss, parameters } = await linearModel(device);
      return train.meanLoss({ loss, parameters }, [at(x)]);
    },
  },
  Corpus: INDICES, Ngram: INDICES, Windows: INDICES, maskedBatch: INDICES, nextTokenBatch: INDICES, permutation: INDICES,
  renderLoss: INDICES, schedule: INDICES, specialIds: INDICES, splitBlocks: INDICES, windowsInOrder: INDICES, clipScale: INDICES,
  languageModel: "makes a model of the CPU, which cannot be moved", Generator: NO_TENSOR, IGNORE_INDEX: "a number",
}; // biome-ignore format: a function a line

/** heed/cluster */
const CLUSTER: Record<keyof typeof cluster, Row> = {
  contextAttention: { cpu: async (at) => cluster.contextAttention(await cluster.joinCluster(), SHARDS, at(q), at(k), at(v)) },
  contextAttentionBackward: {
    cpu: async (at) => cluster.contextAttentionBackward(await cluster.joinCluster(), SHARDS, at(v), at(q), at(k), at(v), attend((t) => t, {})),
  },
  explainContext: "reads shapes and dtypes only", ShardPlan: CLASS,
  joinCluster: NO_TENSOR, launchOf: NO_TENSOR, localCluster: NO_TENSOR, shardSequence: NO_TENSOR,
}; // biome-ignore format: a function a line

/** Methods and properties of a tensor. */
const METHODS: Record<string, Row> = {
  transpose: unary((t) => t.transpose()), reshape: unary((t) => t.transpose().reshape([2, 6])),
  contiguous: unary((t) => t.transpose().contiguous()), dense: unary((t) => t.transpose().dense()),
  read: async (at) => [at(x), await at(x).read()].slice(0, 1),
  to: async (at) => at(await at(x).to("cpu")),
  dispose: (at) => {
    nn.relu(at(y)).dispose();
    return at(x);
  },
  at: { cpu: (at) => at(x).at(0, 1) },
  data: { cpu: (at) => at(x).data },
  toFloat64: { cpu: (at) => at(x).toFloat64() },
  toArray: { cpu: (at) => at(x).toArray() },
  toJSON: { cpu: (at) => JSON.stringify(at(x)) },
  toString: { cpu: (at: Place) => String(at(x)) },
  dims: CLASS, type: CLASS, size: CLASS, device: CLASS, storage: CLASS, isContiguous: CLASS, constructor: CLASS,
}; // biome-ignore format: a method a line

/** Rows by entry point. */
export const CALLS = {
  heed: HEED,
  "heed/nn": NN,
  "heed/nn/history": HISTORY,
  "heed/train": TRAIN,
  "heed/cluster": CLUSTER,
  Tensor: METHODS,
} as const;

function expectBackend(backend: string, device: string): void {
  if (device !== "cpu" && backend !== device)
    throw new Error(`the plan is for ${backend}, expected ${device}`);
}

/** The gradient of a view through all shape operations, on a tape. */
function recordedGradient(at: Place): unknown {
  const t = at(x);
  const tape = new train.Tape();
  const loss = tape.run(() => nn.sum(nn.square(t.transpose().reshape([2, 6]).contiguous())));
  return tape.gradients(loss, [t]);
}
