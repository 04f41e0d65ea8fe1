/**
 * `tokenizer.json`, Hugging Face's tokenizer format. The two kinds that heed trains, GPT-2's byte-level BPE and BERT's WordPiece,
 * are read here; every other file is read step by step (pipeline/). Reading is strict: a setting that heed would treat
 * differently from the library that wrote it is an error that names it. heed/io's scanner limits duplicate keys, depth and size.
 * `truncation` and `padding` are options of a call, and are ignored. https://github.com/huggingface/tokenizers (tokenizers/src,
 * `Serialize` of each part).
 */
import { checkArgument, checkCount } from "../../core/errors.ts";
import { type Json, scanObject } from "../../io/json.ts";
import { checkSize, type SizeLimit, sizeLimit } from "../../io/limit.ts";
import { asBytes, quote, type Refuse, refuser } from "../../io/refuse.ts";
import type { AddedToken } from "./added.ts";
import { BYTE_CHARACTERS, GPT2_PATTERN } from "./bytes.ts";
import { jsonValue } from "./convert/parts.ts";
import { readPipeline } from "./pipeline/index.ts";
import { ConfigPart, shown } from "./pipeline/part.ts";
import { readPostProcessor } from "./pipeline/post.ts";
import type { TokenizerSpec } from "./spec.ts";
import { Tokenizer } from "./tokenizer.ts";

/** Default of `maxBytes`. */
const MAX_FILE = 64 * 2 ** 20;

/** Throws a FormatError that names the offset in the file and the problem. */
type No = (what: string) => never;

/**
 * Reads a `tokenizer.json`.
 *
 * @throws FormatError that names the part that heed cannot read; UnsupportedError for a file of more than `maxBytes` (default 64
 *   MiB)
 *
 * @example
 * const tokenizer = readTokenizer(readFileSync(`${locateShipped("decoder")}/tokenizer.json`));
 * tokenizer.size; // → 1024
 */
export function readTokenizer(json: Uint8Array | ArrayBuffer | string, options: SizeLimit = {}): Tokenizer {
  checkCount("readTokenizer", arguments, 2);
  checkArgument(
    typeof json !== "string" || /^\s*([{[]|$)/.test(json),
    "readTokenizer",
    "the text or the bytes of a tokenizer.json, such as readFileSync(path)",
    json,
  );
  const bytes = typeof json === "string" ? new TextEncoder().encode(json) : asBytes("readTokenizer", json);
  const refuse = refuser("readTokenizer");
  checkSize("readTokenizer", "the file", bytes.length, sizeLimit("readTokenizer", options, MAX_FILE));
  const parts = new Map<string, Part>();
  scanObject(bytes, refuse, (name, value, at) => parts.set(name, { name, value, at }), { numbers: "finite" });
  return tokenizerOf(parts, bytes.length, refuse);
}

/** A tokenizer of the parts of a tokenizer.json that was made from the file `what`. */
export function convertedTokenizer(what: string, json: object): Tokenizer {
  const parts = new Map(
    Object.entries(json).map(([name, value]) => [name, { name, value: jsonValue(value), at: 0 }]),
  );
  return tokenizerOf(parts, 0, refuser(what));
}

function tokenizerOf(parts: ReadonlyMap<string, Part>, end: number, refuse: Refuse): Tokenizer {
  const part = <T>(name: string, read: (value: Json, no: No) => T): T => {
    const entry = parts.get(name);
    // A missing part is read as null; errors say which of the two it is.
    const shownAs = (what: string) => (entry === undefined ? what.replace(/got null$/, "got nothing") : what);
    return read(entry?.value ?? null, (what) =>
      refuse("tokenizer", entry?.at ?? end, `${name}: ${shownAs(what)}`),
    );
  };

  part("version", (value, no) => {
    if (value !== null && value !== "1.0") no(`expected "1.0", got ${shown(value)}`);
  });
  const file = new Map([...parts].map(([name, { value }]) => [name, value]));
  if (!isShort(file)) {
    const pipeline = readPipeline(part, file);
    const { model, post } = pipeline;
    const added = part("added_tokens", (value, no) => readAdded(value, { kind: "pipeline" }, no));
    return new Tokenizer({ kind: "pipeline", vocab: model.vocab, pipeline, added, template: post.template });
  }
  const model = part("model", readModel);
  const added = part("added_tokens", (value, no) => readAdded(value, model, no));
  const template = part("post_processor", (value, no) =>
    value === null ? undefined : readPostProcessor(new ConfigPart(value, no)).template,
  );
  if (model.kind === "bpe") {
    const addPrefixSpace = part("pre_tokenizer", readByteLevel);
    return new Tokenizer({ ...model, addPrefixSpace, added, template });
  }
  const normalizer = part("normalizer", (value, no) => {
    const it = value as Fields;
    return {
      cleanText: flag(it, "clean_text", no),
      handleChineseChars: flag(it, "handle_chinese_chars", no),
      stripAccents: it.get("strip_accents") === null ? null : flag(it, "strip_accents", no),
      lowercase: flag(it, "lowercase", no),
    };
  });
  const cleanup = part("decoder", (value, no) => {
    const it = value as Fields;
    if (it.get("prefix") !== model.prefix) no(`prefix must be the model's, ${quote(model.prefix)}`);
    return flag(it, "cleanup", no);
  });
  return new Tokenizer({ ...model, normalizer, cleanup, added, template });
}

type Fields = ReadonlyMap<string, Json>;

const typeOf = (value: Json | undefined) => (value instanceof Map ? value.get("type") : undefined);

/** The type of a model. Files of early versions have none: a model is known by its fields. */
const modelType = (model: Fields) =>
  model.get("type") ??
  (model.has("merges") ? "BPE" : model.has("max_input_chars_per_word") ? "WordPiece" : undefined);

/** True for the two kinds that are not read step by step: the types of their parts are then known. The readers below report other errors. */
function isShort(file: Fields): boolean {
  const get = (name: string) => file.get(name);
  const model = get("model");
  if (!(model instanceof Map)) return true;
  const post = get("post_processor");
  const plainPost =
    post == null ||
    typeOf(post) === "TemplateProcessing" ||
    (typeOf(post) === "ByteLevel" && (post as Fields).get("trim_offsets") === false);
  const added = get("added_tokens");
  const normalized =
    Array.isArray(added) && added.some((one) => one instanceof Map && one.get("normalized") === true);
  const decoder = typeOf(get("decoder"));
  const cut = get("pre_tokenizer");
  const type = modelType(model);
  if (type === "WordPiece")
    return (
      typeOf(get("normalizer")) === "BertNormalizer" &&
      typeOf(cut) === "BertPreTokenizer" &&
      decoder === "WordPiece" &&
      (post == null || typeOf(post) === "TemplateProcessing") &&
      !normalized
    );
  const vocab = model.get("vocab");
  return (
    type === "BPE" &&
    get("normalizer") == null &&
    isGpt2Cut(cut) &&
    decoder === "ByteLevel" &&
    plainPost &&
    BPE_SETTINGS.every(([name, allowed]) => !model.has(name) || allowed.includes(model.get(name) as null)) &&
    vocab instanceof Map &&
    BYTE_CHARACTERS.every((character) => vocab.has(character))
  );
}

/** True for GPT-2's pre-tokenizer, as a ByteLevel or as a Split with the same pattern. */
function isGpt2Cut(cut: Json | undefined): boolean {
  if (typeOf(cut) === "ByteLevel") return (cut as Fields).get("use_regex") !== false;
  const steps = typeOf(cut) === "Sequence" ? (cut as Fields).get("pretokenizers") : undefined;
  const [split, level] = Array.isArray(steps) && steps.length === 2 ? steps : [];
  if (!(split instanceof Map && level instanceof Map)) return false;
  if (typeOf(split) !== "Split" || typeOf(level) !== "ByteLevel") return false;
  const pattern = split.get("pattern");
  return (
    pattern instanceof Map &&
    pattern.get("Regex") === GPT2_PATTERN &&
    split.get("behavior") === "Isolated" &&
    split.get("invert") === false &&
    level.get("use_regex") === false &&
    level.get("add_prefix_space") === false
  );
}

interface Part {
  readonly name: string;
  readonly value: Json;
  readonly at: number;
}

type BpeModel = Pick<TokenizerSpec & { kind: "bpe" }, "kind" | "vocab" | "merges">;
type WordPieceModel = Pick<
  TokenizerSpec & { kind: "wordpiece" },
  "kind" | "vocab" | "unknown" | "prefix" | "maxCharacters"
>;

function readModel(value: Json, no: No): BpeModel | WordPieceModel {
  const it = object(value, no);
  const vocab = readVocabulary(it.get("vocab"), no);
  if (modelType(it) === "WordPiece") {
    const prefix = it.get("continuing_subword_prefix");
    const unknown = it.get("unk_token");
    const maxCharacters = it.get("max_input_chars_per_word");
    if (typeof prefix !== "string") return no("continuing_subword_prefix must be a text");
    if (typeof unknown !== "string") return no("unk_token must be a text");
    if (typeof maxCharacters !== "number" || !Number.isInteger(maxCharacters) || maxCharacters < 1)
      return no("max_input_chars_per_word must be an integer ≥ 1");
    return { kind: "wordpiece", vocab, unknown, prefix, maxCharacters };
  }
  const merges = it.get("merges");
  if (!Array.isArray(merges)) return no("merges must be a list");
  return { kind: "bpe", vocab, merges: merges.map((merge, i) => readMerge(merge, i, no)) };
}

/** The BPE settings that heed computes: no dropout, no marks inside words, no fallback, since every byte is a token. */
const BPE_SETTINGS: readonly (readonly [string, readonly (null | string | boolean)[]])[] = [
  ["dropout", [null]],
  ["continuing_subword_prefix", [null, ""]],
  ["end_of_word_suffix", [null, ""]],
  ["fuse_unk", [false]],
  ["byte_fallback", [false]],
  ["ignore_merges", [false]],
];

function readVocabulary(value: Json | undefined, no: No): Map<string, number> {
  if (!(value instanceof Map)) return no("vocab must be an object");
  // `for … of` over a Map allocates an array for each entry: 10 MB for 30,000 tokens, by which V8's heap grows permanently.
  value.forEach((id, token) => {
    if (typeof id !== "number" || !Number.isInteger(id))
      no(`vocab: the id of ${quote(token)} is ${shown(id)}`);
  });
  return value as Map<string, number>;
}

/** A merge, `"a b"` or `["a", "b"]`. */
function readMerge(value: Json, place: number, no: No): readonly [string, string] {
  const pair = typeof value === "string" ? value.split(" ") : value;
  if (Array.isArray(pair) && pair.length === 2 && pair.every((one) => typeof one === "string" && one !== ""))
    return pair as [string, string];
  return no(`merge ${place} must be two tokens, got ${shown(value)}`);
}

/** Whether GPT-2's pre-tokenizer, as a ByteLevel or as a Split with the same pattern, prepends a space. */
function readByteLevel(value: Json, no: No): boolean {
  const cut = value as Fields;
  if (cut.get("type") === "Sequence") return false;
  if (cut.has("use_regex")) flag(cut, "use_regex", no);
  return flag(cut, "add_prefix_space", no);
}

function readAdded(value: Json, { kind }: { kind: string }, no: No): AddedToken[] {
  if (value === null) return [];
  if (!Array.isArray(value)) return no("expected a list");
  return value.map((one, i) => {
    const it = object(one, (what) => no(`token ${i}: ${what}`));
    const [id, content] = [it.get("id"), it.get("content")];
    if (typeof id !== "number" || typeof content !== "string")
      return no(`token ${i} has no id or no content`);
    const inside: No = (what) => no(`${quote(content)}: ${what}`);
    const normalized = it.has("normalized") && flag(it, "normalized", inside);
    return {
      // Without a normalizer the normalized text is the text.
      ...(normalized && kind === "pipeline" && { normalized }),
      id,
      content,
      special: flag(it, "special", inside),
      singleWord: flag(it, "single_word", inside),
      lstrip: flag(it, "lstrip", inside),
      rstrip: flag(it, "rstrip", inside),
    };
  });
}

function object(value: Json, no: No): Fields {
  return value instanceof Map ? value : no(`expected an object, got ${shown(value)}`);
}

function flag(it: Fields, name: string, no: No): boolean {
  const value = it.get(name);
  return typeof value === "boolean" ? value : no(`${name} must be true or false, got ${shown(value)}`);
}
