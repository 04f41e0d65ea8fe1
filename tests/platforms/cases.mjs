// @ts-check
/**
 * A table of attention calls, and a float64 loop to compare them with: the minimum that must be right on every platform.
 * Plain JavaScript without APIs of Node or of pages, so the same file runs in both.
 *
 * The bound is the scale-free one of the property tests: a float32 result may differ from exact arithmetic by
 * (d + (M + 16)·u)·Σ_j p_j·|v_j|, with u = 2⁻²⁴, d = 2(D + 3)·u·scale·max_j Σ_c |q_c·k_jc|. Leaves the
 * breadth of the semantics to tests/conformance.
 */

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {number} [B] batch entries, 1 by default
 * @property {number} H query heads
 * @property {number} [Hkv] key heads, H by default
 * @property {number} Nq
 * @property {number} Nk
 * @property {number} D size of a query and a key
 * @property {number} [E] size of a value, D by default
 * @property {"float32" | "float64"} [dtype]
 * @property {number} [scale]
 * @property {number} [softcap] the soft cap the score mod applies: its tanh may cost a few more roundings
 * @property {(heed: any, c: Case) => object} [options] what the call gets
 * @property {(i: number, j: number) => boolean} [see] whether query i may see key j
 * @property {(s: number, h: number, i: number, j: number) => number} [score] the score after changes
 * @property {(h: number) => number} [sink]
 * @property {"key"} [poison] fills every key and value that no query sees with NaN
 */

/** Seeded numbers (mulberry32), uniform in [−2, 2), the same on every platform. @param {number} seed */
function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 30 - 2;
  };
}

/** @param {number} h */
const slope = (h) => 2 ** -(h + 1);

/** The case with work for several threads. */
export const LARGE = "enough tiles for every thread";

/** @type {Case[]} */
export const cases = [
  { name: "full", H: 3, Nq: 37, Nk: 37, D: 64 },
  { name: "one query, one key", H: 1, Nq: 1, Nk: 1, D: 8 },
  { name: LARGE, B: 2, H: 4, Nq: 160, Nk: 200, D: 32 },
  { name: "odd sizes, values wider than keys", H: 2, Nq: 5, Nk: 131, D: 7, E: 19 },
  { name: "decode: one query, many keys", H: 4, Nq: 1, Nk: 1500, D: 64 },
  { name: "grouped queries", H: 6, Hkv: 2, Nq: 33, Nk: 65, D: 16 },
  { name: "scale, negative", H: 1, Nq: 17, Nk: 29, D: 24, scale: -0.31, options: () => ({ scale: -0.31 }) },
  {
    name: "causal",
    H: 2,
    Nq: 129,
    Nk: 129,
    D: 64,
    options: () => ({ isCausal: true }),
    see: (i, j) => j <= i,
  },
  {
    name: "causal, lower right",
    H: 2,
    Nq: 21,
    Nk: 50,
    D: 32,
    options: () => ({ isCausal: "lower-right" }),
    see: (i, j) => j <= i + 29,
  },
  {
    name: "causal, lower right, fully masked rows",
    H: 1,
    Nq: 40,
    Nk: 24,
    D: 16,
    options: () => ({ isCausal: "lower-right" }),
    see: (i, j) => j <= i - 16,
  },
  {
    name: "causal and a sliding window",
    H: 2,
    Nq: 150,
    Nk: 150,
    D: 32,
    options: ({ and, causal, slidingWindow }) => ({ attnMask: and(causal(), slidingWindow(20, 0)) }),
    see: (i, j) => j <= i && i - j <= 20,
  },
  {
    name: "NaN in keys past the key length",
    H: 2,
    Nq: 19,
    Nk: 90,
    D: 32,
    options: ({ keyLengths }) => ({ attnMask: keyLengths(33) }),
    see: (_, j) => j < 33,
    poison: "key",
  },
  {
    name: "a custom mask",
    H: 2,
    Nq: 45,
    Nk: 77,
    D: 40,
    options: ({ maskMod }) => ({ attnMask: maskMod((/** @type {any} */ { q, k }) => k.sub(q).mod(3).eq(0)) }),
    see: (i, j) => (j - i) % 3 === 0,
  },
  {
    name: "a boolean tensor",
    H: 2,
    Nq: 23,
    Nk: 70,
    D: 32,
    options: ({ tensor }, { Nq, Nk }) => ({
      attnMask: tensor(
        Uint8Array.from({ length: Nq * Nk }, (_, x) => Number((x * 7 + (x >> 3)) % 5 < 3)),
        [Nq, Nk],
        "bool",
      ),
    }),
    see: (i, j) => ((i * 70 + j) * 7 + ((i * 70 + j) >> 3)) % 5 < 3,
  },
  {
    name: "ALiBi",
    H: 3,
    Nq: 30,
    Nk: 30,
    D: 32,
    options: ({ alibi, tensor }, { H }) => ({
      scoreMod: alibi(
        tensor(
          Float32Array.from({ length: H }, (_, h) => slope(h)),
          [H],
        ),
      ),
    }),
    score: (s, h, i, j) => s - slope(h) * Math.abs(i - j),
  },
  {
    name: "soft cap",
    H: 2,
    Nq: 26,
    Nk: 50,
    D: 64,
    softcap: 3,
    options: ({ softcap }) => ({ scoreMod: softcap(3) }),
    score: (s) => 3 * Math.tanh(s / 3),
  },
  {
    name: "sinks",
    H: 4,
    Nq: 11,
    Nk: 35,
    D: 32,
    options: ({ tensor }, { H }) => ({
      sinks: tensor(
        Float32Array.from({ length: H }, (_, h) => h - 1),
        [H],
      ),
    }),
    sink: (h) => h - 1,
  },
  { name: "no keys at all", H: 2, Nq: 4, Nk: 0, D: 16 },
  { name: "no queries at all", H: 2, Nq: 0, Nk: 9, D: 16 },
  { name: "float64", H: 2, Nq: 31, Nk: 47, D: 20, dtype: "float64" },
];

/** The inputs of a case, [B, H, N, D] each, the same in every run. @param {Case} c */
export function inputs(c) {
  const { B = 1, H, Hkv = H, Nq, Nk, D, E = D } = c;
  const next = numbers(cases.indexOf(c) + 1);
  const make = (/** @type {number} */ length) => {
    const data = c.dtype === "float64" ? new Float64Array(length) : new Float32Array(length);
    for (let i = 0; i < length; i++) data[i] = next();
    return data;
  };
  const q = make(B * H * Nq * D);
  const k = make(B * Hkv * Nk * D);
  const v = make(B * Hkv * Nk * E);
  if (c.poison === "key")
    for (let j = 0; j < Nk; j++) {
      let warned = false;
      for (let i = 0; i < Nq; i++) warned ||= c.see?.(i, j) ?? true;
      if (warned) continue;
      for (let b = 0; b < B * Hkv; b++) {
        k.fill(Number.NaN, (b * Nk + j) * D, (b * Nk + j + 1) * D);
        v.fill(Number.NaN, (b * Nk + j) * E, (b * Nk + j + 1) * E);
      }
    }
  return { q, k, v };
}

/**
 * Compares a result with the loop in float64; returns "" or the first element outside of the bound.
 * @param {Case} c
 * @param {{ q: ArrayLike<number>, k: ArrayLike<number>, v: ArrayLike<number> }} given
 * @param {ArrayLike<number>} output
 * @param {ArrayLike<number>} lse
 */
export function compare(c, { q, k, v }, output, lse) {
  const { B = 1, H, Hkv = H, Nq, Nk, D, E = D, scale = 1 / Math.sqrt(D) } = c;
  const u = c.dtype === "float64" ? 2 ** -50 : 2 ** -24;
  if (output.length !== B * H * Nq * E) return `output has ${output.length} elements`;
  if (lse.length !== B * H * Nq) return `lse has ${lse.length} elements`;
  const s = new Float64Array(Nk);
  for (let b = 0; b < B; b++)
    for (let h = 0; h < H; h++) {
      const kv = b * Hkv + Math.floor(h / (H / Hkv));
      for (let i = 0; i < Nq; i++) {
        const row = (b * H + h) * Nq + i;
        const sink = c.sink?.(h) ?? Number.NEGATIVE_INFINITY;
        let m = sink;
        let size = 0; // max_j Σ_c |q_c·k_jc|
        for (let j = 0; j < Nk; j++) {
          s[j] = Number.NEGATIVE_INFINITY;
          if (c.see !== undefined && !c.see(i, j)) continue;
          let dot = 0;
          let terms = 0;
          for (let x = 0; x < D; x++) {
            const term = q[row * D + x] * k[(kv * Nk + j) * D + x];
            dot += term;
            terms += Math.abs(term);
          }
          size = Math.max(size, terms);
          s[j] = c.score === undefined ? dot * scale : c.score(dot * scale, h, i, j);
          m = Math.max(m, s[j]);
        }
        if (m === Number.NEGATIVE_INFINITY) {
          if (lse[row] !== m) return `row ${row} is fully masked, yet its lse is ${lse[row]}`;
          for (let e = 0; e < E; e++)
            if (output[row * E + e] !== 0) return `row ${row} is fully masked, yet is ${output[row * E + e]}`;
          continue;
        }
        let sum = Math.exp(sink - m);
        for (let j = 0; j < Nk; j++) sum += Math.exp(s[j] - m);
        const change = c.score === undefined ? 0 : 4 * u * Math.max(Math.abs(m), c.softcap ?? 0, Nk);
        const d = 2 * (D + 3) * u * Math.abs(scale) * size + change;
        const far = Math.abs(lse[row] - (m + Math.log(sum)));
        if (!(far <= d + (Nk + 16) * u + 4 * u * Math.abs(m)))
          return `lse of row ${row} is ${lse[row]}, ${far.toExponential(2)} off`;
        for (let e = 0; e < E; e++) {
          let exact = 0;
          let weight = 0;
          for (let j = 0; j < Nk; j++) {
            if (s[j] === Number.NEGATIVE_INFINITY) continue;
            const p = (Math.exp(s[j] - m) / sum) * v[(kv * Nk + j) * E + e];
            exact += p;
            weight += Math.abs(p);
          }
          const error = Math.abs(output[row * E + e] - exact);
          const bound = (d + (Nk + 16) * u) * weight + 2 ** -120;
          if (!(error <= bound))
            return `output[${row}, ${e}] is ${output[row * E + e]}, expected ${exact}: off by ${error.toExponential(2)}, bound ${bound.toExponential(2)}`;
        }
      }
    }
  return "";
}

/** FNV-1a over the bytes of arrays: equal bits give equal words. @param {(Float32Array | Float64Array)[]} arrays */
export function fingerprint(...arrays) {
  let hash = 0x811c9dc5;
  for (const array of arrays)
    for (const byte of new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
      hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/**
 * Computes every case with `heed` as it is configured now.
 * @param {any} heed the package's main entry point
 * @returns {{ name: string, problem: string, bits: string, level: string, threads: number }[]} level and threads are those of the plan
 */
export function runCases(heed) {
  return cases.map((c) => {
    try {
      const { B = 1, H, Hkv = H, Nq, Nk, D, E = D } = c;
      const operands = inputs(c);
      const q = heed.tensor(operands.q, [B, H, Nq, D]);
      const k = heed.tensor(operands.k, [B, Hkv, Nk, D]);
      const v = heed.tensor(operands.v, [B, Hkv, Nk, E]);
      const options = c.options?.(heed, c) ?? {};
      const { output, lse } = heed.scaledDotProductAttention(q, k, v, options);
      const { backend, simd, threads } = heed.explain(q, k, v, options);
      const level = backend === "reference" ? backend : String(simd);
      const problem = compare(c, operands, output.data, lse.data);
      return { name: c.name, problem, bits: fingerprint(output.data, lse.data), level, threads };
    } catch (error) {
      return { name: c.name, problem: `threw ${error}`, bits: "", level: "", threads: 0 };
    }
  });
}
