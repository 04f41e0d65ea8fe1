/**
 * The whole row as bars, one for each key, at any step from q·k to the share. A slider moves through the steps and interpolates
 * the heights between two steps.
 */
import { html, nothing, type TemplateResult } from "lit";
import { exponentiateRow } from "../../../src/reference/index.ts";
import { num } from "../../../src/store/text/number.ts";
import { css } from "../../../ui/css.ts";
import { token, type Ui } from "../../app/ui.ts";
import { editsOf } from "../../state/whatif.ts";
import { shownWeights } from "../../state/words.ts";
import { hasMask } from "./steps.ts";

/** A step of the row: its name, its numbers, and whether they are signed. */
interface RowStep {
  readonly name: string;
  readonly values: Float64Array;
  readonly signed: boolean;
}

/** The maximum number of keys whose tokens are shown. */
const LABELED = 40;

function stepsOf({ session }: Ui): readonly RowStep[] {
  const { block, store, ref } = session;
  const { query } = session.shown;
  const edits = editsOf(session);
  const shares: RowStep = { name: "share", values: shownWeights(session, query, edits), signed: false };
  if (!block!.has.qk) return [shares];
  const masked = store!.row(ref, query, "masked", edits);
  let maximum = Number.NEGATIVE_INFINITY;
  for (const score of masked) if (score > maximum) maximum = score;
  const shifted = masked.map((score) => score - maximum);
  const exponentials = masked.slice();
  exponentiateRow(exponentials, maximum);
  return [
    { name: "q·k", values: store!.row(ref, query, "scores", edits), signed: true },
    { name: "÷ √d_k", values: store!.row(ref, query, "scaled", edits), signed: true },
    ...(hasMask(block!) || block!.recipe.bias !== undefined || block!.recipe.softcap !== undefined
      ? [{ name: "bias, mask", values: masked, signed: true }]
      : []),
    { name: "− largest", values: shifted, signed: true },
    { name: "exp", values: exponentials, signed: false },
    shares,
  ];
}

export function scrub(ui: Ui): TemplateResult {
  const { session } = ui;
  const { block } = session;
  const { query, key } = session.shown;
  const steps = stepsOf(ui);
  const place = Math.min(steps.length - 1, session.step ?? steps.length - 1);
  const [from, to] = [steps[Math.floor(place)], steps[Math.ceil(place)]];
  const part = place - Math.floor(place);
  const near = part < 0.5 ? from : to;
  const [a, b] = [heights(from), heights(to)];
  const names = session.labels(block!);
  const count = near.values.length;
  const label = (j: number) =>
    `${names.key[j]}: ${near.name} ${Number.isFinite(near.values[j]) ? num(near.values[j], "row").text : "masked"}`;
  const go = (j: number) => session.set({ query, key: j, pinned: session.state.pinned && [query, j] });
  const pick = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    go(Math.min(count - 1, Math.floor(((event.clientX - box.left) / box.width) * count)));
  };
  return html`${
    steps.length > 1
      ? html`<div class="scrub"><input type="range" min="0" max=${steps.length - 1} step="0.02" .value=${String(place)}
      aria-label="Step of the row" aria-valuetext=${near.name}
      @input=${(event: Event) => {
        session.step = Number((event.target as HTMLInputElement).value);
        session.changed();
      }}><ol aria-hidden="true">${steps.map(
        ({ name }, n) =>
          html`<li class=${near === steps[n] ? "at" : ""}><button type="button" tabindex="-1" @click=${() => {
            session.step = n;
            session.changed();
          }}>${name}</button></li>`,
      )}</ol></div>`
      : nothing
  }
  <div class="rowbars pick ${from.signed || to.signed ? "signed" : ""}" role="img" aria-label=${`${near.name} of every key of this row`} @click=${pick}>${Array.from(
    { length: count },
    (_, j) => {
      const height = a[j] + (b[j] - a[j]) * part;
      const box =
        height >= 0
          ? { bottom: "50%", height: `${50 * height}%` }
          : { top: "50%", height: `${-50 * height}%` };
      const shares = !from.signed && !to.signed;
      const placed = shares ? { bottom: "0", height: `${100 * Math.max(0, height)}%` } : box;
      return html`<span class=${j === key ? "current" : ""} title=${label(j)}><i class=${height < 0 ? "below" : shares ? "share" : "above"} ${css(placed)}></i></span>`;
    },
  )}</div>
  ${
    count <= LABELED
      ? html`<div class="rowlabels" aria-hidden="true">${Array.from({ length: count }, (_, j) => html`<span class=${j === key ? "current" : ""}>${token(names.key[j], names.lang.key)}</span>`)}</div>`
      : nothing
  }`;
}

/** The heights of the bars from −1 to 1; masked values, which are not finite, have height 0. */
function heights({ values, signed }: RowStep): Float64Array {
  let maximum = signed ? Number.MIN_VALUE : 1;
  if (signed)
    for (const value of values) if (Number.isFinite(value)) maximum = Math.max(maximum, Math.abs(value));
  return values.map((value) => (Number.isFinite(value) ? value / maximum : 0));
}
