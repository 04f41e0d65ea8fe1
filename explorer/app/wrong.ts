/**
 * Sentences about values that the page around gives the element and that are no values: of an attribute, a property, a part of the state
 * or an argument. Loaded when there is one.
 */
import { argumentError, formatValue, OptionError, UnsupportedError } from "../../src/core/errors.ts";
import type { HeadStore } from "../../src/store/head-store.ts";
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

/** Attributes that any element has. */
const GLOBAL =
  "accesskey autofocus class contenteditable dir draggable exportparts hidden id inert is itemid itemprop itemref itemscope itemtype lang nonce part popover role slot spellcheck style tabindex title translate".split(
    " ",
  );

const shown = (value: unknown) => (typeof value === "string" ? `“${value}”` : formatValue(value));

/** Elements whose other attributes have been checked. */
const checked = new WeakSet<Element>();

/**
 * A sentence for each attribute or property of an element whose value has no effect; for the first call, also for attributes that the
 * element does not have. `parts` are the parts of the state that are attributes.
 */
export function wrongAttributes(
  element: Element,
  attributes: readonly (readonly [name: string, value: unknown])[],
  parts: readonly string[],
): readonly string[] {
  const names = [...parts, ...Object.keys(RULES)];
  const others = checked.has(element)
    ? []
    : element.getAttributeNames().filter((name) => !names.includes(name));
  checked.add(element);
  const wrong = attributes.flatMap(([name, value]) => {
    // Any text of a boolean attribute is true.
    const text = name === "address" && value === true ? (element.getAttribute(name) ?? value) : value;
    const [expected, passes] = parts.includes(name) ? [expectedOf(name), () => false] : (RULES[name] ?? []);
    const isNone = text === undefined || text === null || (text === false && name === "address");
    return expected === undefined || isNone || passes?.(text)
      ? []
      : `The attribute ${name} is ${shown(text)}, not ${expected}. It has no effect.`;
  });
  const unknown = others.flatMap((name) => {
    // Names with other characters are those of frameworks; `onclick` is a listener.
    if (GLOBAL.includes(name) || /[^a-z]|^on/.test(name)) return [];
    return `The attribute ${name} has no effect: ${PROPERTIES.includes(name) ? `${name} is a property of the element. Set it in a script: element.${name} = …` : `<${element.localName}> has ${names.join(", ")}.`}`;
  });
  return [...wrong, ...unknown];
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

const SOURCE = "{ name, src } or { name, data }, with a model or without";
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

/** The store that `metrics` asks. Throws if none is open, and unless `of` has parts of the name of a head; the store checks their values. */
export function checkMetrics(store: HeadStore | undefined, of: object): HeadStore {
  if (store === undefined)
    throw new UnsupportedError("empty", "attention-view.metrics: nothing is open; wait for the event load");
  const parts = ["block", "layer", "head"];
  if (!isPlain(of) || !Object.keys(of).every((part) => parts.includes(part)))
    throw argumentError(
      "attention-view.metrics",
      "an object with parts of a head, { layer: 1, head: 2 }",
      of,
    );
  return store;
}
