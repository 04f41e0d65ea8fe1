/**
 * Writes models/captures/evidence.json: what the page's story shows and cannot compute from a capture without the model. The reasons of a
 * link, the effect of each head, the cosines of states by layer, and what a word becomes, of all-MiniLM-L6-v2.
 *
 *     node tools/captures/evidence.ts ./all-MiniLM-L6-v2
 *
 * Each part has the command or the function that makes it again. Needs the model's folder and Node ≥ 22.18.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Component, TextModel } from "../../src/models/index.ts";
import { measureEffects, readModel, recordActivations, splitScore } from "../../src/models/index.ts";
import { contrastOf, openStore } from "../../src/view/index.ts";
import { cosine } from "./numbers.ts";

const FLIES = ["time flies like an arrow", "fruit flies like a banana"] as const;
const [LAYER, HEAD] = [0, 4];
/** A word, and a neutral sentence with it. "soars" is two tokens, of which the last is compared. */
const WORDS = [
  ["passes", "the hour passes", "passes"],
  ["runs", "time runs fast", "runs"],
  ["insect", "a small insect", "insect"],
  ["mosquito", "a mosquito bit me", "mosquito"],
  ["bugs", "there are bugs", "bugs"],
  ["soars", "the bird soars", "##ars"],
] as const;
const LINKS = [
  [FLIES[0], "flies", "time"],
  ["they walked along the bank of the river", "bank", "river"],
  ["they sat by the bank of the table", "bank", "table"],
] as const;

/** The links that the story shows, of captures beside the file: true ones, controls, and links that only seem to be some. */
const SHOWN = [
  ["time-flies", "time flies like an arrow", "flies", "time", 0, 4],
  ["fruit-flies", "fruit flies like a banana", "flies", "fruit", 0, 4],
  ["bank-of-the-river", "they walked along the bank of the river", "bank", "river", 0, 4],
  ["bank-of-the-table", "they sat by the bank of the table", "bank", "table", 0, 4],
  ["tired-cat", "The cat sat on the mat because it was tired", "it", "cat", 5, 11],
  ["time-flies", "time flies like an arrow", "flies", "arrow", 5, 11],
  ["river-bank", "they walked along the river bank", "bank", "river", 2, 11],
] as const;

const round = (x: number) => Number(x.toFixed(4));

function placeOf(model: TextModel, text: string, word: string): number {
  const at = model.tokenize(text).tokens.findIndex((token) => token.trim() === word);
  if (at < 0) throw new Error(`"${word}" is no token of "${text}"`);
  return at;
}

/** The states of a word: the embedding, and after each layer. */
function statesOf(model: TextModel, text: string, word: string): Float64Array[] {
  const { states } = recordActivations(model, model.tokenize(text));
  const at = placeOf(model, text, word);
  return states.map((state) => {
    const width = state.shape[state.shape.length - 1];
    return state.toFloat64().slice(at * width, (at + 1) * width);
  });
}

/** The score of a link against the mean of the row's other keys, by word × word, position × position, and the rest. */
function reasons(model: TextModel, [text, from, to]: (typeof LINKS)[number]) {
  const [query, key] = [placeOf(model, text, from), placeOf(model, text, to)];
  const cell = { layer: LAYER, head: HEAD, query, key };
  const { score, terms, rest } = splitScore(model, text, { ...cell, top: 10_000 });
  const both = (kind: Component["kind"]) =>
    terms
      .filter((term) => term.query.kind === kind && term.key.kind === kind)
      .reduce((sum, { difference }) => sum + difference, 0);
  const [words, positions] = [both("word"), both("position")];
  if (Math.abs(rest.difference) > 1e-6) throw new Error("terms are left out of the split");
  const left = score.difference - words - positions;
  return {
    ...{ text, query: from, key: to, score: round(score.difference) },
    ...{ words: round(words), positions: round(positions), rest: round(left) },
    command: `heed why sentence-transformers/all-MiniLM-L6-v2 "${text}" --layer ${LAYER} --head ${HEAD} --query ${from} --key ${to}`,
  };
}

/** A link of a capture with its baselines. */
async function linkOf([file, text, from, to, layer, head]: (typeof SHOWN)[number]) {
  const bytes = readFileSync(new URL(`../../models/captures/${file}.safetensors`, import.meta.url));
  const store = await openStore(bytes);
  const [{ queryTokens }] = store.blocks;
  const [query, key] = [queryTokens.lastIndexOf(from), queryTokens.indexOf(to)];
  const { weight, others, offset } = await contrastOf(store, { block: 0, layer, head }, query, key);
  store.dispose();
  const link = { text, from, to, layer, head, query, key };
  return { ...link, weight: round(weight), others: round(others), offset: round(offset) };
}

const model = await readModel(process.argv[2]);
const states = FLIES.map((text) => statesOf(model, text, "flies"));
const position = placeOf(model, FLIES[0], "flies");
const { value, effects } = measureEffects(
  model,
  FLIES[0],
  { of: "state", position, otherPosition: placeOf(model, FLIES[1], "flies") },
  { other: FLIES[1], parts: ["head"] },
);
const evidence = {
  model: "all-MiniLM-L6-v2",
  command: "node tools/captures/evidence.ts ./all-MiniLM-L6-v2",
  links: await Promise.all(SHOWN.map(linkOf)),
  why: LINKS.map((link) => reasons(model, link)),
  cause: {
    cosines: states[0].map((state, layer) => round(cosine(state, states[1][layer]))),
    value: round(value),
    // [layer][head]: the change of the last cosine without this head.
    off: Array.from({ length: model.layers }, (_, layer) =>
      Array.from({ length: model.heads }, (_, head) =>
        round(effects.find((it) => it.layer === layer && it.head === head)!.change),
      ),
    ),
    code: `measureEffects(model, "${FLIES[0]}", { of: "state", position: ${position}, otherPosition: ${position} }, { other: "${FLIES[1]}", parts: ["head"] })`,
  },
  becomes: {
    words: WORDS.map(([word, text, token]) => ({
      ...{ word, text },
      cosines: states.map((of) => round(cosine(of[of.length - 1], statesOf(model, text, token).at(-1)!))),
    })),
    code: `recordActivations(model, model.tokenize("${FLIES[0]}")).states`,
  },
};
writeFileSync(
  new URL("../../models/captures/evidence.json", import.meta.url),
  // One line for each list of numbers.
  `${JSON.stringify(evidence, null, 2).replace(/\[\s+(-?[\d.]+(?:,\s+-?[\d.]+)*)\s+\]/g, (_, list) => `[${list.replace(/\s+/g, " ")}]`)}\n`,
);
