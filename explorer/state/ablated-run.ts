/**
 * The run of the model without the heads that are switched off. The model of the source computes it (src/view/element.ts,
 * `SourceModel`); the result is cached until the heads, the predicted token or the text change.
 */
import { messageOf } from "../../src/core/errors.ts";
import type { AblationResult } from "../../src/view/element.ts";
import type { Session } from "../app/session.ts";

/** The result or the error of a run. */
export type Answer =
  | { readonly result: AblationResult; readonly error?: undefined }
  | { readonly result?: undefined; readonly error: string };

interface Asked {
  readonly key: string;
  readonly stop: AbortController;
  answer: Answer | undefined;
}

const asked = new WeakMap<Session, Asked>();

/** The result of the run without the ablated heads; undefined if none is ablated, or while the model runs. */
export function ablationOf(session: Session): Answer | undefined {
  const { model, state } = session;
  if (model === undefined || state.ablated.length === 0) {
    asked.get(session)?.stop.abort();
    asked.delete(session);
    return undefined;
  }
  const request = { heads: state.ablated, position: model.predicts === "none" ? null : state.predict };
  const key = `${session.opened} ${JSON.stringify(request)}`;
  const known = asked.get(session);
  if (known?.key === key) return known.answer;
  known?.stop.abort();
  const now: Asked = { key, stop: new AbortController(), answer: undefined };
  asked.set(session, now);
  const answered = (answer: Answer) => {
    if (asked.get(session) !== now) return;
    now.answer = answer;
    session.changed();
  };
  model.ablate(request, { signal: now.stop.signal }).then(
    (result) => answered({ result }),
    (error) => answered({ error: messageOf(error) }),
  );
  return undefined;
}
