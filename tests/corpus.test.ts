/**
 * The functions of tools/corpus/corpus.mjs that read other programs' files, on small files created here; and tools/corpus/masked-accuracy.ts, which
 * measures a model on such texts. And the sentences of tools/corpus/everyday.mjs.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { locateShipped, readModel } from "../src/models/index.ts";
import { bible, paragraphs, rStrings, splitSentences, wordnet } from "../tools/corpus/corpus.mjs";
import { everyday } from "../tools/corpus/everyday.mjs";
import { at } from "../tools/setup.mjs";

const folder = mkdtempSync(join(tmpdir(), "heed-corpus-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("empty lines separate paragraphs, each of which becomes one line", () => {
  expect(paragraphs("one\r\ntwo\r\n\r\n\r\n  three \n\n\n")).toEqual(["one two", "three"]);
});

test("sentences end at punctuation before a capital, not after an abbreviation or an initial", () => {
  expect(
    splitSentences('He came. "Who?" she said! (It was Mr. Knightley, or J. R. Smith.) Then 3.5 went.'),
  ).toEqual(["He came.", '"Who?" she said!', "(It was Mr. Knightley, or J. R. Smith.)", "Then 3.5 went."]);
  expect(splitSentences("no end")).toEqual(["no end"]);
});

test("WordNet: definitions with their word, examples together, frames of verbs; no taxa", () => {
  const line = (gloss: string, word: string) =>
    `00001740 03 n 01 ${word} 0 001 @ 00001930 n 0000 | ${gloss}  \n`;
  const none = "  1 This software and database is being provided to you, the LICENSEE\n";
  writeFileSync(
    join(folder, "data.noun"),
    none +
      line('a yellow fruit; "he ate a banana"; "bananas grow in bunches!"; "banana"', "banana") +
      line("genus of herbs", "Musa") +
      line("large fruit bat", "flying_fox"),
  );
  for (const part of ["verb", "adj", "adv"]) writeFileSync(join(folder, `data.${part}`), "");
  writeFileSync(join(folder, "sents.vrb"), "1 The children %s to the playground\n9 No frame\n");
  writeFileSync(join(folder, "sentidx.vrb"), "run%2:38:00:: 1,9\ngo_up%2:38:00:: 1 \n");
  expect(wordnet(folder)).toEqual([
    ["banana: a yellow fruit."],
    ["he ate a banana.", "bananas grow in bunches!"],
    ["large fruit bat."],
    ["The children run to the playground."],
    ["The children go up to the playground."],
  ]);
});

test("R's database: the texts of its character vectors, an empty one after each", () => {
  const number = (n: number) => Buffer.from(Uint32Array.of(n).buffer).swap32();
  const chunk = (...texts: string[]) => {
    const strings = texts.flatMap((text) => [
      number(0x00040009),
      number(Buffer.byteLength(text)),
      Buffer.from(text),
    ]);
    const serialized = Buffer.concat([
      Buffer.from("X\n"),
      number(3),
      number(16),
      number(texts.length),
      ...strings,
    ]);
    return Buffer.concat([number(serialized.length), deflateSync(serialized)]);
  };
  expect(rStrings(Buffer.concat([chunk("EMMA", "", "Emma Woodhouse, naïve"), chunk("two")]))).toEqual([
    "EMMA",
    "",
    "Emma Woodhouse, naïve",
    "",
    "two",
    "",
  ]);
});

test("the Bible's data file: verses by chapter, from pieces of compress(1) without their first bytes", () => {
  /** Nine-bit codes, lowest bits first, each a byte of the text: compress(1) before its table has 512 entries. */
  const compressed = (text: string) => {
    const bytes = Buffer.alloc(Math.ceil((9 * text.length) / 8));
    [...Buffer.from(text)].forEach((code, i) => {
      for (let bit = 0; bit < 9; bit++)
        if ((code >> bit) & 1) bytes[(9 * i + bit) >> 3] |= 1 << ((9 * i + bit) & 7);
    });
    return bytes;
  };
  const pieces = [
    "Title\nGe1:1 In the beginning\nGe1:2 And the ",
    "earth\nEx1:1 Now these are the names\n",
  ].map(compressed);
  const head = Buffer.alloc(92 + 4 * (pieces.length + 1));
  head.writeUInt32BE(pieces.length, 88);
  let at = head.length;
  [...pieces, Buffer.alloc(0)].forEach((piece, i) => {
    head.writeUInt32BE(at, 92 + 4 * i);
    at += piece.length;
  });
  expect(bible(Buffer.concat([head, ...pieces]))).toEqual([
    ["In the beginning", "And the earth"],
    ["Now these are the names"],
  ]);
});

test("the accuracy of the shipped encoder is measured on any text, as docs/models.md does", () => {
  const file = join(folder, "held-out.txt");
  const sentences = [
    "He sat on the bank of the river.",
    "The cat sat on the mat.",
    "She bought bread and butter.",
  ];
  writeFileSync(file, `${sentences.join("\n")}\n\n`.repeat(200));
  const run = spawnSync(
    process.execPath,
    [at("tools/corpus/masked-accuracy.ts"), locateShipped("encoder"), file],
    {
      encoding: "utf8",
    },
  );
  expect(run.stderr).toBe("");
  expect(run.stdout).toMatch(/^\d+ masked tokens, loss \d+\.\d{4}\nall tokens: first \d+\.\d %/);
});

test("everyday sentences are different, the same for a seed, without a mark of the tables, and in the words of the encoder", async () => {
  const sentences = everyday(3000);
  expect(new Set(sentences).size).toBe(3000);
  expect(everyday(30)).toEqual(sentences.slice(0, 30));
  expect(everyday(30, 2)).not.toEqual(sentences.slice(0, 30));
  const isSentence = /^[A-Z][A-Za-z0-9 ,.:?'!-]*[.?!]$/;
  expect(
    sentences.filter((sentence) => !isSentence.test(sentence) || sentence.includes("undefined")),
  ).toEqual([]);
  const { tokenizer } = await readModel(locateShipped("encoder"));
  const words = sentences.flatMap((sentence) => sentence.match(/\w+/g) ?? []);
  const tokens = words.filter((word) => tokenizer.ids(word).length === 1);
  expect(tokens.length / words.length).toBeGreaterThan(0.95);
});
