/** A program that ranks run: every operation of a communicator once, with its result checked on every rank. */
import assert from "node:assert/strict";
import { joinCluster } from "../../src/cluster/index.ts";

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

await comm.barrier();
const text = JSON.stringify({
  size,
  engine: comm.engine,
  sum: [...new Uint32Array(inexact.buffer)].slice(0, 8),
});
if (rank === 0) process.stdout.write(`${text}\n`);
await comm.close();
