/** The contribution of a row to the output, Σ weight·v: the largest dimensions, key by key. */
import { html, nothing, type TemplateResult } from "lit";
import type { Ledger } from "../../../src/store/measures/ledger.ts";
import { css } from "../../../ui/css.ts";
import { numeral, token, type Ui } from "../../app/ui.ts";
import { largest } from "../../state/facts.ts";
import { editsOf } from "../../state/whatif.ts";
import { byMagnitude, strip, stripLabel } from "./ledger.ts";

/** How many dimensions of the output, and how many keys, are listed. */
const DIMENSIONS = 6;
const KEYS = 4;

export function outputView({ session }: Ui, ledger: Ledger): TemplateResult {
  const { block, store, ref } = session;
  const { query, key } = session.shown;
  const names = session.labels(block!);
  const edits = editsOf(session);
  const output = store!.output(ref, query, edits);
  const weights = store!.row(ref, query, "weights", edits);
  const keys = largest(weights, KEYS).filter((j) => weights[j] > 0);
  const parts = keys.map((j) => store!.vector(ref, "value", j).map((value) => value * weights[j]));
  const shown = byMagnitude(output).slice(0, DIMENSIONS);
  const longest = Math.max(
    Number.MIN_VALUE,
    ...[...ledger.v, ...output].map(Math.abs).filter(Number.isFinite),
  );
  let maximum = Number.MIN_VALUE;
  for (const c of shown) {
    let size = 0;
    for (const part of parts) size += Math.abs(part[c]);
    maximum = Math.max(maximum, size, Math.abs(output[c]));
  }
  return html`<section role="group" aria-label="Output">
    <h2>What it adds to the output</h2>
    <dl class="strips">
      <dt class="value">v</dt><dd>${strip(ledger.v, "v", stripLabel("value vector", ledger.v), 32, undefined, longest)}</dd>
      <dt>w·v</dt><dd>${strip(ledger.contribution, "v", stripLabel("weight times value", ledger.contribution), 32, undefined, longest)}</dd>
      <dt>Σ w·v</dt><dd>${strip(output, "v", stripLabel("output of the row", output), 32, undefined, longest)}</dd>
    </dl>
    <p class="quiet said">All three on one scale.</p>
    <ol class="ledger formulas output" aria-label="The largest dimensions, and the contribution of each key">${shown.map(
      (c) => {
        let rest = output[c];
        for (const part of parts) rest -= part[c];
        return html`<li><span class="name">dimension ${numeral(c, "index")}</span>${stack([...parts.map((part) => part[c]), rest], maximum)}${numeral(output[c], "output")}
        <span class="formula">${keys.map((j, at) => html`<span class=${j === key ? "current" : ""}>${token(names.key[j], names.lang.key)} ${numeral(parts[at][c], "weight × value")}</span> `)}<span>others ${numeral(rest, "output")}</span></span></li>`;
      },
    )}</ol>
    ${keys.length === 0 ? html`<p>No key has any weight: the output is 0.</p>` : nothing}
  </section>`;
}

/** A stacked bar: positive parts to the right of the middle, negative parts to the left. */
function stack(values: readonly number[], maximum: number): TemplateResult {
  const width = (value: number) => (50 * Math.abs(value)) / maximum;
  let [right, left] = [50, 50];
  return html`<span class="stack" aria-hidden="true">${values.map((value, i) => {
    const size = Math.min(50, width(value));
    const at = value >= 0 ? right : left - size;
    if (value >= 0) right += size;
    else left -= size;
    return html`<i class="p${i}" ${css({ left: `${at.toFixed(2)}%`, width: `${size.toFixed(2)}%` })}></i>`;
  })}</span>`;
}
