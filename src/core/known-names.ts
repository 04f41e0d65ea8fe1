/**
 * Checks names of options: an unknown name is refused, with a suggestion, and so is null. The main call uses this file alone, so that its
 * bundle has no table of what each option must be: option-names.ts has it.
 */
import { formatValue, OptionError, refuseValue } from "./errors.ts";

const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, "");

export const isObject = (x: unknown) => Object.prototype.toString.call(x) === "[object Object]";

/** Options for which null has a meaning: `position: null` is every position. */
const NULLABLE = ["position"];

/** What an option must be, where its value is not; undefined where it is fine. */
export type ExpectedOf = (name: string, x: unknown) => string | undefined;

const none = () => undefined;

/** Throws unless `options` is an object with known options only, each undefined or as `expectedOf` wants it. `checkNames` describes `synonymOf`. */
export function checkKnown(
  what: string,
  options: object,
  names: readonly string[],
  synonymOf: (name: string) => string | undefined = none,
  expectedOf: ExpectedOf = none,
): void {
  // Options in a Map or a promise would be ignored silently.
  if (!isObject(options)) refuseValue(what, "options", "an object", options);
  for (const name of Object.keys(options))
    if (!names.includes(name)) {
      // The fields of a tensor, a layer or an optimizer are no misspelled options.
      const kind = formatValue(options);
      if (kind !== "Object" && kind !== "an object")
        refuseValue(what, "options", `{ ${names.join(", ")} }`, options);
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
    const isNull = value === null && !NULLABLE.includes(name);
    const expected = isNull
      ? "a value or left out"
      : value === undefined
        ? undefined
        : expectedOf(name, value);
    if (expected !== undefined) refuseValue(what, name, expected, value);
  }
}

/**
 * As `checkKnown`, for attention, layers and training: also suggests options for names of other libraries, and for a mask that
 * was passed in place of options.
 */
export function checkKnownOptions(
  what: string,
  options: object,
  names: readonly string[],
  synonyms: Readonly<Record<string, string>> = {},
  expectedOf?: ExpectedOf,
): void {
  if (names.includes("attnMask") && options !== null && typeof options === "object" && isMaskLike(options))
    throw new OptionError(
      "options",
      `${what}: the options are { … }, got ${formatValue(options)}; a mask goes into them: { attnMask: mask }`,
      { got: options },
    );
  checkKnown(what, options, names, (name) => synonymIn({ ...synonyms, ...SYNONYMS }, name), expectedOf);
}

/** True for a mask, a score mod or a tensor. */
function isMaskLike(x: object): boolean {
  return ("op" in x && "args" in x) || "expr" in x || ("data" in x && ("shape" in x || "dims" in x));
}

/** The option of heed, or the sentence, for a name of another library. */
const synonymIn = (table: Readonly<Record<string, string>>, name: string) =>
  Object.keys(table).find((option) => table[option].split(" ").includes(name));

/** Options of attention, and sentences, with their names in other libraries, in lower case. */
const SYNONYMS: Readonly<Record<string, string>> = {
  attnMask: "mask attentionmask bias keymask window windowsize localwindowsize data",
  "attnMask: keyLengths(lengths)": "keyvalueseqlengths",
  isCausal: "causal usecausalmask",
  scale: "usescale",
  dropoutP: "dropout",
  scoreMod: "softcap logitssoftcap alibi alibislopes",
  returnWeights: "needweights returnattentionscores",
  queryOffset: "offset",
  "heed is always batch first, [B, N, d]. ": "batchfirst",
  "key and value may have fewer heads than query. ": "enablegqa",
};
