/** Loads the model of a command line, and chooses the default one. */
import { UnsupportedError } from "../../../core/errors.ts";
import { locateShipped } from "../../../models/files/locate.ts";
import { type FoundModel, findModel, knownModels } from "../../../models/hub/find.ts";
import type { ImageModel } from "../../../models/images/image-model.ts";
import type { Pooling } from "../../../models/inference/embed.ts";
import type { AttentionModel, TextModel, TextTokens } from "../../../models/text-model.ts";
import { type Io, UsageError } from "../line/command.ts";
import { didYouMean } from "../line/suggest.ts";

/** Help of `--model`. */
export const MODEL_HELP =
  "MODEL  encoder, decoder or translator (the package's own), a model's folder, or ORG/NAME in Hugging Face's cache (default: encoder)";

/** The two arguments of a command that takes a model and one more. `wanted` describes that one, with an example, for the error. */
export function modelAndText(positionals: readonly string[], wanted: string): readonly [string, string] {
  const [name, text, ...more] = positionals;
  if (name === undefined || text === undefined || more.length > 0)
    throw new UsageError(`name a model and ${wanted}`);
  return [name, text];
}

/** The model of a name or a folder, as in `findModel`; by default the first of the package's own models that is installed. */
export async function pickModel(name: string | undefined, io: Pick<Io, "stderr">): Promise<TextModel> {
  return pickTextModel(name ?? shipped(), io);
}

/** The folder of a model, as in `findModel`; the error about a model that is missing suggests one with a similar name. */
function find(name: string): FoundModel {
  try {
    return findModel(name);
  } catch (error) {
    if (!(error instanceof UnsupportedError && error.code === "model-missing")) throw error;
    // The name of a shipped model is right; heed-models is missing.
    const names = knownModels();
    const guess = names.includes(name) ? "" : didYouMean(name, names);
    throw guess === "" ? error : new UnsupportedError(error.code, error.message + guess, error.fields);
  }
}

/** The folder of a model. */
export const findFolder = (name: string): string => find(name).directory;

/** The model of a name or a folder, as in `findModel`, on the device of `--device`. */
export async function pickTextModel(name: string, io: Pick<Io, "stderr" | "device">): Promise<TextModel> {
  const { directory, within, name: label } = find(name);
  const { readModel } = await import("../../../models/files/files.ts");
  return placed(await readModel(directory, { within, name: label }), io);
}

/** A model on the device of `--device`. Notes about its weights go to stderr, one per line. */
async function placed<M extends TextModel | ImageModel>(
  model: M,
  io: Pick<Io, "stderr" | "device">,
): Promise<M> {
  for (const { severity, text } of model.notes) io.stderr.write(`${severity}: ${model.name}: ${text}\n`);
  if (io.device) await model.model.to(io.device);
  return model;
}

/** The model of pictures of a name or a folder, on the device of `--device`. */
export async function pickImageModel(name: string, io: Pick<Io, "stderr" | "device">): Promise<ImageModel> {
  const { directory, within, name: label } = find(name);
  const { readImageModel } = await import("../../../models/images/image-model.ts");
  return placed(await readImageModel(directory, { within, name: label }), io);
}

/** A model with its pooling, or the default of its architecture. */
export async function pickSentenceModel(
  name: string,
  io: Pick<Io, "stderr" | "device">,
): Promise<{ model: TextModel; pooling: Pooling }> {
  const directory = findFolder(name);
  const { defaultPooling, readPooling } = await import("../../../models/inference/embed.ts");
  const pooling = await readPooling(directory);
  const model = await pickTextModel(name, io);
  return { model, pooling: pooling ?? defaultPooling(model) };
}

/** Tokens of a text that `embedTexts` leaves out, and the maximum that it reads. */
export function sentenceCuts(
  model: TextModel,
  { maxTokens, lowercase }: Pooling,
  text: string,
): { readonly maxTokens: number; readonly leftOut: number } {
  const { ids, leftOut } = model.tokenize(lowercase ? text.toLowerCase() : text);
  const limit = Math.min(model.maxTokens, maxTokens ?? model.maxTokens);
  return { maxTokens: limit, leftOut: leftOut + Math.max(0, ids.length - limit) };
}

/** A sentence about the tokens of a text that its model does not read; undefined if there are none. */
export function cutsOf(
  { name, maxTokens }: Pick<AttentionModel, "name" | "maxTokens">,
  { leftOut }: Pick<TextTokens, "leftOut">,
): string | undefined {
  return leftOut > 0 ? `${name} reads at most ${maxTokens} tokens; ${leftOut} are left out` : undefined;
}

/** Warns where a text has more tokens than its model reads; `where` is the text's place in a file. */
export function warnOfCuts(
  model: Pick<AttentionModel, "name" | "maxTokens">,
  text: Pick<TextTokens, "leftOut">,
  io: Pick<Io, "stderr">,
  where = "",
): void {
  const cuts = cutsOf(model, text);
  if (cuts !== undefined) io.stderr.write(`warning: ${where}${cuts}\n`);
}

function shipped(): string {
  for (const which of ["encoder", "decoder"] as const)
    try {
      locateShipped(which);
      return which;
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error;
    }
  return "encoder";
}
