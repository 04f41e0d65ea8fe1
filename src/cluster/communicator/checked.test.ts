/** The check of every call: right programs run as without it, and calls that differ are an error that names both. */
import { describe, expect, it } from "vitest";
import { HeedError } from "../../core/errors.ts";
import { type Communicator, joinCluster, localCluster } from "../index.ts";
import { checked } from "./checked.ts";

const NOTHING = new Uint8Array(0);

/** Every operation once; the bits of the sum and what was sent. */
async function program(comm: Communicator) {
  const { rank, size } = comm;
  const [next, previous] = [(rank + 1) % size, (rank - 1 + size) % size];
  const into = new Uint8Array(3 * (previous + 1));
  // Two that overlap, of other lengths.
  const both = [
    comm.exchange(next, new Uint8Array(3 * (rank + 1)).fill(rank), previous, into),
    comm.exchange(next, NOTHING, previous, NOTHING),
  ];
  const all = new Float64Array(size);
  await Promise.all([...both, comm.allGather(Float64Array.of(rank), all)]);
  const sum = Float32Array.from({ length: 9 }, (_, n) => Math.sin(n + rank));
  await comm.reduce(sum);
  await comm.barrier();
  const sent = { ...comm.sent };
  await comm.close();
  return { into: [...into], all: [...all], sum: [...sum], sent };
}

describe("with every call checked", () => {
  it.each([1, 2, 3, 4])(
    "%i ranks have the numbers, messages and bytes of an unchecked cluster",
    async (size) => {
      const results = await localCluster(size, program, { check: true });
      expect(results).toEqual(await localCluster(size, program));
    },
  );

  it("the engine says so", async () => {
    expect(await localCluster(1, ({ engine }) => engine, { check: true })).toEqual([
      "local, every call checked",
    ]);
  });

  it.each<[string, (comm: Communicator) => Promise<void>, RegExp]>([
    [
      "an exchange and a barrier",
      (comm) =>
        comm.rank === 0 ? comm.exchange(1, new Uint8Array(8), 1, new Uint8Array(8)) : comm.barrier(),
      /rank \d calls (barrier|exchange of 8 bytes) \(call 1 between the two\), but rank \d calls (barrier|exchange of 8 bytes)/,
    ],
    [
      "exchanges of other lengths",
      (comm) => comm.exchange(1 - comm.rank, new Uint8Array(8), 1 - comm.rank, new Uint8Array(8 + comm.rank)),
      /rank 0 calls exchange of 8 bytes \(call 1 between the two\), but rank 1 calls exchange of 9 bytes/,
    ],
    [
      "sums of other dtypes and as many bytes",
      (comm) => comm.reduce(comm.rank === 0 ? new Float64Array(2) : new Float32Array(4)),
      /rank \d calls reduce of 16 bytes .*, with other arguments; every rank must make the same calls/,
    ],
    [
      "sums in other orders",
      (comm) => comm.reduce(new Float64Array(2), comm.rank === 0 ? "fast" : "fixed"),
      /with other arguments/,
    ],
    [
      "gathers of other parts",
      (comm) => comm.allGather(new Uint8Array(2), new Uint8Array(5), comm.rank === 0 ? [2, 3] : [3, 2]),
      /with other arguments|parts are 3 \+ 2/,
    ],
  ])("%s are an error that names both", async (_, call, message) => {
    await expect(localCluster(2, call, { check: true })).rejects.toThrow(message);
    await expect(localCluster(2, call, { check: true })).rejects.toThrow(HeedError);
  });

  it.each<[string, (send: ArrayBufferView, call: number) => readonly ArrayBufferView[], RegExp]>([
    [
      "doubled",
      (send, call) => (call === 1 ? [send, send] : [send]),
      /call 1 between|exchange of 40 bytes|sent \d+ bytes/,
    ],
    [
      "lost",
      (send, call) => (call === 1 ? [] : [send]),
      /sent \d+ bytes, but rank \d expected \d+|call 2 between/,
    ],
    [
      "damaged",
      (send, call) => {
        const copy = new Uint8Array(send.buffer, send.byteOffset, send.byteLength).slice();
        if (call === 1) copy[0] ^= 1;
        return [copy];
      },
      /8 bytes from rank \d did not arrive at rank \d as they were sent/,
    ],
  ])("a message that is %s is an error", async (_, deliver, message) => {
    const run = localCluster(2, async (comm) => {
      let calls = 0;
      const faulty: Communicator = Object.assign(Object.create(comm), {
        rank: comm.rank,
        size: comm.size,
        exchange: async (...[to, send, from, into]: Parameters<Communicator["exchange"]>) => {
          const copies = comm.rank === 0 && to !== undefined ? deliver(send, calls++) : [send];
          const [first, ...more] = copies;
          const sent = more.map((one) => comm.exchange(to, one, undefined, NOTHING));
          await comm.exchange(first ? to : undefined, first ?? NOTHING, from, into);
          await Promise.all(sent);
        },
      });
      const tested = checked(faulty);
      for (let n = 0; n < 4; n++)
        await tested.exchange(
          1 - comm.rank,
          Float64Array.of(n + comm.rank),
          1 - comm.rank,
          new Float64Array(1),
        );
    });
    await expect(run).rejects.toThrow(message);
  });

  it("check must be a boolean", async () => {
    await expect(localCluster(2, () => 0, { check: 1 as never })).rejects.toThrow(
      "localCluster: check must be true or false, got 1",
    );
    await expect(joinCluster({ check: "yes" as never })).rejects.toThrow(
      'joinCluster: check must be true or false, got "yes"',
    );
  });
});
