/** Data-parallel training: any number of ranks gives the bits of one. */
import * as fc from "fast-check";
import { OptionError } from "heed";
import { type Communicator, localCluster } from "heed/cluster";
import type { Batch, TrainOptions } from "heed/train";
import { languageModel, nextTokenBatch, readCheckpoint, train, Windows } from "heed/train";
import { describe, expect, it } from "vitest";
import { partsOf } from "./optimizer-parts.ts";
import { microBatchesOf, sumLocal, sumOverRanks } from "./parallel.ts";

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
    "with the optimizer's state divided among %i ranks has the same bits and the same checkpoint",
    async (ranks) => {
      const uninterrupted = await run(12, 4);
      const divided = { shardOptimizer: true };
      const first = await onRanks(ranks, (comm) => run(12, 2, { comm, ...divided }));
      const bytes = first[0].checkpoints.at(-1) as Uint8Array;
      expect(first.map(({ checkpoints }) => checkpoints.length)).toEqual([
        1,
        ...new Array(ranks - 1).fill(0),
      ]);
      // The run goes on with another number of ranks.
      const rest = await onRanks(2, (comm) =>
        run(12, 4, { comm, ...divided, resume: readCheckpoint(bytes) }),
      );
      for (const { weights, losses, heldOut } of rest) {
        expect(losses).toEqual(uninterrupted.losses);
        expect(heldOut).toEqual(uninterrupted.heldOut);
        expect(weights).toEqual(uninterrupted.weights);
      }
      expect(rest[0].checkpoints).toEqual(uninterrupted.checkpoints.slice(1));
    },
  );

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
        const [alone] = [...((await sumLocal(M, [0, M], leaf)) as Map<string, Float32Array[]>).values()];
        const all = await localCluster(ranks, async (comm) => {
          const localSums = await sumLocal(M, microBatchesOf(M, ranks, comm.rank), leaf);
          return sumOverRanks(comm, M, localSums as Map<string, Float32Array[]>, "fixed");
        });
        for (const sum of all) expect(sum).toEqual(alone);
        expect(alone[0][1]).toBe((M * (M - 1)) / 2);
      }),
      { numRuns: 60 },
    ));
});
