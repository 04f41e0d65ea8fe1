/** The head of a real model that several pages look at: its vectors, and its weights computed by heed. */
import { type Tensor, tensor } from "../../src/index.ts";
import { CAPTURES, type Capture, HEAD_SIZE } from "./captures.ts";
import { decodeFloat16 } from "./packed.ts";

/** Sentences by name. */
export type CaptureName = keyof typeof CAPTURES;

/** A sentence as the head sees it. */
export interface Head {
  readonly tokens: readonly string[];
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
}

/** What is shown for the marks that the model puts around a sentence. */
const MARKS: Readonly<Record<string, string>> = { "[CLS]": "start", "[SEP]": "end", "[PAD]": "pad" };

/** The head's vectors of a sentence, [tokens, 32] each, float32. */
export function headOf(name: CaptureName): Head {
  const { tokens, query, key, value }: Capture = CAPTURES[name];
  const shape = [tokens.length, HEAD_SIZE] as const;
  const vectors = (text: string) => tensor(decodeFloat16(text), shape);
  return {
    tokens: tokens.map((token) => MARKS[token] ?? token),
    query: vectors(query),
    key: vectors(key),
    value: vectors(value),
  };
}
