/**
 * WebAssembly's instructions as tables: one row for each instruction, with its operand types, result type and opcode.
 * Only instructions that the kernels use. Names and opcodes are those of the specification (WebAssembly 3.0; relaxed SIMD).
 * 0xfd is the prefix of SIMD instructions; the number after it is the instruction.
 */

export type ValueType = "i32" | "f32" | "f64" | "v128";

/** One instruction: operand types, result type, opcode bytes before the immediates. */
export interface OpcodeRow {
  readonly in: readonly ValueType[];
  readonly out: ValueType;
  readonly code: readonly number[];
}

const i32 = "i32";
const f32 = "f32";
const f64 = "f64";
const v128 = "v128";

function plain<const I extends readonly ValueType[], const O extends ValueType>(op: number, from: I, to: O) {
  return { in: from, out: to, code: [op] } as const;
}

function simd<const I extends readonly ValueType[], const O extends ValueType>(op: number, from: I, to: O) {
  return { in: from, out: to, code: [0xfd, ...unsigned(op)] } as const;
}

/** Numbers of one byte share their lists: a kernel has tens of thousands of them. */
const SINGLE: readonly (readonly number[])[] = Array.from({ length: 128 }, (_, byte) => [byte]);

/** Unsigned LEB128. */
export function unsigned(value: number): readonly number[] {
  if (value < 128) return SINGLE[value];
  const bytes: number[] = [];
  do {
    const low = value % 128;
    value = Math.floor(value / 128);
    bytes.push(value > 0 ? low | 128 : low);
  } while (value > 0);
  return bytes;
}

/** Signed LEB128 of a 32-bit integer. */
export function signed(value: number): readonly number[] {
  if (value >= -64 && value < 64) return SINGLE[value & 127];
  const bytes: number[] = [];
  value |= 0;
  for (;;) {
    const low = value & 127;
    value >>= 7;
    if ((value === 0 && (low & 64) === 0) || (value === -1 && (low & 64) !== 0)) {
      bytes.push(low);
      return bytes;
    }
    bytes.push(low | 128);
  }
}

export const I32 = {
  eqz: plain(0x45, [i32], i32),
  eq: plain(0x46, [i32, i32], i32),
  ne: plain(0x47, [i32, i32], i32),
  lt_s: plain(0x48, [i32, i32], i32),
  lt_u: plain(0x49, [i32, i32], i32),
  gt_s: plain(0x4a, [i32, i32], i32),
  le_s: plain(0x4c, [i32, i32], i32),
  ge_s: plain(0x4e, [i32, i32], i32),
  ge_u: plain(0x4f, [i32, i32], i32),
  add: plain(0x6a, [i32, i32], i32),
  sub: plain(0x6b, [i32, i32], i32),
  mul: plain(0x6c, [i32, i32], i32),
  div_s: plain(0x6d, [i32, i32], i32),
  rem_s: plain(0x6f, [i32, i32], i32),
  and: plain(0x71, [i32, i32], i32),
  or: plain(0x72, [i32, i32], i32),
  xor: plain(0x73, [i32, i32], i32),
  shl: plain(0x74, [i32, i32], i32),
  shr_s: plain(0x75, [i32, i32], i32),
  shr_u: plain(0x76, [i32, i32], i32),
  reinterpret_f32: plain(0xbc, [f32], i32),
} as const;

export const F32 = {
  eq: plain(0x5b, [f32, f32], i32),
  ne: plain(0x5c, [f32, f32], i32),
  lt: plain(0x5d, [f32, f32], i32),
  gt: plain(0x5e, [f32, f32], i32),
  add: plain(0x92, [f32, f32], f32),
  sub: plain(0x93, [f32, f32], f32),
  mul: plain(0x94, [f32, f32], f32),
  div: plain(0x95, [f32, f32], f32),
  min: plain(0x96, [f32, f32], f32),
  max: plain(0x97, [f32, f32], f32),
  convert_i32_s: plain(0xb2, [i32], f32),
  reinterpret_i32: plain(0xbe, [i32], f32),
} as const;

export const F64 = { add: plain(0xa0, [f64, f64], f64), promote_f32: plain(0xbb, [f32], f64) } as const;

export const V128 = {
  not: simd(0x4d, [v128], v128),
  and: simd(0x4e, [v128, v128], v128),
  andnot: simd(0x4f, [v128, v128], v128),
  or: simd(0x50, [v128, v128], v128),
  xor: simd(0x51, [v128, v128], v128),
  bitselect: simd(0x52, [v128, v128, v128], v128),
  any_true: simd(0x53, [v128], i32),
} as const;

export const I32X4 = {
  splat: simd(0x11, [i32], v128),
  eq: simd(0x37, [v128, v128], v128),
  ne: simd(0x38, [v128, v128], v128),
  lt_s: simd(0x39, [v128, v128], v128),
  lt_u: simd(0x3a, [v128, v128], v128),
  gt_s: simd(0x3b, [v128, v128], v128),
  le_s: simd(0x3d, [v128, v128], v128),
  ge_s: simd(0x3f, [v128, v128], v128),
  ge_u: simd(0x40, [v128, v128], v128),
  abs: simd(0xa0, [v128], v128),
  neg: simd(0xa1, [v128], v128),
  all_true: simd(0xa3, [v128], i32),
  bitmask: simd(0xa4, [v128], i32),
  extend_low_i16x8_s: simd(0xa7, [v128], v128),
  extend_low_i16x8_u: simd(0xa9, [v128], v128),
  shl: simd(0xab, [v128, i32], v128),
  shr_s: simd(0xac, [v128, i32], v128),
  shr_u: simd(0xad, [v128, i32], v128),
  add: simd(0xae, [v128, v128], v128),
  sub: simd(0xb1, [v128, v128], v128),
  mul: simd(0xb5, [v128, v128], v128),
  min_s: simd(0xb6, [v128, v128], v128),
  max_s: simd(0xb8, [v128, v128], v128),
  trunc_sat_f32x4_s: simd(0xf8, [v128], v128),
} as const;

export const I16X8 = { extend_low_i8x16_u: simd(0x89, [v128], v128) } as const;

export const I8X16 = { eq: simd(0x23, [v128, v128], v128), all_true: simd(0x63, [v128], i32) } as const;

export const F32X4 = {
  splat: simd(0x13, [f32], v128),
  eq: simd(0x41, [v128, v128], v128),
  ne: simd(0x42, [v128, v128], v128),
  lt: simd(0x43, [v128, v128], v128),
  gt: simd(0x44, [v128, v128], v128),
  le: simd(0x45, [v128, v128], v128),
  ge: simd(0x46, [v128, v128], v128),
  floor: simd(0x68, [v128], v128),
  abs: simd(0xe0, [v128], v128),
  neg: simd(0xe1, [v128], v128),
  sqrt: simd(0xe3, [v128], v128),
  add: simd(0xe4, [v128, v128], v128),
  sub: simd(0xe5, [v128, v128], v128),
  mul: simd(0xe6, [v128, v128], v128),
  div: simd(0xe7, [v128, v128], v128),
  min: simd(0xe8, [v128, v128], v128),
  max: simd(0xe9, [v128, v128], v128),
  pmin: simd(0xea, [v128, v128], v128),
  pmax: simd(0xeb, [v128, v128], v128),
  convert_i32x4_s: simd(0xfa, [v128], v128),
  relaxed_madd: simd(0x105, [v128, v128, v128], v128),
  relaxed_nmadd: simd(0x106, [v128, v128, v128], v128),
} as const;

/** Loads and stores: opcode and log2 of the natural alignment. */
export const MEMORY = {
  "i32.load": { type: i32, code: [0x28], align: 2 },
  "f32.load": { type: f32, code: [0x2a], align: 2 },
  "f64.load": { type: f64, code: [0x2b], align: 3 },
  "i32.load8_u": { type: i32, code: [0x2d], align: 0 },
  "i32.load16_s": { type: i32, code: [0x2e], align: 1 },
  "v128.load": { type: v128, code: [0xfd, 0x00], align: 4 },
  "v128.load16x4_s": { type: v128, code: [0xfd, 0x03], align: 3 },
  "v128.load32_splat": { type: v128, code: [0xfd, 0x09], align: 2 },
  "v128.load32_zero": { type: v128, code: [0xfd, 0x5c], align: 2 },
  "i32.store": { type: i32, code: [0x36], align: 2 },
  "f32.store": { type: f32, code: [0x38], align: 2 },
  "f64.store": { type: f64, code: [0x39], align: 3 },
  "i32.store8": { type: i32, code: [0x3a], align: 0 },
  "i32.store16": { type: i32, code: [0x3b], align: 1 },
  "v128.store": { type: v128, code: [0xfd, 0x0b], align: 4 },
} as const;

/** Instructions followed by a lane number. */
export const LANE = {
  "i32x4.extract_lane": { in: [v128], out: i32, code: [0xfd, 0x1b] },
  "i32x4.replace_lane": { in: [v128, i32], out: v128, code: [0xfd, 0x1c] },
  "f32x4.extract_lane": { in: [v128], out: f32, code: [0xfd, 0x1f] },
  "f32x4.replace_lane": { in: [v128, f32], out: v128, code: [0xfd, 0x20] },
} as const;

export const SHUFFLE = [0xfd, 0x0d] as const;

/** Value types in the binary format. */
export const TYPE: Readonly<Record<ValueType, number>> = { i32: 0x7f, f32: 0x7d, f64: 0x7c, v128: 0x7b };
