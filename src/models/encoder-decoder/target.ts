/**
 * The text that an encoder–decoder writes from a source text: greedily, by sampling, or by beam search. The source is read once;
 * each step reads the cache and computes one row of the decoder. Results equal those of transformers' `generate`.
 */
import { tidy } from "../../api/tidy.ts";
import { checkCount, checkInteger, checkNumber, refuseValue, UnsupportedError } from "../../core/errors.ts";
import { checkKind, checkOptionNames } from "../../core/option-names.ts";
import {
  checkSlices,
  type ReadingSlices,
  runSlices,
  SLICE_OPTIONS,
  type SliceOptions,
} from "../../core/slices.ts";
import { type FloatTensor, slice } from "../../nn/index.ts";
import { tokenIds } from "../../nn/ops/lookup.ts";
import type { KeyValueCache } from "../decoder/cache.ts";
import {
  checkSampling,
  chooser,
  finiteLogits,
  type GenerateOptions,
  runNow,
  stopIds,
  temperatureOf,
} from "../inference/sampling.ts";
import { beamSearch } from "./beam.ts";
import type { EncoderDecoder } from "./encoder-decoder.ts";

/** Options of `generateTarget`. */
export interface TargetOptions extends GenerateOptions {
  /** Texts that a beam search continues together; default 1, no search. Not together with a temperature. */
  readonly beams?: number;
  /** A beam's score is divided by length^penalty; default 1. Above 1 favors longer texts. */
  readonly lengthPenalty?: number;
  /** True ends the search as soon as `beams` texts are finished. Default false: when no better one is possible. */
  readonly earlyStopping?: boolean;
  /** No sequence of this many tokens occurs twice; default 0, no limit. */
  readonly noRepeat?: number;
  /** Tokens before the text may end; default 0. */
  readonly minTokens?: number;
  /** The id that the text begins with, such as a language; default the config's `forced_bos_token_id`. It is part of the result. */
  readonly firstId?: number;
}

/** Names of `TargetOptions`. */
export const TARGET_OPTIONS: readonly (keyof TargetOptions)[] = [
  "maxTokens", "temperature", "topK", "topP", "minP", "seed", "stop",
  "beams", "lengthPenalty", "earlyStopping", "noRepeat", "minTokens", "firstId",
]; // biome-ignore format: one list

/** Default of `maxTokens`. */
const MAX_TOKENS = 256;

/**
 * The ids of the text that an encoder–decoder writes from the ids of a source text, without the decoder's first id and the one
 * that ends it.
 *
 * @throws OptionError for a wrong option or a source with no token or too many; UnsupportedError for a model without a head
 * @example
 * const { model, tokenizer } = await readModel("./opus-mt-en-de", { family: "encoder-decoder" });
 * tokenizer.decode(Int32Array.from(generateTarget(model, tokenizer.encode("Good morning.").ids, { beams: 4 })));
 */
export function generateTarget(
  model: EncoderDecoder,
  source: ArrayLike<number>,
  options: TargetOptions = {},
): number[] {
  checkCount("generateTarget", arguments, 3);
  return runNow("generateTarget", targetSlices("generateTarget", model, source, options));
}

/** Options of `generateTargetAsync`. */
export interface TargetAsyncOptions extends TargetOptions, SliceOptions {}

/**
 * `generateTarget` of a model on any device (`model.to`), one token at a time: between two of them the event loop runs.
 *
 * @param options as in `generateTarget`; `signal` to end the call, `onProgress` for the share of `maxTokens` that is written
 * @throws rejects as `generateTarget` throws, and with the signal's reason when it is aborted
 * @example
 * await generateTargetAsync(model, tokenizer.encode("Good morning.").ids, { beams: 4 });
 */
export async function generateTargetAsync(
  model: EncoderDecoder,
  source: ArrayLike<number>,
  options: TargetAsyncOptions = {},
): Promise<number[]> {
  const what = "generateTargetAsync";
  checkCount(what, arguments, 3);
  checkOptionNames(what, options, [...TARGET_OPTIONS, ...SLICE_OPTIONS]);
  const { signal, onProgress, ...rest } = options;
  checkSlices(what, { signal, onProgress });
  return await runSlices(() => targetSlices(what, model, source, rest), { signal, onProgress });
}

/** The same, a token at a time, for the function or the command of this name, with which errors begin. */
export function* targetSlices(
  what: string,
  model: EncoderDecoder,
  source: ArrayLike<number>,
  options: TargetOptions,
): ReadingSlices<number[]> {
  if ((model as Partial<EncoderDecoder> | undefined)?.architecture !== "encoder-decoder")
    refuseValue(what, "model", "an encoder–decoder", model);
  checkOptionNames(what, options, TARGET_OPTIONS);
  const ids = tokenIds(what, source);
  checkSampling(what, ids, options, model.encoder.sizes.positions);
  checkSearch(what, options, model.sizes.vocabulary);
  const { beams = 1, lengthPenalty = 1, earlyStopping = false } = options;
  const maxTokens = Math.min(options.maxTokens ?? MAX_TOKENS, model.sizes.positions - 1);
  if (maxTokens === 0) return [];
  const ends = new Set(options.stop === undefined ? model.endIds : stopIds(what, options.stop));
  const memory = tidy(() => model.encode(ids));
  const processed = processor(model, { ...options, maxTokens }, ends);
  const { decoder_start_token_id: first } = model.config;
  function* logitsAfter(text: readonly number[], cache: KeyValueCache): ReadingSlices<Float64Array> {
    const logits = tidy(() => {
      const next = [first, ...text].slice(cache.length);
      const hidden = model.hidden(Int32Array.from(next), { memory, cache });
      return model.logits(slice(hidden, 0, -1) as FloatTensor);
    });
    const numbers = finiteLogits(what, yield logits);
    logits.dispose();
    return numbers;
  }
  const start = model.cache(maxTokens);
  try {
    if (beams > 1) {
      const search = { beams, lengthPenalty, earlyStopping, maxTokens, ends, start };
      return yield* beamSearch({
        ...search,
        *step(text, cache) {
          return processed(logShares(yield* logitsAfter(text, cache)), text);
        },
        copy: (it) => it.copy(),
        release: (it) => it.dispose(),
      });
    }
    const choose = chooser(options);
    const text: number[] = [];
    while (text.length < maxTokens) {
      const id = choose(processed(yield* logitsAfter(text, start), text), text.length);
      if (ends.has(id)) break;
      text.push(id);
      yield text.length / maxTokens;
    }
    return text;
  } finally {
    // A beam search releases its caches.
    if (beams === 1) start.dispose();
    memory.dispose();
  }
}

function checkSearch(what: string, options: TargetOptions, vocabulary: number): void {
  const {
    beams = 1,
    lengthPenalty = 1,
    noRepeat = 0,
    minTokens = 0,
    firstId = 0,
    earlyStopping = false,
  } = options;
  checkInteger(what, "beams", beams, 1);
  checkInteger(what, "noRepeat", noRepeat, 0);
  checkInteger(what, "minTokens", minTokens, 0);
  checkNumber(what, "lengthPenalty", lengthPenalty, -Infinity);
  checkKind(what, "earlyStopping", "true or false", earlyStopping);
  checkInteger(what, "firstId", firstId, 0, vocabulary - 1);
  if (beams > 1 && temperatureOf(options) > 0)
    throw new UnsupportedError(
      "beams",
      `${what}: beam search takes the most likely texts, so it has no temperature, topK, topP or minP; leave out one of them`,
    );
}

/** A function that excludes the ids that may not follow a text: their scores become −∞. */
function processor(
  { config }: EncoderDecoder,
  { noRepeat = 0, minTokens = 0, firstId = config.forced_bos_token_id, maxTokens }: TargetOptions,
  ends: ReadonlySet<number>,
): (scores: Float64Array, text: readonly number[]) => Float64Array {
  const { suppressed_ids, forced_eos_token_id: lastId, decoder_start_token_id: start } = config;
  return (scores, text) => {
    const only =
      (text.length + 1 === maxTokens ? lastId : undefined) ?? (text.length === 0 ? firstId : undefined);
    if (only !== undefined) return scores.fill(Number.NEGATIVE_INFINITY).fill(0, only, only + 1);
    const exclude = (id: number) => {
      scores[id] = Number.NEGATIVE_INFINITY;
    };
    for (const id of repeated([start, ...text], noRepeat)) exclude(id);
    for (const id of suppressed_ids) exclude(id);
    if (text.length < minTokens) for (const id of ends) exclude(id);
    return scores;
  };
}

/** The ids that would make the last `size` ids occur a second time. */
function repeated(ids: readonly number[], size: number): number[] {
  if (size === 0 || ids.length < size) return [];
  const end = ids.slice(ids.length - size + 1);
  return ids.filter((_, i) => i + 1 >= size && end.every((id, j) => ids[i + 1 - size + j] === id));
}

/** log(softmax(logits)), in place. */
function logShares(logits: Float64Array): Float64Array {
  const top = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const sum = logits.reduce((sum, x) => sum + Math.exp(x - top), 0);
  const lse = top + Math.log(sum);
  return logits.map((x) => x - lse);
}
