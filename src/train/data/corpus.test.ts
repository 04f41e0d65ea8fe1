import { describe, expect, test } from "vitest";
import { type Tokenizer, trainTokenizer } from "../../models/index.ts";
import { IGNORE_INDEX } from "../loss.ts";
import { Corpus, type CorpusOptions } from "./corpus.ts";

const text = Array.from(
  { length: 400 },
  (_, i) => `sentence ${i % 23} says ${"abcdefgh"[i % 8]}${i % 5}`,
).join(". ");
const bytes = trainTokenizer([text], { kind: "bpe", vocabSize: 300 });
const pieces = trainTokenizer([text], { kind: "wordpiece", vocabSize: 120 });
const corpus = (tokenizer: Tokenizer, options: Partial<CorpusOptions> & Pick<CorpusOptions, "kind">) =>
  new Corpus([text, "another text. ".repeat(50)], tokenizer, { context: 16, batch: 6, ...options });

describe("Corpus", () => {
  test("a decoder's batches are the text, shifted by one; texts are separated by <|endoftext|>", () => {
    const data = corpus(bytes, { kind: "decoder" });
    const [{ inputs, targets, count }] = data.batches(3);
    expect(inputs.shape).toEqual([6, 16]);
    expect(count).toBe(96);
    for (let row = 0; row < 6; row++)
      for (let i = 0; i < 15; i++) expect(targets.at(row, i)).toBe(inputs.at(row, i + 1));
    expect(data.ids.filter((id) => id === bytes.id("<|endoftext|>")).length).toBe(1);
    const decoded = bytes.decode(data.ids, { skipSpecialTokens: false });
    expect(decoded.startsWith(text)).toBe(true);
  });

  test("an encoder's sequences are between [CLS] and [SEP], and their masks depend on the step alone", () => {
    const data = corpus(pieces, { kind: "encoder" });
    const [cls, sep, mask] = ["[CLS]", "[SEP]", "[MASK]"].map((token) => pieces.id(token));
    const [{ inputs, targets, count }] = data.batches(0);
    let [masks, targetCount] = [0, 0];
    for (let row = 0; row < 6; row++) {
      expect(inputs.at(row, 0)).toBe(cls);
      expect(inputs.at(row, 15)).toBe(sep);
      for (let i = 0; i < 16; i++) {
        if (inputs.at(row, i) === mask) masks++;
        if (targets.at(row, i) !== IGNORE_INDEX) targetCount++;
      }
    }
    expect(targetCount).toBe(count);
    expect(masks).toBeGreaterThan(0);
    expect(masks).toBeLessThanOrEqual(count);
    expect(data.batches(0)).toEqual(corpus(pieces, { kind: "encoder" }).batches(0));
    expect(data.batches(0)).not.toEqual(corpus(pieces, { kind: "encoder", seed: 1 }).batches(0));
  });

  test("the first steps may have short sequences, with the same number of tokens per step", () => {
    for (const [kind, tokenizer] of [
      ["encoder", pieces],
      ["decoder", bytes],
    ] as const) {
      const options = { kind, context: 40, accumulate: 2, short: 3, repeats: 0.5, seed: 4 };
      const data = corpus(tokenizer, options);
      for (const step of [0, 1, 2])
        expect(data.batches(step).map(({ inputs }) => inputs.shape)).toEqual([
          [6, 16],
          [6, 16],
        ]);
      expect(data.batches(0)).not.toEqual(data.batches(1));
      expect(data.batches(2)).toEqual(corpus(tokenizer, options).batches(2));
      // From then on as without them.
      expect(data.batches(3)).toEqual(corpus(tokenizer, { ...options, short: 0 }).batches(3));
      expect(data.heldOut).toEqual(corpus(tokenizer, { ...options, short: 0 }).heldOut);
    }
    expect(() => corpus(pieces, { kind: "encoder", short: 1 })).toThrow(/not shorter than a context of 16/);
    expect(() => corpus(pieces, { kind: "encoder", context: 40, short: -1 })).toThrow(
      /short must be an integer/,
    );
  });

  test("the share of masked tokens in training may differ from that of held-out text", () => {
    const share = (masked: number) => {
      const data = corpus(pieces, { kind: "encoder", masked });
      const of = (batches: readonly { count: number; inputs: { size: number } }[]) =>
        batches.reduce((sum, { count }) => sum + count, 0) /
        batches.reduce((sum, { inputs }) => sum + inputs.size, 0);
      return { train: of([0, 1, 2, 3].flatMap((step) => data.batches(step))), heldOut: of(data.heldOut) };
    };
    expect(share(0.6).train).toBeGreaterThan(2 * share(0.15).train);
    expect(share(0.6).heldOut).toBe(share(0.15).heldOut);
    expect(() => share(0)).toThrow(/masked must be a share above 0/);
  });

  test.each(["decoder", "encoder"] as const)("micro-batches of a %s are the rows of the batch", (kind) => {
    const tokenizer = kind === "decoder" ? bytes : pieces;
    const [full] = corpus(tokenizer, { kind }).batches(5);
    const parts = corpus(tokenizer, { kind, accumulate: 3 }).batches(5);
    expect(parts.length).toBe(3);
    expect(parts.flatMap(({ inputs }) => [...inputs.data])).toEqual([...full.inputs.data]);
    expect(parts.flatMap(({ targets }) => [...targets.data])).toEqual([...full.targets.data]);
    expect(parts.reduce((sum, { count }) => sum + count, 0)).toBe(full.count);
  });

  test("no training sequence contains held-out text", () => {
    const data = corpus(bytes, { kind: "decoder" });
    const ranges = data.split.heldOut;
    const marked = Int32Array.from(data.ids, (_, i) =>
      ranges.some(({ start, end }) => i >= start && i < end) ? 1 : 0,
    );
    expect(marked.some((mark) => mark === 1)).toBe(true);
    expect(
      data.split.train.every(({ start, end }) => marked.subarray(start, end).every((mark) => mark === 0)),
    ).toBe(true);
    const targets = data.heldOut.reduce((sum, { count }) => sum + count, 0);
    expect(targets).toBeGreaterThan(16);
    expect(corpus(bytes, { kind: "decoder", heldOutTokens: 32 }).heldOut[0].inputs.shape).toEqual([2, 16]);
    expect(corpus(bytes, { kind: "decoder", heldOut: 0 }).heldOut).toEqual([]);
  });

  test.each(["decoder", "encoder"] as const)(
    "the baselines of a %s are better than chance and judged on its targets",
    (kind) => {
      const tokenizer = kind === "decoder" ? bytes : pieces;
      const data = corpus(tokenizer, { kind });
      const [unigram, bigram] = [1, 2].map((order) => data.baseline(order));
      expect(unigram).toBeLessThan(Math.log(tokenizer.size));
      expect(bigram).toBeLessThan(unigram);
      expect(bigram).toBeGreaterThan(0);
    },
  );

  test("the fingerprint depends on the token ids alone", () => {
    const print = corpus(bytes, { kind: "decoder" }).fingerprint;
    expect(print).toMatch(/^[0-9a-f]{16}$/);
    expect(corpus(bytes, { kind: "decoder", seed: 9, heldOut: 0.3 }).fingerprint).toBe(print);
    const other = new Corpus([`${text}!`, "another text. ".repeat(50)], bytes, {
      kind: "decoder",
      context: 16,
    });
    expect(other.fingerprint).not.toBe(print);
  });

  test.each<[string, () => Corpus]>([
    ["tokenizer", () => corpus(bytes, { kind: "encoder" })],
    ["text", () => new Corpus(["too short"], bytes, { kind: "decoder", context: 64 })],
    ["accumulate", () => corpus(bytes, { kind: "decoder", accumulate: 4 })],
    ["batch", () => corpus(bytes, { kind: "decoder", batch: 0 })],
    ["context", () => corpus(bytes, { kind: "decoder", context: 2 })],
    ["share", () => corpus(bytes, { kind: "decoder", heldOut: 0.7 })],
  ])("refuses a wrong %s", (code, make) => {
    expect(make).toThrow(expect.objectContaining({ name: "OptionError", code }));
  });
});
