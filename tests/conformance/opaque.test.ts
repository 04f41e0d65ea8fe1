/**
 * A backend whose data JavaScript cannot reach, with an asynchronous read (support/backends/opaque-backend.ts): the conformance suite,
 * gradients and training. It shows that the contract is sufficient for a GPU backend.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  alibi,
  attentionBackward,
  attentionWeights,
  blockSparse,
  cast,
  documents,
  explain,
  keyLengths,
  mergeStates,
  not,
  OptionError,
  prepare,
  scaledDotProductAttention,
  type Tensor,
  tensor,
  UnsupportedError,
} from "heed";
import { joinCluster } from "heed/cluster";
import {
  type EncoderDecoder,
  embedTexts,
  embedTextsAsync,
  fillMask,
  fillMaskAsync,
  generateTarget,
  generateTargetAsync,
  locateShipped,
  modelFromFiles,
  readModel,
  translate,
  translateAsync,
} from "heed/models";
import * as nn from "heed/nn";
import type { Batch, TrainOptions } from "heed/train";
import {
  AdamW,
  crossEntropy,
  gradientNorm,
  meanLoss,
  nextTokenBatch,
  readCheckpoint,
  Tape,
  tidy,
  train as trainModel,
} from "heed/train";
import { describe, expect, it } from "vitest";
import { matmul } from "../../src/api/matmul.ts";
import { carrierTokenizer } from "../golden/carrier.ts";
import { use } from "../support/backends/levels.ts";
import { device, enqueued, onDevice, opaque, starts, stored } from "../support/backends/opaque-backend.ts";
import { normal } from "../support/cases/call.ts";
import { deviceConformance } from "./device.ts";

await prepare({ device: "opaque" });

deviceConformance("opaque", {
  backend: opaque,
  device,
  skip: { "weights: dropout": "it has no dropout for weights" },
});

describe("tensors of a device", () => {
  const [q, k, v] = [1, 2, 3].map((seed) => normal(seed, [2, 3, 5, 4]));
  const [Q, K, V] = [q, k, v].map(onDevice);

  it("a call enqueues its work and returns immediately; data throws, read returns the numbers", async () => {
    const before = enqueued;
    const { output } = scaledDotProductAttention(Q, K, V, { isCausal: true });
    expect(enqueued).toBe(before + 1);
    expect(() => output.data).toThrow(UnsupportedError);
    expect(() => output.toFloat64()).toThrow(/on the device "opaque"; get them with await tensor.read\(\)/);
    use("reference", 1);
    expect(await output.read()).toEqual(scaledDotProductAttention(q, k, v, { isCausal: true }).output.data);
  });
  it("a float mask on the device is added to the scores", async () => {
    const mask = normal(4, [5, 5]);
    const { output } = scaledDotProductAttention(Q, K, V, { attnMask: onDevice(mask) });
    use("reference", 1);
    expect(await output.read()).toEqual(scaledDotProductAttention(q, k, v, { attnMask: mask }).output.data);
  });

  it("cast runs on the device, and its gradient too", async () => {
    for (const dtype of ["float64", "float16", "bfloat16", "bool"] as const) {
      const onOpaque = cast(Q.transpose(), dtype);
      expect([onOpaque.device, onOpaque.shape, onOpaque.dtype]).toEqual(["opaque", [2, 3, 4, 5], dtype]);
      expect(await onOpaque.read(), dtype).toEqual(cast(q.transpose(), dtype).data);
    }
    const tape = new Tape();
    const loss = tape.run(() => nn.sum(nn.square(cast(cast(Q, "float16"), "float32"))));
    const gradient = tape.gradients(loss, [Q]).get(Q);
    expect([gradient?.device, gradient?.dtype]).toEqual(["opaque", "float32"]);
    const on = new Tape();
    const here = on.run(() => nn.sum(nn.square(cast(cast(q, "float16"), "float32"))));
    expect(await gradient?.read()).toEqual(on.gradients(here, [q]).get(q)?.data);
    expect(() => cast(Q, "int32")).toThrow(/cast: float32 to int32 needs a check of every number/);
    expect(await cast(onDevice(tensor([true, false])), "int32").read()).toEqual(Int32Array.of(1, 0));
  });

  it("move with `to` in both directions, views too", async () => {
    const onOpaque = await q.transpose().to("opaque");
    expect([onOpaque.device, onOpaque.shape]).toEqual(["opaque", [2, 3, 4, 5]]);
    const back = await onOpaque.transpose().to("cpu");
    expect([back.device, back.data]).toEqual(["cpu", q.data]);
    expect((await onOpaque.reshape([6, 20]).read()).length).toBe(120);
    await expect(q.to("gpu9")).rejects.toThrow(/unknown device "gpu9"; expected one of cpu, opaque/);
    expect(await q.to("cpu")).toBe(q);
  });
  it("operands on different devices are an error that names the conversion", () => {
    expect(() => scaledDotProductAttention(Q, k, V)).toThrow(OptionError);
    expect(() => scaledDotProductAttention(Q, k, V)).toThrow(
      /query is on the device "opaque", but key is on "cpu"; move one of them, e.g. await key.to\("opaque"\)/,
    );
    expect(() => scaledDotProductAttention(Q, K, V, { attnMask: normal(1, [5, 5]) })).toThrow(
      /attnMask\[0\]/,
    );
    expect(() => matmul(Q, k.transpose())).toThrow(/a is on the device "opaque", but b is on "cpu"/);
    expect(() => nn.add(Q, k)).toThrow(/the first tensor is on the device "opaque", but y is on "cpu"/);
  });
  it("an unsupported operation is an error with its reason, not a copy to the CPU", () => {
    const { lse } = scaledDotProductAttention(Q, K, V);
    expect(() => attentionWeights(Q, K, lse, { dropoutP: 0.5, seed: 0 })).toThrow(
      /attentionWeights: not available on the device "opaque": it has no dropout for weights; move the tensors/,
    );
  });
  it("weights, gradients, score tables and the plan", async () => {
    use("reference", 1);
    const options = { isCausal: true, scoreMod: alibi([0.5, 0.25, 0.125]) } as const;
    const [state, cpu] = [
      scaledDotProductAttention(Q, K, V, options),
      scaledDotProductAttention(q, k, v, options),
    ];
    expect(await attentionWeights(Q, K, state.lse, options).read()).toEqual(
      attentionWeights(q, k, cpu.lse, options).data,
    );
    const dOutput = normal(4, [2, 3, 5, 4]);
    const got = attentionBackward(onDevice(dOutput), Q, K, V, state, options);
    const want = attentionBackward(dOutput, q, k, v, cpu, options);
    for (const name of ["dQuery", "dKey", "dValue", "dSlopes"] as const)
      expect(await got[name]?.read(), name).toEqual(want[name]?.data);
    expect(explain(Q, K, V).backend).toBe("opaque");
  });
});

it("prepare and `to` start devices; unknown devices and options are rejected", async () => {
  const before = starts;
  expect(await prepare({ device: "opaque" })).toBe(0);
  await normal(1, [2]).to("opaque");
  expect(starts).toBe(before + 2);
  await expect(prepare({ device: "gpu9" })).rejects.toThrow(
    /prepare: unknown device "gpu9"; expected one of cpu, opaque/,
  );
  await expect(prepare({ devise: "opaque" } as object)).rejects.toThrow(/device/);
});

it("memory of the device is freed by dispose and by tidy, once no tensor reads it", async () => {
  const x = onDevice(normal(1, [4, 4]));
  const view = x.transpose();
  const before = await stored();
  x.dispose();
  expect(await stored()).toBe(before);
  expect(() => nn.scale(x, 2)).toThrow(/disposed/);
  const result = tidy(() => nn.add(nn.scale(view, 2), nn.multiply(view, view)));
  expect(await stored()).toBe(before + 1);
  expect((await result.read()).length).toBe(16);
  for (const t of [result, view, view]) t.dispose();
  expect(await stored()).toBe(before - 1);
});

it("tensors that a call must read on the CPU are rejected by name, before any work", async () => {
  const onOpaque = onDevice(tensor([0, 1, 1], "int32"));
  const blocks = onDevice(tensor([[1, 0]], "int32"));
  const [table, logits] = [onDevice(normal(1, [4, 2])), onDevice(normal(1, [3, 4]))];
  const refused: Record<string, () => unknown> = {
    documents: () => documents(onOpaque),
    keyLengths: () => keyLengths(onOpaque),
    blockSparse: () => blockSparse(blocks, 4),
    embedding: () => nn.embedding(onOpaque, table),
    crossEntropy: () => crossEntropy(logits, onOpaque),
  };
  const before = enqueued;
  for (const [name, call] of Object.entries(refused)) {
    expect(call, name).toThrow(UnsupportedError);
    expect(call, name).toThrow(
      new RegExp(`${name}: .* must be on the CPU, this tensor is on "opaque"; move it: await tensor.to`),
    );
  }
  expect(enqueued).toBe(before);
  const [q, k, v] = [1, 2, 3].map((seed) => normal(seed, [1, 3, 5, 4]));
  expect(() => scaledDotProductAttention(q, k, v, { sinks: onDevice(normal(4, [3])) })).toThrow(
    /sinks is on "opaque"/,
  );
  const scoreMod = alibi(onDevice(normal(4, [3])));
  expect(() => scaledDotProductAttention(q, k, v, { scoreMod })).toThrow(/alibi slopes is on "opaque"/);
});

it("states are merged on their device", async () => {
  use("reference", 1);
  const [q, k, v] = [1, 2, 3].map((seed) => normal(seed, [2, 3, 5, 4]));
  const halves = (place: (t: Tensor) => Tensor) =>
    mergeStates(
      [keyLengths(2), not(keyLengths(2))].map((attnMask) =>
        scaledDotProductAttention(place(q), place(k), place(v), { attnMask }),
      ),
    );
  const [onOpaque, here] = [halves(onDevice), halves((t) => t)];
  expect([onOpaque.output.device, onOpaque.lse.device]).toEqual(["opaque", "opaque"]);
  expect(await onOpaque.output.read()).toEqual(here.output.data);
  expect(await onOpaque.lse.read()).toEqual(here.lse.data);
});

/** A small decoder: an embedding, a block of attention, and a head over the tokens. */
class Decoder extends nn.Module {
  readonly tokens = new nn.Embedding(7, 8, { seed: 1 });
  readonly positions = new nn.SinusoidalPositions(8);
  readonly blocks = [new nn.DecoderBlock(8, 2, { seed: 2, normFirst: true })];
  readonly head = new nn.Linear(8, 7, { seed: 3 });
  logits(ids: Tensor): Tensor {
    const x = nn.add(this.tokens.forward(ids), this.positions.forward(ids.shape[1]));
    return this.head.forward(this.blocks.reduce((y, block) => block.forward(y).output, x));
  }
}

/** Trains on the CPU for some steps, moves model and optimizer, and continues training. */
async function train(device: string, steps: number) {
  const model = new Decoder();
  const optimizer = new AdamW(model.parameters(), { lr: 0.02 });
  const ids = tensor(
    Int32Array.from({ length: 48 }, (_, n) => (n * n) % 7),
    [4, 12],
  );
  const losses: Tensor[] = [];
  for (let step = 0; step < steps; step++) {
    if (step === 5) {
      await model.to(device);
      await optimizer.to(model.parameters());
    }
    const tape = new Tape();
    const loss = tape.run(() => crossEntropy(model.logits(ids), ids));
    optimizer.step(tape.gradients(loss, model.parameters().values()));
    losses.push(loss);
  }
  // The first read since the move: all work before was only enqueued.
  const numbers = await Promise.all(losses.map(async (loss) => Number((await loss.read())[0])));
  const state = await Promise.all([...model.stateDict()].map(async ([name, t]) => [name, await t.read()]));
  return { model, optimizer, numbers, state };
}

it("a model and its optimizer move to it and continue training with exactly the losses of the CPU", async () => {
  use("reference", 1);
  const onOpaque = await train("opaque", 40);
  const here = await train("cpu", 40);
  expect(onOpaque.numbers).toEqual(here.numbers);
  expect(onOpaque.state).toEqual(here.state);
  expect(onOpaque.numbers[39]).toBeLessThan(0.6 * onOpaque.numbers[0]);
  const { model, optimizer } = onOpaque;
  const devices = [...model.parameters().values(), ...optimizer.moments().values()].map((t) => t.device);
  expect(new Set(devices)).toEqual(new Set(["opaque"]));
  expect([model.device, model.blocks[0].self_attn.device]).toEqual(["opaque", "opaque"]);
  // A state of the CPU loads into it; a wrong set of parameters moves nothing.
  model.loadStateDict(new Decoder().stateDict());
  expect(await model.head.weight.read()).toEqual(new Decoder().head.weight.data);
  await expect(optimizer.to([model.head.weight])).rejects.toThrow(
    /AdamW.to: expected the parameters of the optimizer/,
  );
  await expect(model.to("gpu9")).rejects.toThrow(/unknown device "gpu9"/);
  expect(model.device).toBe("opaque");
  await model.to("cpu");
  expect(model.head.weight.data.length).toBe(56);
});

it("embedTextsAsync, fillMaskAsync, translateAsync and generateTargetAsync compute on the device what the others compute here", async () => {
  use("reference", 1);
  const encoder = await readModel(locateShipped("encoder"));
  const vectors = embedTexts(encoder, ["the river bank"]);
  const fills = fillMask(encoder, "the [MASK] of the [MASK]", { top: 3 });
  await encoder.model.to("opaque");
  expect((await embedTextsAsync(encoder, ["the river bank"])).data).toEqual(vectors.data);
  expect(await fillMaskAsync(encoder, "the [MASK] of the [MASK]", { top: 3 })).toEqual(fills);
  const reason = (name: string) =>
    `${name}: the model is on the device "opaque", whose numbers are read asynchronously; call ${name}Async, or move the model: await model.to("cpu")`;
  expect(() => embedTexts(encoder, ["a"])).toThrow(reason("embedTexts"));
  expect(() => fillMask(encoder, "the [MASK]")).toThrow(reason("fillMask"));
  const folder = join(import.meta.dirname, "../golden/encoder-decoders/bart");
  const files = new Map<string, Uint8Array>([
    ["config.json", readFileSync(join(folder, "config.json"))],
    ["model.safetensors", readFileSync(join(folder, "model.safetensors"))],
    ["tokenizer.json", carrierTokenizer()],
  ]);
  const [cpu, moved] = [await modelFromFiles(files), await modelFromFiles(files)];
  await moved.model.to("opaque");
  for (const options of [
    {},
    { beams: 3 },
    { beams: 4, noRepeat: 2, lengthPenalty: 2 },
    { temperature: 1, seed: 4 },
  ]) {
    const { model } = moved as unknown as { model: EncoderDecoder };
    const all = { ...options, maxTokens: 7 };
    const want = translate(cpu, "a b c", all);
    const shares: number[] = [];
    expect(
      await translateAsync(moved, "a b c", { ...all, onProgress: (share) => shares.push(share) }),
    ).toEqual(want);
    expect(shares.at(-1)).toBeGreaterThan(0);
    expect(await generateTargetAsync(model, want.sourceIds, all)).toEqual(want.ids);
    expect(() => translate(moved, "a b c", all)).toThrow(reason("translate"));
    expect(() => generateTarget(model, want.sourceIds, all)).toThrow(reason("generateTarget"));
  }
  const stop = new AbortController();
  stop.abort(new Error("enough"));
  await expect(translateAsync(moved, "a b c", { signal: stop.signal })).rejects.toThrow("enough");
});

it("a state of the device loads there; a state of another device changes nothing", async () => {
  const model = await new Decoder().to("opaque");
  const state = model.stateDict();
  const before = await model.head.weight.read();
  model.loadStateDict(new Map([...new Decoder().stateDict()].map(([name, t]) => [name, nn.scale(t, 2)])));
  expect(await model.head.weight.read()).not.toEqual(before);
  model.loadStateDict(state);
  expect(await model.head.weight.read()).toEqual(before);
  const here = new Decoder();
  expect(() =>
    here.loadStateDict(new Map([...here.stateDict(), ["head.bias", state.get("head.bias")!]])),
  ).toThrow(/the first tensor is on the device "cpu", but head.bias of the state is on "opaque"/);
});

it("the norm of gradients is a tensor of their device", async () => {
  const [a, b] = [normal(1, [3, 4]), normal(2, [5])];
  const onOpaque = gradientNorm(new Map([a, b].map((t) => [t, onDevice(t)])));
  expect([onOpaque.device, onOpaque.shape]).toEqual(["opaque", []]);
  const here = gradientNorm(new Map([a, b].map((t) => [t, t])));
  expect((await onOpaque.read())[0]).toBeCloseTo(here.at(), 5);
});

describe("train() of a model that was moved", () => {
  const ids = Int32Array.from({ length: 400 }, (_, n) => (n * n + 3 * n) % 7);
  const batchOf = (n: number, rows: number) =>
    nextTokenBatch(Array.from({ length: rows }, (_, r) => ids.subarray(9 * n + r, 9 * n + r + 9)));
  const data = (step: number) => [batchOf(step, 2), batchOf(step + 1, 1), batchOf(step + 2, 3)];
  const run = async (device: string, options: Partial<TrainOptions> = {}) => {
    const model = await new Decoder().to(device);
    const loss = ({ inputs, targets }: Batch) => crossEntropy(model.logits(inputs), targets);
    const trainable = { parameters: () => model.parameters(), loss };
    const result = await trainModel({
      model: trainable,
      data,
      steps: 8,
      adamw: { lr: 0.02 },
      maxNorm: Number.POSITIVE_INFINITY,
      heldOut: { batches: [batchOf(30, 2)], every: 4 },
      ...options,
    });
    const weights = await Promise.all([...model.parameters().values()].map((t) => t.read()));
    return { model, trainable, result, weights };
  };

  it("has the losses and the weights of the CPU to the bit, and frees the memory of its steps", async () => {
    use("reference", 1);
    const before = await stored();
    const onOpaque = await run("opaque");
    const here = await run("cpu");
    expect(onOpaque.result).toEqual(here.result);
    expect(onOpaque.weights).toEqual(here.weights);
    // Parameters, and their two moments.
    expect(await stored()).toBe(before + 3 * onOpaque.model.parameters().size);
    expect(() => meanLoss(onOpaque.trainable, [batchOf(0, 1)])).toThrow(
      /meanLoss: the model is on the device "opaque"/,
    );
  });

  it("clips gradients, and reports the norm of the CPU", async () => {
    use("reference", 1);
    const norms: number[][] = [[], []];
    await run("opaque", { maxNorm: 0.1, onStep: ({ norm }) => norms[0].push(norm) });
    await run("cpu", { maxNorm: 0.1, onStep: ({ norm }) => norms[1].push(norm) });
    expect(Math.min(...norms[0])).toBeGreaterThan(0.1);
    norms[0].forEach((norm, n) => expect(norm).toBeCloseTo(norms[1][n], 3));
  });

  it("resumes from a checkpoint, on either device, with the bits of an uninterrupted run", async () => {
    use("reference", 1);
    const onCpu = await run("cpu");
    let saved: Uint8Array = new Uint8Array(0);
    const save = async (_: string, bytes: Uint8Array) => {
      saved = bytes;
    };
    await run("opaque", { steps: 3, heldOut: undefined, checkpoint: { path: "memory", save } });
    for (const device of ["opaque", "cpu"]) {
      const { weights } = await run(device, { resume: readCheckpoint(saved) });
      expect(weights, device).toEqual(onCpu.weights);
    }
  });

  it("names the origin of a loss that is not finite, and refuses ranks and micro-batches that do not fit", async () => {
    use("reference", 1);
    const factor = onDevice(tensor([Number.POSITIVE_INFINITY], "float32"));
    const model = await new Decoder().to("opaque");
    const loss = ({ inputs, targets }: Batch) =>
      crossEntropy(nn.multiply(model.logits(inputs), factor), targets);
    const options = { model: { parameters: () => model.parameters(), loss }, data, steps: 2 };
    await expect(trainModel(options)).rejects.toMatchObject({
      code: "non-finite",
      fields: { step: 0, operation: "multiply", kind: "value" },
    });
    await expect(trainModel({ ...options, data: () => [] })).rejects.toThrow(/step 0 has 0 micro-batches/);
    await expect(run("opaque", { comm: await joinCluster() })).rejects.toThrow(
      /train with ranks: tokens.weight must be on the CPU, this tensor is on "opaque"/,
    );
  });
});
