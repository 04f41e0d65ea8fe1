/** Masks and score mods, one file each. */
export { alibi, alibiSlopes } from "./alibi.ts";
export { blockSparse } from "./block.ts";
export { causal } from "./causal.ts";
export { and, not, or } from "./combine.ts";
export { documents } from "./document.ts";
export type { Mask, MaskVars, ScoreVars } from "./expression/expr.ts";
export { BoolExpression, maskMod, NumberExpression, ScoreMod, scoreMod } from "./expression/expr.ts";
export { table } from "./expression/table.ts";
export { globalTokens, longformer } from "./global.ts";
export type { MaskKind, MaskParameter } from "./kind.ts";
export { keyLengths, queryLengths } from "./length.ts";
export { prefixLm } from "./prefix.ts";
export { type RelativeBiasOptions, relativeBias } from "./relative.ts";
export { softcap } from "./softcap.ts";
export { dilated, slidingWindow } from "./window.ts";
