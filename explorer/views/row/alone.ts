/** The content of <attention-row>: the name of the head and the row view, or why there is none. */
import { html, type TemplateResult } from "lit";
import { notices } from "../../app/panels/notices.ts";
import { numeral, type Ui } from "../../app/ui.ts";
import { headName } from "../../state/words.ts";

export function alone(ui: Ui, row: TemplateResult): TemplateResult {
  const { owns, session } = ui;
  const { status, store } = session;
  return html`<div class="root alone" part="root">
    ${notices(ui)}
    <div class="pane scrolls" part="pane">${
      store !== undefined && !session.choosing
        ? html`<p class="about"><strong>${store.report.name}</strong> · ${headName(session)}</p>${row}`
        : status.kind === "error"
          ? html`<p role="alert">${owns ? `${status.title}. ${status.text}` : "The attention that belongs here could not be shown."}</p>`
          : status.kind === "loading"
            ? html`<p class="quiet" role="status">Opening ${status.what}: ${numeral(status.done, "progress", { style: "percent" })} read.</p>`
            : html`<p class="quiet">${store === undefined ? "Nothing is open." : "Choosing a cell …"}</p>`
    }</div>
  </div>`;
}
