/**
 * Finds the origin of a NaN or an infinity. After a loss or a gradient that is not finite, the same work runs again, and every
 * tensor is checked: the parameters, then the outputs of each operation, then the gradients, last layer first. The first
 * tensor that is not finite is the origin.
 */
import { checkArgument, checkCount, isFunction, isMap, refuseValue } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { type Operation, withRecorder } from "../../nn/record.ts";
import { addTo, filled } from "../tape.ts";

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

/** True if every element is finite; a promise for a tensor of another device, with the values at the time of the call. */
export function allFinite(tensor: Tensor): boolean | Promise<boolean> {
  if (!(tensor instanceof Tensor))
    refuseValue("findNonFinite", "parameters", "a Map of tensors by name", tensor);
  if (tensor.device === "cpu") {
    const { data, offset, size } = tensor.dense();
    return areFinite(data as Float32Array, offset, offset + size);
  }
  // The copy of a view must not become an operation of an active recording. read() makes it before it returns its promise.
  const [reading] = withRecorder(undefined, () => [tensor.read()]);
  return reading.then((data) => areFinite(data as Float32Array, 0, data.length));
}

function areFinite(values: Float32Array, from: number, to: number): boolean {
  // x − x is 0 for a finite x and NaN otherwise, and NaN stays in a sum.
  let sum = 0;
  for (let i = from; i < to; i++) sum += values[i] - values[i];
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
 * (await findNonFinite(layer.parameters(), () => sum(layer.forward(x)))) === undefined; // → true
 */
export async function findNonFinite(
  parameters: ReadonlyMap<string, Tensor>,
  work: () => Tensor,
): Promise<NonFinite | undefined> {
  checkCount("findNonFinite", arguments, 2);
  checkArgument(
    isMap(parameters) && isFunction(work),
    "findNonFinite",
    "a Map of parameters by name, and a function that returns the loss",
    isMap(parameters) ? work : parameters,
  );
  for (const [name, parameter] of parameters)
    if (!(await allFinite(parameter))) return { kind: "parameter", layer: name, text: `parameter ${name}` };

  const names = new Map([...parameters].map(([name, tensor]) => [tensor, name]));
  const steps: { step: Operation; layer: string; finite: (boolean | Promise<boolean>)[] }[] = [];
  let layer = "";
  const loss = withRecorder((step) => {
    for (const input of step.inputs) layer = names.get(input) ?? layer;
    // Checked now: a later operation may write the same memory.
    steps.push({ step, layer, finite: step.outputs.map(allFinite) });
  }, work);
  checkArgument(loss instanceof Tensor, "findNonFinite", "a function that returns the loss, a tensor", loss);
  for (const { step, layer, finite } of steps)
    if ((await Promise.all(finite)).includes(false))
      return { kind: "value", layer, step: step.name, text: `the output of ${where(step, layer)}` };

  const gradients = new Map<Tensor, Tensor>();
  gradients.set(loss, filled(loss, 1));
  for (const { step, layer: at } of steps.reverse()) {
    const dOutputs = step.outputs.map((output) => gradients.get(output));
    if (dOutputs.every((gradient) => gradient === undefined)) continue;
    for (const [i, gradient] of step.backward(dOutputs).entries()) {
      if (gradient === undefined) continue;
      const input = step.inputs[i];
      if (!(await allFinite(gradient))) {
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
