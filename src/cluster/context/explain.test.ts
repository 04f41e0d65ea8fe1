/** The plan of attention over shards agrees with a run. */
import { afterEach, describe, expect, it } from "vitest";
import { causal, configure, documents, explain, OptionError, randn, ShapeError, zeros } from "../../index.ts";
import {
  contextAttention,
  contextAttentionBackward,
  explainContext,
  localCluster,
  shardSequence,
} from "../index.ts";

const before = configure();
afterEach(() => configure(before));

const [ranks, N, H, d] = [3, 96, 2, 8];
const [q, k, v] = [1, 2, 3].map((seed) => randn([1, H, N, d], { seed }));

describe("explainContext", () => {
  for (const via of ["gather", "ring"] as const)
    it(`counts the bytes that a rank sends in a call via ${via}`, async () => {
      const shards = shardSequence({ length: N, ranks, isCausal: true });
      const plan = explainContext(shards, q, k, v, { isCausal: true, via });
      const sent = await localCluster(ranks, async (comm) => {
        const [query, key, value] = [q, k, v].map((t) => shards.take(comm.rank, t));
        const start = comm.sent.bytes;
        await contextAttention(comm, shards, query, key, value, { isCausal: true, via });
        return comm.sent.bytes - start;
      });
      const mean = sent.reduce((sum, n) => sum + n, 0) / ranks;
      // Ranks also compare their arguments, in a few hundred bytes.
      expect(mean).toBeGreaterThanOrEqual(plan.bytes.forward);
      expect(mean).toBeLessThan(plan.bytes.forward + 4096);
    });

  it("has the operations and the weights of the single call, and the share of each rank", () => {
    for (const pass of ["forward", "backward"] as const) {
      const plan = explainContext(4, q, k, v, { isCausal: true, pass });
      const single = explain(q, k, v, { isCausal: true, pass });
      expect(plan.operations).toBe(single.operations);
      expect(plan.weightsBytes).toBe(4 * H * N * N);
      expect(plan.slowest.plan.operation).toBe(pass);
      expect(plan.shares.reduce((sum, x) => sum + x, 0)).toBeCloseTo(1, 12);
      expect(plan.tiles[plan.slowest.rank]).toBe(Math.max(...plan.tiles));
    }
  });

  it("plans the local call that the slowest rank makes", () => {
    const ids = Int32Array.from({ length: N }, (_, n) => Math.floor(n / 30));
    const shards = shardSequence({ length: N, ranks, attnMask: documents(ids) });
    const { slowest } = explainContext(shards, q, k, v, { attnMask: documents(ids) });
    const local = explain(shards.take(slowest.rank, q), k, v, {
      attnMask: documents(ids),
      queryPositions: shards.positions(slowest.rank),
    });
    for (const name of ["tasks", "tiles", "rowTile", "keyTile", "operations", "weightsBytes"] as const)
      expect(slowest.plan[name], name).toEqual(local[name]);
  });

  it("of a ring has one call per rank, over two shards of keys", () => {
    const plan = explainContext(ranks, q, k, v, { isCausal: true, via: "ring" });
    expect(plan.slowest.calls).toBe(ranks);
    expect(plan.slowest.plan.weightsBytes).toBe((4 * H * N * N) / ranks ** 2);
    expect(plan.bytes.ring).toBe((2 * 4 * 2 * H * N * d) / ranks);
  });

  it("needs no memory for its operands, whatever their length", () => {
    const long = { data: new Float32Array(1), shape: [1, 12, 2 ** 20, 64], strides: [0, 0, 0, 0] };
    const plan = explainContext(64, long, long, long, { isCausal: true });
    expect(plan.via).toBe("ring");
    expect(plan.weightsBytes).toBe(4 * 12 * 2 ** 40);
  });

  it("prints the positions of each rank, the bytes sent and the slowest rank's call; JSON has the same data", () => {
    const plan = explainContext(2, q, k, v, { isCausal: true, pass: "backward" });
    const text = String(plan);
    for (const word of [
      "zigzag",
      "rank 1 ",
      "operations (backward)",
      "not stored",
      "via gather",
      "  threads",
    ])
      expect(text).toContain(word);
    expect(JSON.parse(JSON.stringify(plan))).toMatchObject({ pass: "backward", via: "gather" });
  });

  it("gives the same plan in both layouts", () => {
    const turned = zeros([1, N, H, d]);
    const plan = explainContext(2, turned, turned, turned, { layout: "bshd", attnMask: causal() });
    expect(String(plan)).toBe(String(explainContext(2, q, k, v, { attnMask: causal() })));
  });

  it("refuses a plan of another length, a rectangle, and options it does not know", () => {
    const shards = shardSequence({ length: N + 1, ranks });
    expect(() => explainContext(shards, q, k, v)).toThrow(ShapeError);
    expect(() => explainContext(2, zeros([H, 5, d]), k, v)).toThrow(
      /sharded with itself; got 5 queries and 96/,
    );
    expect(() => explainContext(0, q, k, v)).toThrow(OptionError);
    expect(() => explainContext(2, q, k, v, { queries: "replicated" } as object)).toThrow(
      /unknown option "queries"/,
    );
    expect(() => explainContext(2, q, k, v, { pass: "both" } as object)).toThrow(/pass must be "forward" or/);
    expect(() => explainContext(2, q, k, v, { isCausal: "no" } as object)).toThrow(
      /isCausal must be true or/,
    );
    expect(() => explainContext(2, q, k, v, { memory: -1 })).toThrow(/memory must be a number of bytes ≥ 0/);
  });
});

it.each(["gather", "ring"] as const)("the backward pass via %s sends what the plan says", async (via) => {
  const shards = shardSequence({ length: N, ranks, isCausal: true });
  const options = { isCausal: true, via };
  const plan = explainContext(shards, q, k, v, options);
  const sent = await localCluster(ranks, async (comm) => {
    const [query, key, value] = [q, k, v].map((t) => shards.take(comm.rank, t));
    const state = await contextAttention(comm, shards, query, key, value, options);
    const start = comm.sent.bytes;
    await contextAttentionBackward(comm, shards, query, query, key, value, state, options);
    return comm.sent.bytes - start;
  });
  const mean = sent.reduce((sum, n) => sum + n, 0) / ranks;
  expect(mean).toBeGreaterThanOrEqual(plan.bytes.backward);
  expect(mean).toBeLessThan(plan.bytes.backward + 4096);
});
