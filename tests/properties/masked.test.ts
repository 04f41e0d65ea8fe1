/** Masked values are not read, and fully masked rows return zeros: on every level, for every way to mask a cell. */
import {
  type AttentionOptions,
  and,
  blockSparse,
  causal,
  documents,
  keyLengths,
  maskMod,
  queryLengths,
  scoreMod,
  slidingWindow,
  Tensor,
} from "heed";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { has, LEVELS, restore, use } from "../support/backends/levels.ts";
import { attend, expectNear, expectSame, filledWith, normal } from "../support/cases/call.ts";

const [N, d] = [70, 16];
const q = normal(1, [2, 3, N, d]);
const k = normal(2, [2, 3, N, d]);
const v = normal(3, [2, 3, N, d]);
const hidden = (j: number) => j >= 41 || j === 7;
const bool = (rule: (i: number, j: number) => boolean) =>
  new Tensor(
    Uint8Array.from({ length: N * N }, (_, n) => (rule(Math.floor(n / N), n % N) ? 1 : 0)),
    [N, N],
    "bool",
  );

/** Ways to mask keys 41 and up, and key 7. */
const HIDE: Record<string, AttentionOptions> = {
  "a bool tensor": { attnMask: bool((_, j) => !hidden(j)) },
  "a bool tensor of one row": {
    attnMask: new Tensor(
      Uint8Array.from({ length: N }, (_, j) => (hidden(j) ? 0 : 1)),
      [N],
      "bool",
    ),
  },
  "a float tensor of −∞": { attnMask: filledWith([N], (j) => (hidden(j) ? -Infinity : j / 50)) },
  "lengths and an expression": {
    attnMask: and(
      keyLengths(41),
      maskMod(({ k: key }) => key.ne(7)),
    ),
  },
  documents: {
    attnMask: documents(
      new Array(N).fill(0),
      Array.from({ length: N }, (_, j) => (hidden(j) ? 1 : 0)),
    ),
  },
  "lengths and a bool tensor": { attnMask: [keyLengths([41, 41]), bool((_, j) => j !== 7)] },
};

/** Ways to mask all cells from row 5 on. */
const EMPTY: Record<string, AttentionOptions> = {
  "a bool tensor": { attnMask: bool((i) => i !== 5) },
  "a float tensor of −∞": { attnMask: filledWith([N, N], (n) => (Math.floor(n / N) === 5 ? -Infinity : 0)) },
  "an expression": { attnMask: maskMod(({ i }) => i.ne(5)) },
  documents: {
    attnMask: documents(
      Array.from({ length: N }, (_, i) => (i === 5 ? 9 : 0)),
      new Array(N).fill(0),
    ),
  },
  "causal before the first key": { isCausal: true, queryOffset: -6 },
  "a window that ends before the keys": { attnMask: slidingWindow(0, 0), queryOffset: N - 5 },
  "query lengths": { attnMask: queryLengths(5) },
  "causal and a block": {
    attnMask: and(
      causal(),
      blockSparse(
        [
          [false, true],
          [true, true],
        ],
        35,
      ),
    ),
  },
};

afterAll(restore);

for (const level of LEVELS.filter(has))
  describe(level, () => {
    beforeAll(() => use(level, 2));

    describe("NaN, ±∞ and 3.4e38 in masked keys and values change no bit:", () => {
      for (const [name, options] of Object.entries(HIDE)) {
        it(name, () => {
          const want = attend(q, k, v, options);
          expect((want.output.data as Float32Array).every(Number.isFinite)).toBe(true);
          for (const poison of [Number.NaN, Infinity, -Infinity, 3.4e38]) {
            const [kk, vv] = [k, v].map((t) =>
              filledWith(t.shape, (n) => (hidden(Math.floor(n / d) % N) ? poison : (t.data[n] as number))),
            );
            expectSame(attend(q, kk, vv, options), want, String(poison));
          }
        });
      }
    });

    it("a score mod to −∞ gives weight 0, as a mask would; unlike a mask it does not keep a value from being read", () => {
      const change = scoreMod(({ score, k: key }) => key.lt(41).and(key.ne(7)).select(score, -Infinity));
      const got = attend(q, k, v, { scoreMod: change, returnWeights: true });
      const want = attend(q, k, v, { ...HIDE["a bool tensor"], returnWeights: true });
      expectNear(got.output, want.output, 2e-6);
      (got.weights as Tensor).data.forEach((x, n) => {
        if (hidden(n % N)) expect(x).toBe(0);
      });
    });

    it("NaN in cells of a float mask that another mask masks changes no bit", () => {
      const clean = filledWith([N, N], (n) => (n % 13) / 6);
      for (const poison of [Number.NaN, Infinity, 3.4e38]) {
        const dirty = filledWith([N, N], (n) =>
          n % N > Math.floor(n / N) ? poison : (clean.data[n] as number),
        );
        expectSame(
          attend(q, k, v, { attnMask: dirty, isCausal: true }),
          attend(q, k, v, { attnMask: clean, isCausal: true }),
        );
      }
    });

    it("a tile in which a mask tensor leaves one row is not skipped, whatever the row strides of other mask tensors", () => {
      const bias = filledWith([N, N], () => 0);
      const all = new Tensor(new Uint8Array(N).fill(1), [N], "bool");
      for (let row = 0; row < N; row++) {
        const flags = bool((i) => i === row);
        const want = attend(q, k, v, { attnMask: flags });
        for (const attnMask of [
          [bias, flags],
          [all, flags],
          [flags, bias],
        ])
          expectNear(attend(q, k, v, { attnMask }).output, want.output, 2e-6);
      }
    });

    it("NaN in a query that is fully masked reaches no result", () => {
      const broken = filledWith(q.shape, (n) =>
        Math.floor(n / d) % N >= 60 ? Number.NaN : (q.data[n] as number),
      );
      const options = { attnMask: queryLengths(60) };
      expectSame(attend(broken, k, v, options), attend(q, k, v, options));
    });

    it("NaN after the last key or query, and in the gaps of a view, is not read", () => {
      const spaced = (t: Tensor) => {
        const [B, H, n] = t.shape;
        const data = new Float32Array(B * H * (n + 3) * (d + 5) + 64).fill(Number.NaN);
        const view = new Tensor(
          data,
          t.shape,
          "float32",
          [H * (n + 3) * (d + 5), (n + 3) * (d + 5), d + 5, 1],
          9,
        );
        for (let row = 0; row < B * H * n; row++)
          for (let e = 0; e < d; e++)
            data[9 + (Math.floor(row / n) * (n + 3) + (row % n)) * (d + 5) + e] = t.data[
              row * d + e
            ] as number;
        return view;
      };
      expectSame(attend(spaced(q), spaced(k), spaced(v)), attend(q, k, v));
    });

    describe("a fully masked row gives output 0, weights 0 and lse −∞, no NaN anywhere:", () => {
      for (const [name, options] of Object.entries(EMPTY)) {
        it(name, () => {
          const { output, weights, lse } = attend(q, k, v, { ...options, returnWeights: true });
          for (const t of [output, weights as Tensor, lse])
            expect((t.data as Float32Array).some((x) => x !== x)).toBe(false);
          for (let head = 0; head < 6; head++) {
            const row = head * N + 5;
            expect(lse.data[row]).toBe(-Infinity);
            expect([...(output.data as Float32Array).subarray(row * d, (row + 1) * d)]).toEqual(
              new Array(d).fill(0),
            );
            expect((weights as Tensor).data.subarray(row * N, (row + 1) * N).every((x) => x === 0)).toBe(
              true,
            );
          }
        });
      }
    });

    it("with a sink, a fully masked row gives output 0 and lse = sink", () => {
      const { output, lse } = attend(q, k, v, { attnMask: queryLengths(5), sinks: [1, -2, 0.5] });
      for (let head = 0; head < 6; head++) {
        expect(lse.data[head * N + 5]).toBe([1, -2, 0.5][head % 3]);
        expect(output.data[(head * N + 5) * d]).toBe(0);
      }
    });

    it("unmasked NaN and ∞ propagate as in the formula", () => {
      const put = (t: Tensor, row: number, x: number) =>
        filledWith(t.shape, (n) => (Math.floor(n / d) === row ? x : (t.data[n] as number)));
      // Key 3 of the first head: its rows from 3 on see it.
      for (const [kk, vv] of [
        [put(k, 3, Number.NaN), v],
        [k, put(v, 3, Number.NaN)],
      ]) {
        const { output } = attend(q, kk, vv, { isCausal: true });
        for (let i = 0; i < N; i++) expect([i, Number.isNaN(output.data[i * d])]).toEqual([i, i >= 3]);
        expect(Number.isNaN(output.data[N * d])).toBe(false);
      }
      const { output } = attend(q, k, put(v, 3, Infinity), { isCausal: true });
      expect(output.data[3 * d]).toBe(Infinity);
      expect(Number.isFinite(output.data[2 * d])).toBe(true);
    });

    it("16-bit ∞, NaN and subnormals are converted exactly, in keys, values and queries", () => {
      const formats = {
        float16: { one: 0x3c00, inf: 0x7c00, nan: 0x7e01, least: 1, value: 2 ** -24 },
        bfloat16: { one: 0x3f80, inf: 0x7f80, nan: 0x7fc1, least: 0x0080, value: 2 ** -126 },
      };
      for (const [dtype, { one, inf, nan, least, value }] of Object.entries(formats))
        for (const Nq of [1, 20]) {
          const of = (bits: readonly number[], n: number) =>
            new Tensor(
              Uint16Array.from({ length: n * 8 }, (_, at) => bits[at % bits.length]),
              [n, 8],
              dtype as "float16",
            );
          const queries = of([0], Nq);
          const run = (values: Tensor, keys = of([one], 16), query = queries) =>
            attend(query, keys, values).output.toFloat64();
          const columns = run(of([one, inf, inf | 0x8000, nan, one, one, one, one], 16));
          expect([...columns.subarray(0, 5)]).toEqual([1, Infinity, -Infinity, Number.NaN, 1]);
          expect(run(of([one], 16), of([nan], 16), of([one], Nq))[0]).toBeNaN();
          expect(run(of([one], 16), of([one], 16), of([nan], Nq))[0]).toBeNaN();
          const small = attend(
            filledWith([Nq, 8], () => 0),
            of([one], 16),
            of([least], 16),
          ).output;
          for (const x of small.data as Float32Array)
            expect([dtype, Math.abs(x / value - 1) < 1e-6]).toEqual([dtype, true]);
        }
    });
  });
