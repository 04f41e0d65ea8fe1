/**
 * Writes lab/variants/captures.ts: two heads of the encoder that heed ships, on a text of 128 tokens, for the page "Variants" of
 * the Lab.
 *
 *     node tools/captures/variants.ts
 *
 * Layer 0, head 0 attends to the previous word; layer 0, head 1 averages the whole text. Needs Node ≥ 22.18.
 */
import { writeFileSync } from "node:fs";
import type { Tensor } from "../../src/index.ts";
import { locateShipped, readModel } from "../../src/models/index.ts";
import { headOf, packed } from "./numbers.ts";

const TEXT =
  `A head of attention reads every word of a text and decides how much of each to take. Most heads look near by: at the word
before, at the next one, or at the end of the sentence. Some look at the first mark and at little else, as if they had nothing to say. A few look
all over the text and take an average of what is there. When the text is long, each of these habits can be used to save work. If a head only looks
near, the words that are far away need not be read. If it takes an average, the average can be kept. But nobody can know the habit of a head before
it was trained, and a way that is right for one head is wrong for the next.`.replaceAll("\n", " ");

const HEADS = { previous: [0, 0], average: [0, 1] } as const;

const { attention } = await readModel(locateShipped("encoder"));
const { layers, tokens } = attention(TEXT);
const stored = (heads: Tensor, head: number) => packed(headOf(heads, head));
const tensors = Object.fromEntries(
  Object.entries(HEADS).map(([name, [layer, head]]) => {
    const { query, key, value } = layers[layer];
    return [name, { query: stored(query, head), key: stored(key, head), value: stored(value, head) }];
  }),
);
writeFileSync(
  new URL("../../lab/variants/captures.ts", import.meta.url),
  `/**
 * Two heads of the encoder that heed ships (models/encoder; layer 0, heads 0 and 1) on a text of ${tokens.length} tokens: [${tokens.length}, 32] each,
 * float16 in base64. Written by \`node tools/captures/variants.ts\`, which holds the text.
 */
export const HEADS = {
${Object.entries(tensors)
  .map(([name, one]) => `  ${name}: ${JSON.stringify(one)},\n`)
  .join("")}} as const; // biome-ignore format: a row a head
`,
);
process.exit(0);
