/** Sizes whose products exceed 32 bits: 2·S·S·d ≥ 2^31 from S = 4096 at d = 64. On the fast levels; rows are sampled. */
import { type AttentionOptions, alibi, configure, explain, slidingWindow, Tensor } from "heed";
import { afterAll, describe, expect, it } from "vitest";
import { has, LEVELS, restore, use } from "../support/backends/levels.ts";
import { attend, expectBits, expectSame, filledWith, normal, rows } from "../support/cases/call.ts";

const fast = LEVELS.filter((level) => level !== "reference" && has(level));

afterAll(restore);

/** A row of the formula in float64. */
function rowOf(q: Tensor, k: Tensor, v: Tensor, i: number, visible: number): Float64Array {
  const [N, d] = [k.shape[0], k.shape[1]];
  const s = new Float64Array(N);
  let m = -Infinity;
  for (let j = 0; j < visible; j++) {
    for (let e = 0; e < d; e++) s[j] += (q.data[i * d + e] as number) * (k.data[j * d + e] as number);
    s[j] /= Math.sqrt(d);
    m = Math.max(m, s[j]);
  }
  let l = 0;
  const o = new Float64Array(d);
  for (let j = 0; j < visible; j++) {
    const p = Math.exp(s[j] - m);
    l += p;
    for (let e = 0; e < d; e++) o[e] += p * (v.data[j * d + e] as number);
  }
  return o.map((x) => x / l);
}

describe.skipIf(fast.length === 0)("past 2^31", () => {
  for (const level of fast)
    for (const [S, d] of [
      [4096, 64],
      [2897, 128],
    ])
      for (const isCausal of [false, true])
        it(`${level}: ${S} × ${S} at head size ${d}${isCausal ? ", causal" : ""}`, () => {
          use(level, 2);
          const [q, k, v] = [1, 2, 3].map((seed) => normal(seed, [S, d]));
          const { output } = attend(q, k, v, { isCausal });
          for (const i of [0, 1, 63, 64, 1000, S >> 1, S - 2, S - 1]) {
            const want = rowOf(q, k, v, i, isCausal ? i + 1 : S);
            for (let e = 0; e < d; e++)
              expect(Math.abs((output.data[i * d + e] as number) - want[e])).toBeLessThan(3e-6);
          }
        });

  it("a query over keys whose bytes pass 2^28: 1,048,577 keys of 64 numbers, the last one counts", () => {
    const Nk = 2 ** 20 + 1;
    const key = new Tensor(new Float32Array(Nk * 64), [Nk, 64], "float32");
    key.data[(Nk - 1) * 64 + 5] = 1;
    const value = filledWith([Nk, 1], (j) => (j === Nk - 1 ? 7 : 0));
    use(fast[0], 2);
    const { output } = attend(
      filledWith([1, 64], () => 1),
      key,
      value,
      { scale: 100 },
    );
    expect(output.data[0]).toBe(7);
  });

  it("the planned memory of a call beyond inputs and output stays below its limit per thread, for any length", () => {
    use(fast[0], 2);
    const { bytesPerThread } = configure();
    for (const N of [1024, 4096, 32_768]) {
      // One number repeated: views of stride 0 need no memory.
      const t = new Tensor(new Float32Array(64), [1, 12, N, 64], "float32", [0, 0, 0, 1]);
      expect(explain(t, t, t).bytes).toBeLessThanOrEqual(2 * bytesPerThread + 2 ** 24);
    }
  });

  for (const level of fast)
    it(`${level}: a sink counts once where the keys of a head are brought in piece by piece`, () => {
      const [q, k, v] = [normal(5, [1, 400, 48]), normal(6, [1, 3000, 48]), normal(7, [1, 3000, 48])];
      const { bytesPerThread } = configure();
      use(level, 1);
      configure({ bytesPerThread: 2 ** 28 });
      const full = attend(q, k, v, { sinks: [9] });
      configure({ bytesPerThread: 2 ** 20 });
      const { stages, splits } = explain(q, k, v, { sinks: [9] });
      expect([stages > 1, splits]).toEqual([true, 1]);
      expectSame(attend(q, k, v, { sinks: [9] }), full);
      configure({ bytesPerThread });
    });

  for (const level of fast)
    it(`${level}: brought in piece by piece or all at once, the bits are the same`, () => {
      const [B, Hq, Hkv, Nq, Nk, d] = [2, 4, 2, 400, 1300, 48];
      const [q, k, v] = [normal(5, [B, Hq, Nq, d]), normal(6, [B, Hkv, Nk, d]), normal(7, [B, Hkv, Nk, d])];
      const bias = normal(8, [Hq, Nq, Nk]);
      const flags = new Tensor(
        Uint8Array.from({ length: Nq * Nk }, (_, n) => (n % 7 ? 1 : 0)),
        [Nq, Nk],
        "bool",
      );
      const cases: Record<string, AttentionOptions> = {
        plain: {},
        "causal with sinks": { isCausal: "lower-right", sinks: [1, 2, 3, 4] },
        "mask tensors": { attnMask: [bias, flags] },
        "a window with ALiBi": {
          attnMask: slidingWindow(300, 20),
          scoreMod: alibi([0.5, 0.1, 0.01, 0]),
          queryOffset: [100, 800],
        },
        "dropout and a bias": { dropoutP: 0.2, seed: 3, attnMask: bias },
      };
      const { bytesPerThread } = configure();
      for (const [name, options] of Object.entries(cases)) {
        use(level, 2);
        configure({ bytesPerThread: 2 ** 28 });
        const full = attend(q, k, v, { ...options, returnWeights: { rows: [0, 250, 399] } });
        expect(explain(q, k, v, options).stages).toBe(1);
        const turned = [q, k, v].map((t) => t.transpose(1, 2));
        configure({ bytesPerThread: 2 ** 20 });
        expect(explain(q, k, v, options).stages).toBeGreaterThan(1);
        const pieces = attend(q, k, v, { ...options, returnWeights: { rows: [0, 250, 399] } });
        expectSame(pieces, full, name);
        expectBits(pieces.weights as Tensor, full.weights as Tensor, `${name} weights`);
        const across = attend(turned[0], turned[1], turned[2], { ...options, layout: "bshd" });
        expectBits(across.output.transpose(1, 2).contiguous(), full.output, `${name} in bshd`);
        configure({ bytesPerThread });
      }
    });

  it("the last rows of a view are read where they are", () => {
    use(fast[0], 2);
    const all = normal(4, [5000, 64]);
    const last = rows(all, 4990, 5000);
    expect(attend(last, last, last).output.data).toEqual(
      attend(last.contiguous(), last.contiguous(), last.contiguous()).output.data,
    );
  });
});
