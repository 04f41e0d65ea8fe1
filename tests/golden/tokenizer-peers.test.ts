/**
 * Every kind of tokenizer against `@huggingface/tokenizers` on varied texts: the same ids. A sample by default; HEED_STRINGS=10000 for
 * all, HEED_SEED for others.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer as Peer } from "@huggingface/tokenizers";
import { readTokenizer } from "heed/models";
import { describe, expect, test } from "vitest";
import { Dice } from "../files/mutants.ts";
import { variedText } from "../support/cases/strings.ts";

const count = Number(process.env.HEED_STRINGS ?? 300);
const seed = Number(process.env.HEED_SEED ?? 11);
const folder = join(import.meta.dirname, "tokenizers/families");
const names = readdirSync(folder).filter((name) => name.endsWith(".json") && name !== "expected.json");

/** Differences of the npm library from the library that wrote these files, which is the reference of tokenizer-families.test.ts. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "unigram-nmt.json": "it has no Nmt normalizer",
  "words.json": "its Whitespace takes letters beyond ASCII for punctuation",
  "xlm-roberta.json": "it normalizes by NFKC in the place of the file's compiled table",
};

/** Characters that the npm library classifies differently in the patterns of one file; they are removed from the compared texts. */
const OTHER_CHARACTERS: Readonly<Record<string, RegExp>> = {
  // \s of JavaScript includes U+FEFF, that of the Rust library does not: there [^\s\p{L}\p{N}]+ joins it with the punctuation after it.
  "clip.json": /\ufeff/gu,
};

test("U+FEFF before punctuation is split as by tokenizers 0.23.3, not as by the npm library", () => {
  const bytes = readFileSync(join(folder, "clip.json"));
  const text = "\ufeff‘q’";
  expect([...readTokenizer(bytes).encode(text).ids]).toEqual([0, 173, 121, 125, 324, 1, 1, 324, 1, 1]);
  const peer = new Peer(JSON.parse(bytes.toString("utf8")), {});
  expect(peer.encode(text).ids).toEqual([0, 173, 121, 1, 324, 1, 1, 324, 1, 1]);
});

describe.each(names)("%s", (name) => {
  test.skipIf(name in ELSEWHERE)(`${count} texts have the ids that the other library gives`, () => {
    const bytes = readFileSync(join(folder, name));
    const tokenizer = readTokenizer(bytes);
    const peer = new Peer(JSON.parse(bytes.toString("utf8")), {});
    const dice = new Dice(seed);
    for (let n = 0; n < count; n++) {
      const varied = variedText(dice);
      const other = OTHER_CHARACTERS[name];
      const text = other === undefined ? varied : varied.replace(other, "");
      expect([...tokenizer.encode(text).ids], `text ${n}: ${JSON.stringify(text)}`).toEqual(
        peer.encode(text).ids,
      );
    }
  });
});
