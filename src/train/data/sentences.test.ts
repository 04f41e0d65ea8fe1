import { describe, expect, test } from "vitest";
import { OptionError } from "../../core/errors.ts";
import { trainTokenizer } from "../../models/index.ts";
import { IGNORE_INDEX } from "../loss.ts";
import { Corpus } from "./corpus.ts";
import { readParagraphs, SentenceBatches, splitParagraphs } from "./sentences.ts";

/** A word is an id: "w12" is 12. */
const idsOf = (line: string) =>
  Int32Array.from(line.split(" ").filter(Boolean), (word) => Number(word.slice(1)));
/** Paragraph p has sentences of words that are used once. */
const many = (paragraphs: number, length: (n: number) => number): string => {
  let next = 0;
  const sentence = (n: number) => Array.from({ length: length(n) }, () => `w${next++}`).join(" ");
  return Array.from({ length: paragraphs }, (_, p) =>
    [0, 1, 2].map((s) => sentence(3 * p + s)).join("\n"),
  ).join("\n\n");
};
const batchesOf = (data: SentenceBatches, from = 0) =>
  Array.from({ length: data.perEpoch }, (_, i) => data.batch(from + i));

describe("readParagraphs", () => {
  test("a line is a sentence; an empty line and the end of a text end a paragraph", () => {
    const { ids, paragraphs } = readParagraphs(["w1 w2\r\nw3\n\n\nw4 w5\n", "w6"], idsOf);
    expect([...ids]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(paragraphs).toEqual([
      [
        { start: 0, end: 2 },
        { start: 2, end: 3 },
      ],
      [{ start: 3, end: 5 }],
      [{ start: 5, end: 6 }],
    ]);
  });

  test("every tenth paragraph is held out as a whole", () => {
    const { train, heldOut } = splitParagraphs(readParagraphs([many(20, () => 4)], idsOf), 0.1);
    expect(heldOut).toEqual([
      { start: 9 * 12, end: 10 * 12 },
      { start: 19 * 12, end: 20 * 12 },
    ]);
    expect(train.length).toBe(18);
    expect(() => splitParagraphs(readParagraphs(["w1 w2"], idsOf), 0.1)).toThrow(/at least 10/);
  });
});

describe("SentenceBatches", () => {
  const { ids, paragraphs } = readParagraphs([many(50, (n) => 3 + (n % 11))], idsOf);

  test("single sentences: each occurs once per epoch, complete except for tokens beyond the batch's length", () => {
    const data = new SentenceBatches(ids, paragraphs, { window: 40, tokens: 64, joined: 0, seed: 1 });
    const starts = new Set(paragraphs.flat().map(({ start }) => start));
    const sequences = batchesOf(data).flat();
    expect(sequences.map((s) => s[0]).sort((a, b) => a - b)).toEqual([...starts].sort((a, b) => a - b));
    for (const batch of batchesOf(data)) {
      expect(new Set(batch.map((s) => s.length)).size).toBe(1);
      expect(batch.length * (batch[0].length + 2)).toBeLessThanOrEqual(64);
    }
    const lost = ids.length - sequences.reduce((sum, s) => sum + s.length, 0);
    expect(lost / ids.length).toBeLessThan(0.05);
  });

  test("joined sentences are consecutive, fit the window and stay in a paragraph; long ones are divided", () => {
    const window = 20;
    const data = new SentenceBatches(ids, paragraphs, { window, tokens: 64, joined: 1, seed: 1 });
    const paragraph = new Int32Array(ids.length);
    paragraphs.forEach((p, i) => {
      paragraph.fill(i, p[0].start, p[p.length - 1].end);
    });
    const sequences = batchesOf(data).flat();
    for (const s of sequences) {
      expect(s.length).toBeLessThanOrEqual(window);
      expect([...s]).toEqual(Array.from(s, (_, i) => s[0] + i));
      expect(new Set(Array.from(s, (id) => paragraph[id])).size).toBe(1);
    }
    expect(sequences.some((s) => s.length > 13)).toBe(true);
    const long = readParagraphs([many(1, () => 50)], idsOf);
    const cut = new SentenceBatches(long.ids, long.paragraphs, { window, tokens: 22, joined: 0, seed: 0 });
    expect(
      batchesOf(cut)
        .flat()
        .map((s) => s.length)
        .sort(),
    ).toEqual([10, 10, 10, 20, 20, 20, 20, 20, 20]);
  });

  test("a batch is a function of seed and number; each epoch has another order", () => {
    const make = (seed: number) =>
      new SentenceBatches(ids, paragraphs, { window: 30, tokens: 64, repeats: 0.5, seed });
    const [a, b] = [make(3), make(3)];
    const first = batchesOf(a);
    b.batch(5 * b.perEpoch);
    expect(batchesOf(b)).toEqual(first);
    expect(batchesOf(a, a.perEpoch)).not.toEqual(first);
    expect(batchesOf(make(4))).not.toEqual(first);
  });

  test.each([
    ["window", { window: 0 }],
    ["tokens", { tokens: 1.5 }],
    ["joined", { joined: 2 }],
    ["repeats", { repeats: -1 }],
  ])("a wrong %s is refused", (name, over) => {
    const make = () => new SentenceBatches(ids, paragraphs, { window: 8, tokens: 8, seed: 0, ...over });
    expect(make).toThrow(OptionError);
    expect(make).toThrow(new RegExp(name));
  });
});

describe("a corpus of sentences", () => {
  const words = "the a cat dog bird sat ran sang on under near mat tree river".split(" ");
  const text = Array.from({ length: 120 }, (_, i) =>
    Array.from({ length: 4 + (i % 9) }, (_, j) => words[(i * 7 + j * (1 + (i % 5))) % words.length]).join(
      " ",
    ),
  ).join("\n\n");
  const tokenizer = trainTokenizer([text], { kind: "wordpiece", vocabSize: 80 });
  const make = (over = {}) =>
    new Corpus([text], tokenizer, { kind: "encoder", lines: true, context: 32, batch: 4, ...over });

  test("each row is one sentence between [CLS] and [SEP], nothing is padded", () => {
    const [cls, sep, pad] = ["[CLS]", "[SEP]", "[PAD]"].map((token) => tokenizer.id(token));
    const data = make({ accumulate: 2, short: 3 });
    for (let step = 0; step < 8; step++)
      for (const { inputs, targets, count } of data.batches(step)) {
        const [rows, length] = inputs.shape;
        expect(rows * length).toBeLessThanOrEqual(64);
        if (step < 3) expect(length).toBeLessThanOrEqual(16);
        expect(inputs.data.includes(pad as number)).toBe(false);
        for (let row = 0; row < rows; row++)
          expect([inputs.at(row, 0), inputs.at(row, length - 1)]).toEqual([cls, sep]);
        expect(targets.data.filter((id) => id !== IGNORE_INDEX).length).toBe(count);
      }
    expect(data.batches(2)).toEqual(make({ accumulate: 2, short: 3 }).batches(2));
  });

  test("held-out sentences are in no training batch, and the n-gram baseline is measured on the masked ones", () => {
    const data = make();
    const heldOut = new Set(data.split.heldOut.map(({ start, end }) => data.ids.slice(start, end).join(" ")));
    const others = new Set(data.split.train.map(({ start, end }) => data.ids.slice(start, end).join(" ")));
    expect(data.heldOut.reduce((sum, { inputs }) => sum + inputs.shape[0], 0)).toBe(12);
    expect([...heldOut].filter((sentence) => !others.has(sentence)).length).toBeGreaterThan(0);
    const loss = data.baseline(2);
    expect(loss).toBeGreaterThan(0);
    expect(loss).toBeLessThan(Math.log(tokenizer.size));
  });

  test("is for encoders", () => {
    const decoder = trainTokenizer([text], { kind: "bpe", vocabSize: 300 });
    expect(() => new Corpus([text], decoder, { kind: "decoder", lines: true, context: 32 })).toThrow(/lines/);
  });
});
