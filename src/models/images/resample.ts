/**
 * Resampling along one axis, as weighted sums of a few neighbors: pictures as Pillow does it (Resample.c of python-pillow/Pillow:
 * weights of 22 bits, rounded to bytes after each axis), and tables of positions as `interpolate` of PyTorch does it.
 */
import type { Pixels } from "../../io/read-png.ts";

/** The neighbors of one output: input `first` has weight `weights[0]`, and so on. */
export interface Taps {
  readonly first: number;
  readonly weights: Float64Array;
}

/** A kernel and the distance from which it is 0. */
interface Kernel {
  readonly support: number;
  at(distance: number): number;
}

/** The cubic convolution of Keys (1981) with its parameter. */
const cubic = (a: number): Kernel => ({
  support: 2,
  at(x) {
    const t = Math.abs(x);
    if (t < 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? (((t - 5) * t + 8) * t - 4) * a : 0;
  },
});

const sinc = (x: number) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

/** Kernels by Pillow's numbers for them, which preprocessor_config.json has as `resample`. */
const KERNELS: Readonly<Record<number, Kernel>> = {
  0: { support: 0, at: () => 1 }, // nearest
  1: { support: 3, at: (x) => (-3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0) }, // Lanczos
  2: { support: 1, at: (x) => Math.max(0, 1 - Math.abs(x)) }, // bilinear
  3: cubic(-0.5), // bicubic
  4: { support: 0.5, at: (x) => (-0.5 < x && x <= 0.5 ? 1 : 0) }, // box
};

/** True for a number of a kernel that `resizePicture` has. */
export const isKernel = (resample: unknown): resample is number =>
  typeof resample === "number" && Object.hasOwn(KERNELS, resample);

/** The neighbors of each output of a smooth resize from `from` to `to` numbers: the kernel grows where it shrinks. */
export function smoothTaps(from: number, to: number, resample: number): Taps[] {
  const kernel = KERNELS[resample];
  const step = from / to;
  const growth = Math.max(1, step);
  const shrink = 1 / growth;
  const support = kernel.support * growth;
  return Array.from({ length: to }, (_, n) => {
    const center = (n + 0.5) * step;
    if (resample === 0) return { first: Math.min(from - 1, Math.floor(center)), weights: Float64Array.of(1) };
    const first = Math.max(0, Math.trunc(center - support + 0.5));
    const end = Math.min(from, Math.trunc(center + support + 0.5));
    const weights = Float64Array.from({ length: end - first }, (_, i) =>
      kernel.at((first + i - center + 0.5) * shrink),
    );
    const sum = weights.reduce((total, weight) => total + weight, 0);
    return { first, weights: weights.map((weight) => weight / sum) };
  });
}

const SHARP = cubic(-0.75);

/** The four neighbors of each output of PyTorch's bicubic `interpolate` without antialiasing, clamped to the edge. */
export function sharpTaps(from: number, to: number): Taps[] {
  return Array.from({ length: to }, (_, n) => {
    const center = ((n + 0.5) * from) / to - 0.5;
    const base = Math.floor(center);
    const first = Math.min(Math.max(0, base - 1), from - 1);
    const end = Math.max(Math.min(from - 1, base + 2), 0);
    const weights = new Float64Array(end - first + 1);
    for (let i = base - 1; i <= base + 2; i++)
      weights[Math.min(Math.max(i, 0), from - 1) - first] += SHARP.at(center - i);
    return { first, weights };
  });
}

/** Numbers [rows, columns, width] resampled to other rows and columns: columns first, then rows. */
export function resampleGrid(
  data: ArrayLike<number>,
  width: number,
  columnsFrom: number,
  rows: readonly Taps[],
  columns: readonly Taps[],
  rowsFrom: number,
): Float64Array {
  const across = new Float64Array(rowsFrom * columns.length * width);
  for (let y = 0; y < rowsFrom; y++)
    columns.forEach(({ first, weights }, x) => {
      const to = (y * columns.length + x) * width;
      weights.forEach((weight, i) => {
        const from = (y * columnsFrom + first + i) * width;
        for (let c = 0; c < width; c++) across[to + c] += weight * data[from + c];
      });
    });
  const line = columns.length * width;
  const out = new Float64Array(rows.length * line);
  rows.forEach(({ first, weights }, y) => {
    weights.forEach((weight, i) => {
      for (let c = 0; c < line; c++) out[y * line + c] += weight * across[(first + i) * line + c];
    });
  });
  return out;
}

const BITS = 22;

/** Weights as Pillow has them: whole numbers of 22 bits. */
const rounded = (taps: readonly Taps[]): Taps[] =>
  taps.map(({ first, weights }) => ({
    first,
    weights: weights.map((weight) => Math.trunc((weight < 0 ? -0.5 : 0.5) + weight * 2 ** BITS)),
  }));

const byte = (sum: number) => Math.min(255, Math.max(0, Math.floor((sum + 2 ** (BITS - 1)) / 2 ** BITS)));

/**
 * A picture of three bytes a pixel, resized; byte for byte what `resize` of Pillow 13 gives: columns first, but rows first where the
 * width grows and the height shrinks.
 */
export function resizePicture(picture: Pixels, toWidth: number, toHeight: number, resample: number): Pixels {
  const { width, height } = picture;
  const columns = (from: Pixels) => (toWidth === width ? from : resizeColumns(from, toWidth, resample));
  const rows = (from: Pixels) => (toHeight === height ? from : resizeRows(from, toHeight, resample));
  return toWidth > width && toHeight < height ? columns(rows(picture)) : rows(columns(picture));
}

function resizeColumns({ width, height, data }: Pixels, to: number, resample: number): Pixels {
  const taps = rounded(smoothTaps(width, to, resample));
  const out = new Uint8Array(3 * to * height);
  for (let y = 0; y < height; y++)
    taps.forEach(({ first, weights }, x) => {
      for (let c = 0; c < 3; c++) {
        let sum = 0;
        for (let i = 0; i < weights.length; i++) sum += weights[i] * data[3 * (y * width + first + i) + c];
        out[3 * (y * to + x) + c] = byte(sum);
      }
    });
  return { width: to, height, data: out };
}

function resizeRows({ width, height, data }: Pixels, to: number, resample: number): Pixels {
  const line = 3 * width;
  const out = new Uint8Array(to * line);
  rounded(smoothTaps(height, to, resample)).forEach(({ first, weights }, y) => {
    for (let c = 0; c < line; c++) {
      let sum = 0;
      for (let i = 0; i < weights.length; i++) sum += weights[i] * data[(first + i) * line + c];
      out[y * line + c] = byte(sum);
    }
  });
  return { width, height: to, data: out };
}
