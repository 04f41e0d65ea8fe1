/**
 * Tokens outside the learned vocabulary: "[MASK]", "<|endoftext|>". They are found in a text before anything else, the leftmost
 * first, the longest of those that begin at the same position, and are never split. The rules about neighboring characters are
 * those of Hugging Face's tokenizers (added_vocabulary.rs).
 */

/** An added token. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Omitted from decoded text, and marked in an encoding. */
  readonly special: boolean;
  /** Matches only where no letter, digit or underscore is next to it. */
  readonly singleWord: boolean;
  /** Includes the white space before it. */
  readonly lstrip: boolean;
  /** Includes the white space after it. */
  readonly rstrip: boolean;
  /** Matches in the normalized text, in normalized spelling. Default false: in the given text. */
  readonly normalized?: boolean;
}

/** A part of a text: an added token, or plain text if `id` is undefined. */
export interface TextPart {
  readonly id?: number;
  readonly start: number;
  readonly end: number;
}

/** A text as a pattern. The flag `u` forbids the escape of "-", which means itself outside a class. */
export const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

/** A function that splits texts at `tokens`. */
export function splitter(tokens: readonly AddedToken[]): (text: string) => Iterable<TextPart> {
  if (tokens.length === 0) return (text) => [{ start: 0, end: text.length }];
  const byContent = new Map(tokens.map((token) => [token.content, token]));
  // Longest first: a regular expression takes the first alternative that matches. Each is a literal.
  const literals = [...byContent.keys()].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const pattern = new RegExp(literals.map(escaped).join("|"), "gu");
  return (text) => split(text, pattern, byContent);
}

function* split(text: string, pattern: RegExp, tokens: ReadonlyMap<string, AddedToken>): Generator<TextPart> {
  let done = 0;
  for (const match of text.matchAll(pattern)) {
    const token = tokens.get(match[0]) as AddedToken;
    let start = match.index;
    let end = start + match[0].length;
    if (start < done || (token.singleWord && !isSingleWord(text, start, end))) continue;
    if (token.lstrip) while (start > done && isSpace(text[start - 1])) start--;
    if (token.rstrip) while (end < text.length && isSpace(text[end])) end++;
    if (start > done) yield { start: done, end: start };
    yield { id: token.id, start, end };
    done = end;
  }
  if (done < text.length) yield { start: done, end: text.length };
}

/** All white space is in the basic multilingual plane, where one UTF-16 unit is one character. */
function isSpace(unit: string): boolean {
  return /\p{White_Space}/u.test(unit);
}

function isSingleWord(text: string, start: number, end: number): boolean {
  const word = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
  // The character before may be a surrogate pair.
  const before = /[\s\S]$/u.exec(text.slice(Math.max(0, start - 2), start))?.[0] ?? "";
  const after = /^[\s\S]/u.exec(text.slice(end, end + 2))?.[0] ?? "";
  return !word.test(before) && !word.test(after);
}
