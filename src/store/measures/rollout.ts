/**
 * Attention rollout (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers"): the share of each input token in
 * each final position, if every layer only mixed positions by its attention weights.
 *
 *     Ã = rows of (α·I + (1 − α)·fuse over heads of A), each divided by its sum      R = Ã_L · … · Ã_1
 *
 * All rows of Ã and of R sum to 1; the sums are computed and returned. A fully masked row becomes the identity row, because
 * only its residual connection is left.
 */

import { checkCount, formatValue, OptionError } from "../../core/errors.ts";
import { checkKinds } from "../../core/option-names.ts";
import type { HeadRef } from "../block.ts";
import { checkRequest, checkStore } from "../check.ts";
import type { RequestOptions } from "../compute/request.ts";
import type { HeadStore } from "../head-store.ts";
import { TimeSlices } from "./time-slices.ts";

/** The limits of rollout. Show this text with every rollout. */
const ROLLOUT_WARNING =
  "Rollout ignores the value vectors, the output projections and the feed-forward layers, and treats all heads alike. It is a summary of the weights, not a cause.";

/** Maximum number of tokens: the product of two layers takes N³ multiplications. */
const MAX_TOKENS = 1024;

/** Options of `rollout`. */
export interface RolloutOptions {
  /** Index of the block in `store.blocks`; self-attention with as many queries as keys. Default 0. */
  readonly block?: number;
  /** Share of the residual connection, 0 to 1. Default 0.5. */
  readonly alpha?: number;
  /** How the heads of a layer are combined into one matrix. Default "mean". */
  readonly fuse?: "mean" | "max" | "min";
  /** Share of each row that is discarded before the heads are combined, at least 0 and below 1: its smallest weights are set to 0. Default 0. */
  readonly discard?: number;
  /** The first layer of the product: a layer number of the block. Default: the block's first layer. */
  readonly from?: number;
}

/** The matrix of each layer, [N, N], row-major: row = position after the layer, column = position before it. */
export interface LayerMatrices {
  readonly tokens: number;
  /** Layer numbers, the first layer first. */
  readonly layers: readonly number[];
  /** Ã of each layer. */
  readonly steps: readonly Float64Array[];
}

/** A rollout. Its matrices are [N, N] too. */
export interface Rollout extends LayerMatrices {
  /** The product up to each layer, inclusive; column = input token. The last one is the rollout. */
  readonly products: readonly Float64Array[];
  /** `[N]`: row sums of the last product; 1 up to rounding. */
  readonly rowSums: Float64Array;
  /** The largest |row sum − 1| over all steps and products. */
  readonly worst: number;
  readonly warning: string;
}

/**
 * Computes the attention rollout of a block from its given or recomputed weights, in float64.
 *
 * Errors: `OptionError` if the block is not square self-attention, the text is longer than 1,024 tokens, an option is
 * out of range, or a weight is not a number.
 *
 * @example
 * const { products, rowSums } = await rollout(store, { alpha: 0.5, fuse: "mean" });
 * products.at(-1); // [N, N]: row i holds the share of each input token in position i
 */
export async function rollout(
  store: HeadStore,
  options: RolloutOptions = {},
  request: RequestOptions = {},
): Promise<Rollout> {
  checkCount("rollout", arguments, 3);
  const { tokens: N, layers, steps } = await layerMatrices("rollout", MAX_TOKENS, store, options, request);
  const products: Float64Array[] = [];
  let worst = 0;
  let rowSums: Float64Array = new Float64Array(N).fill(1);
  const slices = new TimeSlices(request.signal);
  for (const [at, step] of steps.entries()) {
    const product = at === 0 ? step : await multiply(step, products[at - 1], N, slices);
    products.push(product);
    request.onProgress?.((1 + (at + 1) / steps.length) / 2);
    rowSums = sumsOf(product, N);
    for (const sums of [sumsOf(step, N), rowSums])
      for (const sum of sums) worst = Math.max(worst, Math.abs(sum - 1));
  }
  return { tokens: N, layers, steps, products, rowSums, worst, warning: ROLLOUT_WARNING };
}

/**
 * Checks the options and computes the matrix of each layer: its heads combined, with the residual connection. Reports the
 * first half of the progress. `name` is the caller's, for errors.
 */
export async function layerMatrices(
  name: string,
  maxTokens: number,
  store: HeadStore,
  options: RolloutOptions,
  request: RequestOptions,
): Promise<LayerMatrices> {
  checkStore(name, store);
  checkKinds(name, options, { "an integer ≥ 0": "block", "a number": "alpha discard", "": "fuse from" });
  checkRequest(name, request);
  const { block: index = 0, alpha = 0.5, fuse = "mean", discard = 0 } = options;
  const fail = (option: string, expected: string, got: unknown): never => {
    throw new OptionError(option, `${name}: ${option} ${expected}, got ${formatValue(got)}`, {
      [option]: got,
    });
  };
  const block = store.blocks[index];
  if (!block) return fail("block", `must be an integer from 0 to ${store.blocks.length - 1}`, index);
  const { Nq: N, heads } = block;
  if (block.kind !== "self" || N !== block.Nk)
    throw new OptionError(
      "block",
      `${name}: block \`${block.name}\` has ${N} queries and ${block.Nk} keys (${block.kind}-attention); ${name} needs self-attention over one text`,
      { block: index },
    );
  if (N > maxTokens)
    throw new OptionError("size", `${name}: the text has ${N} tokens; at most ${maxTokens} are supported`, {
      N,
    });
  if (!(alpha >= 0 && alpha <= 1)) fail("alpha", "must be a number from 0 to 1", alpha);
  if (!(discard >= 0 && discard < 1)) fail("discard", "must be a number from 0 to under 1", discard);
  if (fuse !== "mean" && fuse !== "max" && fuse !== "min")
    fail("fuse", 'must be "mean", "max" or "min"', fuse);
  const from = options.from ?? block.layers[0];
  if (!block.layers.includes(from))
    fail("from", `must be one of the layers ${block.layers.join(", ")}`, from);
  const layers = block.layers.filter((layer) => layer >= from);

  const steps: Float64Array[] = [];
  const slices = new TimeSlices(request.signal);
  for (const [at, layer] of layers.entries()) {
    request.signal?.throwIfAborted();
    const fused = new Float64Array(N * N).fill(fuse === "min" ? Infinity : 0);
    for (let head = 0; head < heads; head++) {
      const ref: HeadRef = { block: index, layer, head };
      const weights = await store.weights(ref, { signal: request.signal });
      for (let i = 0; i < N; i++) {
        if (slices.over) await slices.pause();
        const row = weights.subarray(i * N, (i + 1) * N);
        if (!row.every(Number.isFinite))
          throw new OptionError(
            "numbers",
            `${name}: layer ${layer}, head ${head} has weights that are not numbers`,
            { layer, head },
          );
        if (discard > 0) discardSmallest(row, discard);
        for (let j = 0, at = i * N; j < N; j++, at++)
          if (fuse === "mean") fused[at] += row[j] / heads;
          else fused[at] = fuse === "max" ? Math.max(fused[at], row[j]) : Math.min(fused[at], row[j]);
      }
      request.onProgress?.((at * heads + head + 1) / (layers.length * heads) / 2);
    }
    steps.push(withResidual(fused, N, alpha));
  }
  return { tokens: N, layers, steps };
}

/** Sets the smallest entries of a row to 0, as many as sum to at most `share` of the row. */
function discardSmallest(row: Float64Array, share: number): void {
  let budget = share * row.reduce((sum, x) => sum + x, 0);
  const order = Array.from(row.keys()).sort((a, b) => row[a] - row[b]);
  for (const j of order) {
    budget -= row[j];
    if (budget < 0) return;
    row[j] = 0;
  }
}

/** Rows of α·I + (1 − α)·A, each divided by its sum. A row whose sum is 0 becomes the identity row. */
function withResidual(fused: Float64Array, N: number, alpha: number): Float64Array {
  for (let i = 0; i < N; i++) {
    const row = fused.subarray(i * N, (i + 1) * N);
    let sum = alpha;
    for (let j = 0; j < N; j++) sum += row[j] *= 1 - alpha;
    row[i] += alpha;
    if (sum > 0) for (let j = 0; j < N; j++) row[j] /= sum;
    else row[i] = 1;
  }
  return fused;
}

/** a·b of two [N, N] matrices, four rows of `a` at a time, so that each row of `b` is read once for all four. */
async function multiply(
  a: Float64Array,
  b: Float64Array,
  N: number,
  slices: TimeSlices,
): Promise<Float64Array> {
  const out = new Float64Array(N * N);
  for (let i = 0; i < N; i += 4) {
    if (slices.over) await slices.pause();
    // Past the last row, row N − 1 is computed again into a scratch row.
    const rows = [0, 1, 2, 3].map((n) => Math.min(i + n, N - 1) * N);
    const [row0, row1, row2, row3] = rows;
    const [out0, out1, out2, out3] = rows.map((row, n) =>
      i + n < N ? out.subarray(row, row + N) : new Float64Array(N),
    );
    for (let k = 0; k < N; k++) {
      const [x0, x1, x2, x3] = [a[row0 + k], a[row1 + k], a[row2 + k], a[row3 + k]];
      if (x0 === 0 && x1 === 0 && x2 === 0 && x3 === 0) continue;
      for (let j = 0, from = k * N; j < N; j++, from++) {
        const y = b[from];
        out0[j] += x0 * y;
        out1[j] += x1 * y;
        out2[j] += x2 * y;
        out3[j] += x3 * y;
      }
    }
  }
  return out;
}

function sumsOf(matrix: Float64Array, N: number): Float64Array {
  return Float64Array.from({ length: N }, (_, i) =>
    matrix.subarray(i * N, (i + 1) * N).reduce((sum, x) => sum + x, 0),
  );
}
