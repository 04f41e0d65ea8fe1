/**
 * The computation of one number: the number in large type, the ledger line by line with bars, and the d products as a strip. The
 * store computes the ledger; its last line is the value of the cell.
 */
import { html, nothing, svg, type TemplateResult } from "lit";
import type { Stage } from "../../../src/store/block.ts";
import { contrastOf, type LinkContrast } from "../../../src/store/measures/contrast.ts";
import { MAX_COMPARED } from "../../../src/store/measures/key-sums.ts";
import type { Ledger } from "../../../src/store/measures/ledger.ts";
import { rescaledLedger } from "../../../src/store/measures/ledger.ts";
import type { HeadOverTexts } from "../../../src/store/measures/over-texts.ts";
import { evidenceOf } from "../../../src/store/sentences/evidence.ts";
import { num } from "../../../src/store/text/number.ts";
import { css } from "../../../ui/css.ts";
import { hiddenKeys, type Session } from "../../app/session.ts";
import { bar, numeral, quoted, shown, type Ui } from "../../app/ui.ts";
import { areShares } from "../../state/facts.ts";
import { latest } from "../../state/latest.ts";
import { editsOf, isChanged } from "../../state/whatif.ts";
import {
  cellValue,
  isVisible,
  leftOut,
  STAGE_MEANINGS,
  shownWeights,
  stateOfWeights,
} from "../../state/words.ts";
import { formula } from "./math.ts";

/** The number in large type, and its meaning in a sentence. */
export function readout({ session, act }: Ui, ledger?: Ledger): TemplateResult {
  const { block, state } = session;
  const { query, key } = session.shown;
  const names = session.labels(block!);
  const masked = state.stage !== "scores" && state.stage !== "scaled" && !isVisible(session, query, key);
  const changed = isChanged(session);
  const value =
    changed && ledger && state.stage === "weights"
      ? shownWeights(session, query, editsOf(session))[key]
      : cellValue(session, query, key);
  const from = quoted(names.query[query], names.lang.query);
  const to = quoted(names.key[key], names.lang.key);
  return html`<div class="readout">
    <p class="big">${masked ? html`<span class="masked">masked</span>` : numeral(value, `row ${state.stage}`)}</p>
    <p>${
      masked
        ? html`The mask hides ${to} from ${from}.`
        : state.stage === "weights" && areShares(session.row(query, "weights"))
          ? html`${from} gives ${numeral(value, "row weights", { style: "percent" })} of its attention to ${to}.`
          : html`${state.stage === "weights" ? "not a share of attention" : STAGE_MEANINGS[state.stage]}, of ${from} for ${to}`
    }</p>
    ${masked || changed || (state.stage !== "weights" && state.stage !== "contrast") ? nothing : evidence(session)}
    <p class="quiet">query ${numeral(query, "index")}, key ${numeral(key, "index")}
      ${state.pinned === null ? nothing : html`<button type="button" class="badge pin" @click=${() => act("back")}>pinned <span aria-hidden="true">×</span><span class="hid">: release</span></button>`}
      ${changed ? html`<span class="badge">changed</span>` : nothing}
    </p>
  </div>`;
}

/** What the other rows give the same key, in one sentence: a weight alone is no evidence. */
function evidence(session: Session): TemplateResult | typeof nothing {
  const { block, shown: cell } = session;
  const link = evidenceAt(session);
  if (block === undefined || link === undefined || !areShares(session.row(cell.query, "weights")))
    return nothing;
  const names = session.labels(block);
  const parts = evidenceOf(block, { ...link, ...cell }, KEY, beyondAt(session)).flatMap((part, nth) =>
    typeof part === "string"
      ? (nth === 0 ? part[0].toUpperCase() + part.slice(1) : part)
          .split(KEY)
          .flatMap((text, n) => (n === 0 ? [text] : [quoted(names.key[cell.key], names.lang.key), text]))
      : [shown(part)],
  );
  return parts.length === 0 ? nothing : html`<p class="evidence">${parts}.</p>`;
}

/** The contrast of the shown cell; undefined while it is computed. A head that cannot be read is reported where it is drawn. */
function evidenceAt(session: Session): LinkContrast | undefined {
  const { store, ref, shown, ready } = session;
  if (store === undefined || !ready) return undefined;
  const { query, key } = shown;
  return latest(session, "contrast", JSON.stringify([ref, query, key]), (signal) =>
    contrastOf(store, ref, query, key, { signal, maxCells: MAX_COMPARED }),
  )?.result;
}

/** Its head over the other texts of the same model; undefined while it is computed, and where there are none. */
function beyondAt(session: Session): HeadOverTexts | undefined {
  const { ref, shown, ready, sources } = session;
  if (sources.length < 2 || !ready) return undefined;
  const { query, key } = shown;
  const question = JSON.stringify([ref, query, key, sources.length]);
  return latest(session, "beyond", question, async (signal) =>
    (await import("../../state/beyond.ts")).overTexts(session, { query, key }, signal),
  )?.result;
}

/** Where the name of the key goes in a sentence. */
const KEY = "\u0000";

/** The ledger steps that have the value of each stage, in order of preference. */
const STAGE_STEPS: Readonly<Record<Stage, readonly string[]>> = {
  scores: ["dot"],
  scaled: ["scale"],
  masked: ["mask", "bias", "relative", "alibi", "softcap", "scale"],
  weights: ["rescale", "weight", "given"],
  contribution: ["value"],
  contrast: [],
};

/** The ledger with one more line if the row is rescaled without hidden tokens. */
function shownLedger(session: Ui["session"], ledger: Ledger): Ledger {
  const { block, state, store, ref } = session;
  const weights = stateOfWeights(state);
  const row = store!.row(ref, ledger.i, "weights", editsOf(session));
  const { by } = leftOut(block!, weights, row);
  if (by === 1) return ledger;
  const hidden = hiddenKeys(block!, weights).includes(ledger.j);
  return rescaledLedger(ledger, { left: by, hidden });
}

/** The lines of the ledger, each with a bar that compares the number with others of its kind. */
export function lines(
  { session }: Ui,
  ledger: Ledger,
  { formulas = false, scale }: { formulas?: boolean; scale?: TemplateResult } = {},
): TemplateResult {
  const maximum = largestScore(ledger);
  const signed = ledger.lines.some(({ step, value }) => !NO_BARS.includes(step) && value.value < 0);
  const { lines: shownSteps } = shownLedger(session, ledger);
  const at = STAGE_STEPS[session.state.stage]
    .map((wanted) => shownSteps.findIndex(({ step }) => step === wanted))
    .find((at) => at >= 0);
  return html`<ol class=${formulas ? "ledger formulas" : "ledger"}>
    ${shownSteps.map((line, n) => {
      const { step, name, about, code, formula: parts, value } = line;
      const kind = step !== "exp" && SHARES.includes(step) ? "weight-line" : "";
      return html`<li class="${kind} ${n === at ? "at" : ""}" title=${formulas ? nothing : `${about} ${code}`}>
        <span class="name">${step === "scale" && scale ? scale : name}</span>
        ${NO_BARS.includes(step) ? html`<span class="track"></span>` : bar(value.value / (SHARES.includes(step) ? 1 : maximum), SHARES.includes(step) && !(value.value < 0) ? "weight" : value.value < 0 ? "key" : "query", signed)}
        ${shown(value)}
        ${
          formulas
            ? html`<span class="formula">${formula(parts)}</span><span class="meaning">${about} <code>${code}</code></span>`
            : nothing
        }
      </li>`;
    })}
  </ol>`;
}

/** Steps that are shares, and those that are no scores either. */
const SHARES: readonly string[] = ["exp", "weight", "given", "rescale"];
const NO_BARS: readonly string[] = ["sum", "value"];

const largestScore = ({ lines }: Ledger): number =>
  lines
    .filter(({ step, value }) => ![...SHARES, ...NO_BARS].includes(step) && Number.isFinite(value.value))
    .reduce((largest, { value }) => Math.max(largest, Math.abs(value.value)), Number.MIN_VALUE);

/** Numbers as bars above and below a line, in order or in the given order. */
export function strip(
  values: ArrayLike<number>,
  kind: string,
  label: string,
  height = 40,
  order?: readonly number[],
  /** The number of the longest bar; by default, the largest one. */
  longest?: number,
): TemplateResult {
  const count = values.length;
  let maximum = longest ?? Number.MIN_VALUE;
  if (longest === undefined)
    for (let c = 0; c < count; c++) if (Math.abs(values[c]) > maximum) maximum = Math.abs(values[c]);
  const middle = height / 2;
  let [above, below] = ["", ""];
  for (let at = 0; at < count; at++) {
    const value = values[order?.[at] ?? at];
    const length = Math.max(0.5, Math.min(1, Math.abs(value) / maximum) * (middle - 1));
    if (value >= 0) above += `M${at} ${middle}h.8v${-length}h-.8z`;
    else below += `M${at} ${middle}h.8v${length}h-.8z`;
  }
  return html`<svg class="strip ${kind}" viewBox="0 0 ${Math.max(1, count)} ${height}" preserveAspectRatio="none" role="img" aria-label=${label} ${css({ height })}>
    ${svg`<path class="axis" d="M0 ${middle}h${count}"/><path class="above" d=${above}/><path class="below" d=${below}/>`}
  </svg>`;
}

/** "3 of the 64 products make up 71 % of the total size". */
export function carried(products: Float64Array): TemplateResult | typeof nothing {
  const count = products.length;
  if (count < 4) return nothing;
  const order = byMagnitude(products);
  const all = products.reduce((sum, value) => sum + Math.abs(value), 0);
  const three = order.slice(0, 3).reduce((sum, c) => sum + Math.abs(products[c]), 0);
  if (!(all > 0)) return nothing;
  return html`<p class="quiet">3 of the ${numeral(count, "d")} products make up ${numeral(three / all, "topShare", { style: "percent" })} of the total size</p>`;
}

/** Indices by magnitude, largest first. */
export function byMagnitude(values: ArrayLike<number>): number[] {
  return Array.from({ length: values.length }, (_, c) => c).sort(
    (a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b,
  );
}

/** The label of a strip for screen readers. */
export function stripLabel(name: string, values: ArrayLike<number>): string {
  let [low, high] = [0, 0];
  for (let c = 0; c < values.length; c++) {
    low = Math.min(low, values[c]);
    high = Math.max(high, values[c]);
  }
  return `${name}: ${values.length} numbers from ${num(low, name).text} to ${num(high, name).text}`;
}
