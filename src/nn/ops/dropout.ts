/**
 * Dropout: each element becomes 0 with probability p, and the others are multiplied by 1/(1 − p) (Srivastava et al. 2014). A
 * generator keyed by (seed, position) chooses them, as in the dropout of attention, so the backward pass and a resumed run
 * drop the same elements.
 *
 * Layers apply dropout only inside `withDropout`, so there is no training mode to switch: a training step is
 * `withDropout(stepSeed, () => model.forward(x))`, and each dropout in it has the next key of that seed.
 */
import { dropout as drop } from "../../api/array.ts";
import {
  checkArgument,
  checkCount,
  checkSeed,
  isFunction,
  OptionError,
  refuseGot,
} from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { cellBits, headKey, rowKey } from "../../core/random/random.ts";
import { checkSynchronous } from "../../core/synchronous.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { type FloatTensor, type FloatTensorOf, operand, recordUnary, resultLike } from "./operand.ts";

/**
 * Drops each element with probability `p`, keyed by `seed`, an integer, which p > 0 requires. With p = 0 it returns x.
 *
 * @example
 * dropout(ones([1000]), 0.1, { seed: 1 }).shape; // → [1000], a tenth of it 0, the rest divided by 0.9
 */
export function dropout<T extends TensorLike>(
  x: T,
  p: number,
  options: { seed?: number } = {},
): FloatTensorOf<T> {
  checkCount("dropout", arguments, 3);
  checkOptionNames("dropout", options, ["seed"]);
  const { seed = 0 } = options;
  checkDropout("dropout", p, "p");
  if (p > 0 && options.seed === undefined)
    throw new OptionError(
      "seed",
      "dropout: p > 0 needs a seed, or every call would drop the same elements: dropout(x, p, { seed: step }), or dropoutSeed() inside withDropout",
    );
  checkSeed("dropout", seed);
  return dropped(operand("dropout", "x", x), p, seed);
}

function dropped<T extends FloatTensor>(x: T, p: number, seed: number, rows?: DropoutRows): T {
  if (p === 0) return x;
  const y = resultLike(x, x.shape) as T;
  drop({ name: "dropout", x, p, seed, rows, y });
  recordUnary("dropout", x, y, (dy, dx) => drop({ name: "dropout", x: dy, p, seed, rows, y: dx }));
  return y;
}

/** Throws unless p is a probability in [0, 1). */
export function checkDropout(what: string, p: number, name = "dropoutP"): void {
  if (!(typeof p === "number" && p >= 0 && p < 1))
    refuseGot("dropout", `${what}: ${name} must be in [0, 1)`, p);
}

/** The rows of a rank, where ranks share a sequence: they drop what one process drops. */
export interface DropoutRows {
  readonly positions: ArrayLike<number>;
  readonly length: number;
}

/** The dropout of a pass: its seed, the number of its next dropout, and the rows of a rank. */
export interface DropoutPass {
  readonly seed: number;
  next: number;
  readonly rows?: DropoutRows;
}

let current: DropoutPass | undefined;

/** True inside `withDropout`. */
export const isDropping = (): boolean => current !== undefined;

/** Runs a part of a pass with its dropout. */
export function inDropout<T>(pass: DropoutPass | undefined, part: () => T): T {
  const outer = current;
  current = pass;
  try {
    return part();
  } finally {
    current = outer;
  }
}

/**
 * Runs `work`, which is synchronous, with the dropout of layers on. The same seed and the same calls drop the same elements; `undefined` turns it off.
 *
 * @example
 * withDropout(7, () => new EncoderBlock(8, 2, { dropoutP: 0.1 }).forward(x)); // as in training
 */
export function withDropout<T>(seed: number | undefined, work: () => T): T {
  checkCount("withDropout", arguments, 2);
  if (seed !== undefined) checkSeed("withDropout", seed);
  checkArgument(
    isFunction(work),
    "withDropout",
    "a seed and a function, as in withDropout(7, () => layer.forward(x))",
    work,
  );
  return inDropout(seed === undefined ? undefined : { seed, next: 0 }, () =>
    checkSynchronous("withDropout", work()),
  );
}

/**
 * The seed of the next dropout of a layer, or undefined outside `withDropout`.
 *
 * @example
 * withDropout(7, () => dropoutSeed() !== undefined); // → true
 */
export function dropoutSeed(): number | undefined {
  checkCount("dropoutSeed", arguments, 0);
  if (!current) return undefined;
  // 53 bits from two keyed draws: calls of one step, and steps of neighboring seeds, drop independent elements.
  const row = rowKey(headKey(current.seed, 1, 0), current.next++);
  return (cellBits(row, 0) >>> 11) * 2 ** 32 + cellBits(row, 1);
}

/**
 * `dropout` of a layer: applied only inside `withDropout`.
 *
 * @example
 * withDropout(7, () => layerDropout(x, 0.1)).shape; // → [2, 3, 8]
 */
export function layerDropout<T extends TensorLike>(x: T, p: number): FloatTensorOf<T> {
  checkCount("layerDropout", arguments, 2);
  checkDropout("layerDropout", p, "p");
  const seed = p > 0 ? dropoutSeed() : undefined;
  return dropped(operand("layerDropout", "x", x), seed === undefined ? 0 : p, seed ?? 0, current?.rows);
}
