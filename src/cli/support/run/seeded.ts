/** Seeded test data: approximately standard normal numbers, the same on every machine. */

import { mix } from "../../../core/random/random.ts";
import { Tensor } from "../../../core/tensor.ts";

/** A float32 tensor of seeded numbers: sums of four uniform numbers, scaled to variance 1. */
export function seededTensor(shape: readonly number[], seed: number): Tensor {
  const size = shape.reduce((n, x) => n * x, 1);
  const data = new Float32Array(size);
  const start = mix(seed | 0);
  for (let i = 0; i < size; i++) {
    const a = mix((start + Math.imul(i, 0x9e3779b1)) | 0);
    const b = mix(a ^ 0x85ebca77);
    const sum = (a & 0xffff) + (a >>> 16) + (b & 0xffff) + (b >>> 16);
    data[i] = (sum / 65536 - 2) * Math.sqrt(3);
  }
  return new Tensor(data, shape, "float32");
}
