/** Seeded random numbers for tests: the same seed, the same case, on every machine. */

/** Draws from one seed. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer from low to high, both included. */
  int(low: number, high: number): number;
  /** Log-uniform integer from 1 to high. */
  size(high: number): number;
  /** True with probability p. */
  chance(p: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** Standard normal (Box & Muller 1958). */
  normal(): number;
}

/** A generator (sfc32 by Chris Doty-Humphrey, PractRand) started from a whole number. */
export function random(seed: number): Random {
  let [a, b, c, d] = [0x9e3779b9, seed | 0, Math.floor(seed / 2 ** 32) | 0, 1];
  const bits = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return t >>> 0;
  };
  for (let n = 0; n < 15; n++) bits();
  const next = () => bits() / 2 ** 32;
  return {
    next,
    int: (low, high) => low + Math.floor(next() * (high - low + 1)),
    size: (high) => Math.min(high, Math.floor(Math.exp(next() * Math.log(high + 1)))),
    chance: (p) => next() < p,
    pick: (list) => list[Math.floor(next() * list.length)],
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  };
}
