/**
 * Measures of attention heads: the weight on the previous token, on the next token, on the token after an earlier copy of the
 * current one (induction: Elhage et al. 2021, Olsson et al. 2022, arXiv 2209.11895), and from a closing bracket or quote to its
 * opening one. Each is a mean over rows of weights rebuilt from Q, K and lse, reported with the value that uniform attention over
 * the same rows would have.
 */
import { checkArgument, checkCount, checkInteger } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { generatorOf } from "../../core/random/generator.ts";
import type { AttentionModel, TextModel, TextTokens } from "../text-model.ts";
import { checkOnePart, checkTextModel } from "../text-model.ts";
import { type LayerAttention, layerWeights } from "../transformer/attend.ts";

/** Measures of one head, each in [0, 1]; NaN if no row of the texts applies. */
export interface HeadScores {
  readonly layer: number;
  readonly head: number;
  /** Weight on the previous token: rows 1 … N − 1. */
  readonly previous: number;
  /** Encoders: weight on the next token, rows 0 … N − 2. */
  readonly next: number;
  /** Weight on the tokens that followed earlier copies of the current one. */
  readonly induction: number;
  /** From a closing bracket or quote to its opening one. */
  readonly matching: number;
  /** Encoders: from an opening bracket or quote to its closing one. */
  readonly matchingNext: number;
  /** Weight on the first token. */
  readonly first: number;
  /** Weight on the token itself. */
  readonly self: number;
  /** The same measures for uniform attention, with weights 1/(visible tokens). */
  readonly even: Readonly<Record<"previous" | "next" | "induction" | "matching", number>>;
}

const MEASURES = ["previous", "next", "induction", "matching", "matchingNext", "first", "self"] as const;
type Measure = (typeof MEASURES)[number];
/** A row of attention to measure, and the keys whose weights are added. */
type Question = readonly [measure: Measure, row: number, keys: readonly number[]];

/**
 * Scores of every head over texts, layer by layer.
 *
 * @example
 * const [first] = headScores(decoder, ["the old red house by the river"]);
 */
export function headScores(model: AttentionModel, texts: readonly string[]): HeadScores[] {
  checkCount("headScores", arguments, 2);
  checkArgument(
    typeof (model as Partial<AttentionModel> | undefined)?.attention === "function" &&
      Array.isArray(texts) &&
      texts.length > 0,
    "headScores",
    "a model, as readModel returns, and a list of texts, not empty",
    Array.isArray(texts) && texts.length > 0 ? model : texts,
  );
  checkOnePart("headScores", model);
  const sums = new Sums(model);
  for (const text of texts) {
    const textTokens = model.attention(text);
    sums.add(textTokens.layers, questionsOf(textTokens, model.architecture === "decoder"));
  }
  return sums.scores();
}

/**
 * Induction scores on random tokens that are repeated once, where only the repetition predicts the next token.
 * Only `induction`, `previous` and `next` are measured.
 *
 * @example
 * const [best] = inductionScores(decoder).sort((a, b) => (b.induction ?? 0) - (a.induction ?? 0));
 */
export function inductionScores(
  model: TextModel,
  options: { length?: number; sequences?: number; seed?: number } = {},
): HeadScores[] {
  checkCount("inductionScores", arguments, 2);
  checkNames("inductionScores", options, ["length", "sequences", "seed"]);
  const { length = 24, sequences = 8, seed = 0 } = options;
  checkInteger("inductionScores", "length", length, 2);
  checkInteger("inductionScores", "sequences", sequences, 1);
  checkTextModel("inductionScores", model);
  const { tokenizer } = model;
  const plain = Array.from({ length: tokenizer.size }, (_, id) => id).filter(
    (id) => tokenizer.token(id) !== undefined && !tokenizer.isSpecial(id),
  );
  const random = generatorOf(seed);
  const sums = new Sums(model);
  const n = Math.min(length, model.maxTokens >> 1);
  for (let i = 0; i < sequences; i++) {
    const once = Array.from({ length: n }, () => plain[Math.floor(random.uniform() * plain.length)]);
    const ids = [...once, ...once];
    const second = Array.from({ length: n - 1 }, (_, at) => ["induction", n + at, [at + 1]] as const);
    const before = Array.from({ length: 2 * n - 1 }, (_, at) => ["previous", at + 1, [at]] as const);
    const after = before.map(([, row, [at]]) => ["next", at, [row]] as const);
    const encoder = model.architecture === "encoder";
    sums.add(model.attentionOf(ids), [...second, ...before, ...(encoder ? after : [])]);
  }
  return sums.scores();
}

/** Means over the measured rows, for every head and for uniform attention. */
class Sums {
  readonly #model: AttentionModel;
  readonly #sums: Map<Measure, number>[];
  readonly #even = new Map<Measure, number>();
  readonly #rows = new Map<Measure, number>();

  constructor(model: AttentionModel) {
    this.#model = model;
    this.#sums = Array.from({ length: model.layers * model.heads }, () => new Map());
  }

  add(layers: readonly LayerAttention[], questions: readonly Question[]): void {
    const { heads, architecture } = this.#model;
    const more = (sums: Map<Measure, number>, measure: Measure, by: number) =>
      sums.set(measure, (sums.get(measure) ?? 0) + by);
    layers.forEach((layerAttention, layer) => {
      const weights = layerWeights(layerAttention); // [H, N, N]
      const N = weights.shape[2];
      const all = weights.toFloat64();
      for (let head = 0; head < heads; head++)
        for (const [measure, row, keys] of questions) {
          let share = 0;
          for (const one of keys) share += all[(head * N + row) * N + one];
          more(this.#sums[layer * heads + head], measure, share);
        }
      if (layer > 0) return;
      for (const [measure, row, keys] of questions) {
        more(this.#rows, measure, 1);
        more(this.#even, measure, keys.length / (architecture === "decoder" ? row + 1 : N));
      }
    });
  }

  scores(): HeadScores[] {
    const mean = (sums: ReadonlyMap<Measure, number>) => {
      const of = (measure: Measure) => (sums.get(measure) ?? Number.NaN) / (this.#rows.get(measure) ?? 0);
      return Object.fromEntries(MEASURES.map((measure) => [measure, of(measure)])) as Record<Measure, number>;
    };
    const { previous, next, induction, matching } = mean(this.#even);
    return this.#sums.map((sums, i) => ({
      layer: Math.floor(i / this.#model.heads),
      head: i % this.#model.heads,
      ...mean(sums),
      even: { previous, next, induction, matching },
    }));
  }
}

/** The rows of a text to measure in every head. */
function questionsOf(textTokens: TextTokens, causal: boolean): Question[] {
  const { ids } = textTokens;
  const questions: Question[] = [];
  const before = new Map<number, number[]>();
  ids.forEach((id, row) => {
    if (row > 0) questions.push(["previous", row, [row - 1]]);
    if (!causal && row + 1 < ids.length) questions.push(["next", row, [row + 1]]);
    questions.push(["first", row, [0]], ["self", row, [row]]);
    const copies = before.get(id) ?? [];
    const followers = copies.map((copy) => copy + 1).filter((key) => key < row);
    if (followers.length > 0 && !textTokens.special[row]) questions.push(["induction", row, followers]);
    before.set(id, [...copies, row]);
  });
  for (const [open, close] of matchingTokens(textTokens)) {
    questions.push(["matching", close, [open]]);
    if (!causal) questions.push(["matchingNext", open, [close]]);
  }
  return questions;
}

const CLOSING: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{", "”": "“", "»": "«" };

/** Tokens with an opening bracket or quote, each with the token of its closing one. */
function matchingTokens({ texts, offsets, sequences }: TextTokens): [open: number, close: number][] {
  const pairs: [number, number][] = [];
  texts.forEach((text, sequence) => {
    const tokenAt = (place: number) =>
      offsets.findIndex(([start, end], i) => sequences[i] === sequence && start <= place && place < end);
    const stack: { readonly mark: string; readonly token: number }[] = [];
    for (let place = 0; place < text.length; place++) {
      const mark = text[place];
      const straight = mark === '"';
      const top = stack[stack.length - 1];
      const closes = straight
        ? top?.mark === '"'
        : CLOSING[mark] !== undefined && top?.mark === CLOSING[mark];
      if (closes) {
        const token = tokenAt(place);
        if (top.token >= 0 && token > top.token) pairs.push([top.token, token]);
        stack.pop();
      } else if (straight || Object.values(CLOSING).includes(mark))
        stack.push({ mark, token: tokenAt(place) });
    }
  });
  return pairs;
}
