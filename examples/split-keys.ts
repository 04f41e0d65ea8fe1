/**
 * Keys in parts: attention over each part, then `mergeStates`. Two machines, two pages of a cache, or a shared prompt and the
 * tokens that a request adds to it therefore exchange only an output and one number per row.
 * Run: `node examples/split-keys.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   3 parts of 700, 1, 299 keys
 *   largest difference from one call below 1e-5: true
 *   a part that is fully masked changes nothing: true
 */
import { keyLengths, mergeStates, scaledDotProductAttention, tensor } from "heed";

const [H, Nq, Nk, d] = [4, 10, 1000, 64];
const wave = (N: number, phase: number) =>
  Float32Array.from({ length: H * N * d }, (_, i) => Math.sin(i * 0.37 + phase));
const q = tensor(wave(Nq, 0), [1, H, Nq, d]);
const [keyData, valueData] = [wave(Nk, 1), wave(Nk, 2)];

/** Keys `from` to `to`, as a view: nothing is copied. */
const part = (data: Float32Array, from: number, to: number) =>
  tensor(data, [1, H, to - from, d], "float32", { strides: [0, Nk * d, d, 1], offset: from * d });

const cuts = [0, 700, 701, 1000];
const states = cuts
  .slice(1)
  .map((to, n) => scaledDotProductAttention(q, part(keyData, cuts[n], to), part(valueData, cuts[n], to)));
console.log(
  `${states.length} parts of ${cuts
    .slice(1)
    .map((to, n) => to - cuts[n])
    .join(", ")} keys`,
);

const merged = mergeStates(states);
const single = scaledDotProductAttention(q, part(keyData, 0, Nk), part(valueData, 0, Nk));
const expected = single.output.toFloat64();
const worst = merged.output
  .toFloat64()
  .reduce((largest, x, i) => Math.max(largest, Math.abs(x - expected[i])), 0);
console.log(`largest difference from one call below 1e-5: ${worst < 1e-5}`);

const nothing = scaledDotProductAttention(q, part(keyData, 0, 1), part(valueData, 0, 1), {
  attnMask: keyLengths(0),
});
const same = mergeStates([...states, nothing]).output.toFloat64();
console.log(
  `a part that is fully masked changes nothing: ${merged.output.toFloat64().every((x, i) => x === same[i])}`,
);
