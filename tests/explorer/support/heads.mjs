// @ts-check
/**
 * Heads for the tests of the element, created in the page and in Node: seeded numbers, so that both have the same. Plain
 * JavaScript without APIs of either.
 */

/** Seeded numbers about normal with variance 1 (mulberry32, twelve added up). @param {number} seed */
export function drawer(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => {
    let sum = -6;
    for (let n = 0; n < 12; n++) sum += uniform();
    return sum;
  };
}

/**
 * @typedef {object} Wanted
 * @property {number} [layers]
 * @property {number} [heads]
 * @property {number} [keyHeads]
 * @property {number} [Nq]
 * @property {number} [Nk]
 * @property {number} [d]
 * @property {object} [recipe]
 * @property {string[]} [tokens]
 * @property {boolean} [segments] two halves
 * @property {string[]} [blocks] names
 * @property {boolean} [asWeights] weights instead of queries and keys
 * @property {number} [nonNumbers] as many weights that are no numbers
 * @property {number} [seed]
 * @property {"previous"} [plant] heads that look at the token before
 * @property {{ first: number, rows: number, columns: number }[]} [pictures] grids of patches among the keys, each with a picture
 */

/** What `storeFrom` and the element take. @param {Wanted} wanted @returns {any} */
export function makeInput({ blocks = ["self"], seed = 1, ...wanted } = {}) {
  return {
    name: "made for a test",
    blocks: blocks.map((name, n) => ({ name, ...block({ ...wanted, seed: seed + 100 * n }) })),
  };
}

/** @param {Wanted} wanted */
function block(wanted) {
  const { layers = 2, heads = 2, keyHeads = heads, d = 8, recipe = {}, asWeights, seed = 1 } = wanted;
  const Nq = wanted.Nq ?? wanted.tokens?.length ?? 12;
  const Nk = wanted.Nk ?? Nq;
  const words = wanted.tokens ?? Array.from({ length: Math.max(Nq, Nk) }, (_, i) => `w${i}`);
  const half = Math.floor(Math.min(Nq, Nk) / 2);
  const draw = drawer(seed);
  const many = (/** @type {number[]} */ ...shape) => ({
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 1.5 * draw()),
    shape,
  });
  return {
    kind: "self",
    queryTokens: words.slice(0, Nq),
    keyTokens: words.slice(0, Nk),
    recipe,
    ...(wanted.pictures && { pictures: wanted.pictures.map((grid) => ({ ...grid, image: picture(grid) })) }),
    ...(wanted.segments && {
      segments: [
        { name: "A", query: [0, half], key: [0, half] },
        { name: "B", query: [half, Nq], key: [half, Nk] },
      ],
    }),
    layers: Array.from({ length: layers }, () => {
      if (asWeights) return { weights: weights(heads, Nq, Nk, draw, wanted.nonNumbers ?? 0) };
      const key = many(keyHeads, Nk, d);
      const query = many(heads, Nq, d);
      if (wanted.plant === "previous")
        for (let h = 0; h < heads; h++)
          for (let i = 1; i < Nq; i++)
            for (let c = 0; c < d; c++) {
              const from = (Math.floor((h * keyHeads) / heads) * Nk + i - 1) * d + c;
              query.data[(h * Nq + i) * d + c] = 8 * key.data[from];
            }
      return { query, key, value: many(keyHeads, Nk, d) };
    }),
  };
}

/** A picture of 16 × 16 pixels a patch: a sky, a sun, a hill. @param {{ rows: number, columns: number }} grid */
export function picture({ rows, columns }) {
  const [height, width] = [16 * rows, 16 * columns];
  const data = new Uint8Array(3 * height * width);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const [u, v] = [x / width, y / height];
      const isSun = (u - 0.7) ** 2 + (v - 0.3) ** 2 < 0.02;
      const isHill = v > 0.6 + 0.15 * Math.sin(6 * u);
      data.set(
        isSun ? [250, 210, 60] : isHill ? [40, 110 + 80 * v, 50] : [90, 140, 250 - 120 * v],
        3 * (y * width + x),
      );
    }
  return { data, shape: [height, width, 3] };
}

/**
 * Rows that sum to 1, with some NaN weights.
 * @param {number} heads @param {number} Nq @param {number} Nk @param {() => number} draw @param {number} nonFinite
 */
function weights(heads, Nq, Nk, draw, nonFinite) {
  const data = new Float32Array(heads * Nq * Nk);
  for (let row = 0; row < heads * Nq; row++) {
    let sum = 0;
    for (let j = 0; j < Nk; j++) sum += data[row * Nk + j] = Math.exp(1.5 * draw());
    for (let j = 0; j < Nk; j++) data[row * Nk + j] /= sum;
  }
  for (let n = 0; n < nonFinite; n++) data[n * (Nk + 1)] = n % 2 ? Number.POSITIVE_INFINITY : Number.NaN;
  return { data, shape: [heads, Nq, Nk] };
}
