/**
 * Where the cursor goes when another text opens: to the same tokens, or, where the text does not have them, to the link that
 * says most about it. What was selected, pinned or zoomed into belongs to the text before.
 */
import { type TellingOptions, tellingLink } from "../../src/store/measures/telling.ts";
import type { Block, HeadStore } from "../../src/store/types.ts";
import { interestingCell } from "./interesting.ts";
import type { State } from "./state.ts";

export { interestingCell };

/** Cells of all heads up to which all heads are searched for a link. */
const SEARCHED = 2 ** 23;
/** Cells of one head up to which the most telling link is searched for; of larger heads the strongest one of some rows. */
const LARGE = 2 ** 20;

/**
 * The change of the state with which another text opens.
 *
 * @param state the state so far
 * @param from the block that was shown; undefined: nothing was
 * @param isNew the text is shown for the first time: a link of any head is taken, unless it has the tokens of the one before
 */
export async function carried(
  state: State,
  from: Block | undefined,
  to: HeadStore,
  isNew: boolean,
): Promise<Partial<State>> {
  const index = Math.max(
    0,
    to.blocks.findIndex(({ name }) => name === state.block),
  );
  const block = to.blocks[index] as Block | undefined;
  if (block === undefined) return {};
  const sameText = from !== undefined && isSame(from.queryTokens, block.queryTokens);
  const kept: Partial<State> = from === undefined ? {} : released(state, sameText);
  if (isNew && !(sameText && isSame(from.keyTokens, block.keyTokens))) {
    const cells = to.blocks.reduce((sum, one) => sum + one.layers.length * one.heads * one.Nq * one.Nk, 0);
    if (cells <= SEARCHED) return { ...kept, ...(await linkOf(to, {})) };
  }
  if (from === undefined) return {};
  const query = sameToken(from.queryTokens, block.queryTokens, state.query);
  const key = sameToken(from.keyTokens, block.keyTokens, state.key);
  if (query !== undefined && key !== undefined) return { ...kept, query, key };
  // The head stays, as it is numbered here.
  const layer = block.layers.includes(state.layer) ? state.layer : block.layers[0];
  const head = Math.min(state.head, block.heads - 1);
  const here = { block: index, layer, head };
  if (block.Nq * block.Nk > LARGE) {
    await to.load(here);
    return { ...kept, ...interestingCell(to, here) };
  }
  return { ...kept, ...(await linkOf(to, { ...here, query })) };
}

/** The most telling link of some heads, as the state names it. */
async function linkOf(store: HeadStore, options: TellingOptions): Promise<Partial<State>> {
  const link = await tellingLink(store, options);
  if (link === undefined) return {};
  const { layer, head, query, key } = link;
  return { block: store.blocks[link.block].name, layer, head, query, key };
}

/** What of the state belongs to one text, as it is in another one. */
function released({ ablated }: State, sameText: boolean): Partial<State> {
  return {
    // Heads stay switched off, except at a token: the indices of another text mean other tokens.
    ...(!sameText && { predict: null, ablated: ablated.filter(({ position }) => position === null) }),
    pinned: null,
    rows: [],
    columns: [],
    hidden: [],
    querySegments: [],
    keySegments: [],
    camera: null,
  };
}

const isSame = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((token, at) => token === b[at]);

/** The token of another list with the same text: at the same index, or the occurrence with the same number. */
function sameToken(from: readonly string[], to: readonly string[], index: number): number | undefined {
  const token = from[index];
  if (token === undefined || to[index] === token) return index;
  const nth = from.slice(0, index).filter((other) => other === token).length;
  const indices = to.flatMap((other, at) => (other === token ? [at] : []));
  return indices[Math.min(nth, indices.length - 1)];
}
