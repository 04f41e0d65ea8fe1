import { describe, expect, it } from "vitest";
import { isSpecial, piecesOf, plainText, visible, wordsOf } from "./tokens.ts";

describe("a token on screen", () => {
  it("shows its white space and control characters", () => {
    expect(visible(" the")).toBe("␣the");
    expect(visible("a\tb\n")).toBe("a⇥b⏎");
    expect(visible("\r\n")).toBe("⏎");
    expect(visible("\u0000\u001b[31m")).toBe("␀␛[31m");
    expect(visible("")).toBe("⟨empty⟩");
    expect(visible("\u00a0")).toBe("⟨U+00A0⟩");
  });

  it("cannot reorder or hide the text beside it", () => {
    expect(visible("a\u202Eb")).toBe("a⟨U+202E⟩b");
    expect(visible("\u200B\uFEFF")).toBe("⟨U+200B⟩⟨U+FEFF⟩");
    expect(visible("\ud800x")).toBe("⟨U+D800⟩x");
  });

  it("keeps joined emoji and letters of any script", () => {
    expect(visible("👩‍👩‍👧")).toBe("👩‍👩‍👧");
    expect(visible("क्ष")).toBe("क्ष");
    expect(visible("שלום")).toBe("שלום");
  });

  it("is cut by an ellipsis, however long it is", () => {
    expect(visible("abcdefgh", "plain", 5)).toBe("abcd…");
    expect(visible("x".repeat(1e6), "plain", 24)).toBe(`${"x".repeat(23)}…`);
    expect(visible("</script><b>")).toBe("</script><b>");
  });
});

describe("pieces", () => {
  it("are detected from the list", () => {
    expect(piecesOf(["The", "Ġcat", "Ġsat"])).toBe("byte-level");
    expect(piecesOf(["▁The", "▁c", "at"])).toBe("sentencepiece");
    expect(piecesOf(["The", " cat"])).toBe("spaced");
    expect(piecesOf(["play", "##ing"])).toBe("wordpiece");
    expect(piecesOf(["the", "cat"])).toBe("plain");
    expect(piecesOf([])).toBe("plain");
  });

  it("become words", () => {
    const words = (tokens: string[]) =>
      wordsOf(tokens, piecesOf(tokens)).map(({ start, end }) => [start, end]);
    expect(words(["[CLS]", "play", "##ing", "[SEP]"])).toEqual([
      [0, 1],
      [1, 3],
      [3, 4],
    ]);
    expect(words(["<s>", "The", "Ġc", "at", "Ċ"])).toEqual([
      [0, 1],
      [1, 2],
      [2, 4],
      [4, 5],
    ]);
    expect(words(["a", "b"])).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });

  it("give back the running text", () => {
    expect(["The", "Ġcat", "Ċ"].map((token) => plainText(token, "byte-level")).join("")).toBe("The cat\n");
    expect(["play", "##ing"].map((token) => plainText(token, "wordpiece")).join("")).toBe("playing");
  });

  it("of a model's own are known by their form", () => {
    expect(
      ["[CLS]", "<s>", "</s>", "<|endoftext|>", "<start_of_turn>", "[unused1]"].filter(isSpecial),
    ).toEqual(["[CLS]", "<s>", "</s>", "<|endoftext|>", "<start_of_turn>"]);
    expect(["a<b", "<", "[", "[a]"].filter(isSpecial)).toEqual([]);
  });
});
