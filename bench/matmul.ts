/**
 * Matrix products and row-wise operations of a training step: products in the shapes of a small transformer as GFLOP/s and share
 * of the ceiling that runs between their turns; activations, norms, loss and optimizer interleaved with plain loops.
 * Results are checked against float64 before they are timed.
 *
 *   node bench/matmul.ts [--level wide] [--threads 1] [--seconds 1]
 */
import { matmul } from "../src/api/matmul.ts";
import { Tensor } from "../src/core/tensor.ts";
import { normalCdf, normalDensity } from "../src/reference/erf.ts";
import {
  adamwKernel,
  crossEntropyKernel,
  mapBackwardKernel,
  mapKernel,
  normBackwardKernel,
  normKernel,
} from "../tests/support/backends/rowwise.ts";
import { ceilingOf, Rig } from "./roofline.ts";
import { conditions, isMain, optionsOf, printTable, startThreads } from "./support/setup.ts";
import { quantile, ratios, spreadOf, takeTurns } from "./support/turns.ts";

/** A product of a training step. */
export interface ProductCase {
  readonly name: string;
  readonly M: number;
  readonly K: number;
  readonly N: number;
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
}

/** x·Wᵀ forward, dy·W backward, dyᵀ·x for the weights; then few rows, as in generation. */
export const PRODUCTS: readonly ProductCase[] = [
  { name: "linear 256 → 256", M: 1024, K: 256, N: 256, transposeB: true },
  { name: "linear 256 → 1024", M: 1024, K: 256, N: 1024, transposeB: true },
  { name: "linear 1024 → 256", M: 1024, K: 1024, N: 256, transposeB: true },
  { name: "linear 256 → 1024, long", M: 4096, K: 256, N: 1024, transposeB: true },
  { name: "head 256 → 2048", M: 1024, K: 256, N: 2048, transposeB: true },
  { name: "dx of 256 → 1024", M: 1024, K: 1024, N: 256 },
  { name: "dW of 256 → 1024", M: 1024, K: 1024, N: 256, transposeA: true },
  { name: "dW of 256 → 1024, long", M: 1024, K: 4096, N: 256, transposeA: true },
  { name: "64 rows 256 → 1024", M: 64, K: 256, N: 1024, transposeB: true },
  { name: "8 rows 256 → 1024", M: 8, K: 256, N: 1024, transposeB: true },
  { name: "1 row 256 → 1024", M: 1, K: 256, N: 1024, transposeB: true },
];

/** The call of a product, and its largest error in a few rows over (K + 4)·u·Σ|a·b|. */
export function productOf({ M, K, N, transposeA = false, transposeB = false }: ProductCase) {
  const a = tensorOf(transposeA ? [K, M] : [M, K], 1);
  const b = tensorOf(transposeB ? [N, K] : [K, N], 2);
  const run = () => matmul(a, b, { transposeA, transposeB });
  const error = () => {
    const { data } = run();
    let worst = 0;
    for (const i of [0, M >> 1, M - 1])
      for (let j = 0; j < N; j++) {
        let [sum, size] = [0, 0];
        for (let k = 0; k < K; k++) {
          const x = a.data[transposeA ? k * M + i : i * K + k] * b.data[transposeB ? j * K + k : k * N + j];
          sum += x;
          size += Math.abs(x);
        }
        worst = Math.max(worst, Math.abs(data[i * N + j] - sum) / ((K + 4) * 2 ** -24 * size));
      }
    return worst;
  };
  return { run, error };
}

/** A row-wise operation, on the engine and as plain loops over the same arrays. */
export interface RowwiseCase {
  readonly name: string;
  /** Number of elements. */
  readonly numbers: number;
  readonly engine: () => Float32Array;
  readonly plain: () => Float32Array;
}

/** The row-wise operations of `rows` tokens: hidden layer of 1024, width of 256, vocabulary of 2048. */
export function rowwise(rows: number): RowwiseCase[] {
  const [H, C, V] = [1024, 256, 2048];
  const x = tensorOf([rows, H], 1).data as Float32Array;
  const dy = tensorOf([rows, H], 2).data as Float32Array;
  const map = (f: (x: number, dy: number) => number) => () => {
    const y = new Float32Array(x.length);
    for (let n = 0; n < y.length; n++) y[n] = f(x[n], dy[n]);
    return y;
  };
  const filled = (size: number, fill: (y: Float32Array) => unknown) => () => {
    const y = new Float32Array(size);
    fill(y);
    return y;
  };
  const slope = Math.sqrt(2 / Math.PI);
  const tanhOf = (v: number) => Math.tanh(slope * (v + 0.044715 * v ** 3));
  const [u, du] = [x.subarray(0, rows * C), dy.subarray(0, rows * C)];
  const stats = new Float32Array(4 * rows);
  const norm = { C, centered: true };
  normKernel(u, new Float32Array(u.length), stats, { ...norm, eps: 1e-5 });
  const logits = tensorOf([rows, V], 3).data as Float32Array;
  const targets = Int32Array.from({ length: rows }, (_, n) => (n * 7) % V);
  const [w, m, v] = [0, 1, 2].map(() => new Float32Array(x.length).fill(0.1));
  const step = {
    scale: 1, beta1: 0.9, oneMinusBeta1: 0.1, beta2: 0.999, oneMinusBeta2: 0.001, weightDecayFactor: 0.9999, rate: 1e-3, biasCorrection2: 1, eps: 1e-8,
  }; // biome-ignore format: one row
  return [
    {
      name: "gelu",
      numbers: x.length,
      engine: filled(x.length, (y) => mapKernel("gelu", x, y)),
      plain: map((t) => t * normalCdf(t)),
    },
    {
      name: "gelu backward",
      numbers: x.length,
      engine: filled(x.length, (y) => mapBackwardKernel("gelu", x, dy, y)),
      plain: map((t, d) => d * (normalCdf(t) + t * normalDensity(t))),
    },
    {
      name: "gelu by tanh",
      numbers: x.length,
      engine: filled(x.length, (y) => mapKernel("gelu-tanh", x, y)),
      plain: map((t) => 0.5 * t * (1 + tanhOf(t))),
    },
    {
      name: "gelu by tanh, backward",
      numbers: x.length,
      engine: filled(x.length, (y) => mapBackwardKernel("gelu-tanh", x, dy, y)),
      plain: map((t, d) => {
        const h = tanhOf(t);
        return d * 0.5 * (1 + h + t * (1 - h * h) * slope * (1 + 3 * 0.044715 * t * t));
      }),
    },
    {
      name: "layer norm",
      numbers: u.length,
      engine: filled(u.length, (y) => normKernel(u, y, stats, { ...norm, eps: 1e-5 })),
      plain: filled(u.length, (y) => normalize(u, y, C)),
    },
    {
      name: "layer norm backward",
      numbers: u.length,
      engine: filled(u.length, (y) =>
        normBackwardKernel(u, du, stats, y, new Float64Array(C), new Float64Array(C), norm),
      ),
      plain: filled(u.length, (y) => normalizeBackward(u, du, stats, y, C)),
    },
    {
      name: "cross-entropy and slopes",
      numbers: logits.length,
      engine: filled(logits.length, (y) => crossEntropyKernel(logits, targets, V, 1, y)),
      plain: filled(logits.length, (y) => slopesOf(logits, targets, y, V)),
    },
    {
      name: "AdamW",
      numbers: w.length,
      engine: () => {
        adamwKernel(w, x, m, v, step);
        return w;
      },
      plain: () => {
        for (let n = 0; n < w.length; n++) {
          m[n] = 0.9 * m[n] + 0.1 * x[n];
          v[n] = 0.999 * v[n] + 0.001 * x[n] * x[n];
          w[n] =
            w[n] * step.weightDecayFactor -
            (step.rate * m[n]) / (Math.sqrt(v[n]) * step.biasCorrection2 + step.eps);
        }
        return w;
      },
    },
  ];
}

function normalize(x: Float32Array, y: Float32Array, C: number): void {
  for (let at = 0; at < x.length; at += C) {
    let [mean, squares] = [0, 0];
    for (let n = 0; n < C; n++) mean += x[at + n];
    mean /= C;
    for (let n = 0; n < C; n++) squares += (x[at + n] - mean) ** 2;
    const r = 1 / Math.sqrt(squares / C + 1e-5);
    for (let n = 0; n < C; n++) y[at + n] = (x[at + n] - mean) * r;
  }
}

function normalizeBackward(
  x: Float32Array,
  dy: Float32Array,
  stats: Float32Array,
  dx: Float32Array,
  C: number,
) {
  const [dw, db] = [new Float64Array(C), new Float64Array(C)];
  for (let at = 0, row = 0; at < x.length; at += C, row++) {
    const [mean, r] = [stats[4 * row] + stats[4 * row + 1], stats[4 * row + 2]];
    let [sum, product] = [0, 0];
    for (let n = 0; n < C; n++) {
      const hat = (x[at + n] - mean) * r;
      sum += dy[at + n];
      product += dy[at + n] * hat;
      dw[n] += dy[at + n] * hat;
      db[n] += dy[at + n];
    }
    for (let n = 0; n < C; n++)
      dx[at + n] = r * (dy[at + n] - sum / C - ((x[at + n] - mean) * r * product) / C);
  }
  return [dw, db];
}

function slopesOf(x: Float32Array, targets: Int32Array, slopes: Float32Array, V: number): number {
  let loss = 0;
  for (let row = 0, at = 0; row < targets.length; row++, at += V) {
    let [max, sum] = [-Infinity, 0];
    for (let n = 0; n < V; n++) if (x[at + n] > max) max = x[at + n];
    for (let n = 0; n < V; n++) {
      slopes[at + n] = Math.exp(x[at + n] - max);
      sum += slopes[at + n];
    }
    for (let n = 0; n < V; n++) slopes[at + n] /= sum;
    slopes[at + targets[row]] -= 1;
    loss += Math.log(sum) + max - x[at + targets[row]];
  }
  return loss;
}

/** Numbers between −3 and 3, the same on every run. */
function tensorOf(shape: readonly number[], salt: number): Tensor<"float32"> {
  const size = shape[0] * shape[1];
  return new Tensor(
    Float32Array.from({ length: size }, (_, n) => 3 * Math.sin((n % 65_537) * 1.37 + salt)),
    shape,
    "float32",
  ) as Tensor<"float32">;
}

async function main(level: string, threads: number, seconds: number): Promise<void> {
  await startThreads(threads, level);
  const rig = await new Rig(threads, level === "wide").ready();
  const loop = ceilingOf(level);
  const rows = [["product", "M × K × N", "ms (p25–p75)", "GFLOP/s", "best", "of the ceiling"]];
  for (const c of PRODUCTS) {
    const { run, error } = productOf(c);
    const worst = error();
    if (!(worst <= 1)) throw new Error(`${c.name}: wrong by ${worst} bounds`);
    let ceiling = 0;
    const [taken] = await takeTurns([{ name: c.name, run }], [0], seconds, 5, () => {
      ceiling = Math.max(ceiling, rig.sample(loop));
    });
    const { median, p25, p75, best } = spreadOf(taken.seconds);
    const rate = (s: number) => (2e-9 * c.M * c.K * c.N) / s;
    const ms = (s: number) => (1e3 * s).toFixed(2);
    rows.push([
      c.name,
      `${c.M} × ${c.K} × ${c.N}`,
      `${ms(median)} (${ms(p25)}–${ms(p75)})`,
      rate(median).toFixed(1),
      rate(best).toFixed(1),
      `${Math.round((100 * rate(median)) / ceiling)} %`,
    ]);
  }
  console.log(`${conditions(level, threads)}\n`);
  printTable([...rows, [""]], [2, 3, 4, 5]);
  const table = [["rowwise work, 1,024 rows", "engine, ns a number", "plain", "times faster"]];
  for (const { name, numbers, engine, plain } of rowwise(1024)) {
    const both = [
      { name, run: engine },
      { name: "plain", run: plain },
    ];
    const [a, b] = await takeTurns(both, [0, 0], seconds);
    const ns = (seconds: readonly number[]) => ((1e9 * quantile(seconds, 0.5)) / numbers).toFixed(2);
    table.push([name, ns(a.seconds), ns(b.seconds), quantile(ratios(b, a), 0.5).toFixed(1)]);
  }
  printTable(table, [1, 2, 3]);
  await rig.end();
}

if (isMain(import.meta.url)) {
  const { level, threads, seconds } = optionsOf({ level: "wide", threads: 1, seconds: 1 }).values;
  await main(level, threads, seconds);
}
