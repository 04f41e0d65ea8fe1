import { describe, expect, test } from "vitest";
import { Ngram } from "./ngram.ts";
import { Generator } from "./random.ts";

const all = (ids: Int32Array) => [{ start: 0, end: ids.length }];

/** Random ids in which a pair tends to be followed by one id. */
function text(length: number, vocabulary: number, seed: number): Int32Array {
  const generator = new Generator(seed);
  const ids = new Int32Array(length);
  for (let i = 2; i < length; i++)
    ids[i] =
      generator.uniform() < 0.7 ? (3 * ids[i - 1] + ids[i - 2]) % vocabulary : generator.below(vocabulary);
  return ids;
}

/** The formula of the file's comment over a list of n-grams, recursively. */
function byDefinition(order: number, vocabulary: number, ids: Int32Array) {
  const grams = (k: number) =>
    Array.from({ length: ids.length - k + 1 }, (_, i) => ids.subarray(i, i + k).join());
  const counts: Map<string, number>[] = [];
  for (let k = 1; k <= order; k++) {
    const c = new Map<string, number>();
    if (k === order) for (const gram of grams(k)) c.set(gram, (c.get(gram) ?? 0) + 1);
    else
      for (const gram of new Set(grams(k + 1))) {
        const suffix = gram.split(",").slice(1).join();
        c.set(suffix, (c.get(suffix) ?? 0) + 1);
      }
    counts[k] = c;
  }
  const discount = counts.map((c) => {
    const [once, twice] = [1, 2].map((r) => [...c.values()].filter((n) => n === r).length);
    return once === 0 ? 0.5 : once / (once + 2 * twice);
  });
  return function p(history: number[], w: number): number {
    const k = history.length + 1;
    const below = k === 1 ? 1 / vocabulary : p(history.slice(1), w);
    const rows = [...counts[k]].filter(([gram]) => gram.split(",").slice(0, -1).join() === history.join());
    const total = rows.reduce((sum, [, n]) => sum + n, 0);
    if (total === 0) return below;
    const c = counts[k].get([...history, w].join()) ?? 0;
    return (Math.max(c - discount[k], 0) + discount[k] * rows.length * below) / total;
  };
}

describe("Ngram", () => {
  test.each([1, 2, 3])("of order %d is interpolated Kneser–Ney by its definition", (order) => {
    const ids = text(120, 6, 4);
    const model = new Ngram(order, 6, ids, all(ids));
    const p = byDefinition(order, 6, ids);
    const probe = text(40, 6, 5);
    model.logProbabilities(probe).forEach((log, i) => {
      const history = [...probe.subarray(Math.max(0, i - order + 1), i)];
      expect(Math.exp(log)).toBeCloseTo(p(history, probe[i]), 12);
    });
  });

  test("probabilities after any history sum to 1, unseen ids included", () => {
    const ids = text(5000, 50, 1);
    const model = new Ngram(5, 60, ids, all(ids));
    for (const history of [[], [3], [1, 2, 3, 4], [55, 3, 9], [59, 59, 59, 59, 59]]) {
      let sum = 0;
      for (let w = 0; w < 60; w++)
        sum += Math.exp(model.logProbabilities(Int32Array.of(...history, w))[history.length]);
      expect(sum).toBeCloseTo(1, 10);
    }
  });

  test("a longer history helps where the text depends on it", () => {
    const ids = text(30_000, 40, 2);
    const cut = { train: [{ start: 0, end: 25_000 }], heldOut: [ids.subarray(25_000)] };
    const [unigram, bigram, trigram] = [1, 2, 3].map((order) =>
      new Ngram(order, 40, ids, cut.train).loss(cut.heldOut),
    );
    expect(unigram).toBeGreaterThan(3.5);
    expect(bigram).toBeLessThan(unigram + 0.1); // one token alone says nothing about the next
    // The text's own entropy is 1.68 nats: 0.7075 goes to one id of 40, the rest to the 39 others.
    expect(trigram).toBeLessThan(bigram - 1);
    expect(trigram).toBeGreaterThan(1.6);
  });

  test("no n-gram crosses two spans, and the loss counts the given targets", () => {
    const ids = Int32Array.of(0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3);
    const model = new Ngram(2, 4, ids, [
      { start: 0, end: 6 },
      { start: 6, end: 12 },
    ]);
    const p = (a: number, b: number) => Math.exp(model.logProbabilities(Int32Array.of(a, b))[1]);
    expect(p(1, 2)).toBeLessThan(p(1, 0) / 4);
    const only = model.loss(
      [Int32Array.of(0, 1), Int32Array.of(1, 2)],
      (sequence, i) => sequence === 1 && i === 1,
    );
    expect(only).toBeCloseTo(-Math.log(p(1, 2)), 12);
  });

  test("refuses orders it does not know", () => {
    expect(() => new Ngram(0, 4, Int32Array.of(1), [])).toThrow(expect.objectContaining({ code: "order" }));
  });
});
