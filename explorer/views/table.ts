/** The table twin of every picture: the same numbers as rows and columns, sorted, copied as CSV. */
import { html, type TemplateResult } from "lit";
import type { Ui } from "../ui.ts";
import { thisRow } from "./inspector.ts";

export function tableView(ui: Ui): TemplateResult {
  return html`<div class="tablewrap">${thisRow(ui, 32)}</div>`;
}
