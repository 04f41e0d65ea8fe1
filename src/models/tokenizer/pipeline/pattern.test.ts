/** Regular expressions of tokenizer files: the matches of each construct, native or backtracking, and the errors of others. */
import { UnsupportedError } from "heed";
import { describe, expect, it } from "vitest";
import { compilePattern, literal } from "./pattern.ts";

const matches = (pattern: string, text: string) =>
  Array.from(compilePattern(pattern)(text), ([from, to]) => text.slice(from, to));

type Case = readonly [pattern: string, text: string, expected: string[]];

/** Patterns that become a regular expression of the engine. */
const NATIVE: Case[] = [
  ["[a-c]+", "abcdcab", ["abc", "cab"]],
  ["[^a-c ]+", "abc xyz", ["xyz"]],
  ["[]a]+", "a]b", ["a]"]],
  ["[a-]+", "a-b", ["a-"]],
  ["[\\d-x]+", "1-x2", ["1-x2"]],
  ["[+-\\-]+", "+,-.", ["+,-"]],
  ["[[ab]c]+", "abcd", ["abc"]],
  ["[\\]\\\\]", "]\\", ["]", "\\"]],
  ["a.c", "abc a\nc", ["abc"]],
  ["^b|c$", "b\nb c\nc", ["b", "b", "c", "c"]],
  ["\\Aa|a\\z", "aba", ["a", "a"]],
  ["a\\Z", "a\na\n", ["a"]],
  ["\\bcat\\b", "cat concat cat's", ["cat", "cat"]],
  ["\\Bat", "at cat", ["at"]],
  ["a(?=b)", "ab ac", ["a"]],
  ["a(?!b)", "ab ac", ["a"]],
  ["(?<=a)b", "ab cb", ["b"]],
  ["(?<!a)b", "ab cb", ["b"]],
  ["(?:ab)(c|d)", "abc abd abe", ["abc", "abd"]],
  ["(?i:ab)c", "ABc abC", ["ABc"]],
  ["(?i)ab", "AB aB", ["AB", "aB"]],
  ["(?i:[k-m])", "KlM", ["K", "l", "M"]],
  ["(?i:s)", "sS\u017f", ["s", "S", "\u017f"]],
  ["(?i:k)", "kK\u212a", ["k", "K", "\u212a"]],
  ["a{2}", "aaaaa", ["aa", "aa"]],
  ["a{2,}", "a aa aaa", ["aa", "aaa"]],
  ["a{,2}b", "aaab", ["aab"]],
  ["a{x}", "a{x}", ["a{x}"]],
  ["a+?", "aa", ["a", "a"]],
  ["a{1,2}?", "aaa", ["a", "a", "a"]],
  ["\\p{Lu}\\p{^Lu}", "Ab AB", ["Ab"]],
  ["\\P{L}+", "a1 b", ["1 "]],
  ["\\p{Greek}", "aβ", ["β"]],
  ["\\x{1F600}\\x41\\u0042", "\u{1f600}AB", ["\u{1f600}AB"]],
  ["\\t\\n\\a\\e\\0", "\t\n\x07\x1b\0", ["\t\n\x07\x1b\0"]],
  ["\\h+\\S\\w\\D", "fFz_!", ["fFz_!"]],
  ["\\.\\/", "./", ["./"]],
];

/** Patterns with repetitions inside repetitions, or possessive ones, that the backtracking matcher runs. */
const BACKTRACKING: Case[] = [
  ["(a+b)+", "aabab ab", ["aabab", "ab"]],
  ["(?:a|b+)*c", "abbac c", ["abbac", "c"]],
  ["(a{1,2}){2}", "aaaa", ["aaaa"]],
  ["(a+?b?)+?", "aab", ["a", "ab"]],
  ["a++a", "aaa", []],
  ["(?>a|ab)c", "abc ac", ["ac"]],
  ["(?:x+y)+(?=z)", "xyxyz xy", ["xyxy"]],
  ["(?:x+y)+(?!z)", "xyxyz", ["xy"]],
  ["(?<=a)(?:x+y)+", "axy bxy", ["xy"]],
  ["(?<!a)(?:x+y)+", "axy bxy", ["xy"]],
  ["(?:x+\\b)+", "xx xy", ["xx"]],
  ["(?:\u{1f600}+y)+", "\u{1f600}\u{1f600}y\u{1f600}", ["\u{1f600}\u{1f600}y"]],
  ["(?:a?)+b", "aab", ["aab"]],
];

describe("a pattern matches", () => {
  it.each([...NATIVE, ...BACKTRACKING])("%s in %j", (pattern, text, expected) => {
    expect(matches(pattern, text)).toEqual(expected);
  });

  it("within a limit of steps, beyond which it is an error", () => {
    expect(() => matches("(a+)+b", "a".repeat(60))).toThrow(
      /the regular expression "\(a\+\)\+b" takes too many steps on this text/,
    );
  });

  it("literally, if it is a literal text", () => {
    expect([...literal("ab")("abab")]).toEqual([[0, 2], [2, 4]]); // biome-ignore format: pairs
    expect([...literal("")("ab")]).toEqual([]);
  });
});

describe("a pattern is refused", () => {
  it.each([
    ["(a", "a ( without its )"],
    ["a)", "a ) without its ("],
    ["[a", "a [ without its ]"],
    ["[", "a [ without its ]"],
    ["*a", "nothing to repeat before *"],
    ["(?=a)*", "a repetition of something without width"],
    ["^+", "a repetition of something without width"],
    ["\\b{2}", "a repetition of something without width"],
    ["a{2,1}", "the repetition {2,1}"],
    ["a{1001}", "the repetition {1001}"],
    ["(?P<n>a)", "this kind of group"],
    ["[a&&b]", "an intersection of classes"],
    ["[[:alpha:]]", "a POSIX class"],
    ["[a[^b]]", "a negated class inside a class"],
    ["[b-a]", "this range"],
    ["[a-\\d]", "this range"],
    ["\\p", "this property"],
    ["\\p{Nonsense}", "the property Nonsense"],
    ["\\x{110000}", "this code point"],
    ["\\q", "\\q"],
    ["\\", "\\"],
    ["(".repeat(40) + ")".repeat(40), "groups deeper than 32"],
    ["a".repeat(5000), "a pattern of 5000 characters; at most 4096 are read"],
  ] as [string, string][])("%#: %.20s", (pattern, words) => {
    expect(() => compilePattern(pattern)).toThrow(UnsupportedError);
    expect(() => compilePattern(pattern)).toThrow(words);
  });

  it("for a lookbehind over nested repetitions", () => {
    expect(() => matches("(?<=(?:a+b)+)(?:x+y)+", "abxy")).toThrow(UnsupportedError);
  });
});
