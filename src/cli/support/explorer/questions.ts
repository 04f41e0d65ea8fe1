/**
 * The answers of a model to the explorer's questions about a text (`ModelQuestion`): what its parts change, why a link has its weight, what
 * adds to a prediction. The functions of heed/models compute them and check the numbers of a question.
 */
import { align } from "../../../core/align.ts";
import { formatValue, OptionError, refuseGot } from "../../../core/errors.ts";
import { ablate, ablateHeads } from "../../../models/inference/ablate.ts";
import { attributeLogits } from "../../../models/inference/attribution.ts";
import { blockParts } from "../../../models/inference/block.ts";
import { measureEffects, type Quantity } from "../../../models/inference/effects.ts";
import { lensTable } from "../../../models/inference/lens.ts";
import { spellMasks } from "../../../models/inference/prediction.ts";
import { splitScore } from "../../../models/inference/score-split.ts";
import type { TextModel } from "../../../models/text-model.ts";
import type { ModelAnswers, ModelQuestion } from "../../../view/element.ts";
import type { NextQuestion } from "./continuation.ts";

/** How many terms of a score are listed one by one. */
const TERMS = 24;

type EffectsQuestion = Extract<ModelQuestion, { readonly of: "effects" }>;

/**
 * Answers a question about a text.
 *
 * @throws OptionError where the question is of something else, or names a layer, head or token that there is not
 */
export function answerQuestion(
  model: TextModel,
  text: string,
  question: Exclude<ModelQuestion, NextQuestion>,
): ModelAnswers[Exclude<ModelQuestion, NextQuestion>["of"]] {
  switch (question.of) {
    case "effects":
      return effectsOf(model, text, question);
    case "score": {
      const { of: _, ...cell } = question;
      return splitScore(model, text, { ...cell, top: TERMS });
    }
    case "logits":
      return attributeLogits(model, text, { position: question.position ?? undefined });
    case "lens":
      return lensTable(model, text, question.from, question.to);
    case "block":
      return blockParts(model, text, question.layer, question.position);
    default: {
      const { of } = question as { readonly of: unknown };
      refuseGot("of", "a question is of effects, score, logits, lens, block or next", of, { of });
    }
  }
}

/** What each head, the attention and the feed-forward network of a layer change; or the link in each head. */
function effectsOf(model: TextModel, text: string, question: EffectsQuestion): ModelAnswers["effects"] {
  const { layer, change, measure, cell, other, position } = question;
  const { query, key } = cell;
  const isLink = change === "link" || change === "renormalized";
  const parts = isLink
    ? ({ layer, link: { query, key, renormalize: change === "renormalized" } } as const)
    : ({ layer, parts: ["head", "attention", "mlp"] } as const);
  if (change === "patch")
    return patched(
      model,
      text,
      question,
      measure === "prediction" ? undefined : quantityOf(model, text, question),
    );
  const replace = change === "mean" ? "mean" : "zero";
  if (measure === "prediction") {
    const run = ablate(model, text, { ...parts, replace, position: position ?? undefined });
    const effects = run.effects.map(({ probability, ...effect }) => ({ ...effect, value: probability }));
    return { value: run.predicted[0].probability, token: run.predicted[0].token, effects };
  }
  return measureEffects(model, text, quantityOf(model, text, question), { ...parts, replace, other });
}

/** The quantity of a question that is not about the prediction. */
function quantityOf(model: TextModel, text: string, { measure, cell, other }: EffectsQuestion): Quantity {
  if (measure === "weight") return { of: "weight", ...cell };
  if (measure === "text") return { of: "text" };
  const { query: position } = cell;
  if (other === undefined) return { of: "state", position };
  const [tokens, otherTokens] = [text, other].map(
    (one) => model.tokenize(spellMasks(model.tokenizer, one)).tokens,
  );
  const otherPosition = align(tokens, otherTokens).find(({ a }) => a === position)?.b;
  if (otherPosition === undefined)
    throw new OptionError("query", `${formatValue(tokens[position])} has no partner in the other text`, {
      position,
    });
  return { of: "state", position, otherPosition };
}

/** Outputs of the other text in place of those of this one. A prediction is measured by the logits of the tokens that the two texts predict. */
function patched(
  model: TextModel,
  text: string,
  { layer, other, position }: EffectsQuestion,
  quantity: Quantity | undefined,
): ModelAnswers["effects"] {
  const options = { layer, parts: ["head", "attention", "mlp"], other, patch: true } as const;
  if (quantity !== undefined) return measureEffects(model, text, quantity, options);
  const predictedIn = (one: string) =>
    ablateHeads(model, one, [], { position: position ?? undefined }).predicted;
  const [ownTokens, otherTokens] = [predictedIn(text), predictedIn(other ?? text)];
  if (ownTokens === null || otherTokens === null || ownTokens.masked)
    throw new OptionError("position", "to patch a masked word, write [MASK] in its place in both texts");
  const [token, second] = ownTokens.tokens;
  // Two texts with the same prediction are compared by the next most likely token.
  const against = otherTokens.tokens[0].id === token.id ? second : otherTokens.tokens[0];
  const logits = {
    of: "logit",
    token: token.id,
    against: against.id,
    position: position ?? undefined,
  } as const;
  const { value, otherValue, effects } = measureEffects(model, text, logits, options);
  return {
    value,
    ...(otherValue !== undefined && { otherValue }),
    token: token.token,
    against: against.token,
    effects,
  };
}
