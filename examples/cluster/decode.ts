/**
 * Decoding with a cache that is sharded over several processes: keys and values are not sent. Each rank computes the attention of
 * each token's query over its own keys, and the results (output, lse) are merged. Memory and work are divided by the number of ranks.
 *
 * Run: `mpirun -n 4 node examples/cluster/decode.ts` (as examples/cluster/attend.ts says). Without mpirun it is one rank; with it, rank 0 prints.
 *
 * Prints:
 *   1032 positions, every rank holds its share: true
 *   8 tokens, largest difference from one process below 1e-5: true
 */
import { scaledDotProductAttention, tensor } from "heed";
import { contextAttention, joinCluster, shardSequence } from "heed/cluster";

const comm = await joinCluster();
const [prompt, tokens, H, Hkv, d] = [1024, 8, 8, 2, 64];
const N = prompt + tokens;
const number = (what: number, h: number, at: number, e: number) => Math.sin(what + h * 7 + at * 0.37 + e * e);

/** Rows of a tensor [1, heads, positions, d]: query, key and value of a position are functions of it, as in a model. */
const rows = (what: number, heads: number, positions: ArrayLike<number>) => {
  const n = positions.length;
  const data = Float32Array.from({ length: heads * n * d }, (_, i) =>
    number(what, Math.floor(i / (n * d)), positions[Math.floor(i / d) % n], i % d),
  );
  return tensor(data, [1, heads, n, d]);
};

let plan = shardSequence({ length: prompt, ranks: comm.size, isCausal: true });
let worst = 0;
for (let at = prompt; at < N; at++) {
  // The new position goes to the rank with the fewest positions; cached rows are not moved.
  plan = plan.extend(at + 1);
  const positions = plan.positions(comm.rank);
  const query = rows(0, H, [at]);
  const { output } = await contextAttention(
    comm,
    plan,
    query,
    rows(1, Hkv, positions),
    rows(2, Hkv, positions),
    { isCausal: true, queries: "replicated" },
  );
  const every = Array.from({ length: at + 1 }, (_, i) => i);
  const single = scaledDotProductAttention(
    query,
    rows(1, Hkv, every),
    rows(2, Hkv, every),
  ).output.toFloat64();
  worst = output.toFloat64().reduce((largest, x, i) => Math.max(largest, Math.abs(x - single[i])), worst);
}
if (comm.rank === 0) {
  const fair = Array.from({ length: comm.size }, (_, r) => plan.size(r)).every(
    (n) => Math.abs(n - N / comm.size) < 1,
  );
  console.log(`${N} positions, every rank holds its share: ${fair}`);
  console.log(`${tokens} tokens, largest difference from one process below 1e-5: ${worst < 1e-5}`);
}
await comm.close();
