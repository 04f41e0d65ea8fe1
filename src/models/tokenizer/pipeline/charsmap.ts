/**
 * SentencePiece's compiled normalization (`Precompiled`): a double-array trie of UTF-8 prefixes whose values are offsets into a
 * list of replacements, each terminated by a zero byte (google/sentencepiece, normalizer.cc; huggingface/spm_precompiled).
 */
import { type Aligned, AlignedEdit } from "./aligned.ts";
import type { RefusePart } from "./part.ts";

/** Graphemes of fewer bytes are looked up as a whole. */
const GRAPHEME_BYTES = 6;

/** The normalizer of a base64-encoded table. */
export function precompiled(base64: string, refuse: RefusePart): (text: Aligned) => Aligned {
  if (base64 === "") return (text) => text;
  const bytes = decode(base64, refuse);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = bytes.length >= 4 ? view.getUint32(0, true) : -1;
  if (size < 0 || size % 4 !== 0 || 4 + size > bytes.length)
    refuse(`precompiled_charsmap: ${bytes.length} bytes do not hold the table they claim`);
  const units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
  const replacements = bytes.subarray(4 + size);
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const cache = new Map<string, string | undefined>();

  /** The replacement of the first prefix of `chunk` that has one. */
  function lookUp(chunk: string): string | undefined {
    if (cache.has(chunk)) return cache.get(chunk);
    let result: string | undefined;
    const offset = (unit: number) => (unit >>> 10) << ((unit & 0x200) >>> 6);
    let place = units.length > 0 ? offset(units[0]) : 0;
    for (const byte of encoder.encode(chunk)) {
      if (byte === 0) break;
      place ^= byte;
      const unit = units[place];
      // Another label, or an offset outside the table: no such prefix.
      if (unit === undefined || (unit & 0x800000ff) !== byte) break;
      place ^= offset(unit);
      if (((unit >>> 8) & 1) === 0) continue;
      const value = units[place];
      if (value === undefined) break;
      const from = value & 0x7fffffff;
      let end = from;
      while (end < replacements.length && replacements[end] !== 0) end++;
      result = decoder.decode(replacements.subarray(from, end));
      break;
    }
    if (cache.size > 65_536) cache.clear();
    cache.set(chunk, result);
    return result;
  }

  const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
  return (text) => {
    let edit: AlignedEdit | undefined;
    let at = 0;
    const put = (chunk: string, replacement: string | undefined) => {
      const end = at + chunk.length;
      if (replacement !== undefined && replacement !== chunk) {
        edit ??= new AlignedEdit(text, at);
        edit.put(replacement, at, end);
      } else edit?.keep(at, end);
      at = end;
    };
    for (const { segment } of graphemes.segment(text.text)) {
      const mapped = encoder.encode(segment).length < GRAPHEME_BYTES ? lookUp(segment) : undefined;
      if (mapped !== undefined) put(segment, mapped);
      else for (const character of segment) put(character, lookUp(character));
    }
    return edit?.done() ?? text;
  };
}

function decode(base64: string, refuse: RefusePart): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  } catch {
    return refuse("precompiled_charsmap is not base64");
  }
}
