/**
 * Array operations that compare elements or add them up in order, as those of array.ts; and `arrayOperation`, which runs any of both files.
 */
import type { ArrayOperation, Comparison } from "../backend/array.ts";
import { numbersOf } from "../core/numbers.ts";
import { Tensor } from "../core/tensor.ts";
import * as loops from "./array.ts";
import { broadcastTo, type Named, resultOf } from "./array.ts";

const COMPARISONS: Readonly<Record<Comparison, (a: number, b: number) => boolean>> = {
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
};

/** y = whether a ∘ b. */
export function compare({ function: f, a, b, y }: Named<"compare">): void {
  const [p, q] = [a, b].map((t) => broadcastTo(new Tensor(t.toFloat64(), t.shape, "float64"), y.shape));
  const [out, holds] = [y.data as Uint8Array, COMPARISONS[f]];
  for (let n = 0; n < out.length; n++) out[n] = Number(holds(p[n], q[n]));
}

/** y = running sums. */
export function cumsum({ x, reverse, y }: Named<"cumsum">): void {
  const [outer, length, inner] = x.shape;
  const [from, out] = [numbersOf(x), resultOf(y)];
  for (let row = 0; row < outer * inner; row++) {
    const start = Math.floor(row / inner) * inner * length + (row % inner);
    let total = 0;
    for (let i = 0; i < length; i++) {
      const at = start + (reverse ? length - 1 - i : i) * inner;
      total += from[at];
      out[at] = total;
    }
  }
}

/** The elements in order, and their indices before. */
export function sort({ x, descending, y, position }: Named<"sort">): void {
  const [outer, length, inner] = x.shape;
  const [from, out, at] = [numbersOf(x), resultOf(y), position.data as Int32Array];
  const rank = (a: number, b: number) => (a !== a ? Number(b === b) : b !== b ? -1 : a - b || 0);
  for (let row = 0; row < outer * inner; row++) {
    const start = Math.floor(row / inner) * inner * length + (row % inner);
    // ∞ − ∞ is NaN, which `|| 0` makes equal.
    const order = Int32Array.from({ length }, (_, n) => n).sort((i, j) => {
      const difference = rank(from[start + i * inner], from[start + j * inner]);
      return (descending ? -difference : difference) || i - j;
    });
    for (const [n, i] of order.entries()) {
      out[start + n * inner] = from[start + i * inner];
      at[start + n * inner] = i;
    }
  }
}

/** The largest or smallest element of each row, and its index. */
export function extreme({ function: f, x, y, position }: Named<"extreme">): void {
  const [, length, inner] = x.shape;
  const [from, out, at] = [numbersOf(x), resultOf(y), position.data as Int32Array];
  for (let n = 0; n < out.length; n++) {
    const start = Math.floor(n / inner) * inner * length + (n % inner);
    let best = 0;
    let extremum = from[start];
    for (let i = 1; i < length; i++) {
      const value = from[start + i * inner];
      if ((f === "max" ? value > extremum : value < extremum) || (value !== value && extremum === extremum)) {
        best = i;
        extremum = value;
      }
    }
    out[n] = extremum;
    at[n] = best;
  }
}

/** dx = dy at the positions, 0 elsewhere. */
export function extremeBackward({ dy, position, dx }: Named<"extreme-backward">): void {
  const [, length, inner] = dx.shape;
  const [upstream, out, at] = [numbersOf(dy), resultOf(dx).fill(0), position.data as Int32Array];
  const block = dy.shape[1] * inner;
  for (let n = 0; n < upstream.length; n++)
    out[Math.floor(n / block) * inner * length + at[n] * inner + (n % inner)] = upstream[n];
}

/** The loops of each operation. */
const LOOPS: { readonly [N in ArrayOperation["name"]]: (operation: Named<N>) => void } = {
  binary: loops.binary,
  "divide-backward": loops.divideBackward,
  cast: loops.cast,
  where: loops.where,
  power: loops.power,
  compare,
  cumsum,
  sort,
  scale: loops.scale,
  elementwise: loops.elementwise,
  "elementwise-backward": loops.elementwiseBackward,
  sum: loops.sum,
  extreme,
  "extreme-backward": extremeBackward,
  softmax: loops.softmax,
  "softmax-backward": loops.softmaxBackward,
  assign: loops.assign,
  embedding: loops.embedding,
  "embedding-backward": loops.embeddingBackward,
  rope: loops.rope,
  dropout: loops.dropout,
  mergeStates: loops.mergeStates,
};

/** Runs an array operation. */
export const arrayOperation = (operation: ArrayOperation): void =>
  (LOOPS[operation.name] as (operation: ArrayOperation) => void)(operation);
