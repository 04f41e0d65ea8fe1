/**
 * BERT's normalizer (google-research/bert, tokenization.py; in files: `BertNormalizer`): removes control characters, turns white
 * space into spaces, puts spaces around CJK ideographs, and optionally removes accents and lowercases. Every character of the
 * result has the offsets of its character in the text.
 *
 * Character classes are those of the engine's Unicode version. Other programs may have older tables, and read a character that
 * has since become punctuation or a mark as a letter.
 */

/** The settings of the normalizer. */
export interface BertNormalizer {
  /** Drops NUL, U+FFFD, control, format and private characters; other white space becomes a space. Default true. */
  readonly cleanText: boolean;
  /** Puts spaces around CJK ideographs. Default true. */
  readonly handleChineseChars: boolean;
  /** Decomposes (NFD) and drops nonspacing marks; null: the value of `lowercase`. */
  readonly stripAccents: boolean | null;
  readonly lowercase: boolean;
}

/** A normalized text by characters, each with its range `[start, end)` in the original text (UTF-16). */
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
  const add = (replacement: string, end: number) => {
    for (const character of replacement) {
      characters.push(character);
      starts.push(start);
      ends.push(end);
    }
  };
  for (const character of text) {
    const end = start + character.length;
    const code = character.codePointAt(0)!;
    let replacement = character;
    // A lone surrogate is read as U+FFFD.
    if (character.length === 1 && code >= 0xd800 && code < 0xe000) replacement = "\ufffd";
    if (cleanText) replacement = clean(replacement, code);
    if (replacement !== "" && code >= 0x80) {
      if (handleChineseChars && isIdeograph(code)) replacement = ` ${replacement} `;
      if (stripAccents) replacement = replacement.normalize("NFD").replace(/\p{Mn}/gu, "");
    }
    if (lowercase) replacement = replacement.toLowerCase();
    add(replacement, end);
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

/** The blocks that BERT calls Chinese characters; the gap from U+2B820 to U+2B91F is in the original. */
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
