/**
 * What a head does for a prediction: the model runs once as it is and once for each head without it, and the shares of the predicted
 * tokens are compared. A head is taken out by putting zeros, or the mean of its outputs over the text, in the place of its output.
 */

import { formatValue, OptionError, UnsupportedError } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import { Tensor } from "../core/tensor.ts";
import { type FloatTensor, slice } from "../nn/index.ts";
import { tidy } from "../tidy.ts";
import type { AttentionChange, ForwardOptions, LayerAttention } from "./families/attend.ts";
import type { TextModel, TextTokens } from "./text-model.ts";

/** What takes the place of a head's output. */
export type Replacement = "zero" | "mean";

/** A token and its share of the prediction, from 0 to 1. */
export interface Predicted {
  readonly id: number;
  readonly token: string;
  readonly probability: number;
}

/** The prediction without one head. */
export interface HeadEffect {
  readonly layer: number;
  readonly head: number;
  /** Share of the token that is predicted with all heads, and how much it changed. */
  readonly probability: number;
  readonly change: number;
  /** What is most likely now. */
  readonly top: Predicted;
}

/** How to take heads out. */
export interface AblateOptions {
  /** Default "zero". */
  readonly replace?: Replacement;
  /** Only this layer, this head of each layer. */
  readonly layer?: number;
  readonly head?: number;
  /** Called after each head. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** What was predicted, and what each head does for it. */
export interface Ablation {
  /** Position of the token whose prediction is looked at: the last one, or the mask. */
  readonly position: number;
  /** The five most likely tokens with all heads. */
  readonly predicted: readonly Predicted[];
  /** One entry a head, the largest change first. */
  readonly effects: readonly HeadEffect[];
}

/**
 * The change that takes a head out, for `onAttention`.
 *
 * @example
 * const seen = decoder.attentionOf(decoder.tokenizer.ids("the old ship"), undefined, {
 *   onAttention: (layer, it) => (layer === 0 ? withoutHead(it, 3) : undefined),
 * });
 */
export function withoutHead(
  { output }: LayerAttention,
  head: number,
  replace: Replacement = "zero",
): AttentionChange {
  const [H, N, d] = output.shape.slice(-3);
  const data = (output.contiguous().data as FloatTensor["data"]).slice();
  for (let first = head * N * d; first < data.length; first += H * N * d)
    for (let e = 0; e < d; e++) {
      let sum = 0;
      if (replace === "mean") for (let n = 0; n < N; n++) sum += data[first + n * d + e];
      for (let n = 0; n < N; n++) data[first + n * d + e] = sum / N;
    }
  return { output: new Tensor(data, output.shape, output.dtype) as FloatTensor };
}

/**
 * What each head does for the prediction of a text's next token (decoder) or of its first mask (encoder).
 *
 * @throws OptionError where there is no such layer or head, or an encoder's text has no mask
 * @example
 * const decoder = await readModel(locateShipped("decoder"));
 * ablate(decoder, "the president of the united").effects[0]; // { layer, head, probability, change, top }
 */
export function ablate(model: TextModel, text: string, options: AblateOptions = {}): Ablation {
  checkOptionNames("ablate", options, ["replace", "layer", "head", "onProgress"]);
  const { replace = "zero", onProgress } = options;
  if (replace !== "zero" && replace !== "mean")
    throw new OptionError(
      "replace",
      `ablate: replace must be "zero" or "mean", got ${formatValue(replace)}`,
      {
        got: replace,
      },
    );
  for (const [name, count] of [
    ["layer", model.layers],
    ["head", model.heads],
  ] as const) {
    const value = options[name];
    if (value !== undefined && !(Number.isInteger(value) && value >= 0 && value < count))
      throw new OptionError(name, `ablate: ${name} must be 0 to ${count - 1}, got ${formatValue(value)}`, {
        got: value,
      });
  }
  if (!model.model.hasHead)
    throw new UnsupportedError("head", `ablate: ${model.name} has no head for tokens, so it predicts none`);
  const tokens = model.tokenize(text);
  const position = positionOf(model, tokens);
  const run = (onAttention?: ForwardOptions["onAttention"]) =>
    tidy(() => {
      const typeIds = model.architecture === "encoder" ? { typeIds: tokens.typeIds } : {};
      const states = model.model.hidden(tokens.ids, { ...typeIds, onAttention });
      return shares(model.model.logits(slice(states, 0, position, position + 1) as FloatTensor).toFloat64());
    });
  const whole = run();
  const predicted = best(model, whole, 5);
  const effects: HeadEffect[] = [];
  const layers = options.layer === undefined ? [...Array(model.layers).keys()] : [options.layer];
  const heads = options.head === undefined ? [...Array(model.heads).keys()] : [options.head];
  for (const layer of layers)
    for (const head of heads) {
      const now = run((at, seen) => (at === layer ? withoutHead(seen, head, replace) : undefined));
      const probability = now[predicted[0].id];
      effects.push({
        layer,
        head,
        probability,
        change: probability - predicted[0].probability,
        top: best(model, now, 1)[0],
      });
      onProgress?.(effects.length, layers.length * heads.length);
    }
  effects.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  return { position, predicted, effects };
}

function positionOf(model: TextModel, { ids }: TextTokens): number {
  if (ids.length === 0) throw new OptionError("empty-text", "ablate: there is no token to read");
  if (model.architecture === "decoder") return ids.length - 1;
  const mask = ["[MASK]", "<mask>"].map((token) => model.tokenizer.id(token)).find((id) => id !== undefined);
  const position = mask === undefined ? -1 : ids.indexOf(mask);
  if (position < 0)
    throw new OptionError(
      "text",
      `ablate: ${model.name} predicts masked tokens; write [MASK] where one is to be predicted`,
    );
  return position;
}

function shares(logits: Float64Array): Float64Array {
  const most = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const weights = logits.map((x) => Math.exp(x - most));
  const total = weights.reduce((sum, x) => sum + x, 0);
  return weights.map((x) => x / total);
}

function best(model: TextModel, probabilities: Float64Array, count: number): Predicted[] {
  return [...probabilities.keys()]
    .sort((a, b) => probabilities[b] - probabilities[a])
    .slice(0, count)
    .map((id) => ({
      id,
      // A model may have more rows than its tokenizer has tokens.
      token: model.tokenizer.token(id) === undefined ? `#${id}` : model.tokenizer.display(id),
      probability: probabilities[id],
    }));
}
