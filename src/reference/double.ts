/**
 * Double backward: gradients through `attentionBackward` itself, for gradient penalties, meta-learning and
 * Hessian–vector products.
 *
 * Let F(x, dO) = Σ O(x)·dO with x = (q, k, v). The backward pass is ∇ₓF; a second loss has the gradients g = (gq, gk, gv) with
 * respect to its results. Then ∇ₓ(g·∇ₓF) = H·g, the Hessian is symmetric, and H·g is the derivative of ∇ₓF in the
 * direction g; likewise ∇_dO (g·∇ₓF) is the derivative of O in that direction. So no second graph is needed: each line
 * of the backward pass is differentiated forwards, along g (Pearlmutter 1994, "Fast exact multiplication by the
 * Hessian"). A dot over a letter marks that derivative.
 *
 * Cost: plain float64 loops on one thread, about 2.5 times the multiply–adds of the reference's backward pass
 * (Nq·Nk·(6·dk + 6·dv)), one row of scores at a time, so memory is linear in Nk. Masks, dropout and score mods are
 * constants: their tables have no second gradient.
 */

import { checkOutputLike, reduceToInput } from "../backend/gradients.ts";
import { type AttentionOptions, checkAttentionOptions, resolve } from "../backend/problem.ts";
import type { FloatDType } from "../core/dtype.ts";
import { checkCount, formatTensor, ShapeError } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";
import { type Operand, operandOf } from "../core/shape.ts";
import { asTensor, type Tensor, type TensorLike } from "../core/tensor.ts";
import { derivative } from "../masks/expression/derivative.ts";
import { asFloat, constant } from "../masks/expression/expr.ts";
import { type Cell, compile } from "../masks/expression/js.ts";
import { rowsOf, rowWeights, vectorsOf } from "../rows/problem-rows.ts";

/** Gradients of g·∇F with respect to the inputs of the backward pass. */
export interface DoubleGradients {
  /** With respect to dOutput, in the output's shape. */
  readonly dDOutput: Tensor<FloatDType>;
  readonly dQuery: Tensor<FloatDType>;
  readonly dKey: Tensor<FloatDType>;
  readonly dValue: Tensor<FloatDType>;
}

/**
 * Gradients of Σ dQuery·g.dQuery + Σ dKey·g.dKey + Σ dValue·g.dValue, where dQuery, dKey, dValue are what
 * `attentionBackward(dOutput, query, key, value, …)` returns, by dOutput, query, key and value.
 *
 * @param dOutput as given to attentionBackward: [..., Hq, Nq, dv] ([..., Nq, Hq, dv] in layout `bshd`)
 * @param g gradients of the backward pass's results, each in the shape of its input; an omitted one is 0
 * @param options those of the forward call
 * @throws ShapeError, DTypeError, OptionError before any work
 *
 * @example
 * const { dQuery } = attentionDoubleBackward(ones([1, 2, 4, 8]), q, k, v, { dQuery: ones([1, 2, 4, 8]) });
 */
export function attentionDoubleBackward(
  dOutput: TensorLike,
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  g: { readonly dQuery?: TensorLike; readonly dKey?: TensorLike; readonly dValue?: TensorLike },
  options: AttentionOptions = {},
): DoubleGradients {
  checkCount("attentionDoubleBackward", arguments, 6);
  const what = "attentionDoubleBackward";
  checkAttentionOptions(what, options);
  checkNames(`${what}: the gradients of the backward pass`, g, ["dQuery", "dKey", "dValue"]);
  const problem = resolve(what, query, key, value, { ...options, returnWeights: undefined });
  const { shape, scale, offsets } = problem;
  const { B, Hq, Hkv, G, Nq, Nk, dk, dv } = shape;
  const along = (name: string, like: TensorLike | undefined, input: Operand) => {
    if (like === undefined) return undefined;
    const t = asTensor(`${what}: ${name}`, like);
    if (t.shape.join() !== input.tensor.shape.join())
      throw new ShapeError(
        name,
        `${what}: ${name} must have the shape of its input, [${input.tensor.shape.join(", ")}], got ${formatTensor(name, t)}`,
        { got: t.shape, want: input.tensor.shape },
      );
    return operandOf(shape, t);
  };
  const from = (x: Operand | undefined, n: number) => (x ? vectors(x, n) : () => new Float64Array(n));
  const [q, k, v] = [vectors(shape.query, dk), vectors(shape.key, dk), vectors(shape.value, dv)];
  const gq = from(along("g.dQuery", g.dQuery, shape.query), dk);
  const gk = from(along("g.dKey", g.dKey, shape.key), dk);
  const gv = from(along("g.dValue", g.dValue, shape.value), dv);
  const dOut = vectors(operandOf(shape, checkOutputLike(what, "dOutput", dOutput, problem)), dv);
  const rows = rowsOf(problem);
  const curve = curveOf(problem.score, offsets);

  const dDOutput = new Float64Array(B * Hq * Nq * dv);
  const dQuery = new Float64Array(B * Hq * Nq * dk);
  const dKey = new Float64Array(B * Hkv * Nk * dk);
  const dValue = new Float64Array(B * Hkv * Nk * dv);
  const [s, before, p, sDot, dp, dpDot] = Array.from({ length: 6 }, () => new Float64Array(Nk));
  for (let b = 0; b < B; b++)
    for (let h = 0; h < Hq; h++)
      for (let i = 0; i < Nq; i++) {
        const hk = Math.floor(h / G);
        const highest = rows.scores(b, h, i, s, before);
        const { lse } = rowWeights(problem, h, undefined, highest, s, p);
        if (lse === -Infinity) continue;
        const [qi, qiDot, dO] = [q(b, h, i), gq(b, h, i), dOut(b, h, i)];
        const at = (b * Hq + h) * Nq + i;
        const visible = [];
        for (let j = 0; j < Nk; j++) if (s[j] !== -Infinity) visible.push(j);
        // ṡ = scale·(q̇·k + q·k̇), through the score mod: f′(s)·ṡ.
        let mean = 0;
        for (const j of visible) {
          sDot[j] = scale * (dot(qiDot, k(b, hk, j)) + dot(qi, gk(b, hk, j)));
          mean += p[j] * curve.slope(b, h, i, j, before[j]) * sDot[j];
        }
        // ȯ = Σ ṗ·v + p·v̇ with ṗ = p·(ṡ − Σ p·ṡ);   dp = do·v,   ḋp = do·v̇,   δ = Σ p·dp,   δ̇ = Σ ṗ·dp + p·ḋp
        let [delta, deltaDot] = [0, 0];
        const oDot = dDOutput.subarray(at * dv, (at + 1) * dv);
        for (const j of visible) {
          const factor = rows.dropoutFactor(b, h, i, j);
          const pDot = p[j] * (curve.slope(b, h, i, j, before[j]) * sDot[j] - mean);
          const [vj, vjDot] = [v(b, hk, j), gv(b, hk, j)];
          dp[j] = factor * dot(dO, vj);
          dpDot[j] = factor * dot(dO, vjDot);
          delta += p[j] * dp[j];
          deltaDot += pDot * dp[j] + p[j] * dpDot[j];
          for (let e = 0; e < dv; e++) {
            oDot[e] += factor * (pDot * vj[e] + p[j] * vjDot[e]);
            dValue[((b * Hkv + hk) * Nk + j) * dv + e] += factor * pDot * dO[e];
          }
        }
        // ds = p·(dp − δ)·f′ and its derivative; dq = scale·Σ ds·k, dk = scale·Σ ds·q, likewise.
        for (const j of visible) {
          const [slope, bend] = [curve.slope(b, h, i, j, before[j]), curve.bend(b, h, i, j, before[j])];
          const pDot = p[j] * (slope * sDot[j] - mean);
          const ds = p[j] * (dp[j] - delta);
          const dsDot = pDot * (dp[j] - delta) + p[j] * (dpDot[j] - deltaDot);
          const [x, xDot] = [ds * slope * scale, (dsDot * slope + ds * bend * sDot[j]) * scale];
          const [kj, kjDot] = [k(b, hk, j), gk(b, hk, j)];
          for (let d = 0; d < dk; d++) {
            dQuery[at * dk + d] += xDot * kj[d] + x * kjDot[d];
            dKey[((b * Hkv + hk) * Nk + j) * dk + d] += xDot * qi[d] + x * qiDot[d];
          }
        }
      }
  const output = { ...shape.query, tensor: asTensor(what, dOutput) };
  return {
    dDOutput: reduceToInput(dDOutput, shape, output, Hq, Nq, dv),
    dQuery: reduceToInput(dQuery, shape, shape.query, Hq, Nq, dk),
    dKey: reduceToInput(dKey, shape, shape.key, Hkv, Nk, dk),
    dValue: reduceToInput(dValue, shape, shape.value, Hkv, Nk, dv),
  };
}

const dot = (a: Float64Array, b: Float64Array): number => {
  let sum = 0;
  for (let d = 0; d < a.length; d++) sum += a[d] * b[d];
  return sum;
};

/** A function that returns one vector of an operand. */
function vectors(x: Operand, n: number): (b: number, h: number, row: number) => Float64Array {
  const copy = vectorsOf(x);
  return (b, h, row) => {
    const vector = new Float64Array(n);
    copy(b, h, row, vector);
    return vector;
  };
}

type AtCell = (b: number, h: number, i: number, j: number, score: number) => number;

/** First and second derivative of the score mod: 1 and 0 where there is none. */
function curveOf(score: Parameters<typeof derivative>[0] | undefined, offsets: Float64Array) {
  const first = score ? (derivative(score).score ?? asFloat(constant(1))) : asFloat(constant(1));
  const second = derivative(first).score ?? asFloat(constant(1));
  const at = (f: (cell: Cell) => number): AtCell => {
    return (b, h, i, k, s) => f({ b, h, i, q: i + offsets[b], k, score: s });
  };
  return { slope: at(compile(first)), bend: at(compile(second)) };
}
