/**
 * Models in Hugging Face's layout: config.json, the weights (open-weights.ts) and the tokenizer (tokenizer-files.ts); a GGUF file
 * (gguf.ts); the folder of a LoRA adapter (adapter.ts). From a directory (Node) or from bytes (anywhere), to a directory or to
 * bytes. Nothing is ever downloaded.
 */

import { isHalf, isStored, type StoredDType } from "../../core/dtype.ts";
import { checkArgument, checkCount, formatValue, isMap, OptionError, refuseGot } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { builtin } from "../../io/filesystem/node.ts";
import { makeFolder } from "../../io/filesystem/save.ts";
import { openGguf, type SafetensorsFile, saveFile } from "../../io/index.ts";
import { sizeLimit } from "../../io/limit.ts";
import type { Precision } from "../../nn/index.ts";
import type { ChatFormat } from "../chat/format.ts";
import type { ModelConfig } from "../config/types.ts";
import { familyOfConfig, type ModelFamily, type ModelOf } from "../families/index.ts";
import { configFields, readConfigFile } from "../families/read-config.ts";
import { findModel } from "../hub/find.ts";
import { type TextModel, textModel } from "../text-model.ts";
import { type Tokenizer, writeTokenizer } from "../tokenizer/index.ts";
import type { TransformerConfig } from "../transformer/config.ts";
import type { Architecture, DecoderModel, TransformerModel } from "../transformer/model.ts";
import { checkBytes } from "../transformer/parameters.ts";
import { planOf } from "../transformer/plan.ts";
import { type AdapterConfig, mergeAdapter, readAdapterConfig } from "./adapter.ts";
import { ggufFile, isAdapterOnly, missingFiles, refuseContents } from "./contents.ts";
import { ggufModel } from "./gguf.ts";
import type { ModelFolder } from "./locate.ts";
import { openWeights } from "./open-weights.ts";
import { filesOfFolder, filesOfMap, type ModelFiles, readJson } from "./sources.ts";
import { readChatFormat, readTokenizerFiles } from "./tokenizer-files.ts";
import type { ModelNote } from "./weights.ts";
import {
  canonicalName,
  checkComputedPositions,
  checkWeights,
  locateWeights,
  readWeights,
  writeWeights,
} from "./weights.ts";

/** Options of `readModel`. */
export interface ReadModelOptions {
  /** Dtype to compute in. 16-bit weights stay 16-bit in memory and are widened layer by layer. Default float32. */
  readonly dtype?: Precision;
  /** Maximum bytes of parameters; a larger model is rejected before anything is allocated. Default 4 GiB. */
  readonly maxBytes?: number;
  /** Name of the model; default the name of its folder, or its type. */
  readonly name?: string;
  /** The required family; it narrows the result's type: `{ family: "gpt2" }` gives a `TextModel<Gpt2>`. */
  readonly family?: ModelFamily;
  /** The required architecture; `"decoder"` gives a model that `generate` takes. */
  readonly architecture?: Architecture;
  /** Folder that must contain the shards once links are resolved; default the model's own. */
  readonly within?: string;
  /** The model that a LoRA adapter belongs to, as `findModel` takes it; default what adapter_config.json names. */
  readonly base?: string;
}

/** Names of the options that `modelFromFiles` takes. */
const READ_OPTIONS: readonly (keyof ReadModelOptions)[] = [
  "dtype", "maxBytes", "name", "family", "architecture",
]; // biome-ignore format: one list

/** Options of `writeModel`. */
export interface WriteModelOptions {
  /** Dtype of the weights in the file; default float16. */
  readonly dtype?: StoredDType;
}

const CONFIG = "config.json";
const GENERATION = "generation_config.json";
const WEIGHTS = "model.safetensors";
const TOKENIZER = "tokenizer.json";
/** `maxBytes` limits the parameters together, so single tensors have no limit. */
const UNBOUNDED = Number.POSITIVE_INFINITY;

/**
 * Opens the model in a folder (Node). Its type narrows by `family` or `architecture`, which are checked, and for the models that
 * heed ships.
 *
 * @throws FormatError, OptionError or UnsupportedError, before any large allocation; OptionError for a model of another family
 * @example
 * const { model, tokenizer } = await readModel("./SmolLM2-135M", { architecture: "decoder" });
 * for (const id of generate(model, tokenizer.ids("The whale"))) process.stdout.write(tokenizer.display(id));
 */
export function readModel<F extends ModelFamily>(
  directory: string,
  options: ReadModelOptions & { readonly family: F },
): Promise<TextModel<ModelOf<F>>>;
export function readModel(
  directory: string,
  options: ReadModelOptions & { readonly architecture: "decoder" },
): Promise<TextModel<DecoderModel>>;
export function readModel<M extends TransformerModel>(
  directory: ModelFolder<M>,
  options?: ReadModelOptions,
): Promise<TextModel<M>>;
export function readModel(directory: string, options?: ReadModelOptions): Promise<TextModel>;
export async function readModel(directory: string, options: ReadModelOptions = {}): Promise<TextModel> {
  checkCount("readModel", arguments, 2);
  const what = "readModel";
  // The results of findModel and pullModel may be passed as options.
  checkOptionNames(what, options, [...READ_OPTIONS, "within", "base", "directory", "commit", "files"]);
  const files = await filesOfFolder(what, directory, options.within);
  const { basename, resolve } = builtin<typeof import("node:path")>("node:path")!;
  return openModel(files, { name: basename(resolve(directory)), ...options });
}

/**
 * Opens a model from the bytes of its files, by file name, as in a browser. Its type narrows like that of `readModel`.
 *
 * @throws FormatError, OptionError or UnsupportedError, before any large allocation
 * @example
 * const files = new Map<string, Uint8Array>();
 * for (const name of ["config.json", "tokenizer.json", "model.safetensors"])
 *   files.set(name, new Uint8Array(await (await fetch(`/models/${name}`)).arrayBuffer()));
 * const { model } = await modelFromFiles(files, { family: "bert" });
 */
export function modelFromFiles<F extends ModelFamily>(
  files: ReadonlyMap<string, Uint8Array>,
  options: Omit<ReadModelOptions, "within" | "base"> & { readonly family: F },
): Promise<TextModel<ModelOf<F>>>;
export function modelFromFiles(
  files: ReadonlyMap<string, Uint8Array>,
  options: Omit<ReadModelOptions, "within" | "base"> & { readonly architecture: "decoder" },
): Promise<TextModel<DecoderModel>>;
export function modelFromFiles(
  files: ReadonlyMap<string, Uint8Array>,
  options?: Omit<ReadModelOptions, "within" | "base">,
): Promise<TextModel>;
export async function modelFromFiles(
  files: ReadonlyMap<string, Uint8Array>,
  options: Omit<ReadModelOptions, "within" | "base"> = {},
): Promise<TextModel> {
  checkCount("modelFromFiles", arguments, 2);
  const what = "modelFromFiles";
  checkArgument(isMap(files), what, "a Map of bytes by file name", files);
  checkOptionNames(what, options, READ_OPTIONS);
  return openModel(filesOfMap(what, files), options);
}

interface ModelParts {
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly file: SafetensorsFile;
  readonly notes: readonly ModelNote[];
  readonly chat?: ChatFormat;
}

/** Opens a model, with its adapter where there is one. config.json is read first: it says what the model is. */
async function openModel(files: ModelFiles, options: ReadModelOptions): Promise<TextModel> {
  const { what } = files;
  if (!files.names.includes("adapter_config.json"))
    return assemble(what, await openParts(files), options, files);
  const config = readAdapterConfig(await readJson(files, "adapter_config.json"));
  const base = isAdapterOnly(files.names) ? await baseFiles(files, options.base ?? config.base) : files;
  const parts = await openParts(base);
  let adapter: SafetensorsFile;
  try {
    adapter = await files.inFile(undefined, () =>
      openWeights(files, ["adapter_model.safetensors", "adapter_model.bin"]),
    );
  } catch (error) {
    await parts.file.close();
    throw error;
  }
  return assemble(what, parts, options, files, { config, file: adapter });
}

/** The files of the model that an adapter belongs to. */
async function baseFiles(files: ModelFiles, base: string | undefined): Promise<ModelFiles> {
  const { what, label } = files;
  if (base === undefined || label === "")
    throw new OptionError(
      "base",
      `${what}: the files are a LoRA adapter of ${base ?? "a model that adapter_config.json does not name"}; ${label === "" ? "add the files of that model" : "name the folder of that model as `base`"}`,
      { base },
    );
  const { directory, within } = findModel(base);
  return filesOfFolder(what, directory, within);
}

async function openParts(files: ModelFiles): Promise<ModelParts> {
  const { names, inFile } = files;
  const gguf = names.includes(CONFIG) ? undefined : ggufFile(names);
  if (gguf !== undefined) {
    const tokenizer = names.includes(TOKENIZER) ? await readTokenizerFiles(files, "") : undefined;
    return inFile(gguf, async () => {
      const file = await openGguf(await files.source(gguf), { maxBytes: UNBOUNDED });
      try {
        return { ...(await ggufModel(file, tokenizer)), notes: [] };
      } catch (error) {
        await file.close();
        throw error;
      }
    });
  }
  const missing = missingFiles(names);
  if (missing.includes(CONFIG) && files.label !== "") refuseContents(files.label, names, missing);
  const generation = names.includes(GENERATION) ? await readJson(files, GENERATION) : {};
  const { config, notes } = await inFile(CONFIG, async () =>
    readConfigFile(await files.bytes(CONFIG), generation),
  );
  if (missing.length > 0 && files.label !== "") refuseContents(files.label, names, missing);
  const modelType = String(configFields(config).model_type);
  const tokenizer = await readTokenizerFiles(files, modelType);
  const chat = await readChatFormat(files);
  return { config, notes, tokenizer, chat, file: await inFile(undefined, () => openWeights(files)) };
}

async function assemble(
  what: string,
  { config, tokenizer, file: baseFile, notes: fileNotes, chat }: ModelParts,
  { dtype = "float32", maxBytes, name, family, architecture }: ReadModelOptions,
  files: ModelFiles,
  adapter?: { readonly config: AdapterConfig; readonly file: SafetensorsFile },
): Promise<TextModel> {
  let file = baseFile;
  try {
    return await files.inFile(undefined, async () => {
      const limit = sizeLimit(what, { maxBytes });
      if (family !== undefined && family !== config.type)
        throw new OptionError(
          "family",
          `${what}: the model is of the family "${config.type}", but family is ${formatValue(family)}`,
          { got: family, actual: config.type },
        );
      const entry = familyOfConfig(config);
      const { tie_word_embeddings: tied } = config.config;
      const { names } = entry.recipe(config.config);
      if (adapter)
        file = await mergeAdapter(
          file,
          adapter.file,
          adapter.config,
          canonicalName(names, entry.files ?? {}),
        );
      await checkComputedPositions(file, entry.recipe(config.config));
      const located = await locateWeights(file, names, entry.files ?? {}, tied);
      const { hasHead, hasSpanHead, ownOutput, notes } = located;
      // An output matrix in the file is used regardless of the config; otherwise a config without the field means the embedding.
      const output =
        ownOutput || tied !== undefined ? { tie_word_embeddings: !ownOutput && tied !== false } : {};
      // A file without the bias of the logits, which is then zero.
      const { head_bias_row: hasRow = false } = config.config as Partial<TransformerConfig>;
      const noBias =
        hasRow && names.headBias !== undefined && !located.source.has(names.headBias)
          ? { names: { ...names, headBias: undefined }, head_bias_row: false }
          : {};
      const fields = { ...config.config, ...output, ...noBias };
      const plan = planOf(entry.recipe(fields), hasHead, hasSpanHead);
      checkWeights(what, file, located, plan, entry.files?.unused);
      checkBytes(what, plan, dtype, limit, (one) =>
        isHalf(file.tensors.get(located.source.get(one)!)!.dtype),
      );
      const matrix = hasHead ? `${ownOutput ? names.head : names.embedding}.weight` : undefined;
      const { parameters, notes: numbers } = await readWeights(file, located, plan, dtype, matrix);
      const model = entry.make(fields, { dtype, parameters, hasHead, hasSpanHead });
      if (architecture !== undefined && architecture !== model.architecture)
        throw new OptionError(
          "architecture",
          `${what}: the model is of the architecture "${model.architecture}", but architecture is ${formatValue(architecture)}`,
          { got: architecture, actual: model.architecture },
        );
      const tokenizerNotes = tokenizer.notes.map(
        (text) => ({ severity: "note", code: "tokenizer", text }) as const,
      );
      const merged = {
        severity: "note",
        code: "adapter",
        text: "a LoRA adapter is merged into the weights",
      } as const;
      return textModel(model, tokenizer, {
        name,
        chat,
        notes: [...fileNotes, ...tokenizerNotes, ...(adapter ? [merged] : []), ...notes, ...numbers],
      });
    });
  } finally {
    await file.close();
    // A merged file closes both.
    if (file === baseFile) await adapter?.file.close();
  }
}

/**
 * Writes a model into a folder in Hugging Face's layout (Node): config.json, model.safetensors, tokenizer.json and
 * tokenizer_config.json. Each file is written atomically, config.json last.
 *
 * @example
 * await writeModel("./copy", decoder.model, decoder.tokenizer, { dtype: "bfloat16" });
 */
export async function writeModel(
  directory: string,
  model: TransformerModel,
  tokenizer: Tokenizer,
  options: WriteModelOptions = {},
): Promise<void> {
  checkCount("writeModel", arguments, 4);
  if (typeof directory !== "string" || directory === "")
    refuseGot(
      "directory",
      'writeModel: the first argument is the path of a folder, writeModel("my-model", model, tokenizer)',
      directory,
    );
  checkOptionNames("writeModel", options, ["dtype"]);
  const files = modelToFiles(model, tokenizer, options);
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  await makeFolder(directory);
  for (const [name, bytes] of files) await saveFile(join(directory, name), bytes);
}

/**
 * The files of a model by name, in the order to write them in. A model that was read from files keeps the other fields of its
 * config.json. Throws an UnsupportedError for a `Decoder` or `Encoder` whose recipe was not read from one.
 *
 * @example
 * const files = modelToFiles(decoder.model, decoder.tokenizer);
 * [...files.keys()].includes("config.json"); // → true
 */
export function modelToFiles(
  model: TransformerModel,
  tokenizer: Tokenizer,
  options: WriteModelOptions = {},
): Map<string, Uint8Array<ArrayBuffer>> {
  checkCount("modelToFiles", arguments, 3);
  checkOptionNames("modelToFiles", options, ["dtype"]);
  const { dtype = "float16" } = options;
  const what = "writeModel";
  if (!isStored(dtype))
    throw new OptionError("dtype", `${what}: dtype must be "float32", "float16" or "bfloat16"`, {
      got: dtype,
    });
  textModel(model, tokenizer); // throws if they do not fit
  const fields = configFields(model);
  const [architecture] = Array.isArray(fields.architectures) ? fields.architectures : [];
  const answers = model.hasSpanHead === true && typeof architecture === "string";
  const config = {
    ...fields,
    ...(answers && { architectures: [architecture.replace(/For\w+$/, "ForQuestionAnswering")] }),
    torch_dtype: dtype,
  };
  const json = (value: object) => new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`);
  return new Map([
    [WEIGHTS, writeWeights(what, model.parameters(), dtype)],
    [TOKENIZER, writeTokenizer(tokenizer)],
    ["tokenizer_config.json", json(tokenizerConfig(model, tokenizer))],
    [CONFIG, json(config)],
  ]);
}

/** The roles of special tokens, for Hugging Face's tokenizers. */
function tokenizerConfig(model: TransformerModel, tokenizer: Tokenizer): object {
  const named = (name: string, token: string) => (tokenizer.id(token) === undefined ? {} : { [name]: token });
  const parts =
    tokenizer.kind === "wordpiece"
      ? {
          ...named("unk_token", "[UNK]"),
          ...named("sep_token", "[SEP]"),
          ...named("pad_token", "[PAD]"),
          ...named("cls_token", "[CLS]"),
          ...named("mask_token", "[MASK]"),
        }
      : { ...named("bos_token", "<|endoftext|>"), ...named("eos_token", "<|endoftext|>") };
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    model_max_length: model.sizes.positions,
    ...(Number(configFields(model).type_vocab_size) > 1 && {
      model_input_names: ["input_ids", "token_type_ids", "attention_mask"],
    }),
    ...parts,
  };
}
