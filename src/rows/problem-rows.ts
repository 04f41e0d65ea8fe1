/**
 * The row engine on a resolved call: every mask, score mod and dtype, one row at a time. The forward pass, the weights and the
 * backward passes of the reference use it.
 */

import type { Problem } from "../backend/problem.ts";
import { readerOf } from "../core/dtype.ts";
import { cellBits, dropoutThreshold, headKey, rowKey } from "../core/random/random.ts";
import type { Operand } from "../core/shape.ts";
import { compile } from "../masks/expression/js.ts";
import { type Elements, type FloatArray, HeadRows, type Keys } from "./head-rows.ts";
import { floatProducts } from "./products.ts";
import { exponentiate, weight } from "./softmax.ts";

/** Scores and dropout factors, one row at a time. */
export interface RowWalker {
  /**
   * Fills `scores` [Nk] with the scores of a row after scale, score mods and masks; −∞ where masked. Returns their maximum.
   * Fills `before` with the scores of visible keys before all score mods: scale·q·k.
   */
  scores(b: number, h: number, row: number, scores: Float64Array, before?: Float64Array): number;
  /** Dropout factor of a cell: 0 or 1/(1 − p). */
  dropoutFactor(b: number, h: number, row: number, k: number): number;
}

/** A function that copies one vector of an operand into an array. */
export function vectorsOf(x: Operand): (b: number, h: number, row: number, into: Float64Array) => void {
  const read = readerOf(x.tensor.dtype, x.tensor.data);
  return (b, h, row, into) => {
    const at = x.base[b] + h * x.head + row * x.row;
    for (let d = 0; d < into.length; d++) into[d] = read(at + d * x.column);
  };
}

/** A function that returns the part of a tensor that belongs to one head. */
function headsOf({ tensor, base, head, row, column }: Operand): (b: number, h: number) => Elements {
  const read = readerOf(tensor.dtype, tensor.data);
  return (b, h) => ({ read, start: base[b] + h * head, rowStride: row, columnStride: column });
}

/** The data of keys that are float32 or float64, row after row; otherwise undefined. */
function denseFloats({ tensor, row, column }: Operand, d: number): FloatArray | undefined {
  const { data } = tensor;
  const isDense = row === d && column === 1;
  return isDense && (data instanceof Float32Array || data instanceof Float64Array) ? data : undefined;
}

const keysOf = (head: Elements, floats: FloatArray | undefined): Keys =>
  floats ? { ...head, products: floatProducts(floats.subarray(head.start)) } : head;

/** The scores and dropout factors of a problem. */
export function rowsOf(problem: Problem): RowWalker {
  const { shape, scale, offsets, positions, sinks, dropoutP } = problem;
  const { G, Nk, dk } = shape;
  const mask = problem.mask && compile(problem.mask);
  const mods = problem.score ? [compile(problem.score)] : [];
  const [query, key] = [headsOf(shape.query), headsOf(shape.key)];
  const floats = denseFloats(shape.key, dk);
  const masks = problem.tensors.map((t) => [t.kind === "bool" ? "keep" : "add", headsOf(t)] as const);
  const headRows = (b: number, h: number) =>
    new HeadRows({
      b,
      h,
      offset: offsets[b],
      Nk,
      d: dk,
      scale,
      mask,
      mods,
      sink: sinks?.[h],
      query: query(b, h),
      key: keysOf(key(b, Math.floor(h / G)), floats),
      tensors: masks.map(([kind, part]) => ({ ...part(b, h), kind })),
    });
  // Callers walk all rows of a head before the next.
  let current: HeadRows | undefined;
  const threshold = dropoutThreshold(dropoutP);
  return {
    scores(b, h, row, scores, before) {
      if (current?.inputs.b !== b || current.inputs.h !== h) current = headRows(b, h);
      return current.scores(row, scores, 0, Nk, before);
    },
    dropoutFactor(b, h, row, k) {
      if (dropoutP === 0) return 1;
      const bits = cellBits(
        rowKey(headKey(problem.seed, b, h), positions.query(b, row)),
        positions.key(b, k),
      );
      return bits >= threshold ? 1 / (1 - dropoutP) : 0;
    },
  };
}

/**
 * The weights of a row from its scores and an lse of the caller: p = exp(s − lse), without dropout. A float32 lse of 10⁴ has a
 * rounding error of up to 5e-4, which every weight would show. So where it is the lse of exactly these keys, and not of more
 * that were merged (`complete`), lse is computed again from the scores, unrounded. Returns the lse used; default: that of
 * these keys.
 */
export function rowWeights(
  problem: Problem,
  h: number,
  callerLse: number | undefined,
  highest: number,
  scores: Float64Array,
  p: Float64Array,
): { lse: number; complete: boolean } {
  p.set(scores);
  const { l, lse: rowLse } = exponentiate(p, highest, problem.sinks?.[h]);
  if (callerLse === -Infinity || (callerLse === undefined && rowLse === -Infinity)) {
    p.fill(0);
    return { lse: -Infinity, complete: true };
  }
  // Equal within the rounding of the caller's lse: other keys contributed no more than that.
  const rounding = problem.dtype === "float64" ? 2 ** -50 : 2 ** -22;
  const complete =
    callerLse === undefined || Math.abs(rowLse - callerLse) <= rounding * (1 + Math.abs(rowLse));
  for (let k = 0; k < p.length; k++) p[k] = complete ? p[k] / l : weight(scores[k], callerLse as number);
  return { lse: complete ? rowLse : (callerLse as number), complete };
}
