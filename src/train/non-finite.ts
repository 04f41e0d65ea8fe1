/**
 * Finds the origin of a NaN or an infinity. After a loss or a gradient that is not finite, the same work runs again, and every
 * tensor is checked: the parameters, then the outputs of each operation, then the gradients, last layer first. The first
 * tensor that is not finite is the origin.
 */
import type { Tensor } from "../core/tensor.ts";
import { type Operation, withRecorder } from "../nn/record.ts";
import { addTo } from "./tape.ts";

/** The first tensor that is not finite. */
export interface NonFinite {
  /** A parameter, the output of an operation, or a gradient. */
  readonly kind: "parameter" | "value" | "gradient";
  /** The parameter's name, or that of the last parameter read before the operation. */
  readonly layer: string;
  /** The operation; undefined for a parameter. */
  readonly step?: string;
  /** A description for an error message. */
  readonly text: string;
}

/** True if every element is finite. */
export function allFinite(tensor: Tensor): boolean {
  const { data, offset, size } = tensor.dense();
  const values = data as Float32Array;
  // x − x is 0 for a finite x and NaN otherwise, and NaN stays in a sum.
  let sum = 0;
  for (let i = offset; i < offset + size; i++) sum += values[i] - values[i];
  return sum === 0;
}

/**
 * Runs `work` again and returns the first tensor that is not finite; undefined if all are finite.
 *
 * @param parameters by name, the gradients of which are wanted
 * @param work       computes the loss, synchronously
 *
 * @example
 * const layer = new Linear(8, 8, { seed: 1 });
 * findNonFinite(layer.parameters(), () => sum(layer.forward(x))) === undefined; // → true
 */
export function findNonFinite(
  parameters: ReadonlyMap<string, Tensor>,
  work: () => Tensor,
): NonFinite | undefined {
  for (const [name, parameter] of parameters)
    if (!allFinite(parameter)) return { kind: "parameter", layer: name, text: `parameter ${name}` };

  const names = new Map([...parameters].map(([name, tensor]) => [tensor, name]));
  const steps: { step: Operation; layer: string }[] = [];
  let layer = "";
  let found: NonFinite | undefined;
  const loss = withRecorder((step) => {
    for (const input of step.inputs) layer = names.get(input) ?? layer;
    steps.push({ step, layer });
    if (found === undefined && !step.outputs.every(allFinite))
      found = { kind: "value", layer, step: step.name, text: `the output of ${where(step, layer)}` };
  }, work);
  if (found) return found;

  const gradients = new Map<Tensor, Tensor>();
  const seed = loss.contiguous();
  (seed.data as Float32Array).fill(1);
  gradients.set(loss, seed);
  for (const { step, layer: at } of steps.reverse()) {
    const dOutputs = step.outputs.map((output) => gradients.get(output));
    if (dOutputs.every((gradient) => gradient === undefined)) continue;
    for (const [i, gradient] of step.backward(dOutputs).entries()) {
      if (gradient === undefined) continue;
      const input = step.inputs[i];
      if (!allFinite(gradient)) {
        const name = names.get(input) ?? at;
        const text = names.has(input) ? name : `the input of ${where(step, at)}`;
        return { kind: "gradient", layer: name, step: step.name, text: `the gradient of ${text}` };
      }
      const before = gradients.get(input);
      if (before === undefined) gradients.set(input, gradient);
      else {
        const sum = before.contiguous();
        addTo(sum, gradient);
        gradients.set(input, sum);
      }
    }
  }
  return undefined;
}

function where(step: Operation, layer: string): string {
  return layer === "" ? step.name : `${step.name} at ${layer}`;
}
