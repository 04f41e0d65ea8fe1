/** Data-parallel training: any number of ranks gives the bits of one. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { OptionError, type Tensor, tensor } from "heed";
import { type Communicator, localCluster } from "heed/cluster";
import { readSafetensors, writeSafetensors } from "heed/io";
import { add, multiply, record, square, sum } from "heed/nn";
import type { Batch, CheckpointOptions, TrainOptions } from "heed/train";
import { languageModel, loadCheckpoint, nextTokenBatch, readCheckpoint, train, Windows } from "heed/train";
import { describe, expect, it } from "vitest";
import { digestElements } from "../../cluster/communicator/agree.ts";
import { addFloats } from "../../cluster/communicator/reduce.ts";
import { partsIn, writeIndex } from "./checkpoint.ts";
import { partsOf } from "./optimizer-parts.ts";
import { Flat, GradientExchange, microBatchesOf, sumLocal, sumOverRanks, sumTree } from "./parallel.ts";

const ids = Int32Array.from({ length: 600 }, (_, n) => (n * n * 7 + n) % 17);
const windows = new Windows(ids, [{ start: 0, end: ids.length }], { window: 9, seed: 3 });
const batchOf = (n: number): Batch => nextTokenBatch([windows.sequence(2 * n), windows.sequence(2 * n + 1)]);

const newModel = () =>
  languageModel("decoder", {
    vocabulary: 17,
    context: 8,
    layers: 1,
    heads: 2,
    width: 8,
    dropout: 0.2,
    seed: 1,
  });

const optionsOf = (M: number, steps: number): Omit<TrainOptions<Batch>, "model"> => ({
  data: (step) => Array.from({ length: M }, (_, m) => batchOf(step * M + m)),
  steps,
  seed: 5,
  heldOut: { batches: [batchOf(100), batchOf(101), batchOf(102)], every: 2 },
});

/** A run's losses and final weights, and the checkpoints that were written, by rank. */
async function run(M: number, steps: number, change: Partial<TrainOptions<Batch>> = {}) {
  const trainable = newModel();
  const checkpoints: Uint8Array<ArrayBuffer>[] = [];
  const result = await train({
    model: trainable,
    ...optionsOf(M, steps),
    checkpoint: {
      path: "checkpoint",
      every: 2,
      save: async (_, bytes) => void checkpoints.push(bytes),
    },
    ...change,
  });
  const weights = [...trainable.parameters().values()].map(({ data }) => data);
  return {
    losses: result.losses,
    heldOut: result.heldOut,
    weights,
    checkpoints,
    interrupted: result.interrupted,
  };
}

const onRanks = <T>(ranks: number, body: (comm: Communicator) => Promise<T>) =>
  localCluster(ranks, body, { check: true });

describe("train over ranks", () => {
  it("has the same bits on 1, 2, 3, 4 and 8 ranks as in one process, and one checkpoint", async () => {
    const alone = await run(8, 3);
    for (const ranks of [1, 2, 3, 4, 8]) {
      const all = await onRanks(ranks, (comm) => run(8, 3, { comm }));
      for (const [rank, one] of all.entries()) {
        expect(one.losses, `${ranks} ranks`).toEqual(alone.losses);
        expect(one.heldOut).toEqual(alone.heldOut);
        expect(one.weights).toEqual(alone.weights);
        expect(one.checkpoints).toEqual(rank === 0 ? alone.checkpoints : []);
      }
    }
  });

  it("exchanges gradients while the backward pass goes on: the same bits, and an exchange that fails ends the step", async () => {
    const n = 2 ** 18;
    const wide = (at: number) => tensor(Float32Array.from({ length: n }, (_, i) => Math.sin(i + at)));
    const run2 = async (comm?: Communicator, log: string[] = []) => {
      const [u, w] = [wide(0), wide(1)];
      /** u, whose gradient is complete last. */
      const first = () => {
        const out = tensor(Float32Array.from(u.data));
        record({
          ...{ name: "first", inputs: [u], outputs: [out] },
          backward: ([d]) => {
            log.push("backward of u");
            return [d];
          },
        });
        return out;
      };
      /** Its backward pass takes longer than a turn, between those of w and u. */
      const slow = (x: Tensor) => {
        const out = multiply(x, 1);
        const backward = ([d]: readonly (Tensor | undefined)[]) => {
          for (const end = performance.now() + 10; performance.now() < end; );
          return [d];
        };
        record({ name: "slow", inputs: [out], outputs: [out], backward });
        return out;
      };
      const model = {
        parameters: () => new Map(Object.entries({ u, w })),
        loss: (x: number) => sum(square(add(multiply(slow(multiply(first(), x)), w), w))),
      };
      const data = (step: number) => [1, 2, 3, 4, 5].map((x) => Math.fround(x / 7 + step));
      const { losses } = await train<number>({ model, data, steps: 2, comm });
      return { losses, sums: [u, w].map(({ data }) => digestElements(new Uint8Array(data.buffer))) };
    };
    const alone = await run2();
    for (const ranks of [2, 3])
      for (const one of await onRanks(ranks, (comm) => run2(comm))) expect(one).toEqual(alone);
    const log: string[] = [];
    const errors = await localCluster(2, (comm) => {
      const exchange = comm.exchange;
      if (comm.rank === 0)
        comm.exchange = (...args) => {
          if (args[1].byteLength + args[3].byteLength < 4 * n) return exchange(...args);
          return log.push("exchange") < 7 ? exchange(...args) : Promise.reject(new Error("the link is down"));
        };
      return run2(comm, comm.rank === 0 ? log : []).catch(({ message }) => message);
    });
    // Rank 0 has two micro-batches; the gradient of w is exchanged before that of u is there.
    expect(log.slice(0, 2)).toEqual(["backward of u", "exchange"]);
    expect(log.slice(2)).toContain("backward of u");
    expect(errors).toEqual(["the link is down", expect.stringContaining("rank 1 waits for rank 0")]);
  });

  it("distributes micro-batches that the number of ranks does not divide", async () => {
    const alone = await run(5, 2);
    for (const ranks of [2, 3, 4, 5])
      for (const { weights, losses } of await onRanks(ranks, (comm) => run(5, 2, { comm }))) {
        expect(losses).toEqual(alone.losses);
        expect(weights).toEqual(alone.weights);
      }
  });

  it("resumes from a checkpoint on another number of ranks with the bits of an uninterrupted run", async () => {
    const uninterrupted = await run(4, 4);
    const [first] = await onRanks(2, (comm) => run(4, 2, { comm }));
    const bytes = first.checkpoints.at(-1) as Uint8Array;
    for (const { weights, losses } of await onRanks(4, (comm) =>
      run(4, 4, { comm, resume: readCheckpoint(bytes) }),
    )) {
      expect(losses).toEqual(uninterrupted.losses);
      expect(weights).toEqual(uninterrupted.weights);
    }
  });

  it.each([2, 3, 11])(
    "with the optimizer's state divided among %i ranks has the same bits, and a checkpoint in as many parts that joins to the same one",
    async (ranks) => {
      const path = join(mkdtempSync(join(tmpdir(), "heed-parts-")), "checkpoint.safetensors");
      const uninterrupted = await run(12, 4);
      const divided = { shardOptimizer: true, checkpoint: { path, every: 2 } };
      await onRanks(ranks, (comm) => run(12, 2, { comm, ...divided }));
      const first = await loadCheckpoint(path);
      expect(first.bytes).toEqual(uninterrupted.checkpoints[0]);
      const parts = readdirSync(dirname(path)).filter((name) => name !== "checkpoint.safetensors");
      const name = /^checkpoint\.safetensors\.2\.\d+-of-\d+\.[0-9a-f]{8}$/;
      expect(parts).toEqual(new Array(ranks).fill(expect.stringMatching(name)));
      // The run continues with another number of ranks: its first checkpoint stays, whose parts are of the number before.
      const rest = await onRanks(2, (comm) => run(12, 4, { comm, ...divided, resume: first.checkpoint }));
      for (const { weights, losses, heldOut } of rest) {
        expect(losses).toEqual(uninterrupted.losses);
        expect(heldOut).toEqual(uninterrupted.heldOut);
        expect(weights).toEqual(uninterrupted.weights);
      }
      const [last, before] = [await loadCheckpoint(path), await loadCheckpoint(`${path}.1`)];
      expect([before.bytes, last.bytes]).toEqual(uninterrupted.checkpoints);
      expect(readdirSync(dirname(path))).toHaveLength(2 + ranks + 2);
      // One process, which writes one file, continues too; parts of the checkpoint before the last two are deleted.
      const options = { resume: last.checkpoint, checkpoint: { path, every: 2 } };
      expect((await run(12, 6, options)).losses).toEqual((await run(12, 6)).losses);
      expect(readdirSync(dirname(path))).toHaveLength(2 + 2);
      await run(12, 8, { ...options, resume: (await loadCheckpoint(path)).checkpoint });
      expect(readdirSync(dirname(path))).toHaveLength(2);
      rmSync(dirname(path), { recursive: true });
    },
  );

  it("more ranks than parameters, and a parameter without a gradient, have the bits of one process too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "heed-parts-"));
    const path = join(folder, "c");
    const train2 = async (change: Partial<TrainOptions<number>>) => {
      const [w, u] = [tensor([0.5, -0.25, 2]), tensor([7])];
      const model = {
        parameters: () => new Map(Object.entries({ u, w })),
        loss: (x: number) => sum(square(multiply(w, x))),
      };
      const data = (step: number) => [1, 2, 3, 4].map((x) => x + step / 8);
      const { losses } = await train<number>({ model, data, steps: 3, ...change });
      return { losses, weights: [[...w.data], [...u.data]] };
    };
    const alone = await train2({});
    expect(alone.weights[1]).toEqual([7]);
    const divided = { shardOptimizer: true, checkpoint: { path } };
    for (const one of await onRanks(4, (comm) => train2({ comm, ...divided }))) expect(one).toEqual(alone);
    const resume = (await loadCheckpoint(path)).checkpoint;
    const more = { steps: 5, resume };
    const longer = await train2(more);
    for (const one of await onRanks(3, (comm) => train2({ comm, ...divided, ...more })))
      expect(one).toEqual(longer);
    expect(longer.losses.slice(0, 3)).toEqual(alone.losses);
    rmSync(folder, { recursive: true });
  });

  it("a part that is damaged, missing or of another checkpoint is named, and the older checkpoint is read", async () => {
    const folder = mkdtempSync(join(tmpdir(), "heed-parts-"));
    const path = join(folder, "c");
    const save = (steps: number, more: Partial<TrainOptions<Batch>>) =>
      onRanks(2, (comm) =>
        run(2, steps, { comm, shardOptimizer: true, checkpoint: { path, every: 2 }, ...more }),
      );
    await save(4, {});
    const names = readdirSync(folder).filter((name) => name.startsWith("c.4."));
    expect(names).toHaveLength(2);
    const part = join(folder, names[1]);
    const bytes = readFileSync(part);
    const other = readFileSync(join(folder, readdirSync(folder).find((name) => /^c\.2\.2-/.test(name))!));
    const flipped = Buffer.from(bytes);
    flipped[flipped.length - 5] ^= 4;
    const first = readFileSync(join(folder, names[0]));
    for (const [contents, what] of [
      [flipped, /the file is damaged: the checksum of ".*" does not match/],
      [bytes.subarray(0, 1000), /a header of|bytes/],
      [Buffer.alloc(bytes.length), /header/],
      [other, /it is of step 2 and 2 steps of the optimizer, its index of 4 and 4/],
      [first, /it is not the part that the index lists/],
      [undefined, /cannot read .*: no such file or directory/],
    ] as const) {
      if (contents) writeFileSync(part, contents);
      else rmSync(part);
      const { damage, checkpoint, path: read } = await loadCheckpoint(path);
      expect(damage?.message).toMatch(what);
      expect(damage?.message).toContain(names[1]);
      expect([checkpoint.step, read]).toEqual([2, `${path}.1`]);
    }
    // A damaged checkpoint does not take the place of the older one.
    const { checkpoint: resume } = await loadCheckpoint(path);
    await save(3, { resume });
    expect((await loadCheckpoint(path)).checkpoint.step).toBe(3);
    expect((await loadCheckpoint(`${path}.1`)).checkpoint.step).toBe(2);
    // Neither file alone is a checkpoint.
    const [index, one] = [path, join(folder, readdirSync(folder).find((name) => /^c\.3\./.test(name))!)];
    expect(() => readCheckpoint(readFileSync(index))).toThrow(
      "readCheckpoint: the file is the index of a checkpoint in parts; loadCheckpoint(path) reads them",
    );
    await expect(loadCheckpoint(one)).rejects.toThrow(/the file is part 1 of 2 of a checkpoint/);
    for (const list of ["[", "null", '{"../x":"1"}', '{"x":1}']) {
      const { tensors, metadata } = readSafetensors(readFileSync(index));
      const texts = { ...Object.fromEntries(metadata), parts: list };
      writeFileSync(index, writeSafetensors(tensors, { metadata: texts }));
      await expect(loadCheckpoint(index).then(({ damage }) => damage?.message)).resolves.toMatch(
        /c: the file is damaged: the checksum of its metadata does not match/,
      );
    }
    rmSync(folder, { recursive: true });
  });

  it.each(["../x", "a/b", "a\\b", ""])(
    "an index does not name a part %j outside its folder",
    async (name) => {
      const progress = { step: 0, losses: [], heldOut: [] };
      const { bytes } = await writeIndex([[name, "1"]], progress, 0, "");
      expect(() => partsIn(bytes)).toThrow(/the file is damaged: its list of parts cannot be read/);
      const { tensors, metadata } = readSafetensors((await writeIndex([["x", "1"]], progress, 0, "")).bytes);
      for (const [field, text, message] of [
        ["sha256", undefined, /it has no checksums/],
        ["sha256", "7", /its list of checksums cannot be read/],
        ["sha256", "{", /its list of checksums cannot be read/],
        ["step", "-1", /step must be an integer ≥ 0, got "-1"/],
        ["adamw.steps", undefined, /adamw\.steps must be an integer ≥ 0, got undefined/],
        ["config", "other", /the checksum of its metadata does not match/],
      ] as const) {
        const texts = new Map(metadata);
        if (text === undefined) texts.delete(field);
        else texts.set(field, text);
        expect(() => partsIn(writeSafetensors(tensors, { metadata: texts }))).toThrow(message);
      }
    },
  );

  it("a rank that cannot write its part, or writes it elsewhere, ends all, and the last checkpoint is whole", async () => {
    const folder = mkdtempSync(join(tmpdir(), "heed-parts-"));
    const path = join(folder, "c");
    const begin = (steps: number, ofRank: (rank: number) => Partial<CheckpointOptions>) =>
      onRanks(3, async (comm) => {
        const checkpoint = { path, every: 2, ...ofRank(comm.rank) };
        return run(3, steps, { comm, shardOptimizer: true, checkpoint }).catch((error) => error);
      });
    await begin(2, () => ({}));
    const full = async () => {
      throw new OptionError("file", "no space left on device");
    };
    const errors = await begin(4, (rank) => (rank === 1 ? { save: full } : {}));
    expect(errors.map(({ message }) => message)).toEqual([
      "train: rank 1 of 3 cannot: no space left on device",
      "no space left on device",
      "train: rank 1 of 3 cannot: no space left on device",
    ]);
    expect((await loadCheckpoint(path)).checkpoint.step).toBe(2);
    await expect(
      onRanks(2, (comm) => {
        const checkpoint = { path: join(folder, comm.rank === 0 ? "c" : "elsewhere"), every: 2 };
        return run(2, 2, { comm, shardOptimizer: true, checkpoint });
      }),
    ).rejects.toThrow(/c\.2\.2-of-2\.\w+ is not there on rank 0; a checkpoint in parts needs a folder/);
    rmSync(folder, { recursive: true });
  });

  it("a rank has the moments of its part of the parameters alone", () => {
    const parameters = newModel().parameters();
    const parts = partsOf(parameters, 3);
    expect(parts.flatMap((part) => [...part.keys()]).sort()).toEqual([...parameters.keys()].sort());
    const sizes = parts.map((part) => [...part.values()].reduce((sum, { size }) => sum + size, 0));
    expect(Math.max(...sizes)).toBeLessThan(1.2 * Math.min(...sizes));
  });

  it("stops on all ranks before the same step when one gets the signal", async () => {
    const results = await onRanks(3, (comm) => {
      const controller = new AbortController();
      return run(3, 10, {
        comm,
        signal: controller.signal,
        onStep: ({ step }) => {
          if (step === 2 && comm.rank === 1) controller.abort();
        },
      });
    });
    for (const { losses, interrupted } of results) {
      expect(losses).toHaveLength(2);
      expect(interrupted).toBe(true);
    }
    expect(results[0].checkpoints).toHaveLength(1);
  });

  it('order "fast" comes close', async () => {
    const alone = await run(4, 2);
    const [fast] = await onRanks(2, (comm) => run(4, 2, { comm, order: "fast" }));
    fast.losses.forEach((loss, n) => {
      expect(loss).toBeCloseTo(alone.losses[n], 5);
    });
  });

  it("a loss that is not finite is one error on all ranks that names the step", async () => {
    const errors: unknown[] = [];
    await onRanks(2, async (comm) => {
      const model = newModel();
      const broken = {
        ...model,
        parameters: () => model.parameters(),
        loss: (batch: Batch) => model.loss(batch),
      };
      await train({
        model: broken,
        ...optionsOf(2, 3),
        comm,
        onStep: ({ step }) => {
          if (step === 1)
            for (const { data } of model.parameters().values()) (data as Float32Array)[0] = Number.NaN;
        },
      }).catch((error) => errors.push(error));
    });
    expect(errors).toHaveLength(2);
    for (const error of errors) expect((error as OptionError).code).toBe("non-finite");
    expect((errors[0] as Error).message).toContain("at step 1");
  });

  it("ranks that disagree, and steps with too few micro-batches, are typed errors on all ranks", async () => {
    const errorsOf = async (change: (comm: Communicator) => Partial<TrainOptions<Batch>>, M = 4) => {
      const errors: OptionError[] = [];
      await onRanks(2, async (comm) => {
        await run(M, 2, { comm, ...change(comm) }).catch((error) => errors.push(error));
      });
      expect(errors).toHaveLength(2);
      return errors;
    };
    for (const error of await errorsOf(({ rank }) => ({ seed: rank })))
      expect(error.message).toContain("train: ranks disagree: seed is 0 on rank 0, but 1 on rank 1");
    for (const error of await errorsOf(({ rank }) => ({
      model: languageModel("decoder", {
        vocabulary: 17,
        context: 8,
        layers: 1,
        heads: 2,
        width: 8,
        seed: rank,
      }),
    })))
      expect(error.message).toContain("the first weights");
    for (const error of await errorsOf(({ rank }) => ({ data: optionsOf(4 + 2 * rank, 2).data })))
      expect(error.message).toBe(
        "train: ranks disagree: step 0 has 4 micro-batches on rank 0, but 6 on rank 1; data(step) must return the same batches on every rank",
      );
    for (const error of await errorsOf(() => ({}), 1)) {
      expect(error).toBeInstanceOf(OptionError);
      expect(error.message).toContain("step 0 has 1 micro-batch, and there are 2 ranks");
    }
  });
});

describe("the tree", () => {
  it("adds any number of leaves in one order, however they are distributed", () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 8 }), async (M, P) => {
        const ranks = Math.min(M, P);
        const leaf = (m: number) => [Float32Array.of(Math.sin(m) * 10 ** (m % 7), m)];
        const alone = sumTree(0, M, leaf, ([sum], [other]) => addFloats(sum, other));
        const [w, u] = [tensor([0]), tensor([0])];
        const flat = new Flat([w, u], 4);
        expect(flat.buckets).toHaveLength(2);
        const all = await localCluster(ranks, async (comm) => {
          const [from, to] = microBatchesOf(M, ranks, comm.rank);
          const sums = await sumLocal(M, [from, to], flat.zeros(), leaf);
          const exchange = new GradientExchange(flat, sums, (nodes) => sumOverRanks(comm, M, nodes, "fixed"));
          const [[first, second]] = leaf(to - 1);
          exchange.complete(u, tensor([second]));
          await Promise.resolve();
          exchange.complete(w, tensor([first]));
          return exchange.end();
        });
        for (const sum of all) expect(sum).toEqual(alone);
        expect(alone[0][1]).toBe((M * (M - 1)) / 2);
      }),
      { numRuns: 60 },
    ));
});
