/** Sentence vectors of the shipped encoder: a sentence is most similar to itself, and then to the one with which it shares words. */
import assert from "node:assert/strict";
import { cosineSimilarity, embedTexts, locateShipped, readModel } from "heed/models";

const texts = [
  "the ship sailed over the sea",
  "a ship sailed across the sea",
  "he paid for the bread and butter",
];
const encoder = await readModel(locateShipped("encoder"));
const vectors = embedTexts(encoder, texts);
assert.equal(vectors.shape[0], texts.length);

const alike = cosineSimilarity(vectors);
const at = (i: number, j: number) => alike[i]?.[j] ?? Number.NaN;
for (let i = 0; i < texts.length; i++) assert.ok(Math.abs(at(i, i) - 1) < 1e-6);
assert.ok(at(0, 1) > at(0, 2) + 0.1, `${at(0, 1)} and ${at(0, 2)}`);
console.log(`${at(0, 1).toFixed(2)} alike against ${at(0, 2).toFixed(2)}`);
