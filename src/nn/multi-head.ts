/**
 * Multi-head attention (Vaswani et al. 2017, section 3.2.2) under PyTorch's names and shapes:
 *
 *   headₕ = Attention(Q·Wₕ^q, K·Wₕ^k, V·Wₕ^v)      output = [head₀ … head_{H−1}]·W^o
 *
 * Head h uses rows h·D … h·D + D − 1 of each projection, D = embedDim/numHeads; scores are scaled by 1/√D. With fewer
 * key heads than query heads (grouped or multi-query attention) the key and value projections have Hkv·D rows.
 */

import type { WeightsWanted } from "../api/attention.ts";
import { type AttentionOptions, type MaskLike, maskList } from "../backend/problem.ts";
import { isNested, type NestedBooleans } from "../core/create/nested.ts";
import {
  checkCount,
  formatTensor,
  formatValue,
  OptionError,
  refuseGot,
  refuseValue,
  ShapeError,
} from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import { asTensor, Tensor, type TensorLike } from "../core/tensor.ts";
import type { LayerOptions } from "./initialize.ts";
import { checkLayerOptions, checkSizes, fillXavierUniform, generatorOf, parameter } from "./initialize.ts";
import { expandKeyMask } from "./key-mask.ts";
import { Linear } from "./linear.ts";
import { Module } from "./module.ts";
import { attention, type WithWeights } from "./ops/attend.ts";
import { checkDropout, dropoutSeed } from "./ops/dropout.ts";
import type { FloatTensor, Precision, PrecisionOf } from "./ops/operand.ts";
import { operand } from "./ops/operand.ts";
import { linear } from "./ops/products.ts";
import { concat, mergeHeads, reshape, slice, split, splitHeads } from "./ops/shapes.ts";
import type { Rope } from "./positions.ts";
import { checkShard, type SequenceShard, type ShardedOptions } from "./sharded.ts";

/** How a `MultiHeadAttention` is built; all optional. */
export interface MultiHeadOptions extends LayerOptions {
  /** Size of the keys' vectors. Default embedDim. */
  kdim?: number;
  /** Size of the values' vectors. Default embedDim. */
  vdim?: number;
  /** Number of key and value heads; it divides numHeads. Default numHeads. */
  numKvHeads?: number;
  /** Biases of all four projections. Default true. */
  bias?: boolean;
  /** Dropout probability of the attention weights inside `withDropout`. Default 0. */
  dropoutP?: number;
  /** Rotary positions for queries and keys. Default none. */
  rope?: Rope;
}

/** The options of one call of attention: those of `scaledDotProductAttention`, and which keys are real. */
export interface AttendOptions
  extends Pick<
    AttentionOptions,
    "attnMask" | "isCausal" | "queryOffset" | "scoreMod" | "sinks" | "returnWeights"
  > {
  /** bool [..., Nk], **true = attend**: which keys are real. (PyTorch's `key_padding_mask` means the opposite.) */
  keyMask?: TensorLike | Tensor | readonly NestedBooleans[];
  /** Keys and values of earlier positions, as an earlier call returned them; the new ones follow. Sets `queryOffset`. */
  past?: { readonly key: Tensor; readonly value: Tensor };
}

/** Names of `AttendOptions`. */
export const ATTEND_OPTIONS: readonly (keyof AttendOptions)[] = [
  "attnMask", "isCausal", "queryOffset", "scoreMod", "sinks", "returnWeights", "keyMask", "past",
]; // biome-ignore format: one list

/** Result of a layer's attention, with the inputs from which `attentionWeights` recomputes its weights. */
export interface AttendResult<D extends Precision = Precision> {
  /** [..., Nq, embedDim] */
  readonly output: FloatTensor<D>;
  /** [..., H, Nq] */
  readonly lse: FloatTensor<D>;
  /** Projected queries [..., H, Nq, D], keys and values [..., Hkv, Nk, D]: the inputs of the attention. */
  readonly query: FloatTensor<D>;
  readonly key: FloatTensor<D>;
  readonly value: FloatTensor<D>;
  /** If requested: [..., H, Nq, Nk], one matrix per head, not averaged. */
  readonly weights?: FloatTensor<D>;
}

/**
 * Multi-head attention with its four projections.
 *
 * @example
 * const layer = new MultiHeadAttention(8, 2, { seed: 1 });
 * const { output, weights } = layer.forward(x, x, x, { isCausal: true, returnWeights: true });
 * weights.shape; // → [2, 2, 3, 3]
 */
export class MultiHeadAttention extends Module {
  /** Rows of W^q, W^k, W^v: [embedDim + 2·Hkv·D, embedDim]; only where kdim and vdim are embedDim. */
  readonly in_proj_weight?: FloatTensor;
  /** [embedDim, embedDim]; only where kdim or vdim differs from embedDim, as k_proj_weight and v_proj_weight. */
  readonly q_proj_weight?: FloatTensor;
  /** [Hkv·D, kdim] */
  readonly k_proj_weight?: FloatTensor;
  /** [Hkv·D, vdim] */
  readonly v_proj_weight?: FloatTensor;
  /** [embedDim + 2·Hkv·D] */
  readonly in_proj_bias?: FloatTensor;
  readonly out_proj: Linear;
  readonly embedDim: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly dropoutP: number;
  readonly rope?: Rope;

  constructor(embedDim: number, numHeads: number, options: MultiHeadOptions = {}) {
    super();
    checkLayerOptions("MultiHeadAttention", arguments, 3, options, [
      "kdim",
      "vdim",
      "numKvHeads",
      "bias",
      "dropoutP",
      "rope",
    ]);
    const { kdim = embedDim, vdim = embedDim, numKvHeads = numHeads, bias = true, dtype } = options;
    checkSizes("MultiHeadAttention", { embedDim, numHeads, kdim, vdim, numKvHeads });
    checkDropout("MultiHeadAttention", options.dropoutP ?? 0);
    if (embedDim % numHeads !== 0 || numHeads % numKvHeads !== 0)
      throw new OptionError(
        "heads",
        `MultiHeadAttention: numHeads must divide embedDim, and numKvHeads numHeads; got embedDim ${embedDim}, numHeads ${numHeads}, numKvHeads ${numKvHeads}`,
        { embedDim, numHeads, numKvHeads },
      );
    const seed = generatorOf(options.seed);
    const width = (embedDim / numHeads) * numKvHeads;
    const drawn = (rows: number, columns: number) =>
      fillXavierUniform(parameter([rows, columns], dtype), seed);
    if (kdim === embedDim && vdim === embedDim) this.in_proj_weight = drawn(embedDim + 2 * width, embedDim);
    else {
      this.q_proj_weight = drawn(embedDim, embedDim);
      this.k_proj_weight = drawn(width, kdim);
      this.v_proj_weight = drawn(width, vdim);
    }
    if (bias) this.in_proj_bias = parameter([embedDim + 2 * width], dtype);
    this.out_proj = new Linear(embedDim, embedDim, { bias, dtype, seed });
    this.out_proj.bias?.data.fill(0);
    this.embedDim = embedDim;
    this.numHeads = numHeads;
    this.numKvHeads = numKvHeads;
    this.dropoutP = options.dropoutP ?? 0;
    if (options.rope !== undefined && typeof options.rope?.forward !== "function")
      refuseValue("MultiHeadAttention", "rope", "new Rope(…)", options.rope);
    if (options.rope) this.rope = options.rope;
  }

  /**
   * Attention of `query` [..., Nq, embedDim] over `key` [..., Nk, kdim] and `value` [..., Nk, vdim]. One tensor alone is
   * self-attention; without `value`, keys are the values too.
   */
  forward<T extends TensorLike>(
    query: T,
    key: TensorLike | undefined,
    value: TensorLike | undefined,
    options: Omit<AttendOptions, "returnWeights"> & WeightsWanted,
  ): WithWeights<AttendResult<PrecisionOf<T>>>;
  forward<T extends TensorLike>(
    query: T,
    key?: TensorLike,
    value?: TensorLike,
    options?: AttendOptions,
  ): AttendResult<PrecisionOf<T>>;
  forward(
    query: TensorLike,
    key: TensorLike = query,
    value: TensorLike = key,
    options: AttendOptions = {},
  ): AttendResult {
    checkCount("MultiHeadAttention.forward", arguments, 4);
    const what = "MultiHeadAttention";
    checkOptionNames(what, options, ATTEND_OPTIONS);
    const x = operand(what, "query", query);
    for (const [name, t] of Object.entries({ key, value }))
      if (!isOperand(t))
        throw new ShapeError(
          "tensor",
          `${what}: ${name}: expected a tensor { data, shape }, got ${formatValue(t)}; options are the fourth argument: forward(x, x, x, options)`,
          { got: t },
        );
    // The attention needs a batch axis before the heads.
    if (x.shape.length === 2) {
      const batched = (t: TensorLike) => (t === query ? entry : reshape(t, [1, ...asTensor(what, t).shape]));
      const entry = reshape(x, [1, ...x.shape]);
      const result = this.forward(
        entry,
        batched(key),
        key === value ? batched(key) : batched(value),
        options,
      );
      return Object.fromEntries(
        Object.entries(result).map(([name, t]) => [name, reshape(t, t.shape.slice(1))]),
      ) as unknown as AttendResult;
    }
    const { past, keyMask, attnMask, queryOffset = past?.key?.shape?.at(-2), ...rest } = options;
    const projected = this.#project(x, key, value);
    const [q, k, v] = projected.map((t, n) => splitHeads(t, n === 0 ? this.numHeads : this.numKvHeads));
    const [rotatedQ, rotatedK] = this.#rotate(q, k, queryOffset);
    if (past) checkPast(past, rotatedK, v);
    const [allK, allV] = past
      ? [concat([past.key, rotatedK], -2), concat([past.value, v], -2)]
      : [rotatedK, v];
    const masks: MaskLike[] = [...maskList(what, attnMask)];
    if (keyMask) masks.push(expandKeyMask(what, keyMask, allK));
    const seed = this.dropoutP > 0 ? dropoutSeed() : undefined;
    const attended = attention(rotatedQ, allK, allV, {
      ...rest,
      ...(queryOffset !== undefined && { queryOffset }),
      ...(masks.length > 0 && { attnMask: masks.length === 1 ? masks[0] : masks }),
      ...(seed !== undefined && { dropoutP: this.dropoutP, seed }),
    });
    return {
      ...attended,
      output: this.out_proj.forward(mergeHeads(attended.output)),
      query: rotatedQ,
      key: allK,
      value: allV,
    };
  }

  /**
   * Self-attention of this rank's rows `x` [B, n, embedDim] of a sequence over all of its rows. Every rank calls it. The result is this
   * rank's rows of `forward`, up to rounding.
   *
   * @example
   * const plan = shardSequence({ length: N, ranks: comm.size, isCausal: true });
   * const tape = new ContextTape(comm, plan); // heed/train
   * const { output } = await layer.forwardOver(tape, plan.take(comm.rank, x), { isCausal: true });
   * @beta
   */
  async forwardOver(
    shard: SequenceShard,
    x: TensorLike,
    options: ShardedOptions = {},
  ): Promise<AttendResult> {
    checkCount("MultiHeadAttention.forwardOver", arguments, 3);
    checkShard("MultiHeadAttention.forwardOver", shard);
    const [query, key, value] = shard.run(() => {
      const rows = operand("MultiHeadAttention.forwardOver", "x", x);
      const [q, k, v] = this.#project(rows, rows, rows).map((t, n) =>
        splitHeads(t, n === 0 ? this.numHeads : this.numKvHeads),
      );
      return [...(this.rope ? [q, k].map((t) => this.rope!.forward(t, shard.positions)) : [q, k]), v];
    });
    const seed = this.dropoutP > 0 ? shard.run(() => dropoutSeed()) : undefined;
    const dropout = seed === undefined ? {} : { dropoutP: this.dropoutP, seed };
    const { output, lse } = await shard.attend(query, key, value, { ...dropout, ...options });
    return { output: shard.run(() => this.out_proj.forward(mergeHeads(output))), lse, query, key, value };
  }

  /** Queries, keys and values [..., N, heads·D]; one product for all projections of the same tensor. */
  #project(query: FloatTensor, key: TensorLike, value: TensorLike): FloatTensor[] {
    const width = (this.embedDim / this.numHeads) * this.numKvHeads;
    const sizes = [this.embedDim, width, width];
    const { in_proj_weight: weight, in_proj_bias: bias } = this;
    this.#checkWidths({ query, key, value });
    if (weight && key === query && value === query) return split(linear(query, weight, bias), sizes);
    if (weight) {
      const rows = (t: FloatTensor, first: number, end?: number) => slice(t, 0, first, end);
      const part = (x: TensorLike, first: number, end?: number) =>
        linear(x, rows(weight, first, end), bias && rows(bias, first, end));
      const q = part(query, 0, this.embedDim);
      if (key === value) return [q, ...split(part(key, this.embedDim), [width, width])];
      return [q, part(key, this.embedDim, this.embedDim + width), part(value, this.embedDim + width)];
    }
    const biases = bias ? split(bias, sizes) : [];
    const weights = [this.q_proj_weight!, this.k_proj_weight!, this.v_proj_weight!];
    return [query, key, value].map((x, n) => linear(x, weights[n], biases[n]));
  }

  /** Throws unless the last axes of the operands are embedDim, kdim and vdim. */
  #checkWidths(operands: Record<"query" | "key" | "value", TensorLike>): void {
    const wanted = {
      query: ["embedDim", this.embedDim],
      key: ["kdim", this.k_proj_weight?.shape[1] ?? this.embedDim],
      value: ["vdim", this.v_proj_weight?.shape[1] ?? this.embedDim],
    } as const;
    for (const [name, t] of Object.entries(operands) as ["query" | "key" | "value", TensorLike][]) {
      const [option, width] = wanted[name];
      const tensor = asTensor(`MultiHeadAttention: ${name}`, t);
      if (tensor.shape.at(-1) !== width)
        throw new ShapeError(
          name,
          `MultiHeadAttention: the last axis of ${name} must be ${option} ${width}, got ${formatTensor(name, tensor)}`,
          { got: tensor.shape, [option]: width },
        );
    }
  }

  #rotate(q: FloatTensor, k: FloatTensor, queryOffset: AttentionOptions["queryOffset"]): FloatTensor[] {
    if (!this.rope) return [q, k];
    if (queryOffset !== undefined && typeof queryOffset !== "number")
      refuseGot(
        "query-offset",
        "MultiHeadAttention: with rotary positions queryOffset must be one number",
        queryOffset,
      );
    return [this.rope.forward(q, queryOffset ?? 0), this.rope.forward(k, queryOffset ?? 0)];
  }
}

/** True for an object with data and a shape, and for nested arrays. */
export function isOperand(x: unknown): boolean {
  if (isNested(x)) return true;
  return typeof x === "object" && x !== null && "data" in x && ("shape" in x || "dims" in x);
}

/** Throws unless the past has the heads and head sizes of the new keys and values. */
function checkPast(past: NonNullable<AttendOptions["past"]>, k: Tensor, v: Tensor): void {
  const form = (t: Tensor) => [...t.shape.slice(0, -2), "Npast", t.shape.at(-1)].join(", ");
  const fits = (t: unknown, like: Tensor) => t instanceof Tensor && form(t) === form(like);
  if (!(fits(past?.key, k) && fits(past?.value, v)))
    refuseValue("MultiHeadAttention", "past", `{ key, value }, tensors [${form(k)}] and [${form(v)}]`, past);
}
