import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { align, shared } from "./align.ts";

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

  it("of more than 2048 are paired by index", () => {
    const long = Array.from({ length: 2049 }, (_, n) => `${n}`);
    const pairs = align(long.slice(1, 4), long);
    expect(pairs.length).toBe(2049);
    expect(pairs.slice(2, 4)).toEqual([
      { a: 2, b: 2 },
      { a: undefined, b: 3 },
    ]);
    expect(align(long, []).every(({ a, b }, n) => a === n && b === undefined)).toBe(true);
    expect(shared(pairs)).toHaveLength(3);
  });
});
