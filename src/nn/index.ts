/**
 * Differentiable operations, and layers with PyTorch's parameter names.
 * @module
 */
import "./absent.ts";

export { Generator, type Seed, withSeed } from "../core/random/generator.ts";
export { type BlockOptions, type BlockResult, DecoderBlock, EncoderBlock } from "./block.ts";
export { Embedding } from "./embedding.ts";
export {
  buffer,
  fill,
  fillLinear,
  fillNormal,
  fillUniform,
  fillXavierUniform,
  type LayerOptions,
  parameter,
} from "./initialize.ts";
export { Linear } from "./linear.ts";
export { MLP, SwiGLU } from "./mlp.ts";
export { type LoadResult, Module } from "./module.ts";
export {
  type AttendOptions,
  type AttendResult,
  MultiHeadAttention,
  type MultiHeadOptions,
} from "./multi-head.ts";
export { LayerNorm, RMSNorm } from "./norm.ts";
export * from "./ops/index.ts";
export { LearnedPositions, Rope, SinusoidalPositions } from "./positions.ts";
export {
  isRecording,
  noGrad,
  type Operation,
  type Recorder,
  record,
  stopGradient,
  withRecorder,
} from "./record.ts";
export { SelfAttention } from "./self-attention.ts";
export type { SequenceShard, ShardedOptions } from "./sharded.ts";
