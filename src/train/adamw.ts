/**
 * AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101), as PyTorch computes it. For step t = 1, 2, …, gradient g:
 *
 *     w ← w · (1 − lr · decay)                     where the parameter decays
 *     m ← β₁·m + (1 − β₁)·g        v ← β₂·v + (1 − β₂)·g²
 *     w ← w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
 *
 * Parameters are updated in place, by the backend of their device (rowwise.ts).
 */

import { rowwise } from "../api/rowwise.ts";
import { isDeviceData } from "../core/device/device.ts";
import { tensorOver } from "../core/device/tensor.ts";
import { arrayFor } from "../core/dtype.ts";
import { formatValue, OptionError, ShapeError } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import { markChanged } from "../core/recording/changes.ts";
import { Tensor } from "../core/tensor.ts";
import { add, sum } from "../nn/ops/arithmetic.ts";
import { sqrt, square } from "../nn/ops/elementwise.ts";
import { storageOf } from "../nn/ops/operand.ts";
import { withRecorder } from "../nn/record.ts";
import type { Gradients } from "./tape.ts";

/** How AdamW updates. */
export interface AdamWOptions {
  /** Learning rate of steps that do not give one; default 1e-3. */
  readonly lr?: number;
  /** Decay rates of the two moments; default [0.9, 0.999]. */
  readonly betas?: readonly [number, number];
  /** Default 1e-8. */
  readonly eps?: number;
  /** Weight decay; default 0.01. */
  readonly weightDecay?: number;
  /** Which parameters decay: by default those of rank 2 or more (matrices and embeddings), not biases and norms. */
  readonly decays?: (name: string, parameter: Tensor) => boolean;
}

/** What one step may change. */
export interface AdamWStep {
  /** Learning rate of this step. */
  readonly lr?: number;
  /** Factor of every gradient: the result of `clipScale`. Default 1. */
  readonly scale?: number;
}

interface Group {
  readonly parameter: Tensor;
  readonly decays: boolean;
  readonly m: Tensor;
  readonly v: Tensor;
}

/**
 * Parameters with their moments.
 *
 * @example
 * const layer = new Linear(8, 8, { seed: 1 });
 * const optimizer = new AdamW(layer.parameters(), { lr: 1e-3 });
 * const tape = new Tape();
 * const loss = tape.run(() => sum(layer.forward(x)));
 * optimizer.step(tape.gradients(loss, [...layer.parameters().values()]));
 */
export class AdamW {
  /** Steps done. */
  steps = 0;
  readonly #groups = new Map<string, Group>();
  readonly #options: Required<Omit<AdamWOptions, "decays">>;

  /**
   * @param parameters by name, as `Module.parameters()` gives them, or a list (named "0", "1", …): row-major float32 or
   *   float64 tensors, which are updated in place
   */
  constructor(parameters: ReadonlyMap<string, Tensor> | readonly Tensor[], options: AdamWOptions = {}) {
    checkOptionNames("AdamW", options, ["lr", "betas", "eps", "weightDecay", "decays"]);
    const { lr = 1e-3, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0.01 } = options;
    const share = (x: unknown) => typeof x === "number" && x >= 0 && x < 1;
    if (!(Array.isArray(betas) && betas.length === 2 && betas.every(share)))
      throw new OptionError("betas", `AdamW: betas must be two numbers in [0, 1), got ${formatValue(betas)}`);
    checkNumbers("AdamW", { lr, eps, weightDecay });
    this.#options = { lr, betas, eps, weightDecay };
    const decays = options.decays ?? ((_, parameter) => parameter.shape.length >= 2);
    const visited = new Set<Tensor>();
    for (const [name, parameter] of named(parameters)) {
      if (visited.has(parameter))
        throw new OptionError(
          "parameters",
          `AdamW: parameter ${name} is listed twice; it would be updated twice`,
          {
            name,
          },
        );
      visited.add(parameter);
      checkParameter("AdamW:", name, parameter);
      const [m, v] = [zerosLike(parameter), zerosLike(parameter)];
      this.#groups.set(name, { parameter, decays: decays(name, parameter), m, v });
    }
  }

  /** One step with these gradients. A parameter without a gradient keeps its values and moments. */
  step(gradients: Gradients, options: AdamWStep = {}): void {
    checkGradients("AdamW.step", gradients);
    checkOptionNames("AdamW.step", options, ["lr", "scale"]);
    const { lr = this.#options.lr, scale = 1 } = options;
    checkNumbers("AdamW.step", { lr, scale });
    this.#checkFit(gradients);
    const { betas, eps, weightDecay } = this.#options;
    this.steps++;
    const [beta1, beta2] = betas;
    const correct1 = 1 - beta1 ** this.steps;
    const correct2 = 1 - beta2 ** this.steps;
    for (const { parameter, decays, m, v } of this.#groups.values()) {
      const gradient = gradients.get(parameter);
      if (gradient === undefined) continue;
      const [w, g, mean, square] = [parameter, gradient, m, v].map((t) => storageOf(t));
      const scalars = {
        scale,
        beta1,
        beta2,
        oneMinusBeta1: 1 - beta1,
        oneMinusBeta2: 1 - beta2,
        weightDecayFactor: decays ? 1 - lr * weightDecay : 1,
        rate: lr / correct1,
        biasCorrection2: 1 / Math.sqrt(correct2),
        eps,
      };
      rowwise({ name: "adamw", w, g, m: mean, v: square, scalars });
      markChanged(parameter);
    }
  }

  /** Throws unless the gradients are those of parameters of this optimizer, in their shape and dtype. */
  #checkFit(gradients: Gradients): void {
    const groups = [...this.#groups].filter(([, { parameter }]) => gradients.has(parameter));
    if (groups.length === 0 && gradients.size > 0)
      throw new OptionError(
        "gradients",
        "AdamW.step: no gradient is of a parameter of this optimizer (after model.to, call optimizer.to)",
      );
    for (const [name, { parameter }] of groups)
      checkParameter("AdamW.step: the gradient of", name, gradients.get(parameter)!.dense(), parameter);
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
    const replacements = new Map(named(parameters));
    const groups = await Promise.all(
      [...this.#groups].map(async ([name, group]) => {
        const parameter = replacements.get(name);
        if (!parameter || replacements.size !== this.#groups.size)
          throw new OptionError(
            "parameters",
            `AdamW.to: expected the parameters of the optimizer, ${formatValue([...this.#groups.keys()])}, got ${formatValue([...replacements.keys()])}`,
            { name },
          );
        checkParameter("AdamW.to:", name, parameter, group.parameter);
        const [m, v] = await Promise.all([group.m, group.v].map((t) => t.to(parameter.device)));
        return [name, { parameter, decays: group.decays, m, v }] as const;
      }),
    );
    for (const [name, group] of groups) this.#groups.set(name, group);
    return this;
  }

  /** The moments by name, `m.NAME` and `v.NAME`: a checkpoint stores them with `steps`. */
  moments(): Map<string, Tensor> {
    const tensors = new Map<string, Tensor>();
    for (const [name, { m, v }] of this.#groups) tensors.set(`m.${name}`, m).set(`v.${name}`, v);
    return tensors;
  }
}

function checkNumbers(what: string, numbers: Readonly<Record<string, unknown>>): void {
  for (const [name, x] of Object.entries(numbers))
    if (!(typeof x === "number" && Number.isFinite(x) && x >= 0))
      throw new OptionError(name, `${what}: ${name} must be a number ≥ 0, got ${formatValue(x)}`, { got: x });
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

function named(
  parameters: ReadonlyMap<string, Tensor> | readonly Tensor[],
): Iterable<readonly [string, Tensor]> {
  const entries =
    parameters instanceof Map
      ? [...parameters]
      : Array.isArray(parameters)
        ? parameters.map((tensor, n): [string, unknown] => [String(n), tensor])
        : undefined;
  if (!entries)
    throw new OptionError(
      "parameters",
      `AdamW: parameters must be a Map of tensors by name or a list of tensors, got ${formatValue(parameters)}; a layer has parameters()`,
      { got: parameters },
    );
  for (const [name, tensor] of entries)
    if (!(tensor instanceof Tensor))
      throw new OptionError(
        "parameters",
        `AdamW: parameter ${name} must be a Tensor, got ${formatValue(tensor)}`,
        {
          name,
          got: tensor,
        },
      );
  return entries as [string, Tensor][];
}

/** Throws unless the gradients are by tensor: parameters by name would be no gradients, silently. */
function checkGradients(what: string, gradients: Gradients): void {
  if (gradients instanceof Map && typeof gradients.keys().next().value !== "string") return;
  throw new OptionError(
    "gradients",
    `${what}: gradients must be what tape.gradients(loss, parameters) returns, got ${formatValue(gradients)}`,
    { got: gradients },
  );
}

/** Zeros on the parameter's device. On the CPU they are not in an arena: moments outlive a step. */
function zerosLike({ storage, shape, dtype, size }: Tensor): Tensor {
  const zeros = isDeviceData(storage) ? storage.device.allocate(dtype, size) : arrayFor(dtype, size);
  return tensorOver(zeros, shape, dtype);
}

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
 * The factor that scales gradients to a norm of at most `maxNorm`: min(1, maxNorm / norm). Pass it to `AdamW.step` as `scale`.
 *
 * @example
 * clipScale(4, 1); // → 0.25
 */
export function clipScale(norm: number, maxNorm: number): number {
  if (typeof norm !== "number")
    throw new OptionError("norm", `clipScale: norm must be a number, got ${formatValue(norm)}`, {
      got: norm,
    });
  if (!(maxNorm > 0))
    throw new OptionError("maxNorm", `clipScale: maxNorm must be a number > 0, got ${formatValue(maxNorm)}`);
  return norm > maxNorm ? maxNorm / norm : 1;
}
