/**
 * What the layers say while they compute: each operation hands over one Step, which holds what it read, what it made
 * and its vector–Jacobian product. Whoever records collects the steps and runs them backwards (the tape of heed/train);
 * where nobody records, an operation does nothing but compute.
 *
 * A gradient belongs to a Tensor object, not to its numbers: every operation returns new Tensor objects, views
 * (reshape, slice, transpose) included, and a parameter is one Tensor object that lives as long as its layer and is
 * updated in place.
 */
import type { Tensor } from "../core/tensor.ts";

/** One operation that happened: what it read, what it made, and its vector–Jacobian product. */
export interface Step {
  /** The operation: "linear", "attention", … */
  readonly name: string;
  /** What it read, as far as a gradient can flow there. */
  readonly inputs: readonly Tensor[];
  /** What it made. */
  readonly outputs: readonly Tensor[];
  /**
   * The gradients of `inputs`, given those of `outputs`, each in the shape and dtype of its tensor. Undefined is a
   * gradient of zeros, on both sides. A result may share its data with a gradient that came in: read it, never write it.
   * `wanted[i]` false says that nobody asks for the gradient of `inputs[i]`, so that it need not be computed (default:
   * all are wanted).
   */
  readonly backward: (
    dOutputs: readonly (Tensor | undefined)[],
    wanted?: readonly boolean[],
  ) => readonly (Tensor | undefined)[];
}

/** Hears the steps, in the order they happen. */
export type Recorder = (step: Step) => void;

let current: Recorder | undefined;

/** Hands a step to whoever records at the moment; nothing happens where nobody does. */
export function record(step: Step): void {
  current?.(step);
}

/** True where somebody records: what only a backward pass needs is worth keeping. */
export function isRecording(): boolean {
  return current !== undefined;
}

/**
 * Runs `work` while `recorder` hears every step, and returns what it returns. Recordings nest: the innermost hears.
 * With `undefined` nobody records. `work` is synchronous: what it does after an `await` is not heard.
 */
export function recording<T>(recorder: Recorder | undefined, work: () => T): T {
  const outer = current;
  current = recorder;
  try {
    return work();
  } finally {
    current = outer;
  }
}
