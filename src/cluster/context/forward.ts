/**
 * Attention over a sequence that is sharded over ranks (context parallel). Three algorithms with the same result:
 *
 *   gather    every rank collects all keys and values and computes its own queries: one call, the smallest error
 *   ring      keys and values are passed around the ring, one shard at a time, while the rank computes with its current shard;
 *             partial results are merged (Liu et al. 2023, Ring Attention). Memory for two shards only
 *   resident  keys and values stay on their rank: queries are sent to all ranks, and (output, lse) are returned and merged.
 *             For decoding
 *
 * Every rank merges in the same order on every run, so the same plan gives the same bits, independent of timing. Partial
 * results are float32 or float64, also for 16-bit inputs.
 */
import { scaledDotProductAttention } from "../../attention.ts";
import {
  type AttentionOptions,
  addedScores,
  isMaskList,
  maskMembers,
  type Problem,
  resolve,
} from "../../backend/problem.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import { arrayFor, type FloatDType, isFloat, readerOf, writerOf } from "../../core/dtype.ts";
import { formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import type { State } from "../../core/state.ts";
import { asTensor, Tensor, type TensorLike, transposed } from "../../core/tensor.ts";
import { BoolExpression, ScoreMod, substitute, VARS } from "../../masks/expression/expr.ts";
import { mergeStates } from "../../merge.ts";
import { agree, type Terms, termOf, termOfNumbers } from "../communicator/agree.ts";
import { releaseBuffer, takeBuffer } from "../communicator/buffers.ts";
import { type Communicator, checkCommunicator } from "../communicator/communicator.ts";
import { formOf, gatherRows, messageBytes, pack, scatterRows, unpack } from "./messages.ts";
import { type PositionRange, ShardPlan, takeRanges } from "./shard.ts";

/** The algorithm of a call. */
export type Via = "gather" | "ring" | "resident" | "auto";

/** Options of `contextAttention`: those of `scaledDotProductAttention`, for the whole sequence. */
export interface ContextOptions
  extends Pick<
    AttentionOptions,
    "attnMask" | "scale" | "scoreMod" | "sinks" | "dropoutP" | "seed" | "layout"
  > {
  /** Causal attention. Default false. */
  readonly isCausal?: boolean;
  /**
   * Default `"auto"`: `"resident"` for replicated queries, else `"gather"` where the whole sequence's keys and values take at
   * most `memory` bytes on each rank, else `"ring"`.
   */
  readonly via?: Via;
  /** Maximum bytes of gathered keys and values on a rank; `"auto"` uses the ring above it. Default 1 GiB. */
  readonly memory?: number;
  /**
   * `"sharded"`: each rank passes the queries of its own positions (default). `"replicated"`: every rank passes the same queries,
   * at `queryPositions`, and receives the whole result: for decoding.
   */
  readonly queries?: "sharded" | "replicated";
  /** Positions of replicated queries, increasing. Default: the last positions of the plan. */
  readonly queryPositions?: ArrayLike<number>;
}

const OWN_NAMES = ["isCausal", "via", "memory", "queries", "queryPositions"];
const SHARED_NAMES = ["attnMask", "scale", "scoreMod", "sinks", "dropoutP", "seed", "layout"];

/** A checked call on which all ranks agree: the input of all three algorithms. */
export interface ContextCall {
  readonly what: string;
  readonly comm: Communicator;
  readonly plan: ShardPlan;
  readonly via: Exclude<Via, "auto">;
  readonly replicated: boolean;
  /** [..., Hq, n, dk], widened to float32 where the input has 16 bits. */
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  /** The caller's query: the output has its dtype and array class. */
  readonly queryLike: Tensor;
  readonly layout: "bhsd" | "bshd";
  /** Positions of this rank's queries. */
  readonly positions: ArrayLike<number>;
  readonly sinks: AttentionOptions["sinks"];
  /** Mask members as the caller gave them: expressions over positions, and tensors over the whole sequence. */
  readonly masks: readonly (BoolExpression | Tensor)[];
  /** True where `attnMask` is a list: gradients are a list too. */
  readonly isMaskList: boolean;
  /** Options that every local call shares. */
  readonly base: AttentionOptions;
  /** Options of a local call: queries and keys at these positions; undefined: all positions of the plan. */
  local(queries: Local, keys: Local): AttentionOptions;
}

/** Rows of a local call: ranges that select parts of mask tensors, and positions. Undefined ranges: rows outside the plan (replicated queries). */
export interface Local {
  readonly ranges?: readonly PositionRange[];
  readonly positions: ArrayLike<number>;
}

/**
 * Attention over a sequence of which this rank holds the positions `plan.ranges(comm.rank)`.
 *
 * @param query [..., Hq, n, dk], the rows of this rank's positions; key [..., Hkv, n, dk] and value [..., Hkv, n, dv] likewise
 * @param options masks, score mods, sinks and dropout as for the whole sequence in one process; mask tensors over the whole
 * sequence, [..., Hq, N, N] or broadcast
 * @returns output [..., Hq, n, dv] and lse [..., Hq, n] of this rank's queries
 * @example
 * const comm = await joinCluster();
 * const plan = shardSequence({ length: N, ranks: comm.size, isCausal: true });
 * const { output, lse } = await contextAttention(comm, plan, q, k, v, { isCausal: true });
 * @throws on every rank, before any work, where ranks disagree (code `cluster-disagreement`) or one's arguments are wrong
 */
export async function contextAttention(
  comm: Communicator,
  plan: ShardPlan,
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: ContextOptions = {},
): Promise<State> {
  const call = await prepare("contextAttention", comm, plan, query, key, value, options);
  const state = await { gather, ring, resident }[call.via](call);
  return narrowState(call, state);
}

async function gather(call: ContextCall): Promise<State> {
  const { comm, plan } = call;
  const [key, value] = await gatherRows(comm, plan, [call.key, call.value]);
  const all = wholeOf(plan);
  return scaledDotProductAttention(call.query, key, value, {
    ...call.local(ownRows(call), all),
    ...(call.sinks !== undefined && { sinks: call.sinks }),
  });
}

async function ring(call: ContextCall): Promise<State> {
  const { comm, plan, query } = call;
  const { rank, size } = comm;
  const mine = ownRows(call);
  let merged: State | undefined;
  for await (const { owner, tensors, step } of aroundRing(comm, plan, [call.key, call.value])) {
    const [key, value] = tensors;
    const theirs = rowsOf(plan, owner);
    const state = scaledDotProductAttention(query, key, value, {
      ...call.local(mine, theirs),
      // A sink counts once: with the rank's own keys.
      ...(step === 0 && call.sinks !== undefined && { sinks: call.sinks }),
    });
    merged = merged ? mergeStates([merged, state]) : state;
  }
  if (merged === undefined) throw new RangeError(`ring of ${size} ranks: rank ${rank} computed nothing`);
  return merged;
}

/**
 * Each rank's tensors in turn: this rank's own, then those of the rank before it, and so on. While the caller computes with one
 * shard, the next is in transit.
 */
export async function* aroundRing(
  comm: Communicator,
  plan: ShardPlan,
  own: readonly Tensor[],
): AsyncGenerator<{ readonly owner: number; readonly step: number; readonly tensors: readonly Tensor[] }> {
  const { rank, size } = comm;
  const forms = own.map(formOf);
  let message = size > 1 ? pack(comm, own) : new Uint8Array(0);
  let tensors: readonly Tensor[] = own;
  for (let step = 0; step < size; step++) {
    const owner = (rank - step + size) % size;
    const next = (owner - 1 + size) % size;
    const incoming = takeBuffer(comm, step < size - 1 ? messageBytes(forms, plan.size(next)) : 0);
    const moving =
      step < size - 1
        ? comm.exchange((rank + 1) % size, message, (rank - 1 + size) % size, incoming)
        : undefined;
    // A failure is thrown where it is awaited below; until then it must not be reported as unhandled.
    moving?.catch(() => undefined);
    yield { owner, step, tensors };
    await moving;
    // The caller has computed with this shard, and the next rank has it.
    releaseBuffer(comm, message);
    if (!moving) return;
    message = incoming;
    tensors = unpack(incoming, forms, plan.size(next));
  }
}

async function resident(call: ContextCall): Promise<State> {
  const { comm, plan, replicated } = call;
  const mine = rowsOf(plan, comm.rank);
  const [query] = replicated ? [call.query] : await gatherRows(comm, plan, [call.query]);
  const queries = replicated ? ownRows(call) : wholeOf(plan);
  const state = scaledDotProductAttention(query, call.key, call.value, {
    ...call.local(queries, mine),
    // A sink counts once: with the keys of rank 0.
    ...(comm.rank === 0 && call.sinks !== undefined && { sinks: call.sinks }),
  });
  const columns = [state.output, column(state.lse)];
  const parts = replicated ? await gatherWhole(comm, columns) : await scatterRows(comm, plan, columns);
  return mergeStates(parts.map(([output, lse]) => ({ output, lse: flat(lse) })));
}

/** Every rank's tensors, in the order of ranks. All have the same shapes. */
async function gatherWhole(comm: Communicator, tensors: readonly Tensor[]): Promise<Tensor[][]> {
  const forms = tensors.map(formOf);
  const rows = tensors[0].shape[tensors[0].shape.length - 2];
  const message = pack(comm, tensors);
  const all = new Uint8Array(message.length * comm.size);
  await comm.allGather(message, all);
  releaseBuffer(comm, message);
  return Array.from({ length: comm.size }, (_, r) =>
    unpack(all.slice(r * message.length, (r + 1) * message.length), forms, rows),
  );
}

/** lse [..., N] as rows of one number: [..., N, 1]. */
export const column = (lse: Tensor): Tensor =>
  new Tensor(lse.data, [...lse.shape, 1], lse.dtype, undefined, lse.offset);
/** The inverse of `column`. */
export const flat = (lse: Tensor): Tensor =>
  new Tensor(lse.data, lse.shape.slice(0, -1), lse.dtype, undefined, lse.offset);

/** All positions of a plan. */
export const wholeOf = (plan: ShardPlan): Local => ({
  ranges: [[0, plan.length]],
  positions: plan.length > 0 ? range(plan.length) : [],
});

const range = (n: number): Int32Array => Int32Array.from({ length: n }, (_, at) => at);

/** The rows of a rank. */
export const rowsOf = (plan: ShardPlan, rank: number): Local => ({
  ranges: plan.ranges(rank),
  positions: plan.positions(rank),
});

/** The queries of this rank. */
export const ownRows = ({ replicated, plan, comm, positions }: ContextCall): Local =>
  replicated ? { positions } : { ranges: plan.ranges(comm.rank), positions };

/** The output in the dtype and layout of the caller's query. */
function narrowState({ queryLike, layout }: ContextCall, state: State): State {
  const output = likeInput(state.output, queryLike);
  return { output: layout === "bshd" ? transposed(output, -3, -2).dense() : output, lse: state.lse };
}

/** A tensor in the dtype of another, rounded once. */
export function likeInput(t: Tensor, like: Tensor): Tensor {
  if (t.dtype === like.dtype) return t;
  const dense = t.dense();
  const data = new (like.data.constructor as new (n: number) => Tensor["data"])(t.size);
  const [read, write] = [readerOf(dense.dtype, dense.data), writerOf(like.dtype, data)];
  for (let n = 0; n < t.size; n++) write(n, read(dense.offset + n));
  return new Tensor(data, t.shape, like.dtype);
}

/** 16-bit tensors as float32, exactly; other tensors unchanged. */
export function widened(t: Tensor): Tensor {
  if (t.dtype !== "float16" && t.dtype !== "bfloat16") return t;
  return likeInput(t, new Tensor(arrayFor("float32", 0), [0], "float32"));
}

/** Checks a call on every rank, makes sure that all ranks make the same one, and prepares it. */
export async function prepare(
  what: string,
  comm: Communicator,
  plan: ShardPlan,
  queryLike: TensorLike,
  keyLike: TensorLike,
  valueLike: TensorLike,
  options: ContextOptions,
  more: (call: ContextCall) => Terms = () => ({}),
): Promise<ContextCall> {
  checkCommunicator(what, comm);
  return agree(comm, what, () => {
    const { call, terms } = describe(what, comm, plan, queryLike, keyLike, valueLike, options);
    return { terms: { ...terms, ...more(call) }, value: call };
  });
}

function describe(
  what: string,
  comm: Communicator,
  plan: ShardPlan,
  queryLike: TensorLike,
  keyLike: TensorLike,
  valueLike: TensorLike,
  options: ContextOptions,
): { call: ContextCall; terms: Terms } {
  checkOptions(what, comm, plan, options);
  const { layout = "bhsd", via = "auto", queries = "sharded" } = options;
  const { rank } = comm;
  const replicated = queries === "replicated";
  const copyIn = (name: string, like: TensorLike): Tensor => {
    const t = asTensor(`${what}: ${name}`, like);
    if (!isFloat(t.dtype) || t.shape.length < 2 || (layout === "bshd" && t.shape.length < 3))
      throw new ShapeError(
        name,
        `${what}: ${name} must be [..., N, d] of floats, got ${formatTensor(name, t)}`,
        {
          got: t.shape,
        },
      );
    checkOnCpu(what, name, t);
    return layout === "bshd" ? transposed(t, -3, -2).dense() : t.dense();
  };
  const [query, key, value] = [
    copyIn("query", queryLike),
    copyIn("key", keyLike),
    copyIn("value", valueLike),
  ];
  const rows = plan.size(rank);
  for (const [name, t] of [
    ["query", query],
    ["key", key],
    ["value", value],
  ] as const) {
    const n = t.shape[t.shape.length - 2];
    if (n !== rows && !(replicated && name === "query"))
      throw new ShapeError(
        "shard",
        `${what}: ${name} must hold the ${rows} positions that the plan gives rank ${rank}, got ${n} (${formatTensor(name, t)})`,
        { rank, got: n, want: rows },
      );
  }
  const queryRows = replicated ? query.shape[query.shape.length - 2] : plan.length;
  const positions = replicated ? replicatedPositions(what, plan, queryRows, options) : plan.positions(rank);
  // The call over the whole sequence, as one process would make it, checks shapes and options.
  const like = (t: Tensor, n: number) =>
    new Tensor(
      arrayFor(t.dtype, 1),
      [...t.shape.slice(0, -2), n, t.shape[t.shape.length - 1]],
      t.dtype,
      t.shape.map(() => 0),
    );
  const { base, members, local } = localOptions(what, options);
  const { sinks } = options;
  const problem: Problem = resolve(
    what,
    like(query, queryRows),
    like(key, plan.length),
    like(value, plan.length),
    {
      ...base,
      attnMask: members,
      ...(replicated && { queryPositions: positions }),
      ...(sinks !== undefined && { sinks }),
    },
  );
  const chosen = via === "auto" ? chooseVia(problem, key, value, replicated, options) : via;
  if (replicated && chosen !== "resident")
    throw new OptionError("via", `${what}: replicated queries go via "resident", got ${formatValue(via)}`, {
      via,
    });
  const call: ContextCall = {
    what,
    comm,
    plan,
    via: chosen,
    replicated,
    query: widened(query),
    key,
    value,
    queryLike: query,
    layout,
    positions,
    sinks,
    masks: members,
    isMaskList: isMaskList(options.attnMask),
    base,
    local,
  };
  const shapeText = (t: Tensor) =>
    `[${[...t.shape.slice(0, -2), "n", t.shape[t.shape.length - 1]].join(", ")}] ${t.dtype}`;
  const terms: Terms = {
    version: VERSION,
    "the plan":
      plan.key.length > 200
        ? `${plan.kind} of ${plan.length} over ${plan.ranks}, ${termOfNumbers(plan.ranges(0).flat())} …`
        : plan.key,
    "every range of the plan": termOfNumbers(
      Array.from({ length: plan.ranks }, (_, r) => plan.ranges(r).flat()).flat(),
    ),
    query: shapeText(query),
    key: shapeText(key),
    value: shapeText(value),
    layout,
    via: chosen,
    queries,
    positions: replicated ? termOfNumbers(positions) : "those of the plan",
    scale: problem.scale,
    mask: termOf(problem.mask),
    score: termOf(problem.score),
    "mask tensors":
      problem.tensors.map(({ tensor }) => `[${tensor.shape.join(", ")}] ${tensor.dtype}`).join("; ") ||
      "none",
    sinks: termOfNumbers(problem.sinks),
    dropoutP: problem.dropoutP,
    seed: problem.seed,
  };
  return { call, terms };
}

/**
 * Options of the local calls of ranks: masks and score mods read positions instead of row indices, and mask tensors are reduced
 * to the rows and keys of a call.
 */
export function localOptions(what: string, options: ContextOptions) {
  const { scale, dropoutP, seed, isCausal = false } = options;
  const toPositions = new Map([[VARS.i, VARS.q]]);
  const members = maskMembers(what, options.attnMask).map((member) =>
    member instanceof BoolExpression ? substitute(member, toPositions) : member,
  );
  const scoreMod = listOf(options.scoreMod).map((change) =>
    change instanceof ScoreMod ? new ScoreMod(substitute(change.expr, toPositions)) : change,
  );
  const base: AttentionOptions = {
    scoreMod: scoreMod as ScoreMod[],
    ...(isCausal && { isCausal: true }),
    ...(scale !== undefined && { scale }),
    ...(dropoutP !== undefined && { dropoutP }),
    ...(seed !== undefined && { seed }),
  };
  const cut = (t: Tensor, axis: number, { ranges }: Local): Tensor => {
    const at = t.shape.length + axis;
    return ranges === undefined || at < 0 || t.shape[at] === 1 ? t : takeRanges(t, at, ranges);
  };
  // 16-bit masks are widened as queries are. A part of a float mask may consist of zeros and ones: the whole mask was checked.
  const part = (t: Tensor, rows: Local, columns: Local): Tensor =>
    addedScores(widened(cut(cut(t, -2, rows), -1, columns)));
  const local = (queries: Local, keys: Local): AttentionOptions => ({
    ...base,
    attnMask: members.map((m) => (m instanceof BoolExpression ? m : part(m, queries, keys))),
    queryPositions: queries.positions,
    keyPositions: keys.positions,
  });
  return { base, members, local };
}

/** The version that ranks must share; a test compares it with package.json. */
export const VERSION = "0.1.0";

function listOf<T>(x: T | readonly T[] | undefined): readonly T[] {
  return x === undefined || x === null ? [] : Array.isArray(x) ? x : [x as T];
}

const GIB = 2 ** 30;

/** The algorithm for `via: "auto"`. */
export function chooseVia(
  { shape }: Problem,
  key: Tensor,
  value: Tensor,
  replicated: boolean,
  { memory = GIB }: ContextOptions,
): Exclude<Via, "auto"> {
  if (replicated) return "resident";
  return messageBytes([formOf(key), formOf(value)], shape.Nk) <= memory ? "gather" : "ring";
}

function replicatedPositions(
  what: string,
  plan: ShardPlan,
  rows: number,
  { queryPositions }: ContextOptions,
): ArrayLike<number> {
  if (queryPositions !== undefined) return queryPositions;
  if (rows > plan.length)
    throw new OptionError(
      "positions",
      `${what}: ${rows} replicated queries are more than the ${plan.length} positions of the plan; give queryPositions`,
    );
  return Int32Array.from({ length: rows }, (_, n) => plan.length - rows + n);
}

function checkOptions(what: string, comm: Communicator, plan: ShardPlan, options: ContextOptions): void {
  if (!(plan instanceof ShardPlan))
    throw new OptionError(
      "plan",
      `${what}: plan must be what shardSequence returns, got ${formatValue(plan)}`,
    );
  if (plan.ranks !== comm.size)
    throw new OptionError(
      "plan",
      `${what}: the plan is for ${plan.ranks} ranks, and there are ${comm.size}`,
      {
        plan: plan.ranks,
        ranks: comm.size,
      },
    );
  checkOptionNames(what, options, [...SHARED_NAMES, ...OWN_NAMES]);
  const oneOf = (name: string, value: unknown, values: readonly unknown[]) => {
    if (value !== undefined && !values.includes(value))
      throw new OptionError(
        name,
        `${what}: ${name} must be ${values.map(formatValue).join(" or ")}, got ${formatValue(value)}`,
        { got: value },
      );
  };
  oneOf("via", options.via, ["gather", "ring", "resident", "auto"]);
  oneOf("queries", options.queries, ["sharded", "replicated"]);
  oneOf("layout", options.layout, ["bhsd", "bshd"]);
  oneOf("isCausal", options.isCausal, [true, false]);
  if (options.memory !== undefined && !(typeof options.memory === "number" && options.memory >= 0))
    throw new OptionError(
      "memory",
      `${what}: memory must be a number of bytes ≥ 0, got ${formatValue(options.memory)}`,
    );
  if (options.queryPositions !== undefined && options.queries !== "replicated")
    throw new OptionError(
      "positions",
      `${what}: queryPositions belongs to queries: "replicated"; the plan gives the positions of sharded queries`,
    );
}

/** dtype of gradients and accumulators. */
export const exactDtype = (dtype: FloatDType | string): "float32" | "float64" =>
  dtype === "float64" ? "float64" : "float32";
