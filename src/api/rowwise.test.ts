/** Row-wise operations of the engine against float64: functions and derivatives, norms, the loss, AdamW; the same bits for any number of threads. */
import { afterAll, describe, expect, it } from "vitest";
import { has, restore, THREADS, use } from "../../tests/support/backends/levels.ts";
import {
  adamwKernel,
  columnSumsKernel,
  crossEntropyKernel,
  type KernelMap,
  mapBackwardKernel,
  mapKernel,
  normBackwardKernel,
  normKernel,
  rowwise,
} from "../../tests/support/backends/rowwise.ts";
import { random } from "../../tests/support/cases/random.ts";
import { configure } from "../backend/settings.ts";
import { normalCdf, normalDensity } from "../reference/erf.ts";
import { empty, prepare } from "./dispatch/engine.ts";

afterAll(restore);

const LEVELS = (["wide", "relaxed", "strict"] as const).filter(has);
const U = 2 ** -24;

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const SLOPE = Math.sqrt(2 / Math.PI);
const twiceU = (x: number): number => 2 * SLOPE * (x + 0.044715 * x ** 3);

/** f; the terms of f′, whose magnitudes bound its error; the exponent in it, whose magnitude bounds the effect of an ulp of x. */
interface Known {
  readonly f: (x: number) => number;
  readonly terms: (x: number) => number[];
  readonly exponent: (x: number) => number;
}

const FUNCTIONS: Readonly<Record<KernelMap, Known>> = {
  gelu: {
    exponent: (x) => x * x,
    f: (x) => x * normalCdf(x),
    terms: (x) => [normalCdf(x), x * normalDensity(x)],
  },
  "gelu-tanh": {
    exponent: (x) => 3 * twiceU(x),
    f: (x) => x * sigmoid(twiceU(x)),
    terms: (x) => {
      const [s, r] = [sigmoid(twiceU(x)), sigmoid(-twiceU(x))];
      return [s, x * s * r * 2 * SLOPE * (1 + 3 * 0.044715 * x * x)];
    },
  },
  silu: {
    exponent: (x) => x,
    f: (x) => x * sigmoid(x),
    terms: (x) => [sigmoid(x), x * sigmoid(x) * sigmoid(-x)],
  },
  sigmoid: { exponent: (x) => x, f: sigmoid, terms: (x) => [sigmoid(x) * sigmoid(-x)] },
  tanh: { exponent: (x) => 2 * x, f: Math.tanh, terms: (x) => [4 * sigmoid(2 * x) * sigmoid(-2 * x)] },
};

/** Numbers where the functions are curved, and large ones. */
const numbers = (): Float32Array => {
  const near = Array.from({ length: 40_000 }, (_, n) => (n - 20_000) / 1000);
  const small = Array.from({ length: 2000 }, (_, n) => (n - 1000) * 1e-7);
  const far = [30, 87, 88.8, 100, 1e4, 1e20, 3e38, Infinity].flatMap((x) => [x, x === Infinity ? -1e30 : -x]);
  return Float32Array.from([...near, ...small, 1e-30, -1e-40, ...far]);
};

for (const level of LEVELS)
  describe(`${level}:`, () => {
    for (const name of Object.keys(FUNCTIONS) as KernelMap[]) {
      const { f, terms, exponent } = FUNCTIONS[name];
      const places = name === "tanh" ? 6.5 : 3;
      it(`${name} is within ${places} ulp of its value one ulp away`, () => {
        use(level, 1);
        const x = numbers();
        const y = new Float32Array(x.length);
        mapKernel(name, x, y);
        let maximum = 0;
        for (let n = 0; n < x.length; n++) {
          const want = f(x[n]);
          if (Object.is(want, y[n]) || want === y[n]) continue;
          const slope = Math.abs(terms(x[n]).reduce((a, b) => a + b, 0) * x[n]);
          const tolerance = 2 * U * (places * Math.abs(want) + (Number.isFinite(slope) ? slope : 0)) + Math.max(1, Math.abs(x[n])) * 2 ** -126;
          const ratio = Math.abs(y[n] - want) / tolerance;
          if (!(ratio <= maximum)) maximum = ratio;
        }
        expect(maximum).toBeLessThanOrEqual(1);
      }); // biome-ignore format: one bound a line

      it(`the slope of ${name} is within 8 units of its terms, one ulp away`, () => {
        use(level, 1);
        const x = numbers().filter((v) => Number.isFinite(v));
        const dy = Float32Array.from(x, (_, n) => 1 + (n % 7) / 8);
        const dx = new Float32Array(x.length);
        mapBackwardKernel(name, x, dy, dx);
        let maximum = 0;
        let at = 0;
        for (let n = 0; n < x.length; n++) {
          const parts = terms(x[n]).map((t) => (Number.isFinite(t) ? t : 0) * dy[n]);
          const want = parts.reduce((a, b) => a + b, 0);
          const tolerance =
            U * (8 + 2 * Math.abs(exponent(x[n]))) * parts.reduce((a, b) => a + Math.abs(b), 0) + 2 ** -117;
          const ratio = Math.abs(dx[n] - want) / tolerance;
          if (!(ratio <= maximum)) [maximum, at] = [ratio, n];
        }
        expect(maximum, `at ${x[at]}`).toBeLessThanOrEqual(1);
      });
    }

    it("NaN stays NaN", () => {
      use(level, 1);
      for (const name of Object.keys(FUNCTIONS) as KernelMap[]) {
        const y = new Float32Array(5);
        mapKernel(name, new Float32Array(5).fill(NaN), y);
        expect([...y]).toEqual([NaN, NaN, NaN, NaN, NaN]);
        mapBackwardKernel(name, Float32Array.of(NaN, 0, 1, 2, 3), Float32Array.of(1, NaN, 1, 1, 1), y);
        expect([...y].map(Number.isNaN)).toEqual([true, true, false, false, false]);
      }
    });

    for (const centered of [true, false])
      it(`${centered ? "layer" : "RMS"} norm and its gradients`, () => {
        const r = random(5);
        for (const [rows, C] of [[1, 1], [3, 2], [5, 4], [7, 17], [33, 64], [9, 130], [2, 9000], [100, 96]]) {
          use(level, r.pick([1, 2, 3]));
          const offset = r.pick([0, 0, 100]);
          const numbers = (n: number, by = 0) => Float32Array.from({ length: n }, () => r.normal() + by);
          const [x, dy] = [numbers(rows * C, offset), numbers(rows * C)];
          const [weight, bias] = r.chance(0.8) ? [numbers(C, 1), numbers(C)] : [undefined, undefined];
          const [y, dx, stats] = [new Float32Array(rows * C), new Float32Array(rows * C), new Float32Array(4 * rows)];
          const [dWeight, dBias] = [new Float64Array(C), new Float64Array(C)];
          const eps = 1e-5;
          normKernel(x, y, stats, { C, centered, weight, bias, eps });
          normBackwardKernel(x, dy, stats, dx, dWeight, dBias, { C, centered, weight });
          const want = normed(x, dy, C, centered, weight, bias, eps);
          // In rows far from 0, x̂ has an error of u·|x|·r.
          const rough = 1 + offset;
          close(y, want.y, 12 * U * rough, 12 * U * rough);
          close(dx, want.dx, 40 * U * rough, 40 * U * rough * want.r);
          close(dWeight, want.dw, 40 * U * rough, 20 * U * rough * Math.sqrt(rows));
          close(dBias, want.db, 40 * U, 20 * U * Math.sqrt(rows));
        }
      }); // biome-ignore format: rows of sizes

    it("column sums", () => {
      const r = random(6);
      for (const [rows, C] of [[1, 1], [5, 3], [300, 64], [77, 131], [9, 9000], [4000, 20]]) {
        use(level, r.pick([1, 2, 3]));
        const x = Float32Array.from({ length: rows * C }, () => r.normal());
        const [want, sizes] = [new Float64Array(C), new Float64Array(C)];
        x.forEach((v, n) => {
          want[n % C] += v;
          sizes[n % C] += Math.abs(v);
        });
        const sums = new Float64Array(C).fill(1); // overwritten
        columnSumsKernel(x, sums);
        // Worst case of a float32 sum over the rows of a task.
        const tolerance = U * Math.min(rows, Math.max(4, 32768 / C));
        sums.forEach((sum, n) => expect(Math.abs(sum - want[n])).toBeLessThanOrEqual(tolerance * sizes[n]));
      }
    }); // biome-ignore format: rows of sizes

    it("cross-entropy and its slopes", () => {
      const r = random(9);
      for (const [rows, V] of [[1, 1], [3, 2], [5, 4], [9, 33], [40, 257], [3, 4096], [70, 1000]]) {
        use(level, r.pick([1, 2, 3]));
        const spread = r.pick([1, 1, 20]);
        const logits = Float32Array.from({ length: rows * V }, () => spread * r.normal() - 3);
        const targets = Int32Array.from({ length: rows }, () => (r.chance(0.2) ? -100 : r.int(0, V - 1)));
        const weight = 1 / rows;
        const slopes = new Float32Array(rows * V).fill(9);
        const got = crossEntropyKernel(logits, targets, V, weight, slopes);
        let loss = 0;
        const want = new Float64Array(rows * V);
        targets.forEach((target, row) => {
          if (target < 0) return;
          const x = Float64Array.from(logits.subarray(row * V, (row + 1) * V));
          const max = Math.max(...x);
          const sum = x.reduce((a, b) => a + Math.exp(b - max), 0);
          loss += Math.log(sum) + max - x[target];
          for (let v = 0; v < V; v++)
            want[row * V + v] = (Math.exp(x[v] - max) / sum - (v === target ? 1 : 0)) * weight;
        });
        expect(Math.abs((got as number) - loss)).toBeLessThanOrEqual(rows * 4e-6 * (1 + spread / 20));
        close(slopes, want, 1e-5, 4e-7 * weight);
        // In place.
        crossEntropyKernel(logits, targets, V, weight, logits);
        expect([...logits]).toEqual([...slopes]);
      }
    }); // biome-ignore format: rows of sizes

    it("several steps of AdamW agree with its formula", () => {
      use(level, 2);
      const r = random(4);
      const n = 20_003;
      const w = Float32Array.from({ length: n }, () => r.normal());
      const exact = { w: Float64Array.from(w), m: new Float64Array(n), v: new Float64Array(n) };
      const [m, v] = [new Float32Array(n), new Float32Array(n)];
      const [lr, beta1, beta2, eps, decay, scale] = [1e-2, 0.9, 0.999, 1e-8, 0.1, 0.5];
      for (let t = 1; t <= 4; t++) {
        const g = Float32Array.from({ length: n }, () => r.normal() * 10 ** r.int(-6, 2));
        const [c1, c2] = [1 - beta1 ** t, 1 - beta2 ** t];
        const scalars = {
          scale, beta1, oneMinusBeta1: 1 - beta1, beta2, oneMinusBeta2: 1 - beta2, weightDecayFactor: 1 - lr * decay, rate: lr / c1, biasCorrection2: 1 / Math.sqrt(c2), eps,
        };
        adamwKernel(w, g, m, v, scalars);
        for (let i = 0; i < n; i++) {
          const gi = scale * g[i];
          exact.m[i] = beta1 * exact.m[i] + (1 - beta1) * gi;
          exact.v[i] = beta2 * exact.v[i] + (1 - beta2) * gi * gi;
          exact.w[i] = exact.w[i] * (1 - lr * decay) - (lr * exact.m[i]) / c1 / (Math.sqrt(exact.v[i] / c2) + eps);
        }
      }
      close(m, exact.m, 8 * U, 8 * U * 50);
      close(v, exact.v, 20 * U, 2 ** -140);
      close(w, exact.w, 8 * U, 2e-7);
    }); // biome-ignore format: the scalars in a row

    it("the same bits for any number of threads, and in the engine's memory", async () => {
      const r = random(21);
      const [rows, C] = [1500, 96];
      const x = Float32Array.from({ length: rows * C }, () => r.normal());
      const dy = Float32Array.from(x, () => r.normal());
      const resident = empty([rows * C]).data;
      resident.set(x);
      const results: Record<string, Float32Array | Float64Array>[] = [];
      for (const threads of THREADS)
        for (const input of [x, resident]) {
          use(level, threads);
          await prepare();
          const out: Record<string, Float32Array | Float64Array> = {};
          for (const name of Object.keys(FUNCTIONS) as KernelMap[]) {
            mapKernel(name, input, (out[name] = new Float32Array(x.length)));
            mapBackwardKernel(name, input, dy, (out[`d${name}`] = new Float32Array(x.length)));
          }
          const stats = (out.stats = new Float32Array(4 * rows));
          normKernel(input, (out.y = new Float32Array(x.length)), stats, { C, centered: true, eps: 1e-5 });
          const [dx, dw, db] = [new Float32Array(x.length), new Float64Array(C), new Float64Array(C)];
          normBackwardKernel(input, dy, stats, dx, dw, db, { C, centered: true });
          Object.assign(out, { dx, dw, db });
          results.push(out);
        }
      for (const other of results)
        for (const [name, want] of Object.entries(results[0]))
          expect(
            (other[name] as Float32Array).findIndex((x, n) => !Object.is(x, want[n])),
            name,
          ).toBe(-1);
    });
  });

it("the reference backend computes operations without a kernel: small arrays, float64, relu", () => {
  for (const backend of ["auto", "reference"] as const) {
    configure({ backend });
    for (const Numbers of [Float32Array, Float64Array]) {
      const [x, y] = [Numbers.of(-1, 2, 3), new Numbers(3)];
      rowwise({ name: "map", map: "relu", x, y });
      expect([...y]).toEqual([0, 2, 3]);
      const [dLogits, loss] = [new Numbers(3), new Numbers(1)];
      const logits = Numbers.of(0, 0, 0);
      rowwise({ name: "cross-entropy", logits, targets: Int32Array.of(1), V: 3, count: 1, dLogits, loss });
      expect(loss[0]).toBeCloseTo(Math.log(3), 6);
      expect([...dLogits].map((v) => v.toFixed(4))).toEqual(["0.3333", "-0.6667", "0.3333"]);
    }
  }
  restore();
});

/** Every number within `relative` of its size, and `absolute`. */
describe.each(LEVELS)("a sum at %s", (level) => {
  it.each([0, 1, 4095, 4096, 4097, 65_539])(
    "of %i numbers has the bits of a loop, with any number of threads",
    (length) => {
      const special = [Infinity, -0, 3e38, 1e-45, Number.NaN];
      const draw = (seed: number) => {
        const generator = random(seed);
        return Float32Array.from({ length }, (_, n) =>
          n % 97 < 5 ? special[(n + seed) % 5] : generator.normal(),
        );
      };
      const [a, b] = [draw(1), draw(2)];
      const want = a.map((x, n) => x + b[n]);
      for (const threads of THREADS) {
        use(level, threads);
        const y = new Float32Array(length);
        rowwise({ name: "add", a, b, scale: 1, y });
        expect(y).toEqual(want);
        // In place, in arrays of the engine too.
        const [c, d] = [a, b].map((numbers) => {
          const t = empty([length]);
          t.data.set(numbers);
          return t.data as Float32Array;
        });
        rowwise({ name: "add", a: c, b: d, scale: 1, y: c });
        expect(Float32Array.from(c)).toEqual(want);
      }
    },
  );
});

function close(got: ArrayLike<number>, want: ArrayLike<number>, relative: number, absolute: number): void {
  let [maximum, at] = [0, -1];
  for (let n = 0; n < want.length; n++) {
    const ratio = Math.abs(got[n] - want[n]) / (relative * Math.abs(want[n]) + absolute);
    if (!(ratio <= maximum)) [maximum, at] = [ratio, n];
  }
  expect(maximum, at < 0 ? "" : `number ${at}: got ${got[at]}, expected ${want[at]}`).toBeLessThanOrEqual(1);
}

/** A norm and its gradients in float64; r is the largest 1/√(…). */
function normed(
  x: Float32Array,
  dy: Float32Array,
  C: number,
  centered: boolean,
  weight: Float32Array | undefined,
  bias: Float32Array | undefined,
  eps: number,
) {
  const [y, dx] = [new Float64Array(x.length), new Float64Array(x.length)];
  const [dw, db] = [new Float64Array(C), new Float64Array(C)];
  let largest = 0;
  for (let at = 0; at < x.length; at += C) {
    const row = Float64Array.from(x.subarray(at, at + C));
    const mean = centered ? row.reduce((a, b) => a + b, 0) / C : 0;
    const r = 1 / Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / C + eps);
    largest = Math.max(largest, r);
    const hat = row.map((v) => (v - mean) * r);
    const g = hat.map((_, n) => dy[at + n] * (weight ? weight[n] : 1));
    const meanG = centered ? g.reduce((a, b) => a + b, 0) / C : 0;
    const meanGx = g.reduce((a, b, n) => a + b * hat[n], 0) / C;
    for (let n = 0; n < C; n++) {
      y[at + n] = hat[n] * (weight ? weight[n] : 1) + (bias ? bias[n] : 0);
      dx[at + n] = r * (g[n] - meanG - hat[n] * meanGx);
      dw[n] += dy[at + n] * hat[n];
      db[n] += dy[at + n];
    }
  }
  return { y, dx, dw, db, r: largest };
}
