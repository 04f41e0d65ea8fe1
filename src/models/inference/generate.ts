/**
 * Text generation with a decoder, token by token: the next token is the most likely one, or is sampled from softmax(logits /
 * temperature) among the tokens that top-k, top-p and min-p keep. Each step reads the key/value cache and computes one row.
 * `generate` yields ids, `generateText` yields text.
 */

import { tidy } from "../../api/tidy.ts";
import {
  checkArgument,
  checkCount,
  formatValue,
  OptionError,
  refuseValue,
  UnsupportedError,
} from "../../core/errors.ts";
import { checkKind, checkOptionNames, KINDS } from "../../core/option-names.ts";
import { Tensor } from "../../core/tensor.ts";
import { type FloatTensor, slice } from "../../nn/index.ts";
import { tokenIds } from "../../nn/ops/lookup.ts";
import { checkTextModel, type TextModel } from "../text-model.ts";
import type { TextStream, Tokenizer } from "../tokenizer/tokenizer.ts";
import type { DecoderModel } from "../transformer/model.ts";
import {
  checkSampling,
  checkShares,
  chooser,
  finiteLogits,
  type GenerateOptions,
  numbersOf,
  sharesOf,
  stopIds,
} from "./sampling.ts";

/** The part of a model that `generate` uses; every decoder of heed/models has it. */
export type CachedDecoder = Pick<DecoderModel, "sizes" | "endIds" | "cache" | "hidden" | "logits">;

/** Tokens or pieces of text: `for of` computes them on the CPU, `for await` on any device. */
export type Generated<T> = Generator<T, void, undefined> & AsyncIterable<T>;

/** A generation step by step: yields logits, to be answered with their numbers, and what it generates. */
type Steps<T> = Generator<Tensor | T, void, Float64Array>;

/** What steps generate, in both ways. */
function generated<T>(what: string, steps: Steps<T>): Generated<T> {
  const none = new Float64Array(0);
  function* now(): Generator<T, void, undefined> {
    try {
      for (let step = steps.next(none); !step.done; ) {
        const { value } = step;
        step = steps.next(
          value instanceof Tensor
            ? numbersOf(what, value, "iterate with for await")
            : ((yield value) ?? none),
        );
      }
    } finally {
      steps.return();
    }
  }
  async function* later(): AsyncGenerator<T, void, undefined> {
    try {
      for (let step = steps.next(none); !step.done; ) {
        const { value } = step;
        if (!(value instanceof Tensor)) yield value;
        step = steps.next(value instanceof Tensor ? (await value.to("cpu")).toFloat64() : none);
      }
    } finally {
      steps.return();
    }
  }
  return Object.assign(now(), { [Symbol.asyncIterator]: later });
}

/** Names of `GenerateOptions`, and those that `generateText` adds. */
const GENERATE_OPTIONS: readonly (keyof GenerateTextOptions)[] = [
  "maxTokens", "temperature", "topK", "topP", "minP", "seed", "stop", "stopTexts", "onToken", "addSpecialTokens",
]; // biome-ignore format: a list of names

/** Options of `generateText`. */
export interface GenerateTextOptions extends GenerateOptions {
  /** Strings that end the text; they are not yielded. Default none. */
  readonly stopTexts?: readonly string[];
  /** Adds the tokenizer's special tokens to the prompt. Default true; false for a prompt that has them (`chatPrompt`). */
  readonly addSpecialTokens?: boolean;
  /** Called with each id that the model chose. */
  readonly onToken?: (id: number) => void;
}

/**
 * Yields the tokens that follow `ids`, one at a time; each is computed when it is requested. Ends at a stop token, after
 * `maxTokens`, or when the model has no position left. `for await` computes the same on the device of the model (`model.to`).
 *
 * @example
 * const ids = [...generate(decoder.model, decoder.tokenizer.ids("The whale"), { maxTokens: 12 })];
 * ids.length; // → 12
 */
export function generate(
  model: CachedDecoder,
  ids: ArrayLike<number>,
  options: GenerateOptions = {},
): Generated<number> {
  checkCount("generate", arguments, 3);
  return generated("generate", tokenSteps(model, ids, options));
}

/** Checks the call at once, not when the first token is requested. */
function tokenSteps(model: CachedDecoder, ids: ArrayLike<number>, options: GenerateOptions): Steps<number> {
  if (typeof (model as Partial<CachedDecoder> | undefined)?.cache !== "function")
    throw new OptionError(
      "model",
      `generate: model must be a decoder with a cache, such as Gpt2, got ${formatValue(model)}${
        typeof (model as { model?: { cache?: unknown } } | undefined)?.model?.cache === "function"
          ? "; pass its field model"
          : ""
      }`,
      { got: model },
    );
  checkOptionNames("generate", options, GENERATE_OPTIONS);
  const n_positions = model.sizes.positions;
  const { maxTokens = n_positions } = options;
  const stop = new Set(options.stop === undefined ? model.endIds : stopIds("generate", options.stop));
  const prompt = tokenIds("generate", ids);
  checkSampling("generate", prompt, options, n_positions);
  return stepsAfter(model, prompt, stop, options, maxTokens);
}

function* stepsAfter(
  model: CachedDecoder,
  prompt: Int32Array,
  stop: ReadonlySet<number>,
  options: GenerateOptions,
  maxTokens: number,
): Steps<number> {
  const n_positions = model.sizes.positions;
  let next = prompt;
  const cache = model.cache(Math.min(n_positions, next.length + maxTokens));
  const choose = chooser(options);
  try {
    for (let n = 0; n < maxTokens && cache.length + next.length <= n_positions; n++) {
      const logits = tidy(() => model.logits(slice(model.hidden(next, { cache }), 0, -1) as FloatTensor));
      const id = choose(finiteLogits("generate", yield logits), n);
      logits.dispose();
      if (stop.has(id)) return;
      yield id;
      next = Int32Array.of(id);
    }
  } finally {
    cache.dispose();
  }
}

/** The next token of steps, after their logits. */
function* nextToken(steps: Steps<number>): Generator<Tensor, number | undefined, Float64Array> {
  let { value } = steps.next(new Float64Array(0));
  while (value instanceof Tensor) ({ value } = steps.next(yield value));
  return value ?? undefined;
}

/**
 * The probability of each token in sampling: softmax of logits / temperature over the tokens that top-k, top-p and min-p keep,
 * applied in this order. Tokens as likely as the last one kept are kept too.
 *
 * @param logits [V], numbers or a tensor
 *
 * @example
 * Array.from(tokenShares(Float64Array.of(0, 0), { topK: 2 })); // → [0.5, 0.5]
 */
export function tokenShares(
  logits: Float64Array | Tensor,
  options: Pick<GenerateOptions, "temperature" | "topK" | "topP" | "minP"> = {},
): Float64Array {
  checkCount("tokenShares", arguments, 2);
  checkOptionNames("tokenShares", options, ["temperature", "topK", "topP", "minP"]);
  const isRow =
    logits instanceof Tensor
      ? logits.shape.length === 1
      : KINDS["a list of numbers or NaN"](logits) && (logits as Float64Array).length > 0;
  checkArgument(isRow, "tokenShares", "the logits [V], a Float64Array or a tensor", logits);
  checkShares("tokenShares", options);
  return sharesOf(
    finiteLogits("tokenShares", logits instanceof Tensor ? logits.toFloat64() : Float64Array.from(logits)),
    options,
  );
}

/**
 * Yields the text that follows a prompt, piece by piece as the model generates it. A piece ends at a character boundary and
 * contains no part of a stop text. Each is computed when it is requested; `for await` as in `generate`.
 *
 * @param model a decoder with its tokenizer (`readModel`)
 * @throws UnsupportedError for an encoder; OptionError for a wrong option, or a prompt with no token or too many
 * @example
 * const model = await readModel(locateShipped("decoder"));
 * for (const piece of generateText(model, "The whale", { maxTokens: 20 })) process.stdout.write(piece);
 */
export function generateText(
  model: TextModel,
  prompt: string,
  options: GenerateTextOptions = {},
): Generated<string> {
  checkCount("generateText", arguments, 3);
  return generated("generateText", textSteps(model, prompt, options));
}

function textSteps(model: TextModel, prompt: string, options: GenerateTextOptions): Steps<string> {
  checkTextModel("generateText", model);
  checkKind("generateText", "options", "an object", options);
  const { stopTexts = [], onToken } = options;
  if (!Array.isArray(stopTexts) || stopTexts.some((text) => typeof text !== "string" || text === ""))
    refuseValue("generateText", "stopTexts", "texts, none empty", stopTexts);
  if (model.architecture !== "decoder")
    throw new UnsupportedError(
      "architecture",
      `generateText: ${model.name} is an encoder, which fills in masks (fillMask, heed fill) but does not continue a text; use a decoder`,
    );
  const { tokenizer } = model;
  const ids = tokenizer.encode(prompt, undefined, { addSpecialTokens: options.addSpecialTokens ?? true }).ids;
  const { maxTokens } = model;
  if (ids.length === 0 || ids.length > maxTokens)
    throw new OptionError(
      "prompt",
      ids.length === 0
        ? "generateText: the prompt has no token; write one or more words"
        : `generateText: the prompt has ${ids.length} tokens; ${model.name} reads at most ${maxTokens}, so shorten it`,
      { tokens: ids.length },
    );
  // How a token is decoded may depend on the text before it (a space, an accent), so the stream reads the prompt first.
  const stream = tokenizer.stream();
  for (const id of ids) stream.push(id);
  const tokens = tokenSteps(model.model as unknown as CachedDecoder, ids, options);
  return textsOf(tokenizer, stream, tokens, stopTexts, onToken);
}

function* textsOf(
  tokenizer: Tokenizer,
  stream: TextStream,
  tokens: Steps<number>,
  stopTexts: readonly string[],
  onToken: GenerateTextOptions["onToken"],
): Steps<string> {
  let pending = "";
  try {
    for (let id = yield* nextToken(tokens); id !== undefined; id = yield* nextToken(tokens)) {
      onToken?.(id);
      // A model may have rows beyond the vocabulary (padding of the embedding), which have no text.
      if (tokenizer.token(id) !== undefined) pending += stream.push(id);
      const end = firstOf(pending, stopTexts);
      if (end >= 0) {
        if (end > 0) yield pending.slice(0, end);
        return;
      }
      const certain = pending.length - longestStart(pending, stopTexts);
      if (certain > 0) yield pending.slice(0, certain);
      pending = pending.slice(certain);
    }
  } finally {
    tokens.return();
  }
  pending += stream.end();
  if (pending !== "") yield pending;
}

/** Index of the first occurrence in `text` of any of the strings, or −1. */
function firstOf(text: string, wanted: readonly string[]): number {
  const places = wanted.map((one) => text.indexOf(one)).filter((at) => at >= 0);
  return places.length === 0 ? -1 : Math.min(...places);
}

/** Length of the longest end of `text` that is the start of any of the strings. */
function longestStart(text: string, wanted: readonly string[]): number {
  let longest = 0;
  for (const one of wanted)
    for (let n = Math.min(one.length - 1, text.length); n > longest; n--)
      if (text.endsWith(one.slice(0, n))) longest = n;
  return longest;
}
