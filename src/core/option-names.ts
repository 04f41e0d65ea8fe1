/** Names of options: one that nobody knows is refused, with the one that was probably meant. */
import { formatValue, OptionError } from "./errors.ts";

/** Throws unless `options` is an object that holds known options only. */
export function checkOptionNames(what: string, options: object, known: readonly string[]): void {
  if (options === null || typeof options !== "object" || Array.isArray(options))
    throw new OptionError("options", `${what}: options must be an object, got ${formatValue(options)}`, {
      got: options,
    });
  if (known.includes("attnMask") && isMaskLike(options))
    throw new OptionError(
      "options",
      `${what}: the options are { … }, got ${formatValue(options)}; a mask goes into them: { attnMask: mask }`,
      { got: options },
    );
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw new OptionError("option-name", unknownOption(what, name, known), { option: name });
}

/** A mask, a score change or a tensor where options belong. */
function isMaskLike(x: object): boolean {
  return ("op" in x && "args" in x) || "expr" in x || ("data" in x && ("shape" in x || "dims" in x));
}

/** What people who know another library write. */
const SYNONYMS: Readonly<Record<string, string>> = {
  mask: "attnMask",
  attentionmask: "attnMask",
  bias: "attnMask",
  causal: "isCausal",
  dropout: "dropoutP",
  keypaddingmask: "keyMask",
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
};

/** The message for an option that does not exist: the likely one first, then all. */
export function unknownOption(what: string, name: string, known: readonly string[]): string {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, "");
  const likely = known.find((other) => plain(other) === plain(name)) ?? SYNONYMS[plain(name)];
  const hint =
    likely !== undefined && known.includes(likely)
      ? `did you mean ${likely}? The options are`
      : "expected one of";
  return `${what}: unknown option ${formatValue(name)}; ${hint} ${known.join(", ")}`;
}
