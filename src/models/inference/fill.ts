/**
 * Masked-token prediction: the softmax of a masked language model's logits at each mask, from one forward pass. Where a text has several
 * masks, each is predicted with the others still masked.
 */

import { tidy } from "../../api/tidy.ts";
import { checkCount, refuseValue, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { embedding, type FloatTensor, type Ids, reshape } from "../../nn/index.ts";
import { checkTextModel, type TextModel } from "../text-model.ts";
import { tokenShares } from "./generate.ts";
import { checkHead, maskToken, missingMask, mostLikely, spellMasks } from "./prediction.ts";
import { finiteLogits, numbersOf } from "./sampling.ts";

/** A token for a mask. */
export interface Candidate {
  readonly id: number;
  /** As the vocabulary shows it: `##` kept. */
  readonly token: string;
  /** From 0 to 1. */
  readonly probability: number;
}

/** The predictions for one mask. */
export interface MaskFill {
  /** Position of the mask among the model's tokens. */
  readonly position: number;
  /** The most likely tokens, the most likely first. */
  readonly candidates: readonly Candidate[];
}

/**
 * The most likely tokens for each mask of a text. A mask may be written `[MASK]` or `<mask>`, for every model.
 *
 * @param model an encoder with the head that predicts masked tokens (`readModel`)
 * @param text  a text with at least one mask
 * @throws UnsupportedError for a decoder, a model without that head, or logits that are not finite; OptionError where there is no mask
 * @example
 * const encoder = await readModel(locateShipped("encoder"));
 * fillMask(encoder, "the president of the united [MASK].")[0].candidates[0].token; // → "states"
 */
export function fillMask(
  model: TextModel,
  text: string,
  options: { /** Number of candidates for each mask; default 5. */ readonly top?: number } = {},
): MaskFill[] {
  checkCount("fillMask", arguments, 3);
  checkOptionNames("fillMask", options, ["top"]);
  const { top = 5 } = options;
  if (!(Number.isInteger(top) && top > 0)) refuseValue("fillMask", "top", "an integer ≥ 1", top);
  if (typeof text !== "string") refuseValue("fillMask", "text", "a string", text);
  checkTextModel("fillMask", model);
  const { tokenizer } = model;
  const maskText = maskToken(tokenizer);
  if (model.architecture !== "encoder" || maskText === undefined)
    throw new UnsupportedError(
      "mask",
      `fillMask: ${model.name} was not trained to fill in masks${model.architecture === "decoder" ? ": it is a decoder, which continues a text (generateText, heed generate)" : "; its tokenizer has neither [MASK] nor <mask>"}`,
    );
  checkHead("fillMask", model, "predicts no tokens");
  const read = model.tokenize(spellMasks(tokenizer, text));
  const mask = tokenizer.id(maskText);
  const positions = [...read.ids.keys()].filter((i) => read.ids[i] === mask);
  if (positions.length === 0)
    throw missingMask(
      "fillMask",
      model,
      read,
      text,
      `the text has no mask; write ${maskText} where a token is to be filled in`,
    );
  const { model: network } = model as unknown as { model: MaskedModel };
  const rows = tidy(() => {
    const states = network.hidden(read.ids, { typeIds: read.typeIds });
    const flat = reshape(states, [read.ids.length, -1]);
    return finiteLogits("fillMask", numbersOf("fillMask", network.logits(embedding(positions, flat)))); // [masks, V]
  });
  const V = rows.length / positions.length;
  return positions.map((position, n) => ({
    position,
    candidates: mostLikely(tokenizer, tokenShares(rows.subarray(n * V, (n + 1) * V), {}), top),
  }));
}

interface MaskedModel {
  hidden(ids: Ids, options: { readonly typeIds?: Ids }): FloatTensor;
  logits(hidden: FloatTensor): FloatTensor;
}
