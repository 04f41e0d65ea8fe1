/** Checks names and kinds of options: an unknown name is refused, with a suggestion, and a value of another kind. */
import { isFunction, isList, refuseValue } from "./errors.ts";
import { checkKnown, checkKnownOptions, type ExpectedOf, isObject } from "./known-names.ts";

const isText = (x: unknown) => typeof x === "string";
const isFrom = (low: number) => (x: unknown) => Number.isSafeInteger(x) && (x as number) >= low;
const listOf = (passes: (x: unknown) => boolean) => (x: unknown) =>
  // A hole of an array is undefined here; every() would skip it.
  isList(x) && Array.from(x as unknown[]).every(passes);

const namesOf = (names: string): string[] => names.split(" ");

/** What a value can have to be, in the words of its error. */
export const KINDS = {
  "true or false": (x: unknown) => typeof x === "boolean",
  "a function": isFunction,
  "a number": Number.isFinite,
  "an integer ≥ 0": isFrom(0),
  "an integer ≥ 1": isFrom(1),
  "an integer from 0 to 64": (x: unknown) => isFrom(0)(x) && (x as number) <= 64,
  "a text": isText,
  "an object": isObject,
  "a list": isList,
  "a list of texts": listOf(isText),
  "a list of integers ≥ 0": listOf(isFrom(0)),
  "a list of numbers": listOf(Number.isFinite),
  "a list of numbers or NaN": listOf((x) => typeof x === "number"),
  "a tensor or a list": (x: unknown) => isObject(x) || isList(x),
  "a list of objects": listOf(isObject),
  "a list of lists": listOf(isList),
  "a list of true or false": listOf((x) => typeof x === "boolean"),
  '"truecolor", "256", "mono" or "ascii"': (x: unknown) =>
    isText(x) && ["truecolor", "256", "mono", "ascii"].includes(x as string),
  "the signal of an AbortController": (x: unknown) =>
    typeof (x as AbortSignal)?.throwIfAborted === "function",
};
export type ValueKind = keyof typeof KINDS;

/** Options that are of one kind wherever they occur: the text "false" would count as true. */
const KIND_OF: ReadonlyMap<string, ValueKind> = new Map(
  Object.entries({
    "true or false":
      "about addGenerationPrompt addSpecialTokens all ascii background bidirectional bits caption compress " +
      "crossAttention descending everyCell keepAxis largest lines logX logY lowercase nesterov " +
      "normFirst patch renormalize report skipSpecialTokens splitSpecialTokens strict transposeA transposeB " +
      "values",
    "a function": "deliver open save slope worker",
    "a text": "pair title",
    "an integer ≥ 1": "columns workerBytes",
    "an integer from 0 to 64": "workers",
    "a tensor or a list": "keyMask",
    "an object": "kernel",
    "a list of numbers": "frequencies",
    "the signal of an AbortController": "signal",
    "an integer ≥ 0": "layer head",
    '"truecolor", "256", "mono" or "ascii"': "paint",
  }).flatMap(([kind, names]) => namesOf(names).map((name) => [name, kind as ValueKind] as const)),
);

/** What an option that means the same wherever it occurs must be, where its value is not; `kinds` has what it means here. */
const expectedIn =
  (kinds: ReadonlyMap<string, ValueKind | "">): ExpectedOf =>
  (name, x) => {
    const kind = kinds.get(name) || KIND_OF.get(name) || (/^on[A-Z]/.test(name) ? "a function" : undefined);
    return kind === undefined || KINDS[kind](x) ? undefined : kind;
  };

/** Returns the argument `name` of the function `what`. Throws unless it is of this kind. */
export function checkKind<T>(what: string, name: string, kind: ValueKind, x: T): T {
  return KINDS[kind](x) ? x : refuseValue(what, name, kind, x);
}

/** Names of options or fields, by what they must be; "" is another check's. */
export type FieldKinds = Partial<Readonly<Record<ValueKind | "", string>>>;

/** Throws unless `fields` is an object with names of `kinds` only, each undefined or of its kind. */
export function checkKinds(what: string, fields: object, kinds: FieldKinds): void {
  const kindOf = new Map(
    Object.entries(kinds).flatMap(([kind, names]) => namesOf(names).map((name) => [name, kind as ValueKind])),
  );
  checkNames(what, fields, [...kindOf.keys()], undefined, kindOf);
}

/**
 * Throws unless `options` is an object with known options only. `synonymOf` returns the option for a name of another library, after a colon what differs, or only a sentence.
 * Functions with few options (files, figures) call this directly, without the table of synonyms in `checkOptionNames`.
 */
export function checkNames(
  what: string,
  options: object,
  names: readonly string[],
  synonymOf?: (name: string) => string | undefined,
  kinds: ReadonlyMap<string, ValueKind | ""> = KIND_OF,
): void {
  checkKnown(what, options, names, synonymOf, expectedIn(kinds));
}

/**
 * As `checkNames`, for attention, layers and training: also suggests options for names of other libraries, and for a mask that
 * was passed in place of options. Many names are one text, with spaces between them.
 */
export function checkOptionNames(
  what: string,
  options: object,
  names: string | readonly string[],
  synonyms: Readonly<Record<string, string>> = {},
): void {
  const list = typeof names === "string" ? namesOf(names) : names;
  checkKnownOptions(what, options, list, { ...synonyms, ...SYNONYMS }, expectedIn(KIND_OF));
}

/** Options of layers, generation and training, and sentences, with their names in other libraries. */
const SYNONYMS: Readonly<Record<string, string>> = {
  "keyMask: eq(key_padding_mask, 0), for true means attend here and ignore in PyTorch's key_padding_mask":
    "keypaddingmask",
  "dropout runs inside withDropout(seed, work) only. ": "training deterministic",
  "weights are of each head, [..., H, Nq, Nk]; mean(weights, -3) averages them. ": "averageattnweights",
  correction: "ddof unbiased",
  maxTokens: "maxnewtokens maxlength",
  axis: "dim axes",
  keepAxis: "keepdim keepdims",
  lr: "learningrate",
  "adamw: { lr }": "lr",
  eps: "epsilon",
  feedForward: "dimfeedforward",
  numKvHeads: "numkeyvalueheads",
  hidden: "hiddensize",
};
