/**
 * The parameters of a model, planned before they exist: names, shapes and how each begins. From the plan comes the number of
 * bytes (compared with a limit before anything is allocated), a seeded start for training, and the list that a file of
 * weights is held against.
 */
import { formatValue, OptionError, UnsupportedError } from "../core/errors.ts";
import { sizeOf } from "../core/tensor.ts";
import { type FloatTensor, fill, fillNormal, type Precision, parameter, RandomNumbers } from "../nn/index.ts";

/** A parameter that is to be. */
export interface Planned {
  readonly shape: readonly number[];
  /** All zeros, all ones, or normal numbers of mean 0 and this standard deviation. */
  readonly start: "zeros" | "ones" | number;
  /** A row that begins as zeros all the same: that of the padding token. */
  readonly zeroRow?: number;
}

/** Parameters by name. */
export type Plan = ReadonlyMap<string, Planned>;

/** How a model comes to be where no weights are given. */
export interface StartOptions {
  /** Dtype of parameters and of all that is computed; default float32. */
  readonly dtype?: Precision;
  /** Seed of the random numbers, an integer; default 0. */
  readonly seed?: number;
  /** Weights by name, used as they are and updated in place by training; each in its planned shape. */
  readonly parameters?: ReadonlyMap<string, FloatTensor>;
}

/** Most bytes of parameters by default: 4 GiB. */
export const MAX_BYTES = 2 ** 32;

/** Throws unless the parameters take at most `limit` bytes together. */
export function checkBytes(what: string, plan: Plan, dtype: Precision, limit = MAX_BYTES): void {
  let numbers = 0;
  for (const { shape } of plan.values()) numbers += sizeOf(shape);
  const bytes = numbers * (dtype === "float64" ? 8 : 4);
  if (!(bytes <= limit))
    throw new UnsupportedError(
      "model-size",
      `${what}: ${plan.size} tensors of ${numbers} parameters take ${bytes} bytes in ${dtype}; the limit is ${limit} (maxBytes)`,
      { parameters: numbers, bytes, limit },
    );
}

/** The tensors of a plan: those that are given, checked, or new ones from the seed. */
export function makeParameters(what: string, plan: Plan, options: StartOptions): Map<string, FloatTensor> {
  const { dtype = "float32", seed = 0, parameters } = options;
  if (dtype !== "float32" && dtype !== "float64")
    throw new OptionError(
      "dtype",
      `${what}: dtype must be "float32" or "float64", got ${formatValue(dtype)}`,
      {
        got: dtype,
      },
    );
  if (parameters === undefined) checkBytes(what, plan, dtype);
  const made = new Map<string, FloatTensor>();
  const random = new RandomNumbers(seed);
  for (const [name, planned] of plan) {
    const given = parameters?.get(name);
    if (
      parameters !== undefined &&
      (given === undefined || given.dtype !== dtype || given.shape.join() !== planned.shape.join())
    )
      throw new OptionError(
        "parameters",
        `${what}: parameter ${name} must be [${planned.shape.join(", ")}] ${dtype}, got ${given ? `[${given.shape.join(", ")}] ${given.dtype}` : "none"}`,
        { name },
      );
    made.set(name, given ?? started(planned, dtype, random));
  }
  return made;
}

function started({ shape, start, zeroRow }: Planned, dtype: Precision, random: RandomNumbers): FloatTensor {
  const made = parameter(shape, dtype);
  if (start === "ones") fill(made, 1);
  else if (start !== "zeros") fillNormal(made, random, start);
  if (zeroRow !== undefined) made.data.fill(0, zeroRow * shape[1], (zeroRow + 1) * shape[1]);
  return made;
}
