/** Tokenizers of earlier versions: BERT's `vocab.txt`, and GPT-2's `vocab.json` with `merges.txt`, as a tokenizer.json. */
import { FormatError } from "../../../core/errors.ts";
import { asBytes, utf8 } from "../../../io/refuse.ts";
import {
  addedTokens,
  bpeModel,
  type SpecialToken,
  templatePart,
  tokenizerFile,
  wordPieceModel,
} from "./parts.ts";

const decoded = (what: string, bytes: Uint8Array): string => {
  const text = utf8(asBytes(what, bytes));
  if (text === undefined) throw new FormatError("tokenizer", `${what}: the file is not UTF-8`);
  return text;
};

/** One token a line; its id is the number of the line. Settings are those of tokenizer_config.json. */
export function vocabTxtJson(bytes: Uint8Array, config: Readonly<Record<string, unknown>> = {}): object {
  const what = "vocab.txt";
  // Only line feeds end a token: other separators are tokens of multilingual vocabularies.
  const lines = decoded(what, bytes)
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => line.replace(/\r$/, ""));
  const vocab = new Map<string, number>();
  lines.forEach((token, id) => {
    vocab.set(token, id);
  });
  const role = (name: string, usual: string) => {
    const value = config[name];
    const text =
      typeof value === "object" && value !== null ? (value as { content?: unknown }).content : value;
    return typeof text === "string" ? text : usual;
  };
  const [unknown, cls, sep, pad, mask] = [
    role("unk_token", "[UNK]"), role("cls_token", "[CLS]"), role("sep_token", "[SEP]"), role("pad_token", "[PAD]"), role("mask_token", "[MASK]"),
  ]; // biome-ignore format: one list
  const idOf = (token: string): number => {
    const id = vocab.get(token);
    if (id === undefined)
      throw new FormatError(
        "tokenizer",
        `${what}: there is no ${JSON.stringify(token)} among its ${vocab.size} tokens: not a vocabulary of WordPiece`,
        { token },
      );
    return id;
  };
  const special: SpecialToken[] = [unknown, cls, sep].map((content) => ({ content, id: idOf(content) }));
  for (const content of [pad, mask]) if (vocab.has(content)) special.push({ content, id: idOf(content) });
  const flag = (name: string, usual: boolean) =>
    typeof config[name] === "boolean" ? (config[name] as boolean) : usual;
  const strip = config.strip_accents;
  return tokenizerFile({
    added_tokens: addedTokens(special),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: flag("tokenize_chinese_chars", true),
      strip_accents: typeof strip === "boolean" ? strip : null,
      lowercase: flag("do_lower_case", true),
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: templatePart([cls, "A", sep], [cls, "A", sep, "B:1", `${sep}:1`], idOf),
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: wordPieceModel(vocab, unknown),
  });
}

/** Ids by token and merges by line: BPE over bytes. `isRoberta` puts `<s>` and `</s>` around a text. */
export function vocabMergesJson(
  vocabJson: Uint8Array,
  mergesTxt: Uint8Array,
  {
    isRoberta,
    config = {},
  }: { readonly isRoberta: boolean; readonly config?: Readonly<Record<string, unknown>> },
): object {
  let ids: unknown;
  try {
    ids = JSON.parse(decoded("vocab.json", vocabJson));
  } catch (error) {
    throw error instanceof FormatError
      ? error
      : new FormatError("tokenizer", `vocab.json: ${(error as Error).message}`);
  }
  if (typeof ids !== "object" || ids === null || Array.isArray(ids))
    throw new FormatError("tokenizer", "vocab.json: expected an object of ids by token");
  const vocab = new Map(Object.entries(ids as Record<string, number>).sort(([, a], [, b]) => a - b));
  const merges = decoded("merges.txt", mergesTxt)
    .split("\n")
    .map((line) => line.replace(/\r$/, ""))
    .filter((line, i) => line !== "" && !(i === 0 && line.startsWith("#version")));
  const prefix = config.add_prefix_space === true;
  const texts = isRoberta ? ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] : ["<|endoftext|>"];
  const special = texts.flatMap((content): SpecialToken[] => {
    const id = vocab.get(content);
    return id === undefined ? [] : [{ id, content, lstrip: content === "<mask>" }];
  });
  const [cls, sep] = ["<s>", "</s>"].map((token) => [token, vocab.get(token)] as const);
  if (isRoberta && (cls[1] === undefined || sep[1] === undefined))
    throw new FormatError("tokenizer", "vocab.json: there is no <s> or no </s>");
  return tokenizerFile({
    added_tokens: addedTokens(special),
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: prefix, trim_offsets: true, use_regex: true },
    post_processor: isRoberta
      ? {
          type: "RobertaProcessing",
          sep: [...sep],
          cls: [...cls],
          trim_offsets: true,
          add_prefix_space: prefix,
        }
      : { type: "ByteLevel", add_prefix_space: true, trim_offsets: false, use_regex: true },
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: bpeModel(vocab, merges),
  });
}
