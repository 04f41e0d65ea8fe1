/** Tokens of two models as plain text, to be aligned (core/align.ts). */
import { isSpecial, piecesOf, plainText } from "../../../src/store/text/tokens.ts";

/** Special tokens with the same purpose in several model families. */
const FIRST = /^(?:\[CLS\]|<s>|<bos>|<\|begin_of_text\|>)$/;
const LAST = /^(?:\[SEP\]|<\/s>|<eos>|<\|end_of_text\|>)$/;

/** Tokens in lower case without word markers: `Ġflies`, `▁flies` and `Flies` are equal. */
export function comparable(tokens: readonly string[]): readonly string[] {
  const pieces = piecesOf(tokens);
  return tokens.map((token) => {
    if (FIRST.test(token)) return "[CLS]";
    if (LAST.test(token)) return "[SEP]";
    if (isSpecial(token)) return token;
    const text = plainText(token, pieces).trim().toLowerCase();
    return text === "" ? token : text;
  });
}
