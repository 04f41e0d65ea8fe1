import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tensor, zeros } from "../../core/create/construct.ts";
import { Tensor } from "../../core/tensor.ts";
import { readSafetensors, writeSafetensors } from "../../io/index.ts";
import { sum } from "../../nn/arrays/reduce.ts";
import { add, multiply } from "../../nn/ops/arithmetic.ts";
import { dropoutSeed } from "../../nn/ops/dropout.ts";
import { embedding } from "../../nn/ops/lookup.ts";
import { AdamW } from "../adamw.ts";
import { type Batch, nextTokenBatch, Windows } from "../data/data.ts";
import { Generator } from "../data/random.ts";
import { crossEntropy } from "../loss.ts";
import { Tape } from "../tape.ts";
import { readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import { loadCheckpoint } from "./checkpointing.ts";
import { meanLoss } from "./held-out.ts";
import { train } from "./loop.ts";
import { findNonFinite } from "./non-finite.ts";
import type { Trainable, TrainOptions } from "./options.ts";
import { renderLoss } from "./plot.ts";

const V = 12;

/** A model of pairs: logits are a row of a table, plus a bias. */
function pairs(dtype: "float32" | "float64" = "float32"): Trainable {
  const generator = new Generator(1);
  const values = Array.from({ length: V * V }, () => generator.uniform() - 0.5);
  const data = dtype === "float32" ? Float32Array.from(values) : Float64Array.from(values);
  const table = tensor(data, [V, V], dtype);
  const bias = tensor(dtype === "float32" ? new Float32Array(V) : new Float64Array(V), [V], dtype);
  return {
    parameters: () =>
      new Map<string, Tensor>([
        ["table.weight", table],
        ["bias", bias],
      ]),
    loss: ({ inputs, targets }) => crossEntropy(add(embedding(inputs, table), bias), targets),
  };
}

/** Text in which each token says the next with 80 %. */
const text = (() => {
  const generator = new Generator(3);
  const ids = new Int32Array(4000);
  for (let i = 1; i < ids.length; i++)
    ids[i] = generator.uniform() < 0.8 ? (5 * ids[i - 1] + 1) % V : generator.below(V);
  return ids;
})();
const windows = new Windows(text, [{ start: 0, end: 3600 }], { window: 17, overlap: 1, seed: 5 });
const batchOf = (first: number, rows: number): Batch =>
  nextTokenBatch(Array.from({ length: rows }, (_, r) => windows.sequence(first + r)));
const data = (step: number) => [batchOf(8 * step, 8)];
const heldOut = { batches: [nextTokenBatch([text.subarray(3600)])], every: 10 };

const run = (model: Trainable, options: Partial<TrainOptions> = {}) =>
  train({ model, data, steps: 30, adamw: { lr: 0.1 }, heldOut, ...options });
const bits = (model: Trainable) =>
  [...model.parameters().values()].map((t) =>
    Buffer.from((t.data as Float32Array).slice().buffer).toString("hex"),
  );

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heed-train-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("train", () => {
  test("the loss falls to the entropy of the text, on held-out text too", async () => {
    const model = pairs();
    const before = meanLoss(model, heldOut.batches);
    const { losses, heldOut: measured, step, interrupted } = await run(model, { steps: 100 });
    expect(step).toBe(100);
    expect(interrupted).toBe(false);
    expect(losses.length).toBe(100);
    expect(measured.map(([at]) => at)).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    expect(before).toBeGreaterThan(2.4);
    // The text's entropy: 0.8167 go to one token, the rest evenly to eleven.
    expect(measured.at(-1)?.[1]).toBeLessThan(1.1);
    expect(measured.at(-1)?.[1]).toBe(meanLoss(model, heldOut.batches));
  });

  test("the held-out loss is the mean over targets, also of batches of other sizes", async () => {
    const model = pairs();
    const [small, large] = [batchOf(0, 1), batchOf(1, 7)];
    const [a, b] = [small, large].map((batch) => meanLoss(model, [batch]));
    expect(Math.abs(a - b)).toBeGreaterThan(1e-3);
    expect(meanLoss(model, [small, large])).toBeCloseTo((a + 7 * b) / 8, 6);
    const { heldOut: measured } = await run(model, {
      steps: 1,
      adamw: { lr: 0 },
      heldOut: { batches: [small, large], every: 1 },
    });
    expect(measured[0][1]).toBeCloseTo((a + 7 * b) / 8, 6);
  });

  test.each([1, 7, 15, 29, 30])(
    "stopped after step %d and resumed gives the bits of the unbroken run",
    async (at) => {
      const reference = pairs();
      const unbroken = await run(reference);
      const path = join(folder, "checkpoint.safetensors");
      const stop = new AbortController();
      const first = await run(pairs(), {
        checkpoint: { path, every: 4, config: "mine" },
        signal: stop.signal,
        onStep: ({ step }) => step === at && stop.abort(),
      });
      expect(first).toMatchObject({ step: at, interrupted: at < 30 });
      const resume = readCheckpoint(await readFile(path));
      expect(resume).toMatchObject({ step: at, config: "mine" });
      const model = pairs();
      const second = await run(model, { resume, checkpoint: { path } });
      expect(bits(model)).toEqual(bits(reference));
      expect(second).toEqual(unbroken);
      const files = await readdir(folder);
      expect(files).toEqual([
        "checkpoint.safetensors",
        ...(files.length > 1 ? ["checkpoint.safetensors.1"] : []),
      ]);
    },
  );

  test("every micro-batch of every step has a dropout seed of its own", async () => {
    const seeds: (number | undefined)[] = [];
    const model = pairs();
    const loss: Trainable["loss"] = (batch) => {
      seeds.push(dropoutSeed());
      return model.loss(batch);
    };
    const batches = (step: number) => [0, 1, 2].map((m) => batchOf(8 * step + 2 * m, 2));
    await train({ model: { ...model, loss }, data: batches, steps: 4, adamw: { lr: 0.1 }, seed: 5 });
    expect(seeds).not.toContain(undefined);
    expect(new Set(seeds).size).toBe(12);
  });

  test("micro-batches add up to the batch, by their share of the targets", async () => {
    const [big, small] = [pairs("float64"), pairs("float64")];
    const ragged = (step: number) => [
      batchOf(8 * step, 1),
      batchOf(8 * step + 1, 5),
      batchOf(8 * step + 6, 2),
    ];
    const one = await run(big, { steps: 10 });
    const three = await run(small, { steps: 10, data: ragged });
    one.losses.forEach((loss, i) => expect(three.losses[i]).toBeCloseTo(loss, 12));
    const [a, b] = [big, small].map((model) =>
      [...model.parameters().values()].flatMap((t) => [...t.toFloat64()]),
    );
    a.forEach((value, i) => expect(b[i]).toBeCloseTo(value, 10));
  });

  test("gradients are clipped to the norm, and reports give the norm before", async () => {
    const norms: number[] = [];
    const clipped = pairs();
    await run(clipped, { steps: 3, maxNorm: 1e-3, onStep: ({ norm }) => norms.push(norm) });
    expect(norms.length).toBe(3);
    expect(Math.min(...norms)).toBeGreaterThan(1e-3);
    const free = pairs();
    await run(free, { steps: 3, maxNorm: Number.POSITIVE_INFINITY });
    expect(bits(free)).not.toEqual(bits(clipped));
  });

  test("a schedule gives the rate of each step", async () => {
    const rates: number[] = [];
    await run(pairs(), { steps: 3, schedule: (step) => 0.5 ** step, onStep: ({ lr }) => rates.push(lr) });
    expect(rates).toEqual([1, 0.5, 0.25]);
  });

  test.each<[string, Partial<TrainOptions>]>([
    ["steps", { steps: 1.5 }],
    ["checkpoint.every", { checkpoint: { path: "x", every: 0 } }],
    ["heldOut.every", { heldOut: { batches: heldOut.batches, every: 0 } }],
    ["heldOut.batches", { heldOut: { batches: [], every: 1 } }],
    ["maxNorm", { maxNorm: -1 }],
    ["comm", { comm: {} as never }],
    ["data", { data: [] as never }],
    ["order", { order: "any" as never }],
    ["schedule", { schedule: 1e-3 as never }],
    ["countOf", { countOf: 1 as never }],
    ["onStep", { onStep: "log" as never }],
    ["signal", { signal: new AbortController() as never }],
    ["resume", { resume: "checkpoint" as never }],
    ["checkpoint", { checkpoint: "checkpoint" as never }],
    ["heldOut", { heldOut: { batches: heldOut.batches[0] as never, every: 1 } }],
    ["data", { data: () => 5 as never }],
    ["data", { data: (async () => data(0)) as never }],
    ["schedule", { schedule: () => Number.NaN }],
    ["countOf", { countOf: () => -1 }],
  ])("refuses wrong %s before any work", async (code, options) => {
    const model = pairs();
    const before = bits(model);
    await expect(run(model, options)).rejects.toMatchObject({ name: "OptionError", code });
    expect(bits(model)).toEqual(before);
  });
});

describe("a loss that is not finite", () => {
  /** Goes wrong at a step: the named parameter's factor becomes NaN. */
  function spoilt(at: number, where: "value" | "gradient") {
    const model = pairs();
    const factor = tensor(new Float32Array(V).fill(1), [V]);
    let step = 0;
    const trainable: Trainable = {
      parameters: () => new Map([...model.parameters(), ["scale.weight", factor]]),
      loss({ inputs, targets }) {
        const [table, bias] = [...model.parameters().values()];
        const logits = add(embedding(inputs, table), bias);
        if (step >= at && where === "value") logits.data[3] = Number.POSITIVE_INFINITY;
        const scaled = multiply(logits, factor);
        if (step >= at && where === "gradient") logits.data[3] = Number.POSITIVE_INFINITY;
        return crossEntropy(scaled, targets);
      },
    };
    const options: Partial<TrainOptions> = {
      data: (n) => {
        step = n;
        return data(n);
      },
    };
    return { trainable, options };
  }

  test("stops the run, names step, layer and tensor, and the checkpoint stays", async () => {
    const path = join(folder, "c.safetensors");
    const { trainable, options } = spoilt(12, "value");
    const failed = run(trainable, { ...options, checkpoint: { path, every: 5 } });
    await expect(failed).rejects.toMatchObject({
      name: "HeedError",
      code: "non-finite",
      message:
        "train: loss is NaN at step 12; first non-finite: the output of multiply at scale.weight; the last checkpoint is of step 10",
      fields: { step: 12, layer: "scale.weight", operation: "multiply", kind: "value" },
    });
    expect(readCheckpoint(await readFile(path)).step).toBe(10);
    expect([...trainable.parameters().values()].every((t) => t.toFloat64().every(Number.isFinite))).toBe(
      true,
    );
  });

  test("a gradient that is not finite under a finite loss is named too", async () => {
    const { trainable, options } = spoilt(2, "gradient");
    await expect(run(trainable, options)).rejects.toMatchObject({
      code: "non-finite",
      message: "train: a gradient is not finite at step 2; first non-finite: the gradient of scale.weight",
    });
  });

  test("a parameter that is not finite is named before the first step", async () => {
    const model = pairs();
    (model.parameters().get("bias")?.data as Float32Array)[4] = Number.NaN;
    await expect(run(model)).rejects.toMatchObject({ code: "parameters", fields: { name: "bias" } });
    expect((await findNonFinite(model.parameters(), () => model.loss(data(0)[0])))?.text).toBe(
      "parameter bias",
    );
  });

  test("where all is finite nothing is found", async () => {
    const model = pairs();
    expect(await findNonFinite(model.parameters(), () => model.loss(data(0)[0]))).toBeUndefined();
  });
});

describe("checkpoints", () => {
  test("of another model are refused before anything is changed", async () => {
    const path = join(folder, "c.safetensors");
    await run(pairs("float64"), { steps: 1, checkpoint: { path } });
    const resume = readCheckpoint(await readFile(path));
    const model = pairs();
    const before = bits(model);
    await expect(run(model, { resume })).rejects.toMatchObject({ name: "OptionError", code: "checkpoint" });
    expect(bits(model)).toEqual(before);
    await expect(run(pairs("float64"), { resume, steps: 0 })).rejects.toMatchObject({ code: "steps" });
  });

  test("the last two are kept, and none of a run before", async () => {
    const path = join(folder, "c.safetensors");
    await run(pairs(), { steps: 7, checkpoint: { path, every: 3 } });
    expect(readCheckpoint(await readFile(path)).step).toBe(7);
    expect(readCheckpoint(await readFile(`${path}.1`)).step).toBe(6);
    await run(pairs(), { steps: 1, checkpoint: { path, every: 3 } });
    expect(await readdir(folder)).toEqual(["c.safetensors"]);
  });

  test("a damaged one is refused, the older is read in its place, and a new one does not replace the older", async () => {
    const path = join(folder, "c.safetensors");
    await run(pairs(), { steps: 6, checkpoint: { path, every: 3 } });
    expect(await loadCheckpoint(path)).toEqual(
      expect.objectContaining({ path, checkpoint: expect.objectContaining({ step: 6 }) }),
    );
    const intact = await readFile(path);
    const header = 8 + Number(intact.readBigUInt64LE(0));
    const edited = (from: string, to: string) =>
      Buffer.from(intact.toString("latin1").replace(from, to), "latin1");
    const flipped = (at: number) => Uint8Array.from(intact, (byte, i) => (i === at ? byte ^ 4 : byte));
    const damages: [string, Uint8Array][] = [
      ["a bit of every tensor's first value", flipped(header)],
      ["the last bytes are zeros", Uint8Array.from(intact, (byte, i) => (i < intact.length - 64 ? byte : 0))],
      ["fewer steps than losses", edited('"step":"6"', '"step":"3"')],
      ["the steps of AdamW", edited('"adamw.steps":"6"', '"adamw.steps":"0"')],
      ["a truncated file", intact.subarray(0, intact.length - 4)],
      ["an empty file", new Uint8Array(0)],
    ];
    for (const [name, bytes] of damages) {
      expect(() => readCheckpoint(bytes), name).toThrow(expect.objectContaining({ name: "FormatError" }));
      await writeFile(path, bytes);
      const loaded = await loadCheckpoint(path);
      expect(loaded, name).toMatchObject({ path: `${path}.1`, checkpoint: { step: 3 } });
      expect(loaded.damage?.message, name).toMatch(/^\S*c\.safetensors: /);
    }
    const resume = (await loadCheckpoint(path)).checkpoint;
    await run(pairs(), { steps: 4, resume, checkpoint: { path } });
    expect(readCheckpoint(await readFile(path)).step).toBe(4);
    expect(readCheckpoint(await readFile(`${path}.1`)).step).toBe(3);
    await rm(path);
    expect((await loadCheckpoint(path)).damage?.message).toMatch(/cannot read .*no such file/);
    await rm(`${path}.1`);
    await expect(loadCheckpoint(path)).rejects.toMatchObject({ code: "file" });
  });

  test("of parameters that are views, by an optimizer that took more steps, are read and restored", async () => {
    const views = (...values: number[]) =>
      new Map([["w", new Tensor(Float32Array.from(values), [2], "float32", [1], 1)]]);
    const [from, to] = [views(9, 1, 2), views(7, 0, 0)];
    const [before, after] = [new AdamW(from), new AdamW(to)];
    for (let n = 0; n < 3; n++) before.step(new Map<Tensor, Tensor>([[from.get("w")!, tensor([1, -1])]]));
    const progress = { step: 1, losses: [0.5], heldOut: [] };
    const checkpoint = readCheckpoint(await writeCheckpoint(from, before, progress, ""));
    const tape = new Tape();
    const loss = tape.run(() => sum(multiply(to.get("w")!, to.get("w")!)));
    checkpoint.restore(to, after);
    expect(() => tape.gradients(loss, to.values())).toThrow(expect.objectContaining({ code: "changed" }));
    expect([...to.get("w")!.toFloat64()]).toEqual([...from.get("w")!.toFloat64()]);
    expect(after.steps).toBe(3);
  });

  test("one of an earlier version, without checksums, is read", async () => {
    const path = join(folder, "c.safetensors");
    await run(pairs(), { steps: 2, checkpoint: { path } });
    const { tensors, metadata } = readSafetensors(await readFile(path));
    const old = new Map([...metadata].filter(([name]) => name !== "sha256"));
    const bytes = writeSafetensors(tensors as never, { metadata: Object.fromEntries(old) });
    expect(readCheckpoint(bytes).step).toBe(2);
    old.set("step", "3");
    const inconsistent = writeSafetensors(tensors as never, { metadata: Object.fromEntries(old) });
    expect(() => readCheckpoint(inconsistent)).toThrow("it has 2 losses of 3 steps");
  });

  test("other files are refused", async () => {
    const { AdamW } = await import("../adamw.ts");
    expect(() => readCheckpoint(writeSafetensors({}))).toThrow(
      expect.objectContaining({ name: "FormatError", code: "checkpoint" }),
    );
    const none = new Map<string, Tensor>();
    const progress = { step: 1, losses: [], heldOut: [] };
    await expect(writeCheckpoint(none, new AdamW(none), progress, "")).rejects.toThrow(
      /losses must be a list of numbers, one for each of 1 steps, got \[\]/,
    );
    const metadata = { "heed.checkpoint": "1", step: "1", "adamw.steps": "0" };
    const tensors = { losses: zeros([0], "float64"), heldOut: zeros([0, 2], "float64") };
    expect(() => readCheckpoint(writeSafetensors(tensors, { metadata }))).toThrow(
      "it has 0 losses of 1 steps",
    );
  });

  test("held-out losses are of increasing steps, none past the last", async () => {
    const { AdamW } = await import("../adamw.ts");
    const none = new Map<string, Tensor>();
    const read = async (...steps: number[]) => {
      const heldOut = steps.map((step) => [step, 1] as const);
      return readCheckpoint(
        await writeCheckpoint(none, new AdamW(none), { step: 2, losses: [1, 1], heldOut }, ""),
      ).heldOut;
    };
    expect(await read(1, 2)).toEqual([[1, 1], [2, 1]]); // biome-ignore format: one list
    for (const steps of [[1, 1], [2, 1], [0], [3], [1.5]])
      await expect(read(...steps), `${steps}`).rejects.toThrow(
        expect.objectContaining({ code: "checkpoint-damaged" }),
      );
  });
});

describe("renderLoss", () => {
  const curve = {
    losses: Array.from({ length: 500 }, (_, i) => 6 - Math.log(1 + i) / 2),
    heldOut: [[250, 3.5], [500, 3.2]] as const, // biome-ignore format: one line
    lines: [["bigram", 4.2]] as const,
  };

  test("a falling curve goes from the upper left to the lower right, within its columns and rows", () => {
    const lines = renderLoss(curve, { columns: 60, rows: 8 });
    expect(lines.length).toBe(9);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(60);
    expect(lines[0]).toContain("6.00");
    expect(lines[7]).toContain("2.89");
    expect(lines[0].search(/[\u2801-\u28ff]/)).toBeLessThan(lines[7].search(/[\u2801-\u28ff]/));
    expect(lines.join("").match(/o/g)?.length).toBe(2);
    expect(lines.join("")).toContain("bigram");
  });

  test("uses ASCII if requested, and draws nothing without losses", () => {
    expect(renderLoss(curve, { ascii: true }).join("")).toMatch(/^[ -~]*$/);
    expect(renderLoss({ losses: [] })).toEqual([]);
    expect(renderLoss({ losses: [2] }).length).toBeGreaterThan(1);
  });
});
