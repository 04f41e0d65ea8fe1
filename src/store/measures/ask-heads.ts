/**
 * "Ask the heads": all heads of a block ranked by the weight of one link. For a query and a key this is their weight; for
 * a query alone, its largest weight on one key; for a key alone, the mean weight that all queries give to it.
 *
 *     lift = weight ÷ even      even: the weight if each query attended equally to every unmasked key
 *
 * Computes one row of weights per head (for a key alone, one row per query). No matrix is stored.
 */

import { checkArgument, formatValue, OptionError } from "../../core/errors.ts";
import { checkObject, checkStore } from "../check.ts";
import type { Asking, HeadRef, HeadStore } from "../types.ts";
import type { Span } from "./aggregate.ts";

/** The link in question: positions, or spans of a word's pieces. At least one of query and key is required. */
export interface HeadQuestion {
  /** Index of the block in `store.blocks`. Default 0. */
  readonly block?: number;
  /** The token that attends. For a span: the mean of its rows. */
  readonly query?: number | Span;
  /** The token that is attended to. For a span: the sum of its weights. */
  readonly key?: number | Span;
  /** For a query alone: whether its largest weight may be on a special token. Default false. */
  readonly special?: boolean;
}

/** The answer of one head. */
export interface HeadAnswer {
  readonly ref: HeadRef;
  /** The share of attention, 0 to 1; NaN where a weight is not a number. */
  readonly weight: number;
  /** The share that even attention would give. */
  readonly even: number;
  /** weight ÷ even: 1 for even attention; 0 if no query may attend to the key. */
  readonly lift: number;
  /** The key that gets the weight, for a question with a query alone. */
  readonly key?: number;
}

/** How the answers are sorted: by `weight`, or by `lift`. Both largest first. */
export type HeadOrder = "weight" | "lift";

/**
 * Asks every head of a block about one link and returns the answers with the largest weight first (or lift, see
 * `sortAnswers`). Equal answers stay in the order layer, head; NaN comes last.
 *
 * Errors: `OptionError` if neither query nor key is given, or a position is outside the text.
 *
 * @example
 * const answers = await askHeads(store, { query: 7, key: 2 });
 * answers[0]; // { ref: { block: 0, layer: 5, head: 11 }, weight: 0.68, even: 0.08, lift: 8.2 }
 */
export async function askHeads(
  store: HeadStore,
  question: HeadQuestion,
  asking: Asking = {},
): Promise<HeadAnswer[]> {
  checkStore("askHeads", store);
  checkObject("askHeads", "a question, { query, key }", question);
  const { block: index = 0, query, key, special = false } = question;
  const block = store.blocks[index];
  if (!block)
    throw new OptionError(
      "block",
      `askHeads: block must be an integer from 0 to ${store.blocks.length - 1}, got ${formatValue(index)}`,
      { block: index },
    );
  if (query === undefined && key === undefined)
    throw new OptionError("question", "askHeads: give a query, a key, or both");
  const queries = query === undefined ? range(0, block.Nq) : positions("query", query, block.Nq);
  const anyKey = range(0, block.Nk).filter((j) => special || !block.special.key[j]);
  const keys = key === undefined ? anyKey : positions("key", key, block.Nk);
  const refs = block.layers.flatMap((layer) =>
    range(0, block.heads).map((head): HeadRef => ({ block: index, layer, head })),
  );
  let done = 0;
  const answers = await Promise.all(
    refs.map(async (ref): Promise<HeadAnswer> => {
      const link = await store.link(ref, queries, keys, { signal: asking.signal });
      asking.onProgress?.(++done / refs.length);
      const { weight, even } = key === undefined ? (link.strongest ?? { weight: 0, even: 0 }) : link;
      const found = key === undefined ? { key: link.strongest?.key } : {};
      return { ref, weight, even, lift: even === 0 ? 0 : weight / even, ...found };
    }),
  );
  return sortAnswers(answers, "weight");
}

/** The answers sorted by weight or lift, the largest first; NaN comes last. Returns a new array. */
export function sortAnswers(answers: readonly HeadAnswer[], order: HeadOrder): HeadAnswer[] {
  checkArgument(Array.isArray(answers), "sortAnswers", "a list, as askHeads returns it", answers);
  const value = (answer: HeadAnswer) => (Number.isNaN(answer[order]) ? -Infinity : answer[order]);
  return [...answers].sort((a, b) => value(b) - value(a));
}

function positions(name: "query" | "key", chosen: number | Span, count: number): number[] {
  const { start, end } = typeof chosen === "number" ? { start: chosen, end: chosen + 1 } : chosen;
  if (!(Number.isInteger(start) && Number.isInteger(end) && start >= 0 && end > start && end <= count))
    throw new OptionError(
      name,
      `askHeads: ${name} must be a position from 0 to ${count - 1} or a span { start, end } inside them, got ${formatValue(chosen)}`,
      { [name]: chosen },
    );
  return range(start, end);
}

function range(start: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, n) => start + n);
}
