/** What a head of the translator's cross-attention looks at, of its own queries and keys. */
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { decodeFloat16, rowsOf } from "../head/packed.ts";
import { CAPTURE } from "./captures.ts";
import type { TranslationNumbers } from "./compute.ts";

export function translationOf(): TranslationNumbers {
  const { rows, columns, query, key } = CAPTURE;
  const [q, k] = [query, key].map((packed) => {
    const data = decodeFloat16(packed);
    return tensor(data, [data.length / 32, 32]);
  });
  return {
    rows,
    columns,
    weights: rowsOf(scaledDotProductAttention(q, k, k, { returnWeights: true }).weights!),
  };
}
