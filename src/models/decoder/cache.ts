/**
 * The key/value cache of a decoder: with the keys and values of earlier tokens cached, the next token costs one query row. They
 * are stored in the engine's memory, where each step reads them in place.
 */
import { OptionError, UnsupportedError } from "../../core/errors.ts";
import { isRecording } from "../../core/recording/record.ts";
import { Tensor } from "../../core/tensor.ts";
import { empty } from "../../index.ts";
import type { FloatTensor, Precision } from "../../nn/index.ts";

/** The cache of one sequence: keys and values [heads, capacity, d] of each layer. */
export class KeyValueCache {
  readonly capacity: number;
  /** Number of cached tokens, which is the position of the next one. */
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
   * Appends the keys and values of new tokens, [heads, n, d], to those of a layer, and returns all of them as views
   * [heads, length + n, d]. `advance` increases `length` once every layer has them.
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

  /** Adds `n` to `length`, once every layer has appended the tokens. */
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
