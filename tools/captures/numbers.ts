/** What the captures share: numbers as the Lab stores them, one head of several, a word in all heads of a layer, and cosines. */
import { toFloat16 } from "../../src/core/dtype.ts";
import { attentionWeights, type Tensor } from "../../src/index.ts";
import { recordActivations, type TextModel } from "../../src/models/index.ts";

/** Numbers as float16 in base64. */
export const packed = (numbers: ArrayLike<number>): string =>
  Buffer.from(Uint16Array.from(Array.from(numbers, toFloat16)).buffer).toString("base64");

/** One head of [heads, N, d] as [N, d] numbers. */
export function headOf(all: Tensor, head: number): Float64Array {
  const [, N, d] = all.shape.slice(-3);
  return all.toFloat64().subarray(head * N * d, (head + 1) * N * d);
}

export const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, x, i) => sum + x * b[i], 0);

export const cosine = (a: Float64Array, b: Float64Array): number =>
  dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

export const times = (row: Float64Array, by: number): Float64Array => row.map((x) => x * by);

export const sum = (rows: readonly Float64Array[]): Float64Array =>
  rows.reduce((a, b) => a.map((x, i) => x + b[i]));

/** A word in a layer of a BERT: its vector before the layer, and of each head the shares, the values, and the output. */
export function wordIn(model: TextModel, layer: number, text: string, word: string) {
  const { tokens, layers } = model.attention(text);
  const { query, key, value, lse, options } = layers[layer];
  const at = tokens.indexOf(word);
  const [count, N, d] = query.shape.slice(-3);
  const width = count * d;
  const weights = attentionWeights(query, key, lse, options);
  const parameter = (name: string) =>
    model.model.parameters().get(`bert.encoder.layer.${layer}.attention.output.${name}`)!.toFloat64();
  const projection = parameter("dense.weight");
  const heads = Array.from({ length: count }, (_, h) => {
    const shares = Array.from({ length: N }, (_, j) => weights.at(h, at, j));
    const values = shares.map((_, j) => headOf(value, h).subarray(j * d, (j + 1) * d));
    return { shares, values, output: sum(values.map((row, j) => times(row, shares[j]))) };
  });
  /** What a head's part of W^O, [384, 384], makes of a vector: row i makes number i. */
  const mixed = (row: Float64Array, h: number) =>
    Float64Array.from({ length: width }, (_, i) =>
      dot(row, projection.subarray(i * width + h * d, i * width + (h + 1) * d)),
    );
  const { states } = recordActivations(model, model.tokenize(text));
  const x = states[layer].toFloat64().subarray(at * width, (at + 1) * width);
  return { tokens, at, query, key, value, heads, mixed, parameter, x };
}
