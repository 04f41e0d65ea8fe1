/** Causal attention: a query attends to the keys up to its own position. Vaswani et al. 2017, section 3.2.3. */
import { checkCount } from "../core/errors.ts";
import { type Mask, VARS } from "./expression/expr.ts";
import { maskKind } from "./kind.ts";

/**
 * Key position ≤ query position. With Nq ≠ Nk set `queryOffset`, or use `isCausal: "lower-right"`.
 *
 * @example
 * scaledDotProductAttention(q, k, v, { attnMask: causal() });
 */
export function causal(): Mask {
  checkCount("causal", arguments, 0);
  return VARS.k.le(VARS.q);
}

/** Causal attention by name. */
causal.kind = maskKind({
  name: "causal",
  parameters: [],
  about: "a query attends to no later key",
  build: () => causal(),
  describe: () => "causal",
});
