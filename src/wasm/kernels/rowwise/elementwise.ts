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
 * Accuracy: within 3 ulp (tanh 6.5) of the exact result for some x within one ulp. Where σ or Φ is below
 * 2^−127 it is 0. Derivatives, which cross 0, have an error of at most 8·2^−24 of the sum of their terms' magnitudes, again for
 * some x within one ulp. src/api/rowwise.test.ts tests this.
 */
import { type FunctionBuilder, f32x4, i32, type Local, type V128Value, v128 } from "../../assembler/index.ts";
import { type Arithmetic, exp2Each, tanh } from "../../codegen/math.ts";
import { each, loads, type PipelineSpec, pipelineKernel, stores } from "./row-pipeline.ts";

/**
 * Φ(−a)·e^(a²/2) = P(a)/Q(a) for a in [0, 14], lowest power first: a minimax rational fit with relative error at most 5.6e-9.
 * All coefficients are positive, so nothing cancels.
 */
const NORMAL_TOP = [
  0.5000000027572684, 0.4372508787021559, 0.18246181890746158, 0.040372553257385056, 0.004077610625008263,
];
const NORMAL_BOTTOM = [
  1, 1.672386712730579, 1.1992906566420674, 0.4674290722224907, 0.10120579351541184, 0.010220925331565805,
];
/** 1/√(2π), the density of the standard normal distribution at 0. */
const DENSITY = 1 / Math.sqrt(2 * Math.PI);
/** Coefficients of 2u in the tanh approximation of GELU: 2·√(2/π), and that of the cubic term. */
const GELU_SLOPE = 2 * Math.sqrt(2 / Math.PI);
const GELU_CUBIC = 0.044715 * GELU_SLOPE;
/** Beyond ±64 the activations are constant or linear in float32. */
const FLAT = 64;

/** The functions that have a kernel. */
export const MAPS = ["gelu", "gelu-tanh", "silu", "sigmoid", "tanh"] as const;
export type KernelMapName = (typeof MAPS)[number];

/** Two vectors of numbers, computed together step by step, as V8's revectorizer requires. */
type Pair = readonly Local<"v128">[];
const HALVES = [0, 16];
/** Emits one step for both. */
type Each = (xs: Pair, step: (x: Local<"v128">, n: number) => V128Value) => Pair;

interface MapCode {
  readonly value: (of: Kit, x: Pair) => Pair;
  readonly derivative: (of: Kit, x: Pair) => Pair;
}

/** Context in which the functions are emitted. */
interface Kit {
  readonly f: FunctionBuilder;
  readonly m: Arithmetic;
  readonly each: Each;
}

/** σ(z) and, if requested, 1 − σ(z). */
function sigmoidOf({ f, m, each }: Kit, z: Pair) {
  const base = m.c(-Math.LOG2E);
  const powers = each(z, (x) => f32x4.mul(f32x4.abs(x), base));
  const e = exp2Each(f, m, powers).map((x) => f.once(x));
  const one = m.c(1);
  const s = each(e, (x) => f32x4.div(one, f32x4.add(x, one)));
  const small = each(e, (x, n) => f32x4.mul(x, s[n]));
  const zero = m.c(0);
  const negative = each(z, (x) => f32x4.lt(x, zero));
  return {
    share: each(small, (x, n) => v128.bitselect(x, s[n], negative[n])),
    rest: () => each(s, (x, n) => v128.bitselect(x, small[n], negative[n])),
  };
}

/** Φ(x) and e^(−x²/2). */
function normalOf({ f, m, each }: Kit, x: Pair) {
  const limit = m.c(FLAT);
  const a = each(x, (x) => f32x4.pmin(f32x4.abs(x), limit));
  const base = m.c(-Math.LOG2E / 2);
  const powers = each(a, (x) => f32x4.mul(f32x4.mul(x, x), base));
  const e = exp2Each(f, m, powers).map((x) => f.once(x));
  const polynomial = (p: readonly number[]) => {
    const first = m.c(p[p.length - 1]);
    let sum: Pair = each(a, () => first);
    for (const power of p.slice(0, -1).reverse()) {
      const next = m.c(power);
      sum = each(sum, (x, n) => m.madd(x, a[n], next));
    }
    return sum;
  };
  const [top, bottom] = [polynomial(NORMAL_TOP), polynomial(NORMAL_BOTTOM)];
  const ratio = each(top, (x, n) => f32x4.div(x, bottom[n]));
  const tail = each(ratio, (x, n) => f32x4.mul(x, e[n]));
  const [one, zero] = [m.c(1), m.c(0)];
  const rest = each(tail, (x) => f32x4.sub(one, x));
  const negative = each(x, (x) => f32x4.lt(x, zero));
  return { share: each(tail, (x, n) => v128.bitselect(x, rest[n], negative[n])), e };
}

function flat({ m, each }: Kit, x: Pair): Pair {
  const [low, high] = [m.c(-FLAT), m.c(FLAT)];
  const above = each(x, (x) => f32x4.pmax(x, low));
  return each(above, (x) => f32x4.pmin(x, high));
}

/** 2u of the tanh approximation, of a clamped x, and its derivative. */
function twiceU({ m, each }: Kit, x: Pair) {
  const square = each(x, (x) => f32x4.mul(x, x));
  const [cubic, third, first] = [m.c(GELU_CUBIC), m.c(3 * GELU_CUBIC), m.c(GELU_SLOPE)];
  const ratio = each(square, (s) => m.madd(s, cubic, first));
  return {
    z: each(ratio, (r, n) => f32x4.mul(r, x[n])),
    derivative: () => each(square, (s) => m.madd(s, third, first)),
  };
}

const product = ({ each }: Kit, x: Pair, y: Pair): Pair => each(x, (a, n) => f32x4.mul(a, y[n]));

/** share + factor·share·rest. */
function bent(kit: Kit, factor: Pair, { share, rest }: { share: Pair; rest: () => Pair }): Pair {
  const weighted = product(kit, factor, rest());
  return kit.each(weighted, (x, n) => kit.m.madd(x, share[n], share[n]));
}

const CODE: Readonly<Record<KernelMapName, MapCode>> = {
  gelu: {
    value: (kit, x) => product(kit, x, normalOf(kit, x).share),
    derivative: (kit, x) => {
      const { share, e } = normalOf(kit, x);
      const weighted = product(kit, flat(kit, x), e);
      const density = kit.m.c(DENSITY);
      return kit.each(weighted, (w, n) => kit.m.madd(w, density, share[n]));
    },
  },
  "gelu-tanh": {
    value: (kit, x) => product(kit, x, sigmoidOf(kit, twiceU(kit, flat(kit, x)).z).share),
    derivative: (kit, x) => {
      const near = flat(kit, x);
      const { z, derivative } = twiceU(kit, near);
      const shares = sigmoidOf(kit, z);
      return bent(kit, product(kit, near, derivative()), shares);
    },
  },
  silu: {
    value: (kit, x) => product(kit, x, sigmoidOf(kit, x).share),
    derivative: (kit, x) => bent(kit, x, sigmoidOf(kit, x)),
  },
  sigmoid: {
    value: (kit, x) => sigmoidOf(kit, x).share,
    derivative: (kit, x) => {
      const { share, rest } = sigmoidOf(kit, x);
      return product(kit, share, rest());
    },
  },
  tanh: {
    value: ({ f, m, each }, x) => each(x, (x) => tanh(f, m, x)),
    derivative: (kit, x) => {
      // 1 − tanh²(x) = 4·σ(2x)·(1 − σ(2x))
      const { share, rest } = sigmoidOf(
        kit,
        kit.each(x, (x) => f32x4.add(x, x)),
      );
      const four = kit.m.c(4);
      return product(
        kit,
        kit.each(share, (s) => f32x4.mul(s, four)),
        rest(),
      );
    },
  },
};

/** y = f(x), arrays x, y; or dx = f′(x)·dy, arrays x, dy, dx. Pairs of vectors are read and written: up to seven numbers after the last. */
export function mapKernel(
  spec: PipelineSpec,
  name: KernelMapName,
  backward: boolean,
): Uint8Array<ArrayBuffer> {
  return pipelineKernel(spec, backward ? 3 : 2, (f, m, rows, _, at) => {
    const kit: Kit = { f, m, each: (xs, step) => each(f, xs, step) };
    const end = f.int(i32.add(at[0], i32.shl(i32.div_s(i32.add(rows, 7), 8), 5)));
    f.repeat(() => {
      const x = loads(f, at[0], HALVES);
      const y = backward
        ? product(kit, CODE[name].derivative(kit, x), loads(f, at[1], HALVES))
        : CODE[name].value(kit, x);
      stores(f, at[at.length - 1], HALVES, y);
      for (const pointer of at) f.step(pointer, 32);
      return i32.ne(at[0], end);
    });
  });
}

/** y = a + b, arrays a, b, y: the bits of the sum of two numbers. Reads and writes as above. */
export function addKernel(spec: PipelineSpec): Uint8Array<ArrayBuffer> {
  return pipelineKernel(spec, 3, (f, _, rows, __, at) => {
    const [a, b, y] = at;
    const end = f.int(i32.add(a, i32.shl(i32.div_s(i32.add(rows, 7), 8), 5)));
    f.repeat(() => {
      const [first, second] = [loads(f, a, HALVES), loads(f, b, HALVES)];
      stores(
        f,
        y,
        HALVES,
        each(f, first, (x, n) => f32x4.add(x, second[n])),
      );
      for (const pointer of at) f.step(pointer, 32);
      return i32.ne(a, end);
    });
  });
}
