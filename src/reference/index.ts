/** `heed/reference`: the formula in float64, in plain loops, for people and for tests. Exports only. */
export { type Backward, type BackwardOptions, backward } from "./backward.ts";
export { attentionDoubleBackward, type DoubleGradients } from "./double.ts";
export { type Forward, type ForwardOptions, forward, type Sizes } from "./forward.ts";
export { type OnlineOptions, type OnlineStep, online } from "./online.ts";
export { finiteMask, unscaled, withoutMaximum } from "./textbook.ts";
