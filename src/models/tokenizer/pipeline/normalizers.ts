/** Normalizers of tokenizer.json, which change a text before it is split. Each keeps the alignment with the original. */

import { BYTE_CHARACTERS } from "../bytes.ts";
import { normalize as bertNormalize } from "../normalize.ts";
import { type Aligned, AlignedEdit } from "./aligned.ts";
import { precompiled } from "./charsmap.ts";
import type { Matcher } from "./matcher.ts";
import type { ConfigPart } from "./part.ts";
import { compilePattern, literal } from "./pattern.ts";

/** Normalizes a text. */
export type Normalizer = (text: Aligned) => Aligned;

/** The normalizer of a part. */
export function readNormalizer(part: ConfigPart): Normalizer {
  switch (part.type) {
    case "Sequence": {
      const steps = part.parts("normalizers").map(readNormalizer);
      return (text) => steps.reduce((so, step) => step(so), text);
    }
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD": {
      const form = part.type;
      return (text) => toForm(text, form);
    }
    case "Lowercase":
      return (text) => text.map((one) => one.toLowerCase());
    case "StripAccents":
      return (text) => text.map((one) => (/\p{M}/u.test(one) ? "" : undefined));
    case "Nmt":
      return (text) => text.map(nmt);
    case "Strip": {
      const [left, right] = [part.flag("strip_left"), part.flag("strip_right")];
      return (text) => strip(text, left, right);
    }
    case "Prepend": {
      const content = part.text("prepend");
      return (text) => text.prepend(content);
    }
    case "Replace": {
      const matcher = readPattern(part);
      const content = part.text("content");
      return (text) => text.replace(matcher(text.text), content);
    }
    case "BertNormalizer": {
      const options = {
        cleanText: part.flag("clean_text"),
        handleChineseChars: part.flag("handle_chinese_chars"),
        stripAccents: part.has("strip_accents") ? part.flag("strip_accents") : null,
        lowercase: part.flag("lowercase"),
      };
      return (text) => {
        const { characters, starts, ends } = bertNormalize(text.text, options);
        const edit = new AlignedEdit(text);
        characters.forEach((one, i) => {
          edit.putAt(one, text.startOf(starts[i]), text.endOf(ends[i] - 1));
        });
        return edit.done();
      };
    }
    case "ByteLevel":
      return toBytes;
    case "Precompiled":
      return precompiled(part.text("precompiled_charsmap", ""), part.refuse);
    default:
      return part.refuse("is not a normalizer heed has");
  }
}

/** The pattern of a part, `{ "String": … }` or `{ "Regex": … }`. */
export function readPattern(part: ConfigPart): Matcher {
  const pattern = part.part("pattern");
  if (pattern.has("String")) return literal(pattern.text("String"));
  return compilePattern(pattern.text("Regex"));
}

/** UTF-8 bytes as GPT-2's printable characters, each aligned with its whole character. */
export function toBytes(text: Aligned): Aligned {
  // Printable ASCII is its own spelling.
  if (/^[!-~]*$/.test(text.text)) return text;
  const encoder = new TextEncoder();
  const edit = new AlignedEdit(text);
  let at = 0;
  for (const character of text.text) {
    const end = at + character.length;
    let spelling = "";
    for (const byte of encoder.encode(character)) spelling += BYTE_CHARACTERS[byte];
    edit.putAt(spelling, text.startOf(at), text.endOf(end - 1));
    at = end;
  }
  return edit.done();
}

/** A Unicode normal form. Each cluster of a starter and what combines with it can be normalized separately. */
function toForm(text: Aligned, form: "NFC" | "NFD" | "NFKC" | "NFKD"): Aligned {
  if (/^[\0-\x7f]*$/.test(text.text) || text.text.normalize(form) === text.text) return text;
  const edit = new AlignedEdit(text);
  for (const [from, to] of clusters(text.text)) {
    const original = text.text.slice(from, to);
    const normalized = original.normalize(form);
    if (normalized === original) edit.keep(from, to);
    else putForm(edit, text, from, original, normalized, form);
  }
  return edit.done();
}

/**
 * Ranges of characters that a normal form may compose or reorder: a starter, what combines with it, and parts of Hangul
 * syllables.
 */
function* clusters(text: string): Generator<readonly [number, number]> {
  let from = 0;
  let at = 0;
  for (const character of text) {
    const joins = /[\p{M}\u1161-\u1175\u11a8-\u11c2\u{110ba}\u{11127}\u09be\u09d7]/u.test(
      character.normalize("NFKD")[0] ?? "",
    );
    if (!joins && at > from) {
      yield [from, at];
      from = at;
    }
    at += character.length;
  }
  if (at > from) yield [from, at];
}

/**
 * A cluster in another form: decomposed characters are aligned with their source, composed ones with the first of their parts.
 */
function putForm(
  edit: AlignedEdit,
  text: Aligned,
  from: number,
  original: string,
  normalized: string,
  form: string,
): void {
  if (form === "NFD" || form === "NFKD") {
    // The decomposition of each character; reordered marks are aligned in the order of the result.
    const places: number[] = [];
    let at = from;
    for (const character of original) {
      for (const _ of character.normalize(form)) places.push(at);
      at += character.length;
    }
    [...normalized].forEach((one, i) => {
      const place = places[Math.min(i, places.length - 1)];
      edit.putAt(one, text.startOf(place), text.endOf(endOfCharacter(original, place - from) + from - 1));
    });
    return;
  }
  const decomposed = form === "NFC" ? "NFD" : "NFKD";
  const places: number[] = [];
  let at = from;
  for (const character of original) {
    for (const _ of character.normalize(decomposed)) places.push(at);
    at += character.length;
  }
  let part = 0;
  for (const one of normalized) {
    const place = places[Math.min(part, places.length - 1)];
    edit.putAt(one, text.startOf(place), text.endOf(endOfCharacter(original, place - from) + from - 1));
    part += [...one.normalize(decomposed)].length;
  }
}

const endOfCharacter = (text: string, at: number) => at + ((text.codePointAt(at) as number) > 0xffff ? 2 : 1);

/** Removes white space at the ends. */
function strip(text: Aligned, left: boolean, right: boolean): Aligned {
  const start = left ? (/^\p{White_Space}*/u.exec(text.text)?.[0].length ?? 0) : 0;
  const end = right
    ? text.text.length - (/\p{White_Space}*$/u.exec(text.text)?.[0].length ?? 0)
    : text.text.length;
  return text.slice(start, Math.max(start, end));
}

/** The characters that Marian's normalizer drops, and those that it turns into spaces. */
function nmt(character: string): string | undefined {
  const code = character.codePointAt(0) as number;
  if (
    (code >= 0x1 && code <= 0x8) ||
    code === 0xb ||
    (code >= 0xe && code <= 0x1f) ||
    code === 0x7f ||
    code === 0x8f ||
    code === 0x9f
  )
    return "";
  const spaces = [0x9, 0xa, 0xc, 0xd, 0x1680, 0x2028, 0x2029, 0x2581, 0xfeff, 0xfffd];
  return spaces.includes(code) || (code >= 0x200b && code <= 0x200f) ? " " : undefined;
}
