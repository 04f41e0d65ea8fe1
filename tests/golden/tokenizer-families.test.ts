import { readTokenizer, writeTokenizer } from "heed/models";
import { describe, expect, test } from "vitest";
import { encoded, expectedOf, read, strings } from "./tokenizers/encoded.ts";

const expected = expectedOf("families/expected.json");

describe.each(Object.keys(expected))("%s", (name) => {
  const bytes = read(`families/${name}.json`);
  const tokenizer = readTokenizer(bytes);

  test("ids, offsets, types and decoded texts are the library's", () => {
    const texts = strings.filter((_, i) => i % 2 === 0);
    expect(expected[name].single.length).toBe(texts.length);
    texts.forEach((text, i) =>
      expect(encoded(tokenizer, text), JSON.stringify(text)).toEqual(expected[name].single[i]),
    );
  });

  test("and of pairs", () => {
    expected[name].pair.forEach((want, i) =>
      expect(encoded(tokenizer, strings[8 * i], strings[8 * i + 3]), strings[8 * i]).toEqual(want),
    );
  });

  test("a stream of ids gives the decoded text", () => {
    for (const text of strings) {
      const ids = tokenizer.encode(text, undefined, { addSpecialTokens: false }).ids;
      const stream = tokenizer.stream();
      let out = "";
      for (const id of ids) out += stream.push(id);
      expect(out + stream.end(), JSON.stringify(text)).toBe(tokenizer.decode(ids));
    }
  });

  test("written again, the file is the same tokenizer", () => {
    const again = readTokenizer(writeTokenizer(tokenizer));
    for (const text of strings) expect(encoded(again, text)).toEqual(encoded(tokenizer, text));
  });
});
