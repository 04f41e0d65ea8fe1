/** What the captures share: numbers as the Lab stores them, one head of several, and cosines. */
import { toFloat16 } from "../../src/core/dtype.ts";
import type { Tensor } from "../../src/index.ts";

/** Numbers as float16 in base64. */
export const packed = (numbers: ArrayLike<number>): string =>
  Buffer.from(Uint16Array.from(Array.from(numbers, toFloat16)).buffer).toString("base64");

/** One head of [heads, N, d] as [N, d] numbers. */
export function headOf(all: Tensor, head: number): Float64Array {
  const [, N, d] = all.shape.slice(-3);
  return all.toFloat64().subarray(head * N * d, (head + 1) * N * d);
}

export const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, x, i) => sum + x * b[i], 0);

export const cosine = (a: Float64Array, b: Float64Array): number =>
  dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
