/**
 * A resolved call: its shapes, masks, score mods and numbers, all checked. Backends and `explain` read this instead of the
 * caller's options.
 */

import { fromNested, isNested, type NestedBooleans, type NestedNumbers } from "../core/create/nested.ts";
import { placed } from "../core/device/device.ts";
import { arrayName, type FloatDType, isFloat, isInteger, isMask, readerOf } from "../core/dtype.ts";
import {
  checkSeed,
  DTypeError,
  formatTensor,
  formatValue,
  isList,
  OptionError,
  refuseGot,
  ShapeError,
} from "../core/errors.ts";
import { checkKnownOptions } from "../core/known-names.ts";
import type { CellStrides, Layout, Shape } from "../core/shape.ts";
import { cellStrides, checkLayout, resolveShape, rowShape } from "../core/shape.ts";
import { asTensor, eachRow, Tensor, type TensorLike } from "../core/tensor.ts";
import type { Mask, NumberExpression, Table } from "../masks/expression/expr.ts";
import { BoolExpression, FOREIGN, isForeign, ScoreMod, VARS, withScore } from "../masks/expression/expr.ts";
import type { PositionOptions, RowPositions } from "./positions.ts";
import { checkTables, resolvePositions, rowPositions, toRows } from "./positions.ts";
import { requestedWeights, type WeightSelection } from "./selection.ts";

/** Values of `attnMask`: a bool tensor (true = attend), a float tensor (added), nested arrays of either, or a mask expression. */
export type MaskLike =
  | TensorLike
  | Tensor
  | Mask
  | readonly NestedBooleans[]
  | readonly (readonly NestedNumbers[])[];

/** Options of `scaledDotProductAttention`; all optional. */
export interface AttentionOptions extends PositionOptions {
  /** A mask, or several: masks intersect, float tensors add. Tensors broadcast right-aligned to [..., Hq, Nq, Nk]. Default none. */
  attnMask?: MaskLike | readonly MaskLike[];
  /** Multiplies Q·Kᵀ. Default 1/√dk. */
  scale?: number;
  /** Score change, or several in order. Default none. */
  scoreMod?: ScoreMod | readonly ScoreMod[];
  /** One extra logit per head in the denominator, [Hq]. Default none. */
  sinks?: TensorLike | Tensor | ArrayLike<number>;
  /** Share of weights dropped (the others grow by 1/(1 − p)); applied whenever it is > 0. Default 0. */
  dropoutP?: number;
  /** Seed of the dropout: an integer, required where `dropoutP` > 0. */
  seed?: number;
  /** Order of axes: [..., H, N, d] or [..., N, H, d]. Default "bhsd". */
  layout?: Layout;
  /** Weights [..., Hq, Nq, Nk] as well: all (`true` or `{}`), or those of a few heads and rows. Default false. */
  returnWeights?: boolean | { heads?: readonly number[]; rows?: readonly number[] };
}

/** The mask of `isCausal`: one expression, so that calls share its plans. */
/** As `causal()`, without its name and parameters: a call without a mask does not bundle them. */
const CAUSAL = /* @__PURE__ */ (() => VARS.k.le(VARS.q))();

const NAMES: readonly (keyof AttentionOptions)[] = [
  "attnMask", "isCausal", "queryOffset", "keyOffset", "queryPositions", "keyPositions", "scale", "scoreMod", "sinks", "dropoutP", "seed", "layout", "returnWeights",
]; // biome-ignore format: one list

/** A mask tensor broadcast to the scores. @beta */
export interface MaskTensor extends CellStrides {
  readonly kind: "bool" | "float";
  /** The number with which a float mask masks, where that is finite, such as −1e9, or NaN. */
  readonly finite?: number;
  readonly tensor: Tensor;
}

/** A resolved call. @beta */
export interface Problem {
  readonly caller: string;
  readonly shape: Shape;
  /** Dtype of the query, and so of the output. */
  readonly dtype: FloatDType;
  readonly scale: number;
  /** The variable q of expressions minus the row i, by batch entry. */
  readonly offsets: Float64Array;
  /** Positions by row: the keys of dropout. */
  readonly positions: RowPositions;
  /** Structural mask, causality included; undefined where every cell is visible. In its variables, k is the index of a key. */
  readonly mask?: BoolExpression;
  /** The score after all score mods, as an expression of `score`. In its variables, k is the index of a key. */
  readonly score?: NumberExpression;
  readonly tensors: readonly MaskTensor[];
  /** [Hq], in host memory: sinks of a call on the CPU, and lists of numbers on any device. */
  readonly sinks?: Float64Array;
  /** [Hq], where the caller passed a tensor, and the call or the tensor is on another device. */
  readonly deviceSinks?: Tensor;
  /** Tables of the mask and the score whose numbers are on another device. Expressions hold the numbers of all other tables. */
  readonly deviceTables: readonly Table[];
  readonly dropoutP: number;
  readonly seed: number;
  /** Heads and rows whose weights are requested. */
  readonly weights?: WeightSelection;
}

/** Checks a call and resolves it. */
export function resolve(
  what: string,
  queryLike: TensorLike,
  keyLike: TensorLike,
  valueLike: TensorLike,
  options: AttentionOptions,
): Problem {
  checkAttentionOptions(what, options);
  const like = [queryLike, keyLike, valueLike].find((t) => t instanceof Tensor) as Tensor | undefined;
  const query = asTensor(`${what}: query`, queryLike, like);
  const key = asTensor(`${what}: key`, keyLike, like);
  const value = asTensor(`${what}: value`, valueLike, like);
  const layout = checkLayout(what, options.layout ?? undefined);
  checkDtypes(what, query, key, value);
  const shape = resolveShape(what, query, key, value, layout);
  const scale = options.scale ?? 1 / Math.sqrt(shape.dk);
  if (typeof scale !== "number" || (!Number.isFinite(scale) && shape.dk > 0))
    throw new OptionError(
      "scale",
      `${what}: scale must be a finite number, got ${formatValue(scale)}${Number.isNaN(scale) ? "; the last size of a tensor is q.shape.at(-1)" : ""}`,
      { got: scale },
    );
  if (query.dtype !== "float64" && !Number.isFinite(Math.fround(scale)) && shape.dk > 0)
    refuseGot("scale", `${what}: scale must fit float32, in which ${query.dtype} is computed`, scale);
  const dropoutP = options.dropoutP ?? 0;
  if (!(typeof dropoutP === "number" && dropoutP >= 0 && dropoutP < 1))
    refuseGot("dropout", `${what}: dropoutP must be in [0, 1)`, dropoutP);
  if (dropoutP > 0 && options.seed === undefined)
    throw new OptionError(
      "seed",
      `${what}: dropoutP needs a seed, an integer, or every call would drop the same weights; a new one for each forward call, such as the number of the step, and the same in its backward pass`,
    );
  const seed = options.seed ?? 0;
  if (!Number.isSafeInteger(seed)) checkSeed(what, seed);

  const positions = resolvePositions(what, shape, options);
  const masks: BoolExpression[] = positions.isCausal ? [CAUSAL] : [];
  const tensors: MaskTensor[] = [];
  for (const member of maskMembers(what, options.attnMask, query.device))
    if (member instanceof BoolExpression) masks.push(member);
    else tensors.push(maskTensor(what, member, shape, query.dtype as FloatDType));
  let mask: BoolExpression | undefined = masks.length > 1 ? masks[0].and(...masks.slice(1)) : masks[0];
  if (mask?.op === "const" && mask.value === 1) mask = undefined;

  let score: NumberExpression | undefined;
  for (const change of list(options.scoreMod)) {
    if (!(change instanceof ScoreMod))
      throw new OptionError(
        "score-mod",
        isForeign(change) && !((change as unknown) instanceof BoolExpression)
          ? `${what}: scoreMod ${FOREIGN}`
          : `${what}: scoreMod takes what softcap(c), alibi(slopes), relativeBias(table) or scoreMod(f) returns, got ${formatValue(change)}`,
        { got: change },
      );
    score = withScore(change.expr, score ?? VARS.score);
  }
  const deviceTables: Table[] = [];
  for (const expr of [mask, score]) if (expr) deviceTables.push(...checkTables(what, expr, shape, positions));
  const byRows = toRows(positions);

  return {
    caller: what,
    shape,
    dtype: query.dtype as FloatDType,
    scale: shape.dk === 0 && options.scale === undefined ? 1 : scale,
    offsets: positions.offsets,
    positions: rowPositions(positions),
    mask: mask && byRows(mask),
    score: score && byRows(score),
    tensors,
    ...sinksOf(what, options.sinks, shape, query.device),
    deviceTables,
    dropoutP,
    seed,
    weights:
      options.returnWeights === undefined ? undefined : requestedWeights(what, options.returnWeights, shape),
  };
}

/** The members of `attnMask`, with nested arrays as tensors of `device`. */
export function maskMembers(
  what: string,
  attnMask: AttentionOptions["attnMask"],
  device = "cpu",
): readonly (Tensor | BoolExpression)[] {
  return maskList(what, attnMask).map((member) => maskMember(what, member, device));
}

/** True where `attnMask` is a list of masks, not one mask. */
export const isMaskList = (attnMask: AttentionOptions["attnMask"]): attnMask is readonly MaskLike[] =>
  Array.isArray(attnMask) && !isNested(attnMask);

/** `attnMask` as a list, its members unchanged; a layer adds its own masks to it. */
export function maskList(what: string, attnMask: AttentionOptions["attnMask"]): readonly MaskLike[] {
  if (attnMask === undefined) return [];
  // A layer adds it to a list, where it would be a nested array.
  if (typeof attnMask === "boolean" || typeof attnMask === "number")
    asTensor(`${what}: attnMask`, attnMask as never);
  return isMaskList(attnMask) ? attnMask : [attnMask as MaskLike];
}

function maskMember(what: string, member: unknown, device: string): Tensor | BoolExpression {
  if (member instanceof BoolExpression) return member;
  const name = `${what}: attnMask`;
  if (isNested(member)) {
    const { data, shape, dtype } = fromNested(name, member);
    // Arrays have no device: they are moved to that of the call.
    return placed(what, new Tensor(data, shape, dtype), device);
  }
  const refuse = (text: string): never => {
    throw new OptionError("mask", `${name} ${text}`, { got: member });
  };
  if (typeof member === "function" && (member.name === "" || member.name === "attnMask"))
    refuse(
      "takes no function: a mask is made once, as an expression, not called for each cell; write maskMod(({ q, k }) => k.le(q)), or causal()",
    );
  if (typeof member === "function")
    refuse(
      `takes what ${member.name}(…) returns, got the function itself; call it: attnMask: ${member.name}()`,
    );
  if (typeof member === "string")
    refuse(`takes a tensor or a mask such as causal() or slidingWindow(256, 0), got ${formatValue(member)}`);
  if (member instanceof ScoreMod) refuse("takes masks; a score mod goes into scoreMod");
  if (isForeign(member)) refuse(FOREIGN);
  return asTensor(name, member as TensorLike);
}

function list<T>(x: T | readonly T[] | undefined): readonly T[] {
  return x === undefined ? [] : Array.isArray(x) ? x : [x as T];
}

/** Refuses unknown options of an attention call: a misspelled option would change the result silently. */
export function checkAttentionOptions(what: string, options: object, extra: readonly string[] = []): void {
  const isKnown = ([name, value]: readonly [string, unknown]) =>
    value !== null && ((NAMES as readonly string[]).includes(name) || extra.includes(name));
  // Fast path for valid options, without the search for a suggestion.
  if (arrayName(options) === "Object") if (Object.entries(options).every(isKnown)) return;
  checkKnownOptions(what, options, [...NAMES, ...extra]);
}

function checkDtypes(what: string, query: Tensor, key: Tensor, value: Tensor): void {
  const shown = () =>
    `${formatTensor("query", query)}, ${formatTensor("key", key)}, ${formatTensor("value", value)}`;
  for (const t of [query, key, value])
    if (!isFloat(t.dtype))
      throw new DTypeError(
        "dtype",
        `${what}: attention computes with float32, float64, float16 and bfloat16, got ${shown()}; convert the others: cast(x, "float32")`,
      );
  const wide = [query, key, value].filter((t) => t.dtype === "float64").length;
  if (wide !== 0 && wide !== 3)
    throw new DTypeError(
      "dtype-mixed",
      `${what}: float64 does not mix with other dtypes; convert the others first: cast(x, "float64"); ${shown()}`,
    );
}

function maskTensor(what: string, t: Tensor, shape: Shape, dtype: FloatDType): MaskTensor {
  const target = rowShape(shape, shape.Nk);
  const isTruth = isMask(t.dtype);
  if (!isTruth && !(isFloat(t.dtype) && (t.dtype === dtype || t.dtype === "float32")))
    throw new DTypeError(
      "mask-dtype",
      `${what}: attnMask must be bool${dtype === "float32" ? "" : `, ${dtype}`} or float32, got ${formatTensor("attnMask", t)}${
        isInteger(t.dtype) ? '; for 1 = attend pass cast(mask, "bool")' : ""
      }`,
      { got: t.shape, dtype: t.dtype },
    );
  const rank = t.shape.length;
  const fits =
    rank <= target.length && t.shape.every((n, i) => n === 1 || n === target[i - rank + target.length]);
  if (!fits) {
    const padding = rank === 2 && t.shape[0] === shape.B && t.shape[1] === shape.Nk;
    throw new ShapeError(
      "mask-shape",
      `${what}: attnMask must broadcast, right-aligned, to [${target.join(", ")}], got ${formatTensor("attnMask", t)}${
        padding
          ? `; for padding use keyLengths(lengths), or a mask of [B, ${"1, ".repeat(target.length - 2)}Nk]`
          : rank > target.length
            ? "; leave out its axis of heads, or give query, key and value one: [B, H, N, d]"
            : ""
      }`,
      { mask: t.shape, target },
    );
  }
  // The numbers of a tensor on another device cannot be examined here.
  const first = isTruth || t.device !== "cpu" || ADDED.has(t) ? 0 : firstOther(t);
  if (first === 1)
    throw new OptionError(
      "mask-zeros-ones",
      `${what}: attnMask holds only 0 and 1, and a float mask is added to the scores. Where 1 means attend, pass cast(mask, "bool"); to add numbers, 0 keeps a score and -Infinity masks it: where(cast(mask, "bool"), 0, -Infinity)`,
      { got: t.shape, dtype: t.dtype },
    );
  const finite =
    Number.isNaN(first) || (first <= -1e4 && first !== Number.NEGATIVE_INFINITY) ? first : undefined;
  return {
    kind: isTruth ? "bool" : "float",
    finite,
    tensor: t,
    ...cellStrides(shape, t.shape, t.strides, t.offset),
  };
}

const ADDED = /* @__PURE__ */ new WeakSet<Tensor>();

/** Marks a float tensor as added scores: it may hold only zeros and ones. */
export function addedScores<T extends Tensor>(t: T): T {
  ADDED.add(t);
  return t;
}

/** The first number of a mask that is neither 0 nor 1; of a mask as textbooks write it, only zeros and ones, 1; of zeros 0. */
function firstOther(t: Tensor): number {
  const read = readerOf(t.dtype, t.data);
  let first = 0;
  eachRow(t.shape, t.strides, t.offset, (start, count, step) => {
    for (let n = 0; n < count && (first === 0 || first === 1); n++) {
      const x = read(start + n * step);
      if (x !== 0) first = x;
    }
  });
  return first;
}

function sinksOf(
  what: string,
  sinks: AttentionOptions["sinks"],
  shape: Shape,
  device: string,
): Pick<Problem, "sinks" | "deviceSinks"> {
  if (sinks === undefined || sinks === null) return {};
  const isNumbers = isList(sinks);
  if (isNumbers && !Array.from(sinks as ArrayLike<unknown>).every((x) => typeof x === "number"))
    throw new DTypeError("sinks", `${what}: sinks must hold numbers, got ${formatValue(sinks)}`, { sinks });
  const t = isNumbers ? undefined : asTensor(`${what}: sinks`, sinks as TensorLike);
  if (t && !isFloat(t.dtype))
    throw new DTypeError("sinks", `${what}: sinks must be floats, got ${formatTensor("sinks", t)}`, {
      dtype: t.dtype,
    });
  const length = t ? t.size : (sinks as ArrayLike<number>).length;
  if (length !== shape.Hq || (t && t.shape.length !== 1))
    throw new ShapeError(
      "sinks",
      `${what}: sinks must be [Hq = ${shape.Hq}], got ${t ? formatTensor("sinks", t) : formatValue(sinks)}`,
      { got: sinks },
    );
  if (t && (t.device !== "cpu" || device !== "cpu")) return { deviceSinks: t };
  const numbers = t ? t.toFloat64() : Float64Array.from(sinks as ArrayLike<number>);
  if (numbers.some(Number.isNaN)) refuseGot("sinks", `${what}: sinks must hold numbers`, Number.NaN);
  return { sinks: numbers };
}
