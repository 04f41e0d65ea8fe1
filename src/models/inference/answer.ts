/**
 * Answers to questions as spans of a text (Devlin et al. 2018, section 4.2): an encoder reads the question and the text as a pair, and
 * its head gives each token a logit s for being the first of the answer and a logit e for being the last.
 *
 *     score(i, j) = s[i] + e[j]                            i ≤ j < i + maxTokens, both in the text
 *     probability = exp(score) / Σ exp(score)              over all such spans and "no answer", s + e of the first token
 *
 * A text that is longer than the model reads is read in windows that overlap. A span has the largest of its scores, "no answer" the
 * smallest, as in SQuAD 2.
 */
import { tidy } from "../../api/tidy.ts";
import { checkArgument, checkCount, OptionError, refuseValue, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import type { Encoder } from "../encoder/encoder.ts";
import { checkTextModel, type TextModel } from "../text-model.ts";
import type { Encoding } from "../tokenizer/index.ts";
import { finiteLogits } from "./sampling.ts";

/** Options of `answerQuestion`. */
export interface AnswerOptions {
  /** Number of answers; default 1. */
  readonly top?: number;
  /** Maximum tokens of an answer; default 30. */
  readonly maxTokens?: number;
  /** Tokens of the text that two windows share, where it is longer than the model reads; default 128, at most half a window. */
  readonly overlap?: number;
}

/** A span of the text. */
export interface Answer {
  readonly text: string;
  /** Its place in the text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** The logits of its first and its last token. */
  readonly startLogit: number;
  readonly endLogit: number;
  /** Its share of all spans and of "no answer", from 0 to 1. */
  readonly probability: number;
}

/** The answers to a question. */
export interface Answers {
  /** The most likely spans that do not overlap, the most likely first. */
  readonly answers: readonly Answer[];
  /** The probability that the text has no answer; meaningful for models that were trained with such questions (SQuAD 2). */
  readonly noAnswer: number;
  /** Windows in which the text was read. */
  readonly windows: number;
}

/** A span of tokens of the text, by their index among the text's own tokens. */
interface Span {
  readonly first: number;
  readonly last: number;
  readonly startLogit: number;
  readonly endLogit: number;
}

/**
 * The spans of a text that answer a question.
 *
 * @param model an encoder with a head for spans (`BertForQuestionAnswering` and its relatives, from `readModel`)
 * @throws UnsupportedError for a model without that head; OptionError for an empty text, or a question that leaves no place for the text
 * @example
 * const model = await readModel("./distilbert-base-cased-distilled-squad");
 * answerQuestion(model, "Where does Ada live?", "Ada lives in London.").answers[0].text; // "London"
 */
export function answerQuestion(
  model: TextModel,
  question: string,
  context: string,
  options: AnswerOptions = {},
): Answers {
  checkCount("answerQuestion", arguments, 4);
  const what = "answerQuestion";
  checkTextModel(what, model);
  checkOptionNames(what, options, ["top", "maxTokens", "overlap"]);
  const { top = 1, maxTokens = 30, overlap = 128 } = options;
  for (const [name, value, least] of [
    ["top", top, 1],
    ["maxTokens", maxTokens, 1],
    ["overlap", overlap, 0],
  ] as const)
    if (!(Number.isInteger(value) && value >= least)) refuseValue(what, name, `an integer ≥ ${least}`, value);
  checkArgument(typeof question === "string" && question.trim() !== "", what, "a question", question);
  checkArgument(typeof context === "string" && context.trim() !== "", what, "a text to find it in", context);
  if (model.model.hasSpanHead !== true)
    throw new UnsupportedError(
      "head",
      `${what}: ${model.name} was not trained to answer questions: its file has no qa_outputs. Models whose class ends in ForQuestionAnswering have it`,
      { model: model.name },
    );
  const encoding = model.tokenizer.encode(question, context);
  const read = windowsOf(what, model, encoding, overlap);
  const network = model.model as unknown as Encoder;
  const best = new Map<string, Span>();
  let none = Number.POSITIVE_INFINITY;
  for (const { indices, tokens } of read) {
    const globals = questionGlobals(
      model,
      Int8Array.from(indices, (i) => encoding.sequences[i]),
    );
    const pick = (list: Int32Array) => Int32Array.from(indices, (i) => list[i]);
    const logits = tidy(() =>
      finiteLogits(
        what,
        network
          .spanLogits(network.hidden(pick(encoding.ids), { typeIds: pick(encoding.typeIds), globals }))
          .toFloat64(),
      ),
    ); // [N, 2]
    none = Math.min(none, logits[0] + logits[1]);
    // Rows of the text's tokens in this window, without special tokens that the text spells.
    const rows = tokens.flatMap(({ row, token }) => (encoding.special[indices[row]] ? [] : [{ row, token }]));
    rows.forEach((a, n) => {
      for (let m = n; m < rows.length && rows[m].token - a.token < maxTokens; m++) {
        const span = {
          first: a.token,
          last: rows[m].token,
          startLogit: logits[2 * a.row],
          endLogit: logits[2 * rows[m].row + 1],
        };
        const key = `${span.first} ${span.last}`;
        const other = best.get(key);
        if (other === undefined || scoreOf(span) > scoreOf(other)) best.set(key, span);
      }
    });
  }
  const spans = [...best.values()].sort((a, b) => scoreOf(b) - scoreOf(a));
  const largest = Math.max(none, spans.length > 0 ? scoreOf(spans[0]) : none);
  const share = (score: number) => Math.exp(score - largest);
  const sum = spans.reduce((sum, span) => sum + share(scoreOf(span)), share(none));
  const offsets = encoding.offsets.filter((_, i) => encoding.sequences[i] === 1);
  return {
    answers: apart(spans, top).map((span) => ({
      ...placeOf(context, offsets[span.first][0], offsets[span.last][1]),
      startLogit: span.startLogit,
      endLogit: span.endLogit,
      probability: share(scoreOf(span)) / sum,
    })),
    noAnswer: share(none) / sum,
    windows: read.length,
  };
}

/**
 * The tokens of a question, with those before it, which a Longformer that answers questions reads as global tokens; undefined for other
 * models. `sequences` are those of the pair.
 */
export function questionGlobals({ model }: TextModel, sequences: Int8Array): readonly number[] | undefined {
  const { recipe } = model as unknown as Encoder;
  if (recipe?.names.globalQuery === undefined) return undefined;
  return [...sequences.subarray(0, sequences.lastIndexOf(0) + 1).keys()];
}

const scoreOf = ({ startLogit, endLogit }: Span): number => startLogit + endLogit;

/** The first `count` spans that overlap with none before them. */
function apart(spans: readonly Span[], count: number): Span[] {
  const taken: Span[] = [];
  for (const span of spans) {
    if (taken.length === count) break;
    if (taken.every(({ first, last }) => span.last < first || span.first > last)) taken.push(span);
  }
  return taken;
}

/** The place of a span without the spaces around it: tokens of byte-level vocabularies begin with one. */
function placeOf(context: string, start: number, end: number): Pick<Answer, "text" | "start" | "end"> {
  const raw = context.slice(start, end);
  const text = raw.trim();
  const from = start + raw.indexOf(text);
  return { text, start: from, end: from + text.length };
}

/** A part of the text with the question before it: indices into the encoding, and the rows of the text's tokens among them. */
interface ReadWindow {
  readonly indices: readonly number[];
  /** `token` counts the tokens of the text alone. */
  readonly tokens: readonly { readonly row: number; readonly token: number }[];
}

/** The windows of a pair: everything but the text is in each of them. */
function windowsOf(what: string, model: TextModel, { sequences }: Encoding, overlap: number): ReadWindow[] {
  const all = [...sequences.keys()];
  const text = all.filter((i) => sequences[i] === 1);
  const free = model.maxTokens - (all.length - text.length);
  if (text.length === 0)
    throw new OptionError("context", `${what}: the text has no token; write one or more words`);
  if (free < 1)
    throw new OptionError(
      "question",
      `${what}: the question leaves no place for the text: ${model.name} reads at most ${model.maxTokens} tokens; shorten the question`,
      { limit: model.maxTokens },
    );
  const step = free - Math.min(overlap, Math.floor(free / 2));
  const count = 1 + Math.max(0, Math.ceil((text.length - free) / step));
  return Array.from({ length: count }, (_, n) => {
    const first = n * step;
    const indices = all.filter((i) => {
      const token = i - text[0];
      return sequences[i] !== 1 || (token >= first && token < first + free);
    });
    return {
      indices,
      tokens: indices.flatMap((i, row) => (sequences[i] === 1 ? [{ row, token: i - text[0] }] : [])),
    };
  });
}
