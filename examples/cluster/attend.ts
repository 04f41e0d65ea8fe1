/**
 * Attention over a sequence that is sharded over several processes. Each rank has its own rows of the queries, keys and values,
 * and gets its own rows of the output; the result is that of one process.
 *
 * Run: `mpirun -n 4 node examples/cluster/attend.ts` (Node ≥ 22.18, in a clone after `npm run build`; MPI and koffi:
 * `apt-get install openmpi-bin libopenmpi3 && npm install koffi`). Without mpirun it is one rank; with it, rank 0 prints.
 *
 * Prints:
 *   zigzag, 2048 tokens over 1 rank, max/mean 1.000
 *   rank 0  0–2047  (2048 tokens, 349 tiles)
 *   largest difference from one process below 1e-5: true
 */
import { scaledDotProductAttention, tensor } from "heed";
import { contextAttention, joinCluster, shardSequence } from "heed/cluster";

const comm = await joinCluster();
const [N, H, d] = [2048, 4, 64];

// A plan is the same on every rank. Under a causal mask, early and late rows pair up, so that all have the same work.
const plan = shardSequence({ length: N, ranks: comm.size, isCausal: true });

// A rank needs only its own rows; here it creates the full sequence to compare with at the end.
const wave = (phase: number) =>
  tensor(
    Float32Array.from({ length: H * N * d }, (_, i) => Math.sin(i * 0.37 + phase)),
    [1, H, N, d],
  );
const [q, k, v] = [wave(0), wave(1), wave(2)];
const mine = [q, k, v].map((t) => plan.take(comm.rank, t));

const { output } = await contextAttention(comm, plan, mine[0], mine[1], mine[2], { isCausal: true });

const single = plan
  .take(comm.rank, scaledDotProductAttention(q, k, v, { isCausal: true }).output)
  .toFloat64();
const worst = Float64Array.of(
  output.toFloat64().reduce((worst, x, i) => Math.max(worst, Math.abs(x - single[i])), 0),
);
const all = new Float64Array(comm.size);
await comm.allGather(worst, all);
if (comm.rank === 0) {
  console.log(String(plan));
  console.log(`largest difference from one process below 1e-5: ${Math.max(...all) < 1e-5}`);
}
await comm.close();
