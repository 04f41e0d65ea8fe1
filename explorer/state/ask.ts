/**
 * "Ask the heads": every head of the block ranked by the weight it gives to the cursor's link, or by what it gives from its
 * query or to its key alone. The store answers with one row a head; the answer is kept until the question changes.
 */
import { askHeads, type HeadAnswer, sortAnswers } from "../../src/store/measures/ask-heads.ts";
import type { Cell, Session } from "../app/session.ts";

interface Asked {
  readonly key: string;
  readonly stop: AbortController;
  answers: readonly HeadAnswer[] | undefined;
  /** The place in the ranking that was gone to last; −1: none. */
  at: number;
}

const asked = new WeakMap<Session, Asked>();

/** The cell that is asked about: the pinned one, or the cursor's; what is only pointed at is not. */
export function askedCell({ state }: Session): Cell {
  return state.pinned === null ? state : { query: state.pinned[0], key: state.pinned[1] };
}

/** The heads, ranked; undefined while they are asked, or where nothing is. */
export function answersOf(session: Session): readonly HeadAnswer[] | undefined {
  const { store, state, block } = session;
  if (store === undefined || block === undefined || state.ask === "off") {
    asked.get(session)?.stop.abort();
    asked.delete(session);
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
  const known = asked.get(session);
  if (known?.key === name) return ranked(known.answers, state.askBy);
  known?.stop.abort();
  const now: Asked = { key: name, stop: new AbortController(), answers: undefined, at: -1 };
  asked.set(session, now);
  askHeads(store, question, { signal: now.stop.signal }).then(
    (answers) => {
      if (asked.get(session) !== now) return;
      now.answers = answers;
      session.changed();
    },
    (error) => {
      if (!now.stop.signal.aborted) session.failed(error);
    },
  );
  return undefined;
}

const sorted = new WeakMap<readonly HeadAnswer[], readonly HeadAnswer[]>();

function ranked(answers: readonly HeadAnswer[] | undefined, by: "weight" | "lift") {
  if (answers === undefined || by === "weight") return answers;
  let found = sorted.get(answers);
  if (found === undefined) {
    found = sortAnswers(answers, by);
    sorted.set(answers, found);
  }
  return found;
}

/** Goes to the next head of the ranking, or the one before. */
export function stepAnswer(session: Session, by: 1 | -1): void {
  const answers = answersOf(session);
  const { layer, head } = session.state;
  if (answers === undefined || answers.length === 0) return;
  const now = asked.get(session)!;
  const isAt = (place: number) => answers[place]?.ref.layer === layer && answers[place].ref.head === head;
  // A head outside the ranking starts at its top.
  const place = isAt(now.at) ? Math.max(0, Math.min(answers.length - 1, now.at + by)) : 0;
  now.at = place;
  const { ref } = answers[place];
  session.set({ layer: ref.layer, head: ref.head });
}
