/**
 * Finds the most informative link of a text to show first: between two different whole words that are not neighbors, special or
 * the first token, with a weight from 0.3 to 0.8 (a weight of 1 explains nothing), and with the largest ratio to even
 * attention. If a text has no such link, the conditions are relaxed one by one.
 */
import { checkStore } from "../check.ts";
import { piecesOf, wordsOf } from "../text/tokens.ts";
import type { Asking, Block, HeadRef, HeadStore } from "../types.ts";

/** One weight and its cell. */
export interface TellingLink extends HeadRef {
  readonly query: number;
  readonly key: number;
  readonly weight: number;
  /** Weight divided by the weight of even attention over the unmasked keys. */
  readonly lift: number;
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
const LOW = 0.3;
const HIGH = 0.8;

/**
 * Finds the most telling link of a store; undefined if no weight is above 0.
 *
 * @example
 * const link = await tellingLink(store);
 * // { block: 0, layer: 5, head: 11, query: 8, key: 2, weight: 0.68, lift: 8.2 }
 */
export async function tellingLink(
  store: HeadStore,
  options: TellingOptions = {},
  asking: Asking = {},
): Promise<TellingLink | undefined> {
  checkStore("tellingLink", store);
  const refs = refsOf(store, options);
  const cells = refs.reduce((sum, { block }) => sum + store.blocks[block].Nq * store.blocks[block].Nk, 0);
  const step = Math.max(1, Math.ceil(cells / CELLS));
  let best: (TellingLink & { rank: number; score: number }) | undefined;
  const words = new Map<number, Word>();
  for (const [done, ref] of refs.entries()) {
    asking.signal?.throwIfAborted();
    await store.load(ref);
    const block = store.blocks[ref.block];
    const known = words.get(ref.block) ?? wordIn(block);
    words.set(ref.block, known);
    const first = options.query ?? 0;
    const end = options.query === undefined ? block.Nq : Math.min(block.Nq, first + 1);
    for (let query = first; query < end; query += step) {
      const row = store.row(ref, query, "weights");
      const visible = store.visible(ref, query).reduce((count, seen) => count + seen, 0);
      for (let key = 0; key < row.length; key++) {
        const weight = row[key];
        if (!(weight > 0) || weight > 1.0001) continue;
        const rank = rankOf(block, known, query, key, weight);
        const lift = weight * visible;
        const score = lift * plainness(block, query, key, weight);
        if (best === undefined || rank > best.rank || (rank === best.rank && score > best.score))
          best = { ...ref, query, key, weight, lift, rank, score };
      }
    }
    asking.onProgress?.((done + 1) / refs.length);
  }
  if (best === undefined) return undefined;
  const { rank, score, ...link } = best;
  return link;
}

/** The heads that are considered. */
function refsOf(store: HeadStore, { block, layer, head }: TellingOptions): HeadRef[] {
  return store.blocks.flatMap(({ layers, heads }, index) =>
    (block ?? index) === index
      ? layers.flatMap((one) =>
          (layer ?? one) === one
            ? Array.from({ length: heads }, (_, n) => n)
                .filter((n) => (head ?? n) === n)
                .map((n): HeadRef => ({ block: index, layer: one, head: n }))
            : [],
        )
      : [],
  );
}

/** Which tokens are whole words: words of a single piece with a letter or digit, and no parts of "didn ' t". */
interface Word {
  readonly query: readonly boolean[];
  readonly key: readonly boolean[];
}

function wordIn({ queryTokens, keyTokens, special }: Block): Word {
  const whole = (tokens: readonly string[], marked: readonly boolean[]) => {
    const out = tokens.map(() => false);
    for (const { start, end } of wordsOf(tokens, piecesOf(tokens)))
      out[start] =
        end === start + 1 &&
        !marked[start] &&
        /[\p{L}\p{N}]/u.test(tokens[start]) &&
        !/['’]/.test(`${tokens[start - 1]}${tokens[end]}`);
    return out;
  };
  return { query: whole(queryTokens, special.query), key: whole(keyTokens, special.key) };
}

/** A factor below 1 for less informative links: between neighbors, or with nearly all of the row's attention. */
function plainness({ kind, queryOffset }: Block, query: number, key: number, weight: number): number {
  const apart = kind === "cross" || Math.abs(query + queryOffset - key) >= 2;
  return (apart ? 1 : 0.7) * (weight > HIGH ? (1.01 - weight) / (1.01 - HIGH) : 1);
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

function isContent(query: string, key: string): boolean {
  const [q, k] = [bare(query), bare(key)];
  return (!FUNCTION_WORDS.has(q) || PRONOUNS.has(q)) && !FUNCTION_WORDS.has(k);
}

/** A rank of the conditions that a link meets, the most important ones weighted most: higher is better. */
function rankOf(block: Block, word: Word, query: number, key: number, weight: number): number {
  const { kind, queryOffset, special, queryTokens, keyTokens } = block;
  const p = query + queryOffset;
  const cross = kind === "cross";
  const text = !special.query[query] && !special.key[key];
  const other = cross || (p !== key && queryTokens[query] !== keyTokens[key]);
  const notFirst = cross || key > 0;
  const whole = word.query[query] && word.key[key];
  if (!text) return 0;
  if (!(other && notFirst)) return 1;
  const content = whole && isContent(queryTokens[query], keyTokens[key]);
  const explains = weight >= LOW && weight <= HIGH;
  return 2 + (weight >= LOW ? 8 : 0) + (whole ? 4 : 0) + (content ? 2 : 0) + (explains ? 1 : 0);
}
