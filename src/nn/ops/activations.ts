/**
 * Element-wise activations: relu, gelu, silu (also called swish), sigmoid, tanh and elu + 1. The formulas and their derivatives are in reference/rowwise.ts.
 */

import { type MapName, rowwise } from "../../api/rowwise.ts";
import { checkCount, refuseValue } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { type FloatTensorOf, operand, recordUnary, resultLike, storageOf } from "./operand.ts";

/** The name of an activation: what blocks take as `activation`. */
export type ActivationName = MapName;

const NAMES: readonly ActivationName[] = ["relu", "gelu", "gelu-tanh", "silu", "sigmoid", "tanh", "elu1"];

/** Throws unless an activation has this name. */
export function checkActivation(what: string, name: string): void {
  if (!NAMES.includes(name as ActivationName))
    refuseValue(what, "activation", `one of ${NAMES.join(", ")}`, name);
}

/**
 * One of the activations by its name.
 *
 * @example
 * activate(tensor([-1, 1]), "relu"); // → [0, 1]
 */
export function activate<T extends TensorLike>(x: T, name: ActivationName): FloatTensorOf<T> {
  checkCount("activate", arguments, 2);
  checkActivation("activate", name);
  const from = operand(name, "x", x);
  const input = storageOf(from);
  const y = resultLike(from, from.shape);
  rowwise({ name: "map", map: name, x: input, y: y.storage });
  recordUnary(name, from, y, (dy, dx) =>
    rowwise({
      name: "map-backward",
      map: name,
      x: input,
      y: y.storage,
      dy: storageOf(dy),
      dx: dx.storage,
    }),
  );
  return y;
}

/**
 * max(x, 0).
 *
 * @example
 * relu(tensor([0])); // → [0]
 */
export function relu<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("relu", arguments, 1);
  return activate(x, "relu");
}
/**
 * x·σ(x), the activation of SwiGLU.
 *
 * @example
 * silu(tensor([0])); // → [0]
 */
export function silu<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("silu", arguments, 1);
  return activate(x, "silu");
}
/**
 * 1/(1 + e^(−x)).
 *
 * @example
 * sigmoid(tensor([0])); // → [0.5]
 */
export function sigmoid<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("sigmoid", arguments, 1);
  return activate(x, "sigmoid");
}
/**
 * tanh(x).
 *
 * @example
 * tanh(tensor([0])); // → [0]
 */
export function tanh<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("tanh", arguments, 1);
  return activate(x, "tanh");
}
/**
 * elu(x) + 1, which is positive: the feature map of linear attention.
 *
 * @example
 * elu1(tensor([0, 1])); // → [1, 2]
 */
export function elu1<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("elu1", arguments, 1);
  return activate(x, "elu1");
}

/**
 * x·Φ(x): exact with `approximate: "none"` (default), or GPT-2's approximation by tanh.
 *
 * @example
 * gelu(tensor([0])); // → [0]
 */
export function gelu<T extends TensorLike>(
  x: T,
  options: { approximate?: "none" | "tanh" } = {},
): FloatTensorOf<T> {
  checkCount("gelu", arguments, 2);
  checkOptionNames("gelu", options, ["approximate"]);
  const { approximate = "none" } = options;
  if (approximate !== "none" && approximate !== "tanh")
    refuseValue("gelu", "approximate", '"none" or "tanh"', approximate);
  return activate(x, approximate === "tanh" ? "gelu-tanh" : "gelu");
}
