/**
 * A tokenizer: text to ids and back. Added tokens are split off (added.ts), the rest is split into chunks and those into tokens
 * (bpe.ts, wordpiece.ts), and the template adds special tokens (template.ts). Every token has its offsets in the text. train.ts
 * learns a tokenizer, file.ts reads one.
 */

import {
  checkArgument,
  checkCount,
  checkMethods,
  FormatError,
  formatValue,
  isList,
  isMap,
  OptionError,
  refuseGot,
  refuseValue,
} from "../../core/errors.ts";
import { checkKind, checkNames } from "../../core/option-names.ts";
import { type AddedToken, splitter, type TextPart } from "./added.ts";
import { bpe } from "./bpe.ts";
import { BYTE_CHARACTERS, bytesOfToken } from "./bytes.ts";
import type { Cutter } from "./cutter.ts";
import { Aligned } from "./pipeline/aligned.ts";
import { cutPiece, trimOffsets } from "./pipeline/index.ts";
import { checkFields, type TokenizerSpec } from "./spec.ts";
import { PLAIN, type Slot } from "./template.ts";
import { joinPieces, wordPiece } from "./wordpiece.ts";

/** Ids are below this. */
export const MAX_VOCABULARY = 1 << 22;

/** Options of `Tokenizer.encode`. */
export interface EncodeOptions {
  /** Adds the special tokens of the template; default true. */
  readonly addSpecialTokens?: boolean;
  /** Encodes special tokens in the text as plain text; default false: "[MASK]" is the token. */
  readonly splitSpecialTokens?: boolean;
}

/** An encoded text or pair. Each list has one entry per token. */
export interface Encoding {
  readonly ids: Int32Array;
  /** As the vocabulary spells them: `Ġtime`, `##s`, `[SEP]`. */
  readonly tokens: readonly string[];
  /** `[start, end)` in the token's own text, in UTF-16 units; [0, 0] for a token of the template. */
  readonly offsets: readonly (readonly [start: number, end: number])[];
  /** Index of the token's text: 0, 1, or −1 for a token of the template. */
  readonly sequences: Int8Array;
  /** True for special tokens, of the template or in the text. */
  readonly special: readonly boolean[];
  /** Token types: 0 for the first text and its special tokens, 1 for the second. */
  readonly typeIds: Int32Array;
}

/** Decodes ids one at a time. */
export interface TextStream {
  /** Adds an id and returns the text that it completes; "" while a character is incomplete. */
  push(id: number): string;
  /** Returns the remaining text: U+FFFD for an incomplete last character. */
  end(): string;
}

/**
 * A tokenizer, ready to use.
 *
 * @example
 * const { ids, tokens } = decoder.tokenizer.encode("the whale");
 * decoder.tokenizer.decode(ids); // → "the whale"
 */
export class Tokenizer {
  readonly spec: TokenizerSpec;
  /** One more than the largest id: the rows that an embedding needs. */
  readonly size: number;
  readonly #cutter?: Cutter;
  readonly #split: (text: string) => Iterable<TextPart>;
  readonly #splitPlain: (text: string) => Iterable<TextPart>;
  readonly #splitNormalized: (text: string) => Iterable<TextPart>;
  readonly #splitNormalizedPlain: (text: string) => Iterable<TextPart>;
  /** Tokens by id; a sparse array takes memory for its entries only. */
  readonly #tokens: (string | undefined)[] = [];
  /** Ids of added tokens that are not in the vocabulary. */
  readonly #addedIds = new Map<string, number>();
  readonly #added: ReadonlyMap<number, AddedToken>;

  /** Throws a FormatError for inconsistent parts: a merge or a special token without an id, an id used twice. */
  constructor(spec: TokenizerSpec) {
    checkCount("Tokenizer", arguments, 1);
    checkArgument(
      Array.isArray((spec as Partial<TokenizerSpec> | undefined)?.added),
      "Tokenizer",
      "a specification with the added tokens; readTokenizer reads tokenizer.json",
      spec,
    );
    if (!["bpe", "wordpiece", "pipeline"].includes(spec.kind))
      refuseValue("Tokenizer", "kind", '"bpe", "wordpiece" or "pipeline"', spec.kind);
    if (!isMap(spec.vocab)) refuseValue("Tokenizer", "vocab", "a Map of ids by token", spec.vocab);
    checkFields(spec);
    this.spec = spec;
    this.#added = new Map(spec.added.map((token) => [token.id, token]));
    // Files of other libraries may have an empty token, or two tokens with one id; neither makes encoding or decoding ambiguous.
    if (spec.kind === "pipeline")
      spec.vocab.forEach((id, token) => {
        this.#tokens[id] ??= token;
      });
    else spec.vocab.forEach((id, token) => this.#enter(token, id, token === ""));
    for (const { content, id } of spec.added)
      if (this.id(content) !== id || content === "") {
        this.#enter(content, id, content === "" || this.id(content) !== undefined);
        this.#addedIds.set(content, id);
      }
    if (this.#added.size !== spec.added.length) bad("added-tokens", "two added tokens have one id");
    this.size = this.#tokens.length;
    check(spec, (id) => this.#tokens[id] !== undefined);
    if (spec.kind !== "pipeline") this.#cutter = spec.kind === "bpe" ? bpe(spec) : wordPiece(spec);
    const beforeNormalizing = spec.added.filter(({ normalized }) => !normalized);
    const later = normalizedTokens(spec);
    const plain = (tokens: readonly AddedToken[]) => tokens.filter(({ special }) => !special);
    this.#split = splitter(beforeNormalizing);
    this.#splitPlain = splitter(plain(beforeNormalizing));
    this.#splitNormalized = splitter(later);
    this.#splitNormalizedPlain = splitter(plain(later));
  }

  /** The algorithm: "WordPiece", "BPE" … */
  get kind(): TokenizerSpec["kind"] {
    return this.spec.kind;
  }

  /** Facts about the file that a user should know; usually none. */
  get notes(): readonly string[] {
    const note = this.spec.kind === "pipeline" ? this.spec.pipeline.model.note : undefined;
    return note === undefined ? [] : [note];
  }

  #enter(token: string, id: number, isTaken: boolean): void {
    if (!(Number.isInteger(id) && id >= 0 && id < MAX_VOCABULARY))
      bad(
        "token-id",
        `token ${formatValue(token)} has id ${formatValue(id)}; expected 0 ≤ id < ${MAX_VOCABULARY}`,
      );
    const other = this.#tokens[id];
    if (isTaken || other !== undefined)
      bad(
        "token-id",
        `token ${formatValue(token)} of id ${id} is empty, listed twice, or its id is that of ${formatValue(other)}`,
      );
    this.#tokens[id] = token;
  }

  /** The id of a token as the vocabulary spells it, or undefined. */
  id(token: string): number | undefined {
    checkKind("Tokenizer.id", "token", "a text", token);
    return this.#addedIds.get(token) ?? this.spec.vocab.get(token);
  }

  /** The vocabulary's spelling of an id, or undefined. */
  token(id: number): string | undefined {
    if (typeof id !== "number") checkKind("Tokenizer.token", "id", "an integer ≥ 0", id);
    return this.#tokens[id];
  }

  /** True for a special token: `[SEP]`, `<|endoftext|>`. */
  isSpecial(id: number): boolean {
    if (typeof id !== "number") checkKind("Tokenizer.isSpecial", "id", "an integer ≥ 0", id);
    return this.#added.get(id)?.special === true;
  }

  /** The display text of an id: its text (bytes of a partial character as \xE2), `##` kept. */
  display(id: number): string {
    const token = this.#known(id);
    const { spec } = this;
    const byteLevel = spec.kind === "bpe" || (spec.kind === "pipeline" && spec.pipeline.byteLevel);
    if (!byteLevel || this.#added.has(id)) return token;
    const bytes = bytesOfToken(token);
    if (bytes === undefined) return token;
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return [...bytes].map((byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
    }
  }

  /** The ids of a text without the template, as for a corpus. */
  ids(text: string, options: Pick<EncodeOptions, "splitSpecialTokens"> = {}): Int32Array {
    checkNames("Tokenizer.ids", options, ["splitSpecialTokens"]);
    const { splitSpecialTokens = false } = options;
    const ids: number[] = [];
    this.#cut("ids", text, splitSpecialTokens, (id) => ids.push(id));
    return Int32Array.from(ids);
  }

  /** Encodes a text, or two as a pair. */
  encode(text: string, pair?: string, options: EncodeOptions = {}): Encoding {
    checkNames("Tokenizer.encode", options, ["addSpecialTokens", "splitSpecialTokens"]);
    const { addSpecialTokens = true, splitSpecialTokens = false } = options;
    const { spec } = this;
    const texts = pair === undefined ? [text] : [text, pair];
    const trim = spec.kind === "pipeline" ? spec.pipeline.post.trim : undefined;
    const sequences = texts.map((one) => {
      const cuts: { id: number; start: number; end: number }[] = [];
      this.#cut("encode", one, splitSpecialTokens, (id, start, end) => cuts.push({ id, start, end }));
      if (trim === undefined) return cuts;
      const tokens = cuts.map((it) => ({ ...it, token: this.#known(it.id) }));
      trimOffsets(tokens, trim);
      return tokens;
    });
    const template = (addSpecialTokens && spec.template) || PLAIN;
    const ids: number[] = [];
    const offsets: [number, number][] = [];
    const from: number[] = [];
    const typeIds: number[] = [];
    const put = (id: number, start: number, end: number, sequence: number, slot: Slot) => {
      ids.push(id);
      offsets.push([start, end]);
      from.push(sequence);
      typeIds.push(slot.typeId);
    };
    for (const slot of texts.length === 1 ? template.single : template.pair)
      if ("sequence" in slot)
        for (const { id, start, end } of sequences[slot.sequence]) put(id, start, end, slot.sequence, slot);
      else for (const id of slot.ids) put(id, 0, 0, -1, slot);
    return {
      ids: Int32Array.from(ids),
      tokens: ids.map((id) => this.#known(id)),
      offsets,
      sequences: Int8Array.from(from),
      special: ids.map((id) => this.isSpecial(id)),
      typeIds: Int32Array.from(typeIds),
    };
  }

  #cut(
    what: string,
    text: string,
    plain: boolean,
    put: (id: number, start: number, end: number) => void,
  ): void {
    if (typeof text !== "string") refuseGot("text", `Tokenizer.${what}: text must be a string`, text);
    const { spec } = this;
    for (const part of plain ? this.#splitPlain(text) : this.#split(text)) {
      if (part.id !== undefined) {
        put(part.id, part.start, part.end);
        continue;
      }
      if (spec.kind === "pipeline") {
        const inside = plain ? this.#splitNormalizedPlain : this.#splitNormalized;
        cutPiece(spec.pipeline, text.slice(part.start, part.end), part.start, inside, put);
        continue;
      }
      const cutter = this.#cutter as Cutter;
      let piece = text.slice(part.start, part.end);
      let base = part.start;
      if (spec.kind === "bpe" && spec.addPrefixSpace && piece !== "" && !piece.startsWith(" ")) {
        piece = ` ${piece}`;
        base--; // The prepended space is not in the text.
      }
      for (const { 0: chunk, index } of piece.matchAll(cutter.chunks)) {
        const { ids, starts, ends } = cutter.cut(chunk);
        for (let i = 0; i < ids.length; i++)
          put(
            ids[i],
            Math.max(part.start, base + index + starts[i]),
            Math.max(part.start, base + index + ends[i]),
          );
      }
    }
  }

  /** The text of ids, by default without special tokens. For byte-level ids it is exactly the encoded text. */
  decode(ids: ArrayLike<number>, options: { readonly skipSpecialTokens?: boolean } = {}): string {
    checkNames("Tokenizer.decode", options, ["skipSpecialTokens"]);
    checkArgument(isList(ids), "Tokenizer.decode", "a list of token ids", ids);
    if (this.spec.kind === "pipeline")
      return this.#decodePipeline(Array.from(ids), options.skipSpecialTokens ?? true);
    const stream = this.stream(options);
    let text = "";
    for (let i = 0; i < ids.length; i++) text += stream.push(ids[i]);
    return text + stream.end();
  }

  /** A stream that decodes ids as a model generates them. */
  stream(options: { readonly skipSpecialTokens?: boolean } = {}): TextStream {
    checkNames("Tokenizer.stream", options, ["skipSpecialTokens"]);
    return checkMethods("TextStream", this.#stream(options), { push: 1, end: 0 });
  }

  #stream(options: { readonly skipSpecialTokens?: boolean }): TextStream {
    const { skipSpecialTokens = true } = options;
    const { spec } = this;
    const skip = (id: number) => skipSpecialTokens && this.isSpecial(id);
    if (spec.kind === "bpe") {
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      return {
        push: (id) => {
          const token = this.#known(id);
          if (skip(id)) return "";
          const bytes = this.#added.has(id) ? undefined : bytesOfToken(token);
          return decoder.decode(bytes ?? new TextEncoder().encode(token), { stream: true });
        },
        end: () => decoder.decode(),
      };
    }
    if (spec.kind === "pipeline") {
      // The last tokens that gave text are decoded again with the new ones; the difference is the new text.
      let before: number[] = [];
      let waiting: number[] = [];
      const rest = () => {
        const decoded = this.#decodePipeline(before, false);
        return this.#decodePipeline([...before, ...waiting], false).slice(decoded.length);
      };
      return {
        push: (id) => {
          this.#known(id);
          if (skip(id)) return "";
          waiting.push(id);
          const text = rest();
          if (text === "" || text.endsWith("\ufffd")) return "";
          [before, waiting] = [waiting, []];
          return text;
        },
        end: rest,
      };
    }
    let first = true;
    return {
      push: (id) => {
        const token = this.#known(id);
        if (skip(id)) return "";
        // Of the earlier pieces it only matters whether there are any.
        const text = joinPieces(first ? [token] : ["", token], spec.prefix, spec.cleanup);
        first = false;
        return text;
      },
      end: () => "",
    };
  }

  #decodePipeline(ids: readonly number[], skipSpecialTokens: boolean): string {
    const tokens = ids
      .map((id) => this.#known(id))
      .filter((_, i) => !(skipSpecialTokens && this.isSpecial(ids[i])));
    const { decoder } = (this.spec as TokenizerSpec & { kind: "pipeline" }).pipeline;
    return decoder ? decoder(tokens).join("") : tokens.join(" ");
  }

  #known(id: number): string {
    const token = typeof id === "number" ? this.#tokens[id] : undefined;
    if (token === undefined)
      throw new OptionError(
        "token-id",
        `Tokenizer: no token has id ${formatValue(id)}; ids are below ${this.size}`,
        { id },
      );
    return token;
  }
}

// biome-ignore format: a table
checkMethods("Tokenizer", Tokenizer.prototype, {
  id: 1, token: 1, isSpecial: 1, display: 1, ids: 2, encode: 3, decode: 2, stream: 1,
});

/** The added tokens that match in the normalized text, in normalized spelling. */
function normalizedTokens(spec: TokenizerSpec): AddedToken[] {
  const later = spec.added.filter(({ normalized }) => normalized);
  if (spec.kind !== "pipeline" || !spec.pipeline.normalizer) return later;
  const { normalizer } = spec.pipeline;
  return later
    .map((token) => ({ ...token, content: normalizer(new Aligned(token.content)).text }))
    .filter(({ content }) => content !== "");
}

/** Throws unless the parts of `spec` are consistent. */
function check(spec: TokenizerSpec, isToken: (id: number) => boolean): void {
  if (spec.kind === "bpe") {
    const missing = BYTE_CHARACTERS.findIndex((character) => !spec.vocab.has(character));
    if (missing >= 0) bad("vocabulary", `no token for byte ${missing}; a byte-level vocabulary has all 256`);
    for (const token of spec.vocab.keys())
      if (bytesOfToken(token) === undefined && !spec.added.some(({ content }) => content === token))
        bad("vocabulary", `token ${formatValue(token)} is not spelled in the byte alphabet`);
    for (const [a, b] of spec.merges)
      for (const token of [a, b, a + b])
        if (!spec.vocab.has(token))
          bad(
            "merges",
            `the merge of ${formatValue(a)} and ${formatValue(b)}: ${formatValue(token)} is no token`,
          );
  } else if (spec.kind === "wordpiece" && !spec.vocab.has(spec.unknown))
    bad("vocabulary", `no token ${formatValue(spec.unknown)} for unknown words`);
  const { single, pair } = spec.template ?? PLAIN;
  for (const slot of [...single, ...pair])
    if ("special" in slot && !(slot.ids.length > 0 && slot.ids.every(isToken)))
      bad(
        "template",
        `the template's token ${formatValue(slot.special)} has ids ${formatValue(slot.ids)}, no tokens`,
      );
}

function bad(code: string, what: string): never {
  throw new FormatError(code, `Tokenizer: ${what}`);
}
