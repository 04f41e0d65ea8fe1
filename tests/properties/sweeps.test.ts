/** Every key, every length, every alignment: sweeps that fail if a key is skipped, counted twice or shifted, on every level. */
import { keyLengths, slidingWindow, Tensor } from "heed";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { has, LEVELS, restore, THREADS, use } from "../support/backends/levels.ts";
import { attend, expectBits, filledWith, normal } from "../support/cases/call.ts";
import { inTurn } from "../support/cases/count.ts";

afterAll(restore);

for (const level of LEVELS.filter(has))
  describe(level, () => {
    beforeAll(() => use(level, 2));

    it("each key in turn, for 1 to 300 keys, gives its own value and no other", () => {
      // Nk queries, query j aims at key j: scores 0 and 200, so every other weight underflows to 0.
      const counts = [...Array(300).keys()].map((n) => n + 1).filter((n) => n <= 140 || n % 7 === 0);
      for (const Nk of inTurn(counts, 3)) {
        const eye = filledWith([Nk, Nk], (n) => (n % Nk === Math.floor(n / Nk) ? 1 : 0));
        const values = filledWith([Nk, 3], (n) => n + 1);
        const { output } = attend(eye, eye, values, { scale: 200 });
        expectBits(output, values, `${Nk} keys`);
      }
    });

    it("each key in turn around 2^10 … 2^16 keys, one query at a time", () => {
      for (let power = 10; power <= 16; power++)
        for (const Nk of [2 ** power - 1, 2 ** power, 2 ** power + 1]) {
          const values = filledWith([Nk, 1], (n) => n);
          const places = [
            0,
            1,
            2,
            3,
            63,
            64,
            65,
            127,
            128,
            511,
            512,
            513,
            Nk >> 1,
            Nk - 65,
            Nk - 64,
            Nk - 5,
            Nk - 4,
            Nk - 2,
            Nk - 1,
          ];
          for (const j of power > 13 ? places.filter((_, n) => n % 3 === 0 || n > 15) : places) {
            const key = new Tensor(new Float32Array(Nk), [Nk, 1], "float32");
            key.data[j] = 300;
            expect(
              attend(
                filledWith([1, 1], () => 1),
                key,
                values,
              ).output.data[0],
            ).toBe(j);
          }
        }
    });

    it("values of 1 give 1 within 2 ulp, for every number of keys: each is counted once", () => {
      for (let Nk = 1; Nk <= 300; Nk++) {
        const { output } = attend(
          normal(Nk, [5, 8]),
          normal(Nk + 1, [Nk, 8]),
          filledWith([Nk, 2], () => 1),
        );
        for (const x of output.data as Float32Array)
          expect([Nk, Math.abs(x - 1) <= 2 ** -22]).toEqual([Nk, true]);
      }
      for (const Nk of [1023, 4097, 65_537]) {
        const { output } = attend(
          normal(Nk, [2, 8]),
          normal(Nk + 1, [Nk, 8]),
          filledWith([Nk, 2], () => 1),
        );
        for (const x of output.data as Float32Array)
          expect([Nk, Math.abs(x - 1) <= 2 ** -22]).toEqual([Nk, true]);
      }
    });

    it("lse of equal scores is log Nk: the sum counts every key once", () => {
      for (let Nk = 1; Nk <= 300; Nk++) {
        const { lse } = attend(
          filledWith([2, 4], () => 0),
          normal(Nk, [Nk, 4]),
          normal(Nk, [Nk, 1]),
        );
        expect(Math.abs((lse.data[0] as number) - Math.log(Nk))).toBeLessThanOrEqual(1e-6);
      }
    });

    it("causal, both alignments, Nq and Nk 1 to 33: what the mask written out gives, and no key more or less", () => {
      for (let Nq = 1; Nq <= 33; Nq++)
        for (let Nk = 1; Nk <= 33; Nk++) {
          // Row i sees n keys whose values are powers of two: its mean tells which.
          const queries = filledWith([Nq, 2], () => 0);
          const keys = filledWith([Nk, 2], () => 0);
          const values = filledWith([Nk, 1], (j) => j + 1);
          for (const isCausal of ["upper-left", "lower-right"] as const) {
            const { output, lse } = attend(queries, keys, values, { isCausal });
            for (let i = 0; i < Nq; i++) {
              const last = isCausal === "upper-left" ? i : i + Nk - Nq;
              const n = Math.max(0, Math.min(Nk, last + 1));
              const isMean = Math.abs((output.data[i] as number) - (n ? (n + 1) / 2 : 0)) < 2e-5;
              const isLse =
                Math.abs((lse.data[i] as number) - Math.log(n)) < 1e-6 || lse.data[i] === Math.log(n);
              // 37,000 rows a level: a call of `expect` for each takes longer than the attention.
              if (!isMean || !isLse)
                expect.fail(
                  `${isCausal}, ${Nq} queries, ${Nk} keys, row ${i}: ${output.data[i]}, lse ${lse.data[i]}`,
                );
            }
          }
        }
    });

    it("windows of every width, causal or not, see exactly their keys", () => {
      const N = 40;
      const zero = filledWith([N, 2], () => 0);
      const values = filledWith([N, 1], (j) => j + 1);
      for (let left = -1; left <= N; left += 1)
        for (const right of [-1, 0, 1, 7, N]) {
          const { output, lse } = attend(zero, zero, values, { attnMask: slidingWindow(left, right) });
          for (let i = 0; i < N; i++) {
            const from = left < 0 ? 0 : Math.max(0, i - left);
            const to = right < 0 ? N - 1 : Math.min(N - 1, i + right);
            expect(Math.abs((output.data[i] as number) - (from + to + 2) / 2)).toBeLessThan(3e-5);
            expect(Math.abs((lse.data[i] as number) - Math.log(to - from + 1))).toBeLessThan(1e-6);
          }
        }
    });

    it("padding of every length: only the keys before it count", () => {
      for (let Nk = 1; Nk <= 130; Nk += 3)
        for (let n = 0; n <= Nk; n += 1 + (Nk >> 4)) {
          const keys = filledWith([Nk, 4], (at) => (at / 4 < n ? 0 : Number.NaN));
          const values = filledWith([Nk, 1], (j) => (j < n ? j + 1 : Infinity));
          const { output, lse } = attend(
            filledWith([2, 4], () => 1),
            keys,
            values,
            { attnMask: keyLengths(n) },
          );
          expect([Nk, n, Math.abs((output.data[1] as number) - (n ? (n + 1) / 2 : 0)) < 1e-4]).toEqual([
            Nk,
            n,
            true,
          ]);
          expect(n ? Math.abs((lse.data[1] as number) - Math.log(n)) < 1e-6 : lse.data[1] === -Infinity).toBe(
            true,
          );
        }
    });

    it("200 repeats over 1, 2, 3 and 7 threads give the same bits", () => {
      const [q, k, v] = [normal(1, [1, 3, 65, 32]), normal(2, [1, 3, 130, 32]), normal(3, [1, 3, 130, 32])];
      const first = attend(q, k, v, { isCausal: "lower-right" });
      for (const threads of THREADS) {
        use(level, threads);
        for (let n = 0; n < 50; n++)
          expectBits(attend(q, k, v, { isCausal: "lower-right" }).output, first.output, `${threads} threads`);
      }
    });
  });
