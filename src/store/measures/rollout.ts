/**
 * Attention rollout (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers"): how much of each token's final
 * position comes from each input token, if every layer did nothing but mix positions by its attention weights.
 *
 *     Ã = rows of (α·I + (1 − α)·fuse over heads of A), each divided by its sum      R = Ã_L · … · Ã_1
 *
 * All rows of Ã and of R sum to 1: the sums are computed and returned, not assumed. A fully masked row keeps its own
 * position (α·I), which is what the residual connection does.
 */
import { formatValue, OptionError } from "../../core/errors.ts";
import type { Asking, HeadRef, HeadStore } from "../types.ts";

/** What rollout leaves out. Show it wherever a rollout is shown. */
export const ROLLOUT_WARNING =
  "Rollout ignores the value vectors, the output projections and the feed-forward layers, and treats all heads alike. It is a summary of the weights, not a cause.";

/** The longest text: the product of two layers takes N³ multiplications. */
const MAX_TOKENS = 1024;

/** How to compute a rollout. */
export interface RolloutOptions {
  /** Index of the block in `store.blocks`; self-attention with as many queries as keys. Default 0. */
  readonly block?: number;
  /** Share of the residual connection, 0 to 1. Default 0.5. */
  readonly alpha?: number;
  /** How the heads of a layer become one matrix. Default "mean". */
  readonly fuse?: "mean" | "max" | "min";
  /** The smallest weights of each row whose sum is at most this share of it are set to 0 before fusing, 0 to under 1. Default 0. */
  readonly discard?: number;
  /** First layer of the product: a layer number of the block. Default: its first layer. */
  readonly from?: number;
}

/** A rollout. Matrices are [N, N], row-major: row = position after the layer, column = position before it. */
export interface Rollout {
  readonly tokens: number;
  /** Layer numbers, the first layer first. */
  readonly layers: readonly number[];
  /** Ã of each layer. */
  readonly steps: readonly Float64Array[];
  /** The product up to and including each layer; column = input token. The last one is the rollout. */
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
 * Errors: `OptionError` where the block is not square self-attention, the text is longer than 1,024 tokens, an option is
 * out of range, or a weight is not a number.
 *
 * @example
 * const { products, rowSums } = await rollout(store, { alpha: 0.5, fuse: "mean" });
 * products.at(-1); // [N, N]: row i says how much of position i comes from each input token
 */
export async function rollout(
  store: HeadStore,
  options: RolloutOptions = {},
  asking: Asking = {},
): Promise<Rollout> {
  const { block: index = 0, alpha = 0.5, fuse = "mean", discard = 0 } = options;
  const block = store.blocks[index];
  if (!block) fail("block", `must be an integer from 0 to ${store.blocks.length - 1}`, index);
  const { Nq: N, heads } = block;
  if (block.kind !== "self" || N !== block.Nk)
    throw new OptionError(
      "block",
      `rollout: block \`${block.name}\` has ${N} queries and ${block.Nk} keys (${block.kind}-attention); rollout needs self-attention over one text`,
      { block: index },
    );
  if (N > MAX_TOKENS)
    throw new OptionError("size", `rollout: the text has ${N} tokens; at most ${MAX_TOKENS} are supported`, {
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
  const products: Float64Array[] = [];
  let worst = 0;
  let rowSums: Float64Array = new Float64Array(N).fill(1);
  for (const [at, layer] of layers.entries()) {
    asking.signal?.throwIfAborted();
    const fused = new Float64Array(N * N).fill(fuse === "min" ? Infinity : 0);
    for (let head = 0; head < heads; head++) {
      const ref: HeadRef = { block: index, layer, head };
      const weights = await store.weights(ref, { signal: asking.signal });
      if (!weights.every(Number.isFinite))
        throw new OptionError(
          "numbers",
          `rollout: layer ${layer}, head ${head} has weights that are not numbers`,
          { layer, head },
        );
      if (discard > 0)
        for (let i = 0; i < N; i++) discardSmallest(weights.subarray(i * N, (i + 1) * N), discard);
      for (let n = 0; n < fused.length; n++)
        if (fuse === "mean") fused[n] += weights[n] / heads;
        else fused[n] = fuse === "max" ? Math.max(fused[n], weights[n]) : Math.min(fused[n], weights[n]);
      asking.onProgress?.((at * heads + head + 1) / (layers.length * heads));
    }
    const step = withResidual(fused, N, alpha);
    const product = at === 0 ? step : await multiply(step, products[at - 1], N, asking.signal);
    steps.push(step);
    products.push(product);
    rowSums = sumsOf(product, N);
    for (const sums of [sumsOf(step, N), rowSums])
      for (const sum of sums) worst = Math.max(worst, Math.abs(sum - 1));
  }
  return { tokens: N, layers, steps, products, rowSums, worst, warning: ROLLOUT_WARNING };
}

/** Sets the smallest entries of a row to 0 as long as their sum stays at or below `share` of the row. */
function discardSmallest(row: Float64Array, share: number): void {
  let budget = share * row.reduce((sum, x) => sum + x, 0);
  const order = Array.from(row.keys()).sort((a, b) => row[a] - row[b]);
  for (const j of order) {
    budget -= row[j];
    if (budget < 0) return;
    row[j] = 0;
  }
}

/** Rows of α·I + (1 − α)·A, each divided by its sum. A row without a sum becomes the identity's. */
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

/** Multiplications after which other work of the thread may run: some 10 ms. */
const SLICE = 2 ** 23;

/** a·b of two [N, N] matrices. A page stays responsive: between slices of rows other work may run. */
async function multiply(
  a: Float64Array,
  b: Float64Array,
  N: number,
  signal: AbortSignal | undefined,
): Promise<Float64Array> {
  const out = new Float64Array(N * N);
  const rows = Math.max(1, Math.floor(SLICE / (N * N)));
  for (let i = 0; i < N; i++) {
    if (i > 0 && i % rows === 0) {
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
    }
    for (let k = 0; k < N; k++) {
      const x = a[i * N + k];
      if (x === 0) continue;
      for (let j = 0, to = i * N, from = k * N; j < N; j++) out[to + j] += x * b[from + j];
    }
  }
  return out;
}

function sumsOf(matrix: Float64Array, N: number): Float64Array {
  return Float64Array.from({ length: N }, (_, i) =>
    matrix.subarray(i * N, (i + 1) * N).reduce((sum, x) => sum + x, 0),
  );
}

function fail(name: string, expected: string, got: unknown): never {
  throw new OptionError(name, `rollout: ${name} ${expected}, got ${formatValue(got)}`, { [name]: got });
}
