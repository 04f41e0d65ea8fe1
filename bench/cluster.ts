/**
 * The share of the ideal speed that several ranks on one machine reach, with one thread each: sharded attention, forward and with
 * the backward pass, relative to one rank that computes everything (in the same turns, while the others sleep), with the
 * unbalanced plan as a control; the part of an exchange that overlaps with computing; and training steps.
 *
 *   HEED_THREADS=1 mpirun -n 2 --bind-to none node bench/cluster.ts [--length 8192] [--heads 2] [--turns 7]
 *   node bench/cluster.ts --start [--turns 7]      the start of 4 ranks, of the built package (support/cluster-start.ts)
 *
 * Prints the share of the ideal, T(1) / (P · T(P)), as a median over turns with its spread, and the tile imbalance: of the
 * time on the clock, and of the processor time of the computing threads (the largest of the ranks), which other programs on
 * the machine do not change and which leaves the waiting for messages out. The result is checked against one call first.
 */
import { availableParallelism } from "node:os";
import {
  contextAttention,
  contextAttentionBackward,
  joinCluster,
  type ShardPlan,
  shardSequence,
} from "../src/cluster/index.ts";
import { attentionBackward, scaledDotProductAttention, Tensor } from "../src/index.ts";
import { languageModel, nextTokenBatch, train } from "../src/train/index.ts";
import { measureStart } from "./support/cluster-start.ts";
import { optionsOf } from "./support/setup.ts";
import { quantile } from "./support/turns.ts";

const {
  length: N,
  heads: H,
  turns,
  start,
} = optionsOf({ length: 8192, heads: 2, turns: 7, start: false }).values;
const d = 64;
if (start) {
  measureStart(turns);
  process.exit();
}
const comm = await joinCluster();
const { rank, size } = comm;
const lead = rank === 0;
const noise = (seed: number) => {
  let x = seed;
  const data = Float32Array.from({ length: H * N * d }, () => {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    return x / 2 ** 31;
  });
  return new Tensor(data, [1, H, N, d], "float32");
};
const [q, k, v, dOut] = [1, 2, 3, 4].map(noise);
const options = { isCausal: true } as const;
const plans = {
  zigzag: shardSequence({ length: N, ranks: size, isCausal: true }),
  "equal parts": shardSequence({ length: N, ranks: size, isCausal: true, cost: "tokens" }),
};
type Way = "gather" | "ring";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Milliseconds of wall time and of processor time. */
interface Time {
  readonly clock: number;
  readonly processor: number;
}

/** Processor time of this thread so far, in milliseconds. */
const processor = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Times of rank 0 alone; the others sleep, so that they use no core. */
async function alone(backward: boolean): Promise<Time> {
  await comm.barrier();
  const [begin, beginProcessor] = [performance.now(), processor()];
  if (lead) {
    const state = scaledDotProductAttention(q, k, v, options);
    if (backward) attentionBackward(dOut, q, k, v, state, options);
  }
  const taken = lead
    ? Float64Array.of(performance.now() - begin, processor() - beginProcessor)
    : new Float64Array(2);
  if (!lead) await sleep(backward ? expected * 4 : expected);
  await comm.reduce(taken);
  return { clock: taken[0], processor: taken[1] };
}

async function shared(plan: ShardPlan, via: Way, backward: boolean): Promise<Time> {
  const [qr, kr, vr, dr] = [q, k, v, dOut].map((t) => plan.take(rank, t));
  await comm.barrier();
  const [begin, beginProcessor] = [performance.now(), processor()];
  const state = await contextAttention(comm, plan, qr, kr, vr, { ...options, via });
  if (backward) await contextAttentionBackward(comm, plan, dr, qr, kr, vr, state, { ...options, via });
  const busy = Float64Array.of(processor() - beginProcessor);
  await comm.barrier();
  const clock = performance.now() - begin;
  const all = new Float64Array(size);
  await comm.allGather(busy, all);
  return { clock, processor: Math.max(...all) };
}

const median = (list: number[]) => quantile(list, 0.5);
const spread = (list: number[]) => `${Math.min(...list).toFixed(2)}–${Math.max(...list).toFixed(2)}`;

// The check before the timing also compiles the kernels.
const want = scaledDotProductAttention(q, k, v, options);
for (const plan of Object.values(plans))
  for (const via of ["gather", "ring"] as const) {
    const [qr, kr, vr] = [q, k, v].map((t) => plan.take(rank, t));
    const { output } = await contextAttention(comm, plan, qr, kr, vr, { ...options, via });
    const expectedRows = plan.take(rank, want.output).toFloat64();
    const worst = output
      .toFloat64()
      .reduce((largest, x, n) => Math.max(largest, Math.abs(x - expectedRows[n])), 0);
    if (!(worst < 1e-5)) throw new Error(`${via}: off by ${worst}`);
  }
let expected = 0;
expected = (await alone(false)).clock;

if (lead)
  process.stdout.write(
    `${size} ranks, ${comm.engine}, ${availableParallelism()} cores; causal, N ${N}, H ${H}, d ${d}; share of the ideal (spread of ${turns} turns)\n`,
  );
for (const backward of [false, true]) {
  const ones: Time[] = [];
  const shares = new Map<string, Time[]>();
  for (let turn = 0; turn < turns; turn++) {
    const one = await alone(backward);
    ones.push(one);
    for (const [name, plan] of Object.entries(plans))
      for (const via of ["gather", "ring"] as const) {
        const key = `${name}, ${via}`;
        const list = shares.get(key) ?? [];
        shares.set(key, list);
        const many = await shared(plan, via, backward);
        list.push({
          clock: one.clock / (size * many.clock),
          processor: one.processor / (size * many.processor),
        });
      }
  }
  if (lead)
    for (const [name, list] of shares) {
      const [clocks, processors] = [list.map((x) => x.clock), list.map((x) => x.processor)];
      process.stdout.write(
        `${backward ? "forward + backward" : "forward           "}  ${name.padEnd(20)} clock ${median(clocks).toFixed(2)} (${spread(clocks)})  processor ${median(processors).toFixed(2)} (${spread(processors)})  one rank ${median(ones.map((x) => x.processor)).toFixed(0)} ms\n`,
      );
    }
}
if (lead)
  for (const [name, plan] of Object.entries(plans))
    process.stdout.write(`tile imbalance, ${name}: ${plan.imbalance.toFixed(3)}\n`);

// 64 MiB around the ring, alone and while this rank computes for about the same time.
const out = new Float32Array(2 ** 24);
const into = new Float32Array(2 ** 24);
const exchange = () => comm.exchange((rank + 1) % size, out, (rank - 1 + size) % size, into);
const work = (ms: number) => {
  const end = performance.now() + ms;
  let x = 0;
  while (performance.now() < end) for (let n = 0; n < 1e4; n++) x += Math.sqrt(n);
  return x;
};
const hidden: number[] = [];
const moved: number[] = [];
for (let turn = 0; turn < turns; turn++) {
  await comm.barrier();
  let begin = performance.now();
  await exchange();
  const bare = performance.now() - begin;
  moved.push(bare);
  await comm.barrier();
  begin = performance.now();
  const pending = exchange();
  work(bare);
  await pending;
  hidden.push(bare / (performance.now() - begin));
}
if (lead)
  process.stdout.write(
    `64 MiB exchange ${median(moved).toFixed(1)} ms; with as much work beside it, ${median(hidden).toFixed(2)} of the ideal (${spread(hidden)})\n`,
  );

// Training steps of a decoder of 4 layers, width 128, 32 sequences of 128 tokens in 8 micro-batches: one rank against all.
const sequence = (n: number) => Int32Array.from({ length: 129 }, (_, i) => (n * 31 + i * i * 7) % 2048);
const microBatch = (n: number) => nextTokenBatch([0, 1, 2, 3].map((row) => sequence(4 * n + row)));
/** The part of each step that ranks exchange gradients, in percent of the clock. Before it they wait for each other, in an allGather. */
const exchanged: number[] = [];
let exchanging = 0;
const reduce = comm.reduce.bind(comm);
comm.reduce = async (...args) => {
  const begin = performance.now();
  await reduce(...args);
  exchanging += performance.now() - begin;
};
async function step(together: boolean): Promise<number> {
  const marks: number[] = [];
  let begin = performance.now();
  if (together || lead)
    await train({
      model: languageModel("decoder", { vocabulary: 2048, context: 128, layers: 4, heads: 4, width: 128 }),
      data: (n) => Array.from({ length: 8 }, (_, m) => microBatch(8 * n + m)),
      steps: 4,
      ...(together && { comm }),
      onStep() {
        const isSteady = marks.push(processor()) > 2;
        if (together && isSteady) exchanged.push((100 * exchanging) / (performance.now() - begin));
        [begin, exchanging] = [performance.now(), 0];
      },
    });
  else await sleep(3000);
  // The last two steps: the first ones compile.
  const busy = Float64Array.of(marks.length > 0 ? (marks[3] - marks[1]) / 2 : 0);
  const all = new Float64Array(size);
  await comm.allGather(busy, all);
  return Math.max(...all);
}
const speedups: number[] = [];
for (let turn = 0; turn < Math.min(turns, 3); turn++) speedups.push((await step(false)) / (await step(true)));
if (lead)
  process.stdout.write(
    `training: ${size} ranks have ${median(speedups).toFixed(2)} × the tokens of one in the same processor time (${spread(speedups)}); gradients are exchanged in ${median(exchanged).toFixed(1)} % of a step (${spread(exchanged)})\n`,
  );
await comm.close();
