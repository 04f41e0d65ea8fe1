/**
 * The parameters of a model, planned before they are allocated: names, shapes and initialization. The plan gives the number of
 * bytes (checked before anything is allocated), the seeded initialization for training, and the names and shapes that a file of
 * weights is checked against.
 */

import { keepTensor } from "../../core/arena.ts";
import { isHalf, widen as widenBits } from "../../core/dtype.ts";
import { OptionError } from "../../core/errors.ts";
import { checkPrecision } from "../../core/numbers.ts";
import { checkNames } from "../../core/option-names.ts";
import { type Generator, generatorOf } from "../../core/random/generator.ts";
import { isRecording } from "../../core/recording/record.ts";
import { sizeOf, Tensor } from "../../core/tensor.ts";
import { checkSize, MAX_BYTES } from "../../io/limit.ts";
import type { FloatTensor, Ids, Precision } from "../../nn/index.ts";
import { concat, embedding, fill, fillNormal, linear, parameter, slice, transpose } from "../../nn/index.ts";
import { checkIds, idsOf } from "../../nn/ops/lookup.ts";
import { type PackedMatrix, packedLinear } from "../../nn/ops/packed.ts";

/** A planned parameter. */
export interface Planned {
  readonly shape: readonly number[];
  /** All zeros, all ones, or normal numbers of mean 0 and this standard deviation. */
  readonly start: "zeros" | "ones" | number;
  /** A row that is initialized to zeros: that of the padding token. */
  readonly zeroRow?: number;
  /** A matrix that only products read: [out, in] as PyTorch's linear layers have it, or [in, out]. */
  readonly map?: "out-in" | "in-out";
}

/** Parameters by name. */
export type ParameterPlan = ReadonlyMap<string, Planned>;

/** Options of a model's constructor. */
export interface StartOptions {
  /** Dtype of parameters and of all that is computed; default float32. */
  readonly dtype?: Precision;
  /** Seed of the random numbers, an integer; default 0. */
  readonly seed?: number;
  /**
   * Weights by name, each in its planned shape: of `dtype`, updated in place by training; of 16 bits, widened when used; or
   * packed for products, and unpacked by `parameters()`.
   */
  readonly parameters?: ReadonlyMap<string, Tensor | PackedMatrix>;
}

/**
 * Throws unless the parameters take at most `limit` bytes together, each in `dtype`, or in 16 bits if `halves` returns true for
 * it.
 */
export function checkBytes(
  what: string,
  plan: ParameterPlan,
  dtype: Precision,
  limit = MAX_BYTES,
  halves: (name: string) => boolean = () => false,
): void {
  checkPrecision(what, dtype);
  let numbers = 0;
  let bytes = 0;
  for (const [name, { shape }] of plan) {
    numbers += sizeOf(shape);
    bytes += sizeOf(shape) * (halves(name) ? 2 : dtype === "float64" ? 8 : 4);
  }
  checkSize(what, `the model (${plan.size} tensors, ${numbers} parameters in ${dtype})`, bytes, limit);
}

/** Maximum bytes of widened 16-bit weights to cache; other weights are widened every time their layer runs. */
const WIDENED_BYTES = 2 ** 28;
/** Maximum elements of a 16-bit matrix to widen at a time for a product. */
const CHUNK = 2 ** 24;

/** Checks the options of a new model. */
export const checkStart = (what: string, options: StartOptions): void =>
  checkNames(what, options, ["dtype", "seed", "parameters", "hasHead", "hasSpanHead", "weights"]);

/**
 * The parameters of a model: given ones, checked against the plan, or new ones from the seed. 16-bit weights stay 16-bit in
 * memory; `get`, `lookup` and `linear` widen what they read.
 */
export class Parameters {
  readonly dtype: Precision;
  readonly #stored = new Map<string, Tensor>();
  readonly #packed = new Map<string, PackedMatrix>();
  readonly #plan: ParameterPlan;
  readonly #widened = new Map<string, FloatTensor>();
  #widenedBytes = 0;
  #device = "cpu";

  constructor(what: string, plan: ParameterPlan, options: StartOptions) {
    checkStart(what, options);
    const { dtype = "float32", seed = 0, parameters } = options;
    checkPrecision(what, dtype);
    this.dtype = dtype;
    this.#plan = plan;
    if (parameters === undefined) checkBytes(what, plan, dtype);
    const random = generatorOf(seed);
    for (const [name, planned] of plan) {
      const value = parameters?.get(name);
      if (
        parameters !== undefined &&
        (value === undefined ||
          !(value.dtype === dtype || isHalf(value.dtype)) ||
          value.shape.join() !== (value instanceof Tensor ? planned.shape : packedShape(planned)).join())
      )
        throw new OptionError(
          "parameters",
          `${what}: parameter ${name} must be [${planned.shape.join(", ")}] ${dtype}, float16 or bfloat16, got ${value ? `[${value.shape.join(", ")}] ${value.dtype}` : "none"}`,
          { name },
        );
      if (value === undefined || value instanceof Tensor)
        this.#stored.set(name, value ?? started(planned, dtype, random));
      else this.#packed.set(name, value);
    }
  }

  /** Name of the device on which the model computes. */
  get device(): string {
    return this.#device;
  }

  /** Moves every parameter to a device, in the model's dtype: all of them, or none where one cannot be moved. */
  async to(device: string | { readonly name: string }): Promise<void> {
    const moved = await Promise.all(
      [...this.all()].map(async ([name, t]) => [name, await t.to(device)] as const),
    );
    for (const [name, t] of moved) {
      this.#stored.set(name, t);
      this.#device = t.device;
    }
  }

  /** True if the plan has this parameter. */
  has(name: string): boolean {
    return this.#plan.has(name);
  }

  /** The parameter as stored, in its planned shape; a packed one becomes unpacked, because its numbers may be changed. */
  #unpacked(name: string): Tensor {
    const packed = this.#packed.get(name);
    if (packed) {
      const tensor = tensorOf(packed, this.#plan.get(name) as Planned);
      keepTensor(tensor);
      this.#stored.set(name, tensor);
      this.#packed.delete(name);
      packed.free();
    }
    return this.#stored.get(name) as Tensor;
  }

  /** A parameter in the dtype the model computes in. */
  get(name: string): FloatTensor {
    const stored = this.#unpacked(name);
    if (!isHalf(stored.dtype)) return stored as FloatTensor;
    const cached = this.#widened.get(name);
    if (cached) return cached;
    const wide = widen(stored, this.dtype);
    const bytes = wide.data.byteLength;
    if (this.#widenedBytes + bytes <= WIDENED_BYTES) {
      this.#widenedBytes += bytes;
      this.#widened.set(name, wide);
      keepTensor(wide);
    }
    return wide;
  }

  /** Rows of a table [V, D] by their numbers; of a 16-bit table only these rows are widened. */
  lookup(ids: Ids, name: string): FloatTensor {
    const packed = isRecording() ? undefined : this.#packed.get(name);
    if (packed) {
      const [V, D] = packed.shape;
      const { list, shape } = idsOf("embedding", ids);
      checkIds(list, V);
      const rows = new Tensor(packed.readRows(list), [...shape, D], packed.dtype);
      return packed.dtype === "float32" ? (rows as FloatTensor) : widen(rows, this.dtype);
    }
    const stored = this.#unpacked(name);
    if (!isHalf(stored.dtype) || this.#widened.has(name)) return embedding(ids, this.get(name));
    const [V, D] = stored.shape;
    const { list, shape } = idsOf("embedding", ids);
    checkIds(list, V);
    const bits = stored.data as Uint16Array;
    const rows = new Uint16Array(list.length * D);
    for (let n = 0; n < list.length; n++) rows.set(bits.subarray(list[n] * D, (list[n] + 1) * D), n * D);
    return widen(new Tensor(rows, [...shape, D], stored.dtype), this.dtype);
  }

  /**
   * x·Wᵀ + b with a parameter W [out, in], or x·W + b with one planned as [in, out]. Outside a tape a packed matrix is used as it
   * is; a large 16-bit one that is not packed is widened some rows at a time.
   */
  linear(x: FloatTensor, name: string, bias?: string): FloatTensor {
    const b = bias === undefined ? undefined : this.get(bias);
    const packed = isRecording() ? undefined : this.#packed.get(name);
    if (packed) return packedLinear(x, packed, b);
    if (this.#plan.get(name)?.map === "in-out") return linear(x, transpose(this.get(name)), b);
    const stored = this.#unpacked(name);
    if (!isHalf(stored.dtype) || this.#widened.has(name) || stored.size <= CHUNK)
      return linear(x, this.get(name), b);
    const [out, width] = stored.shape;
    const step = Math.max(1, Math.floor(CHUNK / width));
    const parts: FloatTensor[] = [];
    for (let row = 0; row < out; row += step) {
      const end = Math.min(out, row + step);
      const bits = (stored.data as Uint16Array).subarray(row * width, end * width);
      const part = widen(new Tensor(bits, [end - row, width], stored.dtype), this.dtype);
      parts.push(linear(x, part, b && slice(b, 0, row, end)));
    }
    return concat(parts, -1);
  }

  /** Every parameter by name, in the model's dtype, for training, which updates them in place: none stays 16-bit. */
  all(): ReadonlyMap<string, FloatTensor> {
    for (const name of this.#plan.keys()) {
      const stored = this.#unpacked(name);
      if (isHalf(stored.dtype)) {
        const wide = this.#widened.get(name) ?? widen(stored, this.dtype);
        keepTensor(wide);
        this.#stored.set(name, wide);
      }
    }
    this.#widened.clear();
    return new Map([...this.#plan.keys()].map((name) => [name, this.#stored.get(name) as FloatTensor]));
  }
}

/** The shape [out, in] of a parameter as a packed matrix. */
export function packedShape({ shape, map }: Planned): readonly [number, number] {
  const [rows, columns] = shape;
  return map === "in-out" ? [columns, rows] : [rows, columns];
}

/** A packed matrix as a tensor in its planned shape. */
function tensorOf(packed: PackedMatrix, planned: Planned): Tensor {
  const rows = packed.toTensor();
  return planned.map === "in-out" ? rows.transpose().contiguous() : rows;
}

/** A copy of row-major floats in float32 or float64. */
export function widen(stored: Tensor, dtype: Precision): FloatTensor {
  const { data, shape } = stored;
  const length = stored.size;
  const out = dtype === "float64" ? new Float64Array(length) : new Float32Array(length);
  if (isHalf(stored.dtype)) widenBits(stored.dtype, data, out);
  else out.set(data as Float32Array);
  return new Tensor(out, shape, dtype);
}

function started({ shape, start, zeroRow }: Planned, dtype: Precision, random: Generator): FloatTensor {
  const tensor = parameter(shape, dtype);
  if (start === "ones") fill(tensor, 1);
  else if (start !== "zeros") fillNormal(tensor, random, start);
  if (zeroRow !== undefined) tensor.data.fill(0, zeroRow * shape[1], (zeroRow + 1) * shape[1]);
  return tensor;
}
