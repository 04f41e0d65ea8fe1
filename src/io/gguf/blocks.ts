/**
 * Blocks of quantized numbers in GGUF files: how each kind is stored and unpacked to float32. `d` is a scale of a block, `m` what is
 * subtracted or added, q an integer of a few bits (ggml-org/ggml, src/ggml-quants.c, dequantize_row_*).
 */
import { fromFloat16 } from "../../core/dtype.ts";

/** A kind of block. */
export interface BlockKind {
  readonly name: string;
  /** Numbers of a block, and its bytes. */
  readonly length: number;
  readonly bytes: number;
  /** Unpacks the block at byte `at` of `view` into `out` from `to` on. */
  readonly unpack: (view: DataView, at: number, out: Float32Array, to: number) => void;
}

const half = (view: DataView, at: number) => fromFloat16(view.getUint16(at, true));

/** 32 numbers of 4 bits, the low halves of 16 bytes first; `high` has a fifth bit of each. */
function nibbles(
  view: DataView,
  at: number,
  out: Float32Array,
  to: number,
  value: (q: number) => number,
  high = 0,
): void {
  for (let j = 0; j < 16; j++) {
    const byte = view.getUint8(at + j);
    out[to + j] = value((byte & 15) | (((high >>> j) & 1) << 4));
    out[to + j + 16] = value((byte >> 4) | (((high >>> (j + 16)) & 1) << 4));
  }
}

/** Scale and minimum j of 8, of 6 bits each in 12 bytes. */
function scaleAndMinimum(view: DataView, at: number, j: number): readonly [number, number] {
  const byte = (i: number) => view.getUint8(at + i);
  if (j < 4) return [byte(j) & 63, byte(j + 4) & 63];
  return [(byte(j + 4) & 15) | ((byte(j - 4) >> 6) << 4), (byte(j + 4) >> 4) | ((byte(j) >> 6) << 4)];
}

/** 256 numbers of 4 bits, with a fifth bit at `bits` if there is one; 8 groups of 32 have a scale and a minimum each. */
function superBlock(
  view: DataView,
  at: number,
  out: Float32Array,
  to: number,
  places: { readonly quants: number; readonly bits?: number },
): void {
  const [d, minimum] = [half(view, at), half(view, at + 2)];
  for (let group = 0; group < 8; group++) {
    const [sc, m] = scaleAndMinimum(view, at + 4, group);
    const [scale, offset] = [d * sc, minimum * m];
    const shift = group % 2 === 0 ? 0 : 4;
    for (let l = 0; l < 32; l++) {
      const low = (view.getUint8(at + places.quants + (group >> 1) * 32 + l) >> shift) & 15;
      const fifth = places.bits === undefined ? 0 : (view.getUint8(at + places.bits + l) >> group) & 1;
      out[to + group * 32 + l] = scale * (low | (fifth << 4)) - offset;
    }
  }
}

/** The kinds by their number in the file. */
export const BLOCK_KINDS: ReadonlyMap<number, BlockKind> = new Map<number, BlockKind>([
  [
    2,
    {
      name: "Q4_0",
      length: 32,
      bytes: 18,
      unpack(view, at, out, to) {
        const d = half(view, at);
        nibbles(view, at + 2, out, to, (q) => d * (q - 8));
      },
    },
  ],
  [
    3,
    {
      name: "Q4_1",
      length: 32,
      bytes: 20,
      unpack(view, at, out, to) {
        const [d, m] = [half(view, at), half(view, at + 2)];
        nibbles(view, at + 4, out, to, (q) => d * q + m);
      },
    },
  ],
  [
    6,
    {
      name: "Q5_0",
      length: 32,
      bytes: 22,
      unpack(view, at, out, to) {
        const d = half(view, at);
        nibbles(view, at + 6, out, to, (q) => d * (q - 16), view.getUint32(at + 2, true));
      },
    },
  ],
  [
    7,
    {
      name: "Q5_1",
      length: 32,
      bytes: 24,
      unpack(view, at, out, to) {
        const [d, m] = [half(view, at), half(view, at + 2)];
        nibbles(view, at + 8, out, to, (q) => d * q + m, view.getUint32(at + 4, true));
      },
    },
  ],
  [
    8,
    {
      name: "Q8_0",
      length: 32,
      bytes: 34,
      unpack(view, at, out, to) {
        const d = half(view, at);
        for (let j = 0; j < 32; j++) out[to + j] = d * view.getInt8(at + 2 + j);
      },
    },
  ],
  [
    12,
    {
      name: "Q4_K",
      length: 256,
      bytes: 144,
      unpack: (view, at, out, to) => superBlock(view, at, out, to, { quants: 16 }),
    },
  ],
  [
    13,
    {
      name: "Q5_K",
      length: 256,
      bytes: 176,
      unpack: (view, at, out, to) => superBlock(view, at, out, to, { quants: 48, bits: 16 }),
    },
  ],
  [
    14,
    {
      name: "Q6_K",
      length: 256,
      bytes: 210,
      unpack(view, at, out, to) {
        const d = half(view, at + 208);
        for (let n = 0; n < 256; n++) {
          // Halves of 128; in each, four groups of 32 share bytes: two low groups in low halves, two high ones in high halves.
          const [part, group, l] = [n >> 7, (n >> 5) & 3, n & 31];
          const byte = view.getUint8(at + part * 64 + (group & 1) * 32 + l);
          const low = group < 2 ? byte & 15 : byte >> 4;
          const high = (view.getUint8(at + 128 + part * 32 + l) >> (2 * group)) & 3;
          out[to + n] = d * view.getInt8(at + 192 + (n >> 4)) * ((low | (high << 4)) - 32);
        }
      },
    },
  ],
]);

/** Kinds that heed does not unpack, for errors. */
export const OTHER_KINDS: ReadonlyMap<number, string> = new Map([
  [9, "Q8_1"],
  [10, "Q2_K"],
  [11, "Q3_K"],
  [15, "Q8_K"],
  [16, "IQ2_XXS"],
  [17, "IQ2_XS"],
  [18, "IQ3_XXS"],
  [19, "IQ1_S"],
  [20, "IQ4_NL"],
  [21, "IQ3_S"],
  [22, "IQ2_S"],
  [23, "IQ4_XS"],
  [29, "IQ1_M"],
  [34, "TQ1_0"],
  [35, "TQ2_0"],
  [39, "MXFP4"],
]);
