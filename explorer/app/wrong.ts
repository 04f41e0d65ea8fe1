/**
 * Sentences about values that the page around gives the element and that are no values: of an attribute, a property, a part of the state
 * or an argument. Loaded when there is one.
 */
import { argumentError, formatValue, OptionError, UnsupportedError } from "../../src/core/errors.ts";
import type { HeadStore } from "../../src/store/head-store.ts";
import { unknownAttributes } from "../../ui/attributes.ts";
import { DEFAULT, MAX_PINS, METRIC_NAMES, type State } from "../state/state.ts";
import { codecOf, isValueOf } from "../state/url.ts";
import { CURSOR_ATTRIBUTES } from "./attributes.ts";

/** What an attribute that is no part of the state must be, and whether a value is that. */
type Rule = readonly [expected: string, passes: (value: unknown) => boolean];

const oneOf = (...words: string[]): Rule => [
  `one of ${words.join(", ")}`,
  (value) => words.includes(value as string),
];
/** The parts around the picture. */
const AROUND = ["bar", "toolbar", "atlas", "inspector", "caption", "legend", "status"];

const RULES: Readonly<Record<string, Rule>> = {
  theme: oneOf("auto", "light", "dark"),
  keys: oneOf("on", "off"),
  controls: oneOf("all", "few", "none"),
  background: oneOf("paper", "none"),
  parts: [
    `names of ${AROUND.join(", ")}, separated by spaces`,
    (value) => `${value}`.split(/\s+/).every((part) => ["", ...AROUND].includes(part)),
  ],
  src: ["the address of a file", (value) => value !== "" && URL.canParse(`${value}`, document.baseURI)],
  address: ["an attribute without a value", (value) => [true, "", "true", "address"].includes(value as "")],
};

/** Properties that are not attributes. */
const PROPERTIES = ["data", "reader", "sources", "state", "store"];

const shown = (value: unknown) => (typeof value === "string" ? `“${value}”` : formatValue(value));

/** Elements whose other attributes have been checked, and how each reports a sentence. */
const checked = new WeakMap<object, (text: string) => void>();

/**
 * `element.head = 3` sets the attribute of that name. A part of the state that is no attribute is no property either: it is reported. A
 * part that the page set before this has been loaded is set now.
 */
function setParts(element: Element, parts: readonly string[]): void {
  const kind = Object.getPrototypeOf(element);
  for (const part of Object.keys(DEFAULT)) {
    if (!(part in kind))
      Object.defineProperty(kind, part, {
        get: function (this: { state: Record<string, unknown> }) {
          return this.state[part];
        },
        set: function (this: Element, value: unknown) {
          if (!parts.includes(part))
            checked.get(this)?.(
              `The element has no property ${part}. Set it in state: element.state = { ${part}: … }.`,
            );
          else if (value === undefined || value === null) this.removeAttribute(part);
          else this.setAttribute(part, String(value));
        },
      });
    if (!Object.hasOwn(element, part)) continue;
    const value = Reflect.get(element, part);
    if (Reflect.deleteProperty(element, part)) Reflect.set(element, part, value);
  }
}

/**
 * Reports each attribute or property of an element whose value has no effect; for the first call, also attributes that the element does
 * not have. `parts` are the parts of the state that are attributes; `refused` reports a sentence, also later.
 */
export function wrongAttributes(
  element: Element,
  attributes: readonly (readonly [name: string, value: unknown])[],
  parts: readonly string[],
  refused: (text: string, stays?: boolean) => void,
): void {
  const names = [...parts, ...Object.keys(RULES)];
  const others = checked.has(element) ? [] : unknownAttributes(element, names);
  if (!checked.has(element)) {
    checked.set(element, refused);
    setParts(element, parts);
  }
  const wrong = attributes.flatMap(([name, value]) => {
    // Any text of a boolean attribute is true.
    const text = name === "address" && value === true ? (element.getAttribute(name) ?? value) : value;
    const [expected, passes] = parts.includes(name) ? [expectedOf(name), () => false] : (RULES[name] ?? []);
    const isNone = text === undefined || text === null || (text === false && name === "address");
    return expected === undefined || isNone || passes?.(text)
      ? []
      : `The attribute ${name} is ${shown(text)}, not ${expected}. It has no effect.`;
  });
  const unknown = others.map(
    (name) =>
      `The attribute ${name} has no effect: ${PROPERTIES.includes(name) ? `${name} is a property of the element. Set it in a script: element.${name} = …` : `<${element.localName}> has ${names.join(", ")}.`}`,
  );
  const owners = document.querySelectorAll("attention-view[address], attention-row[address]");
  const isSecond =
    attributes.some(([name, value]) => name === "address" && value === true) && owners.length > 1;
  const twice = isSecond
    ? [
        "Two elements of this page have the attribute address, and each writes its state there: leave one out.",
      ]
    : [];
  for (const text of [...wrong, ...unknown, ...twice]) refused(text, true);
}

/** What a part of the state must be, where neither its names nor its first value say so. */
const PART_VALUES: Readonly<Partial<Record<keyof State, string>>> = {
  mass: "a number from 0 to 1",
  alpha: "a number from 0 to 1",
  discard: "a number from 0 to 0.99",
  temperature: "a number from 0 to 100",
  block: "the name of a block",
  pinned: "[query, key]",
  camera: "{ scale, x, y }",
  modelCamera: "{ scale, x, y }",
  other: "{ text, layer, head }",
  pins: `a list of at most ${MAX_PINS} heads { block, layer, head }`,
  filters: `a list of { metric, low, high }, each metric one of ${METRIC_NAMES.join(", ")}`,
  edits:
    'a list of { what: "scale", value }, { what: "query", index, value } and { what: "key", token, index, value }',
  ablated: "a list of { layer, head, replace, position }, each head once",
};

const isPlain = (value: unknown): value is object =>
  Object.prototype.toString.call(value) === "[object Object]";

/** The sentence about a part of a change that no state can have. */
const wrongPart = (name: string, value: unknown): string =>
  name in DEFAULT
    ? `The part ${name} of the state is ${shown(value)}, not ${expectedOf(name)}. It has no effect.`
    : `The state has no part ${name}, which has no effect. Its parts are ${Object.keys(DEFAULT).join(", ")}.`;

/** What a part of the state must be. */
function expectedOf(part: string): string {
  const names = codecOf(part)?.names;
  if (names) return `one of ${names.map((one) => one || '""').join(", ")}`;
  const first = DEFAULT[part as keyof State];
  const kind = Array.isArray(first)
    ? "a list of whole numbers from 0, sorted, each once"
    : ({ boolean: "true or false", string: "a text" }[typeof first as string] ?? "a whole number from 0");
  return `${PART_VALUES[part as keyof State] ?? kind}${first === null ? " or null" : ""}`;
}

const SOURCE = "{ name, src } or { name, data }, each with a name, with a model or without";
const VALUES = {
  store: ["The property store", "a store, as openStore and storeFrom of heed/view return"],
  sources: ["The property sources", `a list of ${SOURCE}`],
  reader: ["The property reader", "{ name, read(text) }"],
  state: ["The property state", 'an object with parts of the state, { view: "row", query: 3 }'],
  cell: ["The argument of setCursor", "an object with parts of the cursor, { layer: 1, query: 3 }"],
  source: ["The argument of add", SOURCE],
  name: ["The second argument of open", "a text"],
} as const;
/** Arguments and properties of the element that are checked. */
export type Given = keyof typeof VALUES;

/** The errors of a property or an argument: of a change of the state one for each part that no state can have. */
export function errorsOf(name: Given, value: unknown): readonly OptionError[] {
  const [what, expected] = VALUES[name];
  if ((name === "state" || name === "cell") && isPlain(value))
    return Object.entries(value).flatMap(([part, of]) => {
      const isOther = name === "cell" && part in DEFAULT && !CURSOR_ATTRIBUTES.includes(part as "layer");
      if (of === undefined || (!isOther && isValueOf(part, of))) return [];
      const text = isOther ? `The cursor has no part ${part}: set state.` : wrongPart(part, of);
      return new OptionError(part, text);
    });
  return [new OptionError(name, `${what} is ${shown(value)}, not ${expected}. It has no effect.`)];
}

/** Throws if no store is open for a method. */
export function checkOpen(method: string, store: HeadStore | undefined): HeadStore {
  if (store !== undefined) return store;
  throw new UnsupportedError("empty", `attention-view.${method}: nothing is open; wait for the event load`);
}

/** The store that `metrics` asks. Throws unless `of` has parts of the name of a head; the store checks their values. */
export function checkMetrics(open: HeadStore | undefined, of: object): HeadStore {
  const store = checkOpen("metrics", open);
  const parts = ["block", "layer", "head"];
  if (!isPlain(of) || !Object.keys(of).every((part) => parts.includes(part)))
    throw argumentError(
      "attention-view.metrics",
      "an object with parts of a head, { layer: 1, head: 2 }",
      of,
    );
  return store;
}
