/**
 * Exact scaled dot-product attention, softmax(Q·Kᵀ/√dk + mask)·V: forward, backward, weights of selected rows, masks and
 * score mods, and tensors. Exports only.
 * @module
 */
import "./core/absent.ts";

export {
  type AttentionAsyncOptions,
  attentionBackwardAsync,
  type BackwardAsyncOptions,
  scaledDotProductAttentionAsync,
} from "./api/asynchronous.ts";
export {
  type AttentionResult,
  type AttentionResultWithWeights,
  attentionWeights,
  type LseDType,
  scaledDotProductAttention,
  type WeightsOptions,
  type WeightsWanted,
} from "./api/attention.ts";
export {
  type AttentionGradients,
  attentionBackward,
  type BackwardOptions,
} from "./api/backward.ts";
export { cast } from "./api/cast.ts";
export { empty, prepare } from "./api/dispatch/engine.ts";
export type { PrintablePlan } from "./api/dispatch/plans.ts";
export { explain, explainMatmul } from "./api/explain.ts";
export { type AttentionMap, attentionMap, type MapOptions } from "./api/map.ts";
export type { MatmulOptions } from "./api/matmul.ts";
export { mergeStates } from "./api/merge.ts";
export type { Plan, SimdLevel } from "./backend/plan/plan.ts";
export type { AttentionOptions, MaskLike } from "./backend/problem.ts";
export { configure, type Settings } from "./backend/settings.ts";
export { tensor, zeros } from "./core/create/construct.ts";
export {
  type ArangeOptions,
  arange,
  eye,
  full,
  linspace,
  ones,
  type RandomOptions,
  rand,
  randint,
  randn,
} from "./core/create/create.ts";
export type { NestedBigints, NestedBooleans, NestedNumbers } from "./core/create/nested.ts";
export type { DType, FloatDType } from "./core/dtype.ts";
export {
  DTypeError,
  FormatError,
  HeedError,
  OptionError,
  ShapeError,
  UnsupportedError,
} from "./core/errors.ts";
export type { FormatOptions, NestedValues, TensorJson } from "./core/format.ts";
export { Generator, type Seed, withSeed } from "./core/random/generator.ts";
export type { SliceOptions } from "./core/slices.ts";
export type { State } from "./core/state.ts";
export {
  type FloatDTypeOf,
  type NestedList,
  Tensor,
  type TensorLike,
  type TensorObject,
} from "./core/tensor.ts";
export * from "./masks/index.ts";
