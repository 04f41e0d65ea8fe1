/**
 * The edits of the row view: changed components of the query or of a key, a changed scale, and the temperature. The store
 * computes with them.
 */
import type { Edits } from "../../src/store/head-store.ts";
import type { Ledger } from "../../src/store/measures/ledger.ts";
import type { Session } from "../app/session.ts";
import { typedNumber } from "../views/row/steps.ts";
import type { Edit } from "./state.ts";

/** The scale of the head in the recipe. */
export function scaleOf({ store, ref, shown }: Session): number | undefined {
  return store!.ledger(ref, shown.query, shown.key).scale;
}

/** All edits in the form that the store takes. */
export function editsOf(session: Session): Edits {
  const { edits, state } = session;
  if (!session.isEditable(state)) return {};
  if (state.temperature === 1) return edits;
  const scale = edits.scale ?? scaleOf(session);
  return scale === undefined ? edits : { ...edits, scale: scale / state.temperature };
}

/** The last ledger of each session: a page is rendered many times while it shows one cell. */
const last = new WeakMap<Session, { readonly key: string; readonly edits: Edits; readonly ledger: Ledger }>();

/** The ledger of the cell that is explained, with the edits. */
export function ledgerOf(session: Session): Ledger {
  const { query, key } = session.shown;
  const { store, ref, state } = session;
  const entry = last.get(session);
  const name = `${ref.block} ${ref.layer} ${ref.head} ${query} ${key} ${state.view} ${state.temperature} ${session.opened}`;
  if (entry !== undefined && entry.key === name && entry.edits === session.edits) return entry.ledger;
  const ledger = store!.ledger(ref, query, key, editsOf(session));
  last.set(session, { key: name, edits: session.edits, ledger });
  return ledger;
}

/** Edits a component of the query or the key, or the scale, which has no index. False if the text is not a number. */
export function edit(
  session: Session,
  what: "query" | "key" | "scale",
  index: number,
  text: string,
): boolean {
  const value = typedNumber(text);
  if (value === undefined) return false;
  const { shown, state } = session;
  const next: Edit =
    what === "scale"
      ? { what, value }
      : what === "query"
        ? { what, index, value }
        : { what, token: shown.key, index, value };
  // A new edit replaces the edit of the same number, and edits of other keys.
  const rest = state.edits.filter((one) =>
    one.what !== next.what
      ? true
      : one.what === "scale" || next.what === "scale"
        ? false
        : one.index !== next.index && (one.what !== "key" || next.what !== "key" || one.token === next.token),
  );
  session.set({ edits: [...rest, next] });
  return true;
}

/** Whether anything has been edited. */
export function isChanged(session: Session): boolean {
  const { state } = session;
  return session.isEditable(state) && (state.edits.length > 0 || state.temperature !== 1);
}
