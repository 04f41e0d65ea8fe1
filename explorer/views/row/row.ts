/**
 * The row view: the complete computation of one number. It shows the formula line by line, the whole row as bars from scores to
 * shares, the products of q and k, and the contribution of the row to the output. Numbers can be edited: the store recomputes
 * the rest, and Escape restores them. Its sections are groups, not landmarks, because a page may have several rows.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { Ledger } from "../../../src/store/measures/ledger.ts";
import { rowSummary } from "../../app/panels/inspector.ts";
import { choice, numeral, quoted, type Ui } from "../../app/ui.ts";
import { edit, editsOf, isChanged, ledgerOf, scaleOf } from "../../state/whatif.ts";
import { byMagnitude, carried, lines, readout, strip, stripLabel } from "./ledger.ts";
import { outputView } from "./output.ts";
import { scrub } from "./scrub.ts";
import { typedNumber } from "./steps.ts";

/** How many products are listed. */
const LISTED = 12;

export function rowView(ui: Ui): TemplateResult {
  const { session } = ui;
  const { block } = session;
  if (!session.ready || block === undefined) return html`<p class="quiet">Loading the head …</p>`;
  const ledger = ledgerOf(session);
  const scored = ledger.products.length > 0;
  return html`<div class="rowview"><div>
    <section role="group" class="cursor-keys" tabindex="0" aria-label="The number, arrow keys move to another">
      ${readout(ui, ledger)}
      ${isChanged(session) ? html`<p><button type="button" class="bordered" @click=${() => ui.act("back")}>Restore</button></p>` : nothing}
      ${ledger.emptyRow ? html`<p>The mask hides every key from this query: its weights are 0.</p>` : nothing}
      <h2>Step by step</h2>
      ${lines(ui, ledger, { formulas: true, scale: scaleField(ui) })}
      ${scored ? nothing : html`<p class="quiet">The file has only weights. With q and k, this page would show how they are computed.</p>`}
    </section></div>
    <div>${
      // In <attention-row>, which has the size of a figure, the other sections are collapsed.
      session.fixed.view !== undefined
        ? html`${scored ? html`<details><summary>The products</summary>${products(ui, ledger)}</details>` : nothing}
      <details><summary>The whole row</summary><section role="group" aria-label="The row">${wholeRow(ui)}</section></details>
      ${block.has.values ? html`<details><summary>What it adds to the output</summary>${outputView(ui, ledger)}</details>` : nothing}`
        : html`<section role="group" aria-label="The row">${wholeRow(ui)}</section>
      ${scored ? products(ui, ledger) : nothing}
      ${block.has.values ? outputView(ui, ledger) : nothing}`
    }</div>
  </div>`;
}

/** The field of the scale: a divisor if the model divides by √d_k, else a factor. */
function scaleField({ session, say }: Ui): TemplateResult {
  const { d } = session.block!;
  const recipe = scaleOf(session) ?? Number.NaN;
  const divides = Math.abs(recipe * Math.sqrt(d) - 1) < 1e-6;
  const scale = session.edits.scale ?? recipe;
  const number = divides ? 1 / scale : scale;
  const text = divides && scale === recipe ? `√${d}` : String(Number(number.toPrecision(6)));
  const accept = (value: string) => {
    const typedIn = typedNumber(value);
    if (typedIn === undefined || (divides && typedIn === 0)) return false;
    return edit(session, "scale", 0, String(divides ? 1 / typedIn : typedIn));
  };
  const label = divides ? `divide by; the model divides by √d_k = √${d}` : "multiply by the scale";
  return html`<label class="scale" title=${label}>${divides ? "÷" : "×"} <input type="text" inputmode="text" class="num" size="7" .value=${text}
    aria-label="scale" @change=${(event: Event) => typed(event, text, accept, say)}></label>`;
}

/** Applies the typed text; if it is invalid, shows why and restores the previous text. */
function typed(
  event: Event,
  before: string,
  accept: (text: string) => boolean,
  say: (text: string) => void,
): void {
  const input = event.target as HTMLInputElement;
  const ok = accept(input.value);
  input.setCustomValidity(
    ok ? "" : `"${input.value}" is not a number. Type a number such as 0.25, 1/4 or √32.`,
  );
  if (ok) return;
  say(input.validationMessage);
  input.reportValidity();
  input.value = before;
}

/** The products whose sum is q·k, and both vectors. */
function products(ui: Ui, ledger: Ledger): TemplateResult {
  const { session } = ui;
  const { q, k, products: all } = ledger;
  const order = session.state.terms === "size" ? byMagnitude(all) : undefined;
  const running = new Float64Array(all.length);
  let sum = 0;
  for (let at = 0; at < all.length; at++) running[at] = sum += all[order?.[at] ?? at];
  return html`<section role="group" aria-label="Products">
    <h2>the ${numeral(all.length, "d")} products <span class="math">qᵢ·kᵢ</span> ${choice(
      "Order of the products",
      [
        ["index", "by index"],
        ["size", "largest first"],
      ],
      session.state.terms,
      (terms) => session.set({ terms }),
    )}</h2>
    <dl class="strips">
      <dt class="query">q</dt><dd>${strip(q, "q", stripLabel("query vector", q), 32, order)}</dd>
      <dt class="key">k</dt><dd>${strip(k, "k", stripLabel("key vector", k), 32, order)}</dd>
      <dt>qᵢ·kᵢ</dt><dd>${strip(all, "products", stripLabel("products", all), 48, order)}</dd>
      <dt>sum</dt><dd>${strip(running, "products", stripLabel("running sum", running), 48)}</dd>
    </dl>${carried(all)}
    <details ?open=${session.fixed.view !== undefined}><summary>Change a number</summary>${productTable(ui, ledger)}</details>
  </section>`;
}

/** The largest products, with fields that edit their factors. */
function productTable({ session, say }: Ui, { q, k, products: all }: Ledger): TemplateResult {
  const order = session.state.terms === "size" ? byMagnitude(all) : Array.from(all, (_, c) => c);
  const field = (what: "query" | "key", c: number, value: number) => {
    const before = String(Number(value.toPrecision(6)));
    return html`<td><input type="text" inputmode="decimal" class="num ${what}" size="9"
      aria-label=${`${what} ${c}`} .value=${before}
      @change=${(event: Event) => typed(event, before, (text) => edit(session, what, c, text), say)}></td>`;
  };
  return html`<table class="terms"><thead><tr><th scope="col">i</th><th scope="col">qᵢ</th><th scope="col">kᵢ</th><th scope="col" class="num">product</th></tr></thead>
    <tbody>${order
      .slice(0, LISTED)
      .map(
        (c) =>
          html`<tr><th scope="row">${numeral(c, "index")}</th>${field("query", c, q[c])}${field("key", c, k[c])}<td class="num">${numeral(all[c], "ledger.products", { digits: 4 })}</td></tr>`,
      )}</tbody></table>
    ${order.length > LISTED ? html`<p class="quiet">${numeral(order.length - LISTED, "d")} more products are in the strips above.</p>` : nothing}`;
}

/** The bars of all keys, the temperature, and the keys with the largest weights. */
function wholeRow(ui: Ui): TemplateResult {
  const { session } = ui;
  const { state, block } = session;
  const { query } = session.shown;
  const names = session.labels(block!);
  return html`<h2>The whole row of ${quoted(names.query[query], names.lang.query)}</h2>
    ${scrub(ui)}
    ${
      block!.has.qk
        ? html`<p><label class="temperature"><span>What if the scores of this row were divided by
        <data class="num" value=${String(state.temperature)} data-source="temperature">${numeral(state.temperature, "temperature")}</data>? (temperature)</span>
        <input type="range" min="-2" max="2" step="0.05" aria-label="temperature of this row" .value=${String(Math.log10(state.temperature || 1))}
          @input=${(event: Event) => session.set({ temperature: atNotch(event) }, "replace")}
          @change=${() => session.changed("push")}></label></p>`
        : nothing
    }
    ${rowSummary(ui, editsOf(session))}`;
}

/** The position of the slider as a temperature; near the middle it is exactly 1. */
function atNotch(event: Event): number {
  const power = Number((event.target as HTMLInputElement).value);
  return Math.abs(power) < 0.03 ? 1 : Number((10 ** power).toPrecision(4));
}
