/**
 * <attention-row>: the computation of one number, for pages that explain one. It is the row view (views/row/) with its ledger,
 * its edits and its keys, without the rest of the explorer. Data, properties, methods and events are those of <attention-view>;
 * the attributes `query` and `key` name the cell.
 */
import { type CSSResultGroup, css } from "lit";
import type { AttentionRowElement } from "../../src/view/element.ts";
import { theme } from "../styles/theme.ts";
import { row } from "../views/row/view.ts";
import { CURSOR_ATTRIBUTES, type StateAttribute } from "./attributes.ts";
import { AttentionView } from "./element.ts";

export class AttentionRow extends AttentionView implements AttentionRowElement {
  static override readonly tag: "attention-view" | "attention-row" = "attention-row";
  static override readonly fixed = { view: row.name, table: false };
  static override readonly alone = true;
  static override readonly parts: readonly StateAttribute[] = CURSOR_ATTRIBUTES;
  // As high as its content, unless the page sets a height. All but the ledger is collapsed (views/row/row.ts), whose formulas are in
  // the lines of their numbers where the box is wide enough.
  static override styles: CSSResultGroup = [
    theme,
    css`
      :host { block-size: var(--heed-height, auto); overflow: auto; }
      .alone .rowview { grid-template-columns: minmax(0, 1fr); gap: 4px; padding-block-end: 4px; }
      .alone .formulas { gap: 4px; margin: 0; }
      .alone .formulas li { padding-block-end: 4px; }
      @container (width >= 520px) {
        .alone .formulas:not(.output) li { grid-template-columns: 112px minmax(0, 1fr) minmax(0, 1fr) 64px; }
        .alone .formulas:not(.output) .formula { grid-area: 1 / 2; }
      }
    `,
  ];
}
