/**
 * Writes lab/shapes/captures.ts: the head of the translator's cross-attention that follows the translation, on one sentence.
 *
 *     node tools/captures/translation.ts
 */
import { writeFileSync } from "node:fs";
import { configure } from "../../src/index.ts";
import { locateShipped, readModel } from "../../src/models/index.ts";
import { headOf, packed } from "./numbers.ts";

configure({ simd: "strict", threads: 1 });
const { target, tokens } = (await readModel(locateShipped("translator"))).attention(
  "today the man has not seen the old dog",
);
const { query, key } = target!.cross[1];
const capture = {
  rows: target!.tokens.map((token) => token.replace("</s>", "start")),
  columns: tokens.map((token) => token.replace("</s>", "end")),
  query: packed(headOf(query, 0)),
  key: packed(headOf(key, 0)),
};
writeFileSync(
  new URL("../../lab/shapes/captures.ts", import.meta.url),
  `/**
 * Cross-attention of heed's translator, layer 1, head 0: German words read so far, English words, their queries and keys, 32 numbers each in
 * float16 as base64. Written by \`node tools/captures/translation.ts\`.
 */
export const CAPTURE = ${JSON.stringify(capture)}; // biome-ignore format: one capture
`,
);
process.exit(0);
