/** Laws of attention, on every level: properties that follow from the formula for any numbers. */
import {
  alibi,
  and,
  attentionWeights,
  causal,
  documents,
  keyLengths,
  mergeStates,
  slidingWindow,
  softcap,
  Tensor,
} from "heed";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { has, LEVELS, restore, THREADS, use } from "../support/backends/levels.ts";
import {
  attend,
  entries,
  expectBits,
  expectNear,
  expectSame,
  filledWith,
  normal,
  rows,
} from "../support/cases/call.ts";
import { random } from "../support/cases/random.ts";

/** Tolerance of two results of one level, computed in different ways: a few float32 roundings of numbers near 1. */
const NEAR = 4e-6;
const q = normal(1, [2, 4, 37, 16]);
const k = normal(2, [2, 4, 61, 16]);
const v = normal(3, [2, 4, 61, 12]);

const bool = (shape: number[], rule: (n: number) => boolean) =>
  new Tensor(
    Uint8Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, n) => (rule(n) ? 1 : 0)),
    shape,
    "bool",
  );

/** Keys of axis −2 in another order. */
function permuted(t: Tensor, order: readonly number[]): Tensor {
  const width = t.shape[t.shape.length - 1];
  return filledWith(t.shape, (n) => {
    const row = Math.floor(n / width);
    const first = Math.floor(row / order.length) * order.length;
    return t.data[(first + order[row % order.length]) * width + (n % width)] as number;
  });
}

function shuffled(n: number, seed: number): number[] {
  const r = random(seed);
  const order = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = r.int(0, i);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Weights times values, [2, 4, 37, 61] and [2, 4, 61, 12], in float64. */
function weighted(w: Tensor, values: Tensor): Tensor {
  return filledWith([2, 4, 37, 12], (n) => {
    const row = Math.floor(n / 12);
    let sum = 0;
    for (let j = 0; j < 61; j++)
      sum +=
        (w.data[row * 61 + j] as number) *
        (values.data[(Math.floor(row / 37) * 61 + j) * 12 + (n % 12)] as number);
    return sum;
  });
}

afterAll(restore);

for (const level of LEVELS.filter(has))
  describe(level, () => {
    beforeAll(() => use(level, 2));

    it("adding one vector to every key changes nothing; adding one to every value adds it to every row", () => {
      const c = normal(4, [16]);
      const shiftedKeys = filledWith(k.shape, (n) => (k.data[n] as number) + (c.data[n % 16] as number));
      expectNear(attend(q, shiftedKeys, v).output, attend(q, k, v).output, 2e-5);
      const moved = filledWith(v.shape, (n) => (v.data[n] as number) + (n % 12));
      const want = attend(q, k, v).output;
      expectNear(
        attend(q, k, moved).output,
        filledWith(want.shape, (n) => (want.data[n] as number) + (n % 12)),
        NEAR,
      );
    });

    it("rows lie between the least and the largest allowed value, weights are ≥ 0 and sum to 1", () => {
      const { output, weights } = attend(q, k, v, { isCausal: "upper-left", returnWeights: true });
      const w = (weights as Tensor).toFloat64();
      for (let row = 0; row < 2 * 4 * 37; row++) {
        const weights = w.subarray(row * 61, (row + 1) * 61);
        expect(weights.every((x, j) => x >= 0 && (j <= row % 37 || x === 0))).toBe(true);
        expect(Math.abs(weights.reduce((a, b) => a + b, 0) - 1)).toBeLessThan(2e-6);
        for (let e = 0; e < 12; e++) {
          const visible = Array.from(
            { length: (row % 37) + 1 },
            (_, j) => v.data[(Math.floor(row / 37) * 61 + j) * 12 + e] as number,
          );
          const x = output.data[row * 12 + e] as number;
          expect(x).toBeGreaterThanOrEqual(Math.min(...visible) - 1e-6);
          expect(x).toBeLessThanOrEqual(Math.max(...visible) + 1e-6);
        }
      }
    });

    it("permuting keys with their values and mask columns changes only roundings", () => {
      const order = shuffled(61, 5);
      const mask = bool([37, 61], (n) => n % 3 !== 0);
      const turned = bool([37, 61], (n) => (Math.floor(n / 61) * 61 + order[n % 61]) % 3 !== 0);
      const want = attend(q, k, v, { attnMask: mask });
      const got = attend(q, permuted(k, order), permuted(v, order), { attnMask: turned });
      expectNear(got.output, want.output, NEAR);
      expectNear(got.lse, want.lse, NEAR);
    });

    it("permuting queries permutes the rows", () => {
      const order = shuffled(37, 6);
      const want = permuted(attend(q, k, v).output, order);
      expectNear(attend(permuted(q, order), k, v).output, want, NEAR);
    });

    it("keys in two or three parts, merged in any order, with empty parts, give the whole", () => {
      const full = attend(q, k, v);
      for (const cuts of [
        [0, 30, 61],
        [0, 1, 61],
        [0, 0, 17, 60, 61],
      ]) {
        const parts = cuts.slice(1).map((end, n) => attend(q, rows(k, cuts[n], end), rows(v, cuts[n], end)));
        for (const list of [parts, [...parts].reverse()]) {
          const merged = mergeStates(list);
          expectNear(merged.output, full.output, NEAR);
          expectNear(merged.lse, full.lse, NEAR);
        }
      }
    });

    it("shifting all scores of a row by t shifts its lse by t and leaves its output", () => {
      const t = Float32Array.from({ length: 37 }, (_, i) => (i - 18) / 2);
      const full = attend(q, k, v);
      const shifted = attend(q, k, v, { attnMask: new Tensor(t, [37, 1], "float32") });
      expectNear(shifted.output, full.output, 1e-5);
      expectNear(
        shifted.lse,
        filledWith(full.lse.shape, (n) => (full.lse.data[n] as number) + t[n % 37]),
        NEAR,
      );
    });

    it("causal: keys after the query change no bit of its row, even when they turn to NaN", () => {
      const N = 70;
      const [a, b, c] = [normal(7, [1, 2, N, 32]), normal(8, [1, 2, N, 32]), normal(9, [1, 2, N, 32])];
      const want = attend(a, b, c, { isCausal: true });
      for (const cut of [1, 2, 31, 32, 33, 64, 69]) {
        const broken = [b, c].map((t) =>
          filledWith(t.shape, (n) => (Math.floor(n / 32) % N >= cut ? Number.NaN : (t.data[n] as number))),
        );
        const got = attend(a, broken[0], broken[1], { isCausal: true });
        expectBits(rows(got.output, 0, cut).contiguous(), rows(want.output, 0, cut).contiguous());
      }
    });

    it("decoding step by step with a growing cache gives the prefill's rows", () => {
      const N = 40;
      const [a, b, c] = [normal(10, [1, 4, N, 16]), normal(11, [1, 2, N, 16]), normal(12, [1, 2, N, 16])];
      const full = attend(a, b, c, { isCausal: true });
      for (let i = 0; i < N; i++) {
        const step = attend(rows(a, i, i + 1), rows(b, 0, i + 1), rows(c, 0, i + 1), {
          isCausal: true,
          queryOffset: i,
        });
        expectNear(step.output, rows(full.output, i, i + 1), NEAR, `row ${i}`);
      }
    });

    it("grouped heads give what repeated keys and values give, bit for bit", () => {
      const [kk, vv] = [normal(13, [2, 2, 61, 16]), normal(14, [2, 2, 61, 12])];
      const repeated = [kk, vv].map((t) => {
        const size = t.shape[2] * t.shape[3];
        return filledWith(
          [2, 4, 61, t.shape[3]],
          (n) => t.data[Math.floor(n / (2 * size)) * size + (n % size)] as number,
        );
      });
      expectSame(attend(q, kk, vv), attend(q, repeated[0], repeated[1]));
      const one = [kk, vv].map((t) => entries(t.transpose(0, 1), 0, 1).transpose(0, 1));
      const all = one.map((t) => {
        const [B, , N, d] = t.shape;
        return new Tensor(t.data, [B, 4, N, d], "float32", [t.strides[0], 0, t.strides[2], 1], t.offset);
      });
      expectSame(attend(q, one[0], one[1]), attend(q, all[0], all[1]), "multi-query");
    });

    it("window and causal, and documents, are the masks written out", () => {
      const N = 75;
      const [a, b, c] = [normal(15, [1, 2, N, 16]), normal(16, [1, 2, N, 16]), normal(17, [1, 2, N, 16])];
      const band = bool([N, N], (n) => n % N <= Math.floor(n / N) && Math.floor(n / N) - (n % N) <= 9);
      expectNear(
        attend(a, b, c, { attnMask: slidingWindow(9, 0), isCausal: true }).output,
        attend(a, b, c, { attnMask: band }).output,
        NEAR,
      );
      const ids = Array.from({ length: N }, (_, i) => (i < 20 ? 0 : i < 21 ? 1 : i < 64 ? 2 : 3));
      const blocks = bool([N, N], (n) => ids[Math.floor(n / N)] === ids[n % N]);
      const want = attend(a, b, c, { attnMask: blocks });
      const got = attend(a, b, c, { attnMask: documents(ids) });
      expectNear(got.output, want.output, NEAR);
      expectNear(got.lse, want.lse, NEAR);
    });

    it("scores of ±10,000 and identical huge keys are finite and the limit", () => {
      const one = filledWith([1, 1], () => 1);
      const keys = filledWith([5, 1], (n) => [-6e4, 1e4, 9900, 1e4, -1e4][n]);
      const values = filledWith([5, 1], (n) => [7, 2, 50, 4, 9][n]);
      expectNear(
        attend(one, keys, values).output,
        filledWith([1, 1], () => 3),
        1e-3,
      );
      const low = filledWith([2, 1], (n) => -6e4 - 1e4 * n);
      expect(attend(one, low, rows(values, 0, 2)).output.data[0]).toBe(7);
      const same = attend(
        one,
        filledWith([5, 1], () => 1e30),
        values,
      );
      expectNear(
        same.output,
        filledWith([1, 1], () => 72 / 5),
        NEAR,
      );
    });

    it("equal scores give the mean, exactly where its numbers are whole", () => {
      for (const Nk of [1, 2, 4, 64, 128, 1024, 4096]) {
        const values = filledWith([Nk, 8], (n) => (n % 2 ? 1 : -1) * (Math.floor(n / 8) % 16));
        const { output } = attend(
          filledWith([3, 16], () => 0),
          normal(1, [Nk, 16]),
          values,
        );
        for (let e = 0; e < 8; e++) {
          let mean = 0;
          for (let j = 0; j < Nk; j++) mean += (values.data[j * 8 + e] as number) / Nk;
          for (let i = 0; i < 3; i++) expect([Nk, output.data[i * 8 + e]]).toEqual([Nk, mean]);
        }
      }
    });

    it("a batch with other entries appended, or its heads alone, keeps its bits", () => {
      const aligned = attend(q, k, v, { isCausal: "lower-right" });
      const one = attend(entries(q, 0, 1), entries(k, 0, 1), entries(v, 0, 1), { isCausal: "lower-right" });
      expectBits(entries(aligned.output, 0, 1).contiguous(), one.output);
      expectBits(entries(aligned.lse, 0, 1).contiguous(), one.lse);
    });

    it("repeated calls and any number of threads give the same bits", () => {
      const options = {
        attnMask: and(causal(), keyLengths([50, 61])),
        scoreMod: alibi([0.5, 0.1, 1, 0]),
        queryOffset: 24,
      };
      const first = attend(q, k, v, options);
      for (const threads of [...THREADS, 5, 2]) {
        use(level, threads);
        for (let n = 0; n < 5; n++) expectSame(attend(q, k, v, options), first, `${threads} threads`);
      }
    });

    it("softcap: large caps approach no cap, scores stay below the cap, −∞ stays −∞", () => {
      expectNear(attend(q, k, v, { scoreMod: softcap(1e6) }).output, attend(q, k, v).output, 1e-5);
      const big = filledWith([1, 16], () => 100);
      const { lse } = attend(
        big,
        rows(entries(entries(k, 0, 1), 0, 1).reshape([4 * 61, 16]), 0, 61),
        rows(v.reshape([2 * 4 * 61, 12]), 0, 61),
        { scoreMod: softcap(2) },
      );
      expect(lse.data[0] as number).toBeLessThanOrEqual(2 + Math.log(61) + 1e-6);
      const mask = filledWith([61], (n) => (n === 3 ? 0 : -Infinity));
      const { output } = attend(q, k, v, { attnMask: mask, scoreMod: softcap(2) });
      for (let row = 0; row < 2 * 4 * 37; row++)
        for (let e = 0; e < 12; e++)
          expect(output.data[row * 12 + e]).toBe(v.data[(Math.floor(row / 37) * 61 + 3) * 12 + e]);
    });

    it("a sink of −∞ is no sink; a sink s is one more key of score s with value 0", () => {
      expectSame(attend(q, k, v, { sinks: new Array(4).fill(-Infinity) }), attend(q, k, v));
      const sinks = [0.5, -1, 3, 0];
      const more = (t: Tensor) => {
        const [B, H, N, d] = t.shape;
        return filledWith([B, H, N + 1, d], (n) => {
          const [row, head] = [Math.floor(n / d) % (N + 1), Math.floor(n / (d * (N + 1)))];
          return row === N ? 0 : (t.data[(head * N + row) * d + (n % d)] as number);
        });
      };
      // The extra key scores 0 by itself; its mask column makes that the sink.
      const column = filledWith([4, 1, 62], (n) => (n % 62 === 61 ? sinks[Math.floor(n / 62)] : 0));
      const want = attend(q, more(k), more(v), { attnMask: column, returnWeights: true });
      const got = attend(q, k, v, { sinks, returnWeights: true });
      expectNear(got.output, want.output, NEAR);
      expectNear(got.lse, want.lse, NEAR);
      const w = (got.weights as Tensor).toFloat64();
      const full = (want.weights as Tensor).toFloat64();
      for (let row = 0; row < 2 * 4 * 37; row++)
        for (let j = 0; j < 61; j++)
          expect(Math.abs(w[row * 61 + j] - full[row * 62 + j])).toBeLessThan(NEAR);
    });

    it("weights rebuilt from lse, of any rows and heads, are those returned, and exp(score − lse)", () => {
      const options = { attnMask: slidingWindow(20, 5), scoreMod: softcap(3), sinks: [0, 1, 2, -1] };
      const { lse, weights } = attend(q, k, v, { ...options, returnWeights: true });
      const all = weights as Tensor;
      expectBits(attentionWeights(q, k, lse, options), all, "all");
      const some = attentionWeights(q, k, lse, { ...options, rows: [36, 0, 5], heads: [3, 1] });
      const few = attend(q, k, v, { ...options, returnWeights: { rows: [36, 0, 5], heads: [-1, 1] } })
        .weights as Tensor;
      expectBits(some, few, "some");
      expect(some.shape).toEqual([2, 2, 3, 61]);
      for (let b = 0; b < 2; b++)
        [3, 1].forEach((h, x) => {
          [36, 0, 5].forEach((i, y) => {
            for (let j = 0; j < 61; j++) expect(some.at(b, x, y, j)).toBe(all.at(b, h, i, j));
          });
        });
      const [b, h, i, j] = [1, 2, 30, 12];
      let dot = 0;
      for (let d = 0; d < 16; d++) dot += q.at(b, h, i, d) * k.at(b, h, j, d);
      expect(all.at(b, h, i, j)).toBeCloseTo(Math.exp(3 * Math.tanh(dot / 4 / 3) - lse.at(b, h, i)), 6);
    });

    it("dropout: kept share 1 − p, kept weights scaled by 1/(1 − p), the same cells for any tiling", () => {
      const plain = attend(q, k, v, { returnWeights: true }).weights as Tensor;
      const options = { dropoutP: 0.3, seed: 42 };
      const { output, lse, weights } = attend(q, k, v, { ...options, returnWeights: true });
      const [w, p] = [(weights as Tensor).toFloat64(), plain.toFloat64()];
      let nonzero = 0;
      w.forEach((x, n) => {
        if (x !== 0) nonzero++;
        if (x !== 0) expect(Math.abs(x - p[n] / 0.7)).toBeLessThan(NEAR);
      });
      expect(Math.abs(nonzero / w.length - 0.7)).toBeLessThan(0.01);
      expectNear(lse, attend(q, k, v).lse, NEAR, "lse is of the undropped softmax");
      expectNear(output, weighted(weights as Tensor, v), NEAR);
      // A row alone, at its position, drops the same cells.
      const one = attend(rows(q, 20, 21), k, v, { ...options, queryOffset: 20 });
      expectNear(one.output, rows(output, 20, 21), NEAR);
      expectSame(attend(q, k, v, { ...options, dropoutP: 0 }), attend(q, k, v), "p = 0");
      const other = attend(q, k, v, { ...options, seed: 43 });
      expect(other.output.data).not.toEqual(output.data);
    });

    it("dropout drops the same cells on every level", () => {
      const options = { dropoutP: 0.5, seed: 2 ** 40 + 7, queryOffset: 3, returnWeights: true };
      const mine = attend(q, k, v, options).weights as Tensor;
      use("reference", 1);
      const plain = attend(q, k, v, options).weights as Tensor;
      use(level, 2);
      plain.data.forEach((x, n) => {
        if ((x === 0) !== (mine.data[n] === 0))
          expect.fail(`cell ${n}: ${mine.data[n]}, in the reference ${x}`);
      });
      expectNear(attend(q, k, v, options).output, weighted(mine, v), NEAR);
    });

    it("views that are transposed, sliced, offset or repeated equal their copies, bit for bit", () => {
      const wide = normal(20, [2, 61, 4, 20]);
      const view = new Tensor(wide.data, [2, 4, 61, 16], "float32", [61 * 80, 20, 80, 1], 3);
      expectSame(attend(q, view, v), attend(q, view.contiguous(), v), "sliced and transposed");
      const turned = normal(21, [2, 4, 16, 61]).transpose();
      expectSame(attend(q, turned, v), attend(q, turned.contiguous(), v), "columns apart");
      const repeated = new Tensor(v.data, [2, 4, 61, 12], "float32", [0, 0, 12, 1], 24);
      expectSame(attend(q, k, repeated), attend(q, k, repeated.contiguous()), "stride 0");
      const backwards = new Tensor(k.data, [2, 4, 61, 16], "float32", [4 * 976, 976, -16, 1], 960);
      expectSame(attend(q, backwards, v), attend(q, backwards.contiguous(), v), "reversed");
    });
  });
