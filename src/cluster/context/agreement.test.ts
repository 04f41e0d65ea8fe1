import { expect, test } from "vitest";
import { randn } from "../../core/create/create.ts";
import { Tensor } from "../../core/tensor.ts";
import { tensor } from "../../index.ts";
import { termOfTensor } from "../communicator/agree.ts";
import type { Communicator, ContextOptions } from "../index.ts";
import { contextAttention, localCluster, shardSequence } from "../index.ts";

const N = 8;
const rows = (seed: number, n = N) => randn([1, 2, n, 4], { seed });
const plan = shardSequence({ length: N, ranks: 2 });
const [q, k, v] = [1, 2, 3].map((seed) => rows(seed));

/** The messages of the errors of two ranks; undefined where a rank succeeds. */
const errorsOf = (
  optionsOf: (comm: Communicator) => ContextOptions,
  queryOf = (comm: Communicator): Tensor => plan.take(comm.rank, q),
) =>
  localCluster(2, async (comm) => {
    const [key, value] = [k, v].map((t) => plan.take(comm.rank, t));
    return contextAttention(comm, plan, queryOf(comm), key, value, optionsOf(comm)).then(
      () => undefined,
      (error: Error) => error.message,
    );
  });

const maskOf = (change: number) => {
  const mask = randn([N, N], { seed: 4 });
  mask.data[N * N - 1] += change;
  return mask;
};

test("mask tensors with other numbers are an error on all ranks", async () => {
  for (const message of await errorsOf(({ rank }) => ({ attnMask: maskOf(rank) })))
    expect(message).toMatch(
      /^contextAttention: ranks disagree: mask tensors is \[8, 8\] float32 .* on rank 0, but/,
    );
  const bits = (rank: number) =>
    tensor(
      Array.from({ length: N }, (_, row) => Array.from({ length: N }, (_, column) => column <= row + rank)),
    );
  for (const message of await errorsOf(({ rank }) => ({ attnMask: bits(rank) })))
    expect(message).toMatch(/ranks disagree: mask tensors is \[8, 8\] bool/);
  expect(await errorsOf(() => ({ attnMask: maskOf(0) }))).toEqual([undefined, undefined]);
});

test("replicated queries with other numbers are an error on all ranks", async () => {
  const query = ({ rank }: Communicator) => rows(10 + rank, 1);
  for (const message of await errorsOf(() => ({ queries: "replicated" }), query))
    expect(message).toMatch(/^contextAttention: ranks disagree: query is \[1, 2, 1, 4\] float32 /);
  const same = await errorsOf(
    () => ({ queries: "replicated" }),
    () => rows(10, 1),
  );
  expect(same).toEqual([undefined, undefined]);
});

test("dropout with other seeds is an error on all ranks", async () => {
  for (const message of await errorsOf(({ rank }) => ({ dropoutP: 0.5, seed: 3 + rank })))
    expect(message).toMatch(/^contextAttention: ranks disagree: seed is 3 on rank 0, but 4 on rank 1/);
});

test("the digest of a tensor has every byte, and is that of its part of the array", async () => {
  for (let size = 1; size < 40; size++) {
    const terms = Array.from({ length: size + 1 }, (_, at) => {
      const bytes = new Uint8Array(size);
      if (at < size) bytes[at] = 1;
      return termOfTensor(new Tensor(bytes, [size], "bool"));
    });
    expect(new Set(terms).size).toBe(size + 1);
  }
  // Ranks of one process may read parts of one array.
  const { data } = randn([2 * N, N], { seed: 4 });
  const part = (at: number) => new Tensor(data, [N, N], "float32", [N, 1], at);
  for (const message of await errorsOf(({ rank }) => ({ attnMask: part(rank * N * N) })))
    expect(message).toMatch(/ranks disagree: mask tensors is/);
});
