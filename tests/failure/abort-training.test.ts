/**
 * `signal` at every place of a run where it is looked at: a step that it ends changes nothing, on any number of ranks, and the run
 * resumes with the bits of an uninterrupted one. The signal of these tests aborts at its n-th check, so that no time is measured.
 */
import { type Communicator, localCluster } from "heed/cluster";
import {
  type Batch,
  type LanguageKind,
  type LanguageModel,
  languageModel,
  maskedBatch,
  meanLoss,
  nextTokenBatch,
  readCheckpoint,
  type TrainOptions,
  train,
  Windows,
} from "heed/train";
import { describe, expect, it } from "vitest";
import { turn } from "../../tools/parts/turn.mjs";
import { sweepSize } from "../support/cases/count.ts";

const V = 17;
const text = Int32Array.from({ length: 600 }, (_, n) => (n * n * 7 + n) % V);
const windows = new Windows(text, [{ start: 0, end: text.length }], { window: 9, seed: 3 });

/** A signal that is aborted at its n-th check, and counts those before and after. */
class CountedSignal {
  readonly reason = new Error("stopped");
  readonly #at: number;
  checks = 0;

  constructor(at: number) {
    this.#at = at;
  }

  get aborted(): boolean {
    return this.checks >= this.#at;
  }

  throwIfAborted(): void {
    this.checks++;
    if (this.aborted) throw this.reason;
  }
}

const batchOf = (kind: LanguageKind, n: number): Batch => {
  const rows = [windows.sequence(2 * n), windows.sequence(2 * n + 1)];
  if (kind === "decoder") return nextTokenBatch(rows);
  return maskedBatch(rows, n, { vocabulary: V, mask: 1, special: new Set([0]), seed: 2, share: 0.4 });
};

function start(kind: LanguageKind, M: number) {
  const sizes = { vocabulary: V, context: 9, layers: 2, heads: 2, width: 8, dropout: 0.2, seed: 1 };
  const model: LanguageModel = languageModel(kind, sizes);
  const saved: Uint8Array<ArrayBuffer>[] = [];
  const options: TrainOptions<Batch> = {
    model,
    data: (step) => Array.from({ length: M }, (_, m) => batchOf(kind, step * M + m)),
    steps: 3,
    seed: 5,
    heldOut: { batches: [batchOf(kind, 100), batchOf(kind, 101)], every: 2 },
    checkpoint: { path: "checkpoint", every: 2, save: async (_, bytes) => void saved.push(bytes) },
  };
  const weights = () => [...model.parameters().values()].map(({ data }) => (data as Float32Array).slice());
  return { model, saved, options, weights };
}

/** The weights after each step of a run that nothing stops. */
async function unbroken(kind: LanguageKind, M: number, change: Partial<TrainOptions<Batch>> = {}) {
  const { options, weights } = start(kind, M);
  const after = [weights()];
  const result = await train({ ...options, onStep: () => after.push(weights()), ...change });
  return { result, after };
}

const kinds: readonly LanguageKind[] = ["decoder", "encoder"];

describe("in one process", () => {
  it.each(kinds)("a loss in parts has the bits of the loss at once: %s", async (kind) => {
    const { result, after } = await unbroken(kind, 1);
    const { options, weights, model } = start(kind, 1);
    // Another function, which has no parts.
    const atOnce = { ...model, loss: (batch: Batch) => model.loss(batch) };
    expect(await train({ ...options, model: atOnce })).toEqual(result);
    expect(weights()).toEqual(after[3]);
    expect(result.heldOut.at(-1)?.[1]).toBe(meanLoss(model, options.heldOut?.batches ?? []));
  });

  it.each([
    ["decoder", 1],
    ["encoder", 1],
    ["decoder", 3],
  ] as const)("%s, %d micro-batches: stopped at checks throughout the run", async (kind, M) => {
    const { result, after } = await unbroken(kind, M);
    const free = new CountedSignal(Number.POSITIVE_INFINITY);
    await train({ ...start(kind, M).options, signal: free as never });
    // The forward pass is looked at before and after the attention of each layer, the backward pass at each operation.
    expect(free.checks).toBeGreaterThan(3 * M * (4 + 20));
    // Every ninth check has its turn, every third one with HEED_ALL=1.
    const every = sweepSize(9, 3);
    for (let at = 1 + 3 * (turn % (every / 3)); at <= free.checks; at += every * M) {
      const first = start(kind, M);
      const signal = new CountedSignal(at);
      const stopped = await train({ ...first.options, signal: signal as never });
      expect(signal.checks, "nothing is computed after the abort").toBe(at);
      const { step } = stopped;
      expect(stopped).toMatchObject({ interrupted: step < 3, losses: result.losses.slice(0, step) });
      expect(first.weights()).toEqual(after[step]);
      const resume = readCheckpoint(first.saved.at(-1) as Uint8Array);
      expect(resume.step).toBe(step);
      const second = start(kind, M);
      expect(await train({ ...second.options, resume })).toEqual(result);
      expect(second.weights()).toEqual(after[3]);
    }
  });

  it("a loss of another kind: the backward pass ends between two operations", async () => {
    const { model, options, weights } = start("decoder", 1);
    const before = weights();
    const stop = new AbortController();
    const loss = (batch: Batch) => {
      stop.abort();
      return model.loss(batch);
    };
    const result = await train({ ...options, model: { ...model, loss }, signal: stop.signal });
    expect(result).toEqual({ step: 0, interrupted: true, losses: [], heldOut: [] });
    expect(weights()).toEqual(before);
  });

  it("an error of the loss is no abort", async () => {
    const { model, options } = start("decoder", 1);
    const stop = new AbortController();
    const loss = () => {
      stop.abort();
      throw new Error("the loss failed");
    };
    const run = train({ ...options, model: { ...model, loss }, signal: stop.signal });
    await expect(run).rejects.toThrow("the loss failed");
  });
});

describe("on ranks", () => {
  const onRanks = <T>(ranks: number, body: (comm: Communicator) => Promise<T>) =>
    localCluster(ranks, body, { check: true });

  it.each([
    [3, 1],
    [4, 2],
  ])("%d ranks, %d of a sequence: all stop at the same step, with its bits", async (ranks, sequenceRanks) => {
    const M = 4;
    const [{ result, after }] = await onRanks(ranks, (comm) =>
      unbroken("decoder", M, { comm, sequenceRanks }),
    );
    const steps = new Set<number>();
    for (let at = 1; at < 400; at += 37) {
      const runs = await onRanks(ranks, async (comm) => {
        const { options, weights, saved } = start("decoder", M);
        const signal = new CountedSignal(comm.rank === 1 ? at : Number.POSITIVE_INFINITY);
        // Where ranks share a sequence, the signal is looked at between micro-batches.
        const onStep = ({ step }: { step: number }) => {
          if (sequenceRanks > 1 && comm.rank === 1 && 150 * step >= at) signal.checks = at;
        };
        const stopped = await train({ ...options, comm, sequenceRanks, signal: signal as never, onStep });
        return { stopped, weights: weights(), saved };
      });
      const { step } = runs[0].stopped;
      steps.add(step);
      for (const { stopped, weights } of runs) {
        expect(stopped).toEqual(runs[0].stopped);
        expect(stopped.losses).toEqual(result.losses.slice(0, step));
        expect(weights).toEqual(after[step]);
      }
      const resume = readCheckpoint(runs[0].saved.at(-1) as Uint8Array);
      const resumed = await onRanks(ranks, async (comm) => {
        const { options, weights } = start("decoder", M);
        return { result: await train({ ...options, comm, sequenceRanks, resume }), weights: weights() };
      });
      expect(resumed[0]).toEqual({ result, weights: after[3] });
    }
    expect(steps.size).toBeGreaterThan(1);
  });
});
