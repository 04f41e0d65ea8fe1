/**
 * The rowwise work of a training step on the engine: activations, norms, the loss, the optimiser, over float32 arrays. Each
 * function returns true where the engine did it, or false and nothing written where it cannot: no WebAssembly here, or
 * `simd: "reference"`. The caller then runs its own loop, which is also the definition; so does float64.
 *
 *   if (!engineMap("gelu", x, y)) for (let n = 0; n < y.length; n++) y[n] = x[n] * normalCdf(x[n]);
 *
 * Row-major arrays, sizes trusted. Outputs may be the very array that is an input, or lie apart from it. The results have the
 * same bits whatever the number of threads; at the level `strict` also on every engine.
 */
import {
  type AdamWScalars,
  adamwPipeline,
  columnSumsPipeline,
  crossEntropyPipeline,
  type MapName,
  mapBackwardPipeline,
  mapPipeline,
  normBackwardPipeline,
  normPipeline,
  runRowPipeline,
} from "./backends.ts";

export type { AdamWScalars, MapName } from "./backends.ts";

/**
 * y = f(x), number by number: "gelu" (exact), "gelu-tanh", "silu", "sigmoid", "tanh". At most 3 ulp (tanh 6.5) from the
 * exact result for an x that is off by at most one ulp.
 */
export function engineMap(name: MapName, x: Float32Array, y: Float32Array): boolean {
  return runRowPipeline(() => mapPipeline(name, x, y));
}

/** dx = f′(x)·dy. */
export function engineMapBackward(
  name: MapName,
  x: Float32Array,
  dy: Float32Array,
  dx: Float32Array,
): boolean {
  return runRowPipeline(() => mapBackwardPipeline(name, x, dy, dx));
}

/** A norm over rows of C numbers: layer norm where `centered`, else RMS norm. */
export interface EngineNorm {
  readonly C: number;
  readonly centered: boolean;
  /** [C], default ones. */
  readonly weight?: Float32Array;
}

/**
 * y = (x − mean)·r·weight + bias, r = 1/√(variance + eps), over rows x [rows, C]; without means where not `centered`.
 * `stats` [rows, 4] is filled for `engineNormBackward`.
 */
export function engineNorm(
  x: Float32Array,
  y: Float32Array,
  stats: Float32Array,
  options: EngineNorm & { readonly bias?: Float32Array; readonly eps: number },
): boolean {
  const { weight, bias, eps } = options;
  return runRowPipeline(() => normPipeline(x, y, stats, weight, bias, eps, options));
}

/** dx [rows, C]; dWeight and dBias [C] are added to, task by task in order, each a float32 sum over its rows. */
export function engineNormBackward(
  x: Float32Array,
  dy: Float32Array,
  stats: Float32Array,
  dx: Float32Array,
  dWeight: Float64Array,
  dBias: Float64Array,
  options: EngineNorm,
): boolean {
  return runRowPipeline(() =>
    normBackwardPipeline(x, dy, stats, options.weight, dx, dWeight, dBias, options),
  );
}

/** Σ over rows of x [rows, C], added to `sums` [C]: task by task in order, each a float32 sum over its rows (about 32,768 / C). */
export function engineColumnSums(x: Float32Array, sums: Float64Array): boolean {
  return runRowPipeline(() => columnSumsPipeline(x, sums));
}

/**
 * The sum over rows of ln Σ_v e^(x_v) − x_target, or undefined where the engine does not do it; `slopes` gets its gradient
 * times `weight`, (softmax(x) − onehot(target))·weight.
 *
 * @param logits  [rows, V]
 * @param targets [rows]: the class of each row; a negative one does not count, and its slopes are 0
 * @param dLogits  [rows, V]; may be `logits`
 */
export function engineCrossEntropy(
  logits: Float32Array,
  targets: Int32Array,
  V: number,
  weight: number,
  dLogits: Float32Array,
): number | undefined {
  const losses = new Float32Array(2 * targets.length);
  if (!runRowPipeline(() => crossEntropyPipeline(logits, targets, V, weight, dLogits, losses)))
    return undefined;
  let sum = 0;
  for (let n = 0; n < losses.length; n += 2) sum += losses[n] - losses[n + 1];
  return sum;
}

/**
 * A step of AdamW in place, in float32:
 *
 *   g ← scale·g   m ← b1·m + rest1·g   v ← b2·v + rest2·g²   w ← keep·w − rate·m/(√v·root + eps)
 *
 * rest1 = 1 − b1, rest2 = 1 − b2, keep = 1 − lr·decay, rate = lr/(1 − b1ᵗ), root = 1/√(1 − b2ᵗ).
 */
export function engineAdamW(
  w: Float32Array,
  g: Float32Array,
  m: Float32Array,
  v: Float32Array,
  scalars: AdamWScalars,
): boolean {
  return runRowPipeline(() => adamwPipeline(w, g, m, v, scalars));
}
