/** The parts of the states view: the logit lens of all tokens as a table; at the right, the summands of the state of one cell. */
import { html, nothing, type TemplateResult } from "lit";
import { css } from "../../../ui/css.ts";
import { moveOf } from "../../app/input/moves.ts";
import type { Session } from "../../app/session.ts";
import { bar, numeral, quoted, token, type Ui } from "../../app/ui.ts";
import { latest } from "../../state/latest.ts";
import type { ViewParts } from "../view.ts";

/** How many tokens are in the table at once. */
const COLUMNS = 12;
/** How many heads of a layer are listed. */
const LISTED = 6;

export const parts: ViewParts = { content: lens, inspector: added };

const waiting = (text: unknown): TemplateResult =>
  html`<p class="quiet cursor-keys" role="status" tabindex="-1">${text}</p>`;

/** What the states of the tokens around the cursor would predict. */
function lens({ session }: Ui): TemplateResult {
  const { block, model, state } = session;
  if (block === undefined || model?.ask === undefined || model.text === undefined)
    return waiting(
      "No model is behind this text. With one, this page shows what each of its layers would predict.",
    );
  const from = state.query - (state.query % COLUMNS);
  const to = Math.min(block.Nq, from + COLUMNS);
  const hasHead = model.predicts !== "none";
  const answer = latest(session, "lens", hasHead ? `${from}` : undefined, (signal) =>
    model.ask!({ of: "lens", from, to }, { signal }),
  );
  if (answer?.error !== undefined) return html`<p class="warning" role="alert">${answer.error}</p>`;
  if (hasHead && answer === undefined) return waiting(`Running ${model.name} …`);
  const names = session.labels(block);
  const columns = Array.from({ length: to - from }, (_, n) => from + n);
  const cell = (layer: number, query: number): TemplateResult => {
    const predicted = answer?.result?.[layer + 1]?.[query - from];
    const isCurrent = layer === state.layer && query === state.query;
    const text = predicted
      ? html`${token(predicted.token)} ${numeral(predicted.probability, "logitLens", { style: "percent" })}`
      : nothing;
    const paint =
      predicted &&
      css({
        background: `color-mix(in srgb, var(--weight) ${(40 * predicted.probability).toFixed(1)}%, var(--paper))`,
      });
    return layer < 0
      ? html`<td ${paint}><span>${text}</span></td>`
      : html`<td ${paint}><button type="button" class=${isCurrent ? "cursor-keys" : ""} data-cell=${`${layer} ${query}`} tabindex=${isCurrent ? 0 : -1} aria-current=${isCurrent ? "true" : nothing}
        title=${`Layer ${layer}, ${names.query[query]}${predicted ? `: ${predicted.token}` : ""}`} @click=${() => session.set({ layer, query })}>${text}</button></td>`;
  };
  const turn = (to: number, text: string) =>
    html`<button type="button" class="bordered" ?disabled=${to < 0 || to >= block.Nq} @click=${() => session.set({ query: to })}>${text}</button>`;
  return html`<p>${
    hasHead
      ? html`What ${model.name} would predict ${model.predicts === "next" ? "after" : "in the place of"} each token if it ended after a layer, by its own last norm and output matrix (logit lens). Only the last row is what it predicts: the other layers were not trained to be read like this.`
      : html`No predictions: ${model.name} has no output matrix, which makes a state a prediction. The folder of a model with one (“…ForMaskedLM” or “…ForCausalLM” in its config.json) has them here. A cell opens what its layer adds to its token.`
  }${block.Nq <= COLUMNS ? nothing : html` ${turn(from - COLUMNS, "← Tokens before")} ${turn(from + COLUMNS, "Tokens after →")}`}</p>
  <table class="lens" @keydown=${(event: KeyboardEvent) => move(session, event)}>
    <thead><tr><th scope="col">${model.predicts === "next" ? "after" : "at"}</th>${columns.map((query) => html`<th scope="col">${token(names.query[query], names.lang.query)}</th>`)}</tr></thead>
    <tbody>${[...(hasHead ? [-1] : []), ...block.layers].map(
      (layer) =>
        html`<tr><th scope="row">${layer < 0 ? "embedding" : `layer ${layer}`}</th>${columns.map((query) => cell(layer, query))}</tr>`,
    )}</tbody></table>`;
}

/** Arrow keys: another layer, another token. */
function move(session: Session, event: KeyboardEvent): void {
  const by = moveOf(event);
  const { block, state } = session;
  if (by === undefined || block === undefined) return;
  event.preventDefault();
  const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
  const layer = block.layers[within(block.layers.indexOf(state.layer) + by[0], block.layers.length)];
  session.set({ layer, query: within(state.query + by[1], block.Nq) }, "replace");
  const table = event.currentTarget as Element;
  table.querySelector<HTMLElement>(`[data-cell="${layer} ${session.state.query}"]`)?.focus();
}

/** The state after the cursor's layer as a sum. */
function added({ session }: Ui): TemplateResult | typeof nothing {
  const { block, model, state } = session;
  if (block === undefined || model?.ask === undefined || model.text === undefined) return nothing;
  const { layer, query: position } = state;
  const answer = latest(session, "block", `${layer} ${position}`, (signal) =>
    model.ask!({ of: "block", layer, position }, { signal }),
  );
  const names = session.labels(block);
  const heading = html`<h2>What layer ${layer} adds to ${quoted(names.query[position], names.lang.query)}</h2>`;
  if (answer === undefined) return html`${heading}<p class="quiet" role="status">Running ${model.name} …</p>`;
  if (answer.error !== undefined) return html`${heading}<p class="warning" role="alert">${answer.error}</p>`;
  const { parts: all, length, token: predicted, prior } = answer.result;
  const heads = all
    .filter(({ head }) => head !== undefined)
    .sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
  const share = (value: number | undefined) =>
    value === undefined ? nothing : numeral(value, "blockParts", { style: "percent" });
  const row = (name: unknown, size: number, part: number, chance?: number) =>
    html`<tr><th scope="row">${name}</th><td class="num">${numeral(size, "blockParts", { digits: 3 })}</td><td class="num">${share(part)}</td><td class="wide">${bar(part, part < 0 ? "key" : "query", true)}</td>${predicted ? html`<td class="num">${share(chance)}</td>` : nothing}</tr>`;
  const label = (part: string) => (part === "before" ? "state before" : `+ ${part === "mlp" ? "MLP" : part}`);
  const opens = (head: number) =>
    html`<button type="button" class="link" @click=${() => session.set({ view: "head", head })}>head ${head}</button>`;
  return html`${heading}
    <table class="block"><thead><tr><th scope="col"><span class="hid">part</span></th><th scope="col" class="num">length</th><th scope="col" class="num">of state</th><th scope="col"><span class="hid">bar</span></th>${predicted ? html`<th scope="col" class="num">without</th>` : nothing}</tr></thead>
    <tbody>${all.flatMap((one) => (one.head === undefined ? [row(label(one.part), one.length, one.share, one.without)] : []))}</tbody>
    <tfoot>${row("= state after", length, 1, predicted?.probability)}</tfoot></table>
    <p class="quiet">“of state”: how much of the state after the layer is in each part, with its norms frozen; they add up to 100 %.${predicted ? html` “without”: the probability of ${quoted(predicted.token)}, what the layer would predict, if the part were missing. Before the layer it is ${share(prior)}.` : nothing}</p>
    <h3 class="why-heading">heads with the largest part</h3>
    <table class="block"><tbody>${heads.slice(0, LISTED).map((one) => row(opens(one.head!), one.length, one.share))}</tbody></table>
    <p class="action"><button type="button" class="bordered" @click=${() => session.set({ view: "head" })}>Open layer ${layer}</button></p>`;
}
