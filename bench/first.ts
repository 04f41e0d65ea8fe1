/**
 * The first calls of a kernel: the time to emit and compile one of a new kind, and the time from the first call until calls
 * run at their steady speed (V8 first runs code of its baseline compiler, then replaces it).
 */

import { resolve } from "../src/backend/problem.ts";
import { explain, type ScoreMod, scaledDotProductAttention, scoreMod } from "../src/index.ts";
import { specOf } from "../src/wasm/attention/plan.ts";
import { getEngine } from "../src/wasm/engine/engine.ts";
import { codeOf } from "../tests/support/backends/kernels.ts";
import { type Case, figure } from "./support/cases.ts";
import { errorOf, inputsOf, type Outcome } from "./support/measure.ts";
import { startThreads } from "./support/setup.ts";
import { quantile, spreadOf } from "./support/turns.ts";

const KINDS = 12;
/** Calls of a new kind: the last ones run at the steady speed. */
const CALLS = 80;
/** Number of calls that define the steady speed, and the tolerance of a steady call. */
const LAST = 20;
const NEAR = 1.15;

/** A distance penalty and five plain steps, in another form for each number: with other constants only, they would share a kernel. */
function kind(n: number): ScoreMod {
  return scoreMod(({ score, q, k }) => {
    let x = score.sub(q.sub(k).abs().mul(0.01));
    for (let bit = 0; bit < 5; bit++) x = (n >> bit) & 1 ? x.add(0.01) : x.mul(1.01);
    return x;
  });
}

/** Measures kernels that are new to this process. */
export async function measureFirst(c: Case, threads: number): Promise<Outcome> {
  await startThreads(threads);
  const inputs = inputsOf(c.sizes);
  const { query, key, value } = inputs;
  const plan = explain(query, key, value, { scoreMod: kind(0) });
  if (plan.simd === undefined) throw new Error("bench: the reference has no kernels");
  const built: number[] = [];
  const steady: number[] = [];
  const firsts: number[] = [];
  // Every kind needs the packing kernel, so it is compiled before.
  for (let n = 0; n < 5; n++) scaledDotProductAttention(query, key, value);
  for (let n = 0; n < KINDS; n++) {
    // V8 caches modules by their bytes, so a kind is either built here or called, not both.
    const built0 = resolve("bench", query, key, value, { scoreMod: kind(2 * n) });
    const engine = getEngine();
    if (!engine) throw new Error("bench: this runtime has no WebAssembly");
    const start = performance.now();
    const { spec } = specOf(built0, plan.simd, engine.memory.shared);
    const instance = new WebAssembly.Instance(new WebAssembly.Module(codeOf(spec)), {
      env: { memory: engine.memory.memory },
    });
    if (typeof instance.exports.run !== "function") throw new Error("bench: a kernel without run");
    built.push(performance.now() - start);

    const options = { scoreMod: kind(2 * n + 1) };
    const begun = performance.now();
    const ends: number[] = [];
    let { output } = scaledDotProductAttention(query, key, value, options);
    ends.push(performance.now());
    while (ends.length < CALLS) {
      output = scaledDotProductAttention(query, key, value, options).output;
      ends.push(performance.now());
    }
    const error = errorOf({ inputs, options }, output);
    if (!(error <= 1)) throw new Error(`${c.name}: wrong by ${error} bounds`);
    const times = ends.map((end, i) => end - (i === 0 ? begun : ends[i - 1]));
    const usual = quantile(times.slice(-LAST), 0.5);
    // The first of three consecutive calls whose median is at the steady speed.
    const at = times.findIndex((_, i) => quantile(times.slice(i, i + 3), 0.5) <= NEAR * usual);
    steady.push(at === 0 ? 0 : ends[at - 1] - begun);
    firsts.push(times[0]);
  }
  return {
    case: c.name,
    level: plan.simd,
    threads,
    plan: { kernel: plan.kernel, threads: plan.threads, tasks: plan.tasks, splits: plan.splits },
    measured: [],
    absent: [],
    figures: {
      [figure.build]: spreadOf(built),
      [figure.steady]: spreadOf(steady),
      "ms of the first call": spreadOf(firsts),
    },
    notes: [
      `the process's first kernel of a kind took ${built[0].toFixed(1)} ms to emit and compile, the slowest ${Math.max(...built).toFixed(1)} ms`,
    ],
  };
}
