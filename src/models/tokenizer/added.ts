/**
 * Tokens that stand outside the learned vocabulary: "[MASK]", "<|endoftext|>". They are searched for in a text before
 * anything else, the leftmost first and the longest of those that begin at one place, and are never cut. The rules about
 * neighbors are those of Hugging Face's tokenizers (added_vocabulary.rs).
 */

/** One such token. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Left out of decoded text, and marked in an encoding. */
  readonly special: boolean;
  /** Only where no letter, digit or underscore is beside it. */
  readonly singleWord: boolean;
  /** Takes the white space on its left, on its right. */
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  /** Looked for in the normalized text instead of the given one, in normalized spelling. Default false. */
  readonly normalized?: boolean;
}

/** A part of a text: an added token, or plain text where `id` is undefined. */
export interface Part {
  readonly id?: number;
  readonly start: number;
  readonly end: number;
}

/** A function that splits texts at `tokens`. */
export function splitter(tokens: readonly AddedToken[]): (text: string) => Iterable<Part> {
  if (tokens.length === 0) return (text) => [{ start: 0, end: text.length }];
  const byContent = new Map(tokens.map((token) => [token.content, token]));
  // Longest first: of alternatives a regular expression takes the first that fits. Each is a literal.
  const literals = [...byContent.keys()].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const pattern = new RegExp(
    literals.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"),
    "gu",
  );
  return (text) => split(text, pattern, byContent);
}

function* split(text: string, pattern: RegExp, tokens: ReadonlyMap<string, AddedToken>): Generator<Part> {
  let done = 0;
  for (const match of text.matchAll(pattern)) {
    const token = tokens.get(match[0]) as AddedToken;
    let start = match.index;
    let end = start + match[0].length;
    if (start < done || (token.singleWord && !standsAlone(text, start, end))) continue;
    if (token.lstrip) while (start > done && isSpace(text[start - 1])) start--;
    if (token.rstrip) while (end < text.length && isSpace(text[end])) end++;
    if (start > done) yield { start: done, end: start };
    yield { id: token.id, start, end };
    done = end;
  }
  if (done < text.length) yield { start: done, end: text.length };
}

/** White space is in the basic plane: one UTF-16 unit is one character of it. */
function isSpace(unit: string): boolean {
  return /\p{White_Space}/u.test(unit);
}

function standsAlone(text: string, start: number, end: number): boolean {
  const word = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
  // The character before may be a surrogate pair.
  const before = /[\s\S]$/u.exec(text.slice(Math.max(0, start - 2), start))?.[0] ?? "";
  const after = /^[\s\S]/u.exec(text.slice(end, end + 2))?.[0] ?? "";
  return !word.test(before) && !word.test(after);
}
