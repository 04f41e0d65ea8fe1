/**
 * Masked-token prediction: the softmax of a masked language model's logits at each mask, from one forward pass. Where a text has several
 * masks, each is predicted with the others still masked.
 */

import { tidy } from "../../api/tidy.ts";
import { checkCount, refuseValue, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { checkSlices, type ReadingSlices, runSlices } from "../../core/slices.ts";
import { embedding, type FloatTensor, type Ids, reshape } from "../../nn/index.ts";
import { checkTextModel, type TextModel } from "../text-model.ts";
import { tokenShares } from "./generate.ts";
import { checkHead, maskToken, missingMask, mostLikely, spellMasks } from "./prediction.ts";
import { finiteLogits, runNow } from "./sampling.ts";

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
export function fillMask(model: TextModel, text: string, options: FillOptions = {}): MaskFill[] {
  checkCount("fillMask", arguments, 3);
  return runNow("fillMask", fillSlices("fillMask", model, text, options));
}

/** Options of `fillMask`. */
export interface FillOptions {
  /** Number of candidates for each mask; default 5. */
  readonly top?: number;
}

/**
 * `fillMask` of a model on any device (`model.to`).
 *
 * @throws rejects as `fillMask` throws
 * @example
 * (await fillMaskAsync(encoder, "the president of the united [MASK]."))[0].candidates[0].token; // → "states"
 */
export async function fillMaskAsync(
  model: TextModel,
  text: string,
  options: FillOptions = {},
): Promise<MaskFill[]> {
  checkCount("fillMaskAsync", arguments, 3);
  checkSlices("fillMaskAsync", {});
  return await runSlices(() => fillSlices("fillMaskAsync", model, text, options), {});
}

function* fillSlices(
  what: string,
  model: TextModel,
  text: string,
  options: FillOptions,
): ReadingSlices<MaskFill[]> {
  checkOptionNames(what, options, ["top"]);
  const { top = 5 } = options;
  if (!(Number.isInteger(top) && top > 0)) refuseValue(what, "top", "an integer ≥ 1", top);
  if (typeof text !== "string") refuseValue(what, "text", "a string", text);
  checkTextModel(what, model);
  const { tokenizer } = model;
  const maskText = maskToken(tokenizer);
  if (model.architecture !== "encoder" || maskText === undefined)
    throw new UnsupportedError(
      "mask",
      `${what}: ${model.name} was not trained to fill in masks${model.architecture === "decoder" ? ": it is a decoder, which continues a text (generateText, heed generate)" : "; its tokenizer has neither [MASK] nor <mask>"}`,
    );
  checkHead(what, model, "predicts no tokens");
  const read = model.tokenize(spellMasks(tokenizer, text));
  const mask = tokenizer.id(maskText);
  const positions = [...read.ids.keys()].filter((i) => read.ids[i] === mask);
  if (positions.length === 0)
    throw missingMask(
      what,
      model,
      read,
      text,
      `the text has no mask; write ${maskText} where a token is to be filled in`,
    );
  const { model: network } = model as unknown as { model: MaskedModel };
  const logits = tidy(() => {
    const states = network.hidden(read.ids, { typeIds: read.typeIds });
    const flat = reshape(states, [read.ids.length, -1]);
    return network.logits(embedding(positions, flat)); // [masks, V]
  });
  const rows = finiteLogits(what, yield logits);
  logits.dispose();
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
