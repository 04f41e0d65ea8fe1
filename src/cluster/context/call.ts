/**
 * A call over shards: the arguments of this rank, checked, and the terms on which all ranks agree before any work; the rows and
 * the options of the local calls that the algorithms make.
 */
import type { AttentionOptions, Problem } from "../../backend/problem.ts";
import { addedScores, isMaskList, maskMembers, resolve } from "../../backend/problem.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import { arrayFor, isFloat } from "../../core/dtype.ts";
import { formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { asTensor, Tensor, type TensorLike, transposed } from "../../core/tensor.ts";
import { VERSION } from "../../core/version.ts";
import { BoolExpression, ScoreMod, substitute, VARS } from "../../masks/expression/expr.ts";
import { agree, type Terms, termOf, termOfNumbers, termOfTensor } from "../communicator/agree.ts";
import { type Communicator, checkCommunicator } from "../communicator/communicator.ts";
import { type ContextOptions, checkOptions, chooseVia, type Via } from "./options.ts";
import { widened } from "./rounding.ts";
import { type PositionRange, type ShardPlan, takeRanges } from "./shard.ts";

/** A checked call on which all ranks agree: the input of all three algorithms. */
export interface ContextCall {
  readonly what: string;
  /** Options that the backward pass must repeat, as texts. */
  readonly repeated: Terms;
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
  /** Query heads Hq: as many as there are sinks. */
  readonly heads: number;
  /** Mask members as the caller gave them: expressions over positions, and tensors over the whole sequence. */
  readonly masks: readonly (BoolExpression | Tensor)[];
  /** True where `attnMask` is a list: gradients are a list too. */
  readonly isMaskList: boolean;
  /** Options that every local call shares. */
  readonly base: AttentionOptions;
  /** Runs the parts of the call between two messages: in the memory of a step, where a tape has one. */
  readonly within: Within;
  /** Options of a local call: queries and keys at these positions; undefined: all positions of the plan. */
  local(queries: LocalRows, keys: LocalRows): AttentionOptions;
}

/** Runs a synchronous part of a call. */
export type Within = <T>(part: () => T) => T;

/** Rows of a local call: ranges that select parts of mask tensors, and positions. Undefined ranges: rows outside the plan (replicated queries). */
export interface LocalRows {
  readonly ranges?: readonly PositionRange[];
  readonly positions: ArrayLike<number>;
}

/** All positions of a plan. */
export const allRows = (plan: ShardPlan): LocalRows => ({
  ranges: [[0, plan.length]],
  positions: plan.length > 0 ? range(plan.length) : [],
});

const range = (n: number): Int32Array => Int32Array.from({ length: n }, (_, at) => at);

/** The rows of a rank. */
export const rowsOf = (plan: ShardPlan, rank: number): LocalRows => ({
  ranges: plan.ranges(rank),
  positions: plan.positions(rank),
});

/** The queries of this rank. */
export const localQueries = ({ replicated, plan, comm, positions }: ContextCall): LocalRows =>
  replicated ? { positions } : { ranges: plan.ranges(comm.rank), positions };

/** What a caller gives besides the communicator. */
type Arguments = readonly [
  plan: ShardPlan,
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: ContextOptions,
];

/** Checks a call on every rank, makes sure that all ranks make the same one, and prepares it. */
export async function prepare(
  what: string,
  comm: Communicator,
  args: Arguments,
  within: Within,
  more: (call: ContextCall) => Terms = () => ({}),
): Promise<ContextCall> {
  checkCommunicator(what, comm);
  return agree(comm, what, () =>
    within(() => {
      const { call, terms } = describe(what, comm, args);
      return { terms: { ...terms, ...more({ ...call, within }) }, value: { ...call, within } };
    }),
  );
}

function describe(
  what: string,
  comm: Communicator,
  [plan, queryLike, keyLike, valueLike, options]: Arguments,
): { call: Omit<ContextCall, "within">; terms: Terms } {
  checkOptions(what, comm, plan, options);
  const { layout = "bhsd", via = "auto", queries = "sharded" } = options;
  const { rank } = comm;
  const replicated = queries === "replicated";
  const rows = plan.size(rank);
  const copyIn = (name: string, like: TensorLike, anyRows = false): Tensor => {
    const tensor = asTensor(`${what}: ${name}`, like);
    if (!isFloat(tensor.dtype) || tensor.shape.length < 2 || (layout === "bshd" && tensor.shape.length < 3))
      throw new ShapeError(
        name,
        `${what}: ${name} must be [..., N, d] of floats, got ${formatTensor(name, tensor)}`,
        { got: tensor.shape },
      );
    checkOnCpu(what, name, tensor);
    const t = layout === "bshd" ? transposed(tensor, -3, -2).dense() : tensor.dense();
    const n = t.shape[t.shape.length - 2];
    if (n !== rows && !anyRows)
      throw new ShapeError(
        "shard",
        `${what}: ${name} must hold the ${rows} positions that the plan gives rank ${rank}, got ${n} (${formatTensor(name, t)})`,
        { rank, got: n, want: rows },
      );
    return t;
  };
  const query = copyIn("query", queryLike, replicated);
  const [key, value] = [copyIn("key", keyLike), copyIn("value", valueLike)];
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
  const method = via === "auto" ? chooseVia(problem, key, value, replicated, options) : via;
  if (replicated && method !== "resident") throw viaError(what, via);
  const repeated: Terms = {
    scale: problem.scale,
    mask: termOf(problem.mask),
    score: termOf(problem.score),
    "mask tensors": problem.tensors.map(({ tensor }) => termOfTensor(tensor)).join("; ") || "none",
    sinks: termOfNumbers(problem.sinks),
    dropoutP: problem.dropoutP,
    seed: problem.seed,
  };
  const call: Omit<ContextCall, "within"> = {
    what,
    repeated,
    comm,
    plan,
    via: method,
    replicated,
    query: widened(query),
    key,
    value,
    queryLike: query,
    layout,
    positions,
    sinks,
    heads: problem.shape.Hq,
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
    query: replicated ? termOfTensor(query) : shapeText(query),
    key: shapeText(key),
    value: shapeText(value),
    layout,
    via: method,
    queries,
    positions: replicated ? termOfNumbers(positions) : "those of the plan",
    ...repeated,
  };
  return { call, terms };
}

const viaError = (what: string, via: unknown): OptionError =>
  new OptionError("via", `${what}: replicated queries go via "resident", got ${formatValue(via)}`, { via });

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
  const cut = (t: Tensor, axis: number, { ranges }: LocalRows): Tensor => {
    const at = t.shape.length + axis;
    return ranges === undefined || at < 0 || t.shape[at] === 1 ? t : takeRanges(t, at, ranges);
  };
  // 16-bit masks are widened as queries are. A part of a float mask may consist of zeros and ones: the whole mask was checked.
  const part = (t: Tensor, rows: LocalRows, columns: LocalRows): Tensor =>
    addedScores(widened(cut(cut(t, -2, rows), -1, columns)));
  const local = (queries: LocalRows, keys: LocalRows): AttentionOptions => ({
    ...base,
    attnMask: members.map((m) => (m instanceof BoolExpression ? m : part(m, queries, keys))),
    queryPositions: queries.positions,
    keyPositions: keys.positions,
  });
  return { base, members, local };
}

function listOf<T>(x: T | readonly T[] | undefined): readonly T[] {
  return x === undefined || x === null ? [] : Array.isArray(x) ? x : [x as T];
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
