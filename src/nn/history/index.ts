/**
 * The history of attention and its alternatives: the recurrent encoder–decoder with Bahdanau's additive and
 * Luong's multiplicative attention, and attention by features in linear time. Layers and operations are differentiable,
 * as those of `heed/nn`.
 * @module
 */
export { AdditiveAttention } from "./additive.ts";
export { additiveScores } from "./additive-scores.ts";
export {
  type DecoderStep,
  type EncoderOutput,
  RecurrentEncoderDecoder,
  type RecurrentOptions,
} from "./encoder-decoder.ts";
export { type FeatureHeadOptions, LinearAttention, PerformerAttention } from "./feature-heads.ts";
export { GRU, GRUCell, type GruOutput } from "./gru.ts";
export {
  type LinearAttentionOptions,
  type LinearAttentionResult,
  linearAttention,
} from "./linear-attention.ts";
export { LuongAttention } from "./luong.ts";
export { orthogonalFeatures, type PerformerOptions, performerAttention } from "./performer.ts";
export type { ScoredOptions } from "./scored.ts";
