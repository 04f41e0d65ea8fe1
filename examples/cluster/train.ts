/**
 * Training on several processes: each computes the gradients of its share of every step's micro-batches, and all add them in
 * one order. Any number of ranks prints the same bits.
 *
 * Run: `mpirun -n 4 node examples/cluster/train.ts` (as examples/cluster/attend.ts says). Without mpirun it is one rank; with it, rank 0 prints.
 *
 * Prints:
 *   loss of step 1: 3.2
 *   loss of step 40 below 1.5: true
 */
import { joinCluster } from "heed/cluster";
import { languageModel, nextTokenBatch, train } from "heed/train";

const comm = await joinCluster();
const model = languageModel("decoder", {
  vocabulary: 20,
  context: 16,
  layers: 1,
  heads: 2,
  width: 32,
  seed: 1,
});

// The micro-batches of a step depend only on the step, so every rank can create all of them and computes its share.
const sequence = (n: number) => Int32Array.from({ length: 17 }, (_, i) => (n + i * (1 + (n % 3))) % 20);
const microBatch = (n: number) => nextTokenBatch([sequence(4 * n), sequence(4 * n + 1), sequence(4 * n + 2)]);

const { losses } = await train({
  model,
  data: (step) => Array.from({ length: 8 }, (_, m) => microBatch(8 * step + m)),
  steps: 40,
  adamw: { lr: 0.01 },
  comm,
});
if (comm.rank === 0) {
  console.log(`loss of step 1: ${losses[0].toFixed(1)}`);
  console.log(`loss of step 40 below 1.5: ${losses[39] < 1.5}`);
}
await comm.close();
