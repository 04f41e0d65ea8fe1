/** Combinations of masks: `and(causal(), slidingWindow(256, 0))`. */
import { checkCount, formatValue, OptionError } from "../core/errors.ts";
import { BoolExpression, boolConst, FOREIGN, isForeign, type Mask } from "./expression/expr.ts";

function check(what: string, mask: Mask): void {
  if (mask instanceof BoolExpression) return;
  const problem = isForeign(mask)
    ? `a mask ${FOREIGN}`
    : `expected masks such as causal(), got ${formatValue(mask)}`;
  throw new OptionError("mask", `${what}: ${problem}`, { got: mask });
}

/**
 * Attend where all masks do.
 *
 * @example
 * and(causal(), slidingWindow(256, 0), not(documents([0, 0, 1, 1])));
 */
export function and(...masks: Mask[]): Mask {
  for (const m of masks) check("and", m);
  return boolConst(true).and(...masks);
}

/**
 * Attend where any of the masks does.
 *
 * @example
 * or(slidingWindow(64, 64), globalTokens([0]));
 */
export function or(...masks: Mask[]): Mask {
  for (const m of masks) check("or", m);
  return boolConst(false).or(...masks);
}

/**
 * Attend where the mask does not.
 *
 * @example
 * not(causal()); // keys after the query
 */
export function not(mask: Mask): Mask {
  checkCount("not", arguments, 1);
  check("not", mask);
  return mask.not();
}
