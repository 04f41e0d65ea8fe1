/** Plans of shards that are wrong or empty, and calls over shards whose arguments do not fit. */
import { expect, it, test } from "vitest";
import { documents, randn, type Tensor, zeros } from "../../index.ts";
import { broadcast } from "../communicator/moves.ts";
import type { ContextBackwardOptions } from "../index.ts";
import {
  contextAttention,
  contextAttentionBackward,
  explainContext,
  localCluster,
  ShardPlan,
  shardSequence,
} from "../index.ts";

const N = 8;
const halves = [[[0, 4]], [[4, 8]]] as const;

it.each([
  [[-1, "zigzag", halves, [1, 1]], "length must be an integer ≥ 0, got -1"],
  [[N, "stripes", halves, [1, 1]], 'kind must be "contiguous", "zigzag" or "dealt", got "stripes"'],
  [
    [N, "dealt", [[[0, 4]], [[5, 8]]], [1, 1]],
    "ranges must be [from, to) that hold each of 8 positions once",
  ],
  [
    [N, "dealt", [[[0, 5]], [[4, 8]]], [1, 1]],
    "ranges must be [from, to) that hold each of 8 positions once",
  ],
  [
    [N, "dealt", [[[4, 0]], [[0, 8]]], [1, 1]],
    "ranges must be [from, to) that hold each of 8 positions once",
  ],
  [[N, "dealt", [[[0, 4]]], [1]], "ranges must be [from, to) that hold each of 8 positions once"],
  [[N, "dealt", halves, [1]], "costs must be one number for each of 2 ranks"],
] as const)("a plan that is none is refused: %#", (args, message) => {
  expect(() => new ShardPlan(...(args as unknown as ConstructorParameters<typeof ShardPlan>))).toThrow(
    message,
  );
});

test("a plan refuses ranks, axes and lengths that it has not, and takes rows along any axis", () => {
  const plan = shardSequence({ length: N, ranks: 2, isCausal: true });
  for (const rank of [2, -1, 0.5])
    expect(() => plan.ranges(rank)).toThrow("rank must be an integer from 0 to 1");
  const x = randn([2, N, 3], { seed: 1 });
  expect([...plan.take(1, x, 1).toFloat64()]).toEqual([...plan.take(1, x).toFloat64()]);
  expect(() => plan.take(0, x, 0.5)).toThrow("ShardPlan.take: axis must be an integer, got 0.5");
  for (const axis of [0, -1, 3, -4])
    expect(() => plan.take(0, x, axis)).toThrow(`axis ${axis} must have the 8 positions of the plan, got`);
  expect(() => plan.extend(7)).toThrow("ShardPlan.extend: length must be an integer ≥ 8, got 7");
  const longer = plan.extend(11);
  expect([longer.size(0), longer.size(1)].sort()).toEqual([5, 6]);
  for (const rank of [0, 1])
    expect([...longer.positions(rank)]).toEqual(expect.arrayContaining([...plan.positions(rank)]));
});

test("an empty sequence is equal work, and ranks without positions hold nothing", () => {
  const empty = shardSequence({ length: 0, ranks: 2 });
  const x = zeros([1, 1, 0, 4]);
  expect([empty.imbalance, empty.size(0), explainContext(empty, x, x, x).shares]).toEqual([1, 0, [0.5, 0.5]]);
  expect(`${shardSequence({ length: 1, ranks: 2 })}`).toMatch(/rank \d {2}nothing {2}\(0 tokens, 0 tiles\)/);
  expect(shardSequence({ length: 0, ranks: 2 }).positions(1)).toHaveLength(0);
  // Every second row: more ranges than a line has.
  const rows = (first: number) => Array.from({ length: 8 }, (_, n) => [2 * n + first, 2 * n + first + 1]);
  const stripes = new ShardPlan(16, "dealt", [rows(0), rows(1)] as never, [1, 1]);
  expect(`${stripes}`).toContain("10–10, and 2 more  (8 tokens, 1 tiles)");
  expect(`${shardSequence({ length: N, ranks: 1 })}`).toMatch(/^contiguous, 8 tokens over 1 rank, /);
});

test("work under a mask that differs between batch entries is that of all entries", () => {
  const ids = [
    [0, 0, 0, 0, 1, 1, 1, 1],
    [0, 0, 0, 0, 0, 0, 0, 0],
  ];
  const total = ({ costs }: ShardPlan) => costs.reduce((a, b) => a + b);
  const [each, both] = [ids.map((row) => [row]), [ids]].map((masks) =>
    masks.map((rows) =>
      total(
        shardSequence({
          length: N,
          ranks: 2,
          attnMask: documents(rows as number[][]),
          batch: rows.length,
          heads: 3,
        }),
      ),
    ),
  );
  expect(both[0]).toBeCloseTo(each[0] + each[1], 10);
});

const plan = shardSequence({ length: N, ranks: 2 });
const rows = (seed: number): Tensor => randn([1, 2, N, 4], { seed });

/** The errors of two ranks in a backward pass. */
const errorsOf = (
  change: (good: { output: ReturnType<typeof rows>; lse: ReturnType<typeof rows> }) => {
    dOutput?: unknown;
    state?: unknown;
    options?: ContextBackwardOptions;
  },
) =>
  localCluster(2, async (comm) => {
    const [q, k, v] = [1, 2, 3].map((seed) => plan.take(comm.rank, rows(seed)));
    const state = await contextAttention(comm, plan, q, k, v);
    const { dOutput = q, options, ...rest } = change(state as never);
    const other = "state" in rest ? rest.state : state;
    return contextAttentionBackward(comm, plan, dOutput as never, q, k, v, other as never, options).then(
      () => undefined,
      (error: Error) => error.message,
    );
  });

it.each([
  [
    () => ({ dOutput: zeros([1, 2, 3, 4]) }),
    "dOutput must have the shape of this rank's output, [1, 2, 4, 4], got",
  ],
  [
    ({ lse }) => ({ state: { output: zeros([1, 2, 4, 5]), lse } }),
    "output must have the shape of this rank's output",
  ],
  [({ output }) => ({ state: { output, lse: zeros([1, 2, 5]) } }), "lse must be [1, 2, 4] float32, got"],
  [
    ({ output }) => ({ state: { output, lse: zeros([1, 2, 4], "float64") } }),
    "lse must be [1, 2, 4] float32, got",
  ],
  [() => ({ state: null }), "state must be what contextAttention returned, got null"],
  [() => ({ options: { wanted: "sinks" as never } }), 'wanted takes a list of "mask", "sinks", "tables"'],
  [() => ({ options: { wanted: ["dQuery"] as never } }), 'wanted takes a list of "mask", "sinks", "tables"'],
  [() => ({ options: { queries: "replicated" } }), "replicated queries have no backward pass; shard them"],
  [() => ({ options: { layout: "bshd" } }), "must hold the 4 positions that the plan gives rank"],
  [() => ({}), undefined],
] as [Parameters<typeof errorsOf>[0], string | undefined][])(
  "a backward pass over shards with other arguments is an error on all ranks: %#",
  async (change, message) => {
    for (const text of await errorsOf(change))
      if (message === undefined) expect(text).toBeUndefined();
      else expect(text).toContain(message);
  },
);

test("the backward pass in the other layout has the same gradients", async () => {
  const turned = (t: Tensor) => t.transpose(1, 2).contiguous();
  await localCluster(2, async (comm) => {
    const [q, k, v, d] = [1, 2, 3, 4].map((seed) => plan.take(comm.rank, rows(seed)));
    const [state, other] = [
      await contextAttention(comm, plan, q, k, v),
      await contextAttention(comm, plan, turned(q), turned(k), turned(v), { layout: "bshd" }),
    ];
    const gradients = await contextAttentionBackward(comm, plan, d, q, k, v, state);
    const others = await contextAttentionBackward(
      comm,
      plan,
      turned(d),
      turned(q),
      turned(k),
      turned(v),
      other,
      { layout: "bshd" },
    );
    for (const name of ["dQuery", "dKey", "dValue"] as const)
      expect([...turned(others[name]).toFloat64()]).toEqual([...gradients[name].toFloat64()]);
    await expect(
      contextAttentionBackward(comm, plan, d, turned(q), turned(k), turned(v), other, { layout: "bshd" }),
    ).rejects.toThrow(/\[1, 2, 4, 4\] in layout bhsd/);
  });
});

test("queries that all ranks have are the last positions, or those that are given", async () => {
  const q = randn([1, 2, 2, 4], { seed: 9 });
  await localCluster(2, async (comm) => {
    const [k, v] = [2, 3].map((seed) => plan.take(comm.rank, rows(seed)));
    const run = (query: Tensor, options = {}) =>
      contextAttention(comm, plan, query, k, v, { queries: "replicated", isCausal: true, ...options });
    const [last, listed] = [await run(q), await run(q, { queryPositions: [6, 7] })];
    expect([...listed.output.toFloat64()]).toEqual([...last.output.toFloat64()]);
    const first = await run(q, { queryPositions: [0, 1] });
    expect([...first.output.toFloat64()]).not.toEqual([...last.output.toFloat64()]);
    await expect(run(randn([1, 2, 9, 4], { seed: 1 }))).rejects.toThrow(
      "9 replicated queries are more than the 8 positions of the plan; give queryPositions",
    );
    await expect(run(q, { via: "ring" })).rejects.toThrow(/ring/);
    await expect(contextAttention(comm, plan, k, k, v, { queryPositions: [0] })).rejects.toThrow(
      'queryPositions belongs to queries: "replicated"',
    );
  });
});

test("an engine's own broadcast is called where there are more than two ranks", async () => {
  const sent: unknown[] = [];
  const engine = {
    rank: 0,
    size: 3,
    exchange: async () => {},
    broadcast: async (...args: unknown[]) => void sent.push(args),
  };
  const data = Float32Array.of(1);
  await broadcast(engine, data, 2);
  expect(sent).toEqual([[data, 2]]);
});
