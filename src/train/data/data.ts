/**
 * From token ids to batches. A text is divided into blocks, and one block out of every few is held out, so no training window
 * contains held-out text. Training windows are on a grid over the rest, which is shifted in each epoch, and are read in a new
 * random order each epoch.
 *
 * A batch is a pure function of the seed and its number. It needs no state, and a run that resumes at step s reads the same
 * batches as an uninterrupted run.
 *
 * An optional share of sequences is a span repeated several times. Predicting the second copy needs a head that finds
 * the first one ("induction", Olsson et al. 2022, arXiv 2209.11895); plain text teaches it too, but takes longer.
 */
import {
  argumentError,
  checkArgument,
  checkCount,
  checkInteger,
  checkNumber,
  checkSeed,
  OptionError,
  ShapeError,
} from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { Tensor } from "../../core/tensor.ts";
import { checkIds } from "../../nn/ops/lookup.ts";
import { IGNORE_INDEX } from "../loss.ts";
import { Generator, permutation } from "./random.ts";

/** Token ids `start` to `end` (excluded) of a corpus. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A corpus in two parts. */
export interface Split {
  readonly train: readonly Span[];
  readonly heldOut: readonly Span[];
}

/** A batch of sequences: row r of `inputs` belongs to row r of `targets`. */
export interface Batch {
  /** [B, T] int32 */
  readonly inputs: Tensor<"int32">;
  /** [B, T] int32: the token to predict at each position, −100 where none is predicted. */
  readonly targets: Tensor<"int32">;
  /** Number of targets that are not −100. */
  readonly count: number;
}

/** Options of `splitBlocks`. */
export interface SplitOptions {
  /** Tokens per sequence; no part is shorter. */
  readonly window: number;
  /** Share held out, default 0.1; 0 holds nothing out. */
  readonly share?: number;
  /** Tokens per block; by default 16 windows, fewer in a short corpus. */
  readonly block?: number;
}

/**
 * Splits a corpus of `length` tokens: every (1/share)-th block is held out, and adjacent blocks are joined. Throws OptionError.
 *
 * @example
 * const { train, heldOut } = splitBlocks(10_000, { window: 16 });
 */
export function splitBlocks(length: number, options: SplitOptions): Split {
  checkCount("splitBlocks", arguments, 2);
  checkArgument(
    Number.isSafeInteger(length) && typeof options === "object",
    "splitBlocks",
    "a number of tokens and { window }",
    Number.isSafeInteger(length) ? options : length,
  );
  checkNames("splitBlocks", options, ["window", "share", "block"]);
  const { window, share = 0.1 } = options;
  checkNumber("splitBlocks", "share", share, 0, 0.5);
  checkInteger("splitBlocks", "window", window, 1);
  if (options.block !== undefined) checkInteger("splitBlocks", "block", options.block, 1);
  const least = share === 0 ? window : 2 * window;
  if (length < least)
    throw new OptionError(
      "text",
      `splitBlocks: the text has ${length} tokens; a sequence takes ${window}${share === 0 ? "" : ", and one more is held out"}`,
      { tokens: length, window },
    );
  if (share === 0) return { train: [{ start: 0, end: length }], heldOut: [] };
  const period = Math.max(2, Math.round(1 / share));
  const block = Math.max(window, options.block ?? Math.min(16 * window, Math.floor(length / period)));
  const blocks = Math.floor(length / block);
  const train: Span[] = [];
  const heldOut: Span[] = [];
  // The last block of each group is held out, or the last block of the text where it is shorter than a group.
  const isHeldOut = (i: number) => i % period === period - 1 || (blocks <= period && i === blocks - 1);
  for (let i = 0; i < blocks; i++) {
    const parts = isHeldOut(i) ? heldOut : train;
    const [start, end] = [i * block, i === blocks - 1 ? length : (i + 1) * block];
    const last = parts[parts.length - 1];
    if (last?.end === start) parts[parts.length - 1] = { start: last.start, end };
    else parts.push({ start, end });
  }
  return { train, heldOut };
}

/** Options of `Windows`. */
export interface WindowOptions {
  /** Tokens per window. */
  readonly window: number;
  readonly seed: number;
  /** Tokens that adjacent windows share: with 1, each token is a target once. Default 0. */
  readonly overlap?: number;
  /** Share of sequences that repeat a span; default 0. */
  readonly repeats?: number;
}

/** Throws an OptionError unless `ids` are token ids and `spans` a list of spans of them. */
export function checkSpans(what: string, ids: Int32Array, spans: readonly Span[]): void {
  checkArgument(ids instanceof Int32Array, what, "token ids, an Int32Array", ids);
  checkArgument(Array.isArray(spans), what, "a list of spans { start, end }", spans);
  for (const span of spans) {
    checkInteger(what, "start", span?.start, 0, ids.length);
    checkInteger(what, "end", span.end, span.start, ids.length);
  }
}

/** Refuses windows that do not advance: of an overlap as long as they are, or of no length. */
function checkWindow(what: string, window: number, overlap: number): void {
  checkInteger(what, "overlap", overlap, 0);
  checkInteger(what, "window", window, overlap + 1);
}

/** Refuses what is no list of sequences of one length, of at least `least` tokens. */
function checkSequences(what: string, sequences: readonly Int32Array[], least: number): void {
  checkArgument(
    Array.isArray(sequences) && sequences.length > 0,
    what,
    "one or more sequences of token ids, a list of Int32Array",
    sequences,
  );
  const length = sequences[0]?.length;
  for (const [n, ids] of sequences.entries()) {
    if (!(ids instanceof Int32Array))
      throw argumentError(what, "sequences that are Int32Arrays, as in Int32Array.of(3, 1)", ids);
    if (ids.length !== length)
      throw new ShapeError(
        "sequences",
        `${what}: all sequences must have one length; the first has ${length} tokens, number ${n} has ${ids.length}`,
        { length, got: ids.length },
      );
  }
  checkInteger(what, "the number of tokens of a sequence", length, least);
}

const STREAM = { order: 1, shift: 2, repeat: 3 } as const;

/**
 * Windows of a corpus in an infinite seeded order.
 *
 * @example
 * const windows = new Windows(Int32Array.of(1, 2, 3, 4, 5, 6), [{ start: 0, end: 6 }], { window: 3, seed: 1 });
 * windows.sequence(0).length; // → 3
 */
export class Windows {
  /** Windows per epoch. */
  readonly perEpoch: number;
  readonly #ids: Int32Array;
  readonly #spans: readonly { readonly start: number; readonly count: number; readonly slack: number }[];
  readonly #options: WindowOptions;
  #epoch = -1;
  #order: Uint32Array = new Uint32Array(0);
  #starts: Uint32Array = new Uint32Array(0);

  constructor(ids: Int32Array, spans: readonly Span[], options: WindowOptions) {
    checkCount("Windows", arguments, 3);
    checkSpans("Windows", ids, spans);
    checkNames("Windows", options, ["window", "seed", "overlap", "repeats"]);
    const { window, seed, overlap = 0, repeats = 0 } = options;
    checkSeed("Windows", seed);
    checkWindow("Windows", window, overlap);
    checkNumber("Windows", "repeats", repeats, 0, 1);
    const stride = window - overlap;
    this.#ids = ids;
    this.#options = options;
    this.#spans = spans
      .filter(({ start, end }) => end - start >= window)
      .map(({ start, end }) => {
        const maximum = Math.floor((end - start - window) / stride) + 1;
        // With one window fewer, the grid can be shifted.
        const count = Math.max(1, maximum - 1);
        return { start, count, slack: end - start - window - (count - 1) * stride };
      });
    this.perEpoch = this.#spans.reduce((sum, { count }) => sum + count, 0);
    if (this.perEpoch === 0)
      throw new OptionError("text", `Windows: no part of the text has the ${window} tokens of a window`);
  }

  /** Token ids of sequence `n`, n = 0, 1, …: a function of the seed and n. */
  sequence(n: number): Int32Array {
    checkCount("Windows.sequence", arguments, 1);
    checkInteger("Windows.sequence", "n", n, 0);
    const { window, seed, repeats = 0 } = this.#options;
    const start = this.#startOf(n);
    const ids = this.#ids.slice(start, start + window);
    if (repeats === 0) return ids;
    repeatSpan(ids, repeats, new Generator(seed, STREAM.repeat, 4 * n));
    return ids;
  }

  #startOf(n: number): number {
    const epoch = Math.floor(n / this.perEpoch);
    if (epoch !== this.#epoch) this.#enter(epoch);
    return this.#starts[this.#order[n % this.perEpoch]];
  }

  #enter(epoch: number): void {
    const { window, overlap = 0, seed } = this.#options;
    const shift = new Generator(seed, STREAM.shift + 16 * epoch);
    this.#starts = new Uint32Array(this.perEpoch);
    let next = 0;
    for (const { start, count, slack } of this.#spans) {
      const offset = start + shift.below(slack + 1);
      for (let i = 0; i < count; i++) this.#starts[next++] = offset + i * (window - overlap);
    }
    this.#order = permutation(this.perEpoch, new Generator(seed, STREAM.order + 16 * epoch));
    this.#epoch = epoch;
  }
}

/** With probability `share`, replaces a sequence by repetitions of its first tokens, at most half of it. */
export function repeatSpan(ids: Int32Array, share: number, generator: Generator): void {
  if (generator.uniform() >= share) return;
  const window = ids.length;
  const least = Math.min(8, Math.max(1, window >> 2));
  const period = least + generator.below(Math.max(1, (window >> 1) - least + 1));
  for (let i = period; i < window; i++) ids[i] = ids[i - period];
}

/**
 * Consecutive windows of spans, in order, that share `overlap` tokens: for measuring a loss.
 *
 * @example
 * windowsInOrder(Int32Array.of(1, 2, 3, 4), [{ start: 0, end: 4 }], 2).map((ids) => Array.from(ids)); // → [[1, 2], [3, 4]]
 */
export function windowsInOrder(
  ids: Int32Array,
  spans: readonly Span[],
  window: number,
  overlap = 0,
): Int32Array[] {
  checkCount("windowsInOrder", arguments, 4);
  checkSpans("windowsInOrder", ids, spans);
  checkWindow("windowsInOrder", window, overlap);
  const list: Int32Array[] = [];
  for (const { start, end } of spans)
    for (let at = start; at + window <= end; at += window - overlap) list.push(ids.subarray(at, at + window));
  return list;
}

/**
 * A batch for next-token prediction from sequences of T + 1 tokens: inputs are the first T, targets the last T.
 *
 * @example
 * const { inputs, targets } = nextTokenBatch([Int32Array.of(1, 2, 3)]);
 * targets; // → [[2, 3]]
 */
export function nextTokenBatch(sequences: readonly Int32Array[]): Batch {
  checkCount("nextTokenBatch", arguments, 1);
  checkSequences("nextTokenBatch", sequences, 2);
  const length = sequences[0].length - 1;
  const inputs = new Int32Array(sequences.length * length);
  const targets = new Int32Array(sequences.length * length);
  sequences.forEach((ids, row) => {
    inputs.set(ids.subarray(0, length), row * length);
    targets.set(ids.subarray(1), row * length);
  });
  return batch(inputs, targets, sequences.length, targets.length);
}

/** How tokens are masked (Devlin et al. 2018, arXiv 1810.04805, section 3.1). */
export interface MaskingOptions {
  /** Id of the mask token. */
  readonly mask: number;
  /** Number of token ids: a random id replaces a tenth of the chosen tokens. */
  readonly vocabulary: number;
  /** Ids that are never chosen and never used as replacements: [CLS], [SEP] … */
  readonly special: ReadonlySet<number>;
  readonly seed: number;
  /** Share of tokens chosen; default 0.15. */
  readonly share?: number;
}

/**
 * A batch for masked-token prediction. Of the tokens chosen, 80 % become the mask token, 10 % become a random
 * token and 10 % are unchanged; they are the targets. Each sequence has at least one. Sequence r is masked as number
 * `first + r`: the same number gives the same masks.
 *
 * @example
 * const batch = maskedBatch([Int32Array.of(5, 6, 7)], 0, { mask: 4, vocabulary: 10, special: new Set([0]), seed: 1 });
 * batch.inputs.shape; // → [1, 3]
 */
export function maskedBatch(sequences: readonly Int32Array[], first: number, options: MaskingOptions): Batch {
  checkCount("maskedBatch", arguments, 3);
  checkSequences("maskedBatch", sequences, 1);
  checkArgument(
    typeof options?.special?.has === "function",
    "maskedBatch",
    "{ mask, vocabulary, special, seed }, special a Set of ids, as the third argument",
    options,
  );
  checkNames("maskedBatch", options, ["mask", "vocabulary", "special", "seed", "share"]);
  const { mask, vocabulary, special, seed, share = 0.15 } = options;
  checkInteger("maskedBatch", "first", first, 0);
  checkInteger("maskedBatch", "vocabulary", vocabulary, 1, 2 ** 31);
  checkInteger("maskedBatch", "mask", mask, 0, vocabulary - 1);
  checkNumber("maskedBatch", "share", share, 0, 1);
  for (const ids of sequences) checkIds(ids, vocabulary, "maskedBatch", "the vocabulary has ids");
  const length = sequences[0].length;
  const inputs = new Int32Array(sequences.length * length);
  const targets = new Int32Array(sequences.length * length).fill(IGNORE_INDEX);
  let count = 0;
  const choose = (at: number, id: number, generator: Generator) => {
    const draw = generator.uniform();
    targets[at] = id;
    count++;
    if (draw < 0.8) inputs[at] = mask;
    else if (draw < 0.9) {
      do inputs[at] = generator.below(vocabulary);
      while (special.has(inputs[at]));
    }
  };
  sequences.forEach((ids, row) => {
    inputs.set(ids, row * length);
    const generator = new Generator(seed, first + row);
    const before = count;
    const free: number[] = [];
    for (let i = 0; i < length; i++) {
      if (special.has(ids[i])) continue;
      free.push(i);
      if (generator.uniform() < share) choose(row * length + i, ids[i], generator);
    }
    if (count > before || free.length === 0) return;
    const i = free[generator.below(free.length)];
    choose(row * length + i, ids[i], generator);
  });
  if (count === 0)
    throw new OptionError("sequences", "maskedBatch: all tokens are special, so there is none to predict");
  return batch(inputs, targets, sequences.length, count);
}

function batch(inputs: Int32Array, targets: Int32Array, rows: number, count: number): Batch {
  const shape = [rows, inputs.length / rows];
  return { inputs: new Tensor(inputs, shape, "int32"), targets: new Tensor(targets, shape, "int32"), count };
}
