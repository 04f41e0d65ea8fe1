/**
 * What a masked-language model writes in the place of a mask: the softmax of its logits there. One forward pass; where a text has
 * several masks, each is judged with the others still masked.
 */

import { formatValue, OptionError, UnsupportedError } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import { embedding, type FloatTensor, type Ids, reshape } from "../nn/index.ts";
import { tidy } from "../tidy.ts";
import type { TextModel } from "./text-model.ts";

/** A token for a mask. */
export interface Candidate {
  readonly id: number;
  /** As the vocabulary shows it: `##` kept. */
  readonly token: string;
  /** Its share, from 0 to 1. */
  readonly probability: number;
}

/** What may be in the place of one mask. */
export interface MaskFill {
  /** The place of the mask among the model's tokens. */
  readonly position: number;
  /** The most likely tokens, best first. */
  readonly candidates: readonly Candidate[];
}

/** What a mask looks like in one's text, whichever the model's own mask is. */
const MASKS = ["[MASK]", "<mask>"] as const;

/**
 * The most likely tokens for each mask of a text. A mask is written `[MASK]` or `<mask>`, whichever the model's own is.
 *
 * @param model an encoder with the head that predicts masked tokens (`readModel`)
 * @param text  a text with at least one mask
 * @throws UnsupportedError for a decoder, or a model without that head; OptionError where there is no mask
 * @example
 * const encoder = await readModel(locateShipped("encoder"));
 * fillMask(encoder, "the president of the united [MASK].")[0].candidates[0].token; // → "states"
 */
export function fillMask(
  model: TextModel,
  text: string,
  options: { /** Candidates of a mask; default 5. */ readonly top?: number } = {},
): MaskFill[] {
  checkOptionNames("fillMask", options, ["top"]);
  const { top = 5 } = options;
  if (!(Number.isInteger(top) && top > 0))
    throw new OptionError("top", `fillMask: top must be an integer ≥ 1, got ${formatValue(top)}`, {
      got: top,
    });
  if (typeof text !== "string")
    throw new OptionError("text", `fillMask: text must be a string, got ${formatValue(text)}`, { got: text });
  if (typeof model?.tokenize !== "function")
    throw new OptionError(
      "model",
      `fillMask: model must be what readModel returns, got ${formatValue(model)}`,
      {
        got: model,
      },
    );
  const { tokenizer } = model;
  const own = MASKS.find((token) => tokenizer.id(token) !== undefined);
  if (model.architecture !== "encoder" || own === undefined)
    throw new UnsupportedError(
      "mask",
      `fillMask: ${model.name} was not trained to fill in masks${model.architecture === "decoder" ? ": it is a decoder, which writes on (generateText)" : "; its tokenizer has neither [MASK] nor <mask>"}`,
    );
  const read = model.tokenize(MASKS.reduce((all, token) => all.replaceAll(token, own), text));
  const mask = tokenizer.id(own);
  const positions = [...read.ids.keys()].filter((i) => read.ids[i] === mask);
  if (positions.length === 0)
    throw new OptionError(
      "text",
      `fillMask: the text has no mask; write ${own} where a token is to be filled in`,
      {
        text,
      },
    );
  const { model: network } = model as unknown as { model: MaskedModel };
  const rows = tidy(() => {
    const states = network.hidden(read.ids, { typeIds: read.typeIds });
    const flat = reshape(states, [read.ids.length, -1]);
    return network.logits(embedding(positions, flat)).toFloat64(); // [masks, V]
  });
  const V = rows.length / positions.length;
  return positions.map((position, n) => ({
    position,
    candidates: mostLikely(rows.subarray(n * V, (n + 1) * V), top).map(({ id, probability }) => ({
      id,
      token: tokenizer.token(id) === undefined ? `#${id}` : tokenizer.display(id),
      probability,
    })),
  }));
}

interface MaskedModel {
  hidden(ids: Ids, options: { readonly typeIds?: Ids }): FloatTensor;
  logits(hidden: FloatTensor): FloatTensor;
}

/** The ids of the largest logits, best first, with their softmax. */
function mostLikely(logits: Float64Array, top: number): { id: number; probability: number }[] {
  const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
  const most = logits[order[0]];
  const total = logits.reduce((sum, x) => sum + Math.exp(x - most), 0);
  return order.slice(0, top).map((id) => ({ id, probability: Math.exp(logits[id] - most) / total }));
}
