/** The product against Σ a·b in float64, over shapes, views, dtypes and options, at every level and number of threads; rejected input. */
import { afterAll, describe, expect, it } from "vitest";
import { has, LEVELS, restore, THREADS, use } from "../../tests/support/backends/levels.ts";
import { type Random, random } from "../../tests/support/cases/random.ts";
import { tensor, zeros } from "../core/create/construct.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../core/dtype.ts";
import { DTypeError, OptionError, ShapeError } from "../core/errors.ts";
import { sizeOf, Tensor } from "../core/tensor.ts";
import { empty, prepare } from "./dispatch/engine.ts";
import { type MatmulOptions, matmul } from "./matmul.ts";

afterAll(restore);

/** A tensor of normal numbers. */
function normal(r: Random, shape: number[], dtype: "float32" | "float64" = "float32"): Tensor {
  const numbers = Float64Array.from({ length: sizeOf(shape) }, () => r.normal());
  return new Tensor(dtype === "float32" ? Float32Array.from(numbers) : numbers, shape, dtype);
}

/** The definition of matmul, entry by entry, and the sum of the absolute products of each entry. */
function truth(a: Tensor, b: Tensor, options: MatmulOptions = {}) {
  const x = options.transposeA ? a.transpose() : a;
  const y = options.transposeB ? b.transpose() : b;
  const [M, K] = x.shape.slice(-2);
  const N = y.shape.at(-1) as number;
  const lead = x.shape.length > 2 ? x.shape.slice(0, -2) : y.shape.slice(0, -2);
  const batch = sizeOf(lead);
  const [p, q] = [x.toFloat64(), y.toFloat64()];
  const [pStep, qStep] = [x.shape.length > 2 ? M * K : 0, y.shape.length > 2 ? K * N : 0];
  const bias = options.bias && (options.bias as Tensor).toFloat64();
  const start = options.accumulate?.toFloat64();
  const want = new Float64Array(batch * M * N);
  const size = new Float64Array(batch * M * N);
  for (let t = 0, at = 0; t < batch; t++)
    for (let i = 0; i < M; i++)
      for (let j = 0; j < N; j++, at++) {
        for (let k = 0; k < K; k++) {
          const x = p[t * pStep + i * K + k] * q[t * qStep + k * N + j];
          want[at] += x;
          size[at] += Math.abs(x);
        }
        for (const x of [bias?.[j], start?.[at]])
          if (x !== undefined) {
            want[at] += x;
            size[at] += Math.abs(x);
          }
      }
  return { want, size, K, shape: [...lead, M, N] };
}

/** Largest error over its bound: (K + 4)·u·Σ|a·b|, the worst case of sums in order of k. */
function worst(a: Tensor, b: Tensor, options: MatmulOptions = {}): number {
  const { want, size, K, shape } = truth(a, b, options);
  const got = matmul(a, b, options);
  expect(got.shape).toEqual(shape);
  expect(got.data.length).toBe(want.length);
  const u = got.dtype === "float64" ? 2 ** -53 : 2 ** -24;
  let maximum = 0;
  for (let n = 0; n < want.length; n++) {
    const error = Math.abs(got.data[n] - want[n]) / ((K + 4) * u * size[n] + 1e-300);
    if (!(error <= maximum)) maximum = error;
  }
  return maximum;
}

it.runIf(has("wide"))("relaxed and wide have the same bits", () => {
  const r = random(19);
  for (const [M, K, N] of [[100, 520, 77], [5, 64, 300]]) {
    const [a, b] = [normal(r, [M, K]), normal(r, [K, N])];
    const [wide, relaxed] = (["wide", "relaxed"] as const).map((level) => {
      use(level, 1);
      return [...matmul(a, b).data];
    });
    expect(wide).toEqual(relaxed);
  }
}); // biome-ignore format: rows of sizes

describe("rejected before any work:", () => {
  const a = zeros([2, 3]);
  const cases: [string, string, () => unknown, abstract new (...x: never[]) => Error][] = [
    ["a vector", "rank", () => matmul(zeros([3]), a), ShapeError],
    ["an inner axis that differs", "inner", () => matmul(a, zeros([2, 3])), ShapeError],
    ["leading axes that differ", "batch", () => matmul(zeros([2, 2, 3]), zeros([3, 3, 2])), ShapeError],
    ["a bias of another length", "bias", () => matmul(a, zeros([3, 4]), { bias: zeros([3]) }), ShapeError],
    ["a mask", "dtype", () => matmul(a, zeros([3, 4], "bool")), DTypeError],
    ["float64 with float32", "dtype", () => matmul(a, zeros([3, 4], "float64")), DTypeError],
    ["a float64 bias", "dtype", () => matmul(a, zeros([3, 4]), { bias: zeros([4], "float64") }), DTypeError],
    [
      "accumulate of another shape",
      "accumulate",
      () => matmul(a, zeros([3, 4]), { accumulate: zeros([4, 2]) }),
      ShapeError,
    ],
    [
      "accumulate with strides",
      "accumulate",
      () => matmul(a, zeros([3, 4]), { accumulate: zeros([4, 2]).transpose() }),
      ShapeError,
    ],
    [
      "accumulate of another dtype",
      "dtype",
      () => matmul(a, zeros([3, 4]), { accumulate: zeros([2, 4], "float64") }),
      DTypeError,
    ],
    [
      "accumulate in an operand's memory",
      "overlap",
      () => matmul(a, zeros([3, 3]), { accumulate: a }),
      OptionError,
    ],
    [
      "an unknown option",
      "option-name",
      () => matmul(a, zeros([3, 3]), { transpose: true } as never),
      OptionError,
    ],
  ];
  for (const [name, code, call, kind] of cases)
    it(name, () => {
      expect(call).toThrow(kind);
      expect(call).toThrow(expect.objectContaining({ code }));
    });
});

it("float64 is accurate to its last digits, in every layout", () => {
  const r = random(3);
  for (const [M, K, N] of [[1, 1, 1], [3, 5, 7], [17, 64, 33], [5, 131, 600]])
    for (const transposeA of [false, true])
      for (const transposeB of [false, true]) {
        const a = normal(r, transposeA ? [K, M] : [M, K], "float64");
        const b = normal(r, transposeB ? [N, K] : [K, N], "float64");
        const bias = normal(r, [N], "float64");
        expect(worst(a, b, { transposeA, transposeB, bias })).toBeLessThanOrEqual(1);
      }
}); // biome-ignore format: rows of sizes

for (const level of LEVELS.filter(has))
  describe(`${level}:`, () => {
    it("one product by hand", () => {
      use(level, 1);
      const a = tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);
      const b = tensor(Float32Array.of(1, 0, 0, 1, 1, 1), [3, 2]);
      expect([...matmul(a, b).data]).toEqual([4, 5, 10, 11]);
      expect([...matmul(a, b, { bias: tensor(Float32Array.of(10, 20), [2]) }).data]).toEqual([14, 25, 20, 31]);
      const sum = tensor(Float32Array.of(1, 1, 1, 1), [2, 2]);
      expect(matmul(a, b, { accumulate: sum })).toBe(sum);
      expect([...sum.data]).toEqual([5, 6, 11, 12]);
    });

    it("edges of tiles and blocks, in every layout", () => {
      use(level, 1);
      const r = random(5);
      for (const M of [1, 5, 6, 7, 24, 49])
        for (const N of [1, 7, 8, 16, 17, 48])
          for (const K of [1, 3, 8, 37, 257]) {
            const [transposeA, transposeB] = [r.chance(0.5), r.chance(0.5)];
            const a = normal(r, transposeA ? [K, M] : [M, K]);
            const b = normal(r, transposeB ? [N, K] : [K, N]);
            expect(worst(a, b, { transposeA, transposeB }), `${M} ${N} ${K}`).toBeLessThanOrEqual(1);
          }
    });

    it("empty sums are 0 and empty results empty", () => {
      use(level, 1);
      for (const [M, K, N] of [[0, 3, 4], [3, 0, 4], [3, 4, 0], [0, 0, 0]]) {
        const { data, shape } = matmul(zeros([M, K]), zeros([K, N]));
        expect(shape).toEqual([M, N]);
        expect([...data]).toEqual(new Array(M * N).fill(0));
      }
      const bias = tensor(Float32Array.of(1, 2), [2]);
      expect([...matmul(zeros([2, 0]), zeros([0, 2]), { bias }).data]).toEqual([1, 2, 1, 2]);
      expect(matmul(zeros([0, 2, 3]), zeros([3, 4])).shape).toEqual([0, 2, 4]);
      expect(matmul(zeros([0, 2, 3]), zeros([0, 3, 4])).shape).toEqual([0, 2, 4]);
    });

    it("NaN and infinities propagate as in the formula", () => {
      use(level, 1);
      const r = random(7);
      for (const [M, K, N] of [[7, 9, 11], [30, 40, 50]]) {
        const [a, b] = [normal(r, [M, K]), normal(r, [K, N])];
        (a.data as Float32Array)[2 * K + 3] = NaN;
        (a.data as Float32Array)[4 * K + 3] = Infinity;
        (b.data as Float32Array)[5 * N + 6] = NaN;
        const { data } = matmul(a, b);
        for (let i = 0; i < M; i++)
          for (let j = 0; j < N; j++) {
            const x = data[i * N + j];
            if (i === 2 || j === 6) expect(x).toBeNaN();
            else if (i === 4) expect(Math.abs(x)).toBe(Infinity);
            else expect(Number.isFinite(x)).toBe(true);
          }
      }
    }); // biome-ignore format: rows of sizes

    it("random shapes, views, batches, dtypes and options", () => {
      const r = random(11);
      for (let n = 0; n < 90; n++) {
        use(level, r.pick([1, 2, 3]));
        const [M, N, K] = [r.size(120), r.size(120), r.size(700)];
        const [transposeA, transposeB] = [r.chance(0.4), r.chance(0.4)];
        const lead = r.pick([[], [], [3], [2, 2]]);
        const operand = (rows: number, columns: number, lengths: number[]) => {
          // A view into a larger tensor: rows with gaps, columns with gaps or reversed.
          const [padding, step] = [r.pick([0, 0, 3]), r.pick([1, 1, 1, 2])];
          const strides = [(columns * step + padding) * rows, columns * step + padding, step];
          const all = lengths.length > 1 ? [strides[0] * lengths[1], ...strides] : lengths.length ? strides : strides.slice(1);
          const size = sizeOf(lengths) * strides[0] + 5;
          const dtype = r.pick(["float32", "float32", "float32", "float16", "bfloat16"] as const);
          const numbers = Array.from({ length: size }, () => r.normal());
          const data =
            dtype === "float32"
              ? Float32Array.from(numbers)
              : Uint16Array.from(numbers, dtype === "float16" ? toFloat16 : toBfloat16);
          return tensor(data, [...lengths, rows, columns], dtype, { strides: all, offset: r.int(0, 5) });
        };
        const shared = r.chance(0.4);
        const a = operand(transposeA ? K : M, transposeA ? M : K, lead);
        const b = operand(transposeB ? N : K, transposeB ? K : N, shared ? [] : lead);
        const bias = r.chance(0.3) ? normal(r, [N]) : undefined;
        const accumulate = r.chance(0.3) ? normal(r, [...lead, M, N]) : undefined;
        const what = JSON.stringify({ n, M, N, K, transposeA, transposeB, lead, shared });
        expect(worst(a, b, { transposeA, transposeB, bias, accumulate }), what).toBeLessThanOrEqual(1);
      }
    }, 60_000);

    it("the same bits on one, two, three and seven threads, and for a row alone", async () => {
      const r = random(13);
      const sizes = [
        // Several steps along M; several along N; B packed by each task; several along K; three entries at a time.
        { M: 500, K: 270, N: 100 },
        { M: 30, K: 5, N: 2100 },
        { M: 12, K: 700, N: 1000 },
        { M: 130, K: 2500, N: 70, transposeA: true },
        { M: 200, K: 100, N: 200, lead: [7] },
      ];
      for (const { M, K, N, lead = [], transposeA = false } of sizes) {
        const a = normal(r, [...lead, ...(transposeA ? [K, M] : [M, K])]);
        const b = normal(r, [...lead, N, K]);
        const bias = normal(r, [N]);
        const results: Int32Array[] = [];
        for (const threads of THREADS) {
          use(level, threads);
          expect(await prepare()).toBeGreaterThanOrEqual(level === "reference" ? 1 : threads);
          const { data } = matmul(a, b, { transposeA, transposeB: true, bias });
          results.push(new Int32Array(data.buffer));
        }
        for (const bits of results) expect(bits.findIndex((x, i) => x !== results[0][i])).toBe(-1);
        const accumulate = normal(r, [...lead, M, N]);
        expect(worst(a, b, { transposeA, transposeB: true, accumulate })).toBeLessThanOrEqual(1);
        if (lead.length > 0) continue;
        const operandA = transposeA ? a.transpose() : a;
        const row = new Tensor(operandA.data, [1, K], "float32", operandA.strides, operandA.strides[0] * 7);
        const { data } = matmul(row, b, { transposeB: true, bias });
        expect(new Int32Array(data.buffer)).toEqual(results[0].slice(7 * N, 8 * N));
      }
    });

    it("operands and sums in the engine's memory give the same bits", () => {
      use(level, 2);
      const r = random(17);
      const [M, K, N] = [70, 300, 90];
      for (const [transposeA, transposeB] of [[false, true], [true, false]]) {
        const a = normal(r, transposeA ? [K, M] : [M, K]);
        const b = normal(r, transposeB ? [N, K] : [K, N]);
        const c = normal(r, [M, N]);
        const resident = [a, b, c].map((x) => {
          const y = empty(x.shape);
          y.data.set(x.data as Float32Array);
          return y;
        });
        const want = matmul(a, b, { transposeA, transposeB, accumulate: c });
        const got = matmul(resident[0], resident[1], { transposeA, transposeB, accumulate: resident[2] });
        expect(got).toBe(resident[2]);
        expect([...got.data]).toEqual([...want.data]);
      }
    });

    it("16-bit operands are widened exactly", () => {
      use(level, 1);
      const bits = Uint16Array.from({ length: 4096 }, (_, i) => (i * 31) % 65536);
      const one = tensor(Float32Array.of(1), [1, 1]);
      for (const dtype of ["float16", "bfloat16"] as const) {
        const { data } = matmul(tensor(bits, [4096, 1], dtype), one);
        const widen = dtype === "float16" ? fromFloat16 : fromBfloat16;
        data.forEach((x, i) => {
          const want = widen(bits[i]);
          if (!(Number.isNaN(want) ? Number.isNaN(x) : x === want))
            throw new Error(`${dtype} ${bits[i]}: ${x}, expected ${want}`);
        });
      }
    });
  }); // biome-ignore format: rows of sizes
