/**
 * `heed bench`: a short benchmark of the engine on this machine. Every variant (level × threads, and the GPU) is first checked against the
 * formula in float64. Then all variants are interleaved, so that disturbances slow each alike, and medians are reported. The full
 * benchmarks, with other libraries, are in `bench/` of the repository.
 */
import { existsSync } from "node:fs";
import { scaledDotProductAttention } from "../../api/attention.ts";
import { explain } from "../../api/explain.ts";
import { type AttentionOptions, resolve } from "../../backend/problem.ts";
import { configure, settings } from "../../backend/settings.ts";
import type { State } from "../../core/state.ts";
import type { Tensor } from "../../core/tensor.ts";
import { breathe, type Command, EXIT, type Io, UsageError } from "../support/line/command.ts";
import { integer, integers, shape as shapeOf } from "../support/line/values.ts";
import { runBlocking } from "../support/output/interrupt.ts";
import { startProgress } from "../support/output/progress.ts";
import { columnsOf, printJson, secondsText, styler } from "../support/output/terminal.ts";
import { checkRows } from "../support/run/check.ts";
import { flopsOf, guessSeconds } from "../support/run/chunked-run.ts";
import { adapterText, devicesOf } from "../support/run/device.ts";
import { type EngineLevel, level, levelOf, settingsOf } from "../support/run/engine.ts";
import { seededTensor } from "../support/run/seeded.ts";

/** A SIMD level, or the GPU. */
type Engine = EngineLevel | "gpu";

/** A call to time. */
interface Case {
  readonly name: string;
  readonly B: number;
  readonly H: number;
  readonly Nq: number;
  readonly Nk: number;
  readonly d: number;
  readonly causal?: boolean;
}

const CASES: readonly Case[] = [
  { name: "latency", B: 1, H: 12, Nq: 128, Nk: 128, d: 64 },
  { name: "full", B: 1, H: 12, Nq: 1024, Nk: 1024, d: 64 },
  { name: "causal", B: 1, H: 12, Nq: 1024, Nk: 1024, d: 64, causal: true },
  { name: "full, d 128", B: 1, H: 8, Nq: 1024, Nk: 1024, d: 128 },
  { name: "decode", B: 1, H: 12, Nq: 1, Nk: 4096, d: 64 },
];

/** The measurement of one variant of a case, and the share of the FMA peak of its threads where the roofline could be measured. */
type Measured = Awaited<ReturnType<typeof measure>>[number] & { readonly ofPeak?: number };

type Operands = [Tensor, Tensor, Tensor];

interface Variant {
  readonly simd: Engine;
  readonly threads: number;
  readonly times: number[];
  /** Calls per sample, so that a sample takes at least 10 ms. */
  calls: number;
  error: number;
}

/** Seconds of a call on a GPU, which has computed all calls once the numbers of the last one can be read. */
async function secondsOnGpu(call: () => State, calls: number): Promise<number> {
  const start = performance.now();
  for (let n = 1; n <= calls; n++) {
    const { output, lse } = call();
    if (n === calls) await lse.read();
    for (const t of [output, lse]) t.dispose();
  }
  return (performance.now() - start) / 1e3 / calls;
}

/** Times all variants of a case, interleaved. */
async function measure(c: Case, variants: readonly Variant[], rounds: number, io: Io, tell: () => void) {
  const operand = (N: number, seed: number) => seededTensor([c.B, c.H, N, c.d], seed);
  const three: Operands = [operand(c.Nq, 1), operand(c.Nk, 2), operand(c.Nk, 3)];
  const moved = io.device ? ((await Promise.all(three.map((t) => t.to(io.device!)))) as Operands) : three;
  const options: AttentionOptions = c.causal ? { isCausal: true } : {};
  const problem = resolve("heed bench", ...three, options);
  const call = () => scaledDotProductAttention(...three, options);
  const once = guessSeconds(flopsOf(problem), explain(...three, options));
  const onGpu = () => scaledDotProductAttention(...moved, options);
  const engage = ({ simd, threads }: Pick<Variant, "simd" | "threads">) =>
    simd !== "gpu" && configure({ ...settingsOf(simd), threads });
  const seconds = async ({ simd }: Variant, calls: number) =>
    simd === "gpu"
      ? secondsOnGpu(onGpu, calls)
      : runBlocking(calls * once, () => {
          const start = performance.now();
          for (let n = 0; n < calls; n++) call();
          return (performance.now() - start) / 1e3 / calls;
        });
  for (const variant of variants) {
    engage(variant);
    const { output } = variant.simd === "gpu" ? onGpu() : runBlocking(once, call);
    variant.error = checkRows(problem, await output.to("cpu"), 24).bounds;
    if (!(variant.error <= 1))
      throw new Error(
        `${c.name} at ${variant.simd}, ${variant.threads} threads: wrong by ${variant.error} bounds; nothing was timed`,
      );
    variant.calls = Math.max(1, Math.min(1000, Math.ceil(0.01 / (await seconds(variant, 1)))));
    await breathe(io.signal);
  }
  for (let round = 0; round < rounds; round++)
    for (const variant of variants) {
      engage(variant);
      // The first call after a change of settings wakes threads and finds its kernel.
      if (variants.length > 1) await seconds(variant, 1);
      variant.times.push(await seconds(variant, variant.calls));
      tell();
      await breathe(io.signal);
    }
  return variants.map(({ simd, threads, times, error }) => {
    engage({ simd, threads });
    const plan = explain(...(simd === "gpu" ? moved : three), options);
    const sorted = times.toSorted((a, b) => a - b);
    const middle = sorted.length >> 1;
    const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return {
      case: c.name,
      shape: { query: three[0].shape, key: three[1].shape },
      /** The requested level, and the one the engine took; the same for threads. */
      simd,
      level: simd === "gpu" ? simd : levelOf(plan),
      threadLimit: threads,
      threads: plan.threads,
      kernel: plan.kernel,
      /** Seconds of a call: median, and the fastest and slowest round. */
      median,
      fastest: sorted[0],
      slowest: sorted[sorted.length - 1],
      /** 4·B·H·Nq·Nk·d a second, masked scores counted too, in 10⁹. */
      gflops: (4 * c.B * c.H * c.Nq * c.Nk * c.d) / median / 1e9,
      /** Largest error of the rows checked, in units of the float32 bound. */
      error,
    };
  });
}

/** The cases of `--shape`, or the built-in ones. */
function casesOf(shapes: readonly string[] | undefined, causal: boolean): Case[] {
  if (shapes === undefined) return CASES.filter((c) => !causal || c.causal);
  return shapes.map((text) => {
    const [B, H, N, d] = shapeOf("shape", text, 4, 4);
    if (B * H * N * d === 0) throw new UsageError(`--shape ${text} has nothing to compute`);
    return { name: text, B, H, Nq: N, Nk: N, d, causal };
  });
}

/** The FMA peak in GFLOP/s of `threads` threads, from the repository's roofline; undefined outside the repository. */
async function peakOf(threads: number): Promise<number | undefined> {
  const file = new URL("../../../bench/roofline.ts", import.meta.url);
  // Node 20 does not read TypeScript.
  const { typescript } = process.features as { typescript?: string | false };
  if (!existsSync(file) || !typescript) return undefined;
  const module: { peak?: (threads: number) => number | Promise<number> } = await import(file.href);
  return module.peak?.(threads);
}

export const command: Command = {
  name: "bench",
  summary: "measure the engine on this machine",
  usage: "heed bench [OPTIONS]",
  help: {
    shape: "B,H,N,d  measure this shape in place of the built-in ones; may be given several times",
    causal: "causal attention; of the built-in cases only the causal one",
    simd: "LEVELS  levels to compare: wide,relaxed,strict (default: the one in use)",
    threads: "LIST  numbers of threads to compare: 1,2 (default: 1 and all)",
    device: "DEVICE  cpu (default) or gpu; given twice, both are compared",
    rounds: "N  samples of each variant (default 7)",
    json: "the measurements as a JSON object",
  },
  notes: `Results are checked against the formula in float64 before anything is timed. Variants are interleaved; medians are shown.
GFLOP/s count 4·B·H·Nq·Nk·d, masked scores too, so causal attention shows what the mask saves.`,
  multiple: ["shape", "device"],
  comparesEngines: true,
  examples: [
    "heed bench",
    "heed bench --simd wide,relaxed,strict --threads 1",
    "heed bench --shape 1,12,4096,64 --causal --threads 1,2 --rounds 5",
    "heed bench --device cpu --device gpu --threads 1",
    "heed bench --json > bench.json",
  ],
  async run(values, positionals, io) {
    if (positionals.length > 0)
      throw new UsageError(`bench takes no arguments, got ${positionals.join(" ")}`);
    const before = settings();
    const levels = values.simd === undefined ? [before.simd] : String(values.simd).split(",").map(level);
    const counts =
      values.threads === undefined ? [...new Set([1, before.threads])] : integers("threads", values.threads);
    for (const n of counts) integer("threads", String(n), 1, 64);
    const rounds = values.rounds === undefined ? 7 : integer("rounds", values.rounds, 1, 1000);
    const cases = casesOf(values.shape as string[] | undefined, values.causal === true);
    const bar = startProgress(io, "measuring");
    const devices = devicesOf(values);
    const kinds = [
      ...(devices.includes("cpu")
        ? levels.flatMap((simd) => counts.map((threads) => ({ simd, threads })))
        : []),
      ...(io.device ? [{ simd: "gpu" as const, threads: 0 }] : []),
    ];
    const steps = cases.length * kinds.length * rounds;
    const measured: Measured[] = [];
    let done = 0;
    try {
      for (const c of cases) {
        const variants = kinds.map((kind): Variant => ({ ...kind, times: [], calls: 1, error: 0 }));
        measured.push(...(await measure(c, variants, rounds, io, () => bar.update(++done / steps))));
      }
    } finally {
      bar.end();
      configure(before);
    }
    const peaks = new Map<number, number | undefined>();
    for (const { simd, threads } of measured)
      if (simd !== "gpu" && !peaks.has(threads)) peaks.set(threads, await peakOf(threads));
    const results = measured.map((m) => {
      const peak = m.simd === "gpu" ? undefined : peaks.get(m.threads);
      return peak === undefined ? m : { ...m, ofPeak: m.gflops / peak };
    });
    if (values.json) {
      const roofline = Object.fromEntries([...peaks].filter(([, peak]) => peak !== undefined));
      return printJson(io, {
        node: process.versions.node,
        ...(io.device && { adapter: adapterText(io.device) }),
        rounds,
        roofline,
        results,
      });
    }
    io.stdout.write(`${tableOf(results, io).join("\n")}\n`);
    return EXIT.ok;
  },
};

function tableOf(results: readonly Measured[], io: Io): string[] {
  const { bold, dim } = styler(io);
  const peaks = results.some(({ ofPeak }) => ofPeak !== undefined);
  const rows = results.map((m) => {
    const [B, H, N, d] = m.shape.query;
    const keys = m.shape.key[2];
    const level = m.level === m.simd ? m.level : `${m.level} (${m.simd} asked)`;
    const spread = `${secondsText(m.fastest)} – ${secondsText(m.slowest)}`;
    const row = [
      m.case,
      `${B}×${H}×${N === keys ? N : `${N}:${keys}`}×${d}`,
      level,
      m.simd === "gpu"
        ? ""
        : m.threads === m.threadLimit
          ? `${m.threads}`
          : `${m.threads} of ${m.threadLimit}`,
    ];
    row.push(secondsText(m.median), spread, m.gflops.toPrecision(3));
    if (peaks) row.push(m.ofPeak === undefined ? "" : `${(100 * m.ofPeak).toFixed(0)} %`);
    return row;
  });
  const head = ["case", "B×H×N×d", "level", "threads", "median", "range", "GFLOP/s"];
  if (peaks) head.push("of peak");
  const [first, ...rest] = columnsOf([head, ...rows], [3, 4, 6, 7]);
  const worst = Math.max(...results.map(({ error }) => error));
  return [
    bold(first),
    ...rest,
    dim(`checked first: worst error ${worst.toPrecision(2)} of the float32 bound`),
    ...(io.device ? [dim(`gpu: ${adapterText(io.device)}`)] : []),
  ];
}
