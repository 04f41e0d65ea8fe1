/**
 * The linear map y = x·W + b in plain TypeScript, for the models of this folder: x [n, in], W [in, out], b [out],
 * all row-major float32. Sums are in float64, so y is the exact product rounded once.
 *
 * A pass over a panel of columns multiplies four rows of W by two rows of x: W is the large operand, and each of its numbers is
 * read once for two rows of the result.
 */
import { ShapeError } from "heed";

/** Weights of a linear map: `weight` [rows, columns] row-major, `bias` [columns]. */
export interface Linear {
  readonly weight: Float32Array;
  readonly bias: Float32Array;
}

/** Columns per pass: two rows of float64 sums fit in the first-level cache. */
const PANEL = 512;

/** y = x·W + b for `rows` rows of x; the sizes of x and y follow from the arrays. Returns a new array [rows, out]. */
export function linear(x: Float32Array, rows: number, { weight, bias }: Linear): Float32Array {
  const width = bias.length;
  const depth = width === 0 ? 0 : weight.length / width;
  if (!Number.isInteger(depth) || x.length !== rows * depth)
    throw new ShapeError(
      "linear",
      `linear: x has ${x.length} elements for ${rows} rows, weight ${weight.length} for ${width} columns; they do not fit`,
    );
  const y = new Float32Array(rows * width);
  const upper = new Float64Array(PANEL);
  const lower = new Float64Array(PANEL);
  for (let row = 0; row < rows; row += 2) {
    // An odd last row is computed twice, to avoid a branch; its sums are stored once.
    const two = row + 1 < rows;
    const pair = two ? depth : 0;
    for (let left = 0; left < width; left += PANEL) {
      const columns = Math.min(PANEL, width - left);
      for (let j = 0; j < columns; j++) upper[j] = lower[j] = bias[left + j];
      let k = 0;
      for (; k + 4 <= depth; k += 4) {
        const a = row * depth + k;
        const b = a + pair;
        const [a0, a1, a2, a3] = [x[a], x[a + 1], x[a + 2], x[a + 3]];
        const [b0, b1, b2, b3] = [x[b], x[b + 1], x[b + 2], x[b + 3]];
        let w = k * width + left;
        for (let j = 0; j < columns; j++, w++) {
          const w0 = weight[w];
          const w1 = weight[w + width];
          const w2 = weight[w + 2 * width];
          const w3 = weight[w + 3 * width];
          upper[j] += a0 * w0 + a1 * w1 + a2 * w2 + a3 * w3;
          lower[j] += b0 * w0 + b1 * w1 + b2 * w2 + b3 * w3;
        }
      }
      for (; k < depth; k++)
        for (let j = 0; j < columns; j++) {
          const w = weight[k * width + left + j];
          upper[j] += x[row * depth + k] * w;
          lower[j] += x[row * depth + pair + k] * w;
        }
      y.set(upper.subarray(0, columns), row * width + left);
      if (two) y.set(lower.subarray(0, columns), (row + 1) * width + left);
    }
  }
  return y;
}
