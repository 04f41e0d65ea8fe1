/**
 * Gradients of attention over a sequence that is sharded over ranks. Of the global softmax, the backward pass needs only the
 * output and the log-sum-exp of its rows. Both are known, so gradients over shards of the keys, with the global output and lse,
 * add up to the global gradients.
 *
 *   gather    keys and values are collected; each rank computes the contributions of its queries, and sends the gradients of
 *             keys and values to their ranks
 *   ring      keys and values are passed around the ring, and the sums of their gradients follow one step later
 *   resident  queries, outputs and gradients of outputs are collected; each rank computes the contributions of its keys, and
 *             sends the gradients of queries to their ranks
 */

import { type AttentionGradients, attentionBackward, type Extra } from "../../api/backward.ts";
import type { AttentionOptions } from "../../backend/problem.ts";
import { arrayFor, isFloat } from "../../core/dtype.ts";
import {
  checkCount,
  formatTensor,
  OptionError,
  refuseGot,
  refuseValue,
  ShapeError,
} from "../../core/errors.ts";
import type { State } from "../../core/state.ts";
import { asTensor, Tensor, type TensorLike, transposed } from "../../core/tensor.ts";
import { releaseBuffer, takeBuffer } from "../communicator/buffers.ts";
import {
  allRows,
  type ContextCall,
  type LocalRows,
  localQueries,
  prepare,
  rowsOf,
  type Within,
} from "./call.ts";
import { repeatedOf } from "./forward.ts";
import {
  addInto,
  addMaskPart,
  column,
  flat,
  formOf,
  gatherRows,
  messageBytes,
  pack,
  sumRows,
  unpack,
  zeroRows,
} from "./messages.ts";
import type { ContextOptions } from "./options.ts";
import { aroundRing } from "./ring.ts";
import { exactDtype, likeInput, widened } from "./rounding.ts";

/** Options of `contextAttentionBackward`: those of the forward call, and the gradients to compute. @beta */
export interface ContextBackwardOptions extends Omit<ContextOptions, "queries" | "queryPositions"> {
  /**
   * Gradients in addition to dQuery, dKey and dValue: of float masks (`"mask"`), of `"sinks"`, and of the `"tables"` of score
   * mods. Default: all that the call has. The gradient of a mask of [..., N, N] takes as much memory as the mask on every rank,
   * and is summed over ranks: omit `"mask"` for a constant mask.
   */
  readonly wanted?: readonly Extra[];
}

/**
 * Gradients of this rank's rows of query, key and value. Those of masks, sinks and tables have the shape of the whole input,
 * are summed over ranks and are equal on all ranks.
 * @beta
 */
export type ContextGradients = AttentionGradients;

/** A backward call: the forward call, and its results. */
interface BackwardCall extends ContextCall {
  readonly dOutput: Tensor;
  readonly state: State;
  readonly wanted: readonly Extra[];
  /** The dtype in which gradients are added: float32 or float64. */
  readonly exact: "float32" | "float64";
}

/**
 * Gradients of Σ output·dOutput over all ranks, for this rank's rows of query, key and value.
 *
 * @param dOutput gradient of this rank's output, in its shape
 * @param state what `contextAttention` returned on this rank for the same inputs and options
 * @param options the same options; `via` may differ
 * @throws on every rank, before any work, where ranks disagree or one's arguments are wrong
 *
 * @example
 * const state = await contextAttention(comm, plan, q, k, v, { isCausal: true });
 * const { dQuery } = await contextAttentionBackward(comm, plan, dOutput, q, k, v, state, { isCausal: true });
 */
export async function contextAttentionBackward(
  comm: ContextCall["comm"],
  plan: ContextCall["plan"],
  dOutput: TensorLike,
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  state: { readonly output: TensorLike; readonly lse: TensorLike },
  options: ContextBackwardOptions = {},
): Promise<ContextGradients> {
  checkCount("contextAttentionBackward", arguments, 8);
  return backwardWithin((part) => part(), comm, plan, dOutput, query, key, value, state, options);
}

/** `contextAttentionBackward`, whose parts between two messages `within` runs. */
export async function backwardWithin(
  within: Within,
  ...[comm, plan, dOutput, query, key, value, state, options = {}]: Parameters<
    typeof contextAttentionBackward
  >
): Promise<ContextGradients> {
  const what = "contextAttentionBackward";
  const isObject = Object.prototype.toString.call(options) === "[object Object]";
  const { wanted = ["mask", "sinks", "tables"], ...forward } = isObject ? options : {};
  let backward: Omit<BackwardCall, keyof ContextCall> | undefined;
  const args = [plan, query, key, value, isObject ? forward : options] as const;
  const call = await prepare(what, comm, args, within, (call) => {
    backward = upstreamOf(call, dOutput, state, wanted);
    return { wanted: wanted.join(", "), "dtype of dOutput": backward.dOutput.dtype };
  });
  if (backward === undefined) throw new RangeError(what);
  const parts = await { gather, ring, resident }[call.via]({ ...call, ...backward });
  const { dSinks, dTables, names } = await summed(
    call,
    parts.extras.map(({ gradients }) => gradients),
    wanted.includes("sinks"),
  );
  const masks = wanted.includes("mask") ? await maskGradients(call, parts.extras) : [];
  const like = (t: Tensor, input: Tensor) => {
    const rounded = likeInput(t, input);
    return call.layout === "bshd" ? transposed(rounded, -3, -2).dense() : rounded;
  };
  const named = (name: string) => (names.includes(name) ? dTables?.[names.indexOf(name)] : undefined);
  const [dSlopes, dTable] = [named("dSlopes"), named("dTable")];
  return {
    dQuery: like(parts.dQuery, call.queryLike),
    dKey: like(parts.dKey, call.key),
    dValue: like(parts.dValue, call.value),
    ...(call.isMaskList ? masks.some(Boolean) && { dMasks: masks } : masks[0] && { dMask: masks[0] }),
    ...(dSinks && { dSinks }),
    ...(dSlopes && { dSlopes }),
    ...(dTable && { dTable }),
    ...(dTables && { dTables }),
  } as ContextGradients;
}

function upstreamOf(
  { what, query, value, layout, replicated, repeated }: ContextCall,
  dOutput: TensorLike,
  state: { readonly output: TensorLike; readonly lse: TensorLike },
  wanted: readonly string[],
): Omit<BackwardCall, keyof ContextCall> {
  if (replicated)
    throw new OptionError("queries", `${what}: replicated queries have no backward pass; shard them`);
  if (!(Array.isArray(wanted) && wanted.every((name) => ["mask", "sinks", "tables"].includes(name))))
    refuseGot("wanted", `${what}: wanted takes a list of "mask", "sinks", "tables"`, wanted);
  if (typeof state !== "object" || state === null)
    refuseValue(what, "state", "what contextAttention returned", state);
  const exact = exactDtype(query.dtype);
  const want = [...query.shape.slice(0, -1), value.shape[value.shape.length - 1]];
  const rows = (name: string, like: TensorLike): Tensor => {
    const t = asTensor(`${what}: ${name}`, like);
    const turned = layout === "bshd" && t.shape.length >= 3 ? transposed(t, -3, -2) : t;
    if (turned.shape.join() !== want.join())
      throw new ShapeError(
        name,
        `${what}: ${name} must have the shape of this rank's output, [${want.join(", ")}]${layout === "bshd" ? " in layout bhsd" : ""}, got ${formatTensor(name, turned)}`,
        { got: t.shape, want },
      );
    return widened(turned.dense());
  };
  const lse = asTensor(`${what}: lse`, state.lse);
  if (lse.shape.join() !== want.slice(0, -1).join() || lse.dtype !== exact)
    throw new ShapeError(
      "lse",
      `${what}: lse must be [${want.slice(0, -1).join(", ")}] ${exact}, got ${formatTensor("lse", lse)}`,
      { got: lse.shape },
    );
  const first = repeatedOf.get(lse.data);
  for (const [name, term] of Object.entries(first ?? {}))
    if (term !== repeated[name])
      throw new OptionError(
        "options",
        `${what}: ${name} differs from the call that returned the state; give the same options`,
        { name },
      );
  return {
    dOutput: rows("dOutput", dOutput),
    state: { output: rows("output", state.output), lse: lse.dense() },
    wanted: wanted as Extra[],
    exact,
  };
}

interface Parts {
  readonly dQuery: Tensor;
  readonly dKey: Tensor;
  readonly dValue: Tensor;
  /** The gradients of each local call, with its rows and keys. */
  readonly extras: readonly LocalGradients[];
}

interface LocalGradients {
  readonly gradients: AttentionGradients;
  readonly queries: LocalRows;
  readonly keys: LocalRows;
}

/** One local backward call. `sinks` is true in one call per row, so that sinks count once. */
function local(
  call: BackwardCall,
  [dOutput, query, output, lse]: readonly [Tensor, Tensor, Tensor, Tensor],
  [key, value]: readonly Tensor[],
  queries: LocalRows,
  keys: LocalRows,
  sinks: boolean,
): LocalGradients {
  const { wanted } = call;
  const options: AttentionOptions = call.local(queries, keys);
  const backwardOptions = {
    ...options,
    // lse is that of all keys, of which `key` has some.
    checkSums: false,
    ...(sinks && call.sinks !== undefined && { sinks: call.sinks }),
    wanted: wanted.filter((name) => name !== "sinks" || sinks),
  };
  const gradients = call.within(() =>
    attentionBackward(dOutput, query, widened(key), widened(value), { output, lse }, backwardOptions),
  );
  return { gradients, queries, keys };
}

const ownQueries = ({ dOutput, query, state }: BackwardCall) =>
  [dOutput, query, state.output, state.lse] as const;

async function gather(call: BackwardCall): Promise<Parts> {
  const { comm, plan } = call;
  const all = await gatherRows(comm, plan, [call.key, call.value], call.within);
  const extra = local(call, ownQueries(call), all, localQueries(call), allRows(plan), true);
  const { gradients } = extra;
  const [dKey, dValue] = await sumRows(comm, plan, [gradients.dKey, gradients.dValue]);
  return { dQuery: gradients.dQuery, dKey, dValue, extras: [extra] };
}

async function resident(call: BackwardCall): Promise<Parts> {
  const { comm, plan } = call;
  const [dOutput, query, output, lse] = await gatherRows(comm, plan, [
    call.dOutput,
    call.query,
    call.state.output,
    column(call.state.lse),
  ]);
  const queries = [dOutput, query, output, flat(lse)] as const;
  const extra = local(
    call,
    queries,
    [call.key, call.value],
    allRows(plan),
    localQueries(call),
    comm.rank === 0,
  );
  const { gradients } = extra;
  const [dQuery] = await sumRows(comm, plan, [gradients.dQuery]);
  return { dQuery, dKey: gradients.dKey, dValue: gradients.dValue, extras: [extra] };
}

async function ring(call: BackwardCall): Promise<Parts> {
  const { comm, plan, exact } = call;
  const { rank, size } = comm;
  const mine = localQueries(call);
  const [kForm, vForm] = [call.key, call.value].map(formOf);
  const dQuery = zeroRows(exact, call.query.shape.slice(0, -2), plan.size(rank), kForm.width);
  const zeros = (rows: number) => [
    zeroRows(exact, kForm.lead, rows, kForm.width),
    zeroRows(exact, vForm.lead, rows, vForm.width),
  ];
  const forms = zeros(0).map(formOf);
  const extras: LocalGradients[] = [];
  let received: Tensor[] = [];
  /** The exchange of sums for the shard of the next step. */
  let arriving: (Record<"sent" | "message", Uint8Array<ArrayBuffer>> & { ended: Promise<void> }) | undefined;
  const [next, previous] = [(rank + 1) % size, (rank - 1 + size) % size];
  for await (const { owner, tensors, step } of aroundRing(comm, plan, [call.key, call.value])) {
    const theirs = rowsOf(plan, owner);
    const extra = local(call, ownQueries(call), tensors, mine, theirs, step === 0);
    const { gradients } = extra;
    addInto(dQuery, gradients.dQuery);
    extras.push(extra);
    // The sum of the ranks that had this shard before, plus this rank's part: the same order on every run.
    const sums = [gradients.dKey, gradients.dValue];
    const last = arriving;
    if (arriving) {
      await arriving.ended;
      releaseBuffer(comm, arriving.sent);
      const before = unpack(arriving.message, forms, plan.size(owner));
      before.forEach((sum, n) => {
        addInto(sum, sums[n]);
      });
      received = before;
    } else received = sums;
    // To the rank that has the shard next; after the last step that is its owner.
    const message = takeBuffer(comm, messageBytes(forms, plan.size((owner - 1 + size) % size)));
    const sent = pack(comm, received);
    // The sums are in the message that is sent now.
    if (last) releaseBuffer(comm, last.message);
    const ended = comm.exchange(next, sent, previous, message);
    ended.catch(() => undefined);
    arriving = { ended, message, sent };
  }
  if (arriving) {
    await arriving.ended;
    releaseBuffer(comm, arriving.sent);
    received = unpack(arriving.message, forms, plan.size(rank));
  }
  return { dQuery, dKey: received[0], dValue: received[1], extras };
}

/**
 * The gradient of each float mask, over the whole sequence: every local call computed the part of its queries and keys. Parts
 * are added in the order of a rank's calls, then ranks in the fixed order. Undefined for other members.
 */
async function maskGradients(
  call: ContextCall,
  extras: readonly LocalGradients[],
): Promise<(Tensor | undefined)[]> {
  const list: (Tensor | undefined)[] = [];
  const exact = exactDtype(call.query.dtype);
  for (const [n, mask] of call.masks.entries()) {
    if (!(mask instanceof Tensor) || !isFloat(mask.dtype)) {
      list.push(undefined);
      continue;
    }
    const gradient = new Tensor(arrayFor(exact, mask.size), mask.shape, exact);
    for (const { gradients, queries, keys } of extras) {
      const part = gradients.dMasks?.[n];
      if (part) addMaskPart(gradient, part, queries.ranges, keys.ranges);
    }
    await call.comm.reduce(gradient.data as Float32Array | Float64Array);
    list.push(likeInput(gradient, mask));
  }
  return list;
}

/** Gradients of sinks and tables, summed over a rank's calls and then over ranks, in float64. */
async function summed(
  call: ContextCall,
  extras: readonly AttentionGradients[],
  wantsSinks: boolean,
): Promise<{ dSinks?: Tensor; dTables?: Tensor[]; names: string[] }> {
  const [first] = extras;
  const sinks = extras.flatMap(({ dSinks }) => (dSinks ? [dSinks] : []));
  const tables = first.dTables ?? [];
  const lists: Tensor[][] = tables.map((_, n) =>
    extras.flatMap(({ dTables }) => (dTables ? [dTables[n]] : [])),
  );
  const hasSinks = call.sinks !== undefined && wantsSinks;
  if (tables.length === 0 && !hasSinks) return { names: [] };
  const { heads } = call;
  const widths = [hasSinks ? heads : 0, ...tables.map((t) => t.size)];
  const sum = new Float64Array(widths.reduce((a, b) => a + b, 0));
  let at = 0;
  for (const [n, list] of [sinks, ...lists].entries()) {
    for (const t of list) for (const [i, x] of t.toFloat64().entries()) sum[at + i] += x;
    at += widths[n];
  }
  await call.comm.reduce(sum);
  const exact = exactDtype(call.query.dtype);
  at = hasSinks ? heads : 0;
  const dTables = tables.map((t) => {
    const wide = new Tensor(sum.slice(at, at + t.size), t.shape, "float64");
    at += t.size;
    return likeInput(wide, t);
  });
  const empty = new Tensor(exact === "float64" ? new Float64Array(0) : new Float32Array(0), [0], exact);
  return {
    ...(hasSinks && { dSinks: likeInput(new Tensor(sum.slice(0, heads), [heads], "float64"), empty) }),
    ...(tables.length > 0 && { dTables }),
    names: tables.map((t) => (t === first.dSlopes ? "dSlopes" : t === first.dTable ? "dTable" : "")),
  };
}
