/**
 * What a head does for a prediction: the model runs once as it is and once with heads ablated, and the probabilities of the predicted
 * tokens are compared. A head is ablated by putting zeros, or the mean of its outputs over the text, in the place of its output, at every
 * token or at one.
 */

import { formatValue, OptionError, UnsupportedError } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import { Tensor } from "../core/tensor.ts";
import { type FloatTensor, slice } from "../nn/index.ts";
import { tidy } from "../tidy.ts";
import type { AttentionChange, ForwardOptions, LayerAttention } from "./families/attend.ts";
import type { EncoderOptions } from "./families/encoder.ts";
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

/** A head that a run is made without. */
export interface AblatedHead {
  readonly layer: number;
  readonly head: number;
  /** Default "zero". */
  readonly replace?: Replacement;
  /** Only the head's output at this token is replaced; null or undefined: at every token. */
  readonly position?: number | null;
}

/** How to take heads out. */
export interface AblateOptions {
  /**
   * Encoders: the token that is masked and predicted; default the first mask of the text. Decoders: the token after which the next one is
   * predicted; default the last.
   */
  readonly position?: number;
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
  /** Position of the token whose prediction is compared: the last one, or the mask, where none was given. */
  readonly position: number;
  /** The five most likely tokens with all heads. */
  readonly predicted: readonly Predicted[];
  /** One entry a head, the largest change first. */
  readonly effects: readonly HeadEffect[];
}

/** A token's probability with all heads, and with heads ablated. */
export interface ComparedToken {
  readonly id: number;
  readonly token: string;
  readonly before: number;
  readonly after: number;
}

/** What a run without some heads gives, beside the run with all of them. */
export interface AblatedRun {
  /** The prediction at one position; null where the model has no head for tokens, or an encoder's text no mask. */
  readonly predicted: {
    readonly position: number;
    /** The text's own token there was replaced by the mask, in both runs. */
    readonly masked: boolean;
    /** The most likely tokens of both runs, by their probability with all heads, the largest first. */
    readonly tokens: readonly ComparedToken[];
  } | null;
  /** How far the last state of each token moved: ‖after − before‖ / ‖before‖. */
  readonly moved: readonly number[];
  /** Cosine of the two means of the last states over all tokens: 1 where a mean-pooled embedding keeps its direction. */
  readonly cosine: number;
}

/** How to compare a run without some heads. */
export interface AblateHeadsOptions extends Pick<AblateOptions, "position"> {
  /** The second text of a pair. */
  readonly pair?: string;
  /** Most likely tokens of each run that are compared; default 5. */
  readonly top?: number;
}

/**
 * The change that takes a head out, for `onAttention`; `position`: at this token alone.
 *
 * @example
 * const seen = decoder.attentionOf(decoder.tokenizer.ids("the old ship"), undefined, {
 *   onAttention: (layer, it) => (layer === 0 ? withoutHead(it, 3) : undefined),
 * });
 */
export function withoutHead(
  seen: LayerAttention,
  head: number,
  replace: Replacement = "zero",
  position: number | null = null,
): AttentionChange {
  return withoutHeads(seen, [{ layer: 0, head, replace, position }]);
}

/** The change that takes several heads of a layer out. */
function withoutHeads({ output }: LayerAttention, ablated: readonly AblatedHead[]): AttentionChange {
  const [H, N, d] = output.shape.slice(-3);
  const data = (output.contiguous().data as FloatTensor["data"]).slice();
  for (const { head, replace = "zero", position } of ablated) {
    const [from, to] = position == null ? [0, N] : [position, position + 1];
    for (let first = head * N * d; first < data.length; first += H * N * d)
      for (let e = 0; e < d; e++) {
        let sum = 0;
        if (replace === "mean") for (let n = 0; n < N; n++) sum += data[first + n * d + e];
        for (let n = from; n < to; n++) data[first + n * d + e] = sum / N;
      }
  }
  return { output: new Tensor(data, output.shape, output.dtype) as FloatTensor };
}

/**
 * The hook that ablates heads, for `onAttention`.
 *
 * @throws OptionError where there is no such layer or head, or no such way to replace an output
 * @example
 * const { ids } = decoder.tokenize("the old ship");
 * decoder.attentionOf(ids, undefined, { onAttention: ablation(decoder, [{ layer: 0, head: 3 }]) });
 */
export function ablation(
  model: TextModel,
  heads: readonly AblatedHead[],
): NonNullable<ForwardOptions["onAttention"]> {
  const byLayer = new Map<number, AblatedHead[]>();
  for (const one of heads) {
    checkIndex("layer", one.layer, model.layers);
    checkIndex("head", one.head, model.heads);
    checkReplacement(one.replace ?? "zero");
    byLayer.set(one.layer, [...(byLayer.get(one.layer) ?? []), one]);
  }
  return (layer, seen) => {
    const here = byLayer.get(layer);
    return here && withoutHeads(seen, here);
  };
}

/**
 * A run of the model on a text with heads ablated, beside the run with all heads: the prediction at one position, and how far the last
 * states moved.
 *
 * @throws OptionError where there is no such layer, head or position
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
  checkOptionNames("ablateHeads", options, ["position", "pair", "top"]);
  const { position, pair, top = 5 } = options;
  if (!(Number.isInteger(top) && top > 0))
    throw new OptionError("top", `ablateHeads: top must be an integer ≥ 1, got ${formatValue(top)}`, {
      got: top,
    });
  const tokens = model.tokenize(text, pair);
  const N = tokens.ids.length;
  for (const { position: only } of heads) if (only != null) checkIndex("heads.position", only, N);
  const onAttention = ablation(model, heads);
  const predicts = model.model.hasHead && (position !== undefined || defaultPosition(model, tokens) >= 0);
  const task = predicts ? taskOf(model, tokens, position) : undefined;
  const run = (change?: ForwardOptions["onAttention"]) =>
    tidy(() => {
      const states = model.model.hidden(task?.ids ?? tokens.ids, runOptions(model, tokens, change));
      return {
        states: states.toFloat64(),
        probabilities: task && probabilitiesAt(model, states, task.position),
      };
    });
  const before = run();
  const after = run(onAttention);
  const [was, now] = [before.probabilities, after.probabilities];
  let predicted: AblatedRun["predicted"] = null;
  if (task && was && now) {
    const ids = new Set([...best(model, was, top), ...best(model, now, top)].map(({ id }) => id));
    const compared = [...ids].map((id) => ({
      id,
      token: nameOf(model, id),
      before: was[id],
      after: now[id],
    }));
    compared.sort((a, b) => b.before - a.before);
    predicted = { position: task.position, masked: task.masked, tokens: compared };
  }
  return { predicted, ...distances(before.states, after.states, N) };
}

/** How far states [N, C] moved, token by token, and the cosine of their means. */
function distances(
  before: Float64Array,
  after: Float64Array,
  N: number,
): Pick<AblatedRun, "moved" | "cosine"> {
  const C = before.length / N;
  const moved: number[] = [];
  const means = [new Float64Array(C), new Float64Array(C)];
  for (let n = 0; n < N; n++) {
    let [length, distance] = [0, 0];
    for (let c = 0; c < C; c++) {
      const [x, y] = [before[n * C + c], after[n * C + c]];
      length += x * x;
      distance += (y - x) ** 2;
      means[0][c] += x;
      means[1][c] += y;
    }
    moved.push(Math.sqrt(distance / length));
  }
  const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, x, c) => sum + x * b[c], 0);
  const [a, b] = means;
  return { moved, cosine: dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)) };
}

/**
 * What each head does for the prediction of a text's next token (decoder) or of a masked token (encoder).
 *
 * @throws OptionError where there is no such layer, head or position, or an encoder's text has no mask and no position is given
 * @example
 * const decoder = await readModel(locateShipped("decoder"));
 * ablate(decoder, "the president of the united").effects[0]; // { layer, head, probability, change, top }
 */
export function ablate(model: TextModel, text: string, options: AblateOptions = {}): Ablation {
  checkOptionNames("ablate", options, ["replace", "layer", "head", "position", "onProgress"]);
  const { replace = "zero", onProgress } = options;
  checkReplacement(replace);
  if (options.layer !== undefined) checkIndex("layer", options.layer, model.layers);
  if (options.head !== undefined) checkIndex("head", options.head, model.heads);
  if (!model.model.hasHead)
    throw new UnsupportedError("head", `ablate: ${model.name} has no head for tokens, so it predicts none`);
  const tokens = model.tokenize(text);
  const task = taskOf(model, tokens, options.position);
  const run = (onAttention?: ForwardOptions["onAttention"]) =>
    tidy(() => {
      const states = model.model.hidden(task.ids, runOptions(model, tokens, onAttention));
      return probabilitiesAt(model, states, task.position);
    });
  const whole = run();
  const predicted = best(model, whole, 5);
  const effects: HeadEffect[] = [];
  const layers = options.layer === undefined ? [...Array(model.layers).keys()] : [options.layer];
  const heads = options.head === undefined ? [...Array(model.heads).keys()] : [options.head];
  for (const layer of layers)
    for (const head of heads) {
      const now = run(ablation(model, [{ layer, head, replace }]));
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
  return { position: task.position, predicted, effects };
}

/** What is predicted: the ids that are read, and at which of them. */
interface PredictionTask {
  readonly ids: Int32Array;
  readonly position: number;
  /** A token of the text was replaced by the mask. */
  readonly masked: boolean;
}

function taskOf(model: TextModel, { ids }: TextTokens, asked: number | undefined): PredictionTask {
  if (ids.length === 0) throw new OptionError("empty-text", "ablate: there is no token to read");
  if (asked !== undefined) checkIndex("position", asked, ids.length);
  const position = asked ?? defaultPosition(model, { ids });
  if (position < 0)
    throw new OptionError(
      "text",
      `ablate: ${model.name} predicts masked tokens; write [MASK] where one is to be predicted, or give the position of the token to mask`,
    );
  if (model.architecture === "decoder") return { ids, position, masked: false };
  const mask = maskId(model);
  if (mask === undefined)
    throw new UnsupportedError(
      "mask",
      `ablate: the tokenizer of ${model.name} has neither [MASK] nor <mask>`,
    );
  const read = ids.slice();
  read[position] = mask;
  return { ids: read, position, masked: ids[position] !== mask };
}

/** Where a prediction is made by default: decoders after the last token, encoders at the first mask; −1 where there is none. */
function defaultPosition(model: TextModel, { ids }: Pick<TextTokens, "ids">): number {
  if (model.architecture === "decoder") return ids.length - 1;
  const mask = maskId(model);
  return mask === undefined ? -1 : ids.indexOf(mask);
}

function maskId({ tokenizer }: TextModel): number | undefined {
  return ["[MASK]", "<mask>"].map((token) => tokenizer.id(token)).find((id) => id !== undefined);
}

function runOptions(
  model: TextModel,
  { typeIds }: TextTokens,
  onAttention: ForwardOptions["onAttention"],
): EncoderOptions {
  return model.architecture === "encoder" ? { typeIds, onAttention } : { onAttention };
}

function checkReplacement(replace: unknown): void {
  if (replace !== "zero" && replace !== "mean")
    throw new OptionError(
      "replace",
      `ablate: replace must be "zero" or "mean", got ${formatValue(replace)}`,
      { got: replace },
    );
}

function checkIndex(name: string, value: unknown, count: number): void {
  if (!(Number.isInteger(value) && (value as number) >= 0 && (value as number) < count))
    throw new OptionError(name, `ablate: ${name} must be 0 to ${count - 1}, got ${formatValue(value)}`, {
      got: value,
    });
}

/** The probability of every token of the vocabulary at a position of states [N, C]. */
function probabilitiesAt(model: TextModel, states: FloatTensor, position: number): Float64Array {
  return softmax(model.model.logits(slice(states, 0, position, position + 1) as FloatTensor).toFloat64());
}

function softmax(logits: Float64Array): Float64Array {
  const maximum = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const weights = logits.map((x) => Math.exp(x - maximum));
  const total = weights.reduce((sum, x) => sum + x, 0);
  return weights.map((x) => x / total);
}

function best(model: TextModel, probabilities: Float64Array, count: number): Predicted[] {
  return [...probabilities.keys()]
    .sort((a, b) => probabilities[b] - probabilities[a])
    .slice(0, count)
    .map((id) => ({ id, token: nameOf(model, id), probability: probabilities[id] }));
}

/** A token as the vocabulary shows it. A model may have more rows than its tokenizer has tokens. */
function nameOf({ tokenizer }: TextModel, id: number): string {
  return tokenizer.token(id) === undefined ? `#${id}` : tokenizer.display(id);
}
