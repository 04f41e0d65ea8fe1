/**
 * Head ablation: the model runs once with all heads and once with some ablated, and the probabilities of the predicted tokens are
 * compared. Ablating a head replaces its output with zeros, or with its mean over the text, at every token or at one.
 */

import { tidy } from "../../api/tidy.ts";
import { checkArgument, checkCount, OptionError, refuseValue, UnsupportedError } from "../../core/errors.ts";
import { cosine } from "../../core/numbers.ts";
import { checkKind, checkOptionNames } from "../../core/option-names.ts";
import { Tensor } from "../../core/tensor.ts";
import { type FloatTensor, slice } from "../../nn/index.ts";
import { checkTextModel, type TextModel, type TextTokens } from "../text-model.ts";
import type { AttentionChange, ForwardOptions, LayerAttention } from "../transformer/attend.ts";
import { meanRow } from "./effects.ts";
import { tokenShares } from "./generate.ts";
import type { Intervention, Replacement } from "./intervene.ts";
import { changedHeads, checkIndex, checkReplacement, hooksOf, runOptions } from "./intervene.ts";
import { type EffectPart, PARTS_OPTIONS, type PartsOptions, partsInTurn, placeOf } from "./parts.ts";
import type { Predicted } from "./prediction.ts";
import {
  checkHead,
  maskToken,
  missingMask,
  mostLikely,
  predictedPosition,
  predictedToken,
  spellMasks,
} from "./prediction.ts";
import { finiteLogits, largest } from "./sampling.ts";

/** The prediction without one part. */
export interface PredictionEffect {
  readonly part: EffectPart;
  readonly layer: number;
  /** Of heads and links. */
  readonly head?: number;
  /** Probability, without this part, of the token that is predicted by the whole model, and its change. */
  readonly probability: number;
  readonly change: number;
  /** The most likely token without this part. */
  readonly top: Predicted;
}

/** A head to ablate. */
export interface AblatedHead {
  readonly layer: number;
  readonly head: number;
  /** Default "zero". */
  readonly replace?: Replacement;
  /** Replaces the head's output at this token only. Default null, every token. */
  readonly position?: number | null;
}

/** Options of `ablate`; the default of `parts` is heads. */
export interface AblateOptions extends PartsOptions {
  /**
   * Encoders: the token to mask and predict; default the first mask of the text. Decoders: the token whose successor is predicted; default
   * the last.
   */
  readonly position?: number;
  /** Default "zero". */
  readonly replace?: Replacement;
  /** Called after each part. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** A prediction, and how it changes without each part. */
export interface Ablation {
  /** The option `position`, or its default. */
  readonly position: number;
  /** The five most likely tokens with all heads. */
  readonly predicted: readonly Predicted[];
  /** One entry a part, the largest change first. */
  readonly effects: readonly PredictionEffect[];
}

/** A token's probability with all heads, and with heads ablated. */
export interface ComparedToken {
  readonly id: number;
  readonly token: string;
  readonly before: number;
  readonly after: number;
}

/** A run with heads ablated, compared with the run with all heads. */
export interface AblatedRun {
  /** The prediction at one position; null for a model without a language-modeling head, and for an encoder's text without a mask. */
  readonly predicted: {
    readonly position: number;
    /** Both runs replaced the text's token at this position with the mask. */
    readonly masked: boolean;
    /** The most likely tokens of both runs, sorted by their probability with all heads, the largest first. */
    readonly tokens: readonly ComparedToken[];
  } | null;
  /** Relative change of the last hidden state of each token: ‖after − before‖ / ‖before‖. */
  readonly moved: readonly number[];
  /** Cosine of the two means of the last states over all tokens: 1 where a mean-pooled embedding keeps its direction. */
  readonly cosine: number;
}

/** Options of `ablateHeads`. */
export interface AblateHeadsOptions extends Pick<AblateOptions, "position"> {
  /** The second text of a pair. */
  readonly pair?: string;
  /** Number of most likely tokens of each run to compare; default 5. */
  readonly top?: number;
}

/**
 * The change that ablates one head, for `onAttention`; with `position`, at this token only.
 *
 * @throws OptionError where there is no such head or position, or `replace` is neither "zero" nor "mean"
 * @example
 * const attention = decoder.attentionOf(decoder.tokenizer.ids("the old ship"), undefined, {
 *   onAttention: (layer, it) => (layer === 0 ? withoutHead(it, 3) : undefined),
 * });
 */
export function withoutHead(
  layerAttention: LayerAttention,
  head: number,
  replace: Replacement = "zero",
  position: number | null = null,
): AttentionChange {
  checkCount("withoutHead", arguments, 4);
  checkArgument(
    layerAttention?.output instanceof Tensor,
    "withoutHead",
    "the attention of a layer, as onAttention receives it",
    layerAttention,
  );
  checkIndex("withoutHead", "head", head, layerAttention.output.shape.at(-3) as number);
  checkReplacement("withoutHead", replace);
  return changedHeads("withoutHead", layerAttention, 0, [{ layer: 0, head, replace, position }]);
}

/**
 * A hook for `onAttention` that ablates heads.
 *
 * @throws OptionError where there is no such layer or head, or `replace` is neither "zero" nor "mean"
 * @example
 * const { ids } = decoder.tokenize("the old ship");
 * decoder.attentionOf(ids, undefined, { onAttention: ablation(decoder, [{ layer: 0, head: 3 }]) });
 */
export function ablation(
  model: TextModel,
  heads: readonly AblatedHead[],
): NonNullable<ForwardOptions["onAttention"]> {
  checkCount("ablation", arguments, 2);
  checkHeads("ablation", heads);
  return hooksOf("ablation", model, heads).onAttention;
}

function checkHeads(what: string, heads: readonly AblatedHead[]): void {
  checkArgument(Array.isArray(heads), what, "a list of heads, as in [{ layer: 0, head: 1 }]", heads);
}

/**
 * Runs the model on a text with heads ablated, and compares with the run with all heads: the prediction at one position, and the last
 * hidden states.
 *
 * @throws OptionError where there is no such layer, head or position, or the text has no token; UnsupportedError where the logits are
 *   not finite
 * @example
 * const run = ablateHeads(decoder, "the president of the united", [{ layer: 0, head: 1 }]);
 * run.predicted?.tokens[0]; // { id, token, before, after }
 */
export function ablateHeads(
  model: TextModel,
  text: string,
  heads: readonly AblatedHead[],
  options: AblateHeadsOptions = {},
): AblatedRun {
  checkCount("ablateHeads", arguments, 4);
  const what = "ablateHeads";
  checkOptionNames(what, options, ["position", "pair", "top"]);
  checkTextModel(what, model);
  const { pair, top = 5 } = options;
  if (!(Number.isInteger(top) && top > 0)) refuseValue(what, "top", "an integer ≥ 1", top);
  checkHeads(what, heads);
  checkKind(what, "heads", "a list of objects", heads);
  const [first, second] = [text, pair].map((one) => one && spellMasks(model.tokenizer, one));
  const tokens = model.tokenize(first as string, second);
  const N = tokens.ids.length;
  const position = positionOf(what, model, tokens, options.position);
  for (const ablated of heads)
    if (ablated.position != null) checkIndex(what, "heads.position", ablated.position, N);
  const hooks = hooksOf(what, model, heads);
  const task = model.model.hasHead && position >= 0 ? taskOf(what, model, tokens, text, position) : undefined;
  const run = (hooks?: ForwardOptions) =>
    tidy(() => {
      const states = model.model.hidden(task?.ids ?? tokens.ids, runOptions(model, tokens, hooks));
      return {
        states: states.toFloat64(),
        probabilities: task && probabilitiesAt(what, model, states, task.position),
      };
    });
  const [before, after] = [run(), run(hooks)];
  return {
    predicted: task
      ? {
          position: task.position,
          masked: task.masked,
          tokens: comparedTokens(
            model,
            before.probabilities as Float64Array,
            after.probabilities as Float64Array,
            top,
          ),
        }
      : null,
    ...distances(before.states, after.states, N),
  };
}

/** The `top` most likely tokens of two distributions [V], sorted by their probability in the first. */
function comparedTokens(
  { tokenizer }: TextModel,
  before: Float64Array,
  after: Float64Array,
  top: number,
): ComparedToken[] {
  const tokens = new Map<number, string>();
  for (const probabilities of [before, after])
    for (const { id, token } of mostLikely(tokenizer, probabilities, top)) tokens.set(id, token);
  return [...tokens]
    .map(([id, token]) => ({ id, token, before: before[id], after: after[id] }))
    .sort((a, b) => b.before - a.before);
}

/** Relative change of each of N states [N, C], and the cosine of their means. */
function distances(
  before: Float64Array,
  after: Float64Array,
  N: number,
): Pick<AblatedRun, "moved" | "cosine"> {
  const C = before.length / N;
  const moved = Array.from({ length: N }, (_, n) => {
    const state = before.subarray(n * C, (n + 1) * C);
    return Math.hypot(...state.map((x, c) => after[n * C + c] - x)) / Math.hypot(...state);
  });
  return { moved, cosine: cosine(meanRow(before, C), meanRow(after, C)) };
}

/**
 * How each part contributes to the prediction of a text's next token (decoder) or of a masked token (encoder): the prediction without it.
 * Parts are heads, or with the options layers of attention, feed-forward networks, or one link in each head.
 *
 * @throws OptionError where there is no such layer, head or position, or an encoder's text has no mask and no position is given;
 *   UnsupportedError where the logits are not finite
 * @example
 * const decoder = await readModel(locateShipped("decoder"));
 * ablate(decoder, "the president of the united").effects[0]; // { part, layer, head, probability, change, top }
 */
export function ablate(model: TextModel, text: string, options: AblateOptions = {}): Ablation {
  checkCount("ablate", arguments, 3);
  const what = "ablate";
  checkOptionNames(what, options, ["replace", "position", "onProgress", ...PARTS_OPTIONS]);
  checkTextModel(what, model);
  const { replace = "zero", onProgress } = options;
  checkReplacement(what, replace);
  checkHead(what, model, "predicts no tokens");
  checkArgument(typeof text === "string", what, "a text as the second argument", text);
  const tokens = model.tokenize(spellMasks(model.tokenizer, text));
  const changes = partsInTurn(what, model, tokens.ids.length, options, ["head"]);
  const task = taskOf(what, model, tokens, text, positionOf(what, model, tokens, options.position));
  const run = (hooks?: ForwardOptions) =>
    tidy(() => {
      const states = model.model.hidden(task.ids, runOptions(model, tokens, hooks));
      return probabilitiesAt(what, model, states, task.position);
    });
  const predicted = mostLikely(model.tokenizer, run(), 5);
  const effects: PredictionEffect[] = [];
  for (const change of changes) {
    const intervention: Intervention = change.part === "link" ? change : { ...change, replace };
    const probabilities = run(hooksOf(what, model, [intervention]));
    const probability = probabilities[predicted[0].id];
    effects.push({
      ...placeOf(change),
      probability,
      change: probability - predicted[0].probability,
      top: predictedToken(model.tokenizer, probabilities, largest(probabilities)),
    });
    onProgress?.(effects.length, changes.length);
  }
  effects.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  return { position: task.position, predicted, effects };
}

/** What to predict: the ids to read, and the position of the prediction. */
interface PredictionTask {
  readonly ids: Int32Array;
  readonly position: number;
  /** A token of the text was replaced with the mask. */
  readonly masked: boolean;
}

/**
 * The position of a prediction: the one given, or by default a decoder's last token or an encoder's first mask, −1 where its text has none.
 */
function positionOf(
  what: string,
  model: TextModel,
  tokens: TextTokens,
  position: number | undefined,
): number {
  const N = tokens.ids.length;
  if (N === 0) throw new OptionError("empty-text", `${what}: the text has no token`);
  if (position === undefined) return predictedPosition(model, tokens);
  checkIndex(what, "position", position, N);
  return position;
}

function taskOf(
  what: string,
  model: TextModel,
  tokens: TextTokens,
  text: string,
  position: number,
): PredictionTask {
  const { ids } = tokens;
  if (position < 0)
    throw missingMask(
      what,
      model,
      tokens,
      text,
      `${model.name} predicts masked tokens; write ${maskToken(model.tokenizer) ?? "[MASK]"} where one is to be predicted, or give the position of the token to mask`,
    );
  if (model.architecture === "decoder") return { ids, position, masked: false };
  const mask = maskToken(model.tokenizer);
  if (mask === undefined)
    throw new UnsupportedError(
      "mask",
      `${what}: the tokenizer of ${model.name} has neither [MASK] nor <mask>`,
    );
  const read = ids.slice();
  read[position] = model.tokenizer.id(mask) as number;
  return { ids: read, position, masked: read[position] !== ids[position] };
}

/** The probabilities of all tokens of the vocabulary at a position of states [N, C]. */
function probabilitiesAt(
  what: string,
  model: TextModel,
  states: FloatTensor,
  position: number,
): Float64Array {
  const logits = model.model.logits(slice(states, 0, position, position + 1) as FloatTensor);
  return tokenShares(finiteLogits(what, logits.toFloat64()), {});
}
