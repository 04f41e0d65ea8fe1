/**
 * The formula in float64, in plain loops, for readers and for tests. Exports only.
 * @module
 */
export { type Backward, type BackwardOptions, backward } from "./backward.ts";
export { attentionDoubleBackward, type DoubleGradients } from "./double.ts";
export { type Forward, type ForwardOptions, forward, type Sizes } from "./forward.ts";
export { type OnlineOptions, type OnlineStep, online } from "./online.ts";
export { exponentiateRow, type RowSum, softmaxRow, weightOf } from "./row.ts";
export { finiteMask, unscaled, withoutMaximum } from "./textbook.ts";
