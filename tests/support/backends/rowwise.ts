/** The row-wise kernels of the wasm backend, called directly for any size, for tests and benches of the kernels. */
import { type AdamWScalars, type MapName, rowwise } from "../../../src/api/rowwise.ts";
import { wasm } from "../../../src/wasm/backend.ts";

export type { AdamWScalars, MapName };
export { rowwise };

/** The maps that have a kernel. */
export type KernelMap = Exclude<MapName, "relu" | "elu1">;

type Numbers = Float32Array | Float64Array;
interface Norm {
  readonly C: number;
  readonly centered: boolean;
  readonly weight?: Float32Array;
}

export const mapKernel = (map: KernelMap, x: Float32Array, y: Float32Array): void =>
  wasm.rowwise({ name: "map", map, x, y });

export const mapBackwardKernel = (
  map: KernelMap,
  x: Float32Array,
  dy: Float32Array,
  dx: Float32Array,
): void => wasm.rowwise({ name: "map-backward", map, x, y: x, dy, dx });

export const normKernel = (
  x: Float32Array,
  y: Float32Array,
  stats: Float32Array,
  options: Norm & { readonly bias?: Float32Array; readonly eps: number },
): void => wasm.rowwise({ name: "norm", x, y, stats, ...options });

export const normBackwardKernel = (
  x: Float32Array,
  dy: Float32Array,
  stats: Float32Array,
  dx: Float32Array,
  dWeight: Numbers,
  dBias: Numbers,
  options: Norm,
): void => wasm.rowwise({ name: "norm-backward", x, dy, stats, dx, dWeight, dBias, eps: 0, ...options });

export const columnSumsKernel = (x: Float32Array, sums: Numbers): void =>
  wasm.rowwise({ name: "column-sums", x, sums });

/** The sum of the losses, and their gradient in `dLogits`: each times `weight`. */
export function crossEntropyKernel(
  logits: Float32Array,
  targets: Int32Array,
  V: number,
  weight: number,
  dLogits: Float32Array,
): number {
  const loss = new Float64Array(1);
  wasm.rowwise({ name: "cross-entropy", logits, targets, V, count: 1 / weight, dLogits, loss });
  return loss[0] / weight;
}

export const adamwKernel = (
  w: Float32Array,
  g: Float32Array,
  m: Float32Array,
  v: Float32Array,
  scalars: AdamWScalars,
): void => wasm.rowwise({ name: "adamw", w, g, m, v, scalars });
