/** Checks names of options: an unknown name is refused, with a suggestion. */
import { formatValue, OptionError, refuseValue } from "./errors.ts";

const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, "");

/** Options that are true or false wherever they occur: another value would count as true, as the text "false" does. */
const FLAGS = new Set(
  (
    "about addGenerationPrompt addSpecialTokens all ascii background bidirectional bits caption compress " +
    "crossAttention descending everyCell keepAxis largest lines logX logY lowercase nesterov " +
    "normFirst patch renormalize report skipSpecialTokens splitSpecialTokens strict transposeA transposeB " +
    "values"
  ).split(" "),
);

/** What an option that means the same wherever it occurs must be; undefined where its value is fine. */
function expectedOf(name: string, x: unknown): string | undefined {
  if (FLAGS.has(name)) return typeof x === "boolean" ? undefined : "true or false";
  if (/^(?:on[A-Z]|deliver$)/.test(name)) return typeof x === "function" ? undefined : "a function";
  if (name === "title") return typeof x === "string" ? undefined : "a text";
  if (name === "columns") return Number.isInteger(x) && (x as number) >= 1 ? undefined : "an integer ≥ 1";
  if (name !== "workers" || (Number.isInteger(x) && (x as number) >= 0 && (x as number) <= 64)) return;
  return "an integer from 0 to 64";
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
): void {
  // Options in a Map or a promise would be ignored silently.
  if (Object.prototype.toString.call(options) !== "[object Object]")
    refuseValue(what, "options", "an object", options);
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
    const expected = value === undefined ? undefined : expectedOf(name, value);
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
