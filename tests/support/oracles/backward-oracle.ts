/**
 * The reference gradients of a case in float64, with a bound around each, of the form of Bound B (tests/support/oracles/tolerance.ts).
 *
 * εᵢ, the relative error of a row's weights rebuilt from lse, is the error of a score and of lse: twice the bound of lse.
 * With a = Σ|dO·v| of a cell and δ's error eδ from the bound of the output, from which δ is computed:
 *
 *   dV = Σᵢ p·dO            |error| ≤ Σᵢ (εᵢ + c_R·u)·p·|dO|
 *   dS = p∘(dP − δ)         e = p·((εᵢ + 4u)·|dP − δ| + c_E·u·a + eδ),   then through the score mod f:
 *   dS′ = dS·f′(s)          e′ = e·|f′| + |dS|·(|f′(s ± dᵢ) − f′(s)| + 40·u·max(1, |f′|))
 *   dQ = scale·Σⱼ dS′·k     |error| ≤ |scale|·Σⱼ (e′ + c_M·u·|dS′|)·|k|,   dK likewise over the rows of a group
 *
 * With dropout each p, dP and o has up to 1/(1 − p) of its size, and the terms of dP − δ do not cancel: their sizes are added.
 *
 * c_E, c_M and c_R are the constants of Bound B for sums over dv, keys and rows. The bound of underflow is added as in Bound B.
 */
import type { AttentionGradients, AttentionResult } from "heed";
import { attentionBackward, scaledDotProductAttention, Tensor } from "heed";
import { type Case, describeCase, rounded } from "../cases/problem/case.ts";
import { random } from "../cases/random.ts";
import { flattened, textbookScores32, truth } from "./oracle.ts";
import { constants, difference, FIRST_ORDER, OUTPUT_ROUNDING, roundingOf, unit } from "./tolerance.ts";

/** Gradients in the order [B, H, N, d], with the bound of each number. */
export interface Tolerances {
  readonly dQuery: Float64Array;
  readonly dKey: Float64Array;
  readonly dValue: Float64Array;
  /** For every cell of the scores, [B, Hq, Nq, Nk]: the terms of the gradient of an additive mask. */
  readonly cells: Float64Array;
  /** Of sinks, by head: Σ w·δ over the rows, w = e^(sink − lse). */
  readonly sinks: Float64Array;
  /** Of any entry of a table that score mods read: Σ ds·∂, with |∂| at most the score, the distance or 1. */
  table: number;
  /** The sums of absolute terms of the last three: no part of a sum is larger. */
  readonly sizes: { readonly cells: Float64Array; readonly sinks: Float64Array; table: number };
}

/** A gradient of the output, exact in the case's dtype, dense in the output's shape. */
export function upstream(c: Case, shape: readonly number[]): { tensor: Tensor; exact: Float64Array } {
  const r = random(shape.reduce((a, b) => a * 31 + b, 7));
  const dtype = c.dtype === "float64" ? "float64" : "float32";
  const values = Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () =>
    rounded(r.normal(), dtype),
  );
  const data = dtype === "float64" ? values : Float32Array.from(values);
  const tensor = new Tensor(data, shape, dtype);
  const across = c.options.layout === "bshd";
  return { tensor, exact: across ? tensor.transpose(-3, -2).toFloat64() : values };
}

/**
 * Bounds of the gradients, or undefined if a first-order bound does not apply. `inParts`: of a sum over shards of the keys. A shard whose
 * other keys have weights within the rounding of lse may be taken for a complete row, which leaves their terms out.
 */
export function tolerancesOf(c: Case, dO: Float64Array, inParts = false): Tolerances | undefined {
  const { B, Hq, Hkv, Nq, Nk, dk, dv } = c.lengths;
  const want = truth(c);
  if (want.hull.some((x) => x === 1) || want.lseTolerance.some((x) => 2 * x > FIRST_ORDER)) return undefined;
  const u = unit(c.dtype === "float64" ? "float64" : "float32");
  const G = Hq / Hkv;
  const cE = constants(dv, 1, c.structured).cD / 2;
  const cM = constants(1, Nk, c.structured).cM;
  const cR = constants(1, Nq * G, c.structured).cM;
  const scale = Math.abs(c.scale);
  const tolerance: Tolerances = {
    dQuery: new Float64Array(B * Hq * Nq * dk),
    dKey: new Float64Array(B * Hkv * Nk * dk),
    dValue: new Float64Array(B * Hkv * Nk * dv),
    cells: new Float64Array(B * Hq * Nq * Nk),
    sinks: new Float64Array(Hq),
    table: 0,
    sizes: { cells: new Float64Array(B * Hq * Nq * Nk), sinks: new Float64Array(Hq), table: 0 },
  };
  const { sizes } = tolerance;
  const drop = 1 / (1 - (c.options.dropoutP ?? 0));
  let largest = 0;
  for (let row = 0; row < B * Hq * Nq; row++) {
    const i = row % Nq;
    const h = Math.floor(row / Nq) % Hq;
    const b = Math.floor(row / (Nq * Hq));
    const kv = (b * Hkv + Math.floor(h / G)) * Nk;
    if (want.lse[row] === -Infinity) continue;
    const epsilon = 2 * want.lseTolerance[row];
    let deltaError = 0;
    let delta = 0;
    let deltaSize = 0;
    for (let e = 0; e < dv; e++) {
      const at = row * dv + e;
      // With dropout the output is any part of Σ p·|v|, up to 1/(1 − p) of it.
      const size = drop === 1 ? Math.abs(want.output[at]) : drop * want.spread[at];
      const stored = drop === 1 ? 0 : roundingOf(c.dtype).u * size;
      deltaError += Math.abs(dO[at]) * (drop * want.tolerance[at] + stored + cE * u * size);
      delta += dO[at] * want.output[at];
      deltaSize += Math.abs(dO[at]) * size;
    }
    const isVisible = (j: number) =>
      c.allowed(b, h, i, j) && c.added.every((add) => add(b, h, i, j) !== -Infinity);
    const rounding = 4 * u * (1 + Math.abs(want.lse[row]));
    let missing = 0;
    for (let j = 0; inParts && j < Nk; j++) {
      if (!isVisible(j)) continue;
      let a = 0;
      for (let e = 0; e < dv; e++) a += Math.abs(dO[row * dv + e] * c.exact.v[(kv + j) * dv + e]);
      missing = Math.max(missing, rounding * drop * a);
    }
    for (let j = 0; j < Nk; j++) {
      if (!isVisible(j)) continue;
      const p = want.weights[row * Nk + j];
      let [dP, a, s] = [0, 0, 0];
      for (let e = 0; e < dv; e++) {
        const x = dO[row * dv + e] * c.exact.v[(kv + j) * dv + e];
        dP += x;
        a += Math.abs(x);
        tolerance.dValue[(kv + j) * dv + e] +=
          ((epsilon + cR * u + (inParts ? rounding : 0)) * p * drop + 2 ** -120) *
            Math.abs(dO[row * dv + e]) +
          2 ** -148;
      }
      for (let d = 0; d < dk; d++) s += c.exact.q[row * dk + d] * c.exact.k[(kv + j) * dk + d];
      s *= c.scale;
      const change = slopeOf(c, b, h, i, j, s, epsilon);
      if (change === undefined) continue;
      a *= drop;
      const difference = drop === 1 ? Math.abs(dP - delta) : a + deltaSize;
      const error = p * ((epsilon + 4 * u) * difference + cE * u * a + deltaError + 2 * missing);
      const under = 2 ** -120 * (a + Math.abs(delta)) + (dv + 4) * 2 ** -148;
      const size = p * difference + error;
      tolerance.cells[row * Nk + j] = error + under + cM * u * size;
      const after = Math.abs(change.slope);
      const partial = Math.max(1, change.gain) * Math.max(1, Math.abs(s), Math.abs(i + c.offsets[b] - j));
      sizes.cells[row * Nk + j] = size;
      sizes.table += size * partial;
      tolerance.table += (tolerance.cells[row * Nk + j] + (epsilon + cM * u) * size) * partial;
      const e = (error + under) * after + size * change.error;
      for (let d = 0; d < dk; d++) {
        const [q, k] = [Math.abs(c.exact.q[row * dk + d]), Math.abs(c.exact.k[(kv + j) * dk + d])];
        tolerance.dQuery[row * dk + d] += scale * (e + (cM + 3) * u * size * after) * k + 2 ** -148 * (1 + k);
        tolerance.dKey[(kv + j) * dk + d] +=
          scale * (e + (cR + 3) * u * size * after) * q + 2 ** -148 * (1 + q);
        largest = Math.max(largest, (a + Math.abs(delta)) * (q + k) * scale * after);
      }
    }
    const sink = c.sinks?.[h] ?? -Infinity;
    if (sink === -Infinity) continue;
    const w = Math.exp(sink - want.lse[row]);
    tolerance.sinks[h] += w * ((epsilon + cR * u) * deltaSize + deltaError + missing) + 2 ** -148 * (1 + w);
    sizes.sinks[h] += w * deltaSize;
  }
  // Intermediate sums close to the largest float32 may overflow.
  return largest * Nk * Nq * G < 1e36 ? tolerance : undefined;
}

/** Derivative of all score mods at a score, and its change by an error of the score; undefined if a score mod masks the cell. */
function slopeOf(c: Case, b: number, h: number, i: number, j: number, s: number, d: number) {
  if (c.changes.length === 0) return { slope: 1, error: 0, gain: 1 };
  const at = [b, h, i + c.offsets[b], j] as const;
  const f = (x: number) => c.changes.reduce((y, change) => change.apply(y, ...at), x);
  if (f(s) === -Infinity) return undefined;
  const step = 1e-5 * (1 + Math.abs(s));
  const slope = (x: number) => (f(x + step) - f(x - step)) / (2 * step);
  const here = slope(s);
  const u = unit(c.dtype === "float64" ? "float64" : "float32");
  const spread = Math.abs(slope(s + d) - here) + Math.abs(slope(s - d) - here);
  const gain = c.changes.reduce(
    (g, { error }) => g * Math.max(1, error(1, 0, 0, ...at) - error(0, 0, 0, ...at)),
    1,
  );
  return { slope: here, error: spread + 1e-9 + 40 * u * Math.max(1, Math.abs(here)), gain };
}

/** Numbers of a gradient of one input in the order [B, H, N, d]. */
export const flat = (c: Case, t: Tensor): Float64Array =>
  (c.options.layout === "bshd" ? t.transpose(-3, -2) : t).toFloat64();

/**
 * Textbook gradients in float32 from the arguments of the call, output and lse included: P = e^(S − lse),
 * dS = P∘(dP − rowsum(dO∘O)), all weights in memory, sums one by one.
 */
function textbookBackward32(c: Case, dO: Float64Array, state: AttentionResult): Record<Name, Float32Array> {
  const { B, Hq, Hkv, Nq, Nk, dk, dv } = c.lengths;
  const f = Math.fround;
  const { output, lse } = flattened(c, state);
  const weights = textbookScores32(c).map((s, n) =>
    s === -Infinity ? 0 : f(Math.exp(f(s - lse[Math.floor(n / Nk)]))),
  );
  const dQuery = new Float32Array(B * Hq * Nq * dk);
  const dKey = new Float32Array(B * Hkv * Nk * dk);
  const dValue = new Float32Array(B * Hkv * Nk * dv);
  const dP = new Float32Array(Nk);
  for (let row = 0; row < B * Hq * Nq; row++) {
    const i = row % Nq;
    const h = Math.floor(row / Nq) % Hq;
    const b = Math.floor(row / (Nq * Hq));
    const kv = (b * Hkv + Math.floor((h * Hkv) / Hq)) * Nk;
    const visible = Array.from({ length: Nk }, (_, j) => j).filter((j) => weights[row * Nk + j] !== 0);
    let delta = 0;
    for (let e = 0; e < dv; e++) delta = f(delta + f(dO[row * dv + e] * output[row * dv + e]));
    for (const j of visible) {
      const p = weights[row * Nk + j];
      let x = 0;
      for (let e = 0; e < dv; e++) {
        x = f(x + f(dO[row * dv + e] * c.exact.v[(kv + j) * dv + e]));
        dValue[(kv + j) * dv + e] += f(p * dO[row * dv + e]);
      }
      dP[j] = x;
    }
    for (const j of visible) {
      let dS = f(weights[row * Nk + j] * f(dP[j] - delta));
      let s = 0;
      for (let d = 0; d < dk; d++) s += c.exact.q[row * dk + d] * c.exact.k[(kv + j) * dk + d];
      dS = f(f(dS * (slopeOf(c, b, h, i, j, s * c.scale, 0)?.slope ?? 0)) * f(c.scale));
      for (let d = 0; d < dk; d++) {
        dQuery[row * dk + d] += f(dS * c.exact.k[(kv + j) * dk + d]);
        dKey[(kv + j) * dk + d] += f(dS * c.exact.q[row * dk + d]);
      }
    }
  }
  return { dQuery, dKey, dValue };
}

type Name = "dQuery" | "dKey" | "dValue";

/** Over a run: ratio of the largest error of a gradient to that of the textbook's float32. */
export const BACKWARD_STATISTIC = { median: 1.2, p99: 6 };

/** The result of a check: the largest share of the bound, or that the case has no bound. */
export interface BackwardMeasure {
  readonly use: number;
  readonly bounded: boolean;
  /** Largest error of dQuery, dKey and dValue over that of the textbook's float32, if that is known and not 0. */
  readonly ratios: readonly number[];
}

/** Runs the backward pass of a case and compares it with float64; the error it throws has everything to reproduce the case. */
export function checkBackward(c: Case): BackwardMeasure {
  const state = scaledDotProductAttention(c.query, c.key, c.value, c.options);
  const { tensor: dOutput, exact: dO } = upstream(c, state.output.shape);
  const got = attentionBackward(dOutput, c.query, c.key, c.value, state, c.options);
  const tolerance = tolerancesOf(c, dO);
  if (!tolerance) return { use: 0, bounded: false, ratios: [] };
  const want = inFloat64(c, dOutput);
  let use = 0;
  const ratios: number[] = [];
  const plain = c.dtype === "float32" && !c.options.dropoutP ? textbookBackward32(c, dO, state) : undefined;
  const u = unit(c.dtype === "float64" ? "float64" : "float32");
  for (const name of ["dQuery", "dKey", "dValue"] as const) {
    const [x, y, around] = [flat(c, got[name]), flat(c, want[name]), tolerance[name]];
    // The gradient of keys that are broadcast over batch entries is the sum.
    const entries = around.length / x.length;
    const narrow = OUTPUT_ROUNDING[got[name].dtype];
    const bound = (n: number) => {
      let sum = 0;
      for (let b = 0; b < entries; b++) sum += around[b * x.length + n];
      return narrow ? sum + narrow.u * (Math.abs(y[n]) + sum) + narrow.least : sum + u * Math.abs(y[n]);
    };
    const wrong = difference(x, y, bound);
    if (wrong) throw new Error(`${name}: ${wrong}\n${describeCase(c)}`);
    for (let n = 0; n < x.length; n++) {
      const off = Math.abs(x[n] - y[n]);
      if (off > 0 && !narrow) use = Math.max(use, off / bound(n));
    }
    if (plain === undefined || narrow || entries > 1) continue;
    const largest = (z: ArrayLike<number>) =>
      y.reduce((worst, yn, n) => Math.max(worst, Math.abs(z[n] - yn)), 0);
    const scale = largest(plain[name]);
    if (scale > 0) ratios.push(largest(x) / scale);
  }
  return { use, bounded: true, ratios };
}

/** The same call in float64, on the same numbers: its gradients. */
const inFloat64 = (c: Case, dOutput: Tensor): AttentionGradients => exactly(c, dOutput).gradients;

/** The same call in float64, on the same numbers. */
export function exactly(
  c: Case,
  dOutput: Tensor,
): { readonly state: AttentionResult; readonly gradients: AttentionGradients } {
  const wide = (t: Tensor) => new Tensor(t.toFloat64(), t.shape, "float64");
  // A 16-bit mask has the query's dtype; a float64 call gets it as float32, which represents it exactly.
  const list = Array.isArray(c.options.attnMask) ? c.options.attnMask : [c.options.attnMask];
  const attnMask = list
    .filter((m) => m !== undefined)
    .map((m) =>
      m instanceof Tensor && OUTPUT_ROUNDING[m.dtype]
        ? new Tensor(Float32Array.from(m.toFloat64()), m.shape, "float32")
        : m,
    );
  const options = { ...c.options, ...(attnMask.length > 0 && { attnMask }) };
  const [q, k, v] = [c.query, c.key, c.value].map(wide);
  const state = scaledDotProductAttention(q, k, v, options);
  return { state, gradients: attentionBackward(wide(dOutput), q, k, v, state, options) };
}
