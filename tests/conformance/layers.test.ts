/**
 * Every operation and layer of heed/nn and heed/nn/history on a device whose data JavaScript cannot reach
 * (support/backends/opaque-backend.ts), forward and backward: the same bits as on the CPU, without reading any number on the host, except for the few that sum in another order there; the device's tensors throw there.
 */
import { alibi, cast, prepare, relativeBias, type Tensor, tensor } from "heed";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import { Tape } from "heed/train";
import { expect, it } from "vitest";
import { use } from "../support/backends/levels.ts";
import { onDevice } from "../support/backends/opaque-backend.ts";
import { normal } from "../support/cases/call.ts";
import { CALLS } from "../support/cases/device-calls.ts";
import { worst } from "../support/shared.ts";

await prepare({ device: "opaque" });

/** Results of an export, from tensors that `t` places and modules that `on` moves. */
type Use = (
  t: (...shape: number[]) => Tensor,
  on: <M extends nn.Module>(module: M) => M,
) => Tensor | Tensor[];

const ids = tensor([[1, 4, 0], [2, 2, 5]] as number[][], "int32"); // biome-ignore format: a matrix
const seed = { seed: 3 };

/** Exports whose results are positions or bools. */
const NO_GRADIENT = new Set(["argmax", "lt", "le", "gt", "ge", "eq", "ne"]);

/** Exports with loops for the CPU, whose sums on a device have another order: equal to float32 precision. */
const ROUNDED = new Set(["AdditiveAttention", "additiveScores", "RecurrentEncoderDecoder"]);

/** A use of each export that computes. */
const USES: Readonly<Record<string, Use>> = {
  add: (t) => [nn.add(t(2, 3), t(3)), nn.add(t(2, 3), t(2, 3)), nn.add(t(2, 1, 4), t(3, 1)), nn.add(1, t(3))],
  sub: (t) => [nn.sub(t(2, 3), t(3)), nn.sub(t(2, 3), 2)],
  multiply: (t) => [nn.multiply(t(2, 3), t(2, 3)), nn.multiply(t(2, 1, 4), t(3, 1)), nn.multiply(t(2), 0.5)],
  divide: (t) => nn.divide(t(2, 3), nn.add(nn.square(t(3)), 1)),
  scale: (t) => nn.scale(t(2, 3).transpose(), 0.3),
  sum: (t) => [nn.sum(t(2, 3, 4)), nn.sum(t(2, 3, 4), 1), nn.sum(t(2, 3, 4), 0, { keepAxis: true })],
  mean: (t) => [nn.mean(t(2, 3, 4)), nn.mean(t(2, 3, 4), -1), nn.mean(t(2, 3), 1, { keepAxis: true })],
  exp: (t) => nn.exp(t(2, 3)),
  log: (t) => nn.log(nn.exp(t(2, 3))),
  sqrt: (t) => nn.sqrt(nn.square(t(2, 3))),
  square: (t) => nn.square(t(2, 3).transpose()),
  abs: (t) => nn.abs(t(2, 3)),
  relu: (t) => nn.relu(t(2, 3)),
  silu: (t) => nn.silu(t(2, 3)),
  sigmoid: (t) => nn.sigmoid(t(2, 3)),
  tanh: (t) => nn.tanh(t(2, 3)),
  elu1: (t) => nn.elu1(t(2, 3)),
  gelu: (t) => [nn.gelu(t(2, 3)), nn.gelu(t(2, 3), { approximate: "tanh" })],
  activate: (t) => nn.activate(t(2, 3), "gelu"),
  softmax: (t) => [nn.softmax(t(2, 3)), nn.softmax(t(2, 3, 4), 1)],
  layerNorm: (t) => nn.layerNorm(t(2, 8), t(8), t(8)),
  rmsNorm: (t) => nn.rmsNorm(t(2, 8), t(8)),
  linear: (t) => [nn.linear(t(2, 3, 4), t(5, 4), t(5)), nn.linear(t(2, 4, 3).transpose(), t(5, 4))],
  matmul: (t) => [nn.matmul(t(2, 3, 4), t(4, 5)), nn.matmul(t(2, 1, 3, 4), t(3, 4, 5)), nn.matmul(t(4), t(4, 5))],
  embedding: (t) => nn.embedding(ids, t(6, 4)),
  reshape: (t) => nn.reshape(t(2, 3).transpose(), [6]),
  transpose: (t) => nn.transpose(t(2, 3, 4), 0, 2),
  slice: (t) => [nn.slice(t(2, 5), 1, 1, 4), nn.slice(t(5, 2), 0, 2)],
  split: (t) => nn.split(t(2, 5), [2, 3]),
  concat: (t) => [nn.concat([t(2, 3), t(2, 2)], -1), nn.concat([t(2, 3, 4), t(1, 3, 4)])],
  stack: (t) => [nn.stack([t(2, 3), t(2, 3)]), nn.stack([t(2, 3), t(2, 3)], -1)],
  splitHeads: (t) => nn.splitHeads(t(2, 3, 8), 2),
  mergeHeads: (t) => nn.mergeHeads(t(2, 2, 3, 4)),
  pick: (t) => [nn.pick(t(3, 4), 1), nn.pick(t(3, 8), -1, [0, 8, 2]), nn.pick(t(3, 4), null, [1, 3])],
  where: (t) => [
    nn.where([[true, false, true]], t(2, 3), -1),
    nn.where(nn.relu(t(2, 3)), 0, -Infinity),
    nn.where(nn.relu(t(2, 3)), t(2, 3), t(3)),
  ],
  tril: (t) => nn.tril(t(2, 4, 4)),
  triu: (t) => nn.triu(t(4, 3), 1),
  max: (t) => [nn.max(t(2, 5)), nn.max(t(2, 5, 3), 1), nn.max(t(2, 5), -1, { keepAxis: true })],
  min: (t) => [nn.min(t(2, 5)), nn.min(t(2, 5, 3), 0)],
  permute: (t) => nn.permute(t(2, 3, 4), [2, 0, 1]),
  squeeze: (t) => [nn.squeeze(t(2, 1, 3, 1)), nn.squeeze(t(2, 1, 3, 1), -1)],
  expandDims: (t) => nn.expandDims(t(2, 3), [0, -1]),
  take: (t) => [nn.take(t(4, 3), [2, 0, -1, 2]), nn.take(t(2, 5, 3), [[1, 4], [0, 1]] as never, 1)],
  gather: (t) => nn.gather(t(2, 3), [[1, 2, 0], [2, 2, 1]] as never, -1),
  pow: (t) => [nn.pow(t(2, 3), 3), nn.pow(nn.add(nn.square(t(2, 3)), 1), t(3)), nn.pow(2, t(3))],
  mul: (t) => nn.mul(t(2, 3), t(3)),
  div: (t) => nn.div(t(2, 3), 2),
  clip: (t) => nn.clip(t(2, 3, 4), -0.5, 0.7),
  maskedFill: (t) => nn.maskedFill(t(2, 3), [[true, false, true]], -1),
  lt: (t) => nn.lt(t(2, 3), t(3)),
  le: (t) => nn.le(t(2, 3), 0.5),
  gt: (t) => nn.gt(t(2, 3), t(2, 1)),
  ge: (t) => nn.ge(0.5, t(2, 3)),
  eq: (t) => nn.eq(nn.argmax(t(2, 3), -1), [1, 2]),
  ne: (t) => nn.ne(t(2, 3), t(3)),
  cumsum: (t) => [nn.cumsum(t(2, 5), 1), nn.cumsum(t(2, 5, 3), { axis: 1 })],
  sort: (t) => [nn.sort(t(2, 5)).values, nn.sort(t(4, 3), { axis: 0, descending: true }).values, nn.sort(t(5)).indices],
  topk: (t) => [nn.topk(t(2, 5), 2).values, nn.topk(t(2, 5, 3), 2, { axis: 1, largest: false }).values, nn.topk(t(5), 2).indices],
  variance: (t) => [nn.variance(t(2, 3, 4), [0, 2]), nn.variance(t(2, 3), { axis: 1, correction: 0, keepAxis: true })],
  norm: (t) => [nn.norm(t(2, 3), 1), nn.norm(t(2, 3, 4))],
  einsum: (t) => [nn.einsum("bqd,bkd->bqk", t(2, 3, 4), t(2, 5, 4)), nn.einsum("ij->j", t(2, 3))],
  argmax: (t) => [nn.argmax(t(2, 5), -1), nn.argmax(t(2, 5))],
  rope: (t) => [nn.rope(t(2, 3, 8)), nn.rope(t(2, 3, 8), { layout: "interleaved", rotaryDim: 4, offset: 5 })],
  dropout: (t) => nn.dropout(t(10, 10), 0.4, { seed: 5 }),
  layerDropout: (t) => nn.withDropout(7, () => nn.layerDropout(t(10, 10), 0.4)),
  attention: (t) => {
    const sinks = t(2);
    const options = { isCausal: true, attnMask: [t(5, 5), [[true]]], sinks, scoreMod: [alibi(t(2)), relativeBias(t(4, 2))] };
    return nn.attention(t(1, 2, 5, 4), t(1, 2, 5, 4), t(1, 2, 5, 3), options as never).output;
  }, // biome-ignore format: the options in a row
  Linear: (t, on) => on(new nn.Linear(4, 3, seed)).forward(t(2, 4)),
  Embedding: (_, on) => on(new nn.Embedding(6, 4, seed)).forward(ids),
  LayerNorm: (t, on) => on(new nn.LayerNorm(8)).forward(t(2, 8)),
  RMSNorm: (t, on) => on(new nn.RMSNorm(8)).forward(t(2, 8)),
  MLP: (t, on) => on(new nn.MLP(8, seed)).forward(t(2, 3, 8)),
  SwiGLU: (t, on) => on(new nn.SwiGLU(8, seed)).forward(t(2, 3, 8)),
  SelfAttention: (t, on) => on(new nn.SelfAttention(8, seed)).forward(t(2, 3, 8)).output,
  LearnedPositions: (t, on) => nn.add(t(2, 3, 8), on(new nn.LearnedPositions(6, 8, seed)).forward(3)),
  SinusoidalPositions: (t, on) => nn.add(t(2, 3, 8), on(new nn.SinusoidalPositions(8)).forward(3)),
  Rope: (t, on) => on(new nn.Rope()).forward(t(2, 3, 8), [4, 7, 9]),
  MultiHeadAttention: (t, on) => {
    const layer = on(new nn.MultiHeadAttention(8, 2, { ...seed, numKvHeads: 1, rope: new nn.Rope() }));
    const first = layer.forward(t(2, 3, 8), undefined, undefined, { isCausal: true });
    const cross = on(new nn.MultiHeadAttention(8, 2, { ...seed, kdim: 6, vdim: 6 }));
    return [
      first.output,
      layer.forward(t(2, 1, 8), undefined, undefined, { past: first }).output,
      cross.forward(t(2, 3, 8), t(2, 4, 6), undefined, { keyMask: [[true, true, false, true]] }).output,
    ];
  },
  EncoderBlock: (t, on) => {
    const block = on(new nn.EncoderBlock(8, 2, { ...seed, dropoutP: 0.2 }));
    return nn.withDropout(9, () => block.forward(t(2, 3, 8)).output);
  },
  DecoderBlock: (t, on) => {
    const block = on(new nn.DecoderBlock(8, 2, { ...seed, crossAttention: true, normFirst: true }));
    return block.forward(t(2, 3, 8), t(2, 4, 8)).output;
  },
  GRUCell: (t, on) => on(new history.GRUCell(4, 3, seed)).forward(t(2, 4), t(2, 3)),
  GRU: (t, on) => {
    const gru = on(new history.GRU(4, 3, { ...seed, bidirectional: true }));
    return [gru.forward(t(2, 3, 4)).output, gru.forward(t(2, 3, 4), { keyMask: cast(nn.relu(t(2, 3)), "bool") }).output];
  },
  LuongAttention: (t, on) => {
    const keyMask = [[true, false, true, true]] as never;
    return on(new history.LuongAttention(4, 6, seed)).forward(t(1, 3, 4), t(1, 4, 6), undefined, { keyMask }).output;
  },
  AdditiveAttention: (t, on) => {
    const keyMask = [[true, false, true, true]] as never;
    return on(new history.AdditiveAttention(4, 6, 5, seed)).forward(t(1, 3, 4), t(1, 4, 6), undefined, { keyMask }).output;
  },
  additiveScores: (t) => history.additiveScores(t(2, 3, 4), t(2, 5, 4), t(4)),
  RecurrentEncoderDecoder: (_, on) => {
    const sizes = { sourceWords: 6, targetWords: 6, embedDim: 4, hidden: 3 } as const;
    const scores = ["additive", "general"] as const;
    return scores.map((score) => on(new history.RecurrentEncoderDecoder({ ...sizes, score, ...seed })).forward(ids, ids).logits);
  },
}; // biome-ignore format: a row an export

it("this table and that of device-calls.ts have every export of heed/nn and heed/nn/history", () => {
  const others = [CALLS["heed/nn"], CALLS["heed/nn/history"]].flatMap((rows) => Object.keys(rows));
  const exported = [...Object.keys(nn), ...Object.keys(history)];
  expect([...Object.keys(USES), ...others].sort()).toEqual(exported.sort());
});

/** Results on a device, and the gradients of the sum of their squares by all tensors and parameters. */
async function computed(uses: Use, device: "cpu" | "opaque") {
  const place = (t: Tensor) => (device === "cpu" ? t : onDevice(t));
  // A first run on the CPU builds the modules, since a move is asynchronous; the run on the tape uses them in order.
  const modules: nn.Module[] = [];
  uses(
    (...shape) => normal(1, shape),
    (module) => {
      modules.push(module);
      return module;
    },
  );
  await Promise.all(modules.map((module) => module.to(device)));
  const tensors: Tensor[] = [];
  const tape = new Tape();
  let next = 0;
  const outputs = [
    tape.run(() =>
      uses(
        (...shape) => {
          tensors.push(place(normal(tensors.length + 11, shape)));
          return tensors[tensors.length - 1];
        },
        <M extends nn.Module>() => modules[next++] as M,
      ),
    ),
  ].flat();
  const floats = outputs.filter(({ dtype }) => dtype === "float32");
  const all = [...tensors, ...modules.flatMap((module) => [...module.parameters().values()])];
  if (floats.length === 0) return { outputs, gradients: [] };
  const loss = tape.run(() => floats.map((y) => nn.sum(nn.square(y))).reduce((a, b) => nn.add(a, b)));
  const gradients = tape.gradients(loss, all);
  return { outputs, gradients: all.map((t) => gradients.get(t)) };
}

for (const [name, uses] of Object.entries(USES))
  it(name, async () => {
    use("reference", 1);
    const results = await computed(uses, "opaque");
    const here = await computed(uses, "cpu");
    for (const part of ["outputs", "gradients"] as const)
      for (const [n, want] of here[part].entries()) {
        const got = results[part][n];
        expect([n, got?.device, got?.shape, got?.dtype]).toEqual([
          n,
          want && "opaque",
          want?.shape,
          want?.dtype,
        ]);
        if (!got || !want) continue;
        const [a, b] = await Promise.all([got.read(), want.read()]);
        if (ROUNDED.has(name))
          expect(worst(a as Float32Array, b as Float32Array), `${part} ${n}`).toBeLessThan(1e-5);
        else expect(a, `${part} ${n}`).toEqual(b);
      }
    expect(here.gradients.filter(Boolean).length > 0).toBe(!NO_GRADIENT.has(name));
  });
