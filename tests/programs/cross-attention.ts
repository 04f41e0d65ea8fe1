/** Cross-attention: a decoder's vectors of size 32 attend to an encoder's of size 24, whose batch entries have 4 and 7 real positions. */
import assert from "node:assert/strict";
import { keyLengths, randn, tensor } from "heed";
import { MultiHeadAttention } from "heed/nn";

const decoder = randn([2, 5, 32], { seed: 1 });
const encoder = randn([2, 7, 24], { seed: 2 });
const layer = new MultiHeadAttention(32, 4, { kdim: 24, vdim: 24, seed: 3 });
const options = { attnMask: keyLengths([4, 7]), returnWeights: true } as const;
const { output, weights } = layer.forward(decoder, encoder, encoder, options);

assert.deepEqual(output.shape, [2, 5, 32]);
assert.deepEqual(weights.shape, [2, 4, 5, 7]);
for (let h = 0; h < 4; h++)
  for (let i = 0; i < 5; i++) {
    for (let j = 4; j < 7; j++) assert.equal(weights.at(0, h, i, j), 0);
    assert.ok(weights.at(1, h, i, 6) > 0);
  }

// Keys after a length are not read: NaN there changes no bit of the result.
const numbers = Float32Array.from(encoder.toFloat64());
numbers.fill(Number.NaN, 4 * 24, 7 * 24);
const spoiled = tensor(numbers, [2, 7, 24]);
assert.deepEqual(layer.forward(decoder, spoiled, spoiled, options).output.data, output.data);
console.log(`cross-attention over keys of size 24: ${output.shape}`);
