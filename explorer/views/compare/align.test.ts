import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { align, shared } from "../../../src/core/align.ts";
import { comparable } from "./align.ts";

const words = (text: string) => text.split(" ");

describe("aligned tokens", () => {
  it("pairs equal words, and replaced words by position", () => {
    const a = words("[CLS] time flies like an arrow [SEP]");
    const b = words("[CLS] fruit flies like a banana [SEP]");
    expect(align(a, b)).toEqual(a.map((_, i) => ({ a: i, b: i })));
  });

  it("gives a word that is only in one text no partner", () => {
    const pairs = align(words("the cat sat"), words("the old cat sat"));
    expect(pairs).toEqual([
      { a: 0, b: 0 },
      { a: undefined, b: 1 },
      { a: 1, b: 2 },
      { a: 2, b: 3 },
    ]);
    expect(shared(pairs)).toHaveLength(3);
  });

  it("pairs the same words of models with different tokenizers", () => {
    const bert = comparable(words("[CLS] Time flies like an arr ##ow [SEP]"));
    const roberta = comparable(words("<s> time Ġflies Ġlike Ġan Ġarrow </s>"));
    expect(bert).toEqual(words("[CLS] time flies like an arr ow [SEP]"));
    expect(shared(align(bert, roberta)).map(({ a, b }) => `${bert[a]} ${roberta[b]}`)).toEqual([
      ...["[CLS] [CLS]", "time time", "flies flies", "like like", "an an"],
      ...[expect.stringMatching(/^(?:arr|ow) arrow$/), "[SEP] [SEP]"],
    ]);
    expect(comparable(["Ġ", "<pad>", "a"])).toEqual(["Ġ", "<pad>", "a"]);
  });

  it("contains every token of both texts once, in order", () => {
    const list = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
    fc.assert(
      fc.property(list, list, (a, b) => {
        const pairs = align(a, b);
        expect(pairs.flatMap((pair) => pair.a ?? [])).toEqual(a.map((_, i) => i));
        expect(pairs.flatMap((pair) => pair.b ?? [])).toEqual(b.map((_, i) => i));
      }),
    );
  });
});
