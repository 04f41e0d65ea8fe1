/** The reference result of a case by `heed/reference`, with Bound B; and the textbook's float32 for comparison. */
import { type AttentionResult, scaledDotProductAttention } from "heed";
import { forward } from "heed/reference";
import { type Case, describeCase } from "../cases/problem/case.ts";
import { constants, difference, FIRST_ORDER, floorOf, lseBound, OUTPUT_ROUNDING, unit } from "./tolerance.ts";

/** Results [B, Hq, Nq, dv], [B, Hq, Nq] and [B, Hq, Nq, Nk], and the bounds of the first two. */
export interface Truth {
  readonly output: Float64Array;
  readonly lse: Float64Array;
  readonly weights: Float64Array;
  readonly tolerance: Float64Array;
  /** Σ p·|v| of each number of the output. */
  readonly spread: Float64Array;
  readonly lseTolerance: Float64Array;
  /** Rows whose scores are so large that only the hull of the values bounds their output. */
  readonly hull: Uint8Array;
}

/** Weight of biases and changes in dᵢ: Σp|v − o| ≤ 2·Σp|v|. */
const BOTH_SIDES = 2;

/** The formula in float64, head by head, and the bound of the difference of a float32 result. */
export function truth(c: Case): Truth {
  const { B, Hq, Hkv, Nq, Nk, dk, dv } = c.lengths;
  const G = Hkv === 0 ? 1 : Hq / Hkv;
  const u = unit(c.dtype === "float64" ? "float64" : "float32");
  const { cD, cM } = constants(dk, Nk, c.structured);
  const rows = B * Hq * Nq;
  const out = {
    output: new Float64Array(rows * dv),
    lse: new Float64Array(rows),
    weights: new Float64Array(rows * Nk),
    tolerance: new Float64Array(rows * dv),
    spread: new Float64Array(rows * dv),
    lseTolerance: new Float64Array(rows),
    hull: new Uint8Array(rows),
  };
  for (let b = 0; b < B; b++)
    for (let h = 0; h < Hq; h++) {
      const kv = b * Hkv + Math.floor(h / G);
      const head = b * Hq + h;
      const q = c.exact.q.subarray(head * Nq * dk, (head + 1) * Nq * dk);
      const k = c.exact.k.subarray(kv * Nk * dk, (kv + 1) * Nk * dk);
      const v = c.exact.v.subarray(kv * Nk * dv, (kv + 1) * Nk * dv);
      const dots = new Float64Array(Nq);
      const extra = new Float64Array(Nq);
      const biases = new Float64Array(Nq);
      const sink = c.sinks?.[h] ?? -Infinity;
      if (sink !== -Infinity) biases.fill(Math.abs(sink));
      const allowed = (i: number, j: number) =>
        c.allowed(b, h, i, j) && c.added.every((add) => add(b, h, i, j) !== -Infinity);
      const one = forward(
        q,
        k,
        v,
        { Nq, Nk, dk, dv },
        {
          scale: c.scale,
          allowed,
          score(s, i, j) {
            let size = 0;
            for (let d = 0; d < dk; d++) size += Math.abs(q[i * dk + d] * k[j * dk + d]);
            // Errors in units of u: of the dot product (c_D is applied to the largest), then of each change.
            let gain = 1;
            let e = 0;
            for (const change of c.changes) {
              const at = [b, h, i + c.offsets[b], j] as const;
              const after = change.apply(s, ...at);
              gain *= Math.max(1, change.error(1, 0, 0, ...at) - change.error(0, 0, 0, ...at));
              e = change.error(e, s, after, ...at);
              s = after;
            }
            let bias = 0;
            for (const add of c.added) {
              s += add(b, h, i, j);
              bias += Math.abs(add(b, h, i, j)) * c.added.length;
            }
            dots[i] = Math.max(dots[i], gain * Math.abs(c.scale) * size);
            extra[i] = Math.max(extra[i], e);
            biases[i] = Math.max(biases[i], bias + (sink === -Infinity ? 0 : Math.abs(sink)));
            return s;
          },
        },
      );
      for (let i = 0; i < Nq; i++) {
        const row = head * Nq + i;
        // The sink is a term of the sum without a value.
        const m = Math.max(one.lse[i], sink);
        const lse = m === -Infinity ? m : m + Math.log(Math.exp(one.lse[i] - m) + Math.exp(sink - m));
        const share = sink === -Infinity || lse === -Infinity ? 1 : Math.exp(one.lse[i] - lse);
        const d = u * (cD * dots[i] + BOTH_SIDES * (extra[i] + biases[i]));
        out.lse[row] = sink === -Infinity ? one.lse[i] : lse;
        out.lseTolerance[row] = lse === -Infinity ? 0 : lseBound(d, cM, u, lse);
        out.hull[row] = d > FIRST_ORDER ? 1 : 0;
        for (let j = 0; j < Nk; j++) out.weights[row * Nk + j] = share * one.weights[i * Nk + j];
        const visible = Array.from({ length: Nk }, (_, j) => j).filter((j) => allowed(i, j));
        for (let e = 0; e < dv; e++) {
          let spread = 0;
          let largest = 0;
          for (const j of visible) {
            const x = Math.abs(v[j * dv + e]);
            spread += out.weights[row * Nk + j] * x;
            if (x > largest) largest = x;
          }
          out.spread[row * dv + e] = spread;
          const R = share * one.output[i * dv + e];
          out.output[row * dv + e] = R;
          let tolerance = out.hull[row] ? 0 : (d + cM * u) * spread;
          if (visible.length) tolerance += floorOf(largest, Nk);
          const narrow = OUTPUT_ROUNDING[c.dtype];
          if (narrow && visible.length) tolerance += narrow.u * (Math.abs(R) + tolerance) + narrow.least;
          // Only the hull of the values bounds the output.
          if (out.hull[row]) tolerance += Math.abs(R) + largest * (1 + cM * u);
          out.tolerance[row * dv + e] = tolerance;
        }
      }
    }
  return out;
}

/** Output and lse of a result in the order of the reference, for any layout. */
export function flattened(c: Case, result: AttentionResult): { output: Float64Array; lse: Float64Array } {
  const across = c.options.layout === "bshd";
  const output = across ? result.output.transpose(-3, -2) : result.output;
  return { output: output.toFloat64(), lse: result.lse.toFloat64() };
}

/** The result of a check. */
export interface Measure {
  /** Largest share of Bound B that was used. */
  readonly use: number;
  /** Largest error of the output over that of the textbook's float32, if both are known. */
  readonly ratio?: number;
}

/** Runs a case and compares it with its reference; the error it throws has everything to reproduce the case. */
export function check(c: Case, options: { ratio?: boolean } = {}): Measure {
  return checkResult(c, scaledDotProductAttention(c.query, c.key, c.value, c.options), options);
}

/** Compares the result of a case with its reference. */
export function checkResult(c: Case, result: AttentionResult, options: { ratio?: boolean } = {}): Measure {
  const want = truth(c);
  const got = flattened(c, result);
  const wrong =
    difference(got.output, want.output, (i) => want.tolerance[i]) ??
    difference(got.lse, want.lse, (i) => want.lseTolerance[i])?.replace(/^/, "lse ");
  if (wrong) throw new Error(`${wrong}\n${describeCase(c)}`);
  let use = 0;
  let error = 0;
  for (let i = 0; i < got.output.length; i++) {
    const hull = want.hull[Math.floor(i / c.lengths.dv)];
    const off = Math.abs(got.output[i] - want.output[i]);
    if (hull || !(off > 0) || OUTPUT_ROUNDING[c.dtype]) continue;
    use = Math.max(use, off / want.tolerance[i]);
    error = Math.max(error, off);
  }
  if (!options.ratio || c.dtype !== "float32" || want.hull.some((x) => x === 1)) return { use };
  const plain = textbook32(c);
  let plainError = 0;
  for (let i = 0; i < plain.length; i++)
    plainError = Math.max(plainError, Math.abs(plain[i] - want.output[i]) || 0);
  return plainError > 0 ? { use, ratio: error / plainError } : { use };
}

/** The textbook in float32: all scores in memory, two passes of softmax, sums one by one. */
function textbook32(c: Case): Float32Array {
  const { B, Hq, Hkv, Nq, Nk, dv } = c.lengths;
  const f = Math.fround;
  const scores = textbookScores32(c);
  const output = new Float32Array(B * Hq * Nq * dv);
  for (let row = 0; row < B * Hq * Nq; row++) {
    const h = Math.floor(row / Nq) % Hq;
    const kv = Math.floor(row / (Nq * Hq)) * Hkv + Math.floor((h * Hkv) / Hq);
    const sink = c.sinks ? f(c.sinks[h]) : -Infinity;
    const s = scores.subarray(row * Nk, (row + 1) * Nk);
    const m = s.reduce((largest, x) => Math.max(largest, x), sink);
    if (m === -Infinity) continue;
    let l = 0;
    for (let j = 0; j < Nk; j++) l = f(l + (s[j] = f(Math.exp(f(s[j] - m)))));
    if (sink !== -Infinity) l = f(l + f(Math.exp(f(sink - m))));
    for (let e = 0; e < dv; e++) {
      let o = 0;
      for (let j = 0; j < Nk; j++)
        if (s[j] !== 0) o = f(o + f(f(s[j] / l) * c.exact.v[(kv * Nk + j) * dv + e]));
      output[row * dv + e] = o;
    }
  }
  return output;
}

/** Its scores, [B, Hq, Nq, Nk], −∞ where masked. */
export function textbookScores32(c: Case): Float32Array {
  const { B, Hq, Hkv, Nq, Nk, dk } = c.lengths;
  const f = Math.fround;
  const scores = new Float32Array(B * Hq * Nq * Nk).fill(-Infinity);
  const scale = f(c.scale);
  for (let row = 0; row < B * Hq * Nq; row++) {
    const i = row % Nq;
    const h = Math.floor(row / Nq) % Hq;
    const b = Math.floor(row / (Nq * Hq));
    const kv = b * Hkv + Math.floor((h * Hkv) / Hq);
    for (let j = 0; j < Nk; j++) {
      if (!c.allowed(b, h, i, j) || c.added.some((add) => add(b, h, i, j) === -Infinity)) continue;
      let dot = 0;
      for (let d = 0; d < dk; d++)
        dot = f(dot + f(c.exact.q[row * dk + d] * c.exact.k[(kv * Nk + j) * dk + d]));
      let x = f(dot * scale);
      for (const change of c.changes) x = f(change.apply(x, b, h, i + c.offsets[b], j));
      for (const add of c.added) x = f(x + add(b, h, i, j));
      scores[row * Nk + j] = x;
    }
  }
  return scores;
}
