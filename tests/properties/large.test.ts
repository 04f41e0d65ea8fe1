/** Sizes where products leave 32 bits: 2·S·S·d ≥ 2^31 from S = 4096 at d = 64. On the fast levels; rows are sampled. */
import { configure, explain, Tensor } from "heed";
import { afterAll, describe, expect, it } from "vitest";
import { attend, filledWith, normal, rows } from "../call.ts";
import { has, LEVELS, restore, use } from "../levels.ts";

const fast = LEVELS.filter((level) => level !== "reference" && has(level));

afterAll(restore);

/** A row of the formula in float64. */
function rowOf(q: Tensor, k: Tensor, v: Tensor, i: number, seen: number): Float64Array {
  const [N, d] = [k.shape[0], k.shape[1]];
  const s = new Float64Array(N);
  let m = -Infinity;
  for (let j = 0; j < seen; j++) {
    for (let e = 0; e < d; e++) s[j] += (q.data[i * d + e] as number) * (k.data[j * d + e] as number);
    s[j] /= Math.sqrt(d);
    m = Math.max(m, s[j]);
  }
  let l = 0;
  const o = new Float64Array(d);
  for (let j = 0; j < seen; j++) {
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

  it("memory a call plans beyond inputs and output stays below its limit a thread, whatever the length", () => {
    use(fast[0], 2);
    const { bytesPerThread } = configure();
    for (const N of [1024, 4096, 32_768]) {
      // One number repeated: views of stride 0 need no memory.
      const t = new Tensor(new Float32Array(64), [1, 12, N, 64], "float32", [0, 0, 0, 1]);
      expect(explain(t, t, t).bytes).toBeLessThanOrEqual(2 * bytesPerThread + 2 ** 24);
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
