/**
 * The key/value cache of a decoder: with the keys and values of earlier tokens cached, the next token costs one query row. They
 * are stored on the model's device (on the CPU in the engine's memory), where each step reads them in place.
 */
import { keepTensor } from "../../core/arena.ts";
import { placementOn } from "../../core/device/device.ts";
import {
  argumentError,
  checkArgument,
  checkCount,
  checkInteger,
  checkMethods,
  formatTensor,
  isFunction,
  isList,
  OptionError,
  ShapeError,
  UnsupportedError,
} from "../../core/errors.ts";
import { checkKind, checkKinds } from "../../core/option-names.ts";
import { isRecording } from "../../core/recording/record.ts";
import { sizeOf, Tensor, viewOf } from "../../core/tensor.ts";
import { empty } from "../../index.ts";
import type { FloatTensor, Precision } from "../../nn/index.ts";
import { tensorFrom } from "../../nn/ops/operand.ts";
import { assignPart } from "../../nn/ops/shapes.ts";

// biome-ignore format: a table
const SIZE = { "": "layers heads d capacity", "a text": "dtype device" } as const;

/** A size of every layer, from one number for all of them or from one for each. */
function eachLayer(name: string, layers: number, size: number | readonly number[]): readonly number[] {
  if (!Array.isArray(size)) {
    checkInteger("KeyValueCache", name, size, 1);
    return Array(layers).fill(size) as number[];
  }
  if (size.length !== layers)
    throw argumentError("KeyValueCache", `${name}, a number or one for each of ${layers} layers`, size);
  for (const n of size) checkInteger("KeyValueCache", name, n, 0);
  return size;
}

function checkTensors(method: string, layer: number, ...tensors: readonly Tensor[]): void {
  if (!Number.isSafeInteger(layer) || layer < 0) checkInteger(`KeyValueCache.${method}`, "layer", layer, 0);
  for (const t of tensors)
    if (!(t instanceof Tensor && t.shape.length === 3))
      throw argumentError(`KeyValueCache.${method}`, "keys and values [heads, n, d]", t);
}

/** The cache of one sequence: keys and values [heads, capacity, d] of each layer. */
export class KeyValueCache {
  readonly capacity: number;
  /** Number of cached tokens, which is the position of the next one. */
  length = 0;
  /** Keys and values [heads, S, d] of an encoder's states, by layer; computed once, and shared by `users` caches. */
  readonly #crossed = new Map<number, { readonly pair: readonly FloatTensor[]; users: number }>();
  readonly #size: ConstructorParameters<typeof KeyValueCache>[0];
  readonly #ids: number[] = [];
  readonly #keys: Tensor[];
  readonly #values: Tensor[];

  /**
   * `heads` and `d` are numbers, or lists with one for each layer; a layer that reads the keys of another has 0 heads. `device` is that of
   * keys and values; default "cpu".
   */
  constructor(size: {
    layers: number;
    heads: number | readonly number[];
    d: number | readonly number[];
    capacity: number;
    dtype: Precision;
    device?: string;
  }) {
    checkCount("KeyValueCache", arguments, 1);
    checkKinds("KeyValueCache", size, SIZE);
    const { layers, heads, d, capacity } = size;
    for (const [name, n] of Object.entries({ layers, capacity })) checkInteger("KeyValueCache", name, n, 1);
    const [counts, sizes] = [eachLayer("heads", layers, heads), eachLayer("d", layers, d)];
    this.capacity = capacity;
    this.#size = size;
    const allocate = () => counts.map((count, layer) => this.#allocate([count, capacity, sizes[layer]]));
    this.#keys = allocate();
    this.#values = allocate();
  }

  /**
   * Appends the keys and values of new tokens, [heads, n, d], to those of a layer, and returns all of them as views
   * [heads, length + n, d]. `advance` adds the tokens once every layer has them.
   */
  append(layer: number, key: Tensor, value: Tensor): readonly [key: FloatTensor, value: FloatTensor] {
    checkTensors("append", layer, key, value);
    if (!(layer < this.#keys.length))
      checkInteger("KeyValueCache.append", "layer", layer, 0, this.#keys.length - 1);
    const n = key.shape[1];
    const { dtype } = this.#size;
    const [heads, , d] = this.#keys[layer].shape;
    for (const t of [key, value])
      if (t.shape[0] !== heads || t.shape[1] !== n || t.shape[2] !== d || t.dtype !== dtype)
        throw new ShapeError(
          "cache",
          `KeyValueCache.append: keys and values must be [${heads}, ${n}, ${d}] ${dtype}, got ${formatTensor(t === key ? "key" : "value", t)}`,
          { got: t.shape },
        );
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

  /** The keys and values of an encoder's states in a layer: those of the first call, which `project` computes. */
  crossed(layer: number, project: () => readonly FloatTensor[]): readonly FloatTensor[] {
    const cached = this.#crossed.get(layer);
    if (cached) return cached.pair;
    checkArgument(isFunction(project), "KeyValueCache.crossed", "a function as project", project);
    const projected = project();
    checkKind("KeyValueCache.crossed", "the result of project", "a list", projected);
    checkTensors("crossed", layer, ...projected);
    const copies = projected.map((x) => {
      const copy = this.#allocate(x.shape);
      assignPart(x, copy, 0, 0);
      keepTensor(copy);
      return copy as FloatTensor;
    });
    this.#crossed.set(layer, { pair: copies, users: 1 });
    return copies;
  }

  /** A cache with the same tokens, which then continues another text. The keys of an encoder's states are shared. */
  copy(): KeyValueCache {
    const cache = new KeyValueCache(this.#size);
    cache.length = this.length;
    cache.#ids.push(...this.#ids);
    for (const [layer, shared] of this.#crossed) {
      shared.users++;
      cache.#crossed.set(layer, shared);
    }
    for (const [to, from] of [
      [cache.#keys, this.#keys],
      [cache.#values, this.#values],
    ])
      from.forEach((tensor, layer) => {
        const [heads, , d] = tensor.shape;
        const rows = viewOf(tensor, [heads, this.length, d], tensor.strides);
        assignPart(rows, to[layer], 1, 0);
        // On a device a view holds the memory of its tensor.
        rows.dispose();
      });
    return cache;
  }

  /** Adds tokens to `length`, once every layer has appended their keys and values. */
  advance(ids: ArrayLike<number>): void {
    checkArgument(isList(ids), "KeyValueCache.advance", "a list of token ids", ids);
    for (let n = 0; n < ids.length; n++)
      if (!(Number.isSafeInteger(ids[n]) && ids[n] >= 0))
        checkInteger("KeyValueCache.advance", "a token id", ids[n], 0);
    for (let n = 0; n < ids.length; n++) this.#ids.push(ids[n]);
    this.length += ids.length;
  }

  /** Forgets all tokens, and returns them: their keys are to be computed anew. */
  restart(): readonly number[] {
    this.length = 0;
    return this.#ids.splice(0);
  }

  /** Releases the keys and values, which on a device take its memory; those of an encoder's states with the last cache that shares them. */
  dispose(): void {
    for (const tensor of [...this.#keys, ...this.#values]) tensor.dispose();
    for (const shared of this.#crossed.values())
      if (--shared.users === 0) for (const tensor of shared.pair) tensor.dispose();
    this.#crossed.clear();
  }

  #put(cache: Tensor, rows: Tensor): FloatTensor {
    const [heads, n, d] = rows.shape;
    assignPart(rows, cache, 1, this.length);
    return viewOf(cache, [heads, this.length + n, d], cache.strides) as FloatTensor;
  }

  /** A tensor on the cache's device. */
  #allocate(shape: readonly number[]): Tensor {
    const { dtype, device = "cpu" } = this.#size;
    if (device === "cpu") return empty([...shape], dtype);
    return tensorFrom(placementOn("KeyValueCache", device).device.allocate(dtype, sizeOf(shape)), shape);
  }
}

checkMethods("KeyValueCache", KeyValueCache.prototype, {
  append: 3,
  crossed: 2,
  copy: 0,
  advance: 1,
  restart: 0,
  dispose: 0,
});
