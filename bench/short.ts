/**
 * Where the time of a short call goes: N 128, 12 heads, d 64. First the call with arrays, with operands in the engine's memory, the
 * same in `tidy`, and a call with next to no arithmetic, in turns; then the share of each function in a profile of the first.
 *
 * The functions of a kernel are numbered in the order of its source. forward.ts: 0 scores (q·k), 1 row maximum, 3 exponentials,
 * 4 row sum, 5 values (p·v), 6 run (queries into the workspace, rows divided and written). pack.ts: 0 keys, 1 values, 2 run.
 *
 *   node bench/short.ts [--level wide] [--threads 1] [--turns 30] [--calls 50]
 */
import { Session } from "node:inspector/promises";
import { tidy } from "../src/api/tidy.ts";
import { empty, scaledDotProductAttention, type Tensor, tensor } from "../src/index.ts";
import { forward } from "../src/reference/index.ts";
import { optionsOf, printTable, startThreads } from "./support/setup.ts";
import { quantile } from "./support/turns.ts";

const SHAPE = [12, 128, 64] as const;
/** Milliseconds of the profile. */
const PROFILED = 3000;

const { level, threads, turns, calls } = optionsOf({
  level: "wide",
  threads: 1,
  turns: 30,
  calls: 50,
}).values;
await startThreads(threads, level);

const numbers = (shape: readonly number[], seed: number) =>
  tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.37 + seed)),
    [...shape],
  );
const operands = (shape: readonly number[]) => [1, 2, 3].map((seed) => numbers(shape, seed));
const inEngine = (all: readonly Tensor[]) =>
  all.map((one) => {
    const copy = empty([...one.shape]);
    (copy.data as Float32Array).set(one.data as Float32Array);
    return copy;
  });

const [arrays, small] = [operands(SHAPE), operands([1, 8, 64])];
const engine = inEngine(arrays);
const call = ([q, k, v]: readonly Tensor[]) => scaledDotProductAttention(q, k, v).output;
const variants = [
  { name: "operands in arrays", run: () => call(arrays) },
  { name: "operands in the engine's memory", run: () => call(engine) },
  { name: "the same in tidy", run: () => tidy(() => void call(engine)) },
  { name: "a call of 8 × 64, one head", run: () => call(small) },
];

// Nothing is timed before it is checked: the first head, against the formula.
const [H, N, d] = SHAPE;
const [q, k, v] = arrays.map(({ data }) => Float64Array.from((data as Float32Array).subarray(0, N * d)));
const want = forward(q, k, v, { Nq: N, Nk: N, dk: d, dv: d }).output;
const got = call(arrays).toFloat64();
const error = want.reduce((worst, x, i) => Math.max(worst, Math.abs(x - got[i])), 0);
if (!(error < 1e-5)) throw new Error(`bench/short: the output differs from the formula by ${error}`);
console.log(
  `${H} heads, N ${N}, d ${d}, ${level}, ${threads} thread(s); differs from the formula by ${error.toExponential(1)}\n`,
);

const times = variants.map((): number[] => []);
for (let turn = 0; turn < turns; turn++)
  for (const [n, { run }] of variants.entries())
    for (let i = 0; i < calls; i++) {
      const start = performance.now();
      run();
      times[n].push((performance.now() - start) * 1e3);
    }
const microseconds = (all: readonly number[], share: number) => quantile(all, share).toFixed(0);
printTable(
  [
    ["µs", "best", "median"],
    ...variants.map(({ name }, n) => [name, microseconds(times[n], 0), microseconds(times[n], 0.5)]),
  ],
  [1, 2],
);

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.setSamplingInterval", { interval: 100 });
await session.post("Profiler.start");
const start = performance.now();
let count = 0;
for (; performance.now() - start < PROFILED; count++) call(arrays);
const spent = performance.now() - start;
const { profile } = await session.post("Profiler.stop");
session.disconnect();

const samples = new Map<number, number>();
for (const id of profile.samples ?? []) samples.set(id, (samples.get(id) ?? 0) + 1);
const total = profile.samples?.length ?? 0;
const shares = new Map<string, number>();
for (const { id, callFrame } of profile.nodes) {
  const kernel = callFrame.url.startsWith("wasm:") ? ` of ${callFrame.url.split("/").at(-1)}` : "";
  const name = (callFrame.functionName || "(anonymous)") + kernel;
  shares.set(name, (shares.get(name) ?? 0) + (samples.get(id) ?? 0) / total);
}
console.log(`\n${count} calls in a profile, ${((spent * 1e3) / count).toFixed(0)} µs each; of which`);
const largest = [...shares].sort((a, b) => b[1] - a[1]).filter(([, share]) => share >= 0.005);
printTable(
  largest.map(([name, share]) => [
    name,
    `${((share * spent * 1e3) / count).toFixed(0)} µs`,
    `${(100 * share).toFixed(1)} %`,
  ]),
  [1, 2],
);
