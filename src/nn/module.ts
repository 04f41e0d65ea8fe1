/**
 * A module is a layer with parameters, or contains such layers. Its parameters are its public fields: a tensor that `parameter` made
 * has the field's name, a Module contributes its own parameters with the prefix `name.`, a list of modules with the prefixes `name.0.`,
 * `name.1.` … A tensor that `buffer` made is saved and not trained. Fields have the names that checkpoints use (`in_proj_weight`, `self_attn`), PyTorch's
 * where PyTorch has the layer, so a state loads without renaming. Other tensors are `#private` fields; a layer in a
 * `#private` field, a getter or a closure is not found, and a tape refuses a loss that depends on its parameters.
 */

import { assign } from "../api/array.ts";
import { type DeviceData, isDeviceData } from "../core/device/device.ts";
import { arrayFor, isFloat, readerOf } from "../core/dtype.ts";
import {
  checkCount,
  DTypeError,
  FormatError,
  formatTensor,
  formatValue,
  OptionError,
  refuseGot,
  ShapeError,
} from "../core/errors.ts";
import { checkKind, checkNames } from "../core/option-names.ts";
import { markChanged } from "../core/recording/changes.ts";
import { kindOf, markListed, setKind } from "../core/recording/kinds.ts";
import { asTensor, eachRow, Tensor, type TensorLike } from "../core/tensor.ts";
import { copyOf, operand } from "./ops/operand.ts";

/** The names in which a module and a loaded state differ. */
export interface LoadResult {
  /** Parameters that the state does not have; they keep their values. */
  readonly missing: readonly string[];
  /** Names in the state that no parameter has. */
  readonly unexpected: readonly string[];
}

/**
 * A layer with parameters.
 *
 * @example
 * class Twice extends Module {
 *   readonly inner = new Linear(8, 8, { seed: 1 });
 *   forward(x: TensorLike) {
 *     return this.inner.forward(this.inner.forward(x));
 *   }
 * }
 * [...new Twice().parameters().keys()]; // → ["inner.weight", "inner.bias"]
 */
export abstract class Module {
  #device = "cpu";

  /** Name of the device on which the layer computes: that of its parameters after `to`. Default "cpu". */
  get device(): string {
    return this.#device;
  }

  /**
   * Moves every parameter and buffer to a device, and resolves to the module. The fields then hold new tensors (tied parameters remain
   * one tensor): call `parameters()` again afterwards, and move an existing optimizer with `optimizer.to(model.parameters())`.
   * The previous tensors are not disposed.
   *
   * @throws OptionError where no device has that name; then nothing has changed
   *
   * @example
   * const model = await new Linear(8, 3, { seed: 1 }).to("cpu");
   */
  async to(device: string | { readonly name: string }): Promise<this> {
    checkCount("Module.to", arguments, 1);
    if (typeof device === "object" && device !== null) return this.to(device.name);
    const parameters = new Set(named(this).map(([, t]) => t));
    const moved = new Map(
      await Promise.all([...parameters].map(async (t) => [t, await t.to(device)] as const)),
    );
    replaceTensors(this, moved);
    for (const [before, after] of moved) setKind(after, kindOf(before)!);
    for (const module of modulesOf(this)) module.#device = device;
    return this;
  }

  /**
   * Every parameter by its dotted name. A tensor with several names (tied weights) is listed once, under its first name.
   *
   * @throws OptionError for a field that is neither a parameter nor a buffer but has tensors or layers that nothing would train or save
   */
  parameters(): Map<string, Tensor> {
    checkCount("Module.parameters", arguments, 0);
    const all = new Map([...tensorsOf(this)].filter(([, t]) => kindOf(t) === "parameter"));
    for (const t of all.values()) markListed(t);
    return all;
  }

  /** Every buffer by its dotted name: tensors that are saved and not trained. */
  buffers(): Map<string, Tensor> {
    checkCount("Module.buffers", arguments, 0);
    return new Map([...tensorsOf(this)].filter(([, t]) => kindOf(t) === "buffer"));
  }

  /**
   * Takes the parameters of the layer and of the layers in it out of `parameters()`: they are saved, and not trained. Returns the layer;
   * `freeze(false)` gives them back.
   *
   * @example
   * [...new Linear(2, 2).freeze().parameters().keys()]; // → []
   */
  freeze(isFrozen = true): this {
    checkCount("Module.freeze", arguments, 1);
    checkKind("Module.freeze", "isFrozen", "true or false", isFrozen);
    for (const t of tensorsOf(this).values())
      if (kindOf(t) !== "buffer") setKind(t, isFrozen ? "frozen" : "parameter");
    return this;
  }

  /** A copy of every parameter and buffer by its dotted name: further training does not change it. PyTorch's `state_dict()`. */
  stateDict(): Map<string, Tensor> {
    checkCount("Module.stateDict", arguments, 0);
    return new Map([...tensorsOf(this)].map(([name, t]) => [name, copyOf(t)]));
  }

  /**
   * Sets the parameters and buffers to the values of a state, in place (PyTorch's `load_state_dict`). Values on the CPU may have any
   * float dtype, which is widened or rounded to the parameter's; values on the parameter's device have its dtype. Either the whole state is loaded, or nothing changes.
   *
   * @param options `strict: false` skips names that do not match and returns them; by default they are an error
   * @throws FormatError that lists missing and unexpected names, or names a tensor with NaN; ShapeError for a tensor of another shape
   */
  loadStateDict(state: ReadonlyMap<string, TensorLike>, options: { strict?: boolean } = {}): LoadResult {
    checkCount("Module.loadStateDict", arguments, 2);
    const what = `${this.constructor.name}.loadStateDict`;
    checkNames(what, options, ["strict"]);
    const { strict = true } = options;
    if (!(state instanceof Map)) refuseGot("state", `${what}: expected a Map of tensors by name`, state);
    const names = named(this);
    const entries = names.filter(([name]) => state.has(name));
    const filled = new Set(entries.map(([, t]) => t));
    const expected = new Set(names.map(([name]) => name));
    const missing = [...tensorsOf(this)].filter(([, t]) => !filled.has(t)).map(([name]) => name);
    const unexpected = [...state.keys()].filter((name) => !expected.has(name));
    if (strict && missing.length + unexpected.length > 0)
      throw new FormatError(
        "state",
        `${what}: the state does not fit; missing: ${list(missing)}; unexpected: ${list(unexpected)}`,
        { missing, unexpected },
      );
    if (entries.length === 0 && names.length > 0)
      throw new FormatError(
        "state",
        `${what}: no name of the state is one of the layer's; the state has ${list(unexpected)}, the layer ${list(missing)}`,
        { missing, unexpected },
      );
    const sources = entries.map(([name, t]) => {
      const source = asTensor(`${what}: ${name}`, state.get(name)!);
      if (source.shape.join() !== t.shape.join())
        throw new ShapeError(
          "state",
          `${what}: ${name} must be [${t.shape.join(", ")}], got ${formatTensor(name, source)}`,
          { name, got: source.shape, want: t.shape },
        );
      if (!isFloat(source.dtype))
        throw new DTypeError(
          "dtype",
          `${what}: ${name} must have a float dtype, got ${formatTensor(name, source)}; convert it: cast(t, "float32")`,
          { name, dtype: source.dtype },
        );
      if (source.device === "cpu" && source.toFloat64().some(Number.isNaN))
        throw new FormatError(
          "not-a-number",
          `${what}: ${name} has NaN, so every result would be NaN; load a state from before the training diverged`,
          { name },
        );
      if (source.device !== "cpu") operand(what, `${name} of the state`, source, t);
      return [t, source] as const;
    });
    for (const [t, source] of sources) {
      copy(source, t);
      markChanged(t);
    }
    return { missing, unexpected };
  }
}

/** Parameters and buffers, each under its first name. */
function tensorsOf(module: Module): Map<string, Tensor> {
  const all = new Map<string, Tensor>();
  const visited = new Set<Tensor>();
  for (const [name, t] of named(module)) {
    if (!visited.has(t)) all.set(name, t);
    visited.add(t);
  }
  return all;
}

/** Every name of every parameter and buffer, tied ones under each of their names. */
function named(module: Module, prefix = ""): [string, Tensor][] {
  return Object.entries(module).flatMap(([name, value]) => inside(value, prefix + name));
}

function inside(value: unknown, name: string): [string, Tensor][] {
  if (value instanceof Tensor) {
    if (kindOf(value)) return [[name, value]];
    throw refusal(
      name,
      "is a plain tensor; write parameter(t) where it is trained, buffer(t) where it is only saved, or make the field #private",
    );
  }
  if (value instanceof Module) return named(value, `${name}.`);
  if (Array.isArray(value)) return value.flatMap((member, n) => inside(member, `${name}.${n}`));
  if (typeof value !== "object" || value === null) return [];
  const { parameters, isContiguous } = value as Partial<Record<string, unknown>>;
  if (typeof parameters === "function" || typeof isContiguous === "function")
    throw refusal(
      name,
      typeof parameters === "function"
        ? "has parameters() and is no Module of this copy of heed, so nothing would train or save it; install heed once, and keep a model of heed/models in a #private field"
        : "is a tensor of another copy of heed; install heed once, or copy it: parameter(tensor(t.data, t.shape))",
    );
  // A layer in a Map, a Set or an object would not be trained, silently.
  const layers = members(value).filter(
    (member) => member instanceof Module || (member instanceof Tensor && kindOf(member)),
  );
  if (layers.length > 0)
    throw refusal(
      name,
      `has ${layers[0] instanceof Module ? "layers" : "parameters"} in ${formatValue(value)}; they are found in fields and lists`,
    );
  return [];
}

const refusal = (name: string, text: string): OptionError =>
  new OptionError("field", `Module: field ${name} ${text}`, { name });

const members = (value: object): unknown[] =>
  value instanceof Map || value instanceof Set ? [...value.values()] : Object.values(value);

/** A module and all modules in it. */
function modulesOf(x: unknown): Module[] {
  if (Array.isArray(x)) return x.flatMap(modulesOf);
  return x instanceof Module ? [x, ...Object.values(x).flatMap(modulesOf)] : [];
}

/** Replaces the parameters of a module, or the tensors and the modules' parameters of a list. */
function replaceTensors(holder: object, tensors: ReadonlyMap<Tensor, Tensor>): void {
  for (const [name, value] of Object.entries(holder))
    if (value instanceof Tensor) Object.assign(holder, { [name]: tensors.get(value) });
    else if (value instanceof Module || Array.isArray(value)) replaceTensors(value, tensors);
}

function copy(from: Tensor, to: Tensor): void {
  const { storage } = to;
  if (isDeviceData(storage)) {
    if (from.device === "cpu") copyToDevice(from, to, storage);
    else assign({ name: "assign", x: from, y: to });
    return;
  }
  const read = readerOf(from.dtype, from.data);
  const data = to.data as Float32Array;
  let next = to.offset;
  eachRow(from.shape, from.strides, from.offset, (start, count, step) => {
    for (let n = 0; n < count; n++) data[next++] = read(start + n * step);
  });
}

/** Converts CPU values to the parameter's dtype, and writes them to its device. */
function copyToDevice(from: Tensor, to: Tensor, storage: DeviceData): void {
  const converted = new Tensor(arrayFor(to.dtype, to.size), to.shape, to.dtype);
  copy(from, converted);
  storage.device.write(storage, converted.data);
}

const list = (names: readonly string[]): string =>
  names.length === 0
    ? "none"
    : names.length > 20
      ? `${names.slice(0, 20).join(", ")} … (${names.length})`
      : names.join(", ");
