/** The kernels' arithmetic against float64: the error bounds in math.ts, special values, all values of 16-bit formats. */
import { describe, expect, it } from "vitest";
import { hasRelaxed } from "../../backend/levels.ts";
import { fromBfloat16, fromFloat16, narrow, toBfloat16, toFloat16 } from "../../core/dtype.ts";
import { type FunctionBuilder, f32x4, i32, ModuleBuilder, type V128Value, v128 } from "../assembler/index.ts";
import type { Arithmetic } from "./math.ts";
import { exp, exp2, loadFloats, loadOne, log, tanh, withConstants, writeConstants } from "./math.ts";

const AT = 65536;
const COUNT = 1 << 18;

type Map = (f: FunctionBuilder, m: Arithmetic, x: V128Value) => V128Value;

/** Applies a kernel's function to many numbers. */
function mapped(spec: { fused: boolean; wide: boolean }, map: Map) {
  const module = new ModuleBuilder({ initial: 1, maximum: 256, shared: false });
  module.func(
    "run",
    { at: "i32", end: "i32" },
    (f, { at, end }) => {
      withConstants(f, spec, (m) => {
        f.repeat(() => {
          f.storeVector(at, map(f, m, v128.load(at)));
          f.step(at, 16);
          return i32.ne(at, end);
        });
      });
    },
    { exported: true },
  );
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 256 });
  writeConstants(memory.buffer);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.encode()), { env: { memory } });
  const data = new Float32Array(memory.buffer, AT, COUNT);
  return (x: Float32Array): Float32Array => {
    data.fill(0);
    data.set(x);
    (exports.run as (at: number, end: number) => void)(AT, AT + 16 * Math.ceil(x.length / 4));
    return data.slice(0, x.length);
  };
}

const F64 = new Float64Array(1);
const WORDS = new Int32Array(F64.buffer);

/** The spacing of float32 at x. */
function ulp(x: number): number {
  F64[0] = x;
  return 2 ** (Math.max(-126, ((WORDS[1] >>> 20) & 0x7ff) - 1023) - 23);
}

/** Largest error, in ulps, over COUNT numbers spread evenly from `low` to `high`. */
function worst(
  fn: (x: Float32Array) => Float32Array,
  truth: (x: number) => number,
  low: number,
  high: number,
): number {
  let worst = 0;
  const x = Float32Array.from({ length: COUNT }, (_, i) => low + ((high - low) * i) / COUNT);
  const y = fn(x);
  for (let i = 0; i < COUNT; i++) {
    const want = truth(x[i]);
    const off = want === y[i] ? 0 : Math.abs(y[i] - want) / ulp(want);
    if (!(off <= worst)) worst = off;
  }
  return worst;
}

const KINDS = [
  { fused: true, wide: false },
  { fused: true, wide: true },
  { fused: false, wide: false },
].filter(({ fused }) => !fused || hasRelaxed());

/** The bounds of the doc comments, with and without fused operations, over the ranges with the largest errors. */
const BOUNDS = {
  exp2: { fn: exp2, truth: (x: number) => 2 ** x, fused: 1.01, plain: 1.3, ranges: [[-126, -1], [-1, 1], [1, 127.9999]] },
  exp: { fn: exp, truth: Math.exp, fused: 1.3, plain: 1.5, ranges: [[-87.3, -1], [-1, 1], [1, 88.72]] },
  log: { fn: log, truth: Math.log, fused: 1, plain: 1, ranges: [[0.1, 0.99999], [0.999, 1.001], [1, 4], [4, 1e6], [1e-45, 1e-37], [1e30, 3.4e38]] },
  tanh: { fn: tanh, truth: Math.tanh, fused: 5, plain: 6.5, ranges: [[-9, -1], [-1, 1], [-0.001, 0.001], [1, 20], [-1e-38, 1e-38]] },
} as const; // biome-ignore format: one row a function

for (const kind of KINDS)
  describe(`${kind.wide ? "wide, " : ""}${kind.fused ? "fused" : "multiply and add"}:`, () => {
    for (const [name, { fn, truth, ranges, ...bounds }] of Object.entries(BOUNDS)) {
      const bound = kind.fused ? bounds.fused : bounds.plain;
      it(`${name} is within ${bound} ulp`, () => {
        const run = mapped(kind, fn);
        for (const [low, high] of ranges)
          expect(worst(run, truth, low, high), `from ${low} to ${high}`).toBeLessThanOrEqual(bound);
      });
    }

    const at = (fn: Map, ...x: number[]) => [...mapped(kind, fn)(Float32Array.from(x))];

    it("exp2: integers exactly, 0 for x ≤ −127, NaN for NaN", () => {
      const exponents = Array.from({ length: 254 }, (_, n) => n - 126);
      expect(at(exp2, ...exponents)).toEqual(exponents.map((n) => 2 ** n));
      expect(at(exp2, 0, -0, -127, -127.5, -1e30, -Infinity, -3.4e38)).toEqual([1, 1, 0, 0, 0, 0, 0]);
      expect(at(exp2, Number.NaN)).toEqual([Number.NaN]);
      for (const x of at(exp2, -126.999, -126.9, -126.5, -126.1, -126.001)) {
        expect(x).toBeGreaterThanOrEqual(0);
        expect(x).toBeLessThan(2 ** -126);
      }
    });

    it("exp: subnormal results to their last place, 0 for x ≤ −104, ∞ for x ≥ 88.73, NaN for NaN", () => {
      const small = Float32Array.from({ length: 1000 }, (_, n) => -87.3 - n * 0.0167);
      at(exp, ...small).forEach((y, i) => {
        expect(Math.abs(y - Math.exp(small[i]))).toBeLessThanOrEqual(2 * ulp(Math.exp(small[i])));
      });
      expect(at(exp, 0, -0, 1e-45, -104, -1e30, -Infinity)).toEqual([1, 1, 1, 0, 0, 0]);
      expect(at(exp, 88.73, 100, 3.4e38, Infinity, Number.NaN)).toEqual([
        Infinity, Infinity, Infinity, Infinity, Number.NaN,
      ]); // biome-ignore format: one list
    });

    it("log: −∞ at both zeros, NaN below, ∞ at ∞, 0 at 1, subnormal numbers like others", () => {
      expect(at(log, 0, -0, Infinity, 1)).toEqual([-Infinity, -Infinity, Infinity, 0]);
      expect(at(log, -1e-40, -1, -Infinity, Number.NaN)).toEqual(new Array(4).fill(Number.NaN));
      for (const x of [2 ** -149, 2 ** -140, 2 ** -127])
        expect(Math.abs(at(log, x)[0] - Math.log(x))).toBeLessThanOrEqual(ulp(Math.log(x)));
    });

    it("tanh: odd, zeros with their sign, near ±1 for large numbers, NaN for NaN", () => {
      expect(Object.is(at(tanh, -0)[0], -0)).toBe(true);
      expect(Object.is(at(tanh, 0)[0], 0)).toBe(true);
      const x = Array.from({ length: 500 }, (_, n) => n / 25);
      expect(at(tanh, ...x.map((y) => 0 - y))).toEqual(at(tanh, ...x).map((y) => 0 - y));
      for (const y of at(tanh, 10, 100, 3.4e38, Infinity)) {
        expect(y).toBeLessThanOrEqual(1);
        expect(1 - y).toBeLessThanOrEqual(5 * 2 ** -24);
      }
      expect(at(tanh, Number.NaN)).toEqual([Number.NaN]);
    });
  });

describe("16-bit formats", () => {
  const all = Uint16Array.from({ length: 65536 }, (_, n) => n);
  for (const storage of ["float16", "bfloat16"] as const)
    for (const [name, load] of [
      ["four at a time", loadFloats],
      ["one at a time", loadOne],
    ] as const)
      it(`${storage} becomes float32 exactly, all 65,536 patterns, ${name}`, () => {
        const module = new ModuleBuilder({ initial: 1, maximum: 256, shared: false });
        module.func(
          "run",
          { from: "i32", to: "i32", end: "i32" },
          (f, { from, to, end }) =>
            withConstants(f, { fused: false, wide: false }, (m) =>
              f.repeat(() => {
                f.storeVector(to, load(f, m, storage, from, 64));
                f.step(from, load === loadOne ? 2 : 8);
                f.step(to, load === loadOne ? 4 : 16);
                return i32.ne(to, end);
              }),
            ),
          { exported: true },
        );
        const memory = new WebAssembly.Memory({ initial: 256, maximum: 256 });
        writeConstants(memory.buffer);
        const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.encode()), {
          env: { memory },
        });
        new Uint16Array(memory.buffer, AT + 64).set(all);
        const to = 2 ** 20;
        (exports.run as (...x: number[]) => void)(AT, to, to + 4 * 65536);
        const got = new Float32Array(memory.buffer, to, 65536);
        const exact = storage === "float16" ? fromFloat16 : fromBfloat16;
        const wrong = [...all].filter((bits) => !Object.is(got[bits], exact(bits)));
        expect(wrong).toEqual([]);
      });

  it("float32 becomes 16 bits as toFloat16 and toBfloat16 round: ties, both neighbors, overflow, subnormals, NaN", () => {
    const float = new Float32Array(1);
    const word = new Uint32Array(float.buffer);
    const patterns: number[] = [];
    const around = (bits: number) => {
      for (const step of [-2, -1, 0, 1, 2]) patterns.push((bits + step) >>> 0);
    };
    for (const from of [fromFloat16, fromBfloat16])
      for (let bits = 0; bits < 0x7f80; bits += 3) {
        // The number, the next one, and the tie between them.
        float[0] = from(bits);
        const low = word[0];
        float[0] = from(bits + 1);
        if (!Number.isFinite(float[0])) continue;
        around(low);
        float[0] = (from(bits) + from(bits + 1)) / 2;
        around(word[0]);
      }
    for (const x of [
      65504,
      65519.996,
      65520,
      65536,
      2 ** -14,
      2 ** -24,
      2 ** -25,
      2 ** -26,
      3.3895314e38,
      3.4e38,
    ]) {
      float[0] = x;
      around(word[0]);
    }
    for (const bits of [0, 1, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x7f80ffff])
      patterns.push(bits);
    for (let n = 0, x = 12345; n < 50_000; n++) {
      x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
      patterns.push(x);
    }
    const bits = Uint32Array.from(patterns.flatMap((x) => [x, (x | 0x80000000) >>> 0]));
    const from = new Float32Array(bits.buffer);
    const to = new Uint16Array(from.length + 3);
    for (const [dtype, exact] of [
      ["float16", toFloat16],
      ["bfloat16", toBfloat16],
    ] as const) {
      narrow(dtype, from, to, 3);
      for (let i = 0; i < from.length; i++) {
        // A NaN's sign is kept and means nothing.
        const want = Number.isNaN(from[i]) ? exact(Number.NaN) : exact(from[i]);
        const got = Number.isNaN(from[i]) ? to[i + 3] & 0x7fff : to[i + 3];
        if (got !== want)
          expect.fail(
            `${dtype} of ${from[i]} (${bits[i].toString(16)}): ${got.toString(16)}, expected ${want.toString(16)}`,
          );
      }
    }
  });
});

it("a constant of a wide kernel that is not in the table is rejected when the kernel is built", () => {
  const module = new ModuleBuilder({ initial: 1, maximum: 1, shared: false });
  expect(() =>
    module.func("f", {}, (f) =>
      withConstants(f, { fused: false, wide: true }, (m) => f.storeVector(0, f32x4.add(m.c(17.25), m.c(0)))),
    ),
  ).toThrow("the constant 17.25 of a wide kernel is not in the table");
});

it("the constants are below the heap, and the lane constants have the index of each lane", () => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 });
  writeConstants(memory.buffer);
  const words = new Uint32Array(memory.buffer);
  expect(words.findLastIndex((x) => x !== 0) * 4).toBeLessThan(8192 - 16);
  expect(words.findIndex((x) => x !== 0) * 4).toBeGreaterThanOrEqual(4096);
  const lanes = mapped({ fused: false, wide: false }, (_, m) => f32x4.convert_i32x4_s(m.lanes()));
  expect([...lanes(new Float32Array(8))]).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
});
