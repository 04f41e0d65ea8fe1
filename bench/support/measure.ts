/**
 * One case measured in this process: inputs are made, every contestant's result is checked against the formula in float64,
 * then all take turns with heed (turns.ts) and with the machine's ceiling. Wrong results are not timed.
 */

import { resolve } from "../../src/backend/problem.ts";
import { checkRows } from "../../src/cli/support/run/check.ts";
import { seededTensor } from "../../src/cli/support/run/seeded.ts";
import { narrow } from "../../src/core/dtype.ts";
import type { AttentionOptions, Plan, SimdLevel, Tensor } from "../../src/index.ts";
import { configure, empty, explain, scaledDotProductAttention, tensor } from "../../src/index.ts";
import type { Peer } from "../peers/index.mjs";
import { ceilingOf, type Loop, type Rig } from "../roofline.ts";
import { type CallSizes, type Case, cacheBytes, figure, flopsOf, ONE_THREAD, type Variant } from "./cases.ts";
import { startThreads } from "./setup.ts";
import { type Contestant, quantile, ratios, type Spread, spreadOf, type Taken, takeTurns } from "./turns.ts";

/** The inputs of all contestants of a case, [B, H, N, d]. */
export interface CaseInputs {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
}

/** Seeded inputs, close to a standard normal distribution. */
export function inputsOf({ B, H, Nq, Nk, d }: CallSizes): CaseInputs {
  return {
    query: seededTensor([B, H, Nq, d], 1),
    key: seededTensor([B, H, Nk, d], 2),
    value: seededTensor([B, H, Nk, d], 3),
  };
}

/** A prepared call, and its inputs as the variant stores them. */
export interface PreparedCall {
  readonly inputs: CaseInputs;
  readonly options: AttentionOptions;
  run(): Tensor;
}

/** Prepares a variant's call. */
export function callOf(variant: Variant, sizes: CallSizes, from: CaseInputs): PreparedCall {
  const stored = (t: Tensor): Tensor => {
    if (!variant.cache || variant.cache === "arrays") return t;
    const half = variant.cache === "engine bfloat16";
    const copy = empty(t.shape, half ? "bfloat16" : "float32");
    if (half) narrow("bfloat16", t.data as Float32Array, copy.data);
    else (copy.data as Float32Array).set(t.data as Float32Array);
    return copy;
  };
  const inputs = { query: from.query, key: stored(from.key), value: stored(from.value) };
  const options = variant.options?.(sizes) ?? {};
  const { query, key, value } = inputs;
  return { inputs, options, run: () => scaledDotProductAttention(query, key, value, options).output };
}

/** Largest error of a result in units of the float32 bound, over rows spread through it; at most 1 if the result is right. */
export function errorOf(call: Pick<PreparedCall, "inputs" | "options">, output: Tensor, rows = 24): number {
  const { query, key, value } = call.inputs;
  return checkRows(resolve("bench", query, key, value, call.options), output, rows).bounds;
}

/** A contestant's times, in milliseconds a call. */
export interface Measured {
  readonly name: string;
  readonly kind: "heed" | Peer["kind"];
  /** The npm package of a peer. */
  readonly package?: string;
  readonly ms: Spread;
  /** 4·B·H·Nq·Nk·d a second, in 10⁹, at the median. */
  readonly gflops: number;
  readonly turns: number;
  /** True if there was time for only one cold call. */
  readonly once: boolean;
  /** Error of the checked rows, in units of the bound. */
  readonly error: number;
}

/** The measurements of a case. */
export interface Outcome {
  readonly case: string;
  readonly level: SimdLevel;
  readonly threads: number;
  readonly plan?: Pick<Plan, "kernel" | "threads" | "tasks" | "splits" | "tiles">;
  readonly measured: readonly Measured[];
  /** Peers that did not run, and why. */
  readonly absent: readonly { readonly name: string; readonly why: string }[];
  /** The best burst of the machine's ceiling in this case's turns. */
  readonly ceiling?: { readonly loop: Loop; readonly unit: "GFLOP/s" | "GB/s"; readonly best: number };
  /** Share of the ceiling at the median; skipped tiles do not count as work. */
  readonly ofCeiling?: number;
  readonly figures: Readonly<Record<string, Spread>>;
  readonly notes: readonly string[];
}

/** Maximum error of other packages' results, in units of the bound; a larger one means another formula. */
const PEER_BOUNDS = 16;

interface Entered extends Contestant {
  readonly kind: Measured["kind"];
  readonly package?: string;
  readonly error: number;
  /** Seconds of the call that was checked. */
  readonly first: number;
  dispose?(): unknown;
}

/** heed's own variants, checked. Throws if a result is wrong. */
function heedEntries(c: Case, threads: number, from: CaseInputs): { entered: Entered; call: PreparedCall }[] {
  const [subject, ...others] = c.variants;
  const alone: Variant = { ...subject, name: ONE_THREAD, threads: 1 };
  return [subject, ...others, ...(threads > 1 ? [alone] : [])].map((variant) => {
    const engage = () => void configure({ threads: variant.threads ?? threads });
    engage();
    const call = callOf(variant, c.sizes, from);
    const start = performance.now();
    const output = call.run();
    const first = (performance.now() - start) / 1e3;
    const error = errorOf(call, output);
    if (!(error <= 1))
      throw new Error(`${c.name}, ${variant.name}: wrong by ${error} bounds; nothing was timed`);
    return { call, entered: { name: variant.name, kind: "heed", engage, run: call.run, error, first } };
  });
}

/** A prepared and checked peer, or why it is absent. */
async function enter(peer: Peer, c: Case, threads: number, call: PreparedCall): Promise<Entered | string> {
  const { query, key, value } = call.inputs;
  const { B, H, Nq, Nk, d } = c.sizes;
  try {
    const ready = await peer.prepare({
      B,
      H,
      Nq,
      Nk,
      D: d,
      causal: call.options.isCausal === true,
      threads,
      query: query.data as Float32Array,
      key: key.data as Float32Array,
      value: value.data as Float32Array,
    });
    if ("refuses" in ready) return ready.refuses;
    const start = performance.now();
    const result = await ready.run();
    const first = (performance.now() - start) / 1e3;
    const error = errorOf(call, tensor(Float32Array.from(ready.order(result)), [B, H, Nq, d]));
    if (!(error <= PEER_BOUNDS)) {
      await ready.dispose?.();
      return `its result is wrong by ${error.toPrecision(2)} bounds`;
    }
    const { run, dispose } = ready;
    return { name: peer.name, kind: peer.kind, package: peer.package, run, dispose, error, first };
  } catch (error) {
    return String((error as Error)?.message ?? error).split("\n")[0];
  }
}

/** The ceiling of a case. */
function loopOf(c: Case, level: SimdLevel, rig: Rig): Loop {
  if (c.bound === "read") return "read";
  const loop = ceilingOf(level);
  return rig.has(loop) ? loop : "mul+add";
}

/** Measures one case at the level and number of threads of this process. */
export async function measure(
  c: Case,
  threads: number,
  seconds: number,
  peers: readonly Peer[],
  rig: Rig,
): Promise<Outcome> {
  await startThreads(threads);
  const from = inputsOf(c.sizes);
  const ours = heedEntries(c, threads, from);
  const entered = ours.map((one) => one.entered);
  const absent: { name: string; why: string }[] = [];
  // Peers compute the subject's formula on plain arrays.
  const subject: PreparedCall = { ...ours[0].call, inputs: from };
  for (const peer of c.peers ? peers : []) {
    const one = await enter(peer, c, threads, subject);
    if (typeof one === "string") absent.push({ name: peer.name, why: one });
    else entered.push(one);
  }
  configure({ threads });
  const { query, key, value } = ours[0].call.inputs;
  const { kernel, simd, tasks, splits, tiles, ...plan } = explain(query, key, value, ours[0].call.options);
  if (simd === undefined) throw new Error("bench: the reference has no kernels");
  const loop = loopOf(c, simd, rig);
  const ceilings: number[] = [];
  const taken = await takeTurns(
    entered,
    entered.map((one) => one.first),
    seconds,
    5,
    () => ceilings.push(rig.sample(loop, loop === "read" ? cacheBytes(c.sizes) : 0)),
  );
  for (const one of entered) await one.dispose?.();
  const measured = entered.map(({ name, kind, package: from, error }, n): Measured => {
    const ms = spreadOf(taken[n].seconds.map((s) => s * 1e3));
    const turns = taken[n].seconds.filter((x) => x === x).length;
    return {
      name,
      kind,
      package: from,
      ms,
      gflops: flopsOf(c.sizes) / ms.median / 1e6,
      turns,
      once: taken[n].once,
      error,
    };
  });
  const best = Math.max(...ceilings);
  const speed =
    loop === "read"
      ? cacheBytes(c.sizes) / measured[0].ms.median / 1e6
      : measured[0].gflops * visibleShare(tiles);
  const ofCeiling = speed / best;
  return {
    case: c.name,
    level: simd,
    threads,
    plan: { kernel, tasks, splits, tiles, threads: plan.threads },
    measured,
    absent,
    ceiling: { loop, unit: loop === "read" ? "GB/s" : "GFLOP/s", best },
    ofCeiling,
    figures: { ...figuresOf(c, measured, taken, tiles), [figure.ofCeiling]: spreadOf([ofCeiling]) },
    notes: [],
  };
}

/** Share of the tiles that are not skipped. */
function visibleShare(tiles: Plan["tiles"]): number {
  if (!tiles) return 1;
  const { skipped, full, partial } = tiles;
  return (full + partial) / (skipped + full + partial);
}

/** The figures of each time, and the ratios of the subject to the others. */
function figuresOf(
  c: Case,
  measured: readonly Measured[],
  taken: readonly Taken[],
  tiles: Plan["tiles"],
): Record<string, Spread> {
  const [subject] = taken;
  const out: Record<string, Spread> = {
    [figure.ms]: measured[0].ms,
    [figure.gflops]: spreadOf(subject.seconds.map((s) => flopsOf(c.sizes) / s / 1e9)),
  };
  const fastest = new Map<string, number>();
  for (let n = 1; n < taken.length; n++) {
    const { name, kind, package: from } = measured[n];
    if (kind === "heed") out[figure.timeOver(name)] = spreadOf(ratios(subject, taken[n]));
    else {
      out[figure.speedOver(name)] = spreadOf(ratios(taken[n], subject));
      const before = fastest.get(from ?? "");
      if (from && (before === undefined || measured[n].ms.median < measured[before].ms.median))
        fastest.set(from, n);
    }
  }
  for (const [from, n] of fastest) out[figure.speedOver(from)] = spreadOf(ratios(taken[n], subject));
  const unmasked = taken.find(({ name }) => name === c.tiles?.full);
  if (unmasked && tiles) {
    const share = visibleShare(tiles);
    const usual = quantile(unmasked.seconds, 0.5);
    const allowed = (n: number) => 1.15 * share * (unmasked.seconds[n] ?? usual) + 2e-4;
    out["visible share of tiles"] = spreadOf([share]);
    out[figure.allowed] = spreadOf(subject.seconds.map((s, n) => s / allowed(n)).filter((x) => x === x));
  }
  return out;
}
