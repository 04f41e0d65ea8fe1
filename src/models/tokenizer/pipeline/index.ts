/**
 * A tokenizer as the steps of `tokenizer.json`: normalizer, pre-tokenizer, model, post-processor, decoder. The two kinds that
 * heed trains (GPT-2's byte-level BPE, BERT's WordPiece) have direct implementations; every other file is read as these steps. A
 * setting that heed would treat differently from the library that wrote the file is an error that names it.
 */
import type { Json } from "../../../io/json.ts";
import { Aligned } from "./aligned.ts";
import { readDecoder, type TokenDecoder } from "./decoders.ts";
import { readTokenModel, type TokenModel } from "./models.ts";
import { type Normalizer, readNormalizer } from "./normalizers.ts";
import { ConfigPart, type RefusePart } from "./part.ts";
import { type PostProcessor, readPostProcessor } from "./post.ts";
import { type PreTokenizer, readPreTokenizer } from "./pretokenizers.ts";

/** The steps of a tokenizer. */
export interface Pipeline {
  readonly normalizer?: Normalizer;
  readonly preTokenizer?: PreTokenizer;
  readonly model: TokenModel;
  readonly post: PostProcessor;
  readonly decoder?: TokenDecoder;
  /** Tokens are spelled in GPT-2's alphabet of bytes. */
  readonly byteLevel: boolean;
  /** The file, for writing it again. */
  readonly file: ReadonlyMap<string, Json>;
}

/** Reads the steps from the parts of a file. `part` calls a reader with a part's value and a function that throws about it. */
export function readPipeline(
  part: <T>(name: string, read: (value: Json, refuse: RefusePart) => T) => T,
  file: ReadonlyMap<string, Json>,
): Pipeline {
  const optional = <T>(name: string, read: (part: ConfigPart) => T): T | undefined =>
    part(name, (value, refuse) => (value === null ? undefined : read(new ConfigPart(value, refuse))));
  const model = part("model", (value, refuse) => readTokenModel(new ConfigPart(value, refuse)));
  const kinds = JSON.stringify(
    ["pre_tokenizer", "normalizer", "decoder"].map((name) => typesOf(file.get(name))),
  );
  return {
    normalizer: optional("normalizer", readNormalizer),
    preTokenizer: optional("pre_tokenizer", readPreTokenizer),
    model,
    post: optional("post_processor", readPostProcessor) ?? {},
    decoder: optional("decoder", readDecoder),
    byteLevel: kinds.includes('"ByteLevel"'),
    file,
  };
}

/** The types of a part and of its nested parts. */
function typesOf(value: Json | undefined): unknown[] {
  if (Array.isArray(value)) return value.flatMap(typesOf);
  return value instanceof Map ? [value.get("type"), ...[...value.values()].flatMap(typesOf)] : [];
}

/** A token of a text: its id and its range in the text, in UTF-16 units. */
export type Put = (id: number, start: number, end: number) => void;

/**
 * Tokenizes a text between added tokens. `splitNormalized` finds the added tokens that match in the normalized text.
 */
export function cutPiece(
  { normalizer, preTokenizer, model }: Pipeline,
  text: string,
  base: number,
  splitNormalized: (
    text: string,
  ) => Iterable<{ readonly id?: number; readonly start: number; readonly end: number }>,
  put: Put,
): void {
  // Lone surrogates are read as U+FFFD.
  const input = new Aligned(text.replace(/\p{Surrogate}/gu, "\ufffd"), base);
  const normalized = normalizer ? normalizer(input) : input;
  for (const part of splitNormalized(normalized.text)) {
    if (part.start === part.end) continue;
    if (part.id !== undefined) {
      put(part.id, normalized.startOf(part.start), normalized.endOf(part.end - 1));
      continue;
    }
    const piece = normalized.slice(part.start, part.end);
    for (const chunk of preTokenizer ? preTokenizer(piece) : [piece])
      for (const { id, from, to } of model.cut(chunk.text))
        put(id, chunk.startOf(from), to > from ? chunk.endOf(to - 1) : chunk.startOf(from));
  }
}

/** Excludes the white space at the ends of byte-level tokens from their offsets. */
export function trimOffsets(
  tokens: readonly { readonly token: string; start: number; end: number }[],
  { prefixed }: { readonly prefixed: boolean },
): void {
  tokens.forEach((it, i) => {
    let leading = /^[\u0120\p{White_Space}]*/u.exec(it.token)?.[0].length ?? 0;
    const trailing = /[\u0120\p{White_Space}]*$/u.exec(it.token)?.[0].length ?? 0;
    // The space that was prepended is not in the text.
    if (leading > 0 && prefixed && (i === 0 || it.start === 0)) leading--;
    it.start = Math.min(it.start + leading, it.end);
    if (trailing > 0 && it.end >= trailing) it.end = Math.max(it.end - trailing, it.start);
  });
}
