/** The flow as a table: each position after the last layer with the input tokens it comes from, and its row's sum. */

import type { Session } from "../../app/session.ts";
import { largest } from "../../state/facts.ts";
import { type Table, TOP } from "../../state/tables.ts";
import type { Rolling } from "./rolled.ts";

export function flowTable(session: Session, { matrix: product, rowSums, tokens: N, layers }: Rolling): Table {
  const names = session.labels(session.block!);
  const { query } = session.state;
  return {
    caption: `The ${TOP} input tokens each position comes from most, after layers ${layers[0]} to ${layers[layers.length - 1]}`,
    columns: [
      { name: "position", source: "index" },
      { name: "token", source: "" },
      { name: "row sum", source: "rollout.rowSums", options: { digits: 4 } },
      ...Array.from({ length: TOP }, (_, n) => ({
        name: n === 0 ? "strongest" : `${n + 1}`,
        source: "rollout",
        pair: true,
      })),
    ],
    count: N,
    row: (at) => {
      const row = product.subarray(at * N, (at + 1) * N);
      const best = largest(row, TOP).filter((key) => row[key] > 0);
      return [
        { value: at },
        { token: names.query[at], lang: names.lang.query },
        { value: rowSums[at] },
        ...Array.from({ length: TOP }, (_, n) =>
          best[n] === undefined
            ? {}
            : { token: names.key[best[n]], lang: names.lang.key, value: row[best[n]] },
        ),
      ];
    },
    current: (at) => at === query,
    go: (at) => ({ query: at }),
  };
}
