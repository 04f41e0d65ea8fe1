/**
 * The backward pass of scaled dot-product attention: gradients of a loss by query, key, value and by everything that
 * was added to the scores, from the gradient of the output. Weights are recomputed from lse, tile by tile (Dao et al.
 * 2022, FlashAttention, algorithm 4), so memory is linear in Nq and Nk. Options are resolved in backend/problem.ts and the
 * work is a backend's; this file checks what came back from the forward pass and hands out tensors.
 */

import type { Gradients, MaskGradient } from "./backend/contract.ts";
import { castTo, checkOutputLike, lseReader, reduceToInput } from "./backend/gradients.ts";
import {
  type AttentionOptions,
  checkNames,
  type MaskTensor,
  maskMembers,
  type Problem,
  resolve,
} from "./backend/problem.ts";
import { backendFor } from "./backends.ts";
import { zeroArray } from "./core/arena.ts";
import type { FloatDType } from "./core/dtype.ts";
import { formatValue, OptionError } from "./core/errors.ts";
import { recordWithoutDerivative } from "./core/record.ts";
import { batchBases, type Shape } from "./core/shape.ts";
import { type FloatDTypeOf, rowMajor, sizeOf, type Tensor, type TensorLike } from "./core/tensor.ts";
import { type Table, tablesOf } from "./masks/expression/expr.ts";

/** Which gradients beside those of query, key and value are computed. */
export type Extra = "mask" | "sinks" | "tables";

/** Options of `attentionBackward`: those of the forward call, and what is wanted. */
export interface BackwardOptions extends AttentionOptions {
  /** Gradients beside dQuery, dKey and dValue. Default: all that the call has something for. */
  wanted?: readonly Extra[];
}

/** Gradients, each in the shape and dtype of what it is the gradient of, summed over axes that were broadcast. */
export interface AttentionGradients<
  Q extends FloatDType = FloatDType,
  K extends FloatDType = FloatDType,
  V extends FloatDType = FloatDType,
> {
  readonly dQuery: Tensor<Q>;
  readonly dKey: Tensor<K>;
  readonly dValue: Tensor<V>;
  /** Of `attnMask`, where it is one float tensor. */
  readonly dMask?: Tensor;
  /** Where `attnMask` is a list: one for each member, undefined for masks without a gradient. */
  readonly dMasks?: readonly (Tensor | undefined)[];
  /** Of `sinks`, [Hq]. */
  readonly dSinks?: Tensor;
  /** Of the slopes of `alibi`. */
  readonly dSlopes?: Tensor;
  /** Of the table of `relativeBias`. */
  readonly dTable?: Tensor;
  /** Of every table of floats the score changes read, in order of appearance: slopes and relative tables among them. */
  readonly dTables?: readonly Tensor[];
}

/**
 * Gradients of Σ output·dOutput for the inputs of `scaledDotProductAttention`.
 *
 * @param dOutput gradient of the output, in its shape: [..., Hq, Nq, dv], or [..., Nq, Hq, dv] in layout `bshd`
 * @param query   [..., Nq, dk], as in the forward call; so are key and value
 * @param state   what the forward call returned for the same inputs and options: `output` and `lse`
 * @param options the same options (dropout is replayed from its seed), and `wanted`
 * @throws ShapeError, DTypeError, OptionError before any work
 */
export function attentionBackward<Q extends TensorLike, K extends TensorLike, V extends TensorLike>(
  dOutput: TensorLike,
  query: Q,
  key: K,
  value: V,
  state: { readonly output: TensorLike; readonly lse: TensorLike },
  options: BackwardOptions = {},
): AttentionGradients<FloatDTypeOf<Q>, FloatDTypeOf<K>, FloatDTypeOf<V>> {
  const what = "attentionBackward";
  checkNames(what, options, ["wanted"]);
  const { wanted = ["mask", "sinks", "tables"], returnWeights: _, ...same } = options;
  checkWanted(what, wanted);
  const problem = resolve(what, query, key, value, same);
  if (state === null || typeof state !== "object" || !("output" in state && "lse" in state))
    throw new OptionError(
      "state",
      `${what}: the fifth argument must be what the forward call returned, { output, lse }, got ${formatValue(state)}`,
      { got: state },
    );
  const upstream = {
    dOutput: checkOutputLike(what, "dOutput", dOutput, problem),
    output: checkOutputLike(what, "output", state.output, problem),
    lse: lseReader(what, state.lse, problem),
  };
  const gradients = allocateGradients(problem, wanted);
  const backend = backendFor(problem, "backward").backend;
  backend.backward(problem, upstream, gradients);
  const made = gradientTensors(problem, gradients, options.attnMask);
  const read = [
    problem.shape.query,
    problem.shape.key,
    problem.shape.value,
    upstream.dOutput,
    upstream.output,
  ];
  recordWithoutDerivative(
    what,
    read.map((operand) => operand.tensor),
    [made.dQuery, made.dKey, made.dValue],
    "second derivatives are in attentionDoubleBackward of heed/reference",
  );
  return made as AttentionGradients<FloatDTypeOf<Q>, FloatDTypeOf<K>, FloatDTypeOf<V>>;
}

function checkWanted(what: string, wanted: readonly Extra[]): void {
  for (const name of Array.isArray(wanted) ? wanted : [wanted])
    if (name !== "mask" && name !== "sinks" && name !== "tables")
      throw new OptionError(
        "wanted",
        `${what}: wanted takes a list of "mask", "sinks", "tables", got ${formatValue(wanted)}`,
        { got: wanted },
      );
}

/** Arrays for all gradients, zero. */
function allocateGradients(problem: Problem, wanted: readonly Extra[]): Gradients {
  const { B, Hq, Hkv, Nq, Nk, dk, dv } = problem.shape;
  const numbers = (n: number) => (problem.dtype === "float64" ? new Float64Array(n) : zeroArray(n));
  const tables = wanted.includes("tables") && problem.score ? floatTables(problem) : [];
  return {
    dQuery: numbers(B * Hq * Nq * dk),
    dKey: numbers(B * Hkv * Nk * dk),
    dValue: numbers(B * Hkv * Nk * dv),
    masks: problem.tensors.map((t) =>
      wanted.includes("mask") && t.kind === "float" ? allocateMaskGradient(t, problem.shape) : undefined,
    ),
    ...(wanted.includes("sinks") && problem.sinks && { sinks: new Float64Array(Hq) }),
    tables: new Map(tables.map((t) => [t, new Float64Array(t.data.length)])),
  };
}

const floatTables = (problem: Problem): Table[] =>
  problem.score ? tablesOf(problem.score).filter((t) => t.type === "float") : [];

/** The gradient of a mask tensor lies as the tensor would in row-major order. */
function allocateMaskGradient({ tensor }: MaskTensor, shape: Shape): MaskGradient {
  const { shape: own } = tensor;
  const strides = rowMajor(own);
  const step = (fromEnd: number) =>
    own.length >= fromEnd && own[own.length - fromEnd] !== 1 ? strides[own.length - fromEnd] : 0;
  const used = shape.heads ? 3 : 2;
  return {
    data: new Float64Array(sizeOf(own)),
    base: batchBases(0, own.slice(0, Math.max(0, own.length - used)), strides, shape.batch),
    head: shape.heads ? step(3) : 0,
    row: step(2),
    column: step(1),
  };
}

function gradientTensors(
  problem: Problem,
  gradients: Gradients,
  attnMask: AttentionOptions["attnMask"],
): AttentionGradients {
  const { shape } = problem;
  const { Hq, Hkv, Nq, Nk, dk, dv } = shape;
  const tables = [...gradients.tables].map(([t, data]) => castTo(data, t.shape, t.dtype as FloatDType));
  const named = (name: string) => {
    const at = [...gradients.tables.keys()].findIndex((t) => t.name === name);
    return at < 0 ? undefined : tables[at];
  };
  const masks = gradients.masks.map((g, n) => {
    const { tensor } = problem.tensors[n];
    return g && castTo(g.data, tensor.shape, tensor.dtype as FloatDType);
  });
  const slopes = named("alibi slopes");
  const table = named("relativeBias");
  return {
    dQuery: reduceToInput(gradients.dQuery, shape, shape.query, Hq, Nq, dk),
    dKey: reduceToInput(gradients.dKey, shape, shape.key, Hkv, Nk, dk),
    dValue: reduceToInput(gradients.dValue, shape, shape.value, Hkv, Nk, dv),
    ...(maskMembers("attentionBackward", attnMask).isList
      ? masks.some(Boolean) && { dMasks: byMember(attnMask as readonly unknown[], masks) }
      : masks[0] && { dMask: masks[0] }),
    ...(gradients.sinks && {
      dSinks: castTo(gradients.sinks, [Hq], problem.dtype === "float64" ? "float64" : "float32"),
    }),
    ...(slopes && { dSlopes: slopes }),
    ...(table && { dTable: table }),
    ...(tables.length > 0 && { dTables: tables }),
  };
}

/** Tensors of a list of masks were resolved in order; expressions stand between them. */
function byMember(list: readonly unknown[], masks: readonly (Tensor | undefined)[]): (Tensor | undefined)[] {
  let next = 0;
  return list.map((member) => (isExpression(member) ? undefined : masks[next++]));
}

const isExpression = (x: unknown): boolean => typeof x === "object" && x !== null && "op" in x && "args" in x;
