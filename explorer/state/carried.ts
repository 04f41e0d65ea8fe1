/**
 * The cursor when another text opens: the same tokens, or, if the text does not have them, its most telling link. The
 * selection, the pinned cell and the camera are reset.
 */

import type { Block, HeadRef } from "../../src/store/block.ts";
import type { HeadStore } from "../../src/store/head-store.ts";
import { type TellingOptions, tellingLink } from "../../src/store/sentences/telling.ts";
import type { Session } from "../app/session.ts";
import { WITHOUT_TOKENS } from "./select.ts";
import type { State } from "./state.ts";

/** The maximum number of cells of a block for a search of all its heads. */
const SEARCHED = 2 ** 23;

/**
 * The change of the state when another text opens.
 *
 * @param state the previous state
 * @param from the previous block; undefined: none
 * @param text `isNew`: it is shown for the first time, and all heads of a block are searched for a link, unless its tokens are the same and
 *   the same model read them (heads of two models have nothing in common)
 */
export async function carried(
  state: State,
  from: Block | undefined,
  to: HeadStore,
  { isNew, isSameModel }: { readonly isNew: boolean; readonly isSameModel: boolean },
): Promise<Partial<State>> {
  const index = Math.max(
    0,
    to.blocks.findIndex(({ name }) => name === state.block),
  );
  const block = to.blocks[index] as Block | undefined;
  if (block === undefined) return {};
  const sameText = from !== undefined && isSame(from.queryTokens, block.queryTokens);
  const reset: Partial<State> = from === undefined ? {} : released(state, sameText);
  if (isNew && !(sameText && isSameModel && isSame(from.keyTokens, block.keyTokens))) {
    const cells = block.layers.length * block.heads * block.Nq * block.Nk;
    if (cells <= SEARCHED) return { ...reset, ...(await linkOf(to, { block: index })) };
  }
  if (from === undefined) return {};
  const query = sameToken(from.queryTokens, block.queryTokens, state.query);
  const key = sameToken(from.keyTokens, block.keyTokens, state.key);
  if (query !== undefined && key !== undefined) return { ...reset, query, key };
  // The head with the same number, if the block has it.
  const layer = block.layers.includes(state.layer) ? state.layer : block.layers[0];
  const head = Math.min(state.head, block.heads - 1);
  return { ...reset, ...(await linkOf(to, { block: index, layer, head, query })) };
}

/** Moves the cursor to the most telling link of a head, unless `isFirst` has become false. */
export async function choose(session: Session, ref: HeadRef, isFirst: () => boolean): Promise<void> {
  const { store } = session;
  if (store === undefined || store.blocks.length === 0) return;
  const link = await linkOf(store, ref).catch(session.failed);
  if (link && isFirst()) session.set(link, "replace");
}

/** The most telling link of some heads as parts of the state. */
async function linkOf(store: HeadStore, options: TellingOptions): Promise<Partial<State>> {
  const link = await tellingLink(store, options);
  if (link === undefined) return {};
  const { layer, head, query, key } = link;
  return { block: store.blocks[link.block].name, layer, head, query, key };
}

/** Resets the parts of the state that belong to one text. */
function released({ ablated }: State, sameText: boolean): Partial<State> {
  return {
    // Heads stay switched off, except at a token: the indices of another text mean other tokens.
    ...(!sameText && { predict: null, ablated: ablated.filter(({ position }) => position === null) }),
    ...WITHOUT_TOKENS,
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
