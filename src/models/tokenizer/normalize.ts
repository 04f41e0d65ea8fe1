/**
 * BERT's normalizer (google-research/bert, tokenization.py; in files: `BertNormalizer`): control characters go, white
 * space becomes spaces, CJK ideographs stand alone, accents and capitals go if requested. Every character of the
 * result knows its character in the text.
 *
 * Classes of characters are those of the engine's Unicode. Tables of other programs may be older: a sign that became
 * punctuation or a mark since then is cut there as a letter.
 */

/** What the normalizer does. */
export interface BertNormalizer {
  /** Drops NUL, U+FFFD, control, format and private characters; other white space becomes a space. Default true. */
  readonly cleanText: boolean;
  /** Puts spaces around CJK ideographs. Default true. */
  readonly handleChineseChars: boolean;
  /** Decomposes (NFD) and drops nonspacing marks; null: where `lowercase` is. */
  readonly stripAccents: boolean | null;
  readonly lowercase: boolean;
}

/** A normalized text by characters, each with its place `[start, end)` in the text it was made of (UTF-16). */
export interface Normalized {
  readonly characters: readonly string[];
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** The normalized form of `text`. */
export function normalize(text: string, options: BertNormalizer): Normalized {
  const { cleanText, handleChineseChars, lowercase } = options;
  const stripAccents = options.stripAccents ?? lowercase;
  const characters: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let start = 0;
  const add = (made: string, end: number) => {
    for (const character of made) {
      characters.push(character);
      starts.push(start);
      ends.push(end);
    }
  };
  for (const given of text) {
    const end = start + given.length;
    const code = given.codePointAt(0)!;
    let made = given;
    // Half a surrogate pair is no character: it reads as U+FFFD.
    if (given.length === 1 && code >= 0xd800 && code < 0xe000) made = "\ufffd";
    if (cleanText) made = clean(made, code);
    if (made !== "" && code >= 0x80) {
      if (handleChineseChars && isIdeograph(code)) made = ` ${made} `;
      if (stripAccents) made = made.normalize("NFD").replace(/\p{Mn}/gu, "");
    }
    if (lowercase) made = made.toLowerCase();
    add(made, end);
    start = end;
  }
  return { characters, starts, ends };
}

function clean(character: string, code: number): string {
  if (code === 0x09 || code === 0x0a || code === 0x0d || code === 0x20) return " ";
  if (code > 0x20 && code < 0x7f) return character;
  if (character === "\ufffd" || /[\p{Cc}\p{Cf}\p{Co}]/u.test(character)) return "";
  return /\p{White_Space}/u.test(character) ? " " : character;
}

/** The blocks BERT means by Chinese characters; the gap from U+2B820 to U+2B91F is theirs. */
function isIdeograph(code: number): boolean {
  return (
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0x3400 && code <= 0x4dbf) ||
    (code >= 0x20000 && code <= 0x2a6df) ||
    (code >= 0x2a700 && code <= 0x2b73f) ||
    (code >= 0x2b740 && code <= 0x2b81f) ||
    (code >= 0x2b920 && code <= 0x2ceaf) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0x2f800 && code <= 0x2fa1f)
  );
}
