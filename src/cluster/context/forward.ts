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

import { scaledDotProductAttention } from "../../api/attention.ts";
import { mergeStates } from "../../api/merge.ts";
import { checkCount } from "../../core/errors.ts";
import type { State } from "../../core/state.ts";
import { type Tensor, type TensorLike, transposed } from "../../core/tensor.ts";
import type { Terms } from "../communicator/agree.ts";
import { releaseBuffer } from "../communicator/buffers.ts";
import type { Communicator } from "../communicator/communicator.ts";
import { allRows, type ContextCall, localQueries, prepare, rowsOf, type Within } from "./call.ts";
import { column, flat, formOf, gatherRows, pack, scatterRows, unpack } from "./messages.ts";
import type { ContextOptions } from "./options.ts";
import { aroundRing } from "./ring.ts";
import { likeInput } from "./rounding.ts";
import type { ShardPlan } from "./shard.ts";

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
  checkCount("contextAttention", arguments, 6);
  return attendWithin((part) => part(), comm, plan, query, key, value, options);
}

/** `contextAttention`, whose parts between two messages `within` runs. */
export async function attendWithin(
  within: Within,
  comm: Communicator,
  plan: ShardPlan,
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: ContextOptions = {},
): Promise<State> {
  const call = await prepare("contextAttention", comm, [plan, query, key, value, options], within);
  const state = await { gather, ring, resident }[call.via](call);
  const narrow = within(() => narrowState(call, state));
  repeatedOf.set(narrow.lse.data, call.repeated);
  return narrow;
}

/** The options of the forward call by the array of its lse. */
export const repeatedOf = /* @__PURE__ */ new WeakMap<object, Terms>();

async function gather(call: ContextCall): Promise<State> {
  const { comm, plan, within } = call;
  const [key, value] = await gatherRows(comm, plan, [call.key, call.value], within);
  const all = allRows(plan);
  return within(() =>
    scaledDotProductAttention(call.query, key, value, {
      ...call.local(localQueries(call), all),
      ...(call.sinks !== undefined && { sinks: call.sinks }),
    }),
  );
}

async function ring(call: ContextCall): Promise<State> {
  const { comm, plan, query } = call;
  const { rank, size } = comm;
  const mine = localQueries(call);
  let merged: State | undefined;
  for await (const { owner, tensors, step } of aroundRing(comm, plan, [call.key, call.value])) {
    const [key, value] = tensors;
    const theirs = rowsOf(plan, owner);
    merged = call.within(() => {
      const state = scaledDotProductAttention(query, key, value, {
        ...call.local(mine, theirs),
        // A sink counts once: with the rank's own keys.
        ...(step === 0 && call.sinks !== undefined && { sinks: call.sinks }),
      });
      return merged ? mergeStates([merged, state]) : state;
    });
  }
  if (merged === undefined) throw new RangeError(`ring of ${size} ranks: rank ${rank} computed nothing`);
  return merged;
}

async function resident(call: ContextCall): Promise<State> {
  const { comm, plan, replicated } = call;
  const mine = rowsOf(plan, comm.rank);
  const [query] = replicated ? [call.query] : await gatherRows(comm, plan, [call.query]);
  const queries = replicated ? localQueries(call) : allRows(plan);
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

/** The output in the dtype and layout of the caller's query. */
function narrowState({ queryLike, layout }: ContextCall, state: State): State {
  const output = likeInput(state.output, queryLike);
  return { output: layout === "bshd" ? transposed(output, -3, -2).dense() : output, lse: state.lse };
}
