/**
 * Row: how one number came to be, in full: the two vectors and their products, the ledger with its formulas, the whole row
 * as bars with a temperature to try, and what the row adds to the output. Every number can be changed: the store
 * computes the rest again, Esc puts it back. Its parts are groups and no landmarks: a page may hold several rows.
 */
import { html, nothing, type TemplateResult } from "lit";
import { bar, choice, figure, quoted, token, type Ui } from "../../app/ui.ts";
import { factsOf, largest } from "../../state/facts.ts";
import { edit, editsOf, isChanged, ledgerOf, scaleOf } from "../../state/whatif.ts";
import { byMagnitude, carried, lines, readout, strip, stripLabel } from "./ledger.ts";
import { outputView } from "./output.ts";

/** Terms that are listed. */
const LISTED = 12;

export function rowView(ui: Ui): TemplateResult {
  const { session } = ui;
  const { state, block } = session;
  if (!session.ready || block === undefined) return html`<p class="quiet">Loading the head …</p>`;
  const ledger = ledgerOf(session);
  return html`<div class="rowview"><div>
    <section role="group" class="cursor-keys" tabindex="0" aria-label="The number, arrow keys move to another">
      ${readout(ui, ledger)}
      ${isChanged(session) ? html`<p><button type="button" class="bordered" @click=${() => ui.act("back")}>Restore</button></p>` : nothing}
      ${ledger.emptyRow ? html`<p>This row may see nothing: its weights are 0 by definition.</p>` : nothing}
      <h2>Step by step</h2>
      ${lines(ledger, { formulas: true, scale: scaleField(ui) })}
    </section>
    <section role="group" aria-label="The row">${wholeRow(ui)}</section></div>
    <div>${
      ledger.products.length === 0
        ? nothing
        : html`<section role="group" aria-label="Terms">
      <h2>q⊙k, ${figure(ledger.products.length, "d")} terms ${choice(
        "Order of the terms",
        [
          ["index", "by index"],
          ["size", "largest first"],
        ],
        state.terms,
        (terms) => session.set({ terms }),
      )}</h2>
      ${termStrips(ui, ledger)}
      ${termTable(ui, ledger)}
    </section>`
    }
    ${block.has.values ? outputView(ui, ledger) : nothing}</div>
  </div>`;
}

function scaleField({ session }: Ui): TemplateResult {
  const given = session.edits.scale ?? scaleOf(session);
  return html`<label class="scale">× <input type="text" inputmode="decimal" class="num" size="7" .value=${String(given ?? "")}
    aria-label="scale" @change=${(event: Event) => {
      const input = event.target as HTMLInputElement;
      if (!edit(session, "scale", 0, input.value)) input.value = String(given ?? "");
    }}></label>`;
}

function termStrips({ session }: Ui, { q, k, products }: ReturnType<typeof ledgerOf>): TemplateResult {
  const order = session.state.terms === "size" ? byMagnitude(products) : undefined;
  const running = new Float64Array(products.length);
  let sum = 0;
  for (let at = 0; at < products.length; at++) running[at] = sum += products[order?.[at] ?? at];
  return html`<dl class="strips">
    <dt class="query">q</dt><dd>${strip(q, "q", stripLabel("query vector", q), 32, order)}</dd>
    <dt class="key">k</dt><dd>${strip(k, "k", stripLabel("key vector", k), 32, order)}</dd>
    <dt>q⊙k</dt><dd>${strip(products, "products", stripLabel("products", products), 48, order)}</dd>
    <dt>sum</dt><dd>${strip(running, "products", stripLabel("running sum", running), 48)}</dd>
  </dl>${carried(products)}`;
}

/** The terms with their numbers, which can be typed over. */
function termTable({ session }: Ui, { q, k, products }: ReturnType<typeof ledgerOf>): TemplateResult {
  const order = session.state.terms === "size" ? byMagnitude(products) : Array.from(products, (_, c) => c);
  const field = (
    what: "query" | "key",
    c: number,
    value: number,
  ) => html`<td><input type="text" inputmode="decimal" class="num ${what}" size="9"
      aria-label=${`${what} ${c}`} .value=${String(Number(value.toPrecision(6)))}
      @change=${(event: Event) => {
        const input = event.target as HTMLInputElement;
        if (!edit(session, what, c, input.value)) input.value = String(Number(value.toPrecision(6)));
      }}></td>`;
  return html`<table class="terms"><thead><tr><th scope="col">term</th><th scope="col">q</th><th scope="col">k</th><th scope="col">product</th></tr></thead>
    <tbody>${order
      .slice(0, LISTED)
      .map(
        (c) =>
          html`<tr><th scope="row">${figure(c, "index")}</th>${field("query", c, q[c])}${field("key", c, k[c])}<td>${figure(products[c], "ledger.products", { digits: 4 })}</td></tr>`,
      )}</tbody></table>
    ${order.length > LISTED ? html`<p class="quiet">${figure(order.length - LISTED, "d")} more terms in the strips above.</p>` : nothing}`;
}

/** Logits and weights of every key, the temperature, and the keys that get most. */
function wholeRow({ session }: Ui): TemplateResult {
  const { block, state, store, ref } = session;
  const { query, key } = session.shown;
  const names = session.labels(block!);
  const edits = editsOf(session);
  const weights = store!.row(ref, query, "weights", edits);
  const facts = factsOf(weights);
  const best = largest(weights, 8).filter((j) => weights[j] > 0);
  const visible = store!.visible(ref, query);
  const seen = visible.reduce((sum, one) => sum + one, 0);
  const scored = block!.has.qk;
  let together = 0;
  return html`<h2>The whole row of ${quoted(names.query[query], names.lang.query)}</h2>
    <p>${figure(seen, "visible")} of ${figure(visible.length, "keys")} keys seen, entropy ${figure(facts.entropy, "entropy of row", { unit: "nat" })} of ${figure(Math.log(Math.max(1, seen)), "ln keys", { unit: "nat" })} at most, effective keys ${figure(Math.exp(facts.entropy), "e^entropy of row")}</p>
    ${
      scored
        ? html`<dl class="strips"><dt>logits</dt><dd>${rowStrip(session, store!.row(ref, query, "masked", edits), "products", "logits")}</dd>
      <dt>weights</dt><dd>${rowStrip(session, weights, "w", "weights")}</dd></dl>
      <p><label class="temperature">temperature, this row only: what if the scale were divided by
        <data class="num" value=${String(state.temperature)} data-source="temperature">${figure(state.temperature, "temperature")}</data>
        <input type="range" min="-2" max="2" step="0.05" .value=${String(Math.log10(state.temperature || 1))}
          @input=${(event: Event) => session.set({ temperature: atNotch(event) }, "replace")}
          @change=${() => session.changed("push")}></label></p>`
        : nothing
    }
    <table class="keys"><thead><tr><th scope="col">key</th><th scope="col">weight</th><th scope="col"><span class="hid">bar</span></th><th scope="col">sum</th></tr></thead>
    <tbody>${best.map((j) => {
      together += weights[j];
      return html`<tr class=${j === key ? "current" : ""}><th scope="row"><button type="button" class="link" @click=${() =>
        session.set({
          query,
          key: j,
          held: state.held && [query, j],
        })}>${token(names.key[j], names.lang.key)}</button></th>
        <td>${figure(weights[j], "row weights")}</td><td class="wide">${bar(weights[j] / (weights[best[0]] || 1))}</td><td>${figure(together, "cumulative weight")}</td></tr>`;
    })}</tbody></table>`;
}

/** The slider's place as a temperature; near the middle it is exactly 1. */
function atNotch(event: Event): number {
  const power = Number((event.target as HTMLInputElement).value);
  return Math.abs(power) < 0.03 ? 1 : Number((10 ** power).toPrecision(4));
}

/** Every key as a bar; a click moves the cursor there. Values that are not finite are left out. */
function rowStrip(session: Ui["session"], row: Float64Array, kind: string, label: string): TemplateResult {
  const finite = row.map((value) => (Number.isFinite(value) ? value : 0));
  const pick = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const key = Math.min(row.length - 1, Math.floor(((event.clientX - box.left) / box.width) * row.length));
    session.set({ query: session.shown.query, key, held: session.state.held && [session.shown.query, key] });
  };
  return html`<div class="pick" @click=${pick}>${strip(finite, kind, stripLabel(label, finite), 56)}</div>`;
}
