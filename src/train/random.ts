/**
 * Seeded random numbers in a sequence: counter-based (the mixer of core/random.ts over seed, stream and position), so
 * that the state of a generator is its position, and a stream can be entered anywhere.
 */
import { formatValue, OptionError } from "../core/errors.ts";
import { cellBits, headKey, rowKey } from "../core/random.ts";

/** A sequence of random numbers, the same for the same seed and stream on every machine. */
export class Generator {
  /** Numbers drawn so far. Setting it goes there. */
  position: number;
  readonly #key: number;

  /**
   * @param seed   any integer
   * @param stream independent sequences of one seed, 0 by default
   */
  constructor(seed: number, stream = 0, position = 0) {
    if (!Number.isSafeInteger(seed))
      throw new OptionError("seed", `Generator: seed must be an integer, got ${formatValue(seed)}`, {
        got: seed,
      });
    this.#key = headKey(seed, stream, Math.floor(stream / 2 ** 32));
    this.position = position;
  }

  /** 32 random bits, as an unsigned number. */
  bits(): number {
    const at = this.position++;
    return cellBits(rowKey(this.#key, Math.floor(at / 65536)), at % 65536);
  }

  /** A number in [0, 1), a multiple of 2⁻³². */
  uniform(): number {
    return this.bits() / 2 ** 32;
  }

  /** Standard normal (Box and Muller 1958); takes two numbers. */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log((this.bits() + 0.5) / 2 ** 32));
    return radius * Math.cos(2 * Math.PI * this.uniform());
  }

  /** An integer in [0, n); draws again where the range would favour some. n ≤ 2³². */
  below(n: number): number {
    const fair = 2 ** 32 - (2 ** 32 % n);
    for (;;) {
      const bits = this.bits();
      if (bits < fair) return bits % n;
    }
  }
}

/** The numbers 0 … n − 1 in random order (Fisher and Yates). */
export function permutation(n: number, generator: Generator): Uint32Array {
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = generator.below(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
