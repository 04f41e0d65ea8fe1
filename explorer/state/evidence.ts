/**
 * The contrast of the cell that is shown: what the other rows of its head give the same key. Computed while the ledger is on screen, in
 * slices of time, and kept until another cell is shown.
 */
import { contrastOf, type LinkContrast } from "../../src/store/measures/contrast.ts";
import { MAX_COMPARED } from "../../src/store/measures/key-sums.ts";
import type { Session } from "../app/session.ts";

interface Pending {
  readonly key: string;
  readonly stop: AbortController;
  link: LinkContrast | undefined;
}

const current = new WeakMap<Session, Pending>();

/** The contrast of the shown cell; undefined while it is computed. */
export function evidenceAt(session: Session): LinkContrast | undefined {
  const { store, ref, shown } = session;
  if (store === undefined || !session.ready) return undefined;
  const key = JSON.stringify([session.opened, ref, shown.query, shown.key]);
  const last = current.get(session);
  if (last?.key === key) return last.link;
  last?.stop.abort();
  const now: Pending = { key, stop: new AbortController(), link: undefined };
  current.set(session, now);
  contrastOf(store, ref, shown.query, shown.key, { signal: now.stop.signal, maxCells: MAX_COMPARED }).then(
    (link) => {
      now.link = link;
      if (current.get(session) === now) session.changed();
    },
    // A head that cannot be read is reported where it is drawn.
    () => {},
  );
  return undefined;
}
