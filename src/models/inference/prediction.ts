/** Predicted tokens: the most likely ones of a distribution over the vocabulary, and the mask token of a tokenizer. */
import { OptionError, UnsupportedError } from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";
import type { TextModel, TextTokens } from "../text-model.ts";
import type { Tokenizer } from "../tokenizer/index.ts";
import { checkIndex } from "./intervene.ts";

/** A token and its probability, from 0 to 1. */
export interface Predicted {
  readonly id: number;
  readonly token: string;
  readonly probability: number;
}

/** The spellings of a mask token, of BERT's and of RoBERTa's tokenizers. */
export const MASKS = ["[MASK]", "<mask>"] as const;

/** The tokenizer's own mask token; undefined where it has none. */
export function maskToken(tokenizer: Tokenizer): (typeof MASKS)[number] | undefined {
  return MASKS.find((token) => tokenizer.id(token) !== undefined);
}

/** A text whose masks, `[MASK]` or `<mask>`, are spelled as the tokenizer's own. */
export function spellMasks(tokenizer: Tokenizer, text: string): string {
  checkKind("attention", "text", "a text", text);
  const maskText = maskToken(tokenizer);
  return maskText === undefined ? text : MASKS.reduce((all, token) => all.replaceAll(token, maskText), text);
}

/** Throws an UnsupportedError for a model without a language-modeling head, with what it therefore does not have or do. */
export function checkHead(what: string, { model, name }: TextModel, therefore: string): void {
  if (!model.hasHead)
    throw new UnsupportedError("head", `${what}: ${name} has no language-modeling head, so it ${therefore}`, {
      model: name,
    });
}

/** Where a model predicts: after the last token, or at the first mask; −1 where there is none. */
export function predictedPosition({ architecture, tokenizer }: TextModel, { ids }: TextTokens): number {
  if (architecture === "decoder") return ids.length - 1;
  const mask = maskToken(tokenizer);
  return mask === undefined ? -1 : ids.indexOf(tokenizer.id(mask) as number);
}

/** The error about a text without a mask that the model reads. `advice` says what to write. */
export function missingMask(
  what: string,
  model: TextModel,
  { leftOut }: TextTokens,
  text: string,
  advice: string,
): OptionError {
  const isCut = leftOut > 0 && MASKS.some((token) => text.includes(token));
  return new OptionError(
    "text",
    isCut
      ? `${what}: ${model.name} reads at most ${model.maxTokens} tokens, and each mask of the text is after them; shorten the text before it`
      : `${what}: ${advice}`,
    { text },
  );
}

/** The position that is asked about: the one that is named, else where the model predicts. Throws where the text has no such token. */
export function checkedPosition(
  what: string,
  model: TextModel,
  tokens: TextTokens,
  named: number | undefined,
): number {
  if (tokens.ids.length === 0) throw new OptionError("empty-text", `${what}: the text has no token`);
  const position = named ?? predictedPosition(model, tokens);
  const advice = `the text has no mask; write ${maskToken(model.tokenizer)} where a token is predicted, or give its position`;
  if (named === undefined && position < 0)
    throw missingMask(what, model, tokens, tokens.texts.join(" "), advice);
  checkIndex(what, "position", position, tokens.ids.length);
  return position;
}

/** One token of a distribution [V]. */
export function predictedToken(tokenizer: Tokenizer, probabilities: Float64Array, id: number): Predicted {
  // A model may have more rows than its tokenizer has tokens.
  const token = tokenizer.token(id) === undefined ? `#${id}` : tokenizer.display(id);
  return { id, token, probability: probabilities[id] };
}

/** The `count` most likely tokens of a distribution [V], the most likely first. */
export function mostLikely(tokenizer: Tokenizer, probabilities: Float64Array, count: number): Predicted[] {
  return Array.from(probabilities.keys())
    .sort((a, b) => probabilities[b] - probabilities[a])
    .slice(0, count)
    .map((id) => predictedToken(tokenizer, probabilities, id));
}
