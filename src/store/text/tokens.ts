/**
 * What tokens are called on screen: white space, control and direction marks made visible (␣ ⏎ ⇥, which common fonts have), nothing left that
 * could reorder or hide the text beside it, and an ellipsis marks whatever is cut. Tokens only ever become text.
 *
 * Byte-level pieces (GPT-2's) write a space as Ġ, a line break as Ċ and a tab as ĉ; SentencePiece writes ▁ and WordPiece
 * marks what continues a word with ##. Which of them a list uses is detected from the list.
 */
import { graphemes } from "./label.ts";

const BYTE_LEVEL: Readonly<Record<string, string>> = { Ġ: " ", Ċ: "\n", ĉ: "\t", č: "\r" };
const VISIBLE: Readonly<Record<string, string>> = {
  " ": "␣",
  "\n": "⏎",
  "\r": "␍",
  "\t": "⇥",
  "\u007f": "␡",
};

/** How a list of tokens marks words. */
export type Pieces = "byte-level" | "sentencepiece" | "spaced" | "wordpiece" | "plain";

/** Detected from the marks of most of a list's tokens. */
export function piecesOf(tokens: readonly string[]): Pieces {
  const share = (mark: RegExp) => tokens.filter((token) => mark.test(token)).length / (tokens.length || 1);
  if (share(/^[ĠĊ]/) > 0.1) return "byte-level";
  if (share(/^▁/) > 0.1) return "sentencepiece";
  if (share(/^ \S/) > 0.1) return "spaced";
  return share(/^##./) > 0 ? "wordpiece" : "plain";
}

/** A token with everything in it visible, at most `most` characters as a reader counts them. */
export function visible(token: string, pieces: Pieces = "plain", limit = 200): string {
  const text = pieces === "byte-level" ? token.replace(/[ĠĊĉč]/g, (mark) => BYTE_LEVEL[mark]) : token;
  if (text === "") return "⟨empty⟩";
  // Most tokens are what they look like.
  if (text.length <= limit && /^[!-~]+$/.test(text)) return text;
  // Only as much as could be shown is looked at: a token may be a book.
  const start = text.slice(0, limit * 16).replace(/\r\n/g, "⏎");
  const shown = graphemes(
    start.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Zs}\uFFFE\uFFFF]/gu, show),
  );
  if (shown.length <= limit && text.length <= limit * 16) return shown.join("");
  return `${shown.slice(0, Math.max(1, limit - 1)).join("")}…`;
}

function show(mark: string): string {
  const code = mark.codePointAt(0)!;
  if (VISIBLE[mark] !== undefined) return VISIBLE[mark];
  return code < 32
    ? String.fromCharCode(0x2400 + code)
    : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** A token as running text has it: its marks taken away, its white space kept. */
export function plainText(token: string, pieces: Pieces): string {
  if (pieces === "byte-level") return token.replace(/[ĠĊĉč]/g, (mark) => BYTE_LEVEL[mark]);
  if (pieces === "sentencepiece") return token.replace(/▁/g, " ");
  return pieces === "wordpiece" ? token.replace(/^##(?=.)/, "") : token;
}

/** Whether a token goes on with the word before it. */
export function continues(token: string, pieces: Pieces): boolean {
  if (pieces === "wordpiece") return /^##./.test(token);
  if (pieces === "plain" || isSpecial(token)) return false;
  const text = plainText(token, pieces);
  return text !== "" && !/^\s/.test(text);
}

const SPECIAL =
  /^(?:\[(?:pad|unk|mask|bos|eos|cls|sep)\]|<\/?(?:pad|unk|mask|bos|eos|cls|sep|s)>|<([|｜])[^|｜<>\s]+\1>|<(?:(?:begin|start|end)_of_\w|extra_id_\d)\w*>)$/i;

/** Whether a token has the form of a special token of a model: `[CLS]`, `<s>`, `<|endoftext|>`, `<start_of_turn>`, `<extra_id_0>`. */
export function isSpecial(token: string): boolean {
  return token.length <= 48 && SPECIAL.test(token);
}

/** Tokens joined to words: for each word, the tokens from `start` up to `end`. */
export function wordsOf(tokens: readonly string[], pieces: Pieces): { start: number; end: number }[] {
  const words: { start: number; end: number }[] = [];
  tokens.forEach((token, i) => {
    const last = words[words.length - 1];
    if (last !== undefined && i > 0 && continues(token, pieces) && !isSpecial(tokens[i - 1]))
      last.end = i + 1;
    else words.push({ start: i, end: i + 1 });
  });
  return words;
}

/** The text of a word, without the marks of its tokens. */
export function wordText(
  tokens: readonly string[],
  { start, end }: { readonly start: number; readonly end: number },
  pieces: Pieces,
): string {
  return tokens
    .slice(start, end)
    .map((token) => plainText(token, pieces))
    .join("")
    .trim();
}
