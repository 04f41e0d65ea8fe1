/** Values of chat templates, as Python has them: how they print, compare and convert; filters, tests and methods by name. */
import { refuseTemplate } from "./tokens.ts";

/** A function of a template. */
export type TemplateFunction = (
  positional: readonly TemplateValue[],
  named: ReadonlyMap<string, TemplateValue>,
) => TemplateValue;

/** A value: undefined is Jinja's undefined, null Python's None, a Map a dictionary. */
export type TemplateValue =
  | undefined
  | null
  | boolean
  | number
  | string
  | readonly TemplateValue[]
  | Map<string, TemplateValue>
  | TemplateFunction;

/** JSON's values as those of a template. */
export function templateValue(json: unknown): TemplateValue {
  if (Array.isArray(json)) return json.map(templateValue);
  if (json !== null && typeof json === "object")
    return new Map(Object.entries(json).map(([key, one]) => [key, templateValue(one)]));
  return json as TemplateValue;
}

export const isTrue = (value: TemplateValue): boolean =>
  Array.isArray(value) ? value.length > 0 : value instanceof Map ? value.size > 0 : Boolean(value);

/** As Python's str. */
export function print(value: TemplateValue): string {
  return typeof value === "string" ? value : value === undefined ? "" : represent(value);
}

/** As Python's repr. */
function represent(value: TemplateValue): string {
  if (value === null) return "None";
  if (value === undefined) return "Undefined";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") {
    const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
    const inner = value.replace(
      /[\\\n\r\t]/g,
      (one) => ({ "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" })[one] as string,
    );
    return quote + inner.replaceAll(quote, `\\${quote}`) + quote;
  }
  if (Array.isArray(value)) return `[${value.map(represent).join(", ")}]`;
  if (value instanceof Map)
    return `{${[...value].map(([key, one]) => `${represent(key)}: ${represent(one)}`).join(", ")}}`;
  return typeof value === "function" ? refuseTemplate("a function is printed") : String(value);
}

export function isEqual(a: TemplateValue, b: TemplateValue): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, i) => isEqual(one, b[i]));
  if (a instanceof Map && b instanceof Map)
    return a.size === b.size && [...a].every(([key, one]) => b.has(key) && isEqual(one, b.get(key)));
  return a === b;
}

/** True if `item` is in a text, a list or a dictionary. */
export function contains(of: TemplateValue, item: TemplateValue): boolean {
  if (typeof of === "string") return typeof item === "string" && of.includes(item);
  if (Array.isArray(of)) return of.some((one) => isEqual(one, item));
  if (of instanceof Map) return typeof item === "string" && of.has(item);
  return of === undefined ? false : refuseTemplate(`"in" of ${kindOf(of)}`);
}

export function kindOf(value: TemplateValue): string {
  if (value === undefined) return "an undefined value";
  if (value === null) return "none";
  return Array.isArray(value) ? "a list" : value instanceof Map ? "a dictionary" : `a ${typeof value}`;
}

/** What a for loop runs over. */
export function itemsOf(value: TemplateValue): readonly TemplateValue[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return [...value.keys()];
  if (typeof value === "string") return [...value];
  return value === undefined ? [] : refuseTemplate(`a loop over ${kindOf(value)}`);
}

/** As Python's json.dumps(…, ensure_ascii=False, indent=…). */
function json(value: TemplateValue, indent: number | undefined, level = 0): string {
  if (value === undefined || typeof value === "function") return refuseTemplate(`tojson of ${kindOf(value)}`);
  if (Array.isArray(value) || value instanceof Map) {
    const isList = Array.isArray(value);
    const parts = isList
      ? value.map((one) => json(one, indent, level + 1))
      : [...(value as Map<string, TemplateValue>)].map(
          ([key, one]) => `${JSON.stringify(key)}: ${json(one, indent, level + 1)}`,
        );
    const [open, close] = isList ? "[]" : "{}";
    if (parts.length === 0 || indent === undefined) return open + parts.join(", ") + close;
    const pad = (n: number) => `\n${" ".repeat(indent * n)}`;
    return open + pad(level + 1) + parts.join(`,${pad(level + 1)}`) + pad(level) + close;
  }
  return JSON.stringify(value);
}

const text = (value: TemplateValue, what: string): string =>
  typeof value === "string"
    ? value
    : value === undefined
      ? ""
      : refuseTemplate(`${what} of ${kindOf(value)}`);
const lengthOf = (value: TemplateValue): number =>
  typeof value === "string" ? [...value].length : value instanceof Map ? value.size : itemsOf(value).length;
const stripSet = (set: TemplateValue) =>
  typeof set === "string" ? `[${set.replace(/[\]\\^-]/g, "\\$&")}]` : "\\s";
const strip = (value: string, set: TemplateValue, left: boolean, right: boolean): string => {
  const pattern = stripSet(set);
  let out = value;
  if (left) out = out.replace(new RegExp(`^${pattern}+`, "u"), "");
  if (right) out = out.replace(new RegExp(`${pattern}+$`, "u"), "");
  return out;
};
const capitalize = (value: string) => value.slice(0, 1).toUpperCase() + value.slice(1).toLowerCase();
const title = (value: string) => value.replace(/\p{L}+/gu, capitalize);

type Filter = (
  value: TemplateValue,
  positional: readonly TemplateValue[],
  named: ReadonlyMap<string, TemplateValue>,
) => TemplateValue;

/** Selects items by an attribute that passes a test. */
const select =
  (wanted: boolean): Filter =>
  (value, [attribute, test, ...rest]) =>
    itemsOf(value).filter((item) => {
      const of = item instanceof Map ? item.get(String(attribute)) : undefined;
      return (test === undefined ? isTrue(of) : runTest(String(test), of, rest)) === wanted;
    });

const FILTERS: Readonly<Record<string, Filter>> = {
  trim: (value, [set]) => strip(text(value, "trim"), set, true, true),
  length: lengthOf,
  count: lengthOf,
  upper: (value) => print(value).toUpperCase(),
  lower: (value) => print(value).toLowerCase(),
  capitalize: (value) => capitalize(print(value)),
  title: (value) => title(print(value)),
  string: (value) => print(value),
  safe: (value) => value,
  list: (value) => [...itemsOf(value)],
  first: (value) => itemsOf(value)[0],
  last: (value) => itemsOf(value).at(-1),
  reverse: (value) =>
    typeof value === "string" ? [...value].reverse().join("") : [...itemsOf(value)].reverse(),
  int: (value) => Number.parseInt(print(value), 10) || 0,
  join: (value, [separator = ""]) => itemsOf(value).map(print).join(print(separator)),
  replace: (value, [from, to]) => print(value).replaceAll(print(from), print(to)),
  default: (value, [otherwise = "", always]) =>
    value === undefined || (isTrue(always) && !isTrue(value)) ? otherwise : value,
  items: (value) =>
    value instanceof Map
      ? [...value].map(([key, one]) => [key, one])
      : refuseTemplate(`items of ${kindOf(value)}`),
  tojson: (value, _, named) => {
    const indent = named.get("indent");
    return json(value, typeof indent === "number" ? indent : undefined);
  },
  map: (value, [filter], named) => {
    const attribute = named.get("attribute");
    if (attribute === undefined)
      return itemsOf(value).map((item) => runFilter(String(filter), item, [], new Map()));
    return itemsOf(value).map((item) => (item instanceof Map ? item.get(String(attribute)) : undefined));
  },
  selectattr: select(true),
  rejectattr: select(false),
  indent: (value, [width = 4, first]) =>
    print(value)
      .split("\n")
      .map((line, i) => ((i > 0 || isTrue(first)) && line !== "" ? " ".repeat(Number(width)) + line : line))
      .join("\n"),
};

/** Applies a filter by its name. */
export function runFilter(
  name: string,
  value: TemplateValue,
  positional: readonly TemplateValue[],
  named: ReadonlyMap<string, TemplateValue>,
): TemplateValue {
  if (!Object.hasOwn(FILTERS, name))
    return refuseTemplate(`the filter ${name} is not one heed has (${Object.keys(FILTERS).join(", ")})`);
  return FILTERS[name](value, positional, named);
}

const TESTS: Readonly<Record<string, (value: TemplateValue, argument: TemplateValue) => boolean>> = {
  defined: (value) => value !== undefined,
  undefined: (value) => value === undefined,
  none: (value) => value === null,
  None: (value) => value === null,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  mapping: (value) => value instanceof Map,
  iterable: (value) => typeof value === "string" || Array.isArray(value) || value instanceof Map,
  sequence: (value) => typeof value === "string" || Array.isArray(value) || value instanceof Map,
  true: (value) => value === true,
  false: (value) => value === false,
  odd: (value) => Math.abs(Number(value) % 2) === 1,
  even: (value) => Number(value) % 2 === 0,
  equalto: isEqual,
  eq: isEqual,
  "==": isEqual,
  ne: (a, b) => !isEqual(a, b),
  in: (item, of) => contains(of, item),
};

/** Applies a test by its name. */
export function runTest(name: string, value: TemplateValue, [argument]: readonly TemplateValue[]): boolean {
  if (!Object.hasOwn(TESTS, name))
    return refuseTemplate(`the test ${name} is not one heed has (${Object.keys(TESTS).join(", ")})`);
  return TESTS[name](value, argument);
}

const TEXT_METHODS: Readonly<
  Record<string, (value: string, positional: readonly TemplateValue[]) => TemplateValue>
> = {
  strip: (value, [set]) => strip(value, set, true, true),
  lstrip: (value, [set]) => strip(value, set, true, false),
  rstrip: (value, [set]) => strip(value, set, false, true),
  upper: (value) => value.toUpperCase(),
  lower: (value) => value.toLowerCase(),
  capitalize,
  title,
  startswith: (value, [start]) => startsOf(start).some((one) => value.startsWith(one)),
  endswith: (value, [end]) => startsOf(end).some((one) => value.endsWith(one)),
  replace: (value, [from, to]) => value.replaceAll(print(from), print(to)),
  find: (value, [part]) => value.indexOf(print(part)),
  split: (value, [separator, count]) => {
    if (separator === undefined || separator === null)
      return value
        .trim()
        .split(/\s+/)
        .filter((part) => part !== "");
    const parts = value.split(print(separator));
    if (typeof count !== "number" || count < 0 || parts.length <= count + 1) return parts;
    return [...parts.slice(0, count), parts.slice(count).join(print(separator))];
  },
  join: (value, [list]) => itemsOf(list).map(print).join(value),
};
const startsOf = (value: TemplateValue): string[] =>
  Array.isArray(value) ? value.map(print) : [print(value)];

const MAP_METHODS: Readonly<
  Record<string, (value: Map<string, TemplateValue>, positional: readonly TemplateValue[]) => TemplateValue>
> = {
  items: (value) => [...value].map(([key, one]) => [key, one]),
  keys: (value) => [...value.keys()],
  values: (value) => [...value.values()],
  get: (value, [key, otherwise = null]) => (value.has(String(key)) ? value.get(String(key)) : otherwise),
};

/** A method of a text, a list or a dictionary; undefined if it has none of this name. */
export function methodOf(value: TemplateValue, name: string): TemplateFunction | undefined {
  if (typeof value === "string" && Object.hasOwn(TEXT_METHODS, name))
    return (list) => TEXT_METHODS[name](value, list);
  if (value instanceof Map && Object.hasOwn(MAP_METHODS, name))
    return (list) => MAP_METHODS[name](value, list);
  if (Array.isArray(value) && name === "append")
    return ([item]) => {
      (value as TemplateValue[]).push(item);
      return null;
    };
  return undefined;
}
