/** Ranks that share a sequence: layers, their gradients and training have the numbers of one process. */
import { cast, OptionError, ones, scaledDotProductAttention, Tensor, tensor } from "heed";
import { localCluster, shardSequence } from "heed/cluster";
import { Encoder } from "heed/models";
import { DecoderBlock, EncoderBlock, layerDropout, Rope, square, sum, withDropout } from "heed/nn";
import type { Batch, TrainOptions } from "heed/train";
import { ContextTape, languageModel, nextTokenBatch, Tape, tidy, train, Windows } from "heed/train";
import { describe, expect, it } from "vitest";
import { LEVELS, restore, use } from "../../../tests/support/backends/levels.ts";
import { getEngine } from "../../wasm/engine/engine.ts";

const N = 13;
const wave = (...shape: number[]) =>
  tensor(
    Float64Array.from({ length: shape.reduce((a, b) => a * b) }, (_, n) => Math.sin(n * n * 0.7 + n)),
    shape,
    "float64",
  );
const worst = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Math.max(...Array.from(a, (x, n) => Math.abs(x - b[n])));

const sizes = { dtype: "float64", seed: 1, numKvHeads: 1, rope: new Rope() } as const;

describe("a block over ranks", () => {
  it.each([
    ["an encoder block", 2, "ring", () => new EncoderBlock(8, 2, { ...sizes, normFirst: true })],
    ["a decoder block", 3, "gather", () => new DecoderBlock(8, 2, sizes)],
  ] as const)("%s on %i ranks by %s: output and gradients", async (_, ranks, via, build) => {
    const [x, block] = [wave(2, N, 8), build()];
    const parameters = [...block.parameters().values()];
    const tape = new Tape();
    const output = tape.run(() => block.forward(x).output);
    const expected = tape.gradients(
      tape.run(() => sum(square(output))),
      [x, ...parameters],
    );
    const plan = shardSequence({ length: N, ranks, isCausal: true });
    await localCluster(
      ranks,
      async (comm) => {
        const rows = plan.take(comm.rank, x);
        const shard = new ContextTape(comm, plan, { via });
        const mine = (await block.forwardOver(shard, rows)).output;
        expect(worst(mine.toFloat64(), plan.take(comm.rank, output).toFloat64())).toBeLessThan(1e-12);
        const loss = shard.run(() => sum(square(mine)));
        const gradients = await shard.gradientsAsync(loss, [rows, ...parameters]);
        const dx = plan.take(comm.rank, expected.get(x) as Tensor).toFloat64();
        expect(worst((gradients.get(rows) as Tensor).toFloat64(), dx)).toBeLessThan(1e-11);
        for (const parameter of parameters) {
          const total = (gradients.get(parameter) as Tensor).toFloat64();
          await comm.reduce(total);
          expect(worst(total, (expected.get(parameter) as Tensor).toFloat64())).toBeLessThan(1e-10);
        }
      },
      { check: true },
    );
  });

  it("gradients of a mask and of sinks count once", async () => {
    const [q, k, v] = [wave(1, 2, N, 4), wave(1, 2, N, 4), wave(1, 2, N, 4)];
    const [attnMask, sinks] = [wave(N, N), wave(2)];
    const options = { attnMask, sinks, isCausal: true };
    const tape = new Tape();
    const loss = tape.run(() => sum(square(scaledDotProductAttention(q, k, v, options).output)));
    const expected = tape.gradients(loss, [attnMask, sinks]);
    const plan = shardSequence({ length: N, ranks: 2, isCausal: true });
    await localCluster(2, async (comm) => {
      const shard = new ContextTape(comm, plan);
      const [query, key, value] = [q, k, v].map((t) => plan.take(comm.rank, t) as typeof q);
      const { output } = await shard.attend(query, key, value, options);
      const gradients = await shard.gradientsAsync(
        shard.run(() => sum(square(output))),
        [attnMask, sinks],
      );
      for (const t of [attnMask, sinks]) {
        const total = gradients.get(t)?.toFloat64() ?? new Float64Array(t.size);
        await comm.reduce(total);
        expect(worst(total, (expected.get(t) as Tensor).toFloat64())).toBeLessThan(1e-12);
      }
    });
  });

  it("its tape has no gradients without messages, and says which call has them", async () => {
    const plan = shardSequence({ length: N, ranks: 1 });
    const x = wave(1, 1, N, 4);
    await localCluster(1, async (comm) => {
      const shard = new ContextTape(comm, plan);
      const { output } = await shard.attend(x, x, x);
      const loss = shard.run(() => sum(output));
      expect(() => shard.gradients(loss, [x])).toThrow(/use await tape\.gradientsAsync\(loss, wanted\)/);
    });
    const refused = { code: "shard", message: /shard must be a ContextTape of heed\/train, got undefined/ };
    const model = newModel().model as { forwardOver(shard: unknown, ids: unknown): Promise<unknown> };
    await expect(new EncoderBlock(8, 2).forwardOver(undefined as never, x)).rejects.toThrow(refused.message);
    await expect(model.forwardOver(undefined, [1])).rejects.toMatchObject({ code: refused.code });
    expect(() => new ContextTape({} as never, plan)).toThrow(/ContextTape: comm must be what joinCluster/);
    const block = new DecoderBlock(8, 2, { crossAttention: true });
    await expect(block.forwardOver({} as never, wave(1, N, 8))).rejects.toThrow(/a memory .* is missing/);
  });
});

const ids = Int32Array.from({ length: 600 }, (_, n) => (n * n * 7 + n) % 17);
const windows = new Windows(ids, [{ start: 0, end: ids.length }], { window: 10, seed: 3 });
const batchOf = (n: number): Batch => {
  const batch = nextTokenBatch([windows.sequence(2 * n), windows.sequence(2 * n + 1)]);
  // The last tokens do not count: on three ranks one has no target.
  const data = batch.targets.data.map((id, at) => (at % 9 === 1 || at % 9 === 7 ? -100 : id));
  return { ...batch, targets: new Tensor(data, batch.targets.shape, "int32"), count: 14 };
};
const newModel = (change: object = {}) =>
  languageModel("decoder", {
    vocabulary: 17,
    context: 9,
    layers: 2,
    heads: 2,
    width: 8,
    seed: 1,
    dtype: "float64",
    ...change,
  });

const newEncoder = (change: object = {}) =>
  languageModel("encoder", {
    vocabulary: 17,
    context: 9,
    layers: 2,
    heads: 2,
    width: 8,
    seed: 1,
    dtype: "float64",
    ...change,
  });

async function run(change: Partial<TrainOptions<Batch>> = {}) {
  const model = change.model ?? newModel();
  const heldOut = { batches: [batchOf(100), batchOf(101)], every: 2 };
  const data = (step: number) => [0, 1, 2, 3].map((m) => batchOf(4 * step + m));
  const result = await train({ data, steps: 3, heldOut, ...change, model });
  return {
    losses: [...result.losses, ...result.heldOut.map(([, loss]) => loss)],
    weights: [...model.parameters().values()].map(({ data }) => data as Float32Array),
  };
}

describe("dropout over ranks", () => {
  const bits = ({ data }: Tensor) => [...new Uint32Array((data as Float32Array).buffer)];

  it("each rank drops what one process drops of its rows, bit for bit, forward and backward", async () => {
    // More than 2^16 elements, and rows across that place; with and without a batch.
    for (const shape of [
      [2, 331, 111],
      [701, 97],
    ] as const) {
      const [x, N] = [cast(wave(...shape), "float32"), shape[shape.length - 2]];
      const tape = new Tape();
      const pass = () => layerDropout(layerDropout(x, 0.3), 0.2);
      const y = withDropout(7, () => tape.run(pass));
      const expected = tape.gradients(tape.run(() => sum(square(y))), [x]).get(x) as Tensor; // biome-ignore format: a line
      for (const ranks of [1, 2, 5]) {
        const plan = shardSequence({ length: N, ranks, isCausal: true });
        await localCluster(ranks, async (comm) => {
          const rows = plan.take(comm.rank, x);
          const shard = new ContextTape(comm, plan, { dropoutSeed: 7 });
          const mine = shard.run(() => layerDropout(rows, 0.3));
          const twice = shard.run(() => layerDropout(mine, 0.2));
          expect(bits(twice)).toEqual(bits(plan.take(comm.rank, y)));
          const gradients = await shard.gradientsAsync(shard.run(() => sum(square(twice))), [rows]); // biome-ignore format: a line
          expect(bits(gradients.get(rows) as Tensor)).toEqual(bits(plan.take(comm.rank, expected)));
        });
      }
    }
  });

  it("a block drops what it drops in one process, in attention too", async () => {
    const [x, block] = [wave(2, N, 8), new DecoderBlock(8, 2, { ...sizes, dropoutP: 0.3 })];
    const output = withDropout(5, () => block.forward(x).output);
    const plan = shardSequence({ length: N, ranks: 3, isCausal: true });
    await localCluster(3, async (comm) => {
      const shard = new ContextTape(comm, plan, { dropoutSeed: 5 });
      const mine = (await block.forwardOver(shard, plan.take(comm.rank, x))).output;
      expect(worst(mine.toFloat64(), plan.take(comm.rank, output).toFloat64())).toBeLessThan(1e-12);
      const without = new ContextTape(comm, plan);
      expect(() => withDropout(5, () => without.run(() => mine))).toThrow(/give the seed to the tape/);
      expect(() => new ContextTape(comm, plan, { dropoutSeed: 0.5 })).toThrow(
        "ContextTape: dropoutSeed must be an integer below 2^53, got 0.5",
      );
    });
  });
});

describe("an encoder over ranks", () => {
  it("has the states of one process, and refuses positions that a rank cannot know", async () => {
    const ids = [3, 5, 2, 7, 1, 1, 6, 4, 0];
    const typeIds = [0, 0, 0, 1, 1, 1, 1, 1, 0];
    const { model } = newEncoder();
    const states = model.hidden(ids, { typeIds });
    const plan = shardSequence({ length: ids.length, ranks: 3 });
    await localCluster(3, async (comm) => {
      const tape = new ContextTape(comm, plan);
      const at = (list: number[]) => Array.from(tape.positions, (n) => list[n]);
      const mine = await model.hiddenOver(tape, at(ids), { typeIds: at(typeIds) });
      expect(worst(mine.toFloat64(), plan.take(comm.rank, states).toFloat64())).toBeLessThan(1e-12);
      const roberta = new Encoder({ ...model.recipe, position_rows: 12, pad_token_id: 1 });
      await expect(roberta.hiddenOver(tape, at(ids))).rejects.toThrow(
        /ranks cannot share a sequence of this model: it has positions that are counted/,
      );
    });
  });
});

describe("train with sequenceRanks", () => {
  it.each([
    ["a decoder", () => newModel()],
    ["a decoder with dropout", () => newModel({ dropout: 0.3 })],
    ["an encoder with dropout", () => newEncoder({ dropout: 0.3 })],
  ])(
    "%s has the losses and weights of one process, up to rounding, and the same bits for any number of ranks",
    async (_, model) => {
      const alone = await run({ model: model() });
      for (const sequenceRanks of [2, 3]) {
        const one = await localCluster(
          sequenceRanks,
          (comm) => run({ comm, sequenceRanks, model: model() }),
          { check: true },
        );
        for (const { losses, weights } of one) {
          expect(losses).toHaveLength(5);
          expect(worst(losses, alone.losses)).toBeLessThan(1e-12);
          weights.forEach((w, n) => {
            expect(worst(w, alone.weights[n])).toBeLessThan(1e-9);
          });
        }
        const twice = await localCluster(2 * sequenceRanks, (comm) =>
          run({ comm, sequenceRanks, model: model() }),
        );
        for (const result of twice) expect(result).toEqual(one[0]);
      }
    },
  );

  it("has its results in memory that later steps reuse, which no scope between two parts of a step frees", async () => {
    use(LEVELS.find((level) => level !== "reference") ?? "reference", 1);
    const float32 = () => newModel({ dtype: "float32" });
    const expected = await localCluster(2, (comm) => run({ comm, sequenceRanks: 2, model: float32() }));
    const losses: Tensor[] = [];
    const arrays: ArrayBufferView[] = [];
    const result = await localCluster(2, async (comm) => {
      const model = float32();
      const lossOver: typeof model.lossOver = async (tapeOf, batch) => {
        const part = await model.lossOver!(tapeOf, batch);
        losses.push(part.loss);
        arrays.push(part.loss.data);
        // Takes memory and writes it, as another program between two parts may.
        tidy(() => ones([2, 70_000]));
        return part;
      };
      return run({ comm, sequenceRanks: 2, model: { ...model, lossOver } });
    });
    expect(result).toEqual(expected);
    for (const loss of losses) expect(() => loss.data).toThrow(/this tensor was disposed/);
    // One of the two ranks in this process has the engine's memory, at the same places in each step.
    const places = arrays.filter(({ buffer }) => buffer === getEngine()?.memory.memory.buffer);
    expect(places.length).toBe(losses.length / 2);
    expect(new Set(places.map(({ byteOffset }) => byteOffset)).size).toBeLessThan(places.length / 2);
    restore();
  });

  it("refuses what ranks cannot share", async () => {
    const over = (ranks: number, change: Partial<TrainOptions<Batch>>) =>
      localCluster(ranks, (comm) => run({ comm, ...change }));
    await expect(run({ sequenceRanks: 2 })).rejects.toThrow(
      "train: sequenceRanks must be a divisor of the 1 ranks of comm, got 2",
    );
    await expect(over(2, { sequenceRanks: 3 })).rejects.toThrow(OptionError);
    await expect(over(2, { sequenceRanks: 0 })).rejects.toThrow(OptionError);
    const { lossOver: _, ...model } = newModel();
    await expect(over(2, { sequenceRanks: 2, model })).rejects.toThrow(/model must be one with lossOver/);
    await expect(over(10, { sequenceRanks: 10 })).rejects.toThrow(
      "10 ranks cannot share a sequence of 9 tokens; each needs at least one",
    );
  });
});
