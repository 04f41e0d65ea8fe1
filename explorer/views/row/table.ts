/** The table of one row: every key with its score and its weight. */
import type { Session } from "../../app/session.ts";
import type { NumberTable } from "../../state/tables.ts";
import { editsOf } from "../../state/whatif.ts";

export function keysTable(session: Session): NumberTable {
  const { block, state, store, ref } = session;
  const { query } = session.shown;
  const names = session.labels(block!);
  const edits = editsOf(session);
  const scored = block!.has.qk;
  const weights = store!.row(ref, query, "weights", edits);
  const scores = scored ? store!.row(ref, query, "masked", edits) : undefined;
  return {
    caption: `Every key of query ${query}, layer ${state.layer}, head ${state.head}`,
    columns: [
      { name: "key", source: "index" },
      { name: "token", source: "" },
      ...(scored ? [{ name: "score", source: "row masked" }] : []),
      { name: "weight", source: "row weights" },
    ],
    key: JSON.stringify([query, session.state.edits, session.state.temperature]),
    count: weights.length,
    row: (key) => [
      { value: key },
      { token: names.key[key], lang: names.lang.key },
      ...(scores
        ? [scores[key] === Number.NEGATIVE_INFINITY ? { token: "masked" } : { value: scores[key] }]
        : []),
      { value: weights[key] },
    ],
    current: (key) => key === state.key,
    go: (key) => ({ key }),
  };
}
