/**
 * Keys and values of the tokens a decoder has read, so that the next token costs one row of queries and not all of them
 * again. They lie in the engine's memory, where each step reads them in place.
 */
import { OptionError, UnsupportedError } from "../core/errors.ts";
import { isRecording } from "../core/record.ts";
import { Tensor } from "../core/tensor.ts";
import { empty } from "../index.ts";
import type { FloatTensor, Precision } from "../nn/index.ts";

/** The cache of one sequence: for each layer [heads, capacity, d] twice. */
export class KeyValueCache {
  readonly capacity: number;
  /** Tokens that are in: the position of the next one. */
  length = 0;
  readonly #keys: Tensor[];
  readonly #values: Tensor[];

  constructor(size: { layers: number; heads: number; d: number; capacity: number; dtype: Precision }) {
    const { layers, heads, d, capacity, dtype } = size;
    this.capacity = capacity;
    const allocate = () => Array.from({ length: layers }, () => empty([heads, capacity, d], dtype));
    this.#keys = allocate();
    this.#values = allocate();
  }

  /**
   * Puts the keys and values of new tokens, [heads, n, d], behind those of a layer that are there, and returns all of
   * them as views [heads, length + n, d]. `length` grows by `advance`, when every layer has them.
   */
  append(layer: number, key: Tensor, value: Tensor): readonly [key: FloatTensor, value: FloatTensor] {
    const n = key.shape[1];
    if (isRecording())
      throw new UnsupportedError(
        "derivative",
        "KeyValueCache: no gradient flows through cached keys and values; leave the cache out while a tape records",
      );
    if (this.length + n > this.capacity)
      throw new OptionError(
        "cache",
        `KeyValueCache: ${n} tokens after ${this.length}; the capacity is ${this.capacity}`,
        { length: this.length, capacity: this.capacity },
      );
    return [this.#put(this.#keys[layer], key), this.#put(this.#values[layer], value)];
  }

  /** Counts `n` tokens that every layer has got. */
  advance(n: number): void {
    this.length += n;
  }

  #put(cache: Tensor, rows: Tensor): FloatTensor {
    const [heads, n, d] = rows.shape;
    const dense = rows.contiguous().data as Float32Array;
    const to = cache.data as Float32Array;
    for (let h = 0; h < heads; h++)
      to.set(dense.subarray(h * n * d, (h + 1) * n * d), (h * this.capacity + this.length) * d);
    return new Tensor(cache.data, [heads, this.length + n, d], cache.dtype, cache.strides) as FloatTensor;
  }
}
