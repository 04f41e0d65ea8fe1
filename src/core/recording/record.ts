/**
 * Recording for automatic differentiation. While a recorder is active, every public function and every method of Tensor
 * that makes a tensor from tensors passes it one Operation: its inputs, its outputs and its vector–Jacobian product.
 * The tape of heed/train collects the operations and runs them backwards. Without a recorder a call only computes.
 *
 * A gradient belongs to a Tensor object, not to its numbers: every operation returns new Tensor objects, views
 * (reshape, slice, transpose) included. A parameter is one Tensor object that lives as long as its layer and is
 * updated in place. Numbers that leave the tensors (`data`, `at`, `toFloat64`) are constants: no gradient flows through
 * them. A tensor over the `data` of a recorded result is refused; numbers that were copied (`at`, `toArray`) cannot be recognized.
 */
import { checkArgument, checkCount, isFunction, isList, UnsupportedError } from "../errors.ts";
import type { Tensor } from "../tensor.ts";
import { activeRecording, markResults, setRecording } from "./recording.ts";

/** One operation that ran: its inputs, its outputs and its vector–Jacobian product. */
export interface Operation {
  /** Name of the operation: "linear", "attention", … */
  readonly name: string;
  /** The tensors that it read and to which a gradient can flow. */
  readonly inputs: readonly Tensor[];
  /** The tensors that it returned. */
  readonly outputs: readonly Tensor[];
  /**
   * The gradients of `inputs`, given those of `outputs`, each in the shape and dtype of its tensor. Undefined is a
   * gradient of zeros, on both sides. A result may share its data with an incoming gradient: read it, never write it.
   * Where `wanted[i]` is false, the gradient of `inputs[i]` need not be computed. Default: all are needed.
   */
  readonly backward: (
    dOutputs: readonly (Tensor | undefined)[],
    wanted?: readonly boolean[],
  ) => readonly (Tensor | undefined)[];
  /** `backward` of an operation over ranks, whose gradients arrive later; `backward` itself then throws. */
  readonly backwardAsync?: (
    dOutputs: readonly (Tensor | undefined)[],
    wanted?: readonly boolean[],
  ) => Promise<readonly (Tensor | undefined)[]>;
  /** False where `backward` throws because no derivative is defined. Default true. */
  readonly differentiable?: boolean;
}

/** Receives the operations in the order in which they run. */
export type Recorder = (operation: Operation) => void;

/** An attention call: the operands as tensors, the caller's options and the result. */
export interface AttentionCall {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly options: object;
  readonly result: { readonly output: Tensor; readonly lse: Tensor; readonly weights?: Tensor };
}

/**
 * Derivatives that are defined in other modules. The caller that starts a recording passes them, so that a program that only
 * computes does not bundle the backward pass.
 */
export interface Derivatives {
  readonly attention: (call: AttentionCall) => void;
}

/**
 * Passes an operation to the active recorder; does nothing where none is active.
 *
 * @example
 * const doubled = scale(x, 2); // an operation of your own, then its derivative:
 * record({ name: "double", inputs: [x], outputs: [doubled], backward: ([d]) => [d && scale(d, 2)] });
 */
export function record(operation: Operation): void {
  if (!activeRecording) return;
  // After the line above, so that a program without a tape bundles no derivative.
  checkCount("record", arguments, 1);
  checkArgument(
    isList(operation?.inputs) && isList(operation.outputs) && isFunction(operation.backward),
    "record",
    "{ name, inputs, outputs, backward }",
    operation,
  );
  markResults(operation.inputs, operation.outputs);
  activeRecording.recorder(operation);
}

/**
 * True while a recorder is active: operations then keep what only a backward pass needs.
 *
 * @example
 * new Tape().run(() => isRecording()); // → true
 */
export function isRecording(): boolean {
  checkCount("isRecording", arguments, 0);
  return activeRecording !== undefined;
}

/** Passes an attention call to the active recorder, with its derivative. */
export function recordAttention(call: AttentionCall): void {
  activeRecording?.derivatives.attention(call);
}

/**
 * Records an operation that has no derivative: a gradient that reaches one of its outputs throws, instead of being
 * dropped silently. `advice` names the alternative.
 */
export function recordWithoutDerivative(
  name: string,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  advice: string,
): void {
  activeRecording?.recorder({
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
  const outer = activeRecording;
  setRecording(recorder && { recorder, derivatives });
  try {
    return work();
  } finally {
    setRecording(outer);
  }
}
