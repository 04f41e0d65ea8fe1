/** The column at the right: the number that is pointed at, how it came to be, and its row at a glance. */
import { html, nothing, type TemplateResult } from "lit";
import { factsOf, largest } from "../../state/facts.ts";
import { ledgerOf } from "../../state/whatif.ts";
import { selection } from "../../state/words.ts";
import { byMagnitude, carried, lines, readout, strip, stripLabel } from "../../views/row/ledger.ts";
import { bar, figure, quoted, token, type Ui } from "../ui.ts";

export function inspector(ui: Ui): TemplateResult {
  const { session } = ui;
  if (!session.ready) return html`<p class="quiet">Numbers appear here as soon as the head is loaded.</p>`;
  const ledger = ledgerOf(session);
  const chosen = selection(session);
  return html`
    <h2>How this number came to be</h2>
    ${readout(ui, ledger)}
    ${ledger.emptyRow ? html`<p>This row may see nothing: its weights are 0 by definition.</p>` : nothing}
    ${lines(ledger)}
    ${
      ledger.products.length > 0
        ? html`<h3>q⊙k, ${figure(ledger.products.length, "d")} terms</h3>
      ${strip(ledger.products, "products", stripLabel("products", ledger.products), 40, session.state.terms === "size" ? byMagnitude(ledger.products) : undefined)}
      ${carried(ledger.products)}`
        : nothing
    }
    <p><button type="button" class="bordered" @click=${() => ui.act("open-row")}>Open the row</button></p>
    ${
      chosen
        ? html`<h2>Selection</h2><p><span class="medium">${figure(chosen.value, "row weights")}</span> ${chosen.text}</p>
      <p><button type="button" @click=${() => session.set({ rows: [], columns: [] })}>clear the selection</button></p>`
        : nothing
    }
    ${thisRow(ui)}`;
}

/** The keys that get most, with what they have together. */
export function thisRow({ session }: Ui, count = 8): TemplateResult {
  const { block, state } = session;
  const { query, key } = session.shown;
  const names = session.labels(block!);
  const row = session.row(query, "weights");
  const facts = factsOf(row);
  const best = largest(row, count).filter((j) => row[j] > 0);
  let together = 0;
  return html`<h2>This row: ${quoted(names.query[query], names.lang.query)}</h2>
    <p class="quiet">entropy ${figure(facts.entropy, "entropy of row", { unit: "nat" })}, effective keys ${figure(Math.exp(facts.entropy), "e^entropy of row")}${
      facts.strange > 0 ? html`, ${figure(facts.strange, "not numbers")} not a number` : nothing
    }</p>
    <table class="keys"><thead><tr><th scope="col">key</th><th scope="col">weight</th><th scope="col"><span class="hid">bar</span></th><th scope="col">sum</th></tr></thead>
    <tbody>${best.map((j) => {
      together += row[j];
      return html`<tr class=${j === key ? "current" : ""}>
        <th scope="row"><button type="button" class="link" @click=${() => session.set({ query, key: j, held: state.held && [query, j] })}>${token(names.key[j], names.lang.key)}</button></th>
        <td>${figure(row[j], "row weights")}</td><td class="wide">${bar(row[j] / (row[best[0]] || 1))}</td>
        <td>${figure(together, "cumulative weight")}</td></tr>`;
    })}</tbody></table>`;
}
