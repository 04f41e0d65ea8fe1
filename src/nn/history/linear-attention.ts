/**
 * Attention with a kernel in place of the softmax (Katharopoulos et al. 2020): weights are products of positive features,
 *
 *   outᵢ = Σⱼ (φ(qᵢ)·φ(kⱼ))·vⱼ / Σⱼ φ(qᵢ)·φ(kⱼ)
 *
 * so the sums over keys are computed first: S = Σⱼ φ(kⱼ)·[vⱼ, 1]ᵀ, and each row is φ(qᵢ)·S. Time and memory grow with N,
 * not with N². With a causal mask S is a running sum over chunks of keys. **It is not softmax attention**: its result differs
 * from that of `attention`, as φ(q)·φ(k) differs from e^(q·k). It runs on the CPU.
 *
 * The backward pass is the same sum with its three operands exchanged: with out = Σⱼ (aᵢ·bⱼ)·cⱼ,
 *
 *   daᵢ = Σⱼ (dᵢ·cⱼ)·bⱼ     dbⱼ = Σᵢ (cⱼ·dᵢ)·aᵢ     dcⱼ = Σᵢ (bⱼ·aᵢ)·dᵢ
 */

import { matmul } from "../../api/matmul.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import { checkCount, formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { checkKind, checkOptionNames } from "../../core/option-names.ts";
import { record } from "../../core/recording/record.ts";
import { sizeOf, Tensor, type TensorLike } from "../../core/tensor.ts";
import { elu1 } from "../ops/activations.ts";
import type { WithWeights } from "../ops/attend.ts";
import type { FloatTensor, Precision, PrecisionOf } from "../ops/operand.ts";
import { checkShapeIs, keyMaskOperand, numbers, numbersOf, operand, tensorFrom } from "../ops/operand.ts";
import { concat } from "../ops/shapes.ts";

/** Options of attention by features; all optional. */
export interface LinearAttentionOptions {
  /** Row i attends to keys 0 … i only; needs as many queries as keys. Default false. */
  isCausal?: boolean;
  /** bool [..., Nk], true = attend, the leading axes broadcast: which keys are real. Others are not read. */
  keyMask?: TensorLike | Tensor;
  /** The weights as well, [..., Nq, Nk], in memory that grows with N². Default false. */
  returnWeights?: boolean;
}

/** Names of `LinearAttentionOptions`. */
export const LINEAR_OPTIONS: readonly (keyof LinearAttentionOptions)[] = [
  "isCausal",
  "keyMask",
  "returnWeights",
];

/** Result of attention by features. */
export interface LinearAttentionResult<D extends Precision = Precision> {
  /** [..., Nq, dv] */
  readonly output: FloatTensor<D>;
  /** If requested: [..., Nq, Nk]; no gradient flows through it. */
  readonly weights?: FloatTensor<D>;
}

/**
 * Linear attention: φ(x) = elu(x) + 1. It differs from softmax attention, so a model is trained with one or the other.
 *
 * @param query [..., Nq, dk]; key [..., Nk, dk]; value [..., Nk, dv]; leading axes are equal
 *
 * @example
 * linearAttention(q, k, v, { isCausal: true }).output.shape; // → [1, 2, 4, 8]
 */
export function linearAttention<T extends TensorLike>(
  query: T,
  key: TensorLike,
  value: TensorLike,
  options: LinearAttentionOptions & { returnWeights: true },
): WithWeights<LinearAttentionResult<PrecisionOf<T>>>;
export function linearAttention<T extends TensorLike>(
  query: T,
  key: TensorLike,
  value: TensorLike,
  options?: LinearAttentionOptions,
): LinearAttentionResult<PrecisionOf<T>>;
export function linearAttention(
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: LinearAttentionOptions = {},
): LinearAttentionResult {
  checkCount("linearAttention", arguments, 4);
  const what = "linearAttention";
  checkOptionNames(what, options, LINEAR_OPTIONS);
  const q = operand(what, "query", query);
  checkOnCpu(what, "query", q);
  const k = operand(what, "key", key, q);
  const realKeys = realRows(what, k, options.keyMask);
  return featureAttention(what, elu1(q), elu1(keptRows(k, realKeys)), value, realKeys, options);
}

/** 1 for each real row of keys [..., Nk, d], 0 for padding, in row-major order; undefined without a mask. */
export function realRows(
  what: string,
  key: TensorLike,
  keyMask: TensorLike | undefined,
): Uint8Array | undefined {
  if (keyMask === undefined) return undefined;
  const mask = keyMaskOperand(what, keyMask);
  checkOnCpu(what, "keyMask", mask);
  const { shape } = operand(what, "key", key);
  const want = shape.slice(0, -1);
  const rank = mask.shape.length;
  const steps = want.map((n, i) => {
    const axis = i - want.length + rank;
    const length = mask.shape[axis] ?? 1;
    if (length !== n && (length !== 1 || i === want.length - 1)) return undefined;
    return length === 1 ? 0 : mask.strides[axis];
  });
  if (rank > want.length || steps.includes(undefined))
    throw new ShapeError(
      "key-mask",
      `${what}: keyMask must broadcast to [${want.join(", ")}], one for each key, got ${formatTensor("keyMask", mask)}`,
      { got: mask.shape, want },
    );
  const spread = new Tensor(mask.data, want, "bool", steps as number[], mask.offset);
  return spread.contiguous().data;
}

/** Attention by given features: φ(q) [..., Nq, m], φ(k) [..., Nk, m], value [..., Nk, dv]. */
export function featureAttention(
  what: string,
  queryFeatures: FloatTensor,
  keyFeatures: FloatTensor,
  value: TensorLike,
  realKeys: Uint8Array | undefined,
  options: LinearAttentionOptions,
): LinearAttentionResult {
  const { isCausal = false, returnWeights = false } = options;
  const v = operand(what, "value", value, queryFeatures);
  const [lead, [Nq, m]] = [queryFeatures.shape.slice(0, -2), queryFeatures.shape.slice(-2)];
  const Nk = keyFeatures.shape[keyFeatures.shape.length - 2];
  checkShapeIs(what, "key", keyFeatures, [...lead, Nk, m]);
  checkShapeIs(what, "value", v, [...lead, Nk, v.shape[v.shape.length - 1]]);
  checkKind(what, "returnWeights", "true or false", returnWeights);
  if (typeof isCausal !== "boolean" || (isCausal && Nq !== Nk))
    throw new OptionError(
      "causal",
      `${what}: isCausal must be true or false, and true needs as many queries as keys; got ${formatValue(isCausal)} for ${Nq} queries and ${Nk} keys`,
      { got: isCausal, Nq, Nk },
    );
  const features = keptRows(keyFeatures, realKeys);
  // A column of ones is appended to the values: its weighted sum is the denominator.
  const ones = tensorFrom(numbers(v.dtype, sizeOf([...lead, Nk])).fill(1), [...lead, Nk, 1]);
  const values = concat([keptRows(v, realKeys), ones], -1);
  const output = divided(summed(queryFeatures, features, values, isCausal));
  if (!returnWeights) return { output };
  const scores = matmul(queryFeatures, features, { transposeB: true }) as FloatTensor;
  if (isCausal) maskScores(scores, "before");
  return { output, weights: rowShares(scores) };
}

/** The keys that a row sums over: all, those up to its own position, or those from its own position on. */
type Reach = "all" | "before" | "after";

/** Rows per chunk: products inside a chunk are masked, and a running sum connects the chunks. */
const CHUNK = 64;

/** outᵢ = Σⱼ (aᵢ·bⱼ)·cⱼ, recorded: a [..., N, m], b [..., M, m], c [..., M, e], out [..., N, e]. */
function summed(a: FloatTensor, b: FloatTensor, c: FloatTensor, isCausal: boolean): FloatTensor {
  const [reach, reverse]: Reach[] = isCausal ? ["before", "after"] : ["all", "all"];
  const y = chunkedSum(a, b, c, reach);
  record({
    name: "featureAttention",
    inputs: [a, b, c],
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [];
      const dy = d as FloatTensor;
      return [chunkedSum(dy, c, b, reach), chunkedSum(c, dy, a, reverse), chunkedSum(b, a, dy, reverse)];
    },
  });
  return y;
}

function chunkedSum(a: FloatTensor, b: FloatTensor, c: FloatTensor, reach: Reach): FloatTensor {
  if (reach === "all") return matmul(a, matmul(b, c, { transposeA: true }));
  const [lead, [N, m], e] = [a.shape.slice(0, -2), a.shape.slice(-2), c.shape[c.shape.length - 1]];
  const out = tensorFrom(numbers(a.dtype, sizeOf(lead) * N * e), [...lead, N, e]);
  const sum = tensorFrom(numbers(a.dtype, sizeOf(lead) * m * e), [...lead, m, e]);
  const chunks = Math.ceil(N / CHUNK);
  for (let n = 0; n < chunks; n++) {
    const first = (reach === "before" ? n : chunks - 1 - n) * CHUNK;
    const count = Math.min(CHUNK, N - first);
    const [ac, bc, cc] = [a, b, c].map((t) => rowsOf(t, first, count));
    const inner = matmul(ac, bc, { transposeB: true });
    maskScores(inner, reach);
    const part = matmul(ac, sum);
    matmul(inner, cc, { accumulate: part });
    const numbersOfPart = part.data;
    for (let entry = 0; entry < sizeOf(lead); entry++)
      out.data.set(
        numbersOfPart.subarray(entry * count * e, (entry + 1) * count * e),
        (entry * N + first) * e,
      );
    matmul(bc, cc, { transposeA: true, accumulate: sum });
  }
  return out;
}

function rowsOf(t: FloatTensor, first: number, count: number): FloatTensor {
  const axis = t.shape.length - 2;
  const shape = t.shape.map((n, i) => (i === axis ? count : n));
  return new Tensor(t.data, shape, t.dtype, t.strides, t.offset + first * t.strides[axis]);
}

/** Sets the scores [..., N, M] outside of each row's reach to zero, in place. */
function maskScores(scores: FloatTensor, reach: Reach): void {
  const [N, M] = scores.shape.slice(-2);
  for (let row = 0, at = 0; at < scores.data.length; row = (row + 1) % N, at += M)
    if (reach === "before") scores.data.fill(0, at + row + 1, at + M);
    else scores.data.fill(0, at, at + row);
}

/** x with zeros in the rows that are not kept, whatever their values; they have no gradient. */
function keptRows(x: FloatTensor, realKeys: Uint8Array | undefined): FloatTensor {
  if (!realKeys) return x;
  const width = x.shape[x.shape.length - 1];
  const pick = (t: Tensor) => {
    const from = numbersOf(t);
    const out = numbers(x.dtype, from.length);
    for (let row = 0; row < realKeys.length; row++)
      if (realKeys[row]) out.set(from.subarray(row * width, (row + 1) * width), row * width);
    return tensorFrom(out, t.shape);
  };
  const y = pick(x);
  record({ name: "keptRows", inputs: [x], outputs: [y], backward: ([d]) => [d && pick(d)] });
  return y;
}

/** [..., e + 1] to [..., e]: each row divided by its last element. A row without keys, whose divisor is 0, is zeros with a zero gradient. */
function divided(x: FloatTensor): FloatTensor {
  const e = x.shape[x.shape.length - 1] - 1;
  const from = numbersOf(x);
  const count = from.length / (e + 1);
  const out = numbers(x.dtype, count * e);
  for (let row = 0; row < count; row++) {
    const sum = from[row * (e + 1) + e];
    if (sum !== 0) for (let n = 0; n < e; n++) out[row * e + n] = from[row * (e + 1) + n] / sum;
  }
  const y = tensorFrom(out, [...x.shape.slice(0, -1), e]);
  record({
    name: "divided",
    inputs: [x],
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [undefined];
      const dy = numbersOf(d);
      const dx = numbers(x.dtype, from.length);
      for (let row = 0; row < count; row++) {
        const sum = from[row * (e + 1) + e];
        if (sum === 0) continue;
        let dot = 0;
        for (let n = 0; n < e; n++) {
          dot += dy[row * e + n] * out[row * e + n];
          dx[row * (e + 1) + n] = dy[row * e + n] / sum;
        }
        dx[row * (e + 1) + e] = -dot / sum;
      }
      return [tensorFrom(dx, x.shape)];
    },
  });
  return y;
}

/** Divides each row by its sum, in place; a row of zeros stays. */
function rowShares(scores: FloatTensor): FloatTensor {
  const M = scores.shape[scores.shape.length - 1];
  const x = numbersOf(scores);
  for (let at = 0; at < x.length; at += M) {
    let sum = 0;
    for (let n = 0; n < M; n++) sum += x[at + n];
    if (sum !== 0) for (let n = 0; n < M; n++) x[at + n] /= sum;
  }
  return scores;
}
