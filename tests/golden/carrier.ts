/** A tokenizer of a few words, for tests that need one beside a checkpoint but do not look at it. */
import { trainTokenizer, writeTokenizer } from "heed/models";

/** tokenizer.json of a WordPiece of at most 40 tokens. */
export function carrierTokenizer(): Uint8Array {
  return writeTokenizer(trainTokenizer(["the cat sat on the mat"], { kind: "wordpiece", vocabSize: 32 }));
}
