/** The right column: the number under the pointer, its computation, and the largest weights of its row. */
import { html, nothing, type TemplateResult } from "lit";
import type { Edits } from "../../../src/store/head-store.ts";
import { areShares, factsOf, largest } from "../../state/facts.ts";
import { ledgerOf } from "../../state/whatif.ts";
import { selection, shownWeights } from "../../state/words.ts";
import { byMagnitude, carried, lines, readout, strip, stripLabel } from "../../views/row/ledger.ts";
import { bar, numeral, quoted, token, type Ui } from "../ui.ts";

export function inspector(ui: Ui): TemplateResult {
  const { session } = ui;
  if (!session.ready) return html`<p class="quiet">Numbers appear here as soon as the head is loaded.</p>`;
  const ledger = ledgerOf(session);
  const chosen = selection(session);
  return html`
    <h2>Where this number comes from</h2>
    ${readout(ui, ledger)}
    ${ledger.emptyRow ? html`<p>The mask hides every key from this query: its weights are 0.</p>` : nothing}
    ${lines(ui, ledger)}
    ${
      ledger.products.length > 0
        ? html`<h3>the ${numeral(ledger.products.length, "d")} products <span class="math">qᵢ·kᵢ</span></h3>
      ${strip(ledger.products, "products", stripLabel("products", ledger.products), 40, session.state.terms === "size" ? byMagnitude(ledger.products) : undefined)}
      ${carried(ledger.products)}`
        : nothing
    }
    ${ui.why()}
    <p class="action"><button type="button" class="bordered" @click=${() => ui.act("open-row")}>Open the row</button></p>
    ${
      chosen
        ? html`<h2>Selection</h2><p><span class="medium">${numeral(chosen.value, "row weights")}</span> ${chosen.text}</p>
      <p><button type="button" @click=${() => session.set({ rows: [], columns: [] })}>clear the selection</button></p>`
        : nothing
    }
    ${rowSummary(ui)}`;
}

/** The keys with the largest weights, and the cumulative weight. */
export function rowSummary({ session }: Ui, edits?: Edits, count = 8): TemplateResult {
  const { block, state } = session;
  const { query, key } = session.shown;
  const names = session.labels(block!);
  const row = shownWeights(session, query, edits);
  const rawWeights = edits
    ? session.store!.row(session.ref, query, "weights", edits)
    : session.row(query, "weights");
  const { entropy, nonFinite } = factsOf(rawWeights);
  const isShare = areShares(rawWeights);
  // Weights from a file may be negative; those are listed too.
  const signed = row.some((weight) => weight < 0);
  const best = signed
    ? largest(row.map(Math.abs), count).filter((j) => row[j] !== 0)
    : largest(row, count).filter((j) => row[j] > 0);
  let together = 0;
  return html`<h2>This row: ${quoted(names.query[query], names.lang.query)}</h2>
    <p class="quiet">${
      isShare
        ? html`spread as if over ${numeral(Math.exp(entropy), "e^entropy of row")} of ${numeral(session.store!.visible(session.ref, query).filter(Boolean).length, "keys")} tokens`
        : nonFinite > 0
          ? html`${numeral(nonFinite, "not numbers")} not a number`
          : "not shares of attention"
    }</p>
    <table class="keys"><thead><tr><th scope="col">key</th><th scope="col" class="num">${isShare ? "share" : "weight"}</th><th scope="col"><span class="hid">bar</span></th><th scope="col" class="num">together</th></tr></thead>
    <tbody>${best.map((j) => {
      together += row[j];
      return html`<tr class=${j === key ? "current" : ""}>
        <th scope="row"><button type="button" class="link" @click=${() => session.set({ query, key: j, pinned: state.pinned && [query, j] })}>${token(names.key[j], names.lang.key)}</button></th>
        <td class="num">${numeral(row[j], "row weights")}</td><td class="wide">${bar(row[j] / (Math.abs(row[best[0]]) || 1), row[j] < 0 ? "key" : "weight", signed)}</td>
        <td class="num">${numeral(together, "cumulative weight")}</td></tr>`;
    })}</tbody></table>`;
}
