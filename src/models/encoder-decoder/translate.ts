/**
 * Text to text with an encoder–decoder: a translation, a summary, or what else the model was trained for. The tokenizer's special
 * tokens select languages where the model has several.
 */
import { checkArgument, checkCount, OptionError, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import {
  checkSlices,
  type ReadingSlices,
  runSlices,
  SLICE_OPTIONS,
  type SliceOptions,
} from "../../core/slices.ts";
import { runNow } from "../inference/sampling.ts";
import { checkTextModel, checkWords, type TextModel, writtenText } from "../text-model.ts";
import type { EncoderDecoder } from "./encoder-decoder.ts";
import { TARGET_OPTIONS, type TargetOptions, targetSlices } from "./target.ts";

/** Options of `translate`. */
export interface TranslateOptions extends Omit<TargetOptions, "firstId"> {
  /** Language of the text, a special token of the tokenizer: `eng_Latn` (NLLB), `en_XX` (mBART). Default the tokenizer's own. */
  readonly from?: string;
  /** Language to write, in the same spelling. Default the config's. */
  readonly to?: string;
}

/** What an encoder–decoder wrote. */
export interface Translation {
  readonly text: string;
  /** Ids of the text, without the decoder's first id and the one that ends it. */
  readonly ids: readonly number[];
  /** Ids that the encoder read. */
  readonly sourceIds: Int32Array;
}

/**
 * The text that an encoder–decoder writes from a text. The text of a T5 begins with its task: "translate English to German:
 * …", "summarize: …".
 *
 * @throws UnsupportedError for another model; OptionError for a wrong option, an unknown language, a word that a vocabulary of whole words
 *   does not have, or a text that is too long
 * @example
 * const translator = await readModel(locateShipped("translator"));
 * translate(translator, "Today the man sees the dog.", { beams: 4 }).text; // → "Heute sieht der Mann den Hund."
 */
export function translate(model: TextModel, text: string, options: TranslateOptions = {}): Translation {
  checkCount("translate", arguments, 3);
  return runNow("translate", textSlices("translate", model, text, options));
}

/** Options of `translateAsync`. */
export interface TranslateAsyncOptions extends TranslateOptions, SliceOptions {}

/**
 * `translate` of a model on any device (`model.to`), one token at a time: between two of them the event loop runs.
 *
 * @param options as in `translate`; `signal` to end the call, `onProgress` for the share of `maxTokens` that is written
 * @throws rejects as `translate` throws, and with the signal's reason when it is aborted
 * @example
 * const model = await readModel("./opus-mt-en-de");
 * (await translateAsync(model, "The cat sat on the mat.", { beams: 4 })).text; // "Die Katze saß auf der Matte."
 */
export async function translateAsync(
  model: TextModel,
  text: string,
  options: TranslateAsyncOptions = {},
): Promise<Translation> {
  checkCount("translateAsync", arguments, 3);
  return await writeText("translateAsync", model, text, options);
}

/** The same for the function or the command of this name, with which errors begin. */
export async function writeText(
  what: string,
  model: TextModel,
  text: string,
  options: TranslateAsyncOptions,
): Promise<Translation> {
  checkOptionNames(what, options, [...TEXT_OPTIONS, ...SLICE_OPTIONS]);
  const { signal, onProgress, ...rest } = options;
  checkSlices(what, { signal, onProgress });
  return await runSlices(() => textSlices(what, model, text, rest), { signal, onProgress });
}

/** Names of `TranslateOptions`. */
const TEXT_OPTIONS = [...TARGET_OPTIONS.filter((name) => name !== "firstId"), "from", "to"];

function* textSlices(
  what: string,
  model: TextModel,
  text: string,
  options: TranslateOptions,
): ReadingSlices<Translation> {
  checkTextModel(what, model, { pairs: true });
  checkArgument(typeof text === "string", what, "a text", text);
  const network = encoderDecoderOf(what, model);
  checkOptionNames(what, options, TEXT_OPTIONS);
  const { from, to, ...rest } = options;
  checkWords(what, model.name, model.tokenizer, text);
  const sourceIds = sourceOf(what, model, text, from);
  const { positions } = network.encoder.sizes;
  if (sourceIds.length === 0 || sourceIds.length > positions)
    throw new OptionError(
      "text",
      sourceIds.length === 0
        ? `${what}: the text has no token; write one or more words`
        : `${what}: the text has ${sourceIds.length} tokens; ${model.name} reads at most ${positions}, so shorten it`,
      { tokens: sourceIds.length },
    );
  const firstId = to === undefined ? undefined : languageId(what, model, to);
  const target = { ...rest, ...(firstId !== undefined && { firstId }) };
  const ids = yield* targetSlices(what, network, sourceIds, target);
  return { text: writtenText(model.tokenizer, ids), ids, sourceIds };
}

/** The network of a model, which must be an encoder–decoder. */
function encoderDecoderOf(what: string, { model, name }: TextModel): EncoderDecoder {
  if (model.architecture === "encoder-decoder") return model as EncoderDecoder;
  const advice =
    model.architecture === "decoder"
      ? "a decoder, which continues a text (generateText, heed generate)"
      : "an encoder, which fills in masks (fillMask, heed fill)";
  throw new UnsupportedError(
    "architecture",
    `${what}: ${name} is ${advice}; use an encoder–decoder, such as T5, BART, Marian or NLLB`,
  );
}

function languageId(what: string, { tokenizer, name }: TextModel, language: string): number {
  const id = tokenizer.id(language);
  if (id !== undefined && tokenizer.isSpecial(id)) return id;
  throw new OptionError(
    "language",
    `${what}: ${JSON.stringify(language)} is no language of ${name}: its tokenizer has no special token of this name (they are like eng_Latn in NLLB, en_XX in mBART)`,
    { language },
  );
}

/** The ids of a source text; `from` takes the place of the language token that the tokenizer adds. */
function sourceOf(what: string, model: TextModel, text: string, from: string | undefined): Int32Array {
  const { ids, sequences } = model.tokenizer.encode(text);
  if (from === undefined) return ids;
  const id = languageId(what, model, from);
  const ends = new Set(model.model.endIds);
  const at = ids.findIndex((one, i) => sequences[i] < 0 && !ends.has(one));
  if (at < 0)
    throw new UnsupportedError(
      "language",
      `${what}: the tokenizer of ${model.name} adds no language to a text, so \`from\` has no place; write the text as the model expects it`,
    );
  return ids.map((one, i) => (i === at ? id : one));
}
