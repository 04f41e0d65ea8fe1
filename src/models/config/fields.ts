/** Reads the fields of a JSON object by rules. */
import { UnsupportedError } from "../../core/errors.ts";
import type { Json } from "../../io/json.ts";

/** A field's name, its kind, and the maximum of a size. */
export type Rule = readonly [
  name: string,
  kind: "size" | "share" | "number" | "text" | "flag" | "id",
  maximum?: number,
];

/** What a wrong value must be; undefined for a valid one. */
export function wrongOf(value: unknown, [, kind, maximum = 0]: Rule): string | undefined {
  const number = typeof value === "number" ? value : Number.NaN;
  switch (kind) {
    case "size":
      return Number.isInteger(number) && number >= 1 && number <= maximum
        ? undefined
        : `an integer from 1 to ${maximum}`;
    case "id":
      return Number.isInteger(number) && number >= 0 ? undefined : "an integer ≥ 0";
    case "share":
      return number >= 0 && number < 1 ? undefined : "a number in [0, 1)";
    case "number":
      return number >= 0 && Number.isFinite(number) ? undefined : "a number ≥ 0";
    case "text":
      return typeof value === "string" ? undefined : "a text";
    case "flag":
      return typeof value === "boolean" ? undefined : "true or false";
  }
}

/** The fields of an object, read one at a time. `null`, which is Python's spelling of a default, counts as missing. */
export class Fields {
  readonly #values: ReadonlyMap<string, { readonly value: Json; readonly at: number }>;
  readonly #end: number;
  readonly #refuse: (code: string, at: number, text: string) => never;
  readonly #prefix: string;

  /** @param end the offset to report for a missing field */
  constructor(
    values: ReadonlyMap<string, { readonly value: Json; readonly at: number }>,
    end: number,
    refuse: (code: string, at: number, text: string) => never,
    prefix = "",
  ) {
    this.#values = values;
    this.#end = end;
    this.#refuse = refuse;
    this.#prefix = prefix;
  }

  /** A field as it is in the file; undefined if it is missing. */
  value(name: string): Json | undefined {
    return this.#values.get(name)?.value;
  }

  /** Throws a FormatError about a field. */
  refuse(name: string, text: string): never {
    return this.#refuse("config", this.#values.get(name)?.at ?? this.#end, `${this.#prefix}${name} ${text}`);
  }

  /** The fields that have a rule, checked. */
  read(rules: readonly Rule[]): Record<string, Json> {
    const read: Record<string, Json> = {};
    for (const rule of rules) {
      const value = this.value(rule[0]);
      if (value === undefined || value === null) continue;
      const wrong = wrongOf(value, rule);
      if (wrong !== undefined) this.refuse(rule[0], `must be ${wrong}`);
      read[rule[0]] = value;
    }
    return read;
  }

  /** One field by its rule; undefined if it is missing. */
  optional<T extends number | string | boolean>(rule: Rule): T | undefined {
    return this.read([rule])[rule[0]] as T | undefined;
  }

  /** One field by its rule, or its default; without a default the field is required. */
  one<T extends number | string | boolean>(rule: Rule, otherwise?: T): T {
    return this.optional<T>(rule) ?? otherwise ?? this.refuse(rule[0], "is missing");
  }

  /** A list whose items follow one rule; undefined if it is missing. */
  list<T extends number | string | boolean>(name: string, rule: Rule, limit: number): T[] | undefined {
    const value = this.value(name);
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value) || value.length > limit)
      return this.refuse(name, `must be a list of at most ${limit}`);
    for (const item of value) {
      const wrong = wrongOf(item, rule);
      if (wrong !== undefined) this.refuse(name, `must be a list whose items are each ${wrong}`);
    }
    return value as T[];
  }

  /** The fields of a nested object; undefined if it is missing. */
  object(name: string): Fields | undefined {
    const value = this.value(name);
    if (value === undefined || value === null) return undefined;
    if (!(value instanceof Map)) return this.refuse(name, "must be an object");
    const at = this.#values.get(name)!.at;
    const inside = new Map([...(value as Map<string, Json>)].map(([key, one]) => [key, { value: one, at }]));
    return new Fields(inside, at, this.#refuse, `${this.#prefix}${name}.`);
  }

  /** These fields with others in their place, or in addition. */
  with(values: Readonly<Record<string, Json>>): Fields {
    const more = Object.entries(values).map(([name, value]) => [name, { value, at: this.#end }] as const);
    return new Fields(new Map([...this.#values, ...more]), this.#end, this.#refuse, this.#prefix);
  }

  /** All fields as JavaScript values. */
  toObject(): Record<string, unknown> {
    return Object.fromEntries([...this.#values].map(([name, { value }]) => [name, plain(value)]));
  }
}

/** Values of fields that heed computes: any other is a computation that it does not have. */
export type FixedValues = Readonly<Record<string, readonly (string | number | boolean | null)[]>>;

/** Throws an UnsupportedError that names a field with another value; a missing field has none. */
export function requireValues(fields: Fields, values: FixedValues): void {
  for (const [name, allowed] of Object.entries(values)) {
    const value = fields.value(name);
    if (value !== undefined && !allowed.includes(value as null))
      throw new UnsupportedError(
        "config",
        `config.json: ${name} must be ${allowed.map((one) => JSON.stringify(one)).join(" or ")}, which is what heed computes`,
        { field: name },
      );
  }
}

/** JSON's objects, which are Maps here, as objects. */
function plain(value: Json): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map)
    return Object.fromEntries([...(value as Map<string, Json>)].map(([key, item]) => [key, plain(item)]));
  return value;
}
