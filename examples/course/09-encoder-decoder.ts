/**
 * Cross-attention: queries from the decoder, keys and values from the encoder. A key mask masks the padding of the source.
 * (Bahdanau's recurrent encoder and decoder, trained until it writes backwards: `examples/reverse.ts`.)
 * Run: `node examples/course/09-encoder-decoder.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   target [2,3,16] over source [2,6,24]: output [2,3,16]
 *   weights [2,2,3,6]: 3 target words over 6 source words
 *   padding of the second sentence gets 0
 */
import { randn, tensor } from "heed";
import { MultiHeadAttention } from "heed/nn";

const source = randn([2, 6, 24], { seed: 1 }); // two sentences of up to 6 words, 24 numbers a word
const target = randn([2, 3, 16], { seed: 2 }); // 3 words written so far, 16 numbers each
const real = tensor([
  [true, true, true, true, true, true],
  [true, true, true, true, false, false],
]);

const layer = new MultiHeadAttention(16, 2, { kdim: 24, vdim: 24, seed: 3 });
const { output, weights } = layer.forward(target, source, source, { keyMask: real, returnWeights: true });

console.log(`target [${target.shape}] over source [${source.shape}]: output [${output.shape}]`);
console.log(`weights [${weights.shape}]: 3 target words over 6 source words`);
console.log(`padding of the second sentence gets ${weights.at(1, 0, 0, 4) + weights.at(1, 0, 0, 5)}`);
