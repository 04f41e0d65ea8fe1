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

/** What each layer does to positions. Matrices are [N, N], row-major: row = position after the layer, column = before it. */
export interface LayerMatrices {
  readonly tokens: number;
  /** Layer numbers, the first layer first. */
  readonly layers: readonly number[];
  /** Ã of each layer. */
  readonly steps: readonly Float64Array[];
}

/** A rollout. Matrices are as those of the layers. */
export interface Rollout extends LayerMatrices {
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
  // Reading the heads, and multiplying the layers: half of the work each.
  const reading = { ...asking, onProgress: (done: number) => asking.onProgress?.(done / 2) };
  const { tokens: N, layers, steps } = await layerMatrices(store, options, reading);
  const products: Float64Array[] = [];
  let worst = 0;
  let rowSums: Float64Array = new Float64Array(N).fill(1);
  const slices = new Slices(asking.signal);
  for (const [at, step] of steps.entries()) {
    const product = at === 0 ? step : await multiply(step, products[at - 1], N, slices);
    products.push(product);
    asking.onProgress?.((1 + (at + 1) / steps.length) / 2);
    rowSums = sumsOf(product, N);
    for (const sums of [sumsOf(step, N), rowSums])
      for (const sum of sums) worst = Math.max(worst, Math.abs(sum - 1));
  }
  return { tokens: N, layers, steps, products, rowSums, worst, warning: ROLLOUT_WARNING };
}

/** Checks the options, and computes each layer's matrix: its heads joined, with the residual connection. */
export async function layerMatrices(
  store: HeadStore,
  options: RolloutOptions,
  asking: Asking,
): Promise<LayerMatrices> {
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
  const slices = new Slices(asking.signal);
  for (const [at, layer] of layers.entries()) {
    asking.signal?.throwIfAborted();
    const fused = new Float64Array(N * N).fill(fuse === "min" ? Infinity : 0);
    for (let head = 0; head < heads; head++) {
      const ref: HeadRef = { block: index, layer, head };
      const weights = await store.weights(ref, { signal: asking.signal });
      for (let i = 0; i < N; i++) {
        if (slices.over) await slices.rest();
        const row = weights.subarray(i * N, (i + 1) * N);
        if (!row.every(Number.isFinite))
          throw new OptionError(
            "numbers",
            `rollout: layer ${layer}, head ${head} has weights that are not numbers`,
            { layer, head },
          );
        if (discard > 0) discardSmallest(row, discard);
        for (let j = 0, at = i * N; j < N; j++, at++)
          if (fuse === "mean") fused[at] += row[j] / heads;
          else fused[at] = fuse === "max" ? Math.max(fused[at], row[j]) : Math.min(fused[at], row[j]);
      }
      asking.onProgress?.((at * heads + head + 1) / (layers.length * heads));
    }
    steps.push(withResidual(fused, N, alpha));
  }
  return { tokens: N, layers, steps };
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

/** Milliseconds after which other work of the thread may run: a page stays responsive. */
const SLICE = 10;

/** Work in slices: `rest` waits once a slice is over, and throws where the work has been given up. */
export class Slices {
  readonly #signal: AbortSignal | undefined;
  #end = Date.now() + SLICE;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether a slice is over; asked where waiting for `rest` each time would cost more than the work. */
  get over(): boolean {
    return Date.now() > this.#end;
  }

  async rest(): Promise<void> {
    if (!this.over) return;
    await new Promise((resolve) => setTimeout(resolve));
    this.#signal?.throwIfAborted();
    this.#end = Date.now() + SLICE;
  }
}

/** a·b of two [N, N] matrices, four rows of `a` at a time: each row of `b` is read once for all of them. */
async function multiply(a: Float64Array, b: Float64Array, N: number, slices: Slices): Promise<Float64Array> {
  const out = new Float64Array(N * N);
  for (let i = 0; i < N; i += 4) {
    if (slices.over) await slices.rest();
    const rows = [0, 1, 2, 3].map((n) => Math.min(i + n, N - 1) * N);
    const [p, q, r, s] = rows;
    const [o, t, u, v] = [0, 1, 2, 3].map((n) =>
      i + n < N ? out.subarray(rows[n], rows[n] + N) : new Float64Array(N),
    );
    for (let k = 0; k < N; k++) {
      const [w, x, y, z] = [a[p + k], a[q + k], a[r + k], a[s + k]];
      if (w === 0 && x === 0 && y === 0 && z === 0) continue;
      for (let j = 0, from = k * N; j < N; j++, from++) {
        const value = b[from];
        o[j] += w * value;
        t[j] += x * value;
        u[j] += y * value;
        v[j] += z * value;
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

function fail(name: string, expected: string, got: unknown): never {
  throw new OptionError(name, `rollout: ${name} ${expected}, got ${formatValue(got)}`, { [name]: got });
}
