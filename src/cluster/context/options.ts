/** The options of a call over shards, their checks, and the choice of the algorithm. */
import type { AttentionOptions, Problem } from "../../backend/problem.ts";
import { formatValue, OptionError, refuseValue } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Communicator } from "../communicator/communicator.ts";
import { formOf, messageBytes } from "./messages.ts";
import { ShardPlan } from "./shard.ts";

/** The algorithm of a call. @beta */
export type Via = "gather" | "ring" | "resident" | "auto";

/** Options of `contextAttention`: those of `scaledDotProductAttention`, for the whole sequence. @beta */
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

/** Names of options of this call. */
const CONTEXT_NAMES = ["isCausal", "via", "memory", "queries", "queryPositions"];
/** Names of options of one process. */
const ATTENTION_NAMES = ["attnMask", "scale", "scoreMod", "sinks", "dropoutP", "seed", "layout"];

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

const CHOICES: Readonly<Record<string, readonly unknown[]>> = {
  via: ["gather", "ring", "resident", "auto"],
  queries: ["sharded", "replicated"],
  layout: ["bhsd", "bshd"],
  isCausal: [true, false],
  pass: ["forward", "backward"],
};

/** Checks options with a few values, and `memory`. */
export function checkChoices(what: string, options: Pick<ContextOptions, "memory">): void {
  for (const [name, value] of Object.entries(options)) {
    const values = CHOICES[name];
    if (value !== undefined && values?.includes(value) === false)
      refuseValue(what, name, values.map(formatValue).join(" or "), value);
  }
  const { memory = 0 } = options;
  if (!(typeof memory === "number" && memory >= 0))
    refuseValue(what, "memory", "a number of bytes ≥ 0", memory);
}

/** Checks the options of a call on this rank. */
export function checkOptions(
  what: string,
  comm: Communicator,
  plan: ShardPlan,
  options: ContextOptions,
): void {
  if (!(plan instanceof ShardPlan)) refuseValue(what, "plan", "what shardSequence returns", plan);
  if (plan.ranks !== comm.size)
    throw new OptionError(
      "plan",
      `${what}: the plan is for ${plan.ranks} ranks, and there are ${comm.size}`,
      { plan: plan.ranks, ranks: comm.size },
    );
  checkOptionNames(what, options, [...ATTENTION_NAMES, ...CONTEXT_NAMES]);
  checkChoices(what, options);
  if (options.queryPositions !== undefined && options.queries !== "replicated")
    throw new OptionError(
      "positions",
      `${what}: queryPositions belongs to queries: "replicated"; the plan gives the positions of sharded queries`,
    );
}
