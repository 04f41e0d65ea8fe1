/** Small calls of every kind, for tests that inject failures: forward, decode, weights, masks, dtypes, layouts. */
import type { AttentionOptions, AttentionResult } from "heed";
import {
  alibi,
  attentionWeights,
  causal,
  documents,
  scaledDotProductAttention,
  slidingWindow,
  softcap,
  Tensor,
} from "heed";
import { random } from "../support/cases/random.ts";

/** A call: its inputs are created once, and it returns numbers to compare. */
export interface Call {
  readonly name: string;
  run(): Float64Array[];
}

/** Numbers of a dtype from a seed; 16-bit ones as bits of small normal numbers. */
export function filled(
  seed: number,
  shape: readonly number[],
  dtype: "float32" | "float16" | "bfloat16" = "float32",
): Tensor {
  const r = random(seed);
  const size = shape.reduce((a, b) => a * b, 1);
  if (dtype === "float32")
    return new Tensor(
      Float32Array.from({ length: size }, () => r.normal()),
      shape,
      dtype,
    );
  const exponent = dtype === "float16" ? 10 : 7;
  const one = dtype === "float16" ? 0x3c00 : 0x3f80;
  const bits = Uint16Array.from(
    { length: size },
    () => (r.chance(0.5) ? 0x8000 : 0) | (one - (r.int(0, 3) << exponent) + r.int(0, 2 ** exponent - 1)),
  );
  return new Tensor(bits, shape, dtype);
}

/** Every second cell of a bool tensor is true, and all of its first column. */
export function someCells(shape: readonly number[]): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const last = shape[shape.length - 1];
  return new Tensor(
    Uint8Array.from({ length: size }, (_, n) => (n % last === 0 || (n * 2654435761) % 7 < 4 ? 1 : 0)),
    shape,
    "bool",
  );
}

const numbers = ({ output, lse, weights }: AttentionResult) =>
  [output, lse, weights].flatMap((t) => (t ? [t.toFloat64()] : []));

/** A call of `scaledDotProductAttention` on seeded inputs. */
export function call(
  name: string,
  sizes: { B?: number; Hq?: number; Hkv?: number; Nq: number; Nk: number; dk: number; dv?: number },
  options: AttentionOptions = {},
  dtype: "float32" | "float16" | "bfloat16" = "float32",
): Call {
  const { B = 1, Hq = 2, Hkv = Hq, Nq, Nk, dk, dv = dk } = sizes;
  const across = options.layout === "bshd";
  const shape = (H: number, N: number, d: number) => (across ? [B, N, H, d] : [B, H, N, d]);
  const q = filled(1, shape(Hq, Nq, dk), dtype);
  const k = filled(2, shape(Hkv, Nk, dk), dtype);
  const v = filled(3, shape(Hkv, Nk, dv), dtype);
  return { name, run: () => numbers(scaledDotProductAttention(q, k, v, options)) };
}

/** The set: each takes a few milliseconds. */
export function everyKind(): Call[] {
  const q = filled(4, [2, 50, 8]);
  const k = filled(5, [2, 60, 8]);
  const { lse } = scaledDotProductAttention(q, k, k);
  return [
    call("full", { Nq: 100, Nk: 130, dk: 16 }),
    call("causal", { Nq: 90, Nk: 90, dk: 20 }, { isCausal: true }),
    call("window of grouped heads", { Hq: 4, Hkv: 2, Nq: 70, Nk: 200, dk: 8 }, { attnMask: slidingWindow(20, 4) }),
    call("decode", { Hq: 4, Hkv: 1, Nq: 1, Nk: 300, dk: 32 }),
    call("decode in parts of the keys", { Nq: 2, Nk: 4100, dk: 8 }),
    call("documents and a bool tensor", { Nq: 40, Nk: 40, dk: 8 }, {
      attnMask: [documents(Array.from({ length: 40 }, (_, n) => n >> 3)), someCells([40, 40])],
    }),
    call("a float tensor", { Nq: 30, Nk: 50, dk: 8 }, { attnMask: filled(6, [2, 30, 50]) }),
    call("alibi and a soft cap", { Nq: 40, Nk: 40, dk: 8 }, { scoreMod: [softcap(5), alibi([0.5, 0.1])], attnMask: causal() }),
    call("sinks and dropout", { Nq: 40, Nk: 60, dk: 8 }, { sinks: [0.5, -1], dropoutP: 0.3, seed: 5 }),
    call("across heads", { B: 2, Nq: 33, Nk: 45, dk: 12, dv: 20 }, { layout: "bshd" }),
    call("float16", { Nq: 40, Nk: 60, dk: 16 }, {}, "float16"),
    call("bfloat16 decode", { Nq: 1, Nk: 200, dk: 16 }, {}, "bfloat16"),
    call("weights", { Nq: 40, Nk: 60, dk: 8 }, { returnWeights: true, attnMask: slidingWindow(9, 9) }),
    { name: "weights of rows, later", run: () => [attentionWeights(q, k, lse, { rows: [3, 40] }).toFloat64()] },
  ]; // biome-ignore format: one row a call
}

/** The first difference of two results, or undefined where all bits agree. */
export function unlike(got: readonly Float64Array[], want: readonly Float64Array[]): string | undefined {
  for (let n = 0; n < want.length; n++)
    for (let i = 0; i < want[n].length; i++)
      if (!Object.is(got[n][i], want[n][i]))
        return `part ${n}, element ${i}: ${got[n][i]}, expected ${want[n][i]}`;
  return undefined;
}
