/** The column beside the atlas of all heads: blocks, sorting, filters, the cursor's head in words and numbers, pins. */
import { html, type TemplateResult } from "lit";
import { describeHead } from "../../../src/store/measures/sentence.ts";
import { METRICS, metricValue } from "../../state/metrics.ts";
import { headName } from "../../state/words.ts";
import { check, figure, type Ui } from "../ui.ts";
import { blocks, pins, sorting } from "./heads.ts";

export function modelSide(ui: Ui): TemplateResult {
  const { session } = ui;
  const name = session.hoverHead ?? session.state;
  const measures = session.measures(name);
  const { block } = session;
  return html`<h2>Layers × heads</h2>${blocks(ui)}${sorting(ui)}
    ${check("table", session.state.table, (table) => session.set({ table }))}
    <h2>${headName(session, name)}</h2>
    ${
      measures === undefined || block === undefined
        ? html`<p class="quiet">Measuring this head …</p>`
        : html`<p>${describeHead(block, measures)}</p>
    <table class="measures"><tbody>${METRICS.map((metric) => {
      const value = metricValue(measures, metric.name);
      return value === undefined
        ? ""
        : html`<tr title=${metric.meaning}><th scope="row">${metric.label}</th><td>${figure(value, `measures.${metric.name}`, metric.options)}</td></tr>`;
    })}</tbody></table>`
    }
    <p><button type="button" class="bordered" @click=${() => session.set({ view: "head", block: name.block, layer: name.layer, head: name.head })}>Open this head</button></p>
    ${pins(ui)}`;
}
