/** Gradients of functions, as in JAX: `grad` and `valueAndGrad` record one call on a tape (tape.ts). */
import { tensor } from "../core/create/construct.ts";
import { isNested, type NestedNumbers } from "../core/create/nested.ts";
import { checkArgument, checkCount, formatValue, isFunction, isMap, OptionError } from "../core/errors.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { operand, zerosLike } from "../nn/ops/operand.ts";
import { Tape } from "./tape.ts";

/** What a function is differentiated by: a tensor or nested arrays, a list of tensors, or tensors by name. */
export type GradTarget =
  | TensorLike
  | NestedNumbers
  | readonly Tensor[]
  | ReadonlyMap<string, Tensor>
  | Readonly<Record<string, Tensor>>;

/** The first argument: nested arrays where the function takes a tensor. */
type Argument<X> = X extends Tensor ? X | NestedNumbers : X;

/** Gradients in the structure of what a function is differentiated by. */
export type GradOf<X> =
  X extends Tensor<infer D>
    ? Tensor<D>
    : X extends ReadonlyMap<string, Tensor>
      ? Map<string, Tensor>
      : X extends readonly Tensor[]
        ? Tensor[]
        : X extends TensorLike | NestedNumbers
          ? Tensor
          : { [K in keyof X]: Tensor };

/**
 * The function that computes the gradient of `f` by its first argument, in the structure of that argument: zeros where the result does
 * not depend on a tensor. `f` is synchronous and returns one number. Second derivatives are not defined: `grad(grad(f))` throws.
 *
 * @example
 * const slope = grad((x: Tensor) => sum(square(x)));
 * slope(tensor([1, 2, 3])).toArray(); // → [2, 4, 6]
 */
export function grad<X extends GradTarget, A extends readonly unknown[]>(
  f: (x: X, ...rest: A) => Tensor,
): (x: Argument<X>, ...rest: A) => GradOf<X> {
  checkCount("grad", arguments, 1);
  const both = differentiated("grad", f);
  return (x, ...rest) => both(x, ...rest)[1];
}

/**
 * The function that computes the value of `f` and its gradient by the first argument, as `grad`.
 *
 * @example
 * const [value, gradient] = valueAndGrad((x: Tensor) => sum(square(x)))(tensor([1, 2]));
 * value.at(); // → 5
 */
export function valueAndGrad<X extends GradTarget, A extends readonly unknown[]>(
  f: (x: X, ...rest: A) => Tensor,
): (x: Argument<X>, ...rest: A) => [value: Tensor, gradient: GradOf<X>] {
  checkCount("valueAndGrad", arguments, 1);
  return differentiated("valueAndGrad", f);
}

function differentiated<X extends GradTarget, A extends readonly unknown[]>(
  what: string,
  f: (x: X, ...rest: A) => Tensor,
): (x: Argument<X>, ...rest: A) => [Tensor, GradOf<X>] {
  // A method without its layer would read a field of undefined.
  const isMethod = isFunction(f) && /^forward\s*\(/.test(String(f));
  const example = isMethod ? "sum(layer.forward(x))" : "sum(x)";
  checkArgument(isFunction(f) && !isMethod, what, `a function, as in ${what}((x) => ${example})(x)`, f);
  return (x, ...rest) => {
    const argument = (isNested(x) ? tensor(x as NestedNumbers) : x) as X;
    const targets = targetsOf(what, argument);
    const tape = new Tape();
    const value = tape.run(() => f(argument, ...rest));
    const gradients = tape.gradients(value, targets.values());
    const of = (t: Tensor): Tensor => gradients.get(t) ?? zerosLike(operand(what, "x", t));
    const named = [...targets].map(([name, t]) => [name, of(t)] as const);
    if (argument instanceof Tensor) return [value, named[0][1] as GradOf<X>];
    if (Array.isArray(argument)) return [value, named.map(([, t]) => t) as GradOf<X>];
    return [value, (isMap(argument) ? new Map(named) : Object.fromEntries(named)) as GradOf<X>];
  };
}

/** The tensors of the argument by name. */
function targetsOf(what: string, x: GradTarget): Map<string, Tensor> {
  if (x instanceof Tensor) return new Map([["x", x]]);
  const entries: [string, unknown][] = isMap(x)
    ? [...(x as ReadonlyMap<string, unknown>)]
    : typeof x === "object" && x !== null
      ? Object.entries(x)
      : [];
  const wrong = entries.find(([, t]) => !(t instanceof Tensor));
  if (entries.length === 0 || wrong)
    throw new OptionError(
      "x",
      `${what}: the first argument must be a tensor, nested arrays, a list of tensors or tensors by name, got ${formatValue(wrong ? wrong[1] : x)}${wrong ? ` at ${wrong[0]}` : ""}`,
      { got: x },
    );
  return new Map(entries as [string, Tensor][]);
}
