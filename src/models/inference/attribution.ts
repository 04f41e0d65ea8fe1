/**
 * Direct logit attribution: the difference of two logits as a sum over the components of the residual stream, each through the last norm,
 * whose statistics are frozen, and the output matrix (Elhage et al. 2021). It adds up to the difference exactly. It shows what a
 * component adds itself, not what it changes in later layers; measureEffects (effects.ts) shows that.
 */
import { checkCount, refuseValue, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { type FloatTensor, slice, sub } from "../../nn/index.ts";
import { checkTextModel, type TextModel } from "../text-model.ts";
import type { DecoderConfig } from "../transformer/config.ts";
import { tokenId } from "./effects.ts";
import { tokenShares } from "./generate.ts";
import { runOptions } from "./intervene.ts";
import { checkedPosition, checkHead, type Predicted, predictedToken, spellMasks } from "./prediction.ts";
import { type Component, float64, normed, Residual, recordRun } from "./residual.ts";
import { finiteLogits, largest } from "./sampling.ts";

/** What one component adds to a difference of logits. */
export interface LogitShare {
  readonly component: Component;
  readonly value: number;
}

/** A difference of two logits as a sum. */
export interface LogitAttribution {
  /** The position whose next token is predicted. */
  readonly position: number;
  readonly token: Predicted;
  readonly against: Predicted;
  /** logit(token) − logit(against): Σ of the shares. Before the soft cap, where the model has one. */
  readonly difference: number;
  /** Σ of the shares minus the model's own difference: rounding; NaN where a soft cap follows. */
  readonly error: number;
  /** The largest |value| first. The output's bias is part of the biases. */
  readonly shares: readonly LogitShare[];
}

/** Options of `attributeLogits`. */
export interface AttributeLogitsOptions {
  /** The text or id of a token; default the most likely one. */
  readonly token?: string | number;
  /** The token that it is compared with; default the most likely other one. */
  readonly against?: string | number;
  /** Default the last token. */
  readonly position?: number;
}

/**
 * What each head, feed-forward network and embedding adds to the difference of two logits, with the last norm frozen.
 *
 * @throws UnsupportedError where a nonlinear map precedes the output matrix (BERT and its relatives), or the model has no
 *   language-modeling head; OptionError where there is no such token or position
 * @example
 * const { shares } = attributeLogits(decoder, "the president of the united");
 * shares[0]; // { component: { kind: "mlp", layer: 3 }, value }
 */
export function attributeLogits(
  model: TextModel,
  text: string,
  options: AttributeLogitsOptions = {},
): LogitAttribution {
  checkCount("attributeLogits", arguments, 3);
  const what = "attributeLogits";
  checkTextModel(what, model);
  checkOptionNames(what, options, ["token", "against", "position"]);
  checkHead(what, model, "has no logits");
  const tokens = model.tokenize(spellMasks(model.tokenizer, text));
  const N = tokens.ids.length;
  const position = checkedPosition(what, model, tokens, options.position);
  const run = recordRun(what, model, tokens);
  const recipe = run.model.recipe as DecoderConfig;
  const { names, final_logit_softcapping: cap, logit_scale: factor = 1 } = recipe;
  if (names.headMap || names.headNorm)
    throw new UnsupportedError(
      "head",
      `${what}: ${model.name} has a map and a norm before its output matrix, so its logits are no sum over heads; measureEffects turns heads off instead`,
    );
  const states = model.model.hidden(tokens.ids, runOptions(model, tokens));
  const row = slice(states, 0, position, position + 1) as FloatTensor;
  const logits = finiteLogits(what, model.model.logits(row).toFloat64());
  const choose = (token: string | number | undefined, except?: number) => {
    if (token !== undefined) return tokenId(what, model, token);
    return largest(except === undefined ? logits : logits.map((x, id) => (id === except ? -Infinity : x)));
  };
  const token = choose(options.token);
  const against = choose(options.against, token);
  if (against === token) refuseValue(what, "against", "another token than token", against);
  const parameter = (name: string) => run.model.parameter(name);
  const matrix = (parameter(`${names.head}.weight`) ?? parameter(`${names.embedding}.weight`)) as FloatTensor;
  const rowOf = (id: number) => float64(slice(matrix, 0, id, id + 1) as FloatTensor);
  const direction = sub(rowOf(token), rowOf(against)).toFloat64(); // [C]
  const bias = names.headBias ? parameter(names.headBias)?.toFloat64() : undefined;
  const residual = new Residual(run, model.layers);
  const all = residual.all();
  const { components, x } = names.finalNorm ? normed(residual, names.finalNorm, all) : all;
  const numbers = x.toFloat64(); // [K, N, C]
  const C = direction.length;
  const shares = components.map((component, k): LogitShare => {
    const first = (k * N + position) * C;
    let value = 0;
    for (let c = 0; c < C; c++) value += direction[c] * numbers[first + c];
    if (component.kind === "biases" && bias) value += bias[token] - bias[against];
    return { component, value: factor * value };
  });
  const difference = shares.reduce((sum, { value }) => sum + value, 0);
  shares.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const probabilities = tokenShares(logits, {});
  return {
    position,
    token: predictedToken(model.tokenizer, probabilities, token),
    against: predictedToken(model.tokenizer, probabilities, against),
    difference,
    error: cap === undefined ? difference - (logits[token] - logits[against]) : Number.NaN,
    shares,
  };
}
