/** Plans of attention calls and matrix products: how a call would run, without running it. */
import { type AttentionOptions, checkAttentionOptions, resolve } from "../backend/problem.ts";
import { type MatmulOptions, resolveProduct } from "../backend/product.ts";
import { checkCount, refuseValue } from "../core/errors.ts";
import type { TensorLike } from "../core/tensor.ts";
import { type PrintablePlan, planOfAttention, planOfProduct } from "./dispatch/plans.ts";

/** Options of `explain`: those of the call, and the pass to plan. */
export interface ExplainOptions extends AttentionOptions {
  /** The forward call, or the backward pass of the same call. Default `"forward"`. */
  pass?: "forward" | "backward";
}

/**
 * How a call would run, as a printable plan: kernel, tiles skipped, full and partial, tasks, share of each thread, operations,
 * memory, and the bytes of the weights that are not stored. Nothing is computed.
 *
 * @example
 * console.log(String(explain(q, k, v, { isCausal: true }))); // kernel, tiles, threads, memory
 * console.log(String(explain(q, k, v, { isCausal: true, pass: "backward" })));
 */
export function explain(
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: ExplainOptions = {},
): PrintablePlan {
  checkCount("explain", arguments, 4);
  checkAttentionOptions("explain", options, ["pass"]);
  const { pass = "forward", ...call } = options;
  if (pass !== "forward" && pass !== "backward")
    refuseValue("explain", "pass", '"forward" or "backward"', pass);
  return planOfAttention({ kind: pass, problem: resolve("explain", query, key, value, call) });
}

/**
 * How a product would run, as a printable plan: kernel, steps, tasks, operations and memory. Nothing is computed.
 *
 * @example
 * console.log(String(explainMatmul(ones([64, 64]), ones([64, 64]))));
 */
export function explainMatmul(a: TensorLike, b: TensorLike, options: MatmulOptions = {}): PrintablePlan {
  checkCount("explainMatmul", arguments, 3);
  return planOfProduct(resolveProduct("explainMatmul", a, b, options));
}
