/** Random order. The generator itself is core/random/generator.ts. */
import { checkArgument, checkCount } from "../../core/errors.ts";
import type { Generator } from "../../core/random/generator.ts";

export { Generator } from "../../core/random/generator.ts";

/**
 * The numbers 0 … n − 1 in random order (Fisher and Yates).
 *
 * @example
 * permutation(5, new Generator(1)).length; // → 5
 */
export function permutation(n: number, generator: Generator): Uint32Array {
  checkCount("permutation", arguments, 2);
  checkArgument(
    Number.isInteger(n) &&
      n >= 0 &&
      n < 2 ** 31 &&
      typeof (generator as Partial<Generator> | undefined)?.below === "function",
    "permutation",
    "a count ≥ 0 and a Generator, as in permutation(5, new Generator(1))",
    Number.isInteger(n) ? generator : n,
  );
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = generator.below(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
