/**
 * Reverse-mode differentiation over whole tensors.
 *
 * While `tape.run(work)` runs, every operation of heed/nn and heed/train records an Operation: its input tensors, its output
 * tensors, and a function that maps gradients of the outputs to gradients of the inputs. The backward pass runs the
 * operations in reverse order:
 *
 *     dL/dinput += operationᵀ(dL/doutput)        starting with dL/dL = 1
 *
 * The gradients of a tensor that several operations read are added. A forward pass over the operations first selects those
 * between the wanted tensors and the loss; only they run. An operation is dropped as soon as it has run backwards, with the
 * values that it kept from the forward pass, so memory decreases during the backward pass.
 *
 * The derivative of an operation is defined beside the operation. `non-finite.ts` finds the first value that is not finite.
 */

import { rowwise } from "../api/rowwise.ts";
import { placed } from "../core/device/device.ts";
import { arrayFor, type DType, isHalf, readerOf, writerOf } from "../core/dtype.ts";
import {
  checkCount,
  formatTensor,
  HeedError,
  isFunction,
  OptionError,
  refuseGot,
  refuseValue,
  ShapeError,
} from "../core/errors.ts";
import { changeCount, changedSince } from "../core/recording/changes.ts";
import { isUnlisted, kindOf } from "../core/recording/kinds.ts";
import { recordWithoutDerivative } from "../core/recording/record.ts";
import { activeRecording } from "../core/recording/recording.ts";
import { awaitSteps, type Pause, type Resumable, runSteps } from "../core/synchronous.ts";
import { Tensor } from "../core/tensor.ts";
import { storageOf } from "../nn/ops/operand.ts";
import { type Operation, runRecorded } from "../nn/record.ts";

/** Gradients by tensor; a tensor without an entry has a gradient of zeros. */
export type Gradients = Map<Tensor, Tensor>;

type Results = readonly (Tensor | undefined)[];

/** An operation, and the arguments of its `backward`. */
interface Derivative {
  readonly step: Operation;
  readonly dOutputs: Results;
  readonly needs: readonly boolean[];
}

/** The gradients that a tape returns: the gradient of a tensor has its dtype. */
export interface TapeGradients extends Gradients {
  get<D extends DType>(tensor: Tensor<D>): Tensor<D> | undefined;
}

/**
 * Records the operations of `run`, and differentiates them once.
 *
 * @example
 * const tape = new Tape();
 * const loss = tape.run(() => sum(multiply(x, x)));
 * tape.gradients(loss, [x]).get(x)!.shape; // → [2, 3, 8]
 */
export class Tape {
  #operations: Operation[] = [];
  /** How many changes in place there were when an operation was recorded. */
  readonly #changes = new WeakMap<Operation, number>();
  #spent = false;

  /** The operations so far, in the order in which they ran. */
  get operations(): readonly Operation[] {
    return this.#operations;
  }

  /**
   * Runs `work`, which is synchronous, and records its operations. One tape may record several runs; inside the run of another
   * tape, both record.
   */
  run<T>(work: () => T): T {
    checkCount("Tape.run", arguments, 1);
    if (!isFunction(work))
      refuseGot("work", "Tape.run: expected a function, as in tape.run(() => loss())", work);
    const outer = activeRecording?.recorder;
    const recorder = (operation: Operation) => {
      this.#operations.push(operation);
      this.#changes.set(operation, changeCount);
      outer?.(operation);
    };
    return this.within(() => runRecorded("Tape.run", recorder, work));
  }

  /** @internal Runs a synchronous part of the work of this tape: in the memory of a step, where a tape has one. */
  protected within<T>(part: () => T): T {
    return part();
  }

  /** @internal Between two operations of the backward pass: throws to end it. */
  protected pause: Pause = () => undefined;

  /** @internal Called once in the backward pass for each wanted tensor, when its gradient is complete. */
  protected complete: (tensor: Tensor, gradient: Tensor | undefined) => void = () => {};

  /**
   * The gradients of `loss`, one number, with respect to the tensors `wanted`: d(scale · loss)/d(tensor), in each
   * tensor's shape and dtype, row-major. Do not modify them: two may share their data. The tape is spent afterwards. Operands must
   * still have the numbers that the operations read; a change by an optimizer's step, `loadStateDict` or `fill…` is an error, a direct
   * write to `data` is not noticed. Second derivatives are not defined: gradients of gradients throw.
   *
   * @param scale weight of the loss, 1 by default: a micro-batch's share of its batch
   */
  gradients(loss: Tensor, wanted: Iterable<Tensor>, scale = 1): TapeGradients {
    checkCount("Tape.gradients", arguments, 3);
    return runSteps(this.#walk(loss, wanted, scale), ({ step, dOutputs, needs }) =>
      step.backward(dOutputs, needs),
    );
  }

  /** `gradients` of a tape that recorded operations over ranks: `ContextTape`. Every rank calls it. */
  async gradientsAsync(loss: Tensor, wanted: Iterable<Tensor>, scale = 1): Promise<TapeGradients> {
    checkCount("Tape.gradientsAsync", arguments, 3);
    return awaitSteps(
      this.#walk(loss, wanted, scale),
      async ({ step, dOutputs, needs }) => {
        await this.pause();
        return step.backwardAsync?.(dOutputs, needs) ?? this.within(() => step.backward(dOutputs, needs));
      },
      (part) => this.within(part),
    );
  }

  /** The backward pass; yields each operation whose gradients are needed. */
  *#walk(
    loss: Tensor,
    wanted: Iterable<Tensor>,
    scale: number,
  ): Resumable<Derivative, Results, TapeGradients> {
    const isIterable =
      typeof (wanted as Partial<Iterable<Tensor>> | undefined)?.[Symbol.iterator] === "function";
    const targets = new Set(isIterable ? wanted : [undefined as never]);
    for (const target of targets)
      if (!(target instanceof Tensor))
        refuseGot(
          "wanted",
          "Tape.gradients: the second argument is a list of tensors, as in tape.gradients(loss, [x]) or parameters.values()",
          wanted,
        );
    if (!Number.isFinite(scale)) refuseValue("Tape.gradients", "scale", "a number", scale);
    if (this.#spent)
      throw new OptionError("tape", "Tape.gradients: this tape is spent; record the work on a new one");
    if (!(loss instanceof Tensor)) refuseValue("Tape.gradients", "loss", "a tensor", loss);
    if (loss.size !== 1)
      throw new ShapeError(
        "loss",
        `Tape.gradients: loss must be one number, got [${loss.shape.join(", ")}] ${loss.dtype}; sum or average it first`,
        { shape: loss.shape },
      );
    const { steps, needed } = this.#between(targets);
    if (!targets.has(loss) && !steps.some(({ outputs }) => outputs.includes(loss)))
      throw new OptionError(
        "loss",
        "Tape.gradients: the loss does not depend on any wanted tensor; compute it inside tape.run, from them",
      );
    this.#checkListed(loss, targets);
    for (const step of steps) checkUnchanged(step, this.#changes.get(step) ?? 0);
    this.#operations = [];
    this.#spent = true;

    const sums = new Sums();
    sums.add(loss, filled(loss, scale));
    // The operation that first reads a tensor gives the last part of its gradient.
    const firstReads = new Map<Tensor, Operation>();
    for (const step of steps)
      for (const input of step.inputs)
        if (targets.has(input) && !firstReads.has(input)) firstReads.set(input, step);
    for (const target of targets) if (!firstReads.has(target)) this.complete(target, sums.get(target));
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      // Only later steps read a step's outputs: their gradients are complete, and not needed again.
      const dOutputs = step.outputs.map((output) =>
        targets.has(output) ? sums.get(output) : sums.remove(output),
      );
      const hasGradient = dOutputs.some((gradient) => gradient !== undefined);
      const dInputs = hasGradient
        ? yield { step, dOutputs, needs: step.inputs.map((input) => needed.has(input)) }
        : [];
      step.inputs.forEach((input, i) => {
        const gradient = dInputs[i];
        if (gradient === undefined || !needed.has(input)) return;
        checkGradient(step.name, i, input, gradient);
        sums.add(input, gradient);
      });
      for (const input of step.inputs) {
        if (firstReads.get(input) !== step) continue;
        firstReads.delete(input);
        this.complete(input, sums.get(input));
      }
    }
    const gradients = sums.of(targets);
    recordWithoutDerivative(
      "Tape.gradients",
      [loss, ...targets],
      [...gradients.values()],
      "second derivatives are not recorded; take the gradients outside of the outer tape.run",
    );
    return gradients as TapeGradients;
  }

  /**
   * Throws where parameters are trained, and the loss depends on others that no `parameters()` names: those of a layer in a #private
   * field, a getter or a closure would stay as they are.
   */
  #checkListed(loss: Tensor, targets: ReadonlySet<Tensor>): void {
    if (![...targets].some((t) => kindOf(t) === "parameter" && !isUnlisted(t))) return;
    const used = new Set<Tensor>([loss]);
    for (const { name, inputs, outputs } of [...this.#operations].reverse()) {
      if (!outputs.some((output) => used.has(output))) continue;
      for (const input of inputs) {
        used.add(input);
        if (isUnlisted(input) && !targets.has(input))
          throw new OptionError(
            "parameters",
            `Tape.gradients: the loss depends on ${formatTensor("a parameter", input)} of ${name} that no parameters() lists, so it would not be trained; a layer in a #private field, a getter or a closure is not found: make it a public field; layer.freeze() says that a layer is not to be trained`,
            { operation: name, shape: input.shape },
          );
      }
    }
  }

  /** The operations that depend on a wanted tensor, and the tensors that do, including the wanted ones. */
  #between(targets: ReadonlySet<Tensor>): { steps: Operation[]; needed: Set<Tensor> } {
    const needed = new Set(targets);
    const steps = this.#operations.filter(({ inputs, outputs }) => {
      const acts = inputs.some((input) => needed.has(input));
      if (acts) for (const output of outputs) needed.add(output);
      return acts;
    });
    return { steps, needed };
  }
}

/** Sums of gradients by tensor. The first gradient is stored as it is; the second one starts a new sum. */
class Sums {
  readonly #gradients: Gradients = new Map();
  /** Sums that were allocated here, which may be modified in place. */
  readonly #allocated = new Set<Tensor>();

  get(tensor: Tensor): Tensor | undefined {
    return this.#gradients.get(tensor);
  }

  remove(tensor: Tensor): Tensor | undefined {
    const gradient = this.#gradients.get(tensor);
    this.#gradients.delete(tensor);
    if (gradient) this.#allocated.delete(gradient);
    return gradient;
  }

  add(tensor: Tensor, gradient: Tensor): void {
    const before = this.#gradients.get(tensor);
    if (before === undefined) {
      this.#gradients.set(tensor, gradient);
      return;
    }
    const sum = this.#allocated.has(before) ? before : before.contiguous();
    addTo(sum, gradient);
    this.#allocated.add(sum);
    this.#gradients.set(tensor, sum);
  }

  of(tensors: ReadonlySet<Tensor>): Gradients {
    const wanted: Gradients = new Map();
    for (const tensor of tensors) {
      const gradient = this.#gradients.get(tensor);
      if (gradient) wanted.set(tensor, gradient.dense());
    }
    return wanted;
  }
}

/** sum += gradient; `sum` is row-major and starts at its array's first element. */
export function addTo(sum: Tensor, gradient: Tensor): void {
  if (sum.device !== "cpu" || gradient.device !== "cpu") {
    const { storage } = sum;
    rowwise({ name: "add", a: storage, b: storageOf(gradient), scale: 1, y: storage });
    return;
  }
  const from = gradient.dense();
  const to = sum.data as Float32Array;
  const values = from.data as Float32Array;
  const { offset, size } = from;
  if (isHalf(sum.dtype)) {
    // 16-bit tensors hold bits: the sum is taken over their values and rounded once.
    const [read, write] = [readerOf(sum.dtype, from.data), writerOf(sum.dtype, sum.data)];
    const before = readerOf(sum.dtype, sum.data);
    for (let i = 0; i < size; i++) write(i, before(i) + read(offset + i));
    return;
  }
  for (let i = 0; i < size; i++) to[i] += values[offset + i];
}

/** A tensor in the shape and dtype and on the device of a loss of one element. */
export function filled(loss: Tensor, value: number): Tensor {
  const data = arrayFor(loss.dtype, 1);
  writerOf(loss.dtype, data)(0, value);
  return placed("Tape.gradients", new Tensor(data, loss.shape, loss.dtype), loss.device);
}

/** Throws where a tensor of an operation was changed in place after it was recorded. */
function checkUnchanged({ name, inputs, outputs }: Operation, changes: number): void {
  if (changes === changeCount) return;
  for (const [role, tensors] of Object.entries({ input: inputs, output: outputs }))
    for (const [i, t] of tensors.entries())
      if (changedSince(t, changes))
        throw new HeedError(
          "changed",
          `Tape.gradients: ${role} ${i} of ${name}, [${t.shape.join(", ")}] ${t.dtype}, was changed in place after the tape recorded it; take the gradients before AdamW.step or loadStateDict, or record the work again`,
          { operation: name, [role]: i, shape: t.shape },
        );
}

function checkGradient(step: string, i: number, input: Tensor, gradient: Tensor): void {
  const fits =
    gradient.dtype === input.dtype &&
    gradient.shape.length === input.shape.length &&
    gradient.shape.every((n, axis) => n === input.shape[axis]);
  if (!fits)
    throw new HeedError(
      "gradient",
      `Tape.gradients: ${step} gave a gradient [${gradient.shape.join(", ")}] ${gradient.dtype} for its input ${i}, which is [${input.shape.join(", ")}] ${input.dtype}`,
      { step, input: i, shape: gradient.shape, expected: input.shape },
    );
}
