/**
 * The figures of heed/webgpu on the adapter at hand, in one call: forward, full and causal, in each dtype, and for float16 on each level in use,
 * with --matrices also that one; backward; decode beside the speed of a copy; a row of weights; with --model a text of 128 tokens, or tokens of a decoder. The rows take turns, and medians are printed, with
 * adapter and date. The same calls in small sizes are compared with the CPU before anything is timed.
 *
 *   npm install webgpu && node bench/gpu.ts [--rounds 9] [--model ./all-MiniLM-L6-v2] [--matrices] [--tiny] > gpu.txt
 */
import { tidy } from "../src/api/tidy.ts";
import { resolve } from "../src/backend/problem.ts";
import { adapterText, startGpu } from "../src/cli/support/run/device.ts";
import { seededTensor } from "../src/cli/support/run/seeded.ts";
import * as heed from "../src/index.ts";
import { type CachedDecoder, generate, readModel } from "../src/models/index.ts";
import { type FloatTensor, scale } from "../src/nn/index.ts";
import { forward, forwardShape } from "../src/webgpu/attention/forward.ts";
import { session } from "../src/webgpu/device.ts";
import { isMain, optionsOf, printTable } from "./support/setup.ts";
import { quantile } from "./support/turns.ts";

/** A call that enqueues its work, and what it computes or moves. */
export interface GpuRow {
  readonly name: string;
  readonly unit: "GFLOP/s" | "GB/s" | "tokens/s" | "rows/s";
  readonly amount: number;
  readonly run: () => heed.Tensor | Promise<void>;
}

/** Sizes of the calls; the tiny ones are for tests. */
const SIZES = {
  full: { H: 16, N: 4096, widths: [64, 128], decode: 32_768, weights: 131_072, copy: 2 ** 25 },
  tiny: { H: 2, N: 33, widths: [8], decode: 40, weights: 50, copy: 2 ** 10 },
} as const;
/** Dtypes, their bytes, and the largest error relative to 1 + |number| that is rounding. */
const DTYPES = { float32: [4, 1e-5], float16: [2, 2 ** -10], bfloat16: [2, 2 ** -7] } as const;
type Dtype = keyof typeof DTYPES;
type Place = (t: heed.Tensor) => Promise<heed.Tensor>;

/** The rows without a model. */
export async function rowsOf(size: keyof typeof SIZES, place: Place): Promise<GpuRow[]> {
  const { scaledDotProductAttention: attention } = heed;
  const { H, N, widths, decode, weights, copy } = SIZES[size];
  const rows: GpuRow[] = [];
  const row = (name: string, unit: GpuRow["unit"], amount: number, run: () => heed.Tensor) =>
    rows.push({ name, unit, amount, run: () => tidy(run) });
  const inputs = (dtype: Dtype, ...shapes: (readonly number[])[]) =>
    Promise.all(shapes.map((shape, n) => place(heed.cast(seededTensor(shape, n + 1), dtype))));
  for (const d of widths) {
    const [x, flops] = [[1, H, N, d], 4 * H * N * N * d];
    for (const dtype of Object.keys(DTYPES) as Dtype[]) {
      const [q, k, v, dOutput] = await inputs(dtype, x, x, x, x);
      const what = `${dtype}, d ${d}`;
      row(`forward, full, ${what}`, "GFLOP/s", flops, () => attention(q, k, v).output);
      row(`forward, causal, ${what}`, "GFLOP/s", flops / 2, () => attention(q, k, v, { isCausal: true }).output);
      if (dtype !== "float32") continue;
      const state = attention(q, k, v);
      row(`backward, full, ${what}`, "GFLOP/s", 2.5 * flops, () => heed.attentionBackward(dOutput, q, k, v, state).dQuery);
    }
  }
  const d = widths[widths.length - 1];
  for (const dtype of ["float32", "float16"] as const) {
    const cache = [1, H, decode, d];
    const [q, k, v] = await inputs(dtype, [1, 4 * H, 1, d], cache, cache);
    const bytes = 2 * H * decode * d * DTYPES[dtype][0];
    row(`decode, ${decode} keys, ${dtype}, d ${d}`, "GB/s", bytes, () => attention(q, k, v).output);
  }
  const [q, k, v] = await inputs("float32", [1, 1, 1, 64], [1, 1, weights, 64], [1, 1, weights, 64]);
  const { lse } = attention(q, k, v);
  row(`a row of weights, ${weights} keys`, "rows/s", 1, () => heed.attentionWeights(q, k, lse, { heads: [0], rows: [0] }));
  const [source] = await inputs("float32", [copy]);
  row("copy", "GB/s", 8 * copy, () => scale(source as FloatTensor, 1));
  return rows;
} // biome-ignore format: a row a line

/** The forward pass of float16 on each level in use. */
async function levelRows(size: keyof typeof SIZES, place: Place): Promise<GpuRow[]> {
  const { H, N, widths } = SIZES[size];
  const rows = widths.map(async (d): Promise<GpuRow[]> => {
    const inputs = [1, 2, 3].map((seed) => place(heed.cast(seededTensor([1, H, N, d], seed), "float16")));
    const problem = resolve("bench", ...((await Promise.all(inputs)) as [heed.Tensor, heed.Tensor, heed.Tensor]), {});
    return session().levels.map((level) => {
      const run = () => forward(session(), problem, forwardShape(session(), problem, level)).output;
      return { name: `level ${level.name}, full, float16, d ${d}`, unit: "GFLOP/s", amount: 4 * H * N * N * d, run: () => tidy(run) };
    });
  });
  return (await Promise.all(rows)).flat();
} // biome-ignore format: a row a line

/** The row of a model: a text of 128 tokens, or eight tokens of a decoder. */
async function modelRow(folder: string, device: string): Promise<GpuRow> {
  const { model, architecture, name, maxTokens } = await readModel(folder);
  await model.to(device);
  const ids = Int32Array.from({ length: Math.min(128, maxTokens - 8) }, (_, n) => n % 50);
  const text = { name: `${name}, ${ids.length} tokens`, unit: "tokens/s", amount: ids.length } as const;
  if (architecture !== "decoder") return { ...text, run: () => tidy(() => model.hidden(ids)) };
  const run = async () => {
    for await (const _ of generate(model as unknown as CachedDecoder, ids, { maxTokens: 8, stop: [] }));
  };
  return { ...text, name: `${name}, 8 tokens after ${ids.length}`, amount: 8, run };
}

/** The largest error of the tiny rows on a device, in units of rounding. */
export async function worstOf(place: Place): Promise<number> {
  const [cpu, gpu] = [await rowsOf("tiny", async (t) => t), await rowsOf("tiny", place)];
  let worst = 0;
  for (const [n, { run }] of cpu.entries()) {
    const [want, got] = [run() as heed.Tensor, await (gpu[n].run() as heed.Tensor).to("cpu")];
    const [numbers, bound] = [got.toFloat64(), DTYPES[got.dtype as Dtype][1]];
    want.toFloat64().forEach((x, i) => {
      worst = Math.max(worst, Math.abs(numbers[i] - x) / (1 + Math.abs(x)) / bound);
    });
  }
  return worst;
}

/** Median seconds of each row; they take turns. `finished` resolves when the device has computed all. */
export async function measure(rows: readonly GpuRow[], rounds: number, finished: () => Promise<unknown>) {
  const times: number[][] = rows.map(() => []);
  // The first round compiles.
  for (let round = -1; round < rounds; round++)
    for (const [n, { run }] of rows.entries()) {
      const start = performance.now();
      const result = run();
      await (result instanceof heed.Tensor ? finished() : result);
      if (round >= 0) times[n].push((performance.now() - start) / 1e3);
      if (result instanceof heed.Tensor) result.dispose();
    }
  return times.map((list) => quantile(list, 0.5));
}

if (isMain(import.meta.url)) {
  const { rounds, model, matrices, tiny } = optionsOf({
    rounds: 9,
    model: "",
    matrices: false,
    tiny: false,
  }).values;
  const gpu = await startGpu(matrices ? "matrices" : undefined);
  const worst = await worstOf((t) => t.to(gpu));
  if (!(worst <= 1)) throw new Error(`wrong by ${worst} times the rounding; nothing was timed`);
  const size = tiny ? "tiny" : "full";
  const rows = [...(await rowsOf(size, (t) => t.to(gpu))), ...(await levelRows(size, (t) => t.to(gpu)))];
  if (model !== "") rows.push(await modelRow(model, gpu.name));
  const probe = await heed.tensor([0]).to(gpu);
  const medians = await measure(rows, rounds, () => probe.read());
  console.log(`${adapterText(gpu)}; level ${gpu.level}; ${new Date().toISOString().slice(0, 10)}`);
  const lines = rows.map(({ name, amount, unit }, n) => {
    const speed = amount / medians[n] / (unit.startsWith("G") ? 1e9 : 1);
    return [name, `${(medians[n] * 1e3).toPrecision(3)} ms`, `${speed.toPrecision(3)} ${unit}`];
  });
  printTable([[`median of ${rounds}`, "time", "speed"], ...lines], [1, 2]);
  gpu.destroy();
}
