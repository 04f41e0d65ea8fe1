/**
 * The run of the model without the heads that are switched off. The model of the source computes it (src/view/element.ts,
 * `SourceModel`); the result is cached until the heads, the predicted token or the text change.
 */
import { messageOf } from "../../src/core/errors.ts";
import type { AblationResult } from "../../src/view/element.ts";
import type { Session } from "../app/session.ts";

/** The result or the error of a run. */
export type AblationAnswer =
  | { readonly result: AblationResult; readonly error?: undefined }
  | { readonly result?: undefined; readonly error: string };

interface AblationRun {
  readonly key: string;
  readonly stop: AbortController;
  answer: AblationAnswer | undefined;
}

const runs = new WeakMap<Session, AblationRun>();

/** The result of the run without the ablated heads; undefined if none is ablated, or while the model runs. */
export function ablationOf(session: Session): AblationAnswer | undefined {
  const { model, state } = session;
  if (model === undefined || state.ablated.length === 0) {
    runs.get(session)?.stop.abort();
    runs.delete(session);
    return undefined;
  }
  const request = { heads: state.ablated, position: model.predicts === "none" ? null : state.predict };
  const key = `${session.opened} ${JSON.stringify(request)}`;
  const last = runs.get(session);
  if (last?.key === key) return last.answer;
  last?.stop.abort();
  const now: AblationRun = { key, stop: new AbortController(), answer: undefined };
  runs.set(session, now);
  const answered = (answer: AblationAnswer) => {
    if (runs.get(session) !== now) return;
    now.answer = answer;
    session.changed();
  };
  model.ablate(request, { signal: now.stop.signal }).then(
    (result) => answered({ result }),
    (error) => answered({ error: messageOf(error) }),
  );
  return undefined;
}
