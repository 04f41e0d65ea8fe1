import { Tokenizer as Peer } from "@huggingface/tokenizers";
import { readTokenizer, trainTokenizer, writeTokenizer } from "heed/models";
import { describe, expect, test } from "vitest";
import { encoded, expectedOf, read, strings } from "./tokenizers/encoded.ts";

const corpus = read("corpus.txt").toString("utf8").split("\n");
const expected = expectedOf("expected.json");
const pairs = strings.filter((_, i) => i % 4 === 0).map((a, i) => [a, strings[4 * i + 3]] as const);

describe.each(Object.keys(expected))("%s", (name) => {
  const tokenizer = readTokenizer(read(`${name}.json`));

  test("ids, offsets, types and decoded texts of every string are the library's", () => {
    strings.forEach((text, i) => expect(encoded(tokenizer, text)).toEqual(expected[name].single[i]));
  });

  test("and of pairs", () => {
    expect(pairs.slice(0, expected[name].pair.length).length).toBe(expected[name].pair.length);
    expected[name].pair.forEach((want, i) => expect(encoded(tokenizer, ...pairs[i])).toEqual(want));
  });

  test("written again, the file is the same tokenizer", () => {
    const again = readTokenizer(writeTokenizer(tokenizer));
    expect(again.spec).toEqual(tokenizer.spec);
    expect(writeTokenizer(again)).toEqual(writeTokenizer(tokenizer));
  });

  test("the npm library reads what heed writes and gives the same ids", () => {
    const peer = new Peer(JSON.parse(new TextDecoder().decode(writeTokenizer(tokenizer))), {});
    for (const text of strings) {
      // It does not set ideographs beyond the basic plane apart, as the others do.
      if (/[\u{20000}-\u{2ffff}]/u.test(text)) continue;
      expect(peer.encode(text).ids, JSON.stringify(text)).toEqual([...tokenizer.encode(text).ids]);
    }
  });
});

test("byte-level BPE learns the merges that the library learns", () => {
  const learnt = trainTokenizer(corpus, { kind: "bpe", vocabSize: 500 });
  const theirs = readTokenizer(read("bpe.json"));
  expect(learnt.spec).toEqual(theirs.spec);
});

test("ideographs at the edges of their blocks stand alone, as in the npm library", () => {
  const bytes = read("wordpiece-lower.json");
  const [tokenizer, peer] = [readTokenizer(bytes), new Peer(JSON.parse(bytes.toString("utf8")), {})];
  const edges = [
    0x33ff, 0x3400, 0x4dbf, 0x4dc0, 0x4dff, 0x4e00, 0x9fff, 0xa000, 0xf8ff, 0xf900, 0xfaff, 0xfb00,
  ];
  for (const code of edges) {
    const text = `a${String.fromCodePoint(code)}b`;
    expect([...tokenizer.encode(text).ids], code.toString(16)).toEqual(peer.encode(text).ids);
  }
  expect(tokenizer.encode("a\u9fffb").ids.length).toBe(5);
});
