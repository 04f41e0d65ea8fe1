/** Operations of the layers, recorded. */

export {
  type AxesArgument,
  expandDims,
  type MovedOf,
  permute,
  type ReduceOptions,
  squeeze,
} from "../arrays/axes.ts";
export { clip, eq, ge, gt, le, lt, maskedFill, ne } from "../arrays/compare.ts";
export { einsum } from "../arrays/einsum.ts";
export { cumsum, type Ordered, type SortOptions, sort, type TopkOptions, topk } from "../arrays/order.ts";
export { mean, norm, type SumOf, sum, type VarianceOptions, variance } from "../arrays/reduce.ts";
export { gather, takePositions as take } from "../arrays/take.ts";
export { type ActivationName, activate, elu1, gelu, relu, sigmoid, silu, tanh } from "./activations.ts";
export { add, div, divide, mul, multiply, type Operand, pow, scale, sub } from "./arithmetic.ts";
export { type Attended, attention, type WithWeights } from "./attend.ts";
export { dropout, dropoutSeed, layerDropout, withDropout } from "./dropout.ts";
export { abs, exp, log, sqrt, square } from "./elementwise.ts";
export { embedding, type Ids } from "./lookup.ts";
export { layerNorm, rmsNorm } from "./normalize.ts";
export type { AxisArgument, FloatTensor, FloatTensorOf, Precision, PrecisionOf } from "./operand.ts";
export { linear, matmul, type ProductOptions } from "./products.ts";
export { type RopeLayout, type RopeOptions, rope, sinusoidalPositions } from "./rope.ts";
export { argmax, type Index, max, min, pick, stack, tril, triu, where } from "./select.ts";
export { concat, mergeHeads, reshape, slice, split, splitHeads, transpose } from "./shapes.ts";
export { softmax } from "./softmax.ts";
