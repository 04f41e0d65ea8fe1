/**
 * Texts as training data of a language model: token ids joined into one sequence, a held-out part, and the batches of each
 * step for both kinds of models: next tokens for a decoder, masked tokens between [CLS] and [SEP] for an encoder.
 */
import {
  checkArgument,
  checkCount,
  checkInteger,
  isList,
  OptionError,
  refuseValue,
} from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import type { Tokenizer } from "../../models/index.ts";
import type { LanguageKind } from "../language.ts";
import { IGNORE_INDEX } from "../loss.ts";
import type { Batch, Split } from "./data.ts";
import { maskedBatch, nextTokenBatch, splitBlocks, Windows, windowsInOrder } from "./data.ts";
import { Ngram } from "./ngram.ts";
import { readParagraphs, SentenceBatches, splitParagraphs } from "./sentences.ts";

/** Options of a `Corpus`. */
export interface CorpusOptions {
  readonly kind: LanguageKind;
  /** Context length of the model in tokens. */
  readonly context: number;
  /** Sequences per step; default 16. */
  readonly batch?: number;
  /** Micro-batches per step; divides `batch`. Default 1. */
  readonly accumulate?: number;
  /** Share of the text held out; default 0.1. */
  readonly heldOut?: number;
  /** Maximum number of tokens on which the held-out loss is measured, spread over the held-out part; default 65,536. */
  readonly heldOutTokens?: number;
  /** Share of sequences that repeat a span, except `short` ones; default 0. */
  readonly repeats?: number;
  /**
   * Number of initial steps with sequences of 16 tokens, where `context` is longer. These steps have more sequences, so that
   * each step has the same number of tokens. A masked model learned to attend to neighbors among 16 tokens within 500 steps,
   * but not among 64 within a thousand (docs/models.md). Default 0. After Li et al. 2021, arXiv 2108.06084; Devlin et al.
   * 2018, appendix A.2, also train on short sequences first.
   */
  readonly short?: number;
  /**
   * The texts have one sentence per line and an empty line after each paragraph. A sequence is one sentence or several
   * consecutive ones of one paragraph, and a batch has about `batch · context` tokens (`sentences.ts`). For encoders. Default
   * false.
   */
  readonly lines?: boolean;
  /** Share of an encoder's training tokens that are masked; default 0.15. In held-out text it is always 0.15. */
  readonly masked?: number;
  readonly seed?: number;
}

/** Tokens of a short sequence. */
export const SHORT = 16;

/** First sequence numbers of masks: for training, and for held-out text, whose masks are always the same. */
const MASKS = { train: 0x1000_0000_0000, heldOut: 0x2000_0000_0000 } as const;

/**
 * Training and held-out batches of texts.
 *
 * @example
 * const corpus = new Corpus([text], decoder.tokenizer, { kind: "decoder", context: 16, batch: 8 });
 * corpus.batches(0)[0].inputs.shape; // → [8, 16]
 */
export class Corpus {
  /** All token ids, texts joined by `<|endoftext|>` or [SEP] where the tokenizer has one. */
  readonly ids: Int32Array;
  readonly split: Split;
  /** Vocabulary size. */
  readonly vocabulary: number;
  /** The batches on which the held-out loss is measured. */
  readonly heldOut: readonly Batch[];
  readonly #kind: LanguageKind;
  /** The micro-batches of a step: their sequences, and the number of the first sequence. */
  readonly #sequences: (step: number) => readonly (readonly [sequences: Int32Array[], first: number])[];
  /** Sequences per epoch, or batches of sentences. */
  readonly perEpoch: number;
  readonly #batchOf: (sequences: readonly Int32Array[], first: number) => Batch;
  /** Held-out sequences without masks, by batch. */
  readonly #heldOutRows: readonly (readonly Int32Array[])[];

  /** @throws OptionError where the texts are too short, or the tokenizer lacks a token that the kind of model needs */
  constructor(texts: readonly string[], tokenizer: Tokenizer, options: CorpusOptions) {
    checkCount("Corpus", arguments, 3);
    checkCorpus(texts, tokenizer, options);
    const { kind, context, batch = 16, accumulate = 1, heldOut = 0.1, repeats = 0, seed = 0 } = options;
    const { heldOutTokens = 65_536, masked = 0.15, short = 0, lines = false } = options;
    this.#kind = kind;
    const special = kind === "encoder" ? encoderTokens(tokenizer) : undefined;
    this.vocabulary = tokenizer.size;

    const masking = special && { mask: special.mask, vocabulary: tokenizer.size, special: special.all, seed };
    this.#batchOf = masking
      ? (sequences, first) =>
          maskedBatch(
            sequences.map((ids) => Int32Array.of(special.cls, ...ids, special.sep)),
            first,
            first < MASKS.heldOut ? { ...masking, share: masked } : masking,
          )
      : (sequences) => nextTokenBatch(sequences);

    const idsOf = (text: string) => tokenizer.ids(text, { splitSpecialTokens: true });
    if (lines) {
      const text = readParagraphs(texts, idsOf);
      this.ids = text.ids;
      this.split = splitParagraphs(text, heldOut);
      const ranges = new Set(this.split.heldOut.map(({ start }) => start));
      const part = (which: boolean) => text.paragraphs.filter(([{ start }]) => ranges.has(start) === which);
      const tokens = Math.floor((batch / accumulate) * context);
      const window = context - 2;
      const all = new SentenceBatches(text.ids, part(false), { window, tokens, repeats, seed });
      const first = new SentenceBatches(text.ids, part(false), {
        window: SHORT - 2,
        tokens,
        joined: 0,
        seed,
      });
      this.perEpoch = all.perEpoch;
      this.#sequences = (step) =>
        Array.from({ length: accumulate }, (_, m) => {
          const n = step * accumulate + m;
          // A batch has fewer sequences than tokens, so each sequence has its own number, and its own masks.
          return [(step < short ? first : all).batch(n), n * tokens] as const;
        });
      const measured =
        ranges.size > 0 ? new SentenceBatches(text.ids, part(true), { window, tokens, seed: 0 }) : undefined;
      const count = Math.min(measured?.perEpoch ?? 0, Math.max(1, Math.floor(heldOutTokens / tokens)));
      this.#heldOutRows = Array.from({ length: count }, (_, i) => (measured as SentenceBatches).batch(i));
    } else {
      this.ids = joined(texts.map(idsOf), special?.sep ?? tokenizer.id("<|endoftext|>"));
      // A decoder predicts the token after each of `context` tokens; an encoder adds [CLS] and [SEP].
      const [added, overlap] = kind === "decoder" ? [1, 1] : [-2, 0];
      const window = context + added;
      this.split = splitBlocks(this.ids.length, { window, share: heldOut });
      const windows = new Windows(this.ids, this.split.train, { window, overlap, repeats, seed });
      const first =
        short > 0
          ? new Windows(this.ids, this.split.train, { window: SHORT + added, overlap, seed })
          : undefined;
      this.perEpoch = windows.perEpoch;
      this.#sequences = (step) => {
        const [from, times] = first && step < short ? [first, Math.floor(context / SHORT)] : [windows, 1];
        const rows = (times * batch) / accumulate;
        return Array.from({ length: accumulate }, (_, m) => {
          const n = step * times * batch + m * rows;
          return [Array.from({ length: rows }, (_, r) => from.sequence(n + r)), n] as const;
        });
      };
      const all = windowsInOrder(this.ids, this.split.heldOut, window, overlap);
      const count = Math.max(1, Math.floor(heldOutTokens / context));
      const stride = Math.max(1, all.length / count);
      const ranges = Array.from(
        { length: Math.min(all.length, count) },
        (_, i) => all[Math.floor(i * stride)],
      );
      const rows = batch / accumulate;
      this.#heldOutRows = Array.from({ length: Math.ceil(ranges.length / rows) }, (_, i) =>
        ranges.slice(i * rows, (i + 1) * rows),
      );
    }
    let number = 0;
    this.heldOut = this.#heldOutRows.map((sequences) => {
      const batch = this.#batchOf(sequences, MASKS.heldOut + number);
      number += sequences.length;
      return batch;
    });
  }

  /** The micro-batches of step s = 0, 1, …: a function of the seed and s. */
  batches(step: number): Batch[] {
    checkCount("Corpus.batches", arguments, 1);
    checkInteger("Corpus.batches", "step", step, 0);
    return this.#sequences(step).map(([sequences, first]) => this.#batchOf(sequences, MASKS.train + first));
  }

  /**
   * The held-out loss of an n-gram model of this order, counted on the training part, in nats per token, over exactly the
   * targets of `heldOut`. Its context is the text to the left in the same window, for an encoder without masks.
   */
  baseline(order: number): number {
    checkCount("Corpus.baseline", arguments, 1);
    const model = new Ngram(order, this.vocabulary, this.ids, this.split.train);
    const heldOut = this.#heldOutRows.flat();
    if (this.#kind === "decoder") return model.loss(heldOut);
    const rows = this.#heldOutRows.flatMap((sequences, batch) =>
      sequences.map((_, row) => [batch, row] as const),
    );
    return model.loss(heldOut, (sequence, i) => {
      const [batch, row] = rows[sequence];
      const { targets } = this.heldOut[batch];
      return targets.data[row * targets.shape[1] + i + 1] !== IGNORE_INDEX;
    });
  }

  /** A hash of the token ids: equal for equal texts and tokenizers. */
  get fingerprint(): string {
    let [a, b] = [0x811c9dc5, 0x9e3779b9];
    for (const id of this.ids) {
      a = Math.imul(a ^ id, 0x01000193);
      b = Math.imul(b + id, 0x85ebca6b) ^ (b >>> 13);
    }
    return [a, b].map((x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

/** Checks the arguments of `Corpus`. */
function checkCorpus(texts: readonly string[], tokenizer: Tokenizer, options: CorpusOptions): void {
  checkOptionNames(
    "Corpus",
    options,
    "kind context batch accumulate heldOut heldOutTokens repeats short lines masked seed",
  );
  checkArgument(
    isList(texts) && Array.from(texts).every((text) => typeof text === "string"),
    "Corpus",
    "a list of texts as the first argument, as in new Corpus([text], tokenizer, options)",
    texts,
  );
  checkArgument(
    typeof (tokenizer as Partial<Tokenizer> | undefined)?.encode === "function",
    "Corpus",
    "a tokenizer as the second argument, as readTokenizer and trainTokenizer return",
    tokenizer,
  );
  const { kind, context, batch = 16, accumulate = 1 } = options;
  const { heldOutTokens = 65_536, masked = 0.15, short = 0, lines = false } = options;
  for (const [name, value] of Object.entries({ batch, accumulate, heldOutTokens }))
    if (!(Number.isSafeInteger(value) && value > 0)) refuseValue("Corpus", name, "an integer > 0", value);
  if (kind !== "decoder" && kind !== "encoder") refuseValue("Corpus", "kind", '"decoder" or "encoder"', kind);
  if (batch % accumulate !== 0)
    throw new OptionError(
      "accumulate",
      `Corpus: ${accumulate} micro-batches do not divide a batch of ${batch}`,
      { batch, accumulate },
    );
  if (!(typeof masked === "number" && masked > 0 && masked <= 1))
    refuseValue("Corpus", "masked", "a share above 0, at most 1", masked);
  if (!(Number.isSafeInteger(context) && context > 2))
    refuseValue("Corpus", "context", "an integer > 2", context);
  if (!(Number.isSafeInteger(short) && short >= 0)) refuseValue("Corpus", "short", "an integer ≥ 0", short);
  if (short > 0 && context <= SHORT)
    throw new OptionError(
      "short",
      `Corpus: sequences of ${SHORT} tokens are not shorter than a context of ${context}`,
      { context },
    );
  if (lines && kind !== "encoder")
    throw new OptionError("lines", "Corpus: lines is for encoders; a decoder reads texts without a break", {
      kind,
    });
}

/** Ids of the special tokens for masked-token training. */
function encoderTokens(tokenizer: Tokenizer) {
  const id = (token: string): number => {
    const tokenId = tokenizer.id(token);
    if (tokenId === undefined)
      throw new OptionError(
        "tokenizer",
        `Corpus: an encoder needs the token ${token}, the tokenizer has none`,
        { token },
      );
    return tokenId;
  };
  const all = new Set<number>();
  for (let i = 0; i < tokenizer.size; i++) if (tokenizer.isSpecial(i)) all.add(i);
  return { mask: id("[MASK]"), cls: id("[CLS]"), sep: id("[SEP]"), all };
}

/** Texts one after the other, with a separator between two. */
function joined(parts: readonly Int32Array[], separator: number | undefined): Int32Array {
  const gap = separator === undefined ? 0 : 1;
  const ids = new Int32Array(
    parts.reduce((sum, { length }) => sum + length + gap, parts.length > 0 ? -gap : 0),
  );
  let next = 0;
  parts.forEach((part, i) => {
    ids.set(part, next);
    next += part.length;
    if (separator !== undefined && i < parts.length - 1) ids[next++] = separator;
  });
  return ids;
}
