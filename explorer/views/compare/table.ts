/** The table of a comparison: for each key of the cursor's query, the values of both heads and their difference. */
import type { NumberTable } from "../../state/tables.ts";
import { STAGE_NAMES } from "../../state/words.ts";
import { shownRow } from "./difference.ts";
import type { Compared } from "./exports.ts";

export function comparedTable({ first, second, difference, rows, columns }: Compared): NumberTable {
  const { stage } = first.state;
  const at = rows.findIndex(({ a }) => a === first.state.query);
  const names = difference.labels(difference.block!);
  const source = `row ${stage}`;
  const common = {
    columns: [
      { name: "key", source: "" },
      { name: "A", source },
      { name: "B", source },
      { name: "A − B", source: "difference" },
    ],
    current: (j: number) => columns[j].a === first.state.key,
    go: (j: number) => ({ key: columns[j].a }),
  };
  if (at < 0)
    return {
      ...common,
      caption: `Query ${first.state.query} of A has no counterpart in B`,
      count: 0,
      row: () => [],
    };
  const [a, b] = [shownRow(first, rows[at].a), shownRow(second, rows[at].b)];
  const differences = difference.store!.row(difference.ref, at, "scores");
  return {
    ...common,
    caption: `Every key of query ${rows[at].a} in A and query ${rows[at].b} in B, ${STAGE_NAMES[stage]}`,
    count: columns.length,
    row: (j) => [
      { token: names.key[j] },
      { value: a[columns[j].a] },
      { value: b[columns[j].b] },
      { value: differences[j] },
    ],
  };
}
