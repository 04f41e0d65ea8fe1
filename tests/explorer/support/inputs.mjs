// @ts-check
/**
 * Heads and figures for the tests that run in Node and in a page: seeded numbers, so that both have the same. Plain JavaScript
 * without APIs of either.
 */

/** Seeded numbers (mulberry32), about uniform in [−2, 2). @param {number} seed @param {number} count */
function numbers(seed, count) {
  let state = seed >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 30 - 2;
  });
}

/**
 * @param {number} layers @param {number} heads @param {number} n @param {number} d
 * @param {readonly string[]} tokens @param {object} recipe
 */
function block(layers, heads, n, d, tokens, recipe) {
  const one = (/** @type {number} */ seed) => ({ data: numbers(seed, heads * n * d), shape: [heads, n, d] });
  return {
    tokens,
    recipe,
    layers: Array.from({ length: layers }, (_, layer) => ({
      query: one(3 * layer + 1),
      key: one(3 * layer + 2),
      value: one(3 * layer + 3),
    })),
  };
}

const words = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => `w${i}`);
const HOSTILE = [
  "[CLS]",
  "</script><script>globalThis.hit = 1</script>",
  "<img src=x onerror=globalThis.hit=1>",
  "<!--",
  "</template>",
  "\u202eright to left",
  "שלום",
  "🙂",
  "a\tb\nc",
  "x".repeat(3000),
  "&lt;",
  "[SEP]",
];

/** @type {Record<string, () => any>} */
export const inputs = {
  small: () => ({ blocks: [block(2, 3, 12, 8, words(12), { mask: "causal" })] }),
  hostile: () => ({ blocks: [block(3, 4, HOSTILE.length, 16, HOSTILE, { mask: "causal" })] }),
  wide: () => ({ blocks: [block(1, 1, 150, 8, words(150), { mask: { window: 20, causal: false } })] }),
};

/** @type {{ name: string, input: string, options: any }[]} */
export const figures = [
  {
    name: "matrix",
    input: "small",
    options: { layer: 1, head: 2, query: 5, key: 3, values: true, width: 170 },
  },
  { name: "scores, dark", input: "small", options: { stage: "masked", theme: "dark" } },
  { name: "lines", input: "small", options: { view: "lines", keep: "mass", mass: 0.9 } },
  { name: "text", input: "hostile", options: { view: "text", rows: [9, 11], hide: "special" } },
  { name: "row", input: "hostile", options: { view: "row", query: 9, key: 2, head: 1 } },
  { name: "atlas", input: "small", options: { view: "atlas" } },
  { name: "picture", input: "wide", options: { ramp: "grey" } },
];
