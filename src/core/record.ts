/**
 * Recording for automatic differentiation. While a recorder is active, every public function and every method of Tensor
 * that makes a tensor from tensors hands over one Operation: what it read, what it made and its vector–Jacobian product.
 * The tape of heed/train collects the operations and runs them backwards. Without a recorder a call only computes.
 *
 * A gradient belongs to a Tensor object, not to its numbers: every operation returns new Tensor objects, views
 * (reshape, slice, transpose) included. A parameter is one Tensor object that lives as long as its layer and is
 * updated in place. Numbers that leave the tensors (`data`, `at`, `toFloat64`) are constants: no gradient flows through
 * them.
 */
import { isFloat } from "./dtype.ts";
import { UnsupportedError } from "./errors.ts";
import type { Tensor } from "./tensor.ts";

/** One operation that ran: what it read, what it made, and its vector–Jacobian product. */
export interface Operation {
  /** Name of the operation: "linear", "attention", … */
  readonly name: string;
  /** The tensors it read, as far as a gradient can flow to them. */
  readonly inputs: readonly Tensor[];
  /** The tensors it made. */
  readonly outputs: readonly Tensor[];
  /**
   * The gradients of `inputs`, given those of `outputs`, each in the shape and dtype of its tensor. Undefined is a
   * gradient of zeros, on both sides. A result may share its data with an incoming gradient: read it, never write it.
   * `wanted[i]` false says that the gradient of `inputs[i]` is not needed, so that it need not be computed (default:
   * all are needed).
   */
  readonly backward: (
    dOutputs: readonly (Tensor | undefined)[],
    wanted?: readonly boolean[],
  ) => readonly (Tensor | undefined)[];
  /** False where `backward` throws because no derivative is defined. Default true. */
  readonly differentiable?: boolean;
}

/** Receives the operations, in the order in which they run. */
export type Recorder = (operation: Operation) => void;

/** The attention call that was made: the operands as tensors, the caller's options and the result. */
export interface AttentionCall {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly options: object;
  readonly result: { readonly output: Tensor; readonly lse: Tensor; readonly weights?: Tensor };
}

/**
 * Derivatives that live in other modules. The caller that starts a recording supplies them, so that a program that only
 * computes does not bundle the backward pass.
 */
export interface Derivatives {
  readonly attention: (call: AttentionCall) => void;
}

let current: { readonly recorder: Recorder; readonly derivatives: Derivatives } | undefined;

/** The active recording, if there is one: read it to skip what only a recording needs. */
export { current as activeRecording };

/**
 * Hands an operation to the active recorder; does nothing where none is active.
 *
 * @example
 * const doubled = scale(x, 2); // an operation of your own, then its derivative:
 * record({ name: "double", inputs: [x], outputs: [doubled], backward: ([d]) => [d && scale(d, 2)] });
 */
export function record(operation: Operation): void {
  current?.recorder(operation);
}

/**
 * True while a recorder is active: what only a backward pass needs is worth keeping.
 *
 * @example
 * new Tape().run(() => isRecording()); // → true
 */
export function isRecording(): boolean {
  return current !== undefined;
}

/** Hands over an operation that moves elements and changes none. Integers and booleans have no gradient. */
export function recordMove(name: string, x: Tensor, y: Tensor, back: (d: Tensor) => Tensor): void {
  if (current && isFloat(x.dtype))
    current.recorder({ name, inputs: [x], outputs: [y], backward: ([d]) => [d && back(d)] });
}

/** Hands an attention call to the active recorder, with its derivative. */
export function recordAttention(call: AttentionCall): void {
  current?.derivatives.attention(call);
}

/**
 * Hands over an operation that has no derivative: a gradient that reaches one of its outputs throws, instead of being
 * dropped silently. `advice` says what to use.
 */
export function recordWithoutDerivative(
  name: string,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  advice: string,
): void {
  current?.recorder({
    name,
    inputs,
    outputs,
    differentiable: false,
    backward: () => {
      throw new UnsupportedError(
        "derivative",
        `${name}: no gradient is defined through this result; ${advice}`,
        { operation: name },
      );
    },
  });
}

/** Runs `work` while `recorder` receives every operation, and returns what it returns. Used by `withRecorder` of heed/nn. */
export function recordWith<T>(recorder: Recorder | undefined, derivatives: Derivatives, work: () => T): T {
  const outer = current;
  current = recorder && { recorder, derivatives };
  try {
    return work();
  } finally {
    current = outer;
  }
}
