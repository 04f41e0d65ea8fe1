/** A head of a trained model on a sentence, from a capture: its vectors as tensors. */
import { type Tensor, tensor } from "../../src/index.ts";
import { decodeFloat16 } from "./packed.ts";

/** What asks and what is found: [tokens, 32] each. */
export interface Scoring {
  readonly tokens: readonly string[];
  readonly query: Tensor;
  readonly key: Tensor;
}

/** A head on a sentence. */
export interface Head extends Scoring {
  readonly value: Tensor;
}

/** Head size. */
const HEAD_SIZE = 32;

/** What is shown for the marks that the model puts around a sentence. */
const MARKS: Readonly<Record<string, string>> = { "[CLS]": "start", "[SEP]": "end", "[PAD]": "pad" };

/** Tokens as the pages show them: pieces that continue a word have a dot. */
export const shownTokens = (tokens: readonly string[]): string[] =>
  tokens.map((token) => MARKS[token] ?? token.replace(/^##/, "·"));

/** Vectors of a capture, [tokens, 32], float32. */
export const vectorsOf = (packed: string, tokens: readonly string[]): Tensor =>
  tensor(decodeFloat16(packed), [tokens.length, HEAD_SIZE]);

/** Queries and keys of a capture. */
export const scoringOf = (capture: {
  readonly tokens: readonly string[];
  readonly query: string;
  readonly key: string;
}): Scoring => ({
  tokens: shownTokens(capture.tokens),
  query: vectorsOf(capture.query, capture.tokens),
  key: vectorsOf(capture.key, capture.tokens),
});
