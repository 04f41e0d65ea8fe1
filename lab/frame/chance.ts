/**
 * Chance that a reader can repeat (the control is in throw.ts): standard normal numbers by the ziggurat method (Marsaglia and
 * Tsang 2000, in the form of Doornik 2005), which draws the 22 million numbers of a picture in a fraction of a second.
 */
const LAYERS = 128;
/** Where the tail begins, and the area of a layer. */
const TAIL = 3.442619855899;
const AREA = 9.91256303526217e-3;

const density = (x: number) => Math.exp(-0.5 * x * x);

const edges = new Float64Array(LAYERS + 1);
edges[0] = AREA / density(TAIL);
edges[1] = TAIL;
for (let i = 2; i < LAYERS; i++)
  edges[i] = Math.sqrt(-2 * Math.log(AREA / edges[i - 1] + density(edges[i - 1])));
const ratios = Float64Array.from({ length: LAYERS }, (_, i) => edges[i + 1] / edges[i]);

/** A stream of standard normal numbers; the same seed gives the same numbers. */
export class Normals {
  #a: number;
  #b = 0x9e3779b9;
  #c = 0x243f6a88;
  #counter = 1;

  constructor(...seeds: readonly number[]) {
    this.#a = 0;
    for (const one of seeds) {
      this.#a = (this.#a ^ one) | 0;
      for (let i = 0; i < 12; i++) this.#bits();
    }
  }

  /** 32 random bits (Doty-Humphrey's sfc32). */
  #bits(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum;
  }

  #uniform(): number {
    return ((this.#bits() >>> 0) + 0.5) / 2 ** 32;
  }

  next(): number {
    for (;;) {
      const u = 2 * this.#uniform() - 1;
      const layer = this.#bits() & (LAYERS - 1);
      if (Math.abs(u) < ratios[layer]) return u * edges[layer];
      if (layer === 0) return this.#tail(u < 0);
      const x = u * edges[layer];
      const [outer, inner] = [edges[layer], edges[layer + 1]].map((edge) =>
        Math.exp(-0.5 * (edge * edge - x * x)),
      );
      if (inner + this.#uniform() * (outer - inner) < 1) return x;
    }
  }

  /** A number beyond the last layer. */
  #tail(negative: boolean): number {
    for (;;) {
      const x = Math.log(this.#uniform()) / TAIL;
      const y = Math.log(this.#uniform());
      if (-2 * y >= x * x) return negative ? x - TAIL : TAIL - x;
    }
  }

  /** The next `length` numbers, float32. */
  list(length: number): Float32Array {
    const numbers = new Float32Array(length);
    for (let i = 0; i < length; i++) numbers[i] = this.next();
    return numbers;
  }
}
