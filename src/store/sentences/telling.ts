/**
 * Finds the most informative link of a text to show first: between two different whole words that are not special and not the first
 * token, with the largest contrast (`measures/contrast.ts`): what its head does for this query and key, and not for every query or at
 * every offset. Links that contrast supports come first. If a text has no such link, the conditions on the words are relaxed one by one;
 * `verdict` says what may be claimed of the link.
 */

import { checkCount, formatValue, OptionError } from "../../core/errors.ts";
import { checkKinds } from "../../core/option-names.ts";
import { type Block, type HeadRef, headsOf } from "../block.ts";
import { checkPosition, checkRequest, checkStore } from "../check.ts";
import type { RequestOptions } from "../compute/request.ts";
import type { HeadStore } from "../head-store.ts";
import { contrastRows, type LinkContrast, linkOf, randomContrast } from "../measures/contrast.ts";
import { piecesOf, wordsOf } from "../text/tokens.ts";

/** One weight, its cell and its baselines. */
export interface TellingLink extends HeadRef, LinkContrast {
  readonly query: number;
  readonly key: number;
}

/** Which heads and queries are considered. */
export interface TellingOptions {
  /** Default: all blocks. */
  readonly block?: number;
  readonly layer?: number;
  readonly head?: number;
  readonly query?: number;
}

/** Maximum number of cells to read; in longer texts some rows are skipped. */
const CELLS = 2 ** 22;
/** Maximum number of cells to read of one head. */
const HEAD_CELLS = 2 ** 18;
/** A contrast of at least this is preferred, whatever the words. */
const CLEAR = 0.3;
/** The largest rank of a link that contrast does not support: two words of content. */
const PLAIN = 5;

/**
 * Finds the most telling link of a store; undefined if no weight is above 0.
 *
 * @example
 * const link = await tellingLink(store);
 * // { block: 0, layer: 0, head: 4, query: 2, key: 1, weight: 0.80, others: 0.04, contrast: 0.65, verdict: "link", … }
 */
export async function tellingLink(
  store: HeadStore,
  options: TellingOptions = {},
  request: RequestOptions = {},
): Promise<TellingLink | undefined> {
  checkCount("tellingLink", arguments, 3);
  checkStore("tellingLink", store);
  checkKinds("tellingLink", options, { "an integer ≥ 0": "block", "": "layer head query" });
  if (options.query !== undefined)
    checkPosition("tellingLink", "query", options.query, Math.max(...store.blocks.map(({ Nq }) => Nq)));
  checkRequest("tellingLink", request);
  const refs = refsOf(store, options);
  if (refs.length === 0 && refsOf(store, {}).length > 0)
    throw new OptionError(
      "head",
      `tellingLink: no head has ${formatValue(options)}; store.blocks lists the blocks with their layers and heads`,
      { ...options },
    );
  const maxCells = Math.max(1, Math.min(HEAD_CELLS, Math.floor(CELLS / Math.max(1, refs.length))));
  let best: (TellingLink & { rank: number; score: number }) | undefined;
  const words = new Map<number, Word>();
  for (const [done, ref] of refs.entries()) {
    request.signal?.throwIfAborted();
    await store.load(ref);
    const block = store.blocks[ref.block];
    const wordFlags = words.get(ref.block) ?? wordIn(block);
    words.set(ref.block, wordFlags);
    // Of two rows at most, the first says least: in causal heads it has one key.
    const query = options.query ?? (2 * block.Nk > maxCells ? block.Nq - 1 : undefined);
    const sweep = contrastRows(store, ref, { query, signal: request.signal, maxCells });
    for await (const row of sweep) {
      // A link of less contrast has a rank of at most PLAIN.
      const least = Math.min(CLEAR, randomContrast(Math.round(1 / row.even)));
      for (let key = 0; key < row.weights.length; key++) {
        const weight = row.weights[key];
        if (!(weight > 0) || weight > 1.0001) continue;
        if (best !== undefined && best.rank > PLAIN && row.contrast[key] < least) continue;
        const link = linkOf(row, key);
        const rank = rankOf(block, wordFlags, row.i, key, link);
        // Without other rows there is no contrast, and −1 is its minimum.
        const score = Number.isNaN(link.contrast) ? weight - row.even - 2 : link.contrast;
        if (best === undefined || rank > best.rank || (rank === best.rank && score > best.score))
          best = { ...ref, query: row.i, key, ...link, rank, score };
      }
    }
    request.onProgress?.((done + 1) / refs.length);
  }
  if (best === undefined) return undefined;
  const { rank, score, ...link } = best;
  return link;
}

/** The heads that are considered. */
const refsOf = ({ blocks }: HeadStore, only: TellingOptions): HeadRef[] =>
  blocks.flatMap((block, n) => ((only.block ?? n) === n ? headsOf(block, n, only) : []));

/** Which tokens are whole words: words of a single piece with a letter or digit, and no parts of "didn ' t". */
interface Word {
  readonly query: readonly boolean[];
  readonly key: readonly boolean[];
}

function wordIn({ queryTokens, keyTokens, special }: Block): Word {
  const flagsOf = (tokens: readonly string[], marked: readonly boolean[]) => {
    const out = tokens.map(() => false);
    for (const { start, end } of wordsOf(tokens, piecesOf(tokens)))
      out[start] =
        end === start + 1 &&
        !marked[start] &&
        /[\p{L}\p{N}]/u.test(tokens[start]) &&
        !/['’]/.test(`${tokens[start - 1]}${tokens[end]}`);
    return out;
  };
  return { query: flagsOf(queryTokens, special.query), key: flagsOf(keyTokens, special.key) };
}

/** English function words: a link to one is less informative. There are no lists of other languages. */
const FUNCTION_WORDS = new Set(
  "the a an of to in on at by for with from and or but as is was were be are been has had have do did this that these those there they them he him his she her we our you your who which what when then than because like not no so if into over under along across about after before between down up off out near through it its i".split(
    " ",
  ),
);
/** Pronouns attend to the words they refer to: they are informative as queries, not as keys. */
const PRONOUNS = new Set("it he she they them him her who which".split(" "));

const bare = (token: string) => token.replace(/^[\sĠ▁]+/u, "").toLowerCase();

/** A pronoun refers to an earlier word. */
function isContent(query: string, key: string, isEarlier: boolean): boolean {
  const [q, k] = [bare(query), bare(key)];
  return (!FUNCTION_WORDS.has(q) || (PRONOUNS.has(q) && isEarlier)) && !FUNCTION_WORDS.has(k);
}

/** A rank of the conditions that a link meets, the most important ones weighted most: higher is better. */
function rankOf(
  block: Block,
  word: Word,
  query: number,
  key: number,
  { contrast, verdict }: LinkContrast,
): number {
  const { kind, queryOffset, special, queryTokens, keyTokens } = block;
  const p = query + queryOffset;
  const cross = kind === "cross";
  const text = !special.query[query] && !special.key[key];
  const other = cross || (p !== key && queryTokens[query] !== keyTokens[key]);
  const notFirst = cross || key > 0;
  const areWords = word.query[query] && word.key[key];
  if (!text) return 0;
  if (!(other && notFirst)) return 1;
  const content = areWords && isContent(queryTokens[query], keyTokens[key], cross || key < p);
  return (
    2 + (verdict === "link" ? 8 : 0) + (contrast >= CLEAR ? 4 : 0) + (areWords ? 2 : 0) + (content ? 1 : 0)
  );
}
