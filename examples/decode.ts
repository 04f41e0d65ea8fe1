/**
 * A key/value cache, one token at a time. The cache is allocated in the engine's memory (`empty`), so a step reads it
 * without a copy. Eight query heads share two key heads. At the end all steps are compared with one causal call.
 * Run: `node examples/decode.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   200 tokens decoded, cache [1, 2, 200, 64] of 256 positions
 *   the same as one causal call over all tokens: true
 */
import { empty, prepare, scaledDotProductAttention, type Tensor, tensor } from "heed";

const [heads, keyHeads, d, capacity, tokens] = [8, 2, 64, 256, 200];
await prepare(); // starts the threads before the first step

const keys = empty([1, keyHeads, capacity, d]);
const values = empty([1, keyHeads, capacity, d]);

/** What a model would compute for a token: numbers for `count` heads. */
const project = (token: number, count: number, phase: number) =>
  Float32Array.from({ length: count * d }, (_, i) => Math.sin((token + 1) * (i + 1) * 0.013 + phase));

/** Writes a token's rows, one per head, at position `n` of a cache. */
function append(cache: Tensor, rows: Float32Array, n: number): void {
  for (let h = 0; h < keyHeads; h++)
    (cache.data as Float32Array).set(rows.subarray(h * d, (h + 1) * d), (h * capacity + n) * d);
}

/** The first `n` positions of a cache, as a view. */
const upTo = (cache: Tensor, n: number) =>
  tensor(cache.data, [1, keyHeads, n, d], cache.dtype, { strides: cache.strides });

const steps: Float64Array[] = [];
for (let n = 0; n < tokens; n++) {
  append(keys, project(n, keyHeads, 1), n);
  append(values, project(n, keyHeads, 2), n);
  const query = tensor(project(n, heads, 0), [1, heads, 1, d]);
  const { output } = scaledDotProductAttention(query, upTo(keys, n + 1), upTo(values, n + 1));
  steps.push(output.toFloat64());
}
console.log(
  `${tokens} tokens decoded, cache [${upTo(keys, tokens).shape.join(", ")}] of ${capacity} positions`,
);

// All queries in one call. The rows are in the order of the steps, [1, tokens, heads, d], and transposed to [1, heads, tokens, d].
const queries = new Float32Array(tokens * heads * d);
for (let n = 0; n < tokens; n++) queries.set(project(n, heads, 0), n * heads * d);
const all = tensor(queries, [1, tokens, heads, d]).transpose(1, 2);
const { output } = scaledDotProductAttention(all, upTo(keys, tokens), upTo(values, tokens), {
  isCausal: true,
});
const close = steps.every((row, n) =>
  row.every((x, i) => Math.abs(x - output.at(0, Math.floor(i / d), n, i % d)) < 1e-5),
);
console.log(`the same as one causal call over all tokens: ${close}`);
