/**
 * Writes a tokenizer as `tokenizer.json`, as Hugging Face's library does and can read: the same parts in the same order, indented
 * by two spaces. Equal tokenizers give equal bytes.
 */
import { checkArgument, checkCount } from "../../core/errors.ts";
import { bpeModel, tokenizerFile, wordPieceModel } from "./convert/parts.ts";
import type { Slot, Template } from "./template.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * The bytes of a `tokenizer.json`.
 *
 * @example
 * writeFileSync("tokenizer.json", writeTokenizer(decoder.tokenizer));
 */
export function writeTokenizer(tokenizer: Tokenizer): Uint8Array<ArrayBuffer> {
  checkCount("writeTokenizer", arguments, 1);
  checkArgument(
    (tokenizer as Partial<Tokenizer> | undefined)?.spec !== undefined,
    "writeTokenizer",
    "a Tokenizer",
    tokenizer,
  );
  const { spec } = tokenizer;
  // Files of other libraries are written back unchanged.
  if (spec.kind === "pipeline") return new TextEncoder().encode(`${jsonOf(spec.pipeline.file, "")}\n`);
  const byteLevel = (addPrefixSpace: boolean) => ({
    type: "ByteLevel",
    add_prefix_space: addPrefixSpace,
    trim_offsets: false,
    use_regex: true,
  });
  const vocab = new Map([...spec.vocab].sort(([, a], [, b]) => a - b));
  const template = spec.template && templateJson(spec.template);
  const parts =
    spec.kind === "bpe"
      ? {
          normalizer: null,
          pre_tokenizer: byteLevel(spec.addPrefixSpace),
          post_processor: template ?? byteLevel(true),
          decoder: byteLevel(true),
          model: bpeModel(
            vocab,
            spec.merges.map(([a, b]) => `${a} ${b}`),
          ),
        }
      : {
          normalizer: {
            type: "BertNormalizer",
            clean_text: spec.normalizer.cleanText,
            handle_chinese_chars: spec.normalizer.handleChineseChars,
            strip_accents: spec.normalizer.stripAccents,
            lowercase: spec.normalizer.lowercase,
          },
          pre_tokenizer: { type: "BertPreTokenizer" },
          post_processor: template ?? null,
          decoder: { type: "WordPiece", prefix: spec.prefix, cleanup: spec.cleanup },
          model: wordPieceModel(vocab, spec.unknown, spec.prefix, spec.maxCharacters),
        };
  const file = tokenizerFile({
    added_tokens: [...spec.added]
      .sort((a, b) => a.id - b.id)
      .map(({ id, content, singleWord, lstrip, rstrip, special }) => ({
        id,
        content,
        single_word: singleWord,
        lstrip,
        rstrip,
        normalized: false,
        special,
      })),
    ...parts,
  });
  return new TextEncoder().encode(`${jsonOf(file, "")}\n`);
}

/** JSON, indented by two spaces, with Maps in their own order: an object would put tokens that are numbers first. */
function jsonOf(value: unknown, indent: string): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}  `;
  const list = Array.isArray(value);
  const members = list
    ? value.map((item) => jsonOf(item, inner))
    : [...(value instanceof Map ? value : Object.entries(value))].map(
        ([key, item]) => `${JSON.stringify(key)}: ${jsonOf(item, inner)}`,
      );
  const [open, close] = list ? "[]" : "{}";
  return members.length === 0
    ? open + close
    : `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`;
}

function templateJson({ single, pair }: Template): object {
  const slot = (it: Slot) =>
    "sequence" in it
      ? { Sequence: { id: it.sequence === 0 ? "A" : "B", type_id: it.typeId } }
      : { SpecialToken: { id: it.special, type_id: it.typeId } };
  const special: Record<string, object> = {};
  for (const it of [...single, ...pair])
    if ("special" in it)
      special[it.special] = { id: it.special, ids: it.ids, tokens: it.ids.map(() => it.special) };
  return {
    type: "TemplateProcessing",
    single: single.map(slot),
    pair: pair.map(slot),
    special_tokens: special,
  };
}
