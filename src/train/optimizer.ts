/**
 * What optimizers share: the parameters by name with their moments, the checks of a step, the move to another device. The formulas
 * are in adamw.ts and sgd.ts. Parameters are updated in place, by the backend of their device (rowwise.ts).
 */
import { rowwise } from "../api/rowwise.ts";
import { isDeviceData, type TensorStorage } from "../core/device/device.ts";
import { tensorOver } from "../core/device/tensor.ts";
import { arrayFor } from "../core/dtype.ts";
import {
  checkCount,
  checkNumber,
  formatTensor,
  formatValue,
  isFunction,
  isMap,
  OptionError,
  refuseValue,
  ShapeError,
} from "../core/errors.ts";
import { checkKind, checkOptionNames } from "../core/option-names.ts";
import { markChanged } from "../core/recording/changes.ts";
import { kindOf } from "../core/recording/kinds.ts";
import { denseOf, Tensor } from "../core/tensor.ts";
import { storageOf } from "../nn/ops/operand.ts";
import type { Gradients } from "./tape.ts";

/** What one step may change. */
export interface OptimizerStep {
  /** Learning rate of this step. */
  readonly lr?: number;
  /** Factor of every gradient: the result of `clipScale`. Default 1. */
  readonly scale?: number;
}

/** Which parameters decay: all, those of rank 2 or more (matrices and embeddings, not biases and norms), or those that a function chooses. */
export type Decays = "all" | "matrices" | ((name: string, parameter: Tensor) => boolean);

/** A parameter with its moments. */
export interface Group {
  readonly parameter: Tensor;
  readonly decays: boolean;
  readonly moments: ReadonlyMap<string, Tensor>;
}

/** The numbers of a step, all checked. */
export interface StepRates {
  readonly lr: number;
  readonly scale: number;
  /** Tensors that are disposed after the update of a parameter. */
  readonly temporary: Tensor[];
}

/** Parameters of all optimizers: a gradient of another parameter would be lost. */
const optimized = /* @__PURE__ */ new WeakSet<Tensor>();

/** Parameters that a step updates in place from their gradients: `AdamW`, `Adam` and `SGD`. */
export abstract class Optimizer {
  /** Steps done. */
  steps = 0;
  readonly #what: string;
  readonly #lr: number;
  readonly #groups = new Map<string, Group>();

  /** @internal */
  constructor(
    what: string,
    parameters: ReadonlyMap<string, Tensor> | readonly Tensor[],
    { lr, decays = "all" }: { readonly lr: number; readonly decays?: Decays },
    moments: readonly string[],
  ) {
    this.#what = what;
    this.#lr = lr;
    if (decays !== "all" && decays !== "matrices" && !isFunction(decays))
      refuseValue(what, "decays", '"all", "matrices" or a function of name and parameter', decays);
    const visited = new Set<Tensor>();
    for (const [name, parameter] of named(what, parameters)) {
      if (visited.has(parameter))
        throw new OptionError(
          "parameters",
          `${what}: parameter ${name} is listed twice; it would be updated twice`,
          { name },
        );
      visited.add(parameter);
      checkParameter(`${what}:`, name, parameter);
      const isDecayed =
        decays === "all" ||
        (decays === "matrices"
          ? parameter.shape.length >= 2
          : checkKind(what, "the result of decays", "true or false", decays(name, parameter)));
      this.#groups.set(name, {
        parameter,
        decays: isDecayed,
        moments: new Map(moments.map((moment) => [moment, zerosLike(parameter)])),
      });
    }
    for (const parameter of visited) optimized.add(parameter);
  }

  /** One step with these gradients. A parameter without a gradient keeps its values and moments. */
  step(gradients: Gradients, options: OptimizerStep = {}): void {
    checkCount(`${this.#what}.step`, arguments, 2);
    const what = `${this.#what}.step`;
    checkOptionNames(what, options, ["lr", "scale"]);
    const { lr = this.#lr, scale = 1 } = options;
    checkNumbers(what, { lr, scale });
    checkGradients(what, gradients);
    this.#checkFit(gradients);
    this.steps++;
    for (const group of this.#groups.values()) {
      const gradient = gradients.get(group.parameter);
      if (gradient === undefined) continue;
      const temporary: Tensor[] = [];
      this.update(group, storageOf(gradient), { lr, scale, temporary });
      markChanged(group.parameter);
      for (const t of temporary) t.dispose();
    }
  }

  /** @internal Updates one parameter and its moments from its gradient. */
  protected abstract update(group: Group, gradient: TensorStorage, rates: StepRates): void;

  /** Throws unless the gradients are those of parameters of this optimizer, in their shape and dtype. */
  #checkFit(gradients: Gradients): void {
    const groups = [...this.#groups].filter(([, { parameter }]) => gradients.has(parameter));
    const what = `${this.#what}.step`;
    if (groups.length === 0)
      throw new OptionError(
        "gradients",
        `${what}: no gradient is of a parameter of this optimizer (after model.to, call optimizer.to)`,
      );
    const trained = new Set(groups.map(([, { parameter }]) => parameter));
    for (const [t] of gradients)
      if (!trained.has(t) && kindOf(t) === "parameter" && !optimized.has(t))
        throw new OptionError(
          "gradients",
          `${what}: there is a gradient of ${formatTensor("a parameter", t)} that no optimizer has; was a field set after new ${this.#what}(model.parameters())? A parameter that is not to be trained needs no gradient`,
          { shape: t.shape },
        );
    for (const [name, { parameter }] of groups) {
      const gradient = denseOf(gradients.get(parameter)!);
      checkParameter(`${what}: the gradient of`, name, gradient, parameter);
      checkFinite(what, name, gradient);
    }
  }

  /**
   * Continues with the parameters of the same names on another device, and moves the moments there. For a model that was
   * moved after the optimizer was created.
   *
   * @example
   * const layer = new Linear(8, 8, { seed: 1 });
   * const optimizer = new AdamW(layer.parameters());
   * await layer.to("cpu");
   * await optimizer.to(layer.parameters());
   *
   * @throws OptionError where names are missing or new, ShapeError where a shape or dtype differs; then nothing has changed
   */
  async to(parameters: ReadonlyMap<string, Tensor> | readonly Tensor[]): Promise<this> {
    checkCount(`${this.#what}.to`, arguments, 1);
    const what = `${this.#what}.to`;
    const replacements = new Map(named(what, parameters));
    const groups = await Promise.all(
      [...this.#groups].map(async ([name, group]) => {
        const parameter = replacements.get(name);
        if (!parameter || replacements.size !== this.#groups.size)
          throw new OptionError(
            "parameters",
            `${what}: expected the parameters of the optimizer, ${formatValue([...this.#groups.keys()])}, got ${formatValue([...replacements.keys()])}`,
            { name },
          );
        checkParameter(`${what}:`, name, parameter, group.parameter);
        const moved = await Promise.all(
          [...group.moments].map(async ([moment, t]) => [moment, await t.to(parameter.device)] as const),
        );
        return [name, { parameter, decays: group.decays, moments: new Map(moved) }] as const;
      }),
    );
    for (const [name, group] of groups) {
      this.#groups.set(name, group);
      optimized.add(group.parameter);
    }
    return this;
  }

  /** The moments by name, `m.NAME` and `v.NAME` of AdamW and Adam: a checkpoint stores them with `steps`. */
  moments(): Map<string, Tensor> {
    checkCount(`${this.#what}.moments`, arguments, 0);
    const tensors = new Map<string, Tensor>();
    for (const [name, { moments }] of this.#groups)
      for (const [moment, t] of moments) tensors.set(`${moment}.${name}`, t);
    return tensors;
  }
}

/** a + scale·b in a temporary tensor, which the step disposes. */
export function sumOf(
  rates: StepRates,
  like: Tensor,
  a: TensorStorage,
  b: TensorStorage,
  scale: number,
): Tensor {
  const y = zerosLike(like);
  rates.temporary.push(y);
  rowwise({ name: "add", a, b, scale, y: y.storage });
  return y;
}

/** The gradient times `scale`, plus `decay` times the parameter: L2 regularization, as in SGD and Adam. */
export function decayedGradient(
  { parameter, decays }: Group,
  gradient: TensorStorage,
  rates: StepRates,
  decay: number,
): TensorStorage {
  const { scale, temporary } = rates;
  let g = gradient;
  if (scale !== 1) {
    const zeros = zerosLike(parameter);
    temporary.push(zeros);
    g = sumOf(rates, parameter, zeros.storage, gradient, scale).storage;
  }
  return decays && decay !== 0 ? sumOf(rates, parameter, g, storageOf(parameter), decay).storage : g;
}

/** Throws unless each is a number ≥ 0. */
export function checkNumbers(what: string, numbers: Readonly<Record<string, unknown>>): void {
  for (const [name, x] of Object.entries(numbers)) checkNumber(what, name, x, 0);
}

/** Throws unless a tensor can be updated in place and has the shape and dtype of `before`. */
function checkParameter(what: string, name: string, parameter: Tensor, before?: Tensor): void {
  const { shape, dtype } = parameter;
  const isUpdatable = (dtype === "float32" || dtype === "float64") && parameter.isContiguous();
  if (!isUpdatable || (before && (before.shape.join() !== shape.join() || before.dtype !== dtype)))
    throw new ShapeError(
      "parameter",
      `${what} ${name} must be a row-major ${before ? `[${before.shape.join(", ")}] ${before.dtype}` : "float32 or float64"} tensor, got [${shape.join(", ")}] ${dtype}`,
      { name },
    );
}

/** Throws where a gradient on the CPU has NaN or infinity: parameters and moments would have it in every later step. */
function checkFinite(what: string, name: string, { device, storage, offset, size }: Tensor): void {
  // On another device the numbers could only be read asynchronously.
  if (device !== "cpu") return;
  const numbers = storage as Float32Array;
  for (let n = offset; n < offset + size; n++)
    if (numbers[n] - numbers[n] !== 0)
      throw new OptionError(
        "gradients",
        `${what}: the gradient of ${name} has ${numbers[n]} at position ${n - offset}; nothing is updated; findNonFinite says which operation it comes from`,
        { name, got: numbers[n] },
      );
}

function named(
  what: string,
  parameters: ReadonlyMap<string, Tensor> | readonly Tensor[],
): Iterable<readonly [string, Tensor]> {
  const entries = isMap(parameters)
    ? [...(parameters as ReadonlyMap<string, Tensor>)]
    : Array.isArray(parameters)
      ? Array.from(parameters, (tensor, n): [string, unknown] =>
          Array.isArray(tensor) && tensor.length === 2 ? (tensor as [string, unknown]) : [String(n), tensor],
        )
      : undefined;
  if (!entries)
    throw new OptionError(
      "parameters",
      `${what}: parameters must be a Map of tensors by name or a list of tensors, got ${formatValue(parameters)}; a layer has parameters()`,
      { got: parameters },
    );
  for (const [name, tensor] of entries)
    if (!(tensor instanceof Tensor))
      throw new OptionError(
        "parameters",
        `${what}: parameter ${name} must be a Tensor${(tensor as Partial<Tensor> | null)?.isContiguous ? " of this copy of heed; install heed once" : `, got ${formatValue(tensor)}`}`,
        { name, got: tensor },
      );
  return entries as [string, Tensor][];
}

/** Throws unless there are gradients by tensor: parameters by name would be no gradients, silently. */
export function checkGradients(what: string, gradients: Gradients): void {
  const isEmpty = gradients instanceof Map && gradients.size === 0;
  if (!isEmpty && gradients instanceof Map && typeof gradients.keys().next().value !== "string") {
    for (const gradient of gradients.values())
      if (!(gradient instanceof Tensor)) refuseValue(what, "a gradient", "a tensor", gradient);
    return;
  }
  throw new OptionError(
    "gradients",
    isEmpty
      ? `${what}: there are no gradients; pass what tape.gradients(loss, parameters) returns`
      : `${what}: gradients must be what tape.gradients(loss, parameters) returns, got ${formatValue(gradients)}`,
    { got: gradients },
  );
}

/** Zeros on the parameter's device. On the CPU they are not in an arena: moments outlive a step. */
export function zerosLike({ storage, shape, dtype, size }: Tensor): Tensor {
  const zeros = isDeviceData(storage) ? storage.device.allocate(dtype, size) : arrayFor(dtype, size);
  return tensorOver(zeros, shape, dtype);
}
