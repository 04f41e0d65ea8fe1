/** The tokenizer of a model's folder: tokenizer.json, or the files of earlier versions. */
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
  ["sentencepiece.bpe.model"],
  ["vocab.txt"],
  ["vocab.json", "merges.txt"],
];

/** Model types with `vocab.json` whose texts are between `<s>` and `</s>`. */
const ROBERTAS = ["roberta", "longformer", "bart", "camembert", "xlm-roberta"];

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
    return convertedTokenizer(name, sentencePieceJson(readSentencePiece(bytes, name), { modelType, config }));
  });
}

/** The fields of tokenizer_config.json; none if there is no such file. */
async function settings(files: ModelFiles): Promise<Record<string, unknown>> {
  const name = "tokenizer_config.json";
  return files.names.includes(name) ? readJson(files, name) : {};
}
