/**
 * Row: how one number came to be, in full: the two vectors and their products, the ledger with its formulas, the whole
 * row as bars with a temperature to try, and what the row adds to the output.
 */
import { html, type TemplateResult } from "lit";
import type { Ui } from "../ui.ts";
import { ledgerOf, lines, readout } from "./ledger.ts";

export function rowView(ui: Ui): TemplateResult {
  return html`<div class="rowview cursor-keys">${readout(ui)}${lines(ledgerOf(ui.session))}</div>`;
}
