/** Groups of ranks: `split`. */
import { expect, it } from "vitest";
import { OptionError } from "../../core/errors.ts";
import { localCluster } from "../index.ts";

// The first test, because those below wait for ever where messages go to other ranks.
it("an exchange of a group is one between its members", async () => {
  const ranks = await localCluster(4, async (comm) => {
    const group = await comm.split(comm.rank % 2);
    const calls: (number | undefined)[][] = [];
    const recorded = Object.assign(comm, {
      exchange: async (...[to, , from]: Parameters<typeof comm.exchange>) => void calls.push([to, from]),
    });
    await group.exchange(1 - group.rank, new Uint8Array(1), 1 - group.rank, new Uint8Array(1));
    await group.exchange(undefined, new Uint8Array(0), 1 - group.rank, new Uint8Array(1));
    return recorded === comm && calls;
  });
  expect(ranks).toEqual(
    [2, 3, 0, 1].map((other) => [
      [other, other],
      [undefined, other],
    ]),
  );
});

it.each([false, true])(
  "ranks of one color form a group, in the order of their keys (checked: %s)",
  async (check) => {
    // A grid of 2 × 3 ranks, each row in the reverse order, and a group of a group.
    const results = await localCluster(
      6,
      async (comm) => {
        const row = await comm.split(Math.floor(comm.rank / 3), -comm.rank);
        const column = await comm.split(comm.rank % 3);
        const ranks = new Float64Array(row.size);
        await row.allGather(Float64Array.of(comm.rank), ranks);
        const sum = Float32Array.of(2 ** comm.rank);
        await column.reduce(sum);
        await row.barrier();
        const pair = await row.split(row.rank === 1 ? 1 : 0);
        const into = new Uint8Array(pair.size);
        await pair.allGather(Uint8Array.of(comm.rank), into);
        await column.close();
        const sent = { ...column.sent };
        await comm.barrier();
        return { ranks: [...ranks], sum: sum[0], pair: [...into], sent };
      },
      { check },
    );
    expect(results.map(({ ranks }) => ranks)).toEqual([
      ...Array(3).fill([2, 1, 0]),
      ...Array(3).fill([5, 4, 3]),
    ]);
    expect(results.map(({ sum }) => sum)).toEqual([9, 18, 36, 9, 18, 36]);
    expect(results.map(({ pair }) => pair)).toEqual([[2, 0], [1], [2, 0], [5, 3], [4], [5, 3]]);
    // A group counts its own messages: one number in two halves, and the barrier of close().
    expect(results[0].sent).toEqual({ messages: 3, bytes: 4 });
  },
);

it("a sum in a group has the bits of a cluster of as many ranks", async () => {
  const numbers = (n: number) =>
    Float32Array.from({ length: 9 }, (_, i) => Math.sin(7 * i + n) * 10 ** (n % 4));
  const sums = await localCluster(6, async (comm) => {
    const sum = numbers(Math.floor(comm.rank / 2));
    await (await comm.split(comm.rank % 2)).reduce(sum);
    return [...sum];
  });
  const expected = await localCluster(3, async (comm) => {
    const sum = numbers(comm.rank);
    await comm.reduce(sum);
    return [...sum];
  });
  for (const sum of sums) expect(sum).toEqual(expected[0]);
});

it.each<[string, number, number | undefined, string]>([
  ["color", -1, undefined, "split: color must be an integer ≥ 0, the same for all ranks of a group, got -1"],
  ["color", undefined as never, 0, "got undefined"],
  ["key", 0, 0.5, "split: key must be an integer, got 0.5"],
])("a %s of %s is an error on every rank", async (_, color, key, message) => {
  const errors: unknown[] = [];
  const run = localCluster(3, async (comm) => {
    try {
      await comm.split(comm.rank === 1 ? color : 0, comm.rank === 1 ? key : 0);
    } catch (error) {
      errors.push(error);
    }
  });
  await run;
  expect(errors).toHaveLength(3);
  for (const error of errors) expect((error as Error).message).toContain(message);
  expect(errors.filter((error) => error instanceof OptionError)).toHaveLength(1);
});

it("a call that differs within a group is an error that names both", async () => {
  const run = localCluster(
    4,
    async (comm) => {
      const group = await comm.split(comm.rank % 2);
      await (comm.rank === 3 ? group.barrier() : group.reduce(new Float64Array(2)));
    },
    { check: true },
  );
  await expect(run).rejects.toThrow(/rank \d calls exchange.*but rank \d calls exchange/);
});
