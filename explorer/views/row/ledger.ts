/**
 * How one number came to be: the big read-out, the ledger line by line with bars, and the d products as a strip. The
 * numbers are the store's own ledger; the last line is the cell.
 */
import { html, nothing, svg, type TemplateResult } from "lit";
import { num } from "../../../src/store/text/number.ts";
import type { Ledger } from "../../../src/store/types.ts";
import { bar, figure, quoted, shown, type Ui } from "../../app/ui.ts";
import { isChanged } from "../../state/whatif.ts";
import { cellValue, STAGE_MEANINGS, seen } from "../../state/words.ts";
import { css } from "../../styles/css.ts";
import { formula } from "./math.ts";

/** "0.412, share of ‹sat› given to ‹cat›". */
export function readout({ session, act }: Ui, ledger?: Ledger): TemplateResult {
  const { block, state } = session;
  const { query, key } = session.shown;
  const names = session.labels(block!);
  const masked = state.stage !== "scores" && state.stage !== "scaled" && !seen(session, query, key);
  const changed = isChanged(session) && state.stage === "weights";
  const value = changed && ledger ? ledger.weight.value : cellValue(session, query, key);
  return html`<div class="readout">
    <p class="big">${masked ? html`<span class="masked">masked</span>` : figure(value, `row ${state.stage}`)}</p>
    <p>${STAGE_MEANINGS[state.stage]} of ${quoted(names.query[query], names.lang.query)} ${state.stage === "weights" ? "given" : ""} to ${quoted(names.key[key], names.lang.key)}</p>
    <p class="quiet">query ${figure(query, "index")}, key ${figure(key, "index")}
      ${state.held === null ? nothing : html`<button type="button" class="badge pin" @click=${() => act("back")}>pinned <span aria-hidden="true">×</span><span class="hid">: release</span></button>`}
      ${isChanged(session) ? html`<span class="badge">changed</span>` : nothing}
    </p>
  </div>`;
}

/** The lines, with a bar each: how large the number is beside the others of its kind. */
export function lines(
  ledger: Ledger,
  { formulas = false, scale }: { formulas?: boolean; scale?: TemplateResult } = {},
): TemplateResult {
  const share = (step: string) => step === "exp" || step === "weight" || step === "given";
  const most = largestScore(ledger);
  return html`<ol class=${formulas ? "ledger formulas" : "ledger"}>
    ${ledger.lines.map(
      ({
        step,
        name,
        formula: parts,
        value,
      }) => html`<li class=${step === "weight" || step === "given" ? "weight-line" : ""}>
        <span class="name">${step === "scale" && scale ? scale : name}</span>
        ${step === "sum" || step === "value" ? html`<span class="track"></span>` : bar(value.value / (share(step) ? 1 : most), share(step) ? "weight" : value.value < 0 ? "key" : "query")}
        ${shown(value)}
        ${formulas ? html`<span class="formula">${formula(parts)}</span>` : nothing}
      </li>`,
    )}
  </ol>`;
}

function largestScore({ lines }: Ledger): number {
  let most = Number.MIN_VALUE;
  for (const { step, value } of lines)
    if (
      step !== "exp" &&
      step !== "weight" &&
      step !== "sum" &&
      step !== "value" &&
      Number.isFinite(value.value)
    )
      most = Math.max(most, Math.abs(value.value));
  return most;
}

/** The d products as bars about a line, in order or largest first. */
export function strip(
  values: ArrayLike<number>,
  kind: string,
  label: string,
  height = 40,
  order?: readonly number[],
): TemplateResult {
  const count = values.length;
  let most = Number.MIN_VALUE;
  for (let c = 0; c < count; c++) if (Math.abs(values[c]) > most) most = Math.abs(values[c]);
  const middle = height / 2;
  let [above, below] = ["", ""];
  for (let at = 0; at < count; at++) {
    const value = values[order?.[at] ?? at];
    const length = Math.max(0.5, (Math.abs(value) / most) * (middle - 1));
    if (value >= 0) above += `M${at} ${middle}h.8v${-length}h-.8z`;
    else below += `M${at} ${middle}h.8v${length}h-.8z`;
  }
  return html`<svg class="strip ${kind}" viewBox="0 0 ${Math.max(1, count)} ${height}" preserveAspectRatio="none" role="img" aria-label=${label} ${css({ height })}>
    ${svg`<path class="axis" d="M0 ${middle}h${count}"/><path class="above" d=${above}/><path class="below" d=${below}/>`}
  </svg>`;
}

/** "These 3 of 64 terms carry 71 %". */
export function carried(products: Float64Array): TemplateResult | typeof nothing {
  const count = products.length;
  if (count < 4) return nothing;
  const order = byMagnitude(products);
  const all = products.reduce((sum, value) => sum + Math.abs(value), 0);
  const three = order.slice(0, 3).reduce((sum, c) => sum + Math.abs(products[c]), 0);
  if (!(all > 0)) return nothing;
  return html`<p class="quiet">the 3 largest of ${figure(count, "d")} terms carry ${figure(three / all, "topShare", { style: "percent" })}</p>`;
}

/** Indices by magnitude, largest first. */
export function byMagnitude(values: ArrayLike<number>): number[] {
  return Array.from({ length: values.length }, (_, c) => c).sort(
    (a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b,
  );
}

/** A label for a strip that screen readers say. */
export function stripLabel(name: string, values: ArrayLike<number>): string {
  let [low, high] = [0, 0];
  for (let c = 0; c < values.length; c++) {
    low = Math.min(low, values[c]);
    high = Math.max(high, values[c]);
  }
  return `${name}: ${values.length} numbers from ${num(low, name).text} to ${num(high, name).text}`;
}
