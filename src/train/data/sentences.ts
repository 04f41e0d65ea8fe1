/**
 * Sentences as training sequences. A text has one sentence per line, and an empty line ends a paragraph. A sequence is one
 * sentence, or several consecutive ones of a paragraph, as many as fit. A batch has sequences of one length, so it needs no
 * padding: sequences are sorted by length and divided into batches of about the same number of tokens, and the few longer
 * sequences of a batch are truncated to the shortest.
 *
 * A model for single sentences should be trained on them: [CLS] before the first word, and [SEP] after the last. Batches are a
 * pure function of the seed and their number, as in `data.ts`.
 */
import { OptionError, refuseValue } from "../../core/errors.ts";
import { repeatSpan, type Span, type Split } from "./data.ts";
import { Generator, permutation } from "./random.ts";

/** Token ids of texts by sentence. */
export interface Paragraphs {
  readonly ids: Int32Array;
  /** The sentences of each paragraph, as ranges of `ids`; none is empty. */
  readonly paragraphs: readonly (readonly Span[])[];
}

/** Reads texts with one sentence per line and an empty line after each paragraph. */
export function readParagraphs(texts: readonly string[], idsOf: (line: string) => Int32Array): Paragraphs {
  const parts: Int32Array[] = [];
  const paragraphs: Span[][] = [];
  let length = 0;
  for (const text of texts) {
    let open: Span[] = [];
    for (const line of text.split(/\r?\n/)) {
      const ids = idsOf(line);
      if (ids.length === 0) {
        open = [];
        continue;
      }
      if (open.length === 0) paragraphs.push(open);
      open.push({ start: length, end: length + ids.length });
      parts.push(ids);
      length += ids.length;
    }
  }
  const ids = new Int32Array(length);
  let next = 0;
  for (const part of parts) {
    ids.set(part, next);
    next += part.length;
  }
  return { ids, paragraphs };
}

/** Every (1/share)-th paragraph is held out. Throws an OptionError where either part is empty. */
export function splitParagraphs({ paragraphs }: Paragraphs, share: number): Split {
  const period = share === 0 ? Number.POSITIVE_INFINITY : Math.max(2, Math.round(1 / share));
  const parts = { train: [] as Span[], heldOut: [] as Span[] };
  paragraphs.forEach((sentences, i) => {
    const part = i % period === period - 1 ? parts.heldOut : parts.train;
    part.push({ start: sentences[0].start, end: sentences[sentences.length - 1].end });
  });
  if (parts.train.length === 0 || (share > 0 && parts.heldOut.length === 0))
    throw new OptionError(
      "text",
      `Corpus: the texts have ${paragraphs.length} paragraphs; one of ${period} is held out, so there must be at least ${period}. An empty line ends a paragraph`,
      { paragraphs: paragraphs.length, least: period },
    );
  return parts;
}

/** Options of `SentenceBatches`. */
export interface SentenceOptions {
  /** Maximum number of tokens of a sequence; longer sentences are divided. */
  readonly window: number;
  /** Tokens per batch, including `extra` for each sequence. */
  readonly tokens: number;
  /** Tokens that are added to each sequence later: 2 for [CLS] and [SEP]. Default 2. */
  readonly extra?: number;
  /** Share of sequences that contain as many sentences as fit, instead of one. Default 0.5. */
  readonly joined?: number;
  /** Share of sequences of at least 16 tokens that repeat a span. Default 0. */
  readonly repeats?: number;
  readonly seed: number;
}

const STREAM = { join: 4, order: 5, batches: 6, repeat: 7 } as const;
/** Shorter sequences are skipped: a single word has no context to predict it from. */
const LEAST = 3;

/** Batches of sentences in an infinite seeded order. */
export class SentenceBatches {
  /** Batches per epoch. */
  readonly perEpoch: number;
  readonly #ids: Int32Array;
  readonly #sequences: readonly Span[];
  /** Batch b has the sequences `#starts[b]` to `#starts[b + 1]` in the order by length. */
  readonly #starts: readonly number[];
  readonly #options: SentenceOptions;
  #epoch = -1;
  /** Sequences by length, equal lengths in the epoch's random order. */
  #byLength: Uint32Array = new Uint32Array(0);
  #order: Uint32Array = new Uint32Array(0);

  /** @param paragraphs sentences of each paragraph, as ranges of `ids` */
  constructor(ids: Int32Array, paragraphs: readonly (readonly Span[])[], options: SentenceOptions) {
    const { window, tokens, extra = 2, joined = 0.5, repeats = 0, seed } = options;
    for (const [name, value] of Object.entries({ window, tokens }))
      if (!(Number.isSafeInteger(value) && value > 0))
        refuseValue("SentenceBatches", name, "an integer > 0", value);
    for (const [name, value] of Object.entries({ joined, repeats }))
      if (!(value >= 0 && value <= 1)) refuseValue("SentenceBatches", name, "a share from 0 to 1", value);
    this.#ids = ids;
    this.#options = options;
    const generator = new Generator(seed, STREAM.join);
    const all = paragraphs.flatMap((sentences) => sequencesOf(sentences, window, joined, generator));
    this.#sequences = all.filter(({ start, end }) => end - start >= Math.min(LEAST, window));
    if (this.#sequences.length === 0)
      throw new OptionError("text", `SentenceBatches: no sentence has ${LEAST} tokens`);
    const lengths = this.#sequences.map(({ start, end }) => end - start).sort((a, b) => a - b);
    const starts: number[] = [];
    for (let at = 0; at < lengths.length; ) {
      starts.push(at);
      at += Math.max(1, Math.floor(tokens / (lengths[at] + extra)));
    }
    this.#starts = [...starts, lengths.length];
    this.perEpoch = starts.length;
  }

  /** The sequences of batch `n`, n = 0, 1, …, all of one length: a function of the seed and n. */
  batch(n: number): Int32Array[] {
    const epoch = Math.floor(n / this.perEpoch);
    if (epoch !== this.#epoch) this.#enter(epoch);
    const b = this.#order[n % this.perEpoch];
    const places = Array.from(this.#byLength.subarray(this.#starts[b], this.#starts[b + 1]));
    const { start, end } = this.#sequences[places[0]];
    const length = end - start;
    const { seed, repeats = 0 } = this.#options;
    return places.map((place, row) => {
      const { start } = this.#sequences[place];
      const ids = this.#ids.slice(start, start + length);
      if (repeats > 0 && length >= 16)
        repeatSpan(ids, repeats, new Generator(seed, STREAM.repeat + 16 * n, 4 * row));
      return ids;
    });
  }

  #enter(epoch: number): void {
    const { seed } = this.#options;
    const random = permutation(this.#sequences.length, new Generator(seed, STREAM.order + 16 * epoch));
    const length = (place: number) => this.#sequences[place].end - this.#sequences[place].start;
    // The sort is stable: sequences of equal length stay in random order.
    this.#byLength = Uint32Array.from([...random].sort((a, b) => length(a) - length(b)));
    this.#order = permutation(this.perEpoch, new Generator(seed, STREAM.batches + 16 * epoch));
    this.#epoch = epoch;
  }
}

/** A paragraph as sequences: one sentence each, or as many as fit into a window; a longer sentence is divided. */
function sequencesOf(
  sentences: readonly Span[],
  window: number,
  joined: number,
  generator: Generator,
): Span[] {
  const spans: Span[] = [];
  for (let i = 0; i < sentences.length; ) {
    const { start } = sentences[i];
    let { end } = sentences[i++];
    if (generator.uniform() < joined)
      while (i < sentences.length && sentences[i].end - start <= window) end = sentences[i++].end;
    for (let at = start; at < end; at += window) spans.push({ start: at, end: Math.min(end, at + window) });
  }
  return spans;
}
