/** The tokenizer of a model's folder: tokenizer.json, or the files of earlier versions. */
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import type { ChatFormat } from "../chat/format.ts";
import { readSentencePiece, sentencePieceJson } from "../tokenizer/convert/sentencepiece.ts";
import { vocabMergesJson, vocabTxtJson } from "../tokenizer/convert/word-lists.ts";
import { convertedTokenizer, readTokenizer } from "../tokenizer/file.ts";
import type { Tokenizer } from "../tokenizer/index.ts";
import { type ModelFiles, readJson } from "./sources.ts";

/** Files that are a tokenizer together, in the order of preference. */
export const TOKENIZER_FILES: readonly (readonly string[])[] = [
  ["tokenizer.json"],
  ["tokenizer.model"],
  ["spiece.model"],
  ["spm.model"],
  ["sentencepiece.bpe.model"],
  ["source.spm", "vocab.json"],
  ["vocab.txt"],
  ["vocab.json", "merges.txt"],
];

/** Model types with `vocab.json` whose texts are between `<s>` and `</s>`. */
const ROBERTAS = ["roberta", "longformer", "bart", "camembert", "xlm-roberta"];

/** Model types whose ids are not those of their SentencePiece model. */
const OTHER_IDS = ["m2m_100", "mbart", "pegasus", "big_bird"];

/** Reads the tokenizer of a model of the given `model_type`. The caller knows that there is one. */
export async function readTokenizerFiles(files: ModelFiles, modelType: string): Promise<Tokenizer> {
  const list =
    TOKENIZER_FILES.find((list) => list.every((name) => files.names.includes(name))) ?? TOKENIZER_FILES[0];
  const [name] = list;
  if (name === "tokenizer.json")
    return files.inFile(name, async () => readTokenizer(await files.bytes(name)));
  const config = await settings(files);
  return files.inFile(name, async () => {
    const bytes = await files.bytes(name);
    if (name === "vocab.txt") return convertedTokenizer(name, vocabTxtJson(bytes, config));
    if (name === "vocab.json") {
      const isRoberta = ROBERTAS.includes(modelType);
      return convertedTokenizer(
        name,
        vocabMergesJson(bytes, await files.bytes("merges.txt"), { isRoberta, config }),
      );
    }
    if (OTHER_IDS.includes(modelType))
      throw new UnsupportedError(
        "tokenizer",
        `the ids of a ${modelType} are not those of its SentencePiece model, so heed reads its tokenizer.json only; write it in Python: from transformers import AutoTokenizer; AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)`,
        { modelType },
      );
    const ids = name === "source.spm" ? idsOf(await readJson(files, "vocab.json")) : undefined;
    const model = readSentencePiece(bytes, name);
    return convertedTokenizer(name, sentencePieceJson(model, { modelType, config, ids }));
  });
}

/** The ids of a vocab.json. */
function idsOf(vocab: Record<string, unknown>): Map<string, number> {
  const ids = new Map<string, number>();
  for (const [token, id] of Object.entries(vocab)) {
    if (!Number.isInteger(id))
      throw new FormatError("tokenizer", `vocab.json: the id of ${JSON.stringify(token)} is not an integer`);
    ids.set(token, id as number);
  }
  return ids;
}

/** The fields of tokenizer_config.json; none if there is no such file. */
async function settings(files: ModelFiles): Promise<Record<string, unknown>> {
  const name = "tokenizer_config.json";
  return files.names.includes(name) ? readJson(files, name) : {};
}

/** The template of conversations: chat_template.jinja, or the field of tokenizer_config.json; undefined if there is none. */
export async function readChatFormat(files: ModelFiles): Promise<ChatFormat | undefined> {
  const config = await settings(files);
  const file = "chat_template.jinja";
  const field = config.chat_template;
  // Several templates have names; the one without a purpose of its own is "default".
  const template = files.names.includes(file)
    ? new TextDecoder().decode(await files.bytes(file))
    : Array.isArray(field)
      ? (field.find((one) => one?.name === "default") ?? field[0])?.template
      : field;
  if (typeof template !== "string") return undefined;
  const tokens: Record<string, string> = {};
  for (const [name, value] of Object.entries(config)) {
    const text =
      typeof value === "object" && value !== null ? (value as { content?: unknown }).content : value;
    if (/_token$/.test(name) && typeof text === "string") tokens[name] = text;
  }
  return { template, tokens };
}
