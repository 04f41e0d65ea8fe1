/**
 * The text continued by its model: token by token, each a new row of the picture, until all are written, the model ends the text, or the
 * reader stops it or looks at another text.
 */
import { messageOf } from "../../../src/core/errors.ts";
import type { AttentionSource, SourceModel } from "../../../src/view/element.ts";
import type { Session } from "../../app/session.ts";

/** How a text is continued. */
export interface ContinuationSettings {
  /** 0: the most likely token each time. */
  readonly temperature: number;
  readonly seed: number;
  /** How many tokens. */
  readonly total: number;
}

/** A continuation so far. */
export interface Continuation {
  readonly model: SourceModel;
  readonly settings: ContinuationSettings;
  /** The tokens with their places in the picture. */
  readonly tokens: readonly { readonly token: string; readonly at: number }[];
  /** Ends it; undefined: it has ended. */
  readonly stop?: () => void;
  /** Why it ended before all tokens were written. */
  readonly why?: string;
  readonly error?: string;
}

const settings = new WeakMap<Session, ContinuationSettings>();
const continuations = new WeakMap<Session, Continuation>();

/** The settings of the next continuation. */
export const settingsOf = (session: Session): ContinuationSettings =>
  settings.get(session) ?? { temperature: 0, seed: 0, total: 20 };

/** Changes the settings of the next continuation. */
export function setContinuation(session: Session, change: Partial<ContinuationSettings>): void {
  settings.set(session, { ...settingsOf(session), ...change });
  session.changed();
}

/** The last continuation, if its text or the one that it continues is shown. */
export const continuationOf = (session: Session): Continuation | undefined => continuations.get(session);

/** Whether a text can be continued: its model writes, and it read one text. */
export const canContinue = ({ model }: Session): boolean =>
  model?.ask !== undefined && model.predicts === "next" && model.text !== undefined;

/**
 * Continues the text that is shown.
 *
 * @param show opens a source, the second and later ones in place of the one before
 * @returns what to announce
 */
export async function continueText(
  session: Session,
  show: (source: AttentionSource, inPlace: boolean) => Promise<void>,
): Promise<string> {
  const { model } = session;
  if (!canContinue(session) || model === undefined) return "";
  const chosen = settingsOf(session);
  const control = new AbortController();
  const set = (change: Partial<Continuation>) => {
    continuations.set(session, { ...(continuations.get(session) as Continuation), ...change });
    session.changed();
  };
  continuations.set(session, { model, settings: chosen, tokens: [] });
  set({ stop: () => control.abort() });
  /** Paths of the pictures: the one on screen is kept. */
  const paths: string[] = [];
  let shown = session.store;
  const end = (change: Partial<Continuation>) => {
    set({ stop: undefined, ...change });
    const { tokens, why, error } = continuations.get(session) as Continuation;
    return error ?? `${model.name} wrote ${tokens.length} tokens${why === undefined ? "" : `; ${why}`}.`;
  };
  try {
    for (let n = 0; n < chosen.total; n++) {
      const replaces = paths.at(-2);
      const question = { of: "next", n, ...chosen, ...(replaces !== undefined && { replaces }) } as const;
      const answer = await model.ask!(question, { signal: control.signal });
      if (answer.token === null) return end({ why: answer.why });
      if (session.store !== shown) return end({ why: "it stopped because another text was opened" });
      await show(answer.source, n > 0);
      paths.push(answer.path);
      shown = session.store;
      const at = (session.block?.Nq ?? 1) - 1;
      const { tokens } = continuations.get(session) as Continuation;
      set({ tokens: [...tokens, { token: answer.token, at }] });
      session.set({ query: at }, "replace");
    }
    return end({});
  } catch (error) {
    return end(control.signal.aborted ? { why: "it was stopped" } : { error: messageOf(error) });
  }
}
