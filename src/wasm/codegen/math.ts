/**
 * Arithmetic of the kernels: exp2, exp, log and tanh of four float32 lanes, as polynomials. Each function states its error
 * bound, which math.test.ts checks.
 */
import { type BitsDType, isHalf, type StoredDType } from "../../core/dtype.ts";
import type { FunctionBuilder, I32Value, V128Value } from "../assembler/index.ts";
import { f32x4, i32, i32x4, v128 } from "../assembler/index.ts";
import { CONSTANTS_AT } from "./layout.ts";

/** exp2 on [−½, ½], minimax with p(0) = 1 exactly. The degree is even, because with an odd one the error at 0 is 7 ulp. */
const EXP2 = [1, 0.693147242, 0.240226522, 0.0555031039, 0.00961769279, 0.00134066434, 0.000155946778];
/** 1.5·2²³: adding it rounds to an integer, which is then in the low bits. */
const MAGIC = 12582912;
const LOG2E = Math.fround(Math.LOG2E);
/** ln 2 in two parts, the first followed by zeros: Cody & Waite 1980. */
const LN2_HIGH = 0.693359375;
const LN2_LOW = -2.1219444e-4;
/** Cephes logf (Moshier 1989). */
const LOG = [
  7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
  2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
];
/** tanh as an odd polynomial over an even one on [−7.9, 7.9] (Eigen's generic rational approximation). */
const TANH_TOP = [
  -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-8,
  1.48572235717979e-5, 6.37261928875436e-4, 4.89352455891786e-3,
];
const TANH_BOTTOM = [1.19825839466702e-6, 1.18534705686654e-4, 2.268434632439e-3, 4.89352518554385e-3];
const TANH_LIMIT = 7.905311107635498;
const TINY = 0.0004;
/** Weights of attention below 2 to this power are 0. */
const LEAST_EXPONENT = -120;

/** Constants that the kernels load from memory, floats and bit patterns, in memory order: all those of wide kernels. */
const FLOATS: readonly number[] = [
  ...new Set([
    ...EXP2, MAGIC, -127, LOG2E, LN2_HIGH, LN2_LOW, ...LOG, -0.5, Math.SQRT2, 2 ** -126, 2 ** 23, 23, 0, 0.5,
    ...TANH_TOP, ...TANH_BOTTOM, TANH_LIMIT, -TANH_LIMIT, TINY, 2 ** 112, 65536, 88.72284, -104, 128,
    Infinity, -Infinity, LEAST_EXPONENT,
  ].map(Math.fround)),
]; // biome-ignore format: one list
const BITS = [
  0x007fffff, 0x3f800000, 0x8fffffff, 0x7f800000, 127, 0x7fc00000, 4, 8, 0x85ebca6b, 0xc2b2ae35,
  0x27d4eb2f, 1, 0,
] as const; // biome-ignore format: one list
/** Lanes 0 to 7, after the other constants. */
const LANES_AT =
  CONSTANTS_AT + 4 * (FLOATS.length + BITS.length) + ((4 - ((FLOATS.length + BITS.length) % 4)) % 4) * 4;

/** Writes the constants into the engine's memory, once. */
export function writeConstants(memory: ArrayBufferLike): void {
  new Float32Array(memory, CONSTANTS_AT, FLOATS.length).set(FLOATS);
  new Int32Array(memory, CONSTANTS_AT + 4 * FLOATS.length, BITS.length).set(BITS.map((x) => x | 0));
  new Int32Array(memory, LANES_AT, 8).set([0, 1, 2, 3, 4, 5, 6, 7]);
}

/** Constants and operations for a region of a kernel. */
export interface Arithmetic {
  /** A float constant in all lanes. */
  readonly c: (x: number) => V128Value;
  /** A bit pattern in all lanes. */
  readonly bits: (x: (typeof BITS)[number]) => V128Value;
  /** The integers 0, 1, 2, 3; for vector 1 the integers 4, 5, 6, 7. */
  readonly lanes: (vector?: 0 | 1) => V128Value;
  /** a·b + c, in one rounding where the spec is fused. */
  readonly madd: (a: V128Value, b: V128Value, c: V128Value) => V128Value;
}

/** a·b + c. */
export function maddOf(fused: boolean): Arithmetic["madd"] {
  return fused ? (a, b, c) => f32x4.relaxed_madd(a, b, c) : (a, b, c) => f32x4.add(f32x4.mul(a, b), c);
}

/**
 * Emits a region of a kernel whose constants are loaded into locals before it. In wide kernels they are loaded from the table
 * at each use instead: both halves of a pair then read the same splat, which V8 can widen.
 */
export function withConstants(
  f: FunctionBuilder,
  spec: { fused: boolean; wide: boolean },
  body: (m: Arithmetic) => void,
): void {
  const loaded = new Map<number | string, V128Value>();
  f.prepared((before) => {
    const once = (key: number | string, load: V128Value): V128Value => {
      const value = loaded.get(key) ?? before(load);
      loaded.set(key, value);
      return value;
    };
    const from = (list: readonly number[], x: number, base: number): V128Value => {
      const at = list.indexOf(x);
      if (at < 0 && spec.wide) throw new TypeError(`the constant ${x} of a wide kernel is not in the table`);
      if (at < 0) return once(`${x}`, f32x4.splat(x));
      const load = v128.load32_splat(0, base + 4 * at);
      return spec.wide ? load : once(base + 4 * at, load);
    };
    body({
      c: (x) => from(FLOATS, Math.fround(x), CONSTANTS_AT),
      bits: (x) => from(BITS, x, CONSTANTS_AT + 4 * FLOATS.length),
      lanes: (vector = 0) => v128.load(0, LANES_AT + 16 * vector),
      madd: maddOf(spec.fused),
    });
  });
}

function horner(
  m: Arithmetic,
  coefficients: readonly number[],
  x: V128Value,
  first = m.c(coefficients[0]),
): V128Value {
  return coefficients.slice(1).reduce((p, c) => m.madd(p, x, m.c(c)), first);
}

/**
 * 2^x, error at most 1.01 ulp with fused operations, 1.3 without. Below −126, where results are subnormal, the absolute error is
 * less than 2^-127; exactly 0 for x ≤ −127. NaN gives NaN. Not for x ≥ 128.
 */
export function exp2(f: FunctionBuilder, m: Arithmetic, x: V128Value): V128Value {
  return exp2Each(f, m, [x])[0];
}

/**
 * 2^x of several vectors, step by step for all of them: the same step of a pair is then adjacent and reads the same
 * constant, as V8's revectorizer requires.
 */
export function exp2Each(f: FunctionBuilder, m: Arithmetic, xs: readonly V128Value[]): V128Value[] {
  const minimum = f.once(m.c(-127));
  return powersOf2(
    f,
    m,
    xs.map((x) => f.let(f32x4.pmax(x, minimum))),
  );
}

/**
 * Weights of attention: 2^x of several vectors, x ≤ 0, exactly 0 below 2^-120. Smaller weights and their products with values may be
 * subnormal numbers, which are slow on most processors. NaN gives NaN.
 */
export function weightEach(f: FunctionBuilder, m: Arithmetic, xs: readonly V128Value[]): V128Value[] {
  const least = f.once(m.c(LEAST_EXPONENT));
  const lost = xs.map((x) => f.let(f32x4.lt(x, least)));
  // What powersOf2 gives far below is no number that counts: it is cleared.
  return powersOf2(f, m, xs).map((p, n) => f.let(v128.andnot(p, lost[n])));
}

/** 2^x for x from −127. */
function powersOf2(f: FunctionBuilder, m: Arithmetic, xs: readonly V128Value[]): V128Value[] {
  const each = (values: readonly V128Value[], step: (x: V128Value, n: number) => V128Value) =>
    values.map((x, n) => f.let(step(x, n)));
  const magic = f.once(m.c(MAGIC));
  const t = each(xs, (x) => f32x4.add(x, magic));
  const integer = each(t, (x) => f32x4.sub(x, magic));
  const r = each(xs, (x, n) => f32x4.sub(x, integer[n]));
  const [top, ...rest] = [...EXP2].reverse();
  const first = f.once(m.c(top));
  let p: V128Value[] = r.map(() => first);
  for (const c of rest) {
    const next = f.once(m.c(c));
    p = each(p, (x, n) => m.madd(x, r[n], next));
  }
  const power = each(t, (x) => i32x4.shl(x, 23));
  return each(p, (x, n) => i32x4.add(x, power[n]));
}

/** e^x, error at most 1.3 ulp with fused operations, 1.5 without; subnormal results within one or two units in the last place; 0 for x ≤ −104, ∞ for x ≥ 88.73. */
export function exp(f: FunctionBuilder, m: Arithmetic, value: V128Value): V128Value {
  const x = f.let(value);
  const y = f.let(f32x4.pmin(f32x4.pmax(x, m.c(-104)), m.c(88.72284)));
  const t = f.let(f32x4.add(f32x4.mul(y, m.c(LOG2E)), m.c(MAGIC)));
  const n = f.let(f32x4.sub(t, m.c(MAGIC)));
  const r = f.let(f32x4.sub(f32x4.sub(y, f32x4.mul(n, m.c(LN2_HIGH))), f32x4.mul(n, m.c(LN2_LOW))));
  // r/ln 2 is in [−½, ½]; 2^n in two steps, because n may be 128.
  const p = f.let(horner(m, [...EXP2].reverse(), f32x4.mul(r, m.c(LOG2E))));
  const half = f.let(i32x4.shr_s(i32x4.shl(t, 10), 11));
  const rest = i32x4.sub(i32x4.shr_s(i32x4.shl(t, 10), 10), half);
  const power = (e: V128Value) =>
    i32x4.shl(i32x4.add(i32x4.max_s(e, i32x4.neg(m.bits(127))), m.bits(127)), 23);
  const y2 = f.let(f32x4.mul(f32x4.mul(p, power(half)), power(rest)));
  return v128.bitselect(m.c(Infinity), y2, f32x4.ge(x, m.c(88.72284)));
}

/** ln x, error at most 1 ulp; −∞ at 0, NaN below. */
export function log(f: FunctionBuilder, m: Arithmetic, value: V128Value): V128Value {
  const x = f.let(value);
  const small = f.let(f32x4.lt(x, m.c(2 ** -126)));
  const y = f.let(v128.bitselect(f32x4.mul(x, m.c(2 ** 23)), x, small));
  const mantissa = f.let(v128.or(v128.and(y, m.bits(0x007fffff)), m.bits(0x3f800000)));
  const high = f.let(f32x4.gt(mantissa, m.c(Math.SQRT2)));
  const exponent = i32x4.sub(i32x4.shr_u(y, 23), m.bits(127));
  const e0 = f32x4.convert_i32x4_s(i32x4.sub(exponent, high));
  const e = f.let(f32x4.sub(e0, v128.and(m.c(23), small)));
  const r = f.let(f32x4.sub(v128.bitselect(f32x4.mul(mantissa, m.c(0.5)), mantissa, high), m.c(1)));
  const z = f.let(f32x4.mul(r, r));
  const p = f.let(f32x4.mul(f32x4.mul(horner(m, LOG, r), r), z));
  const q = m.madd(z, m.c(-0.5), m.madd(e, m.c(LN2_LOW), p));
  const ln = f.let(m.madd(e, m.c(LN2_HIGH), f32x4.add(r, q)));
  const upper = f.let(v128.bitselect(m.c(Infinity), ln, f32x4.eq(x, m.c(Infinity))));
  const zero = f.let(v128.bitselect(m.c(-Infinity), upper, f32x4.eq(x, m.c(0))));
  return v128.bitselect(zero, m.bits(0x7fc00000), f32x4.ge(x, m.c(0)));
}

/** tanh x, error at most 5 ulp with fused operations, 6.5 without. */
export function tanh(f: FunctionBuilder, m: Arithmetic, value: V128Value): V128Value {
  const x = f.let(value);
  const y = f.let(f32x4.pmin(f32x4.pmax(x, m.c(-TANH_LIMIT)), m.c(TANH_LIMIT)));
  const z = f.let(f32x4.mul(y, y));
  const top = f32x4.mul(horner(m, TANH_TOP, z), y);
  const ratio = f.let(f32x4.div(top, horner(m, TANH_BOTTOM, z)));
  return v128.bitselect(x, ratio, f32x4.lt(f32x4.abs(x), m.c(TINY)));
}

/** Four values of a storage format as float32, from `address + offset`. */
export function loadFloats(
  f: FunctionBuilder,
  m: Arithmetic,
  storage: StoredDType,
  address: I32Value,
  offset = 0,
): V128Value {
  return isHalf(storage)
    ? WIDEN[storage](f, m, v128.load16x4_s(address, offset))
    : v128.load(address, offset);
}

/** One value of a storage format, in all lanes. */
export function loadOne(
  f: FunctionBuilder,
  m: Arithmetic,
  storage: StoredDType,
  address: I32Value,
  offset = 0,
): V128Value {
  return isHalf(storage)
    ? WIDEN[storage](f, m, i32x4.splat(i32.load16_s(address, offset)))
    : v128.load32_splat(address, offset);
}

/** Four 16-bit patterns, one per lane, extended by their signs, as float32: exact, including subnormals, infinities and NaN. */
const WIDEN: Readonly<
  Record<BitsDType, (f: FunctionBuilder, m: Arithmetic, pattern: V128Value) => V128Value>
> = { float16: widenFloat16, bfloat16: (_f, _m, pattern) => i32x4.shl(pattern, 16) };

function widenFloat16(f: FunctionBuilder, m: Arithmetic, pattern: V128Value): V128Value {
  // Shifted, bit 15 is in bits 28 to 31, of which the sign is left. The product with 2^112 adjusts the exponent; from 65536 on (∞, NaN) it
  // is set to all ones.
  const bits = v128.and(i32x4.shl(pattern, 13), m.bits(0x8fffffff));
  const value = f.let(f32x4.mul(bits, m.c(2 ** 112)));
  const isSpecial = f32x4.ge(f32x4.abs(value), m.c(65536));
  return v128.or(value, v128.and(isSpecial, m.bits(0x7f800000)));
}
