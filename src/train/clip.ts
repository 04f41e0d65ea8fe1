/** The norm of gradients, and the factor that limits it. */
import { tensorOver } from "../core/device/tensor.ts";
import { checkCount, checkNumber, refuseValue } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { sum } from "../nn/arrays/reduce.ts";
import { add } from "../nn/ops/arithmetic.ts";
import { sqrt, square } from "../nn/ops/elementwise.ts";
import { withRecorder } from "../nn/record.ts";
import { checkGradients } from "./optimizer.ts";
import type { Gradients } from "./tape.ts";

/**
 * √(Σ g²) over all gradients, a tensor of shape []: float64 on the CPU; on another device in the dtype of the gradients, enqueued
 * without a read.
 *
 * @example
 * const tape = new Tape();
 * const loss = tape.run(() => sum(x));
 * gradientNorm(tape.gradients(loss, [x])).at().toFixed(3); // → "6.928", the root of 48 ones
 */
export function gradientNorm(gradients: Gradients): Tensor {
  checkCount("gradientNorm", arguments, 1);
  checkGradients("gradientNorm", gradients);
  const list = [...gradients.values()];
  if (list.every(({ device }) => device === "cpu"))
    return tensorOver(Float64Array.of(hostNorm(list)), [], "float64");
  return withRecorder(undefined, () => sqrt(list.map((g) => sum(square(g))).reduce((a, b) => add(a, b))));
}

function hostNorm(gradients: readonly Tensor[]): number {
  let sum = 0;
  for (const gradient of gradients) {
    const { data, offset, size } = gradient.dense();
    const g = data as Float32Array;
    for (let i = offset; i < offset + size; i++) sum += g[i] * g[i];
  }
  return Math.sqrt(sum);
}

/**
 * The factor that scales gradients to a norm of at most `maxNorm`: min(1, maxNorm / norm). Pass it to the step of an optimizer as `scale`.
 *
 * @example
 * clipScale(4, 1); // → 0.25
 */
export function clipScale(norm: number, maxNorm: number): number {
  checkCount("clipScale", arguments, 2);
  checkNumber("clipScale", "norm", norm, 0);
  if (!(typeof maxNorm === "number" && maxNorm > 0))
    refuseValue("clipScale", "maxNorm", "a number > 0", maxNorm);
  return norm > maxNorm ? maxNorm / norm : 1;
}
