/** A program that ranks run: every operation of a communicator once, with its result checked on every rank. */
import assert from "node:assert/strict";
import { allToAll, broadcast } from "../../src/cluster/communicator/moves.ts";
import {
  contextAttention,
  contextAttentionBackward,
  joinCluster,
  shardSequence,
} from "../../src/cluster/index.ts";
import { attentionBackward, scaledDotProductAttention, Tensor } from "../../src/index.ts";

const total = (list: readonly number[]): number => list.reduce((sum, n) => sum + n, 0);

const comm = await joinCluster();
const { rank, size } = comm;
const [next, previous] = [(rank + 1) % size, (rank - 1 + size) % size];

// exchange around a ring, of different lengths, and none.
const into = new Int32Array(3 * (previous + 1));
await comm.exchange(next, new Int32Array(3 * (rank + 1)).fill(rank), previous, into);
assert.deepEqual(into, new Int32Array(3 * (previous + 1)).fill(previous));
await comm.exchange(next, new Uint8Array(0), previous, new Uint8Array(0));

// A large one while this rank computes.
const large = new Float64Array(2 ** 19).fill(rank + 0.5);
const received = new Float64Array(2 ** 19);
const pending = comm.exchange(next, large, previous, received);
let work = 0;
for (let n = 0; n < 5e6; n++) work += Math.sqrt(n);
await pending;
assert.ok(work > 0 && received.every((x) => x === previous + 0.5));

// A rank that waits sleeps between polls, so that others can use its core: the share of the time in which this process had one while it
// waited for rank 0, which comes late.
const none = new Uint8Array(0);
const shareOf = async (wait: () => Promise<void>): Promise<number> => {
  await comm.barrier();
  const [cpu, began] = [process.cpuUsage(), performance.now()];
  if (rank === 0) await new Promise((resolve) => setTimeout(resolve, 500));
  await wait();
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 1000 / (performance.now() - began);
};
const shares: number[] = [];
// The smaller of two: a machine that is full can make one wait look like work.
for (const wait of [
  () => comm.exchange(next, large, previous, received),
  async () => {
    const short = new Uint8Array(8);
    if (rank > 0) await comm.exchange(undefined, none, 0, short);
    else for (let to = 1; to < size; to++) await comm.exchange(to, short, undefined, none);
  },
  () => comm.barrier(),
  () => comm.allGather(Uint8Array.of(rank), new Uint8Array(size)),
  () => comm.reduce(large, "fast"),
])
  shares.push(Math.min(await shareOf(wait), await shareOf(wait)));

// Operations run in the order of their calls: an exchange waits for the whole operation before it, whenever a rank calls it.
const ones = new Float32Array(100).fill(1);
for (const first of [() => comm.barrier(), () => comm.reduce(ones), () => comm.reduce(ones, "fast")]) {
  const ended = first();
  if (rank > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  const after = new Uint8Array(1);
  await comm.exchange(next, Uint8Array.of(rank), previous, after);
  assert.deepEqual([...after], [previous]);
  await ended;
}
assert.ok(ones.every((x) => x === size ** 2));

// allGather of equal and of different lengths.
const equal = new Float32Array(2 * size);
await comm.allGather(Float32Array.of(rank, -rank), equal);
assert.deepEqual([...equal], Array.from({ length: size }, (_, r) => [r, -r]).flat());
const bytes = Array.from({ length: size }, (_, r) => r % 3);
const ragged = new Uint8Array(bytes.reduce((sum, n) => sum + n, 0));
await comm.allGather(new Uint8Array(bytes[rank]).fill(rank), ragged, bytes);
assert.deepEqual(
  [...ragged],
  bytes.flatMap((n, r) => new Array(n).fill(r)),
);

// reduce: whole numbers are exact in any order; the fixed order gives the same bits on every rank.
for (const order of ["fixed", "fast"] as const)
  for (const type of [Float32Array, Float64Array])
    for (const n of [1, 1001]) {
      const sum = new type(n).fill(rank + 1);
      await comm.reduce(sum, order);
      assert.ok(sum.every((x) => x === (size * (size + 1)) / 2));
    }
const inexact = Float32Array.from({ length: 1000 }, (_, n) => Math.sin(n + 1000 * rank));
await comm.reduce(inexact);
const all = new Float32Array(1000 * size);
await comm.allGather(inexact, all);
for (let r = 0; r < size; r++) assert.deepEqual(all.slice(1000 * r, 1000 * (r + 1)), inexact);

// Moves that MPI has a call for have the bits of exchanges: many bytes and few, of different lengths.
const exchanges = { rank, size, exchange: comm.exchange };
// A checked communicator checks each message; one process sends none.
const names = Object.getOwnPropertyNames(Object.getPrototypeOf(comm));
for (const name of ["broadcast", "allToAll"])
  assert.equal(names.includes(name), comm.engine !== "local" && process.env.HEED_MPI_CHECK !== "1");
const partsOf = (bytesWith: (r: number) => number): number[] =>
  Array.from({ length: size }, (_, r) => (r === rank ? 0 : bytesWith(r)));
for (const n of [3, 100_001]) {
  const arrived: (Float32Array | Uint8Array)[] = [];
  for (const how of [comm, exchanges]) {
    const data = Float32Array.from({ length: n }, (_, at) => Math.sin(at + n * rank));
    await broadcast(how, data, size - 1);
    const [sendBytes, intoBytes] = [partsOf((r) => n * rank + r), partsOf((r) => n * r + rank)];
    const into = new Uint8Array(total(intoBytes));
    const send = Uint8Array.from({ length: total(sendBytes) }, (_, at) => at * 7 + rank);
    await allToAll(how, send, sendBytes, into, intoBytes);
    arrived.push(data, into);
  }
  assert.deepEqual(arrived.slice(2), arrived.slice(0, 2));
  assert.equal(arrived[0][1], Math.fround(Math.sin(1 + n * (size - 1))));
}

// Groups: the ranks of one color, the last one first.
const group = await comm.split(rank % 2, -rank);
const members = Array.from({ length: size }, (_, r) => r)
  .filter((r) => r % 2 === rank % 2)
  .reverse();
assert.deepEqual([group.size, group.rank], [members.length, members.indexOf(rank)]);
const inGroup = new Float64Array(group.size);
await group.allGather(Float64Array.of(rank), inGroup);
assert.deepEqual([...inGroup], members);
const groupSum = Float32Array.of(rank);
await group.reduce(groupSum, "fast");
assert.equal(
  groupSum[0],
  members.reduce((sum, r) => sum + r, 0),
);
await group.close();

// Attention over a sharded sequence: the numbers of one process.
const N = 200;
const wave = (heads: number, seed: number) =>
  new Tensor(
    Float32Array.from({ length: heads * N * 16 }, (_, n) => Math.sin(n * n + seed)),
    [1, heads, N, 16],
    "float32",
  );
const [q, k, v] = [wave(4, 1), wave(2, 2), wave(2, 3)];
const plan = shardSequence({ length: N, ranks: size, isCausal: true });
const sequence = scaledDotProductAttention(q, k, v, { isCausal: true });
const gradients = attentionBackward(sequence.output, q, k, v, sequence, { isCausal: true });
const near = (got: Tensor, sequence: Tensor, what: string) => {
  const [a, b] = [got.toFloat64(), plan.take(rank, sequence).toFloat64()];
  for (const [n, x] of a.entries()) assert.ok(Math.abs(x - b[n]) < 2e-5, `${what}: ${x} instead of ${b[n]}`);
};
for (const via of ["gather", "ring", "resident"] as const) {
  const [qr, kr, vr] = [q, k, v].map((t) => plan.take(rank, t));
  const state = await contextAttention(comm, plan, qr, kr, vr, { isCausal: true, via });
  near(state.output, sequence.output, `${via} output`);
  const back = await contextAttentionBackward(
    comm,
    plan,
    plan.take(rank, sequence.output),
    qr,
    kr,
    vr,
    state,
    {
      isCausal: true,
      via,
    },
  );
  for (const name of ["dQuery", "dKey", "dValue"] as const)
    near(back[name], gradients[name], `${via} ${name}`);
}

await comm.barrier();
const allShares = new Float64Array(size);
await comm.allGather(Float64Array.of(Math.max(...shares)), allShares);
const text = JSON.stringify({
  size,
  engine: comm.engine,
  shareOfWait: Math.max(...allShares.subarray(1)),
  sum: [...new Uint32Array(inexact.buffer)].slice(0, 8),
});
if (rank === 0) process.stdout.write(`${text}\n`);
await comm.close();
