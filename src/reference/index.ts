/**
 * The formula in float64, in plain loops, for readers and for tests. Exports only.
 * @module
 */

export { exponentiateRow, type RowSum, softmaxRow, weightOf } from "../rows/softmax.ts";
export { type Backward, backward, type FormulaBackwardOptions as BackwardOptions } from "./backward.ts";
export { attentionDoubleBackward, type DoubleGradients } from "./double.ts";
export {
  type FormulaOptions as ForwardOptions,
  type FormulaSizes as Sizes,
  type Forward,
  forward,
} from "./forward.ts";
export { type OnlineOptions, type OnlineStep, online } from "./online.ts";
export { finiteMask, unscaled, withoutMaximum } from "./textbook.ts";
