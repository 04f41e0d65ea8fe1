/**
 * "Ask the heads": ranks all heads of the block by the cursor's link (its contrast or its weight), or by the weight from its query or to its
 * key. The store computes one row of each head; the ranking is cached until the question changes.
 */
import type { HeadAnswer, HeadOrder } from "../../src/store/measures/ask-heads.ts";
import { askHeads, sortAnswers } from "../../src/store/measures/ask-heads.ts";
import type { Session, TokenPair } from "../app/session.ts";
import { logitsOf } from "./causes/causes.ts";
import { latest, type WorkAnswer } from "./latest.ts";

/** The cell of the question: the pinned one, else the cursor's, never the hovered one. */
export function askedCell({ state }: Session): TokenPair {
  return state.pinned === null ? state : { query: state.pinned[0], key: state.pinned[1] };
}

/** The answers of the heads, or, while they are computed, the share of the heads that have answered. */
export interface Ranking {
  readonly answers: readonly HeadAnswer[] | undefined;
  readonly done: number;
}

/** The heads as they answer; undefined if nothing is asked. */
export function rankingOf(session: Session): WorkAnswer<Ranking> | undefined {
  const { store, state, block } = session;
  const { query, key } = askedCell(session);
  const question = {
    block: block && store ? store.blocks.indexOf(block) : 0,
    ...(state.ask !== "to" && { query }),
    ...(state.ask !== "from" && { key }),
  };
  const isAsked = store !== undefined && block !== undefined && state.ask !== "off";
  return latest<Ranking>(
    session,
    "ask",
    isAsked ? JSON.stringify(question) : undefined,
    async (signal, partly) => {
      let shown = 0;
      const onProgress = (done: number) => {
        if (done - shown < 0.02) return;
        shown = done;
        partly({ answers: undefined, done });
      };
      return { answers: await askHeads(store!, question, { signal, onProgress }), done: 1 };
    },
  );
}

/** The ranked heads; undefined while they are computed, or if nothing is asked. */
export function answersOf(session: Session): readonly HeadAnswer[] | undefined {
  const answers = rankingOf(session)?.result?.answers;
  return answers && ranked(session, answers);
}

const sorted = new WeakMap<readonly HeadAnswer[], Map<HeadOrder, readonly HeadAnswer[]>>();

function ranked(session: Session, answers: readonly HeadAnswer[]): readonly HeadAnswer[] {
  const { askBy } = session.state;
  if (askBy === "logit") {
    const shares = logitsOf(session)?.result?.shares ?? [];
    const size = new Map(
      shares.map(({ component: { layer, head }, value }) => [`${layer} ${head}`, Math.abs(value)]),
    );
    const of = ({ ref }: HeadAnswer) => size.get(`${ref.layer} ${ref.head}`) ?? 0;
    return [...answers].sort((a, b) => of(b) - of(a));
  }
  const orders = sorted.get(answers) ?? new Map<HeadOrder, readonly HeadAnswer[]>();
  sorted.set(answers, orders);
  const ranking = orders.get(askBy) ?? sortAnswers(answers, askBy);
  orders.set(askBy, ranking);
  return ranking;
}

/** The index in the ranking of the last head that was opened. */
const opened = new WeakMap<Session, number>();

/** Opens the next or the previous head of the ranking. */
export function stepAnswer(session: Session, by: 1 | -1): void {
  const answers = answersOf(session);
  const { layer, head } = session.state;
  if (answers === undefined || answers.length === 0) return;
  const isAt = (rank: number) => answers[rank]?.ref.layer === layer && answers[rank].ref.head === head;
  const last = opened.get(session) ?? -1;
  // If the cursor has left the ranking, it returns to the top.
  const rank = isAt(last) ? Math.max(0, Math.min(answers.length - 1, last + by)) : 0;
  opened.set(session, rank);
  const { ref } = answers[rank];
  session.set({ layer: ref.layer, head: ref.head });
}
