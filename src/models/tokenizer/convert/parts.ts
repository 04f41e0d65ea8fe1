/** Parts of a tokenizer.json that is built from another format, in the words of Hugging Face's library. */
import type { Json } from "../../../io/json.ts";

/** The special tokens of a model, by their role in tokenizer_config.json. */
export interface SpecialToken {
  readonly id: number;
  readonly content: string;
  /** Default true. */
  readonly special?: boolean;
  readonly lstrip?: boolean;
}

/** A value of JavaScript as JSON's values of heed/io: objects are Maps. */
export function jsonValue(value: unknown): Json {
  if (Array.isArray(value)) return value.map(jsonValue);
  if (value instanceof Map || value === null || typeof value !== "object") return value as Json;
  return new Map(Object.entries(value).map(([name, item]) => [name, jsonValue(item)]));
}

/** A tokenizer.json with its fields of no consequence first. */
export const tokenizerFile = <P extends object>(parts: P) => ({
  version: "1.0",
  truncation: null,
  padding: null,
  ...parts,
});

/** A BPE model: over bytes, unless `settings` say otherwise. */
export const bpeModel = (vocab: ReadonlyMap<string, number>, merges: readonly unknown[], settings = {}) => ({
  type: "BPE",
  dropout: null,
  unk_token: null,
  continuing_subword_prefix: null,
  end_of_word_suffix: null,
  fuse_unk: false,
  byte_fallback: false,
  ignore_merges: false,
  ...settings,
  vocab,
  merges,
});

/** A WordPiece model. */
export const wordPieceModel = (
  vocab: ReadonlyMap<string, number>,
  unknown: string,
  prefix = "##",
  maxCharacters = 100,
) => ({
  type: "WordPiece",
  unk_token: unknown,
  continuing_subword_prefix: prefix,
  max_input_chars_per_word: maxCharacters,
  vocab,
});

/** The entries of `added_tokens`, in the order of their ids; the first of two with one id or one text counts. */
export function addedTokens(tokens: readonly SpecialToken[]): object[] {
  const ids = new Set<number>();
  const texts = new Set<string>();
  return tokens
    .filter(({ id, content }) => {
      const isNew = !ids.has(id) && !texts.has(content) && content !== "";
      if (isNew) {
        ids.add(id);
        texts.add(content);
      }
      return isNew;
    })
    .sort((a, b) => a.id - b.id)
    .map(({ id, content, special = true, lstrip = false }) => ({
      id, content, single_word: false, lstrip, rstrip: false, normalized: false, special,
    })); // biome-ignore format: one entry
}

/** A TemplateProcessing: texts are "A" and "B", everything else a special token; `:1` after a name is its type. */
export function templatePart(
  single: readonly string[],
  pair: readonly string[],
  idOf: (token: string) => number,
): object {
  const slot = (name: string) => {
    const [, text, type] = /^(.*?)(?::([01]))?$/s.exec(name) as unknown as [
      string,
      string,
      string | undefined,
    ];
    const type_id = Number(type ?? 0);
    return text === "A" || text === "B"
      ? { Sequence: { id: text, type_id } }
      : { SpecialToken: { id: text, type_id } };
  };
  const names = [...single, ...pair]
    .map((name) => name.replace(/:[01]$/, ""))
    .filter((name) => name !== "A" && name !== "B");
  return {
    type: "TemplateProcessing",
    single: single.map(slot),
    pair: pair.map(slot),
    special_tokens: Object.fromEntries(
      [...new Set(names)].map((name) => [name, { id: name, ids: [idOf(name)], tokens: [name] }]),
    ),
  };
}

/**
 * Merges of a vocabulary that has scores in place of merges: each piece from every pair of pieces that make it, the piece with the
 * highest score first.
 */
export function mergesOf(
  pieces: readonly (readonly [string, number])[],
  vocab: ReadonlyMap<string, number>,
): string[][] {
  const merges: { pair: string[]; score: number; order: readonly number[] }[] = [];
  pieces.forEach(([piece, score], id) => {
    for (let at = 1; at < piece.length; at++) {
      const pair = [piece.slice(0, at), piece.slice(at)];
      const [left, right] = pair.map((one) => vocab.get(one));
      if (left !== undefined && right !== undefined) merges.push({ pair, score, order: [id, left, right] });
    }
  });
  merges.sort(
    (a, b) =>
      b.score - a.score || a.order[0] - b.order[0] || a.order[1] - b.order[1] || a.order[2] - b.order[2],
  );
  return merges.map(({ pair }) => pair);
}
