/**
 * The newest result of background work for a session: of a model's run, of a ranking of the heads. A new question ends the work on the
 * last one; an answer, whole or partial, redraws the page.
 */
import { messageOf } from "../../src/core/errors.ts";
import type { Session } from "../app/session.ts";

/** A result or an error. */
export type WorkAnswer<T> =
  | { readonly result: T; readonly error?: undefined }
  | { readonly result?: undefined; readonly error: string };

interface Slot {
  readonly key: string;
  readonly stop: AbortController;
  answer: WorkAnswer<unknown> | undefined;
}

const slots = new WeakMap<Session, Map<string, Slot>>();

/**
 * The newest answer to the question `name`; undefined while there is none.
 *
 * @param key what the question depends on; undefined: nothing is asked, and running work ends
 * @param run does the work; it may pass partial results to `partly`
 */
export function latest<T>(
  session: Session,
  name: string,
  key: string | undefined,
  run: (signal: AbortSignal, partly: (result: T) => void) => Promise<T>,
): WorkAnswer<T> | undefined {
  const ofSession = slots.get(session) ?? new Map<string, Slot>();
  slots.set(session, ofSession);
  const last = ofSession.get(name);
  const id = key === undefined ? undefined : `${session.opened} ${key}`;
  if (last && last.key === id) return last.answer as WorkAnswer<T> | undefined;
  last?.stop.abort();
  ofSession.delete(name);
  if (id === undefined) return undefined;
  const now: Slot = { key: id, stop: new AbortController(), answer: undefined };
  ofSession.set(name, now);
  const answered = (answer: WorkAnswer<T>) => {
    if (ofSession.get(name) !== now) return;
    now.answer = answer;
    session.changed();
  };
  afterFrame()
    .then(() => {
      now.stop.signal.throwIfAborted();
      return run(now.stop.signal, (result) => answered({ result }));
    })
    .then(
      (result) => answered({ result }),
      (error) => answered({ error: messageOf(error) }),
    );
  return undefined;
}

/** After the next frame, which draws what was chosen: work on the page's thread would delay it. */
export const afterFrame = (): Promise<void> =>
  new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
