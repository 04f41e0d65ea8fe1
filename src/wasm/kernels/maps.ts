/**
 * Functions of one number and their derivatives, four numbers at a time:
 *
 *   gelu       x·Φ(x)            Φ(x) + x·φ(x)              Φ(−a) = e^(−a²/2)·P(a)/Q(a) for a = |x|
 *   gelu-tanh  x·σ(2u)           σ + x·σ·(1 − σ)·2u′         u = √(2/π)·(x + 0.044715·x³): x·(1 + tanh u)/2 is x·σ(2u)
 *   silu       x·σ(x)            σ + x·σ·(1 − σ)
 *   sigmoid    σ(x)              σ·(1 − σ)
 *   tanh       tanh(x)           1 − tanh²(x)
 *
 * σ(z) is 1/(1 + e) or e/(1 + e) with e = e^(−|z|), so that nothing overflows and small results keep their accuracy.
 *
 * Accuracy: the exact result for an x that is off by at most one ulp, then off by at most 3 ulp (tanh 6.5). Where σ or Φ is below
 * 2^−127 it is 0. Derivatives, which go through 0, are off by at most 4·2^−24 of the sum of their terms' sizes. maps.test.ts holds
 * all of it.
 */
import { type FunctionBuilder, f32x4, i32, type Local, type V128Value, v128 } from "../assembler/index.ts";
import {
  type Arithmetic,
  DENSITY,
  exp2,
  FLAT,
  GELU_CUBIC,
  GELU_SLOPE,
  NORMAL_BOTTOM,
  NORMAL_TOP,
  tanh,
} from "../math.ts";
import { type StreamSpec, streamKernel } from "./stream.ts";

/** The functions there are. */
export const MAPS = ["gelu", "gelu-tanh", "silu", "sigmoid", "tanh"] as const;
export type MapName = (typeof MAPS)[number];

type X = Local<"v128">;
interface Pair {
  readonly value: (f: FunctionBuilder, m: Arithmetic, x: X) => V128Value;
  readonly slope: (f: FunctionBuilder, m: Arithmetic, x: X) => V128Value;
}

/** e^(−|z|), σ(z) and 1 − σ(z). */
function sigmoidOf(f: FunctionBuilder, m: Arithmetic, z: X) {
  const e = f.let(exp2(f, m, f32x4.mul(f32x4.abs(z), m.c(-Math.LOG2E))));
  const s = f.let(f32x4.div(m.c(1), f32x4.add(e, m.c(1))));
  const small = f.let(f32x4.mul(e, s));
  const negative = f.let(f32x4.lt(z, m.c(0)));
  return {
    share: f.let(v128.bitselect(small, s, negative)),
    rest: f.let(v128.bitselect(s, small, negative)),
  };
}

/** Φ(x) and e^(−x²/2). */
function normalOf(f: FunctionBuilder, m: Arithmetic, x: X) {
  const a = f.let(f32x4.pmin(f32x4.abs(x), m.c(FLAT)));
  const e = f.let(exp2(f, m, f32x4.mul(f32x4.mul(a, a), m.c(-Math.LOG2E / 2))));
  const horner = (p: readonly number[]) =>
    p.slice(0, -1).reduceRight((sum, c) => m.madd(sum, a, m.c(c)), m.c(p[p.length - 1]) as V128Value);
  const tail = f.let(f32x4.mul(e, f32x4.div(horner(NORMAL_TOP), horner(NORMAL_BOTTOM))));
  const negative = f32x4.lt(x, m.c(0));
  return { share: f.let(v128.bitselect(tail, f32x4.sub(m.c(1), tail), negative)), e };
}

const flat = (f: FunctionBuilder, m: Arithmetic, x: X): X =>
  f.let(f32x4.pmin(f32x4.pmax(x, m.c(-FLAT)), m.c(FLAT)));

/** 2u of the tanh approximation, of a clamped x, and its derivative. */
function twiceU(f: FunctionBuilder, m: Arithmetic, x: X) {
  const square = f.let(f32x4.mul(x, x));
  return {
    z: f.let(f32x4.mul(x, m.madd(square, m.c(GELU_CUBIC), m.c(GELU_SLOPE)))),
    slope: m.madd(square, m.c(3 * GELU_CUBIC), m.c(GELU_SLOPE)),
  };
}

const PAIRS: Readonly<Record<MapName, Pair>> = {
  gelu: {
    value: (f, m, x) => f32x4.mul(x, normalOf(f, m, x).share),
    slope: (f, m, x) => {
      const { share, e } = normalOf(f, m, x);
      return m.madd(f32x4.mul(flat(f, m, x), e), m.c(DENSITY), share);
    },
  },
  "gelu-tanh": {
    value: (f, m, x) => f32x4.mul(x, sigmoidOf(f, m, twiceU(f, m, flat(f, m, x)).z).share),
    slope: (f, m, x) => {
      const near = flat(f, m, x);
      const { z, slope } = twiceU(f, m, near);
      const { share, rest } = sigmoidOf(f, m, z);
      return m.madd(f32x4.mul(f32x4.mul(near, slope), rest), share, share);
    },
  },
  silu: {
    value: (f, m, x) => f32x4.mul(x, sigmoidOf(f, m, x).share),
    slope: (f, m, x) => {
      const { share, rest } = sigmoidOf(f, m, x);
      return m.madd(f32x4.mul(x, rest), share, share);
    },
  },
  sigmoid: {
    value: (f, m, x) => sigmoidOf(f, m, x).share,
    slope: (f, m, x) => {
      const { share, rest } = sigmoidOf(f, m, x);
      return f32x4.mul(share, rest);
    },
  },
  tanh: {
    value: (f, m, x) => tanh(f, m, x),
    slope: (f, m, x) => {
      // 1 − tanh²(x) = 4·σ(2x)·(1 − σ(2x))
      const { share, rest } = sigmoidOf(f, m, f.let(f32x4.add(x, x)));
      return f32x4.mul(f32x4.mul(share, m.c(4)), rest);
    },
  },
};

/** y = f(x), arrays x, y; or dx = f′(x)·dy, arrays x, dy, dx. Whole vectors are read and written. */
export function mapKernel(spec: StreamSpec, name: MapName, backward: boolean): Uint8Array<ArrayBuffer> {
  return streamKernel(spec, backward ? 3 : 2, (f, m, rows, _, at) => {
    const end = f.int(i32.add(at[0], i32.shl(i32.div_s(i32.add(rows, 3), 4), 4)));
    f.repeat(() => {
      const x = f.let(v128.load(at[0]));
      if (backward) f.storeVector(at[2], f32x4.mul(PAIRS[name].slope(f, m, x), v128.load(at[1])));
      else f.storeVector(at[1], PAIRS[name].value(f, m, x));
      for (const pointer of at) f.step(pointer, 16);
      return i32.ne(at[0], end);
    });
  });
}
