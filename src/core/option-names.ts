/** Checks names of options: an unknown name is refused, with a suggestion. */
import { formatValue, isList, OptionError, refuseValue } from "./errors.ts";

const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, "");

const isText = (x: unknown) => typeof x === "string";
const isObject = (x: unknown) => Object.prototype.toString.call(x) === "[object Object]";
const isFrom = (low: number) => (x: unknown) => Number.isSafeInteger(x) && (x as number) >= low;
const listOf = (passes: (x: unknown) => boolean) => (x: unknown) =>
  // A hole of an array is undefined here; every() would skip it.
  isList(x) && Array.from(x as unknown[]).every(passes);

const namesOf = (names: string): string[] => names.split(" ");

/** What a value can have to be, in the words of its error. */
export const KINDS = {
  "true or false": (x: unknown) => typeof x === "boolean",
  "a function": (x: unknown) => typeof x === "function",
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

/** Options for which null has a meaning: `position: null` is every position. */
const NULLABLE = ["position"];

/** What an option that means the same wherever it occurs must be; undefined where its value is fine. */
function expectedOf(name: string, x: unknown, named: ValueKind | undefined): string | undefined {
  if (x === null && !NULLABLE.includes(name)) return "a value or left out";
  const kind = named ?? (/^on[A-Z]/.test(name) ? "a function" : undefined);
  return kind === undefined || KINDS[kind](x) ? undefined : kind;
}

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
  synonymOf: (name: string) => string | undefined = () => undefined,
  kinds: ReadonlyMap<string, ValueKind | ""> = KIND_OF,
): void {
  // Options in a Map or a promise would be ignored silently.
  if (!isObject(options)) refuseValue(what, "options", "an object", options);
  for (const name of Object.keys(options))
    if (!names.includes(name)) {
      const likely = names.find((other) => plain(other) === plain(name)) ?? synonymOf(plain(name));
      const isOption = names.includes(likely?.split(":")[0] ?? "");
      const hint = isOption
        ? `did you mean ${likely}? The options are`
        : likely?.includes(". ")
          ? `${likely}The options are`
          : "expected one of";
      throw new OptionError(
        "option-name",
        `${what}: unknown option ${formatValue(name)}; ${hint} ${names.join(", ")}`,
        { option: name },
      );
    }
  for (const [name, value] of Object.entries(options)) {
    const expected =
      value === undefined ? undefined : expectedOf(name, value, kinds.get(name) || KIND_OF.get(name));
    if (expected !== undefined) refuseValue(what, name, expected, value);
  }
}

/**
 * As `checkNames`, for attention, layers and training: also suggests options for names of other libraries, and for a mask that
 * was passed in place of options.
 */
export function checkOptionNames(what: string, options: object, names: readonly string[]): void {
  if (names.includes("attnMask") && options !== null && typeof options === "object" && isMaskLike(options))
    throw new OptionError(
      "options",
      `${what}: the options are { … }, got ${formatValue(options)}; a mask goes into them: { attnMask: mask }`,
      { got: options },
    );
  checkNames(what, options, names, (name) => SYNONYMS[name]);
}

/** True for a mask, a score mod or a tensor. */
function isMaskLike(x: object): boolean {
  return ("op" in x && "args" in x) || "expr" in x || ("data" in x && ("shape" in x || "dims" in x));
}

/** Names in other libraries, lower case, and the option of heed. */
const SYNONYMS: Readonly<Record<string, string>> = {
  mask: "attnMask",
  attentionmask: "attnMask",
  bias: "attnMask",
  causal: "isCausal",
  dropout: "dropoutP",
  keypaddingmask:
    "keyMask: eq(key_padding_mask, 0), for true means attend here and ignore in PyTorch's key_padding_mask",
  batchfirst: "heed is always batch first, [B, N, d]. ",
  maxnewtokens: "maxTokens",
  maxlength: "maxTokens",
  keymask: "attnMask",
  window: "attnMask",
  windowsize: "attnMask",
  softcap: "scoreMod",
  logitssoftcap: "scoreMod",
  alibi: "scoreMod",
  alibislopes: "scoreMod",
  needweights: "returnWeights",
  offset: "queryOffset",
  data: "attnMask",
  keepdim: "keepAxis",
  keepdims: "keepAxis",
  learningrate: "lr",
  lr: "adamw: { lr }",
  epsilon: "eps",
  dimfeedforward: "feedForward",
  numkeyvalueheads: "numKvHeads",
  hiddensize: "hidden",
};
