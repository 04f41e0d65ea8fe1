/**
 * The errors that heed throws: one base class, five kinds. Each has a stable `code` and the values as
 * fields, so a program need not parse the text. Messages are only built when an error is thrown.
 */

/** Values that explain an error: shapes, offsets, names. */
export type ErrorFields = Readonly<Record<string, unknown>>;

/**
 * Base class of all errors that heed throws deliberately. `code` is stable; `fields` holds the values.
 *
 * @example
 * try {
 *   scaledDotProductAttention(q, k, ones([3, 3]));
 * } catch (error) {
 *   if (error instanceof HeedError) console.error(error.code, error.message);
 * }
 */
export class HeedError extends Error {
  readonly code: string;
  readonly fields: ErrorFields;
  constructor(code: string, message: string, fields: ErrorFields = {}) {
    // Error itself throws a TypeError for a symbol.
    super(typeof message === "string" ? message : formatValue(message));
    this.name = new.target.name;
    this.code = code;
    this.fields = fields;
  }
}

/** Shapes that do not fit each other. */
export class ShapeError extends HeedError {}
/** A dtype that is unknown, mixed or not allowed here. */
export class DTypeError extends HeedError {}
/** An option outside its range, or options that contradict each other. */
export class OptionError extends HeedError {}
/** Valid, but not possible here: names the backend, the reason and the nearest alternative that works. */
export class UnsupportedError extends HeedError {}
/** A malformed file: names the tensor and the byte offset. */
export class FormatError extends HeedError {}

/** Formats a tensor for an error message: `query [2, 8, 128, 64] float32`. */
export function formatTensor(name: string, tensor: { shape: readonly number[]; dtype: string }): string {
  return `${name} [${tensor.shape.join(", ")}] ${tensor.dtype}`;
}

/** Formats a value for an error message. */
export function formatValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") {
    const kind = isFunction(value) ? "function" : "class";
    return value.name ? `the ${kind} ${value.name}` : `a ${kind}`;
  }
  if (value === null || typeof value !== "object") return String(value);
  if (Array.isArray(value))
    return value.length > 8 ? `an array of ${value.length}` : `[${value.map(formatValue).join(", ")}]`;
  const name = (value as object).constructor?.name;
  return ArrayBuffer.isView(value)
    ? `${name} of ${(value as Float32Array).length ?? value.byteLength}`
    : name || "an object";
}

/** Throws an OptionError unless `passes`: the first argument of the function `what` is not what it takes. */
export function checkArgument(passes: boolean, what: string, expected: string, got: unknown): void {
  if (!passes) throw argumentError(what, expected, got);
}

/** Throws an OptionError unless `x` is an integer from `low` to `high`. */
export function checkInteger(what: string, name: string, x: unknown, low: number, high = Infinity): void {
  if (!(Number.isSafeInteger(x) && isBetween(x, low, high)))
    refuseRange(what, name, x, "an integer", low, high);
}

/** Throws an OptionError unless `x` is a finite number from `low` to `high`. */
export function checkNumber(what: string, name: string, x: unknown, low: number, high = Infinity): void {
  if (!(Number.isFinite(x) && isBetween(x, low, high))) refuseRange(what, name, x, "a number", low, high);
}

/** Throws an OptionError unless `seed` is a safe integer. */
export function checkSeed(what: string, seed: unknown): void {
  if (!Number.isSafeInteger(seed)) refuseValue(what, "seed", "an integer below 2^53", seed);
}

const isBetween = (x: unknown, low: number, high: number) => (x as number) >= low && (x as number) <= high;

function refuseRange(what: string, name: string, x: unknown, kind: string, low: number, high: number): never {
  return refuseValue(what, name, `${kind} ${high === Infinity ? `≥ ${low}` : `from ${low} to ${high}`}`, x);
}

/** Throws the OptionError of an option or argument `name` that is not what it must be. */
export function refuseValue(what: string, name: string, expected: string, got: unknown): never {
  return refuseGot(name, `${what}: ${name} must be ${expected}`, got);
}

/** Throws an OptionError of this code, whose message ends with the value that it got. */
export function refuseGot(code: string, message: string, got: unknown, fields: ErrorFields = { got }): never {
  throw new OptionError(code, `${message}, got ${formatValue(got)}`, fields);
}

/** The error of an argument that is not what the function `what` takes: for functions that check before a call costs anything. */
export function argumentError(what: string, expected: string, got: unknown): OptionError {
  return new OptionError("argument", `${what}: expected ${expected}, got ${formatValue(got)}`, { got });
}

/**
 * Throws where a call of the function `what` has more than `maximum` arguments, which JavaScript would ignore. What `list.map(what)`
 * adds to the one argument, the index and the list, is no mistake; neither is undefined. `hint` says how the call is written.
 */
export function checkCount(what: string, got: IArguments, maximum: number, hint?: string): void {
  if (got.length > maximum) refuseExtra(what, Array.from(got), maximum, hint);
}

function refuseExtra(what: string, got: unknown[], maximum: number, hint?: string): void {
  const [value, index, list] = got;
  if (
    maximum === 1 &&
    got.length === 3 &&
    typeof index === "number" &&
    Array.isArray(list) &&
    list[index] === value
  )
    return;
  const extra = got.slice(maximum).filter((one) => one !== undefined);
  if (extra.length > 0)
    throw new OptionError(
      "argument-count",
      `${what}: expected ${maximum === 0 ? "no arguments" : maximum === 1 ? "one argument" : `at most ${maximum} arguments`}, got ${got.length}; ${hint ?? (maximum > 0 && got.every(Number.isFinite) ? `a list is one argument: ${formatValue(got)}` : `leave out ${extra.map(formatValue).join(", ")}`)}`,
      { maximum, got: got.length },
    );
}

/** The object or prototype `target`, whose methods then refuse more arguments than `maxima` has for each; an async method rejects. */
export function checkMethods<T extends object>(
  what: string,
  target: T,
  maxima: Readonly<Record<string, number>>,
): T {
  for (const [name, maximum] of Object.entries(maxima) as [keyof T & string, number][]) {
    const method = target[name] as (...args: unknown[]) => unknown;
    const call = function (this: unknown): unknown {
      checkCount(`${what}.${name}`, arguments, maximum);
      return Reflect.apply(method, this, arguments);
    };
    const isAsync = method.constructor.name === "AsyncFunction";
    target[name] = (
      isAsync
        ? async function (this: unknown, ...args: unknown[]) {
            return Reflect.apply(call, this, args);
          }
        : call
    ) as T[keyof T & string];
  }
  return target;
}

/** True for an array or a typed array. */
export function isList(value: unknown): boolean {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/** True for a function that can be called without `new`: a class cannot be, nor can most constructors of JavaScript, such as Map. */
export const isFunction = (value: unknown): value is (...args: never[]) => unknown =>
  typeof value === "function" &&
  !/^class|^function (?!String|Number|Boolean|BigInt|Array|Object|Date)\w+\(\)\s*{\s*\[native/.test(
    value.prototype && `${value}`,
  );

/** True for a Map, also one of another realm. */
export function isMap(value: unknown): boolean {
  const map = value as Partial<Map<unknown, unknown>> | undefined | null;
  return typeof map?.get === "function" && "keys" in map;
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : typeof error === "string" ? error : formatValue(error);
}
