/**
 * Sequences of seeded random numbers. Counter-based (the mixer of random.ts over seed, stream and position), so the state of
 * a generator is its position, and a sequence can start at any position.
 */
import { checkArgument, checkCount, checkInteger, checkSeed, isFunction } from "../errors.ts";
import { checkSynchronous } from "../synchronous.ts";
import { cellBits, headKey, rowKey } from "./random.ts";

/**
 * A sequence of random numbers, the same for the same seed and stream on every machine.
 *
 * @example
 * const generator = new Generator(1);
 * randn([2, 3], { seed: generator });
 */
export class Generator {
  #position = 0;
  readonly #key: number;

  /**
   * @param seed   any integer, 0 by default
   * @param stream independent sequences of one seed, an integer ≥ 0, 0 by default
   */
  constructor(seed = 0, stream = 0, position = 0) {
    checkCount("Generator", arguments, 3);
    checkSeed("Generator", seed);
    checkInteger("Generator", "stream", stream, 0);
    this.#key = headKey(seed, stream, Math.floor(stream / 2 ** 32));
    this.position = position;
  }

  /** Numbers drawn so far. Setting it continues from there. */
  get position(): number {
    return this.#position;
  }
  /** An integer ≥ 0. */
  set position(n: number) {
    checkInteger("Generator", "position", n, 0);
    this.#position = n;
  }

  /** 32 random bits, as an unsigned number. */
  bits(): number {
    checkCount("Generator.bits", arguments, 0);
    const at = this.#position++;
    return cellBits(rowKey(this.#key, Math.floor(at / 65536)), at % 65536);
  }

  /** A number in [0, 1), a multiple of 2⁻³². */
  uniform(): number {
    checkCount("Generator.uniform", arguments, 0);
    return this.bits() / 2 ** 32;
  }

  /** Standard normal (Box and Muller 1958); draws two numbers. */
  normal(): number {
    checkCount("Generator.normal", arguments, 0);
    const inside = () => (this.bits() + 0.5) / 2 ** 32;
    return Math.sqrt(-2 * Math.log(inside())) * Math.cos(2 * Math.PI * inside());
  }

  /** A uniform integer in [0, n), n an integer from 1 to 2³²; draws again where the remainder would be biased. Throws OptionError. */
  below(n: number): number {
    checkCount("Generator.below", arguments, 1);
    checkInteger("Generator.below", "n", n, 1, 2 ** 32);
    const fair = 2 ** 32 - (2 ** 32 % n);
    for (;;) {
      const bits = this.bits();
      if (bits < fair) return bits % n;
    }
  }
}

/** A seed, or a generator that several draws share. */
export type Seed = number | Generator;

/** Stream of the sequence that layers and random tensors draw from. */
const SHARED_STREAM = 2;

/** The generator of calls without a seed: one sequence of seed 0 for the program. */
let shared: Generator | undefined;

/** The generator of a seed; without a seed, the one that the program shares. */
export function generatorOf(seed: Seed | undefined): Generator {
  if (seed instanceof Generator) return seed;
  if (seed !== undefined) return new Generator(seed, SHARED_STREAM);
  shared ??= new Generator(0, SHARED_STREAM);
  return shared;
}

/**
 * Runs `work`, which is synchronous, with a seed: its calls without a seed (layers, `randn`) draw from a sequence that starts here.
 *
 * @example
 * withSeed(7, () => randn([2])).shape; // → [2]
 */
export function withSeed<T>(seed: number, work: () => T): T {
  checkCount("withSeed", arguments, 2);
  checkArgument(
    isFunction(work),
    "withSeed",
    "a seed and a function, as in withSeed(7, () => randn([2]))",
    work,
  );
  const outer = shared;
  shared = new Generator(seed, SHARED_STREAM);
  try {
    return checkSynchronous("withSeed", work());
  } finally {
    shared = outer;
  }
}
