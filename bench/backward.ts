/**
 * The backward pass relative to the forward one: the ratio of times in turns, GFLOP/s counted as 10·N²·d (five products; under
 * a causal mask only the visible cells), the share of the ceiling that runs between the turns, two threads relative to one; and
 * the peak of the engine's memory as N grows. Gradients of a few rows and keys are compared with float64 before anything is
 * timed.
 *
 *   node bench/backward.ts [--level wide] [--threads 1] [--seconds 5] [--cases "causal*"] [--memory]
 */
import { seededTensor } from "../src/cli/support/run/seeded.ts";
import type { AttentionGradients, Tensor } from "../src/index.ts";
import { attentionBackward, configure, scaledDotProductAttention } from "../src/index.ts";
import { getEngine } from "../src/wasm/engine/engine.ts";
import { ceilingOf, Rig } from "./roofline.ts";
import { chosen } from "./support/cases.ts";
import { conditions, isMain, optionsOf, printTable, startThreads, threadText } from "./support/setup.ts";
import { type Contestant, quantile, ratios, takeTurns } from "./support/turns.ts";

/** A backward call: one batch entry of H heads, N queries and keys, head size d. */
export interface BackwardCase {
  readonly name: string;
  readonly H: number;
  readonly N: number;
  readonly d: number;
  readonly isCausal: boolean;
}

const grid = [64, 128].flatMap((d) =>
  [1024, 2048, 4096].flatMap((N) => [false, true].map((isCausal) => ({ d, N, isCausal }))),
);

/** Lengths of the goals, and the shape of a small decoder's training step. */
export const BACKWARD: readonly BackwardCase[] = [
  ...grid.map(({ d, N, isCausal }) => ({
    name: `${isCausal ? "causal" : "full"} d${d} N${N}`,
    H: N > 2048 ? 2 : 4,
    N,
    d,
    isCausal,
  })),
  { name: "causal d32 N256, 96 heads", H: 96, N: 256, d: 32, isCausal: true },
];

/** Maximum of the time of a backward pass over that of the forward pass. */
const MAX_RATIO = 2.7;

/** Operations counted of a backward pass. */
export const operations = ({ H, N, d, isCausal }: BackwardCase): number =>
  10 * H * d * (isCausal ? (N * (N + 1)) / 2 : N * N);

/** The inputs of a case, and its two calls. */
export function callsOf({ H, N, d, isCausal }: BackwardCase) {
  const [q, k, v, dOutput] = [1, 2, 3, 4].map((seed) => seededTensor([1, H, N, d], seed));
  const state = scaledDotProductAttention(q, k, v, { isCausal });
  return {
    inputs: { q, k, v, dOutput, ...state },
    forward: () => scaledDotProductAttention(q, k, v, { isCausal }),
    backward: () => attentionBackward(dOutput, q, k, v, state, { isCausal }),
  };
}

/**
 * Largest error of the gradients of three rows and three keys of the last head, in units of a rounding of every term: for
 * a sum of n terms of size Σ|x|, each of which depends on sums over d, (2·√n + 4·√d + 16)·2^-24·Σ|x|.
 */
export function errorOf(
  { H, N, d, isCausal }: BackwardCase,
  { q, k, v, dOutput, output, lse }: ReturnType<typeof callsOf>["inputs"],
  got: AttentionGradients,
): number {
  const row = (t: Tensor, n: number) =>
    (t.data as Float32Array).subarray(((H - 1) * N + n) * d, ((H - 1) * N + n + 1) * d);
  const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, e) => sum + x * b[e], 0);
  const size = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, e) => sum + Math.abs(x * b[e]), 0);
  const scale = 1 / Math.sqrt(d);
  const total = (i: number) => (lse.data as Float32Array)[(H - 1) * N + i];
  const p = (i: number, j: number) =>
    isCausal && j > i ? 0 : Math.exp(dot(row(q, i), row(k, j)) * scale - total(i));
  const ds = (i: number, j: number) =>
    p(i, j) * (dot(row(dOutput, i), row(v, j)) - dot(row(dOutput, i), row(output, i)));
  const dsSize = (i: number, j: number) =>
    p(i, j) * (size(row(dOutput, i), row(v, j)) + size(row(dOutput, i), row(output, i)));
  const unit = (2 * Math.sqrt(N) + 4 * Math.sqrt(d) + 16) * 2 ** -24;
  let worst = 0;
  const compare = (t: Tensor, at: number, term: (n: number) => [number, number, Float32Array]) => {
    const [sum, sizes] = [new Float64Array(d), new Float64Array(d)];
    for (let n = 0; n < N; n++) {
      const [x, y, of] = term(n);
      for (let e = 0; e < d; e++) {
        sum[e] += x * of[e];
        sizes[e] += y * Math.abs(of[e]);
      }
    }
    row(t, at).forEach((x, e) => {
      if (sizes[e] > 0 || x !== 0) worst = Math.max(worst, Math.abs(x - sum[e]) / (unit * sizes[e]));
    });
  };
  for (const at of [0, N >> 1, N - 1]) {
    compare(got.dQuery, at, (j) => [scale * ds(at, j), scale * dsSize(at, j), row(k, j)]);
    compare(got.dKey, at, (i) => [scale * ds(i, at), scale * dsSize(i, at), row(q, i)]);
    compare(got.dValue, at, (i) => [p(i, at), p(i, at), row(dOutput, i)]);
  }
  return worst;
}

async function measureTimes(
  cases: readonly BackwardCase[],
  level: string,
  threads: number,
  seconds: number,
): Promise<void> {
  const rig = await new Rig(threads, level === "wide").ready();
  const loop = ceilingOf(level);
  const last = threads > 1 ? ["one thread /"] : [];
  const rows = [["case", "ms", "GFLOP/s", "best", "of the ceiling", "/ forward", ...last]];
  for (const c of cases) {
    configure({ threads });
    const { inputs, forward, backward } = callsOf(c);
    const error = errorOf(c, inputs, backward());
    if (!(error <= 1)) throw new Error(`${c.name}: wrong by ${error} bounds; nothing was timed`);
    const engage = (count: number) => () => void configure({ threads: count });
    const contestants: Contestant[] = [
      { name: "backward", run: backward, engage: engage(threads) },
      { name: "forward", run: forward, engage: engage(threads) },
      ...(threads > 1 ? [{ name: "one thread", run: backward, engage: engage(1) }] : []),
    ];
    let ceiling = 0;
    const taken = await takeTurns(contestants, [0, 0, 0].slice(0, contestants.length), seconds, 5, () => {
      ceiling = Math.max(ceiling, rig.sample(loop));
    });
    const [median, best] = [0.5, 0].map((q) => quantile(taken[0].seconds, q));
    const over = quantile(ratios(taken[0], taken[1]), 0.5);
    rows.push([
      c.name,
      (1e3 * median).toFixed(2),
      (operations(c) / median / 1e9).toFixed(1),
      (operations(c) / best / 1e9).toFixed(1),
      `${Math.round(operations(c) / median / 1e7 / ceiling)} %`,
      `${over.toFixed(2)}${over <= MAX_RATIO ? "" : " MISSED"}`,
      ...(threads > 1 ? [quantile(ratios(taken[2], taken[0]), 0.5).toFixed(2)] : []),
    ]);
  }
  printTable(rows, [1, 2, 3, 4, 5, 6]);
  await rig.end();
}

/** Peak of the engine's memory during a backward pass of one head, without inputs and gradients. */
function measureMemory(threads: number): void {
  const rows = [["N", "inputs and gradients, MiB", "engine peak, MiB"]];
  for (const N of [4096, 8192, 16384]) {
    const { inputs, backward } = callsOf({ name: "", H: 1, N, d: 64, isCausal: true });
    const engine = getEngine();
    if (!engine) throw new Error("bench: this runtime has no WebAssembly");
    const before = engine.memory.resetPeak();
    backward();
    const numbers = 8 * inputs.q.size + N;
    rows.push([
      String(N),
      ((4 * numbers) / 2 ** 20).toFixed(1),
      ((engine.memory.peak - before) / 2 ** 20).toFixed(1),
    ]);
  }
  console.log(`causal, d 64, one head, ${threadText(threads)}\n`);
  printTable(rows, [0, 1, 2]);
}

if (isMain(import.meta.url)) {
  const { level, threads, seconds, cases, memory } = optionsOf({
    level: "wide",
    threads: 1,
    seconds: 5,
    cases: "*",
    memory: false,
  }).values;
  await startThreads(threads, level);
  console.log(`${conditions(level, threads)}\n`);
  if (memory) measureMemory(threads);
  else await measureTimes(chosen([cases], BACKWARD), level, threads, seconds);
  process.exit(0);
}
