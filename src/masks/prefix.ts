/** Prefix language model: all queries attend to the first keys, and causally to the rest. Raffel et al. 2020 (T5), section 3.2.1. */
import { checkCount } from "../core/errors.ts";
import { type Mask, maskMod, withLimit } from "./expression/expr.ts";
import { maskKind } from "./kind.ts";
import { type PerBatch, perBatch } from "./length.ts";

/**
 * Key position < `n`, or key position ≤ query position. `n` is a number or one for each batch entry.
 *
 * @example
 * scaledDotProductAttention(q, k, v, { attnMask: prefixLm(2) });
 */
export function prefixLm(n: PerBatch): Mask {
  checkCount("prefixLm", arguments, 1);
  const limit = perBatch("prefixLm", n);
  return withLimit(
    maskMod(({ q, k }) => k.lt(limit).or(k.le(q))),
    { what: "prefixLm", axis: "keys", limit },
  );
}

/** The prefix by name: `{ "prefixLm": 4 }`. */
prefixLm.kind = maskKind({
  name: "prefixLm",
  parameters: [{ name: "n", type: "integer", least: 0 }],
  about: "all queries attend to the first N keys, and causally to the others",
  build: ({ n }) => prefixLm(n as number),
  describe: ({ n }) => `prefix of ${n}, then causal`,
});
