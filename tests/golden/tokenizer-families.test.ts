/**
 * Tokenizers of the model families against Hugging Face's library: ids, offsets, token types and decoded texts that it gave
 * (tokenizers/families/make.py). A file in that folder adds a test.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readTokenizer, type Tokenizer, writeTokenizer } from "heed/models";
import { describe, expect, test } from "vitest";

interface Encoded {
  readonly ids: string;
  readonly offsets: string;
  readonly types: string;
  readonly decoded: string;
}

const folder = join(import.meta.dirname, "tokenizers");
const json = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const strings: readonly string[] = json("strings.json");
const expected: Record<string, { single: Encoded[]; pair: Encoded[] }> = json("families/expected.json");

function encoded(tokenizer: Tokenizer, text: string, pair?: string): Encoded {
  const { ids, offsets, typeIds } = tokenizer.encode(text, pair);
  return {
    ids: ids.join(" "),
    offsets: offsets.map(([start, end]) => `${start}-${end}`).join(" "),
    types: typeIds.join(""),
    decoded: tokenizer.decode(ids),
  };
}

describe.each(Object.keys(expected))("%s", (name) => {
  const bytes = readFileSync(join(folder, "families", `${name}.json`));
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
