/**
 * A case: the arguments of a call, and the same masks and score mods as plain functions, from which the reference result is
 * computed. The two share no code: masks and score mods of the call are heed's expressions, those of the reference closures.
 */
import { type AttentionOptions, type ScoreMod, Tensor } from "heed";
import type { Random } from "../random.ts";

/** Lengths of a case. */
export interface Lengths {
  readonly B: number;
  readonly Hq: number;
  readonly Hkv: number;
  readonly Nq: number;
  readonly Nk: number;
  readonly dk: number;
  readonly dv: number;
}

/** A cell of the scores: batch entry, query head, row of the query, key. */
export type Rule<T> = (b: number, h: number, i: number, j: number) => T;

/** A score mod, and the same as a function. */
export interface Change {
  readonly name: string;
  readonly mod: ScoreMod;
  apply(s: number, b: number, h: number, q: number, k: number): number;
  /** Error of the result in units of u, from the error of its inputs, the score before and after. */
  error(e: number, s: number, after: number, b: number, h: number, q: number, k: number): number;
}

export type Dtype = "float32" | "float64" | "float16" | "bfloat16";

/** A call and its reference. */
export interface Case {
  readonly name: string;
  readonly lengths: Lengths;
  readonly dtype: Dtype;
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  /** The elements of the tensors, dense: [B, Hq, Nq, dk], [B, Hkv, Nk, dk], [B, Hkv, Nk, dv]. */
  readonly exact: { readonly q: Float64Array; readonly k: Float64Array; readonly v: Float64Array };
  readonly options: AttentionOptions;
  readonly scale: number;
  /** Position of query 0 of every batch entry. */
  readonly offsets: readonly number[];
  readonly allowed: Rule<boolean>;
  readonly changes: readonly Change[];
  /** Additive masks. */
  readonly added: readonly Rule<number>[];
  readonly sinks?: readonly number[];
  /** True if inputs are constant or otherwise biased, so that roundings do not cancel. */
  readonly structured: boolean;
}

const F32 = new Float32Array(1);
const U32 = new Uint32Array(F32.buffer);

/** The nearest number of a dtype, by the widths of IEEE 754 and bfloat16; independent of the library's conversions. */
export function rounded(x: number, dtype: Dtype): number {
  if (dtype === "float64" || !Number.isFinite(x)) return x;
  if (dtype === "float32") return Math.fround(x);
  const [digits, least, largest] = dtype === "float16" ? [11, 2 ** -24, 65504] : [8, 2 ** -133, 3.3895e38];
  const step = Math.max(least, 2 ** (Math.floor(Math.log2(Math.abs(x) || least)) - digits + 1));
  const y = Math.round(x / step) * step;
  return Math.max(-largest, Math.min(largest, y));
}

/** Bits of a number that a 16-bit dtype holds exactly. */
function bitsOf(x: number, dtype: "float16" | "bfloat16"): number {
  F32[0] = x;
  const bits = U32[0];
  if (dtype === "bfloat16") return x === x ? bits >>> 16 : 0x7fc1;
  const sign = (bits >>> 16) & 0x8000;
  if (x !== x) return 0x7e01;
  if (Math.abs(x) === Infinity) return sign | 0x7c00;
  if (Math.abs(x) < 2 ** -14) return sign | Math.round(Math.abs(x) * 2 ** 24);
  return sign | ((((bits >>> 23) & 255) - 112) << 10) | ((bits >>> 13) & 1023);
}

/** An array of a dtype, filled with NaN, which must not be read. */
function canaries(dtype: Dtype, n: number): Float32Array | Float64Array | Uint16Array {
  if (dtype === "float32") return new Float32Array(n).fill(Number.NaN);
  if (dtype === "float64") return new Float64Array(n).fill(Number.NaN);
  return new Uint16Array(n).fill(bitsOf(Number.NaN, dtype));
}

/** Memory layout of a tensor. */
export type Arrangement = "dense" | "offset" | "padded" | "transposed" | "reversed" | "mixed";
export const ARRANGEMENTS: readonly Arrangement[] = [
  "dense",
  "offset",
  "padded",
  "transposed",
  "reversed",
  "mixed",
];

/** A tensor [B, H, N, d] (or [B, N, H, d] in layout `bshd`) of `values` in the given layout, with NaN in every gap. */
export function arranged(
  values: Float64Array,
  [B, H, N, D]: readonly [number, number, number, number],
  dtype: Dtype,
  arrangement: Arrangement,
  layout: "bhsd" | "bshd",
  rank: number,
  sharedBatch = false,
): Tensor {
  const shape = [B, H, N, D];
  // Order of the axes in memory, outermost first, and the gap after each row.
  const order = {
    dense: layout === "bshd" ? [0, 2, 1, 3] : [0, 1, 2, 3],
    offset: [0, 1, 2, 3],
    padded: [0, 1, 2, 3],
    transposed: [0, 1, 3, 2],
    reversed: [0, 1, 2, 3],
    mixed: [2, 0, 1, 3],
  }[arrangement];
  const gap = arrangement === "padded" ? 3 : 0;
  const strides = [0, 0, 0, 0];
  let step = 1;
  for (const axis of [...order].reverse()) {
    strides[axis] = sharedBatch && axis === 0 ? 0 : step;
    step *= sharedBatch && axis === 0 ? 1 : shape[axis] + (axis === order[3] ? gap : 0);
  }
  let offset = arrangement === "dense" ? 0 : 5;
  const data = canaries(dtype, Math.max(step, 0) + offset + 7);
  if (arrangement === "reversed" && N > 0) {
    offset += (N - 1) * strides[2];
    strides[2] = -strides[2];
  }
  let n = 0;
  for (let b = 0; b < B; b++)
    for (let h = 0; h < H; h++)
      for (let i = 0; i < N; i++)
        for (let d = 0; d < D; d++, n++) {
          const at = offset + b * strides[0] + h * strides[1] + i * strides[2] + d * strides[3];
          data[at] = dtype === "float16" || dtype === "bfloat16" ? bitsOf(values[n], dtype) : values[n];
        }
  const axes = layout === "bshd" ? [0, 2, 1, 3] : [0, 1, 2, 3];
  const lastAxes = axes.slice(4 - rank);
  const view =
    rank === 3 && layout === "bhsd" ? [0, 2, 3] : rank === 3 ? [2, 1, 3] : rank === 2 ? [2, 3] : lastAxes;
  return new Tensor(
    data,
    view.map((axis) => shape[axis]),
    dtype,
    view.map((axis) => strides[axis]),
    offset,
  );
}

/** The kinds of values of a case. */
export const FILLS = ["normal", "integer", "huge", "tiny", "constant", "one-hot"] as const;
export type Fill = (typeof FILLS)[number];

/** `n` numbers of a kind, each one exact in the dtype; `width` is the length of a row. */
export function filled(r: Random, n: number, width: number, fill: Fill, dtype: Dtype): Float64Array {
  const out = new Float64Array(n);
  const narrow = dtype === "float16";
  const c = r.normal();
  for (let i = 0; i < n; i++) {
    const x = {
      normal: () => r.normal(),
      integer: () => r.int(-4, 4),
      huge: () => Math.max(-4, Math.min(4, r.normal())) * (narrow ? 1e4 : 1e17),
      tiny: () => r.normal() * (narrow ? 1e-6 : 1e-30),
      constant: () => c,
      "one-hot": () => (i % width === Math.floor(i / width) % Math.max(width, 1) ? 1 : 0),
    }[fill]();
    out[i] = rounded(x, dtype);
  }
  return out;
}

/** A case as one line, from which it can be reproduced. */
export function describeCase(c: Case): string {
  const { B, Hq, Hkv, Nq, Nk, dk, dv } = c.lengths;
  const strides = [c.query, c.key, c.value].map((t) => `[${t.strides}]+${t.offset}`).join(" ");
  return `${c.name}: B ${B} Hq ${Hq} Hkv ${Hkv} Nq ${Nq} Nk ${Nk} dk ${dk} dv ${dv} ${c.query.dtype}/${c.key.dtype}/${c.value.dtype} scale ${c.scale} strides ${strides}`;
}
