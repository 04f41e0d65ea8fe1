/** The tokenizer in the header of a GGUF file as a tokenizer.json (ggml-org/llama.cpp, src/llama-vocab.cpp). */
import { FormatError, UnsupportedError } from "../../../core/errors.ts";
import type { GgufValue } from "../../../io/index.ts";
import { quote } from "../../../io/refuse.ts";
import { GPT2_PATTERN } from "../bytes.ts";
import { addedTokens, bpeModel, type SpecialToken, templatePart, tokenizerFile } from "./parts.ts";
import { type SentencePieceModel, sentencePieceJson } from "./sentencepiece.ts";
import { vocabTxtJson } from "./word-lists.ts";

type Values = ReadonlyMap<string, GgufValue>;

const WHAT = "GGUF tokenizer";
const PREFIX = "tokenizer.ggml.";
/** Kinds of tokens. */
const [UNKNOWN, CONTROL, USER_DEFINED] = [2, 3, 4];

const LLAMA3 =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const QWEN2 = LLAMA3.replace("\\p{N}{1,3}", "\\p{N}");

/** How a text is split before BPE, by `tokenizer.ggml.pre`. */
interface Split {
  readonly patterns: readonly string[];
  readonly digits?: boolean;
  readonly nfc?: boolean;
  readonly ignoreMerges?: boolean;
  readonly addsBos?: boolean;
}
const GPT2: Split = { patterns: [GPT2_PATTERN] };
const SPLITS: Readonly<Record<string, Split>> = {
  "gpt-2": GPT2, olmo: GPT2, "phi-2": GPT2, mpt: GPT2, jais: GPT2, exaone: GPT2,
  "llama-bpe": { patterns: [LLAMA3], ignoreMerges: true, addsBos: true },
  llama3: { patterns: [LLAMA3], ignoreMerges: true, addsBos: true },
  qwen2: { patterns: [QWEN2], nfc: true },
  "deepseek-r1-qwen": { patterns: [QWEN2], nfc: true },
  smollm: { patterns: [GPT2_PATTERN], digits: true },
  starcoder: { patterns: [GPT2_PATTERN], digits: true },
  refact: { patterns: [GPT2_PATTERN], digits: true },
  "command-r": { patterns: [GPT2_PATTERN], digits: true },
}; // biome-ignore format: a table

function texts(values: Values, name: string): readonly string[] {
  const list = values.get(PREFIX + name);
  if (Array.isArray(list) && list.every((one) => typeof one === "string")) return list as string[];
  throw new FormatError("gguf-tokenizer", `${WHAT}: ${PREFIX}${name} must be a list of texts`);
}

function numbers(values: Values, name: string, count: number, usual: number): readonly number[] {
  const list = values.get(PREFIX + name);
  if (list === undefined) return Array(count).fill(usual);
  if (Array.isArray(list) && list.length === count && list.every((one) => typeof one === "number"))
    return list as number[];
  throw new FormatError("gguf-tokenizer", `${WHAT}: ${PREFIX}${name} must be a list of ${count} numbers`);
}

function flag(values: Values, name: string, usual: boolean): boolean {
  const value = values.get(PREFIX + name);
  return typeof value === "boolean" ? value : usual;
}

/** The tokenizer.json of a header. Throws an UnsupportedError for a kind that heed does not have. */
export function ggufTokenizerJson(values: Values): object {
  const model = values.get(`${PREFIX}model`);
  const tokens = texts(values, "tokens");
  if (tokens.length === 0) throw new FormatError("gguf-tokenizer", `${WHAT}: ${PREFIX}tokens has no tokens`);
  const kinds = numbers(values, "token_type", tokens.length, 1);
  const id = (name: string): number | undefined => {
    const value = values.get(`${PREFIX}${name}_token_id`);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < tokens.length)
      return value;
    throw new FormatError(
      "gguf-tokenizer",
      `${WHAT}: ${PREFIX}${name}_token_id must be an id below ${tokens.length}`,
    );
  };
  if (model === "bert") {
    // A piece that begins a word has a mark; one inside a word has none.
    const lines = tokens.map((token) =>
      token.startsWith("▁") ? token.slice(1) : /^\[.*\]$/.test(token) ? token : `##${token}`,
    );
    return vocabTxtJson(new TextEncoder().encode(lines.join("\n")), {});
  }
  if (model === "llama" || model === "t5") {
    const scores = numbers(values, "scores", tokens.length, 0);
    const charsmap = values.get(`${PREFIX}precompiled_charsmap`);
    const sentencePiece: SentencePieceModel = {
      kind: model === "llama" ? "BPE" : "Unigram",
      pieces: tokens.map((text, i) => ({ text, score: scores[i], kind: kinds[i] })),
      unknown: id("unknown") ?? Math.max(0, kinds.indexOf(UNKNOWN)),
      first: id("bos") ?? -1,
      last: id("eos") ?? -1,
      byteFallback: model === "llama",
      charsmap: Array.isArray(charsmap) ? Uint8Array.from(charsmap as number[]) : new Uint8Array(),
      addPrefix: flag(values, "add_space_prefix", true),
      removeSpaces: flag(values, "remove_extra_whitespaces", false),
    };
    const config = {
      add_bos_token: flag(values, "add_bos_token", model === "llama"),
      add_eos_token: flag(values, "add_eos_token", model === "t5"),
      extra_ids: 0,
    };
    return sentencePieceJson(sentencePiece, { modelType: model === "t5" ? "t5" : "llama", config });
  }
  if (model !== "gpt2")
    throw new UnsupportedError(
      "gguf-tokenizer",
      `${WHAT}: ${PREFIX}model is ${quote(String(model))}; heed reads llama, gpt2, bert and t5`,
      { got: model },
    );
  const pre = String(values.get(`${PREFIX}pre`) ?? "gpt-2").replace(/^default$/, "gpt-2");
  const split = Object.hasOwn(SPLITS, pre) ? SPLITS[pre] : undefined;
  if (split === undefined)
    throw new UnsupportedError(
      "gguf-tokenizer",
      `${WHAT}: ${PREFIX}pre is ${quote(pre)}; heed has ${Object.keys(SPLITS).join(", ")}. Put the model's tokenizer.json beside the file`,
      { got: pre },
    );
  const vocab = new Map(tokens.map((token, i) => [token, i]));
  const special = tokens.flatMap((content, i): SpecialToken[] =>
    kinds[i] === CONTROL || kinds[i] === USER_DEFINED
      ? [{ id: i, content, special: kinds[i] === CONTROL }]
      : [],
  );
  const [bos, eos] = [id("bos"), id("eos")];
  const around = (isAdded: boolean, token: number | undefined) =>
    isAdded && token !== undefined ? [tokens[token]] : [];
  const start = around(flag(values, "add_bos_token", split.addsBos ?? false), bos);
  const end = around(flag(values, "add_eos_token", false), eos);
  const single = [...start, "A", ...end];
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  return tokenizerFile({
    added_tokens: addedTokens(special),
    normalizer: split.nfc ? { type: "NFC" } : null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        ...(split.digits ? [{ type: "Digits", individual_digits: true }] : []),
        ...split.patterns.map((Regex) => ({
          type: "Split",
          pattern: { Regex },
          behavior: "Isolated",
          invert: false,
        })),
        byteLevel,
      ],
    },
    post_processor:
      single.length === 1
        ? { ...byteLevel, trim_offsets: false }
        : templatePart(
            single,
            [...single, ...single.map((name) => `${name === "A" ? "B" : name}:1`)],
            (name) => vocab.get(name) as number,
          ),
    decoder: { ...byteLevel, add_prefix_space: true },
    model: bpeModel(vocab, texts(values, "merges"), { ignore_merges: split.ignoreMerges ?? false }),
  });
}
