/**
 * Matrix products and row-wise operations of a training step: products in the shapes of a small transformer as GFLOP/s and share
 * of the ceiling that runs between their turns; activations, norms, loss and optimizer interleaved with the reference.
 * Results are checked against float64 before they are timed.
 *
 *   node bench/matmul.ts [--level wide] [--threads 1] [--seconds 1]
 */
import { matmul } from "../src/api/matmul.ts";
import type { RowwiseOperation } from "../src/backend/rowwise.ts";
import { Tensor } from "../src/core/tensor.ts";
import { reference } from "../src/reference/backend.ts";
import { wasm } from "../src/wasm/backend.ts";
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

/** A row-wise operation, for the engine and for the reference, which has plain loops in float64. */
export interface RowwiseCase {
  readonly name: string;
  /** Number of elements. */
  readonly numbers: number;
  readonly operation: RowwiseOperation;
  /** What it writes. */
  readonly result: Float32Array;
}

/** The row-wise operations of `rows` tokens: hidden layer of 1024, width of 256, vocabulary of 2048. */
export function rowwise(rows: number): RowwiseCase[] {
  const [H, C, V] = [1024, 256, 2048];
  const [x, dy, logits] = [H, H, V].map((width, n) => tensorOf([rows, width], n + 1).data as Float32Array);
  const [u, du] = [x.subarray(0, rows * C), dy.subarray(0, rows * C)];
  const stats = new Float32Array(4 * rows);
  const norm = { C, centered: true, eps: 1e-5, stats };
  wasm.rowwise({ name: "norm", x: u, y: new Float32Array(u.length), ...norm });
  const targets = Int32Array.from({ length: rows }, (_, n) => (n * 7) % V);
  const [w, m, v] = [0, 1, 2].map(() => new Float32Array(x.length).fill(0.1));
  const scalars = {
    scale: 1, beta1: 0.9, oneMinusBeta1: 0.1, beta2: 0.999, oneMinusBeta2: 0.001, weightDecayFactor: 0.9999, rate: 1e-3, biasCorrection2: 1, eps: 1e-8,
  }; // biome-ignore format: one row
  const [dWeight, dBias, loss] = [C, C, 1].map((size) => new Float64Array(size));
  const named = (name: string, result: Float32Array, operation: RowwiseOperation): RowwiseCase => ({
    name,
    numbers: result.length,
    result,
    operation,
  });
  const maps = (["gelu", "gelu-tanh"] as const).flatMap((map) => {
    const [y, dx] = [new Float32Array(x.length), new Float32Array(x.length)];
    return [
      named(map, y, { name: "map", map, x, y }),
      named(`${map} backward`, dx, { name: "map-backward", map, x, y: x, dy, dx }),
    ];
  });
  const [y, dx] = [new Float32Array(u.length), new Float32Array(u.length)];
  const dLogits = new Float32Array(logits.length);
  return [
    ...maps,
    named("layer norm", y, { name: "norm", x: u, y, ...norm }),
    named("layer norm backward", dx, { name: "norm-backward", x: u, dy: du, dx, dWeight, dBias, ...norm }),
    named("cross-entropy and slopes", dLogits, {
      name: "cross-entropy",
      logits,
      targets,
      V,
      count: 1,
      dLogits,
      loss,
    }),
    named("AdamW", w, { name: "adamw", w, g: x, m, v, scalars }),
  ];
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
  const table = [["rowwise work, 1,024 rows", "engine, ns a number", "reference", "times faster"]];
  for (const { name, numbers, operation } of rowwise(1024)) {
    const both = [wasm, reference].map(({ rowwise }) => ({ name, run: () => rowwise(operation) }));
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
