/** A part of tokenizer.json: fields by name, and errors that say where in the file. */
import type { Json } from "../../../io/json.ts";
import { quote } from "../../../io/refuse.ts";

/** Throws a FormatError that names the part of the file and the problem. */
export type RefusePart = (what: string) => never;

/** An object of the file. */
export class ConfigPart {
  readonly #fields: ReadonlyMap<string, Json>;
  readonly refuse: RefusePart;

  constructor(value: Json, refuse: RefusePart) {
    const fields: ReadonlyMap<string, Json> =
      value instanceof Map ? value : refuse(`expected an object, got ${shown(value)}`);
    const type = fields.get("type");
    this.#fields = fields;
    this.refuse = (what) => refuse(typeof type === "string" ? `${type}: ${what}` : what);
  }

  /** Its `type`. */
  get type(): string {
    const type = this.#fields.get("type");
    return typeof type === "string" ? type : "";
  }

  has(name: string): boolean {
    return this.#fields.has(name) && this.#fields.get(name) !== null;
  }

  value(name: string): Json {
    return this.#fields.get(name) ?? null;
  }

  text(name: string, otherwise?: string): string {
    const value = this.value(name);
    if (value === null && otherwise !== undefined) return otherwise;
    return typeof value === "string"
      ? value
      : this.refuse(`${name} must be a text, got ${this.#shown(name)}`);
  }

  flag(name: string, otherwise?: boolean): boolean {
    const value = this.value(name);
    if (value === null && otherwise !== undefined) return otherwise;
    return typeof value === "boolean"
      ? value
      : this.refuse(`${name} must be true or false, got ${this.#shown(name)}`);
  }

  /** An integer from 0 to `limit`. */
  size(name: string, limit: number, otherwise?: number): number {
    const value = this.value(name);
    if (value === null && otherwise !== undefined) return otherwise;
    return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= limit
      ? value
      : this.refuse(`${name} must be an integer from 0 to ${limit}, got ${this.#shown(name)}`);
  }

  list(name: string): readonly Json[] {
    const value = this.value(name);
    return Array.isArray(value) ? value : this.refuse(`${name} must be a list, got ${this.#shown(name)}`);
  }

  /** The parts of a list. */
  parts(name: string): ConfigPart[] {
    const list = this.list(name);
    if (list.length > 64) this.refuse(`${name} has ${list.length} parts; at most 64 are read`);
    return list.map((one) => new ConfigPart(one, this.refuse));
  }

  part(name: string): ConfigPart {
    return new ConfigPart(this.value(name), this.refuse);
  }

  /** Names and values in the order of the file. */
  entries(name: string): ReadonlyMap<string, Json> {
    const value = this.value(name);
    return value instanceof Map ? value : this.refuse(`${name} must be an object, got ${this.#shown(name)}`);
  }

  /** The field `name` as a message shows it: a missing field differs from null. */
  #shown(name: string): string {
    return shown(this.#fields.get(name));
  }
}

/** A value of the file as a message shows it; undefined is a missing field. */
export function shown(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") return quote(value);
  return value instanceof Map ? "an object" : Array.isArray(value) ? "a list" : String(value);
}
