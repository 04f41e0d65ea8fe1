/**
 * Array operations: the operations of layers other than products, attention and the row-wise operations of training. Each
 * reads tensors, which may be views with any strides, and writes a result that the caller allocated. Results are row-major
 * and start at the first element of their storage, except that of `assign`, which is a view. All tensors of an operation have
 * the same dtype, float32 or float64, unless its comment says otherwise. reference/array.ts defines each operation.
 */
import { checkArgument } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";

/** y = a ∘ b; `a` and `b` broadcast to the shape of y, aligned at their last axes. @beta */
export interface BinaryOperation {
  readonly name: "binary";
  readonly function: "add" | "sub" | "multiply" | "divide";
  readonly a: Tensor;
  readonly b: Tensor;
  readonly y: Tensor;
}

/** db = −dy·y/b: the gradient of b in y = a/b, before it is summed to the shape of b. b broadcasts to the shape of dy, y and db. @beta */
export interface DivideBackwardOperation {
  readonly name: "divide-backward";
  readonly dy: Tensor;
  /** a/b */
  readonly y: Tensor;
  readonly b: Tensor;
  readonly db: Tensor;
}

/**
 * y = x in another dtype, rounded once to nearest even. To `bool` every number but 0 is true. To int32 and int64 the fraction is
 * truncated; a number out of range is a DTypeError on the CPU, and other devices get such a cast only from `bool`.
 * @beta
 */
export interface CastOperation {
  readonly name: "cast";
  readonly x: Tensor;
  readonly y: Tensor;
}

/** y = condition ? a : b, all broadcast to the shape of y. The condition has any dtype; 0 is false. @beta */
export interface WhereOperation {
  readonly name: "where";
  readonly condition: Tensor;
  readonly a: Tensor;
  readonly b: Tensor;
  readonly y: Tensor;
}

/** y = a^b; `a` and `b` broadcast to the shape of y. */
export interface PowerOperation {
  readonly name: "power";
  readonly a: Tensor;
  readonly b: Tensor;
  readonly y: Tensor;
}

/** Comparisons of two numbers; one with NaN is false, but that of `ne` is true. */
export type Comparison = "lt" | "le" | "eq" | "ne";

/** y = whether a ∘ b; `a` and `b` have one dtype, floats or integers, and broadcast to the shape of y, which is bool. */
export interface CompareOperation {
  readonly name: "compare";
  readonly function: Comparison;
  readonly a: Tensor;
  readonly b: Tensor;
  readonly y: Tensor;
}

/** y = the sums of the elements up to each one along the middle axis, in float64; from the end where `reverse`. */
export interface CumsumOperation {
  readonly name: "cumsum";
  /** [outer, length, inner], and so is y. */
  readonly x: Tensor;
  readonly reverse: boolean;
  readonly y: Tensor;
}

/** The elements in order along the middle axis, and their indices before; equal elements stay in order, and NaN is the largest. */
export interface SortOperation {
  readonly name: "sort";
  /** [outer, length, inner], and so is y. */
  readonly x: Tensor;
  readonly descending: boolean;
  readonly y: Tensor;
  /** int32, in the shape of y. */
  readonly position: Tensor;
}

/** y = factor·x. @beta */
export interface ScaleOperation {
  readonly name: "scale";
  readonly x: Tensor;
  readonly factor: number;
  readonly y: Tensor;
}

/** Functions of one number. @beta */
export type ElementFunction = "exp" | "log" | "sqrt" | "square" | "abs";

/** y = f(x). @beta */
export interface ElementwiseOperation {
  readonly name: "elementwise";
  readonly function: ElementFunction;
  readonly x: Tensor;
  readonly y: Tensor;
}

/** dx = f′(x)·dy, and 0 where dy is 0. @beta */
export interface ElementwiseBackwardOperation {
  readonly name: "elementwise-backward";
  readonly function: ElementFunction;
  readonly x: Tensor;
  /** f(x) */
  readonly y: Tensor;
  readonly dy: Tensor;
  readonly dx: Tensor;
}

/** y = Σ x over the axes along which y would be broadcast to the shape of x, in float64, rounded once. @beta */
export interface SumOperation {
  readonly name: "sum";
  readonly x: Tensor;
  readonly y: Tensor;
}

/** The largest (`max`) or smallest (`min`) element of each row of x and its index; of equal elements the first, and NaN before all. @beta */
export interface ExtremeOperation {
  readonly name: "extreme";
  readonly function: "max" | "min";
  /** [outer, length, inner], length ≥ 1 */
  readonly x: Tensor;
  /** The element, [outer, 1, inner]. */
  readonly y: Tensor;
  /** Its index from 0 to length − 1, int32 [outer, 1, inner]. */
  readonly position: Tensor;
}

/** dx = dy at the positions of an `extreme` or a `sort`, 0 elsewhere. @beta */
export interface ExtremeBackwardOperation {
  readonly name: "extreme-backward";
  /** [outer, 1, inner], that of a sort [outer, length, inner]. */
  readonly dy: Tensor;
  readonly position: Tensor;
  /** [outer, length, inner] */
  readonly dx: Tensor;
}

/** y = softmax(x) over the last axis; a row of −∞ gives zeros. @beta */
export interface SoftmaxOperation {
  readonly name: "softmax";
  readonly x: Tensor;
  readonly y: Tensor;
}

/** dx = y·(dy − Σ dy·y) over the last axis, and 0 where y is 0. @beta */
export interface SoftmaxBackwardOperation {
  readonly name: "softmax-backward";
  readonly y: Tensor;
  readonly dy: Tensor;
  readonly dx: Tensor;
}

/** Copies x, broadcast to the shape of y, into the view y. Elements of y's storage outside the view do not change. @beta */
export interface AssignOperation {
  readonly name: "assign";
  readonly x: Tensor;
  readonly y: Tensor;
}

/** y [n, D] = rows `ids` of the table [V, D]. @beta */
export interface EmbeddingOperation {
  readonly name: "embedding";
  readonly table: Tensor;
  /** [n], each from 0 to V − 1. */
  readonly ids: Int32Array;
  readonly y: Tensor;
}

/** dTable [V, D]: row v is the sum of the rows n of dy with ids[n] = v, in order of n. @beta */
export interface EmbeddingBackwardOperation {
  readonly name: "embedding-backward";
  readonly dy: Tensor;
  readonly ids: Int32Array;
  readonly dTable: Tensor;
}

/**
 * y = x with the first R columns of each row of D rotated in pairs: (u, v) becomes (u·c − v·s, u·s + v·c), where c and s are
 * `amplitude` times `cos` and `sin` at the row's position. Row r of x has position ⌊r / repeat⌋ mod N.
 * @beta
 */
export interface RopeOperation {
  readonly name: "rope";
  readonly x: Tensor;
  readonly y: Tensor;
  /** [N, R/2]; repeated calls pass the same arrays, so that a device can cache its copies. */
  readonly cos: Float64Array;
  readonly sin: Float64Array;
  readonly N: number;
  readonly repeat: number;
  readonly R: number;
  /** Pair i is columns i and i + R/2 (`half`), or 2·i and 2·i + 1 (`interleaved`). */
  readonly layout: "half" | "interleaved";
  readonly amplitude: number;
  /** −1 rotates back: the gradient. */
  readonly sign: 1 | -1;
}

/**
 * y = x/(1 − p) where element n is kept, else 0. With core/random/random.ts it is kept where
 * `cellBits(rowKey(headKey(seed, 0, 0), ⌊n/2¹⁶⌋), n mod 2¹⁶) ≥ dropoutThreshold(p)`. With `rows`, which a device other than the CPU need
 * not support, x [..., rows, C] is a part of a sequence, and n is the place of the element in all of it.
 * @beta
 */
export interface DropoutOperation {
  readonly name: "dropout";
  readonly x: Tensor;
  readonly p: number;
  readonly seed: number;
  readonly rows?: { readonly positions: ArrayLike<number>; readonly length: number };
  readonly y: Tensor;
}

/** The state over the keys of all states (core/state.ts): lse = log Σ exp(lseᵢ), output = Σ exp(lseᵢ − lse)·outputᵢ. @beta */
export interface MergeStatesOperation {
  readonly name: "mergeStates";
  /** Outputs [rows, dv] of one float dtype, log-sum-exps [rows]. */
  readonly states: readonly { readonly output: Tensor; readonly lse: Tensor }[];
  readonly output: Tensor;
  readonly lse: Tensor;
}

/** Any array operation. @beta */
export type ArrayOperation =
  | BinaryOperation
  | DivideBackwardOperation
  | CastOperation
  | WhereOperation
  | PowerOperation
  | CompareOperation
  | CumsumOperation
  | SortOperation
  | ScaleOperation
  | ElementwiseOperation
  | ElementwiseBackwardOperation
  | SumOperation
  | ExtremeOperation
  | ExtremeBackwardOperation
  | SoftmaxOperation
  | SoftmaxBackwardOperation
  | AssignOperation
  | EmbeddingOperation
  | EmbeddingBackwardOperation
  | RopeOperation
  | DropoutOperation
  | MergeStatesOperation;

/** The tensors of an operation by the names of its fields, those of states as `states[0].output`. @beta */
export function tensorsOf(operation: ArrayOperation): Record<string, Tensor> {
  checkArgument(typeof operation?.name === "string", "tensorsOf", "an operation", operation);
  const tensors = Object.entries(operation).filter(
    (field): field is [string, Tensor] => field[1] instanceof Tensor,
  );
  if (operation.name === "mergeStates")
    operation.states.forEach(({ output, lse }, n) => {
      tensors.unshift([`states[${n}].output`, output], [`states[${n}].lse`, lse]);
    });
  return Object.fromEntries(tensors);
}
