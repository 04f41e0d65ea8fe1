/** The column next to the large atlas: blocks, sorting, filters, the description and measures of a head, pinned heads. */
import { html, nothing, type TemplateResult } from "lit";
import type { HeadMeasures } from "../../../src/store/measures/measures.ts";
import { describeHead } from "../../../src/store/sentences/sentence.ts";
import { METRICS, metricValue } from "../../state/metrics.ts";
import { headName } from "../../state/words.ts";
import { head } from "../../views/head.ts";
import { check, numeral, type Ui } from "../ui.ts";
import { blocks, pins, sorting } from "./heads.ts";

/** The measures that are always shown. */
const FIRST: readonly (keyof HeadMeasures)[] = ["effectiveKeys", "previous", "next", "special"];

/** A table of measures, each with its value for even attention. */
function table(measures: HeadMeasures, names: readonly (keyof HeadMeasures)[]): TemplateResult {
  const even = measures.even as Readonly<Record<string, number | undefined>>;
  return html`<table class="measures"><thead><tr><th scope="col">measure</th><th scope="col" class="num">here</th><th scope="col" class="num">if even</th></tr></thead>
    <tbody>${METRICS.filter(({ name }) => names.includes(name)).map((metric) => {
      const value = metricValue(measures, metric.name);
      const chance = metric.name === "effectiveKeys" ? measures.visibleKeys : even[metric.name];
      return value === undefined
        ? nothing
        : html`<tr title=${metric.meaning}><th scope="row">${metric.label}<span class="hid">: ${metric.meaning}</span></th>
          <td class="num">${numeral(value, `measures.${metric.name}`, metric.options)}</td>
          <td class="num quiet">${chance === undefined || Number.isNaN(chance) ? nothing : numeral(chance, `measures.even.${metric.name}`, metric.options)}</td></tr>`;
    })}</tbody></table>`;
}

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
    ${table(measures, FIRST)}
    <details><summary>More measures</summary>${table(
      measures,
      METRICS.map(({ name }) => name).filter((name) => !FIRST.includes(name)),
    )}</details>`
    }
    <p><button type="button" class="bordered" @click=${() => session.set({ view: head.name, block: name.block, layer: name.layer, head: name.head })}>Open this head</button></p>
    ${ui.headPanels()}
    ${pins(ui)}`;
}
