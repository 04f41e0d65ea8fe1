/**
 * Models as Hugging Face keeps them: config.json, model.safetensors (or shards with their index) and tokenizer.json. From a
 * directory (Node) or from bytes (anywhere), to a directory or to bytes. Nothing is ever downloaded.
 */
import { OptionError } from "../core/errors.ts";
import { openSafetensors, type SafetensorsFile, saveFile } from "../io/index.ts";
import { checkSize, sizeLimit } from "../io/limit.ts";
import { builtin, fileError, fileSystem } from "../io/node.ts";
import type { Precision } from "../nn/index.ts";
import { configFields, type ModelConfig, readConfig } from "./config.ts";
import type { TransformerModel } from "./families/model.ts";
import { checkBytes, isHalf } from "./parameters.ts";
import { pageOf } from "./registry.ts";
import { type TextModel, textModel } from "./text-model.ts";
import { readTokenizer, type Tokenizer, writeTokenizer } from "./tokenizer/index.ts";
import { checkWeights, locateWeights, readWeights, writeWeights } from "./weights.ts";

/** How to open a model. */
export interface ReadModelOptions {
  /** Dtype to compute in. Weights of 16 bits stay so in memory and are widened layer by layer. Default float32. */
  readonly dtype?: Precision;
  /** Maximum bytes of parameters; a larger model is rejected before anything is allocated. Default 4 GiB. */
  readonly maxBytes?: number;
  /** What the model is called; by default the name of its folder, or its type. */
  readonly name?: string;
  /** Folder that shards may lie in once links are followed; by default the model's own. */
  readonly within?: string;
}

/** How to write a model. */
export interface WriteModelOptions {
  /** Dtype of the weights in the file; default float16. */
  readonly dtype?: "float32" | "float16" | "bfloat16";
}

const CONFIG = "config.json";
const WEIGHTS = "model.safetensors";
const INDEX = "model.safetensors.index.json";
const TOKENIZER = "tokenizer.json";
/** Largest config.json or tokenizer.json that is read into memory. */
const MAX_TEXT = 64 * 2 ** 20;
/** `maxBytes` bounds the parameters together, so no tensor is bounded by itself. */
const UNBOUNDED = Number.POSITIVE_INFINITY;

/** Opens the model in a folder (Node). Throws FormatError, OptionError or UnsupportedError, before any large allocation. */
export async function readModel(directory: string, options: ReadModelOptions = {}): Promise<TextModel> {
  const what = "readModel";
  const fs = fileSystem(what);
  const { basename, join, resolve } = builtin<typeof import("node:path")>("node:path")!;
  const read = async (name: string): Promise<Uint8Array> => {
    const path = join(directory, name);
    try {
      const { size } = await fs.stat(path);
      checkSize(what, path, size, MAX_TEXT);
      return await fs.readFile(path);
    } catch (error) {
      throw fileError(what, "read", path, error);
    }
  };
  const parts = { config: readConfig(await read(CONFIG)), tokenizer: readTokenizer(await read(TOKENIZER)) };
  const file = await openSafetensors(directory, { within: options.within, maxBytes: UNBOUNDED });
  return assemble(what, parts, file, { name: basename(resolve(directory)), ...options });
}

/** Opens a model from the bytes of its files, by file name: what a page has. */
export async function modelFromFiles(
  files: ReadonlyMap<string, Uint8Array>,
  options: Omit<ReadModelOptions, "within"> = {},
): Promise<TextModel> {
  const what = "modelFromFiles";
  const take = (name: string): Uint8Array => {
    const bytes = files.get(name);
    if (bytes === undefined)
      throw new OptionError(
        "files",
        `${what}: ${name} is missing; there are ${[...files.keys()].join(", ") || "no files"}`,
        {
          name,
        },
      );
    return bytes;
  };
  const parts = { config: readConfig(take(CONFIG)), tokenizer: readTokenizer(take(TOKENIZER)) };
  const file = files.has(INDEX)
    ? await openSafetensors(take(INDEX), { shard: take, maxBytes: UNBOUNDED })
    : await openSafetensors(take(WEIGHTS), { maxBytes: UNBOUNDED });
  return assemble(what, parts, file, options);
}

async function assemble(
  what: string,
  { config, tokenizer }: { config: ModelConfig; tokenizer: Tokenizer },
  file: SafetensorsFile,
  { dtype = "float32", maxBytes, name }: ReadModelOptions,
): Promise<TextModel> {
  try {
    const limit = sizeLimit(what, { maxBytes });
    const { naming, plan: planOf, make } = pageOf(config.type);
    const { tie_word_embeddings: tied } = config.config;
    const located = await locateWeights(file, naming, tied);
    const { hasHead, ownOutput, notes } = located;
    // An own matrix is used whatever the config says; without one a config that is silent means the embedding.
    const fields =
      ownOutput || tied !== undefined ? { tie_word_embeddings: !ownOutput && tied !== false } : {};
    const own = { ...config.config, ...fields };
    const plan = planOf(own, hasHead);
    checkWeights(what, file, located, plan);
    checkBytes(what, plan, dtype, limit, (one) => isHalf(file.tensors.get(located.source.get(one)!)!));
    const { matrix, table } = naming.output;
    const output = hasHead ? (ownOutput ? matrix : table) : undefined;
    const { parameters, notes: numbers } = await readWeights(file, located, plan, dtype, output);
    const model = make(own, { dtype, parameters, hasHead });
    return textModel(model, tokenizer, { name, notes: [...notes, ...numbers] });
  } finally {
    await file.close();
  }
}

/**
 * Writes a model into a folder in Hugging Face's layout (Node): config.json, model.safetensors, tokenizer.json and
 * tokenizer_config.json. Each file is written whole or not at all, config.json last.
 */
export async function writeModel(
  directory: string,
  model: TransformerModel,
  tokenizer: Tokenizer,
  options: WriteModelOptions = {},
): Promise<void> {
  const files = modelToFiles(model, tokenizer, options);
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  try {
    await fileSystem("writeModel").mkdir(directory, { recursive: true });
  } catch (error) {
    throw fileError("writeModel", "make the folder", directory, error);
  }
  for (const [name, bytes] of files) await saveFile(join(directory, name), bytes);
}

/**
 * The files of a model by name, in the order in which they are best written. Throws an UnsupportedError for families that heed only
 * reads: it writes bert and gpt2.
 */
export function modelToFiles(
  model: TransformerModel,
  tokenizer: Tokenizer,
  { dtype = "float16" }: WriteModelOptions = {},
): Map<string, Uint8Array<ArrayBuffer>> {
  const what = "writeModel";
  if (dtype !== "float32" && dtype !== "float16" && dtype !== "bfloat16")
    throw new OptionError("dtype", `${what}: dtype must be "float32", "float16" or "bfloat16"`, {
      got: dtype,
    });
  textModel(model, tokenizer); // that they fit
  const config = {
    ...configFields({ type: model.type, config: model.config } as ModelConfig),
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

/** Which token plays which part, for Hugging Face's tokenizers. */
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
  const most = model.sizes.positions;
  return { tokenizer_class: "PreTrainedTokenizerFast", model_max_length: most, ...parts };
}
