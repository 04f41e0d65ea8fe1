/**
 * "Ask the heads": all heads of a block ranked by one link. For a query and a key this is their weight and its contrast
 * (`contrast.ts`: what the head does here and not for every query); for a query alone, its largest weight on one key; for a key alone,
 * the mean weight that all queries give to it, which has no contrast.
 *
 * Computes the rows of each head once. No matrix is stored.
 */

import { checkArgument, checkCount, formatValue, OptionError, refuseGot } from "../../core/errors.ts";
import { checkKinds } from "../../core/option-names.ts";
import { type HeadRef, headsOf } from "../block.ts";
import { checkObject, checkRequest, checkStore } from "../check.ts";
import type { RequestOptions } from "../compute/request.ts";
import type { HeadStore } from "../head-store.ts";
import type { Span } from "./aggregate.ts";
import { contrastRows } from "./contrast.ts";

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
  /** What the other queries give the same key, and what they give at the same offset; NaN where no other query may. Absent for a key alone. */
  readonly others?: number;
  readonly offset?: number;
  /** weight − max(others, offset); NaN where both are. Absent for a key alone. */
  readonly contrast?: number;
  /** The key that gets the weight, for a question with a query alone. */
  readonly key?: number;
}

/** How the answers are sorted: by `contrast`, or by `weight`. Both largest first. */
export type HeadOrder = "contrast" | "weight";

/** Maximum number of cells that are read for the baselines of all heads. */
const CELLS = 2 ** 24;

/**
 * Asks every head of a block about one link and returns the answers with the largest contrast first (of a key alone, the largest
 * weight; see `sortAnswers`). Equal answers stay in the order layer, head; NaN comes last.
 *
 * Errors: `OptionError` if neither query nor key is given, or a position is outside the text.
 *
 * @example
 * const answers = await askHeads(store, { query: 7, key: 2 });
 * answers[0]; // { ref: { block: 0, layer: 3, head: 1 }, weight: 0.49, even: 0.08, others: 0.11, offset: 0.29, contrast: 0.2 }
 */
export async function askHeads(
  store: HeadStore,
  question: HeadQuestion,
  request: RequestOptions = {},
): Promise<HeadAnswer[]> {
  checkCount("askHeads", arguments, 3);
  checkStore("askHeads", store);
  checkObject("askHeads", "a question, { query, key }", question);
  checkKinds("askHeads", question, {
    "an integer ≥ 0": "block",
    "": "query key",
    "true or false": "special",
  });
  checkRequest("askHeads", request);
  const { block: index = 0, query, key, special = false } = question;
  const block = store.blocks[index];
  if (!block)
    refuseGot("block", `askHeads: block must be an integer from 0 to ${store.blocks.length - 1}`, index, {
      block: index,
    });
  if (query === undefined && key === undefined)
    throw new OptionError("question", "askHeads: give a query, a key, or both");
  const queries = query === undefined ? range(0, block.Nq) : positions("query", query, block.Nq);
  const anyKey = range(0, block.Nk).filter((j) => special || !block.special.key[j]);
  const keys = key === undefined ? anyKey : positions("key", key, block.Nk);
  const refs = headsOf(block, index);
  let done = 0;
  const answers = await Promise.all(
    refs.map(async (ref): Promise<HeadAnswer> => {
      const link = await store.link(ref, queries, keys, { signal: request.signal });
      request.onProgress?.(++done / refs.length);
      const { weight, even } = key === undefined ? (link.strongest ?? { weight: 0, even: 0 }) : link;
      if (query === undefined) return { ref, weight, even };
      const strongest = key === undefined ? { key: link.strongest?.key } : {};
      const cells = key === undefined ? [link.strongest?.key ?? keys[0]] : keys;
      const maxCells = CELLS / refs.length;
      const baselines = await baselinesOf(store, ref, queries, cells, { signal: request.signal, maxCells });
      return { ref, weight, even, ...baselines, contrast: weight - highest(baselines), ...strongest };
    }),
  );
  return sortAnswers(answers, query === undefined ? "weight" : "contrast");
}

/** What the other rows give the keys, and give at the same offsets: summed over the keys, the mean over the queries. */
async function baselinesOf(
  store: HeadStore,
  ref: HeadRef,
  queries: readonly number[],
  keys: readonly number[],
  options: { readonly signal?: AbortSignal; readonly maxCells: number },
): Promise<{ others: number; offset: number }> {
  const [others, offset]: [number[], number[]] = [[], []];
  for (const query of queries)
    for await (const row of contrastRows(store, ref, { ...options, query })) {
      const sum = (values: Float64Array) => {
        const numbers = keys.map((j) => values[j]).filter((x) => !Number.isNaN(x));
        return numbers.length === 0 ? Number.NaN : numbers.reduce((total, x) => total + x, 0);
      };
      others.push(sum(row.others));
      offset.push(sum(row.offset));
    }
  const mean = (values: readonly number[]) => {
    const numbers = values.filter((x) => !Number.isNaN(x));
    return numbers.reduce((total, x) => total + x, 0) / numbers.length;
  };
  return { others: mean(others), offset: mean(offset) };
}

/** The larger of two baselines, where one may be undefined. */
const highest = ({ others, offset }: { others: number; offset: number }) =>
  Number.isNaN(others) ? offset : Number.isNaN(offset) ? others : Math.max(others, offset);

/** The answers sorted by contrast or weight, the largest first; NaN and answers without a contrast come last. Returns a new array. */
export function sortAnswers(answers: readonly HeadAnswer[], order: HeadOrder): HeadAnswer[] {
  checkArgument(Array.isArray(answers), "sortAnswers", "a list, as askHeads returns it", answers);
  const value = (answer: HeadAnswer) => {
    const x = answer[order] ?? Number.NaN;
    return Number.isNaN(x) ? -Infinity : x;
  };
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
