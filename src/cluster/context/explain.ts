/**
 * How attention over shards would run: the positions and the work of each rank, the bytes that ranks send, and the plan of the
 * slowest rank. Nothing is computed or sent.
 */

import { explain } from "../../api/explain.ts";
import { bytesText, countText, type Plan } from "../../backend/plan/plan.ts";
import { resolve } from "../../backend/problem.ts";
import { arrayFor, DTYPES, type DType } from "../../core/dtype.ts";
import { checkCount, formatTensor, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { asTensor, Tensor, type TensorLike } from "../../core/tensor.ts";
import { allRows, localOptions, rowsOf } from "./call.ts";
import { type ContextOptions, checkChoices, chooseVia, type Via } from "./options.ts";
import { exactDtype } from "./rounding.ts";
import { ShardPlan, shardSequence } from "./shard.ts";

/** Options of `explainContext`: those of `contextAttention` for sharded queries, how to shard, and which pass is planned. @beta */
export interface ExplainContextOptions extends Omit<ContextOptions, "queries" | "queryPositions"> {
  /** The forward call, or the backward pass of the same call. Default `"forward"`. */
  readonly pass?: "forward" | "backward";
  /** The quantity that ranks share equally: visible tiles under the mask (default), or tokens. */
  readonly cost?: "tiles" | "tokens";
}

/** How a call over shards would run. Bytes and operations are computed, not measured. @beta */
export interface ContextPlan {
  readonly shards: ShardPlan;
  readonly pass: "forward" | "backward";
  /** The algorithm of the call. */
  readonly via: Exclude<Via, "auto">;
  /** Visible tiles of the queries of each rank. */
  readonly tiles: readonly number[];
  /** Share of the work of each rank. */
  readonly shares: readonly number[];
  /** Multiplications and additions over the visible tiles, of all ranks together. */
  readonly operations: number;
  /** Bytes that the full weights would take in float32; they are not stored. */
  readonly weightsBytes: number;
  readonly bytes: {
    /** Bytes that a rank sends in the forward call, via gather or ring. */
    readonly forward: number;
    /** Bytes that it sends in the backward pass. Via ring, gradients of keys and values make one more step, back to their rank. */
    readonly backward: number;
    /** Bytes that a rank receives for one query when decoding, via resident. */
    readonly decode: number;
    /** Bytes of keys and values that a rank holds: of all ranks via gather, of two via ring. */
    readonly gathered: number;
    readonly ring: number;
  };
  /** The rank with the most work, and the plan of its largest call. */
  readonly slowest: { readonly rank: number; readonly calls: number; readonly plan: Plan };
  /** The plan as lines of text. */
  toString(): string;
}

const OWN_NAMES = ["pass", "cost", "via", "memory", "isCausal"];
const CALL_NAMES = ["attnMask", "scale", "scoreMod", "sinks", "dropoutP", "seed", "layout"];

/**
 * How `contextAttention`, or its backward pass, would run over a sequence, as a printable plan.
 *
 * @param ranks a number of ranks, for which `shardSequence` makes the plan with the masks of `options`, or a plan
 * @param query [..., Hq, N, dk] over the whole sequence, as key [..., Hkv, N, dk] and value [..., Hkv, N, dv]: only their
 * shapes and dtypes are read
 * @example
 * import { zeros } from "heed";
 * const q = zeros([1, 12, 8192, 64]);
 * console.log(String(explainContext(8, q, q, q, { isCausal: true })));
 * @throws ShapeError, OptionError
 * @beta
 */
export function explainContext(
  ranks: number | ShardPlan,
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: ExplainContextOptions = {},
): ContextPlan {
  checkCount("explainContext", arguments, 5);
  const what = "explainContext";
  checkOptionNames(what, options, [...CALL_NAMES, ...OWN_NAMES]);
  checkChoices(what, options);
  const { pass = "forward", cost = "tiles", via = "auto", layout = "bhsd" } = options;
  const [q, k, v] = Object.entries({ query, key, value }).map(([name, t]) =>
    standIn(what, name, asTensor(`${what}: ${name}`, t), layout),
  );
  const { base, members, local } = localOptions(what, options);
  const sinks = options.sinks === undefined ? {} : { sinks: options.sinks };
  const call = { ...base, attnMask: members, ...sinks };
  const problem = resolve(what, q, k, v, call);
  const { B, Hq, Nq, Nk, dv } = problem.shape;
  if (Nq !== Nk)
    throw new ShapeError(
      "shard",
      `${what}: a sequence is sharded with itself; got ${Nq} queries and ${Nk} keys`,
      { queries: Nq, keys: Nk },
    );
  const shards =
    ranks instanceof ShardPlan
      ? ranks
      : shardSequence({
          length: Nq,
          ranks,
          cost,
          batch: Math.max(1, B),
          heads: Math.max(1, Hq),
          ...(options.attnMask !== undefined && { attnMask: options.attnMask }),
          isCausal: options.isCausal === true,
        });
  if (shards.length !== Nq)
    throw new ShapeError(
      "shard",
      `${what}: the plan is for ${shards.length} positions, and query has ${Nq} (${formatTensor("query", q)})`,
      { plan: shards.length, got: Nq },
    );
  const chosen = via === "auto" ? chooseVia(problem, k, v, false, options) : via;
  const single = explain(q, k, v, { ...call, pass });
  const { costs } = shards;
  const total = costs.reduce((sum, x) => sum + x, 0);
  const rank = costs.indexOf(Math.max(...costs));
  const localRows = rowsOf(shards, rank);
  const all = allRows(shards);
  const [queries, keys] = {
    gather: [localRows, all],
    ring: [localRows, localRows],
    resident: [all, localRows],
  }[chosen];
  const [rows, columns] = [queries.positions.length, keys.positions.length];
  // Partial results are float32 or float64: 16-bit queries are widened before the call.
  const widened = new Tensor(
    arrayFor(exactDtype(q.dtype), 1),
    withRows(q, rows),
    exactDtype(q.dtype),
    q.strides,
  );
  const [localKey, localValue] = [k, v].map(
    (t) => new Tensor(t.data, withRows(t, columns), t.dtype, t.strides),
  );
  const plan = explain(widened, localKey, localValue, { ...local(queries, keys), ...sinks, pass });
  const both = DTYPES[k.dtype].bytes * k.size + DTYPES[v.dtype].bytes * v.size;
  const sent = (both * (shards.ranks - 1)) / shards.ranks;
  const result: ContextPlan = {
    shards,
    pass,
    via: chosen,
    tiles: costs,
    shares: costs.map((x) => (total === 0 ? 1 / shards.ranks : x / total)),
    operations: single.operations,
    weightsBytes: single.weightsBytes ?? 4 * B * Hq * Nq * Nk,
    bytes: {
      forward: Math.round(sent),
      backward: Math.round(sent + (chosen === "ring" ? both : sent)),
      decode: (shards.ranks - 1) * 4 * B * Hq * (dv + 1),
      gathered: both,
      ring: Math.round((2 * both) / shards.ranks),
    },
    slowest: { rank, calls: chosen === "ring" ? shards.ranks : 1, plan },
    toString: () => print(result),
  };
  return Object.defineProperty(result, "toString", { enumerable: false });
}

/** A tensor of the same shape and dtype over one element, in layout bhsd: it takes no memory. */
function standIn(what: string, name: string, t: Tensor, layout: "bhsd" | "bshd"): Tensor {
  const shape = [...t.shape];
  const n = shape.length;
  if (layout === "bshd") {
    if (n < 3)
      throw new ShapeError(name, `${what}: ${name} must be [..., N, H, d], got ${formatTensor(name, t)}`, {
        got: t.shape,
      });
    [shape[n - 3], shape[n - 2]] = [shape[n - 2], shape[n - 3]];
  }
  const strides = shape.map(() => 0);
  return new Tensor(arrayFor(t.dtype as DType, 1), shape, t.dtype, strides);
}

const withRows = ({ shape }: Tensor, rows: number): number[] => [
  ...shape.slice(0, -2),
  rows,
  shape[shape.length - 1],
];

function print({ shards, pass, via, operations, weightsBytes, bytes, slowest, shares }: ContextPlan): string {
  const { rank, calls, plan } = slowest;
  const share = (100 * shares[rank]).toFixed(1);
  return [
    String(shards),
    `${countText(operations)} operations (${pass}), ${share} % on rank ${rank}; the weights, ${bytesText(weightsBytes)} in full, are not stored`,
    `a rank sends ${bytesText(bytes.forward)} forward and ${bytesText(bytes.backward)} backward (${via === "ring" ? "ring" : "gather"}), and receives ${bytesText(bytes.decode)} for a query when decoding (resident)`,
    `a rank holds ${bytesText(bytes.gathered)} of keys and values via gather, ${bytesText(bytes.ring)} via ring; this call goes via ${via}`,
    `rank ${rank} runs ${calls === 1 ? "one call" : `${calls} calls; the first`}:`,
    ...String(plan)
      .split("\n")
      .map((line) => `  ${line}`),
  ].join("\n");
}
