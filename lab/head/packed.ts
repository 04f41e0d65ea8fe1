/** Captures as text, and matrices as rows. */
import { type Tensor, tensor } from "../../src/index.ts";

/** A matrix as rows of numbers. */
export function rowsOf(matrix: Tensor): number[][] {
  const [rows, columns] = matrix.shape;
  const numbers = matrix.toFloat64();
  return Array.from({ length: rows }, (_, i) => [...numbers.subarray(i * columns, (i + 1) * columns)]);
}

/** float16 in base64 as float32. */
export function decodeFloat16(text: string): Float32Array {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const bits = new Uint16Array(bytes.buffer);
  return Float32Array.from(tensor(bits, [bits.length], "float16").toFloat64());
}
