/** The exports of a comparison: both heads and their difference as one figure, and all pairs of tokens as a table. */

import type { SharedToken } from "../../../src/core/align.ts";
import type { HeadStore } from "../../../src/store/head-store.ts";
import type { FigureOptions } from "../../../src/view/figure/options.ts";
import { matrixPanel, type Panel, renderPanels } from "../../../src/view/figure/panels.ts";
import type { FigureTable } from "../../../src/view/figure/table.ts";
import type { Exports, Session } from "../../app/session.ts";
import { badges, headName, STAGE_NAMES } from "../../state/words.ts";
import { shownRow } from "./difference.ts";

/** Two heads, their difference, and the tokens that both texts have. */
export interface Compared {
  readonly first: Session;
  readonly second: Session;
  readonly difference: Session;
  /** The queries and keys of the difference as tokens of both texts. */
  readonly rows: readonly SharedToken[];
  readonly columns: readonly SharedToken[];
}

const nameOf = (session: Session) => `${session.store!.report.name}, ${headName(session)}`;

/** How a comparison is exported. */
export function exportsOf(compared: () => Compared): Exports {
  return {
    figure: (options) => figureOf(compared(), options),
    table: async () => tableOf(compared()),
  };
}

function figureOf({ first, second, difference }: Compared, options: FigureOptions) {
  const panel = (title: string, session: Session, more: FigureOptions = {}): Panel => {
    const { state } = session;
    const { block, layer, head, stage, transfer, domain, ramp, hide, hidden, renormalize } = state;
    const { values, query, key } = state;
    const picked = { block, layer, head, stage, transfer, domain, ramp, hide, hidden, renormalize };
    return matrixPanel(title, session.store as HeadStore, {
      ...options,
      ...picked,
      values,
      query,
      key,
      ...more,
    });
  };
  const panels = [
    panel("A", first),
    panel("B", second),
    panel("A − B", difference, { block: 0, layer: 0, head: 0 }),
  ];
  const readBy = ({ store }: Session) => {
    const model = store?.report.model;
    return options.about && model !== undefined ? `, read by ${model}` : "";
  };
  const facts = [
    `A: ${nameOf(first)}${readBy(first)}`,
    `B: ${nameOf(second)}${readBy(second)}`,
    `${STAGE_NAMES[first.state.stage]}, and A − B over the tokens that both have`,
    ...badges(first),
  ];
  return renderPanels(panels, { ...options, title: "Two heads and their difference", facts });
}

function tableOf({ first, second, difference, rows, columns }: Compared): FigureTable {
  const names = (session: Session, role: "query" | "key") =>
    role === "query" ? session.block!.queryTokens : session.block!.keyTokens;
  const value = (x: number) => (Number.isFinite(x) ? x : String(x));
  return {
    columns: ["query A", "query B", "key A", "key B", "A", "B", "A − B"],
    rows: {
      *[Symbol.iterator]() {
        const { store, ref } = difference;
        for (const [i, { a, b }] of rows.entries()) {
          const [firstRow, other] = [shownRow(first, a), shownRow(second, b)];
          const differences = store!.row(ref, i, "scores");
          for (const [j, key] of columns.entries())
            yield [
              names(first, "query")[a],
              names(second, "query")[b],
              names(first, "key")[key.a],
              names(second, "key")[key.b],
              value(firstRow[key.a]),
              value(other[key.b]),
              value(differences[j]),
            ];
        }
      },
    },
  };
}
