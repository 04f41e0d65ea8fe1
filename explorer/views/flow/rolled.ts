/**
 * The rollout of the block that is shown, computed by the store's own function. It is kept until the text or a setting
 * changes; while the next one is computed, the one before stays on screen.
 */
import { type Rollout, rollout } from "../../../src/store/measures/rollout.ts";
import type { Session } from "../../app/session.ts";

/** What is known of a rollout: the last one that was computed, or why there is none. */
export interface Rolled {
  readonly done: Rollout | undefined;
  readonly problem: string | undefined;
  /** Grows with every new rollout. */
  readonly version: number;
}

interface Kept extends Rolled {
  readonly key: string;
  readonly text: string;
  readonly stop: AbortController;
}

const known = new WeakMap<Session, Kept>();

/** The rollout of the session's state; asked for where it is not known. */
export function rolledOf(session: Session): Rolled {
  const { store, state } = session;
  const { block } = session.ref;
  const text = `${session.opened} ${block}`;
  const { alpha, fuse, discard, fromLayer } = state;
  const key = JSON.stringify([text, alpha, fuse, discard, fromLayer]);
  const before = known.get(session);
  if (before?.key === key || store === undefined) return before ?? NONE;
  before?.stop.abort();
  const stop = new AbortController();
  const same = before?.text === text ? before : NONE;
  const kept: Kept = { key, text, stop, done: same.done, problem: undefined, version: same.version };
  known.set(session, kept);
  const from = store.blocks[block]?.layers.includes(fromLayer ?? -1) ? { from: fromLayer! } : {};
  const put = (patch: Partial<Rolled>) => {
    if (known.get(session)?.key !== key) return;
    known.set(session, { ...kept, ...patch, version: ++versions });
    session.changed();
  };
  rollout(store, { block, alpha, fuse, discard, ...from }, { signal: stop.signal }).then(
    (done) => put({ done }),
    (error) => {
      if (!stop.signal.aborted) put({ done: undefined, problem: reasonOf(error) });
    },
  );
  return kept;
}

const NONE: Rolled = { done: undefined, problem: undefined, version: 0 };
let versions = 0;

/** An error's text without the name of the function. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const said = text.replace(/^rollout: /, "");
  return said.charAt(0).toUpperCase() + said.slice(1);
}
