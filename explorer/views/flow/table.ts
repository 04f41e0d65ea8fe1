/** The flow as a table: for each position after the last layer, its largest input tokens and the sum of its row. */
import type { Session } from "../../app/session.ts";
import { largest } from "../../state/facts.ts";
import { type NumberTable, TOP, topCells, topColumns } from "../../state/tables.ts";
import type { Rolling } from "./rolled.ts";

export function flowTable(
  session: Session,
  { matrix: product, rowSums, tokens: N, layers }: Rolling,
): NumberTable {
  const names = session.labels(session.block!);
  const { query } = session.state;
  return {
    caption: `The ${TOP} input tokens with the largest share of each position, after layers ${layers[0]} to ${layers[layers.length - 1]}`,
    columns: [
      { name: "position", source: "index" },
      { name: "token", source: "" },
      { name: "row sum", source: "rollout.rowSums", options: { digits: 4 } },
      ...topColumns("rollout"),
    ],
    count: N,
    row: (at) => {
      const row = product.subarray(at * N, (at + 1) * N);
      const best = largest(row, TOP).filter((key) => row[key] > 0);
      return [
        { value: at },
        { token: names.query[at], lang: names.lang.query },
        { value: rowSums[at] },
        ...topCells(row, best, names),
      ];
    },
    current: (at) => at === query,
    go: (at) => ({ query: at }),
  };
}
