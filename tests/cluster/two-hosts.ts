/**
 * A program that ranks on two hosts run: sharded attention by gather and by ring, compared with one call, with the bytes that
 * each rank sent; and the part of a large exchange that overlaps with computing, which is printed but not asserted.
 */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { contextAttention, joinCluster, shardSequence } from "../../src/cluster/index.ts";
import { scaledDotProductAttention, Tensor } from "../../src/index.ts";

const [N, H, d] = [4096, 4, 64];
const comm = await joinCluster();
const { rank, size } = comm;
const wave = (phase: number) =>
  new Tensor(
    Float32Array.from({ length: H * N * d }, (_, n) => Math.sin(n * n + phase)),
    [1, H, N, d],
    "float32",
  );
const [q, k, v] = [wave(1), wave(2), wave(3)];
const plan = shardSequence({ length: N, ranks: size, isCausal: true });
const want = plan.take(rank, scaledDotProductAttention(q, k, v, { isCausal: true }).output).toFloat64();
const [qr, kr, vr] = [q, k, v].map((t) => plan.take(rank, t));

const bytes: Record<string, number> = {};
for (const via of ["gather", "ring"] as const) {
  const before = comm.sent.bytes;
  const { output } = await contextAttention(comm, plan, qr, kr, vr, { isCausal: true, via });
  bytes[via] = comm.sent.bytes - before;
  for (const [n, x] of output.toFloat64().entries())
    assert.ok(Math.abs(x - want[n]) < 2e-5, `${via}: ${x}, ${want[n]}`);
}

const out = new Float32Array(2 ** 24);
const into = new Float32Array(2 ** 24);
const exchange = () => comm.exchange((rank + 1) % size, out, (rank - 1 + size) % size, into);
await comm.barrier();
let began = performance.now();
await exchange();
const bare = performance.now() - began;
await comm.barrier();
began = performance.now();
const pending = exchange();
let x = 0;
while (performance.now() - began < bare) for (let n = 0; n < 1e4; n++) x += Math.sqrt(n);
await pending;
const both = performance.now() - began;
assert.ok(x > 0);

const hosts = new Uint8Array(64 * size);
const mine = new Uint8Array(64);
new TextEncoder().encodeInto(hostname(), mine);
await comm.allGather(mine, hosts);
if (rank === 0)
  process.stdout.write(
    `${JSON.stringify({
      hosts: Array.from({ length: size }, (_, r) =>
        new TextDecoder().decode(hosts.subarray(64 * r, 64 * (r + 1))).replaceAll("\0", ""),
      ),
      bytes,
      // Every call begins with 20 bytes to each other rank.
      formula: (2 * plan.size(rank) * H * d * 4 + 20) * (size - 1),
      total: comm.sent.bytes,
      exchange: { milliseconds: Math.round(bare), overlapped: Number((bare / both).toFixed(2)) },
    })}\n`,
  );
await comm.close();
