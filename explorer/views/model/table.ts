/** The table of all heads: a row for each head with its measures, in the order of the picture. */
import type { Session } from "../../app/session.ts";
import { arrange, METRICS, metricValue } from "../../state/metrics.ts";
import type { NumberTable } from "../../state/tables.ts";

export function headsTable(session: Session): NumberTable {
  const { placed } = arrange(session);
  const { state } = session;
  return {
    caption: "Every head and its measures",
    columns: [
      { name: "layer", source: "index" },
      { name: "head", source: "index" },
      ...METRICS.map(({ name, label, options }) => ({ name: label, source: `measures.${name}`, options })),
    ],
    growing: true,
    count: placed.length,
    row: (at) => {
      const measures = session.measures(placed[at]);
      return [
        { value: placed[at].layer },
        { value: placed[at].head },
        ...METRICS.map(({ name }) => ({ value: metricValue(measures, name) })),
      ];
    },
    current: (at) => placed[at].layer === state.layer && placed[at].head === state.head,
    go: (at) => ({ layer: placed[at].layer, head: placed[at].head }),
  };
}
