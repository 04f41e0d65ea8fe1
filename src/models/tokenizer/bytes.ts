/**
 * GPT-2's alphabet: every byte as one printable character, so that any text is a string of 256 symbols and no token holds
 * a space or a control character (Radford et al. 2019; openai/gpt-2, src/encoder.py, `bytes_to_unicode`).
 *
 * Printable bytes of Latin-1 are their own character; the 68 others follow from U+0100 on, in order: a space is Ġ.
 */

/** The character of each byte. */
export const BYTE_CHARACTERS: readonly string[] = /* @__PURE__ */ (() => {
  const characters: string[] = [];
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable =
      (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
    characters.push(String.fromCharCode(printable ? byte : next++));
  }
  return characters;
})();

const BYTE_OF: ReadonlyMap<string, number> = /* @__PURE__ */ new Map(
  BYTE_CHARACTERS.map((character, byte) => [character, byte]),
);

/** The bytes that a token spells, or undefined if one of its characters is not in the alphabet. */
export function bytesOfToken(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = BYTE_OF.get(token[i]);
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}

/** A text's UTF-8 bytes in this alphabet. Half a surrogate pair becomes U+FFFD. */
export function byteSpelling(text: string): string {
  let spelling = "";
  for (const byte of new TextEncoder().encode(text)) spelling += BYTE_CHARACTERS[byte];
  return spelling;
}

/**
 * GPT-2's split of a text before any merge: contractions, words, numbers and the rest, each with the space before it. `\s` of the
 * published pattern is Unicode's White_Space, as in the published implementation (JavaScript's `\s` includes U+FEFF and excludes
 * U+0085).
 */
export const GPT2_CHUNKS =
  /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/** The same pattern as files spell it: recognized as text, never compiled. */
export const GPT2_PATTERN =
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
