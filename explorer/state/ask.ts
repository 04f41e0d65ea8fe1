/**
 * "Ask the heads": ranks all heads of the block by the cursor's link (its contrast or its weight), or by the weight from its query or to its
 * key. The store computes one row of each head; the ranking is cached until the question changes.
 */
import type { HeadAnswer, HeadOrder } from "../../src/store/measures/ask-heads.ts";
import { askHeads, sortAnswers } from "../../src/store/measures/ask-heads.ts";
import type { Session, TokenPair } from "../app/session.ts";

interface Ranking {
  readonly key: string;
  readonly stop: AbortController;
  answers: readonly HeadAnswer[] | undefined;
  /** The index in the ranking of the last head that was opened; −1: none. */
  at: number;
}

const rankings = new WeakMap<Session, Ranking>();

/** The cell of the question: the pinned one, else the cursor's, never the hovered one. */
export function askedCell({ state }: Session): TokenPair {
  return state.pinned === null ? state : { query: state.pinned[0], key: state.pinned[1] };
}

/** The ranked heads; undefined while they are computed, or if nothing is asked. */
export function answersOf(session: Session): readonly HeadAnswer[] | undefined {
  const { store, state, block } = session;
  if (store === undefined || block === undefined || state.ask === "off") {
    rankings.get(session)?.stop.abort();
    rankings.delete(session);
    return undefined;
  }
  const { query, key } = askedCell(session);
  const index = store.blocks.indexOf(block);
  const question = {
    block: index,
    ...(state.ask !== "to" && { query }),
    ...(state.ask !== "from" && { key }),
  };
  const name = `${session.opened} ${JSON.stringify(question)}`;
  const last = rankings.get(session);
  if (last?.key === name) return ranked(last.answers, state.askBy);
  last?.stop.abort();
  const now: Ranking = { key: name, stop: new AbortController(), answers: undefined, at: -1 };
  rankings.set(session, now);
  askHeads(store, question, { signal: now.stop.signal }).then(
    (answers) => {
      if (rankings.get(session) !== now) return;
      now.answers = answers;
      session.changed();
    },
    (error) => {
      if (!now.stop.signal.aborted) session.failed(error);
    },
  );
  return undefined;
}

const sorted = new WeakMap<readonly HeadAnswer[], Map<HeadOrder, readonly HeadAnswer[]>>();

function ranked(answers: readonly HeadAnswer[] | undefined, by: HeadOrder) {
  if (answers === undefined) return answers;
  const orders = sorted.get(answers) ?? new Map<HeadOrder, readonly HeadAnswer[]>();
  sorted.set(answers, orders);
  const ranking = orders.get(by) ?? sortAnswers(answers, by);
  orders.set(by, ranking);
  return ranking;
}

/** Opens the next or the previous head of the ranking. */
export function stepAnswer(session: Session, by: 1 | -1): void {
  const answers = answersOf(session);
  const { layer, head } = session.state;
  if (answers === undefined || answers.length === 0) return;
  const now = rankings.get(session)!;
  const isAt = (rank: number) => answers[rank]?.ref.layer === layer && answers[rank].ref.head === head;
  // If the cursor has left the ranking, it returns to the top.
  const rank = isAt(now.at) ? Math.max(0, Math.min(answers.length - 1, now.at + by)) : 0;
  now.at = rank;
  const { ref } = answers[rank];
  session.set({ layer: ref.layer, head: ref.head });
}
