/** Elements of file tensors of any dtype as numbers, for `inspect` and `convert`. */
import type { FloatDType, TypedData } from "../../../core/dtype.ts";
import { arrayFor, isDType, readerOf, writerOf } from "../../../core/dtype.ts";
import { DTypeError } from "../../../core/errors.ts";
import { Tensor } from "../../../core/tensor.ts";
import type { FileTensor } from "../../../io/index.ts";

/** Reads element i as a number; undefined for 8-bit floats that are read as raw bytes. */
export function elementReader({ dtype, data }: FileTensor): ((i: number) => number) | undefined {
  if (isDType(dtype)) return readerOf(dtype, data as TypedData);
  return dtype.startsWith("F8_") ? undefined : (i) => Number(data[i]);
}

/** Running statistics of a tensor. */
export interface Stats {
  readonly min: number;
  readonly max: number;
  /** Mean and standard deviation of the finite elements. */
  readonly mean: number;
  readonly std: number;
  readonly zeros: number;
  readonly nan: number;
  readonly inf: number;
  readonly count: number;
}

/** Statistics of a tensor in pieces. Mean and variance by Welford 1962, so that large means lose no digits. */
export class Counter {
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  #mean = 0;
  #spread = 0;
  #finite = 0;
  #zeros = 0;
  #nan = 0;
  #inf = 0;
  #count = 0;

  /** Adds a piece; false if its dtype cannot be counted. */
  add(piece: FileTensor): boolean {
    const read = elementReader(piece);
    if (read === undefined) return false;
    const { length } = piece.data;
    this.#count += length;
    for (let i = 0; i < length; i++) {
      const x = read(i);
      if (x !== x) {
        this.#nan++;
        continue;
      }
      if (x < this.#min) this.#min = x;
      if (x > this.#max) this.#max = x;
      if (x === 0) this.#zeros++;
      if (x === Number.POSITIVE_INFINITY || x === Number.NEGATIVE_INFINITY) {
        this.#inf++;
        continue;
      }
      const off = x - this.#mean;
      this.#mean += off / ++this.#finite;
      this.#spread += off * (x - this.#mean);
    }
    return true;
  }

  /** The statistics so far; min, max, mean and std are NaN if nothing was counted. */
  get stats(): Stats {
    const any = this.#count > this.#nan;
    return {
      min: any ? this.#min : Number.NaN,
      max: any ? this.#max : Number.NaN,
      mean: this.#finite ? this.#mean : Number.NaN,
      std: this.#finite ? Math.sqrt(this.#spread / this.#finite) : Number.NaN,
      zeros: this.#zeros,
      nan: this.#nan,
      inf: this.#inf,
      count: this.#count,
    };
  }
}

/** A copy in another float dtype, rounded once to nearest even, and how many finite numbers became infinite. */
export function toFloat(
  name: string,
  from: FileTensor,
  dtype: FloatDType,
): { tensor: Tensor; overflows: number } {
  const read = elementReader(from);
  if (read === undefined)
    throw new DTypeError("dtype", `${name}: ${from.dtype} is kept as raw bytes and cannot become ${dtype}`, {
      name,
    });
  const { length } = from.data;
  const data = arrayFor(dtype, length);
  const write = writerOf(dtype, data);
  const back = readerOf(dtype, data);
  let overflows = 0;
  for (let i = 0; i < length; i++) {
    const x = read(i);
    write(i, x);
    if (Number.isFinite(x) && !Number.isFinite(back(i))) overflows++;
  }
  return { tensor: new Tensor(data, from.shape, dtype), overflows };
}
