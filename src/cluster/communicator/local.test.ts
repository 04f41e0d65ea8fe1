/** Ranks inside one process, and the operations that are built from `exchange`. */
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { at } from "../../../tools/setup.mjs";
import { HeedError, OptionError } from "../../core/errors.ts";
import { VERSION } from "../../core/version.ts";
import { type Communicator, joinCluster, launchOf, localCluster, shardSequence } from "../index.ts";
import { singleRank } from "./local.ts";
import { allToAll, broadcast } from "./moves.ts";
import { reduceFixed } from "./reduce.ts";

const F32 = new Float32Array(1);

describe("localCluster", () => {
  it("gives every rank its number and collects their results", async () => {
    expect(await localCluster(3, ({ rank, size }) => `${rank}/${size}`)).toEqual(["0/3", "1/3", "2/3"]);
    await expect(localCluster(0, () => 0)).rejects.toThrow(OptionError);
  });

  it("exchange moves arrays around a ring, and counts messages and bytes", () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 40 }), async (size, n) => {
        const got = await localCluster(size, async (comm) => {
          const into = new Float32Array(n);
          const [next, previous] = [(comm.rank + 1) % size, (comm.rank - 1 + size) % size];
          await comm.exchange(next, new Float32Array(n).fill(comm.rank), previous, into);
          expect(comm.sent).toEqual({ messages: 1, bytes: 4 * n });
          return [...into].every((x) => x === previous);
        });
        expect(got).toEqual(new Array(size).fill(true));
      }),
    ));

  it("operations run in the order of their calls, whenever a rank makes them: in a group and with checks too", async () => {
    const inOrder = async (comm: Communicator): Promise<void> => {
      const { rank, size } = comm;
      for (const isLate of [false, true]) {
        const sum = Float32Array.from({ length: 5 }, (_, n) => n + rank);
        const gathered = new Uint8Array(size);
        const from = new Uint8Array(3);
        const pending = [comm.reduce(sum), comm.allGather(Uint8Array.of(rank), gathered), comm.barrier()];
        // Some ranks make the next call when those before have ended, others at once.
        if (isLate !== rank % 2 > 0) await Promise.all(pending);
        await comm.exchange((rank + 1) % size, new Uint8Array(3).fill(rank), (rank + size - 1) % size, from);
        await Promise.all(pending);
        expect([...from]).toEqual(new Array(3).fill((rank + size - 1) % size));
        expect([...gathered]).toEqual([...gathered.keys()]);
        expect([...sum]).toEqual([0, 1, 2, 3, 4].map((n) => size * n + (size * (size - 1)) / 2));
      }
    };
    for (const size of [2, 3, 4, 5])
      for (const check of [false, true])
        await localCluster(
          size,
          async (comm) => {
            await inOrder(comm);
            await inOrder(await comm.split(0));
          },
          { check },
        );
  });

  it("a sum has the bits of the binary tree over ranks, independent of timing", () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 33 }),
        fc.boolean(),
        fc.infiniteStream(fc.integer({ min: 0, max: 3 })),
        async (size, n, double, delays) => {
          const numbers = (rank: number) =>
            Array.from({ length: n }, (_, i) => Math.sin(1 + i * 7 + rank * 91) * 10 ** (rank % 5));
          const make = (rank: number) =>
            double ? Float64Array.from(numbers(rank)) : Float32Array.from(numbers(rank));
          const round = double ? (x: number) => x : Math.fround;
          const tree = (first: number, last: number, i: number): number => {
            if (last - first === 1) return make(first)[i];
            const middle = first + Math.floor((last - first) / 2);
            return round(tree(first, middle, i) + tree(middle, last, i));
          };
          const sums = await localCluster(
            size,
            async (comm) => {
              const sum = make(comm.rank);
              await comm.reduce(sum);
              return [...sum];
            },
            { deliver: () => new Promise((resolve) => setTimeout(resolve, delays.next().value)) },
          );
          const want = Array.from({ length: n }, (_, i) => tree(0, size, i));
          for (const sum of sums) expect(sum).toEqual(want);
        },
      ),
      { numRuns: 30 },
    ));

  it("a sum over 2, 4 or 8 ranks sends 2·(P − 1)/P of the array from each rank", async () => {
    for (const size of [2, 4, 8])
      await localCluster(size, async (comm) => {
        await comm.reduce(new Float32Array(1024));
        expect(comm.sent.bytes).toBe((2 * (size - 1) * 4096) / size);
      });
  });

  it("broadcast copies the numbers of any rank to all", async () => {
    for (const size of [1, 2, 3, 5, 8])
      for (const root of [0, size - 1]) {
        const got = await localCluster(size, async (comm) => {
          const data = Float64Array.of(comm.rank === root ? 7 : 0, comm.rank === root ? 8 : 0);
          await broadcast(comm, data, root);
          return [...data];
        });
        expect(got).toEqual(new Array(size).fill([7, 8]));
      }
  });

  it("an exchange of all with all gives each rank its part of every rank's", async () => {
    for (const size of [1, 2, 3, 6])
      for (const got of await localCluster(size, async ({ rank, exchange }) => {
        const parts = (bytes: (r: number) => number) =>
          Array.from({ length: size }, (_, r) => (r === rank ? 0 : bytes(r)));
        const [sendBytes, intoBytes] = [parts((r) => rank + r), parts((r) => r + rank)];
        const send = Uint8Array.from(sendBytes.flatMap((n, r) => new Array(n).fill(10 * rank + r)));
        const into = new Uint8Array(intoBytes.reduce((sum, n) => sum + n, 0));
        await allToAll({ rank, size, exchange }, send, sendBytes, into, intoBytes);
        return [[...into], intoBytes.flatMap((n, r) => new Array(n).fill(10 * r + rank))];
      }))
        expect(got[0]).toEqual(got[1]);
  });

  it("gathers parts of different lengths, and refuses parts that do not fit", async () => {
    const bytes = [3, 0, 5, 1];
    const got = await localCluster(4, async (comm) => {
      const into = new Uint8Array(9);
      await comm.allGather(new Uint8Array(bytes[comm.rank]).fill(comm.rank + 1), into, bytes);
      return into.join("");
    });
    expect(got).toEqual(new Array(4).fill("111333334"));
    await expect(
      localCluster(2, (comm) => comm.allGather(new Uint8Array(2), new Uint8Array(3))),
    ).rejects.toThrow(/a buffer of 3, but the parts are 2 \+ 2 = 4 bytes/);
  });

  it("a message of another length than expected is an error on both ranks that names both lengths", async () => {
    await expect(
      localCluster(2, (comm) =>
        comm.rank === 0
          ? comm.exchange(1, new Uint8Array(3), undefined, new Uint8Array(0))
          : comm.exchange(undefined, new Uint8Array(0), 0, new Uint8Array(4)),
      ),
    ).rejects.toThrow("rank 0 sent 3 bytes, but rank 1 expected 4");
  });

  it("a rank that fails ends the operations of all others, which name it", async () => {
    const others: unknown[] = [];
    await expect(
      localCluster(3, async (comm) => {
        if (comm.rank === 1) throw new Error("the disk is full");
        try {
          await comm.barrier();
        } catch (error) {
          others.push(error);
          throw error;
        }
      }),
    ).rejects.toThrow("the disk is full");
    expect(others).toHaveLength(2);
    for (const error of others) {
      expect(error).toBeInstanceOf(HeedError);
      expect((error as HeedError).code).toBe("cluster-aborted");
      expect((error as Error).message).toContain("rank 1 ended the job: the disk is full");
    }
    await expect(
      localCluster(2, (comm) => (comm.rank === 1 ? comm.abort(3) : comm.barrier())),
    ).rejects.toThrow(/ended the job with status 3/);
  });

  it("refuses ranks that do not exist", async () => {
    await expect(
      localCluster(2, (comm) => comm.exchange(2, new Uint8Array(1), 0, new Uint8Array(1))),
    ).rejects.toThrow(/to must be a rank from 0 to 1, got 2/);
  });

  it.each<[string, RegExp, (comm: Communicator) => Promise<unknown>]>([
    [
      "a list sent",
      /exchange: send must be a typed array or a DataView, got \[1\]/,
      (c) => c.exchange(0, [1] as never, 0, F32),
    ],
    [
      "no buffer",
      /exchange: into must be a typed array or a DataView, got undefined/,
      (c) => c.exchange(0, F32, 0, undefined as never),
    ],
    ["a list gathered", /allGather: mine must be a typed array/, (c) => c.allGather([1] as never, F32)],
    [
      "a sum of integers",
      /reduce: sum must be a Float32Array or a Float64Array, got Int32Array/,
      (c) => c.reduce(new Int32Array(1) as never),
    ],
    ["a sum of nothing", /reduce: sum must be .* got undefined/, (c) => c.reduce(undefined as never)],
    [
      "an unknown order",
      /reduce: order must be "fixed" or "fast", got "tree"/,
      (c) => c.reduce(F32, "tree" as never),
    ],
  ])("refuses %s before any message", async (_, message, call) => {
    const comm = singleRank();
    const error: Error = await call(comm).then(
      () => new Error("no error"),
      (e) => e,
    );
    expect(error).toBeInstanceOf(OptionError);
    expect(error.message).toMatch(message);
    expect(comm.sent).toEqual({ messages: 0, bytes: 0 });
  });

  it("refuses a body that is no function, and unknown options", async () => {
    await expect(localCluster(2, undefined as never)).rejects.toThrow(
      "localCluster: body must be a function of a rank, got undefined",
    );
    await expect(localCluster(2, () => 0, { delay: 5 } as never)).rejects.toThrow(
      'localCluster: unknown option "delay"; expected one of deliver',
    );
  });

  it("a sum of no numbers needs no message", async () => {
    await localCluster(2, async (comm) => {
      await reduceFixed(comm, new Float32Array(0));
      expect(comm.sent.messages).toBe(0);
    });
  });
});

it("ranks agree on the version of package.json", () => {
  expect(VERSION).toBe(JSON.parse(readFileSync(at("package.json"), "utf8")).version);
});

describe("launchOf", () => {
  it("reads the variables of Open MPI, MPICH and Slurm", () => {
    expect(launchOf({})).toBeUndefined();
    expect(
      launchOf({ OMPI_COMM_WORLD_RANK: "2", OMPI_COMM_WORLD_SIZE: "4", OMPI_COMM_WORLD_LOCAL_SIZE: "2" }),
    ).toEqual({ launcher: "Open MPI", rank: 2, size: 4, localSize: 2, family: "openmpi" });
    expect(launchOf({ PMI_RANK: "0", PMI_SIZE: "3", MPI_LOCALNRANKS: "3" })).toEqual({
      launcher: "MPICH",
      rank: 0,
      size: 3,
      localSize: 3,
      family: "mpich",
    });
    // srun with its own PMI: which library it serves is not certain.
    expect(launchOf({ PMI_RANK: "0", PMI_SIZE: "3", SLURM_PROCID: "0", SLURM_STEP_NUM_TASKS: "3" })).toEqual({
      launcher: "MPICH",
      rank: 0,
      size: 3,
      prefers: "mpich",
    });
    const pmix = { PMIX_RANK: "0", SLURM_PROCID: "0", SLURM_STEP_NUM_TASKS: "3" };
    expect(launchOf(pmix)).toEqual({ launcher: "Slurm", rank: 0, size: 3 });
    expect(launchOf({ SLURM_PROCID: "1", SLURM_STEP_NUM_TASKS: "2" })).toEqual({
      launcher: "Slurm",
      rank: 1,
      size: 2,
    });
    // A batch script outside of any step is not a rank.
    expect(launchOf({ SLURM_PROCID: "0", SLURM_NTASKS: "8" })).toBeUndefined();
    expect(launchOf({ OMPI_COMM_WORLD_RANK: "4", OMPI_COMM_WORLD_SIZE: "4" })).toBeUndefined();
  });
});

it("joinCluster and shardSequence refuse missing and wrong options", async () => {
  const wrong: [object | undefined, RegExp][] = [
    [{ threads: 0 }, /joinCluster: threads: expected an integer from 1 to 64, got 0/],
    [{ library: 5 }, /joinCluster: library must be "openmpi", "mpich", "mpi-abi" or a path, got 5/],
  ];
  for (const [options, message] of wrong)
    await expect(joinCluster(options as never)).rejects.toThrow(message);
  expect(() => shardSequence(undefined as never)).toThrow(OptionError);
  const plan = shardSequence({ length: 4, ranks: 2 });
  expect(() => plan.take(0, undefined as never)).toThrow(/ShardPlan.take: sequence: expected a tensor/);
});
