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
  synonyms = SYNONYMS,
  expectedOf?: ExpectedOf,
): void {
  if (names.includes("attnMask") && options !== null && typeof options === "object" && isMaskLike(options))
    throw new OptionError(
      "options",
      `${what}: the options are { … }, got ${formatValue(options)}; a mask goes into them: { attnMask: mask }`,
      { got: options },
    );
  checkKnown(what, options, names, (name) => synonyms[name], expectedOf);
}

/** True for a mask, a score mod or a tensor. */
function isMaskLike(x: object): boolean {
  return ("op" in x && "args" in x) || "expr" in x || ("data" in x && ("shape" in x || "dims" in x));
}

/** Names of options of attention in other libraries, lower case, and the option of heed. */
export const SYNONYMS: Readonly<Record<string, string>> = {
  mask: "attnMask",
  attentionmask: "attnMask",
  bias: "attnMask",
  causal: "isCausal",
  dropout: "dropoutP",
  batchfirst: "heed is always batch first, [B, N, d]. ",
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
};
