/** The products of a query with the keys of a dense array of floats: `HeadRows.products` with the same bits, and faster. */
import type { FloatArray, HeadRows } from "./head-rows.ts";

/** Products with the keys in `k`, [Nk, d]. */
export const floatProducts =
  (k: FloatArray): HeadRows["products"] =>
  (q, scale, out, first, from, to) =>
    dots(k, q, scale, out, first, from, to);

/**
 * out[j − first] = q·k × scale of the keys from … to. Four keys at a time: each sum keeps its order, but four sums are
 * computed in parallel (43 ns for a dot product of 64 numbers; one key at a time takes 100 ns; Node 24, one busy core).
 */
function dots(
  k: FloatArray,
  q: Float64Array,
  scale: number,
  out: Float64Array,
  first: number,
  from: number,
  to: number,
): void {
  const d = q.length;
  let j = from;
  for (; j + 4 <= to; j += 4) {
    const k0 = j * d;
    const [k1, k2, k3] = [k0 + d, k0 + 2 * d, k0 + 3 * d];
    let a = 0;
    let b = 0;
    let c = 0;
    let e = 0;
    for (let n = 0; n < d; n++) {
      const x = q[n];
      a += x * k[k0 + n];
      b += x * k[k1 + n];
      c += x * k[k2 + n];
      e += x * k[k3 + n];
    }
    const at = j - first;
    out[at] = a * scale;
    out[at + 1] = b * scale;
    out[at + 2] = c * scale;
    out[at + 3] = e * scale;
  }
  for (; j < to; j++) {
    let sum = 0;
    for (let n = 0; n < d; n++) sum += q[n] * k[j * d + n];
    out[j - first] = sum * scale;
  }
}
