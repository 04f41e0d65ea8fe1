import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Random, random } from "../../../tests/support/cases/random.ts";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import type { Block, HeadRef } from "../block.ts";
import { openStore } from "../formats/open.ts";
import type { HeadStore } from "../head-store.ts";
import { storeFrom } from "../layout/from.ts";
import type { StoreInput } from "../layout/input.ts";
import type { Claim } from "../measures/claims.ts";
import type { HeadMeasures } from "../measures/measures.ts";
import { plantsOf, sampleBundle } from "../sample.ts";
import { describeHead } from "./sentence.ts";

const ref: HeadRef = { block: 0, layer: 0, head: 0 };

/** Whether a cell belongs to a claim's habit, from tokens and positions alone. */
function belongs(block: Block, claim: Claim, i: number, j: number, near: number): boolean {
  const p = i + block.queryOffset;
  const { queryTokens, keyTokens, special, Nq, Nk } = block;
  const center = ((i + 0.5) * Nk) / Nq - 0.5;
  const band = Math.max(1, Nk / (2 * Nq)) + 1e-9;
  const copy = (at: number) => keyTokens[at] === queryTokens[i] && !special.query[i];
  const habits: Record<Claim["habit"], () => boolean> = {
    diagonal: () => j === p,
    previous: () => j === p - 1,
    next: () => j === p + 1,
    sameToken: () => j !== p && copy(j),
    induction: () => j > 0 && j - 1 < p && copy(j - 1),
    special: () => special.key[j],
    key: () => j === claim.key,
    near: () => Math.abs(j - p) <= near,
    aligned: () => Math.abs(j - center) <= band,
    reversed: () => Math.abs(j - (Nk - 1 - center)) <= band,
  };
  return habits[claim.habit]();
}

/** The shares of a claim without the cells of another, by hand from the store's rows. */
function shares(store: HeadStore, head: HeadRef, near: number, claim: Claim, except?: Claim) {
  const block = store.blocks[0];
  let [share, even, rows] = [0, 0, 0];
  for (let i = 0; i < block.Nq; i++) {
    const visible = store.visible(head, i);
    const count = visible.reduce((sum, x) => sum + x, 0);
    const row = store.row(head, i, "weights");
    if (count === 0 || !(row.reduce((a, b) => a + b, 0) > 0)) continue;
    rows++;
    for (let j = 0; j < block.Nk; j++)
      if (
        visible[j] &&
        belongs(block, claim, i, j, near) &&
        !(except && belongs(block, except, i, j, near))
      ) {
        share += row[j];
        even += 1 / count;
      }
  }
  return { share: share / rows, even: even / rows };
}

/** Checks a head's sentence against its rows; returns the sentence. */
async function check(store: HeadStore, head: HeadRef): Promise<string> {
  const block = store.blocks[0];
  const measures = await store.measures(head);
  const sentence = describeHead(block, measures);
  const { claims, near, effectiveKeys, visibleKeys } = measures;
  let total = 0;
  claims.forEach((claim, n) => {
    const { share, even } = shares(store, head, near, claim, claims[n - 1]);
    expect(claim.share, sentence).toBeCloseTo(share, 9);
    expect(claim.even, sentence).toBeCloseTo(even, 9);
    expect(claim.share, sentence).toBeGreaterThanOrEqual(2 * claim.even * (1 - 1e-12));
    expect(claim.share, sentence).toBeGreaterThanOrEqual(0.1);
    total += claim.share;
    if (claim.habit === "key") {
      const sums = Array.from({ length: block.Nk }, (_, key) => ({
        key,
        share: shares(store, head, near, { ...claim, key }).share,
      })).filter(({ key }) => block.special.key[key] === block.special.key[claim.key!]);
      expect(sums[claim.key!] ?? sums.find(({ key }) => key === claim.key)).toBeDefined();
      expect(Math.max(...sums.map((one) => one.share))).toBeCloseTo(
        sums.find(({ key }) => key === claim.key)!.share,
        9,
      );
    }
  });
  expect(total, sentence).toBeLessThanOrEqual(1 + 1e-9);
  const percents = [...sentence.replace(/even: \S+/g, "").matchAll(/([\d.]+)\u202f% on|\(([\d.]+)\u202f%/g)];
  expect(
    percents.reduce((sum, [, a, b]) => sum + Number(a ?? b), 0),
    sentence,
  ).toBeLessThanOrEqual(100);
  if (sentence.startsWith("Spread over most"))
    expect(effectiveKeys, sentence).toBeGreaterThan(visibleKeys / 2);
  if (sentence.startsWith("No single pattern"))
    expect(effectiveKeys, sentence).toBeLessThanOrEqual(visibleKeys / 2);
  return sentence;
}

/** A head with some habits and some noise, as weights. */
function mixture(r: Random, Nq: number, Nk: number): Float64Array {
  const weights = new Float64Array(Nq * Nk);
  const strength = Array.from({ length: 5 }, () => (r.chance(0.5) ? 0 : 3 * r.next()));
  const [popular, other] = [r.int(0, Nk - 1), r.int(0, Nk - 1)];
  for (let i = 0; i < Nq; i++) {
    const row = weights.subarray(i * Nk, (i + 1) * Nk);
    for (let j = 0; j < Nk; j++) row[j] = 0.3 * r.next();
    row[popular] += strength[0];
    row[other] += strength[1];
    for (const [n, shift] of [-1, 0, 1].entries()) {
      const j = i + shift;
      if (j >= 0 && j < Nk) row[j] += strength[2 + n];
    }
    const sum = row.reduce((a, b) => a + b, 0);
    for (let j = 0; j < Nk; j++) row[j] /= sum;
  }
  return weights;
}

/** A store over weights of one head. */
const over = (weights: ArrayLike<number>, tokens: string[], keyTokens = tokens, kind?: "cross") =>
  storeFrom({
    blocks: [
      {
        ...(kind ? { kind, queryTokens: tokens, keyTokens } : { tokens }),
        layers: [
          { weights: { data: Float64Array.from(weights), shape: [1, tokens.length, keyTokens.length] } },
        ],
      },
    ],
  } as StoreInput);

describe("the sentence about a head", () => {
  it("claims nothing that the rows of random heads do not show", async () => {
    for (let seed = 0; seed < 120; seed++) {
      const store = storeFrom(randomInput(seed));
      for (let head = 0; head < store.blocks[0].heads; head++) await check(store, { ...ref, head });
    }
  });

  it("claims nothing that mixtures of habits do not show, square and rectangular", async () => {
    const openings = new Set<string>();
    for (let seed = 0; seed < 400; seed++) {
      const r = random(seed);
      const [Nq, cross] = [r.int(1, 16), r.chance(0.3)];
      const Nk = cross ? r.int(1, 16) : Nq;
      const words = (n: number) =>
        Array.from({ length: n }, (_, i) => (i === 0 ? "[CLS]" : i === n - 1 ? "[SEP]" : `w${r.int(0, 5)}`));
      const weights = mixture(r, Nq, Nk);
      const store = cross ? over(weights, words(Nq), words(Nk), "cross") : over(weights, words(Nq));
      openings.add((await check(store, ref)).split(" ")[0]);
    }
    for (const word of ["Mostly", "Often", "Spread"]) expect([...openings]).toContain(word);
  });

  it("is true of every head of the nine captures of real models: 584 captions", async () => {
    const folder = new URL("../../../models/captures/", import.meta.url);
    const files = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
    const sentences: string[] = [];
    for (const name of files) {
      const store = await openStore(readFileSync(new URL(name, folder)), { name });
      for (const layer of store.blocks[0].layers)
        for (let head = 0; head < store.blocks[0].heads; head++) {
          await store.load({ block: 0, layer, head });
          sentences.push(await check(store, { block: 0, layer, head }));
        }
      store.dispose();
    }
    expect(sentences).toHaveLength(584);
    // The same head gives "cat" as much where the last word is "soft": a stripe, no finding about "tired".
    expect(sentences.filter((one) => /^(?:Mostly|Often) “cat” \(6[45]\u202f%/.test(one))).toHaveLength(2);
  });

  it("names the key that gets most of the attention", async () => {
    const n = 8;
    const weights = Float64Array.from({ length: n * n }, (_, at) => (at % n === 3 ? 0.65 : 0.05));
    const tokens = ["[CLS]", "the", "black", "cat", "sat", "on", "it", "[SEP]"];
    expect(await check(over(weights, tokens), ref)).toBe(
      "Mostly “cat” (65\u202f%; even: 13\u202f%); spread as if over 3.8 of 8 keys.",
    );
  });

  it("does not call even attention near, special or first", async () => {
    for (const n of [2, 3, 5, 9, 12]) {
      const even = new Float64Array(n * n).fill(1 / n);
      const tokens = Array.from({ length: n }, (_, i) => (i === 0 ? "[CLS]" : i === n - 1 ? "[SEP]" : "a"));
      expect(await check(over(even, tokens), ref)).toMatch(/^Spread over most keys: as if over/);
    }
  });

  it("says that a head across two texts follows the diagonal, or the reversed one", async () => {
    const [Nq, Nk] = [6, 12];
    const place = (i: number) => 2 * i;
    const aligned = new Float64Array(Nq * Nk);
    const reversed = new Float64Array(Nq * Nk);
    for (let i = 0; i < Nq; i++) {
      aligned[i * Nk + place(i)] = 1;
      reversed[i * Nk + Nk - 1 - place(i)] = 1;
    }
    const words = (n: number, w: string) => Array.from({ length: n }, (_, i) => `${w}${i}`);
    const sentenceFor = (weights: Float64Array) =>
      check(over(weights, words(Nq, "x"), words(Nk, "y"), "cross"), ref);
    expect(await sentenceFor(aligned)).toMatch(/^Mostly the keys along the diagonal \(100/);
    expect(await sentenceFor(reversed)).toMatch(/^Mostly the keys along the reversed diagonal \(100/);
  });

  it("does not call a key the token itself where the positions of the queries are not known", async () => {
    const [Nq, Nk] = [4, 6];
    const identity = new Float64Array(Nq * Nk);
    for (let i = 0; i < Nq; i++) identity[i * Nk + i] = 1;
    const unknown = [{ layers: [{ weights: { data: identity, shape: [1, Nq, Nk] } }] }];
    expect(await check(storeFrom({ blocks: unknown }), ref)).toMatch(/^Mostly the key at its own position/);
    const eye = Float64Array.from({ length: 36 }, (_, n) => (n % 7 === 0 ? 1 : 0));
    const [words, others] = ["a b c d e f".split(" "), "u v w x y z".split(" ")];
    const twoTexts = await check(over(eye, words, others, "cross"), ref);
    expect(twoTexts, "two texts of the same length").not.toContain("itself");
    const shifted = new Float64Array(Nq * Nk);
    for (let i = 0; i < Nq; i++) shifted[i * Nk + i + 2] = 1;
    const later = [{ queryOffset: 2, layers: [{ weights: { data: shifted, shape: [1, Nq, Nk] } }] }];
    expect(await check(storeFrom({ blocks: later }), ref)).toMatch(/^Mostly the token itself/);
  });

  it("does not speak of shares where weights are negative or rows sum to more than 1", async () => {
    const negative = over([0.5, 0.5, 1.4, -0.4], ["a", "b"]);
    expect(describeHead(negative.blocks[0], await negative.measures(ref))).toBe(
      "These numbers are not shares of attention: 1 is negative.",
    );
    const large = over([0.5, 0.5, 3, 4], ["a", "b"]);
    expect(describeHead(large.blocks[0], await large.measures(ref))).toBe(
      "These numbers are not shares of attention: a row sums to 7.",
    );
  });

  it("one weight that is not a number is singular, and means without rows are not numbers", async () => {
    const store = over([0.5, 0.5, Number.NaN, 1], ["a", "b"]);
    expect(describeHead(store.blocks[0], await store.measures(ref))).toMatch(/; 1 weight is not a number\.$/);
    const broken = over([Number.NaN, 0.5, Number.NaN, 1], ["a", "b"]);
    const measures: HeadMeasures = await broken.measures(ref);
    expect([measures.entropy, measures.effectiveKeys, measures.rowSum, measures.first]).toEqual(
      Array(4).fill(Number.NaN),
    );
    expect(describeHead(broken.blocks[0], measures)).toBe(
      "No row consists of numbers only; 2 weights are not numbers.",
    );
  });

  it("holds for every planted head of both samples", async () => {
    for (const kind of ["causal", "bidirectional"] as const) {
      const store = storeFrom(sampleBundle(kind));
      for (const [layer, plants] of plantsOf(kind).entries())
        for (const head of plants.keys()) await check(store, { block: 0, layer, head });
    }
  });
});
