/**
 * "Switch this head": the model runs again without some heads, and its predictions and final hidden states are compared with
 * those of the run with all heads. Empty if the source has no model.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { AblationResult, SourceModel } from "../../../../src/view/element.ts";
import { type HeadSetting, headSetting, setHead } from "../../../state/causes/ablation.ts";
import { ablationOf } from "../../../state/causes/causes.ts";
import { largest } from "../../../state/facts.ts";
import type { SwitchedHead } from "../../../state/state.ts";
import { shortName } from "../../../state/words.ts";
import type { Session } from "../../session.ts";
import { bar, choice, numeral, quoted, token, type Ui } from "../../ui.ts";

/** How many of the tokens whose states moved most are listed. */
const LISTED = 5;

export function ablationPanel(ui: Ui): TemplateResult | typeof nothing {
  const { session } = ui;
  const { model, block, state } = session;
  if (model === undefined || block === undefined) return nothing;
  const names = session.labels(block);
  const at = names.query[state.query];
  return html`<div class="ablation"><h2>Switch this head</h2>
    <p>${choice<HeadSetting | "elsewhere">(
      "State of this head",
      [
        ["on", "on", "The head as in the model (K switches it off and on)"],
        ["off", "off", "Zeros replace the head's output at every token"],
        ["mean", "mean", "The mean over the text replaces the head's output at every token"],
        ["here", `off at ‹${shortened(at)}›`, "Zeros replace the head's output at the cursor's query only"],
      ],
      headSetting(state),
      (setting) => setHead(session, setting as HeadSetting),
    )}</p>
    ${state.ablated.length === 0 ? html`<p class="quiet">The model runs again without ${shortName(session)}; both runs are compared.</p>` : outcome(ui, model)}
  </div>`;
}

const shortened = (text: string): string =>
  [...text].length > 10 ? `${[...text].slice(0, 9).join("")}…` : text;

/** Adds the attention of the run without the ablated heads as a new source. */
async function openRun({ session, open }: Ui, { attention }: SourceModel): Promise<void> {
  try {
    const source = await attention?.(session.state.ablated);
    if (source) await open(source);
  } catch (error) {
    session.notify({ kind: "error", text: `Could not open the run. ${(error as Error).message}` });
  }
}

/** The ablated heads, the result of the run, and further choices. */
function outcome(ui: Ui, model: SourceModel): TemplateResult {
  const { session } = ui;
  const { ablated } = session.state;
  const answer = ablationOf(session);
  const many = ablated.length > 1;
  return html`<ul class="ablated" aria-label="Heads that are switched off">${ablated.map((one) => switched(session, one))}</ul>
    ${many ? html`<p><button type="button" class="bordered" @click=${() => session.set({ ablated: [] })}>Restore all</button></p>` : nothing}
    ${position(session, model)}
    ${
      answer === undefined
        ? html`<p class="quiet" role="status">Running ${model.name} without ${many ? html`${numeral(ablated.length, "heads")} heads` : "it"} …</p>`
        : answer.result === undefined
          ? html`<p class="warning" role="alert">${answer.error}</p>`
          : html`${prediction(session, model, answer.result)}${states(session, answer.result)}`
    }
    <p class="quiet">The pictures show the run with all heads. ${
      model.attention === undefined
        ? nothing
        : html`<button type="button" class="bordered" @click=${() => void openRun(ui, model)}>Open the attention without ${many ? "them" : "it"}</button>`
    }</p>`;
}

function switched(session: Session, one: SwitchedHead): TemplateResult {
  const { block, state } = session;
  const { layer, head, replace, position: only } = one;
  const named = session.labels(block!).query[only ?? 0];
  return html`<li><button type="button" class="link" @click=${() => session.set({ layer, head })}>L${layer} H${head}</button>
    <span class="quiet">${replace === "mean" ? "mean" : "off"}${only === null ? nothing : html` at ${quoted(named)}`}</span>
    <button type="button" aria-label=${`Restore L${layer} H${head}`} @click=${() =>
      session.set({ ablated: state.ablated.filter((other) => other !== one) })}>×</button></li>`;
}

/** Buttons that choose the token to predict. */
function position(session: Session, { predicts }: SourceModel): TemplateResult | typeof nothing {
  const { block, state } = session;
  if (predicts === "none") return nothing;
  const { query, lang } = session.labels(block!);
  const { predict } = state;
  const here = quoted(query[state.query], lang.query);
  const choose = (to: number | null) => () => session.set({ predict: to });
  return html`<p class="predict">${
    predict === state.query
      ? nothing
      : html`<button type="button" class="bordered" @click=${choose(state.query)}>${predicts === "next" ? html`Predict after ${here}` : html`Mask and predict ${here}`}</button>`
  } ${predict === null ? nothing : html`<button type="button" class="bordered" @click=${choose(null)}>${predicts === "next" ? "Predict after the last token" : "Mask nothing"}</button>`}</p>`;
}

/** The most likely tokens of both runs. */
function prediction(
  session: Session,
  model: SourceModel,
  { predicted }: AblationResult,
): TemplateResult | typeof nothing {
  if (predicted === null) return nothing;
  const { query, lang } = session.labels(session.block!);
  const at = quoted(query[predicted.position], lang.query);
  const maximum = Math.max(...predicted.tokens.map(({ before, after }) => Math.max(before, after)));
  return html`<table class="compared-tokens">
    <caption>${model.predicts === "next" ? html`The token after ${at}` : predicted.masked ? html`A mask in place of ${at}` : html`The mask, token ${numeral(predicted.position, "position")}`}</caption>
    <thead><tr><th scope="col">token</th><th scope="col" class="num before">all heads</th><th scope="col" class="num after">without</th><th scope="col"><span class="hid">bars</span></th></tr></thead>
    <tbody>${predicted.tokens.map(
      ({ token: text, before, after }) => html`<tr><th scope="row">${token(text)}</th>
      <td class="num">${numeral(before, "ablateHeads before")}</td><td class="num">${numeral(after, "ablateHeads after")}</td>
      <td class="wide">${bar(before / maximum, "query")}${bar(after / maximum)}</td></tr>`,
    )}</tbody></table>`;
}

/** How far the final hidden states moved. */
function states(session: Session, { moved, cosine }: AblationResult): TemplateResult {
  const { query, lang } = session.labels(session.block!);
  const ranked = largest(moved, LISTED);
  return html`<table class="moved">
    <caption>Final hidden states: their mean over all tokens has cosine similarity ${numeral(cosine, "ablateHeads cosine", { digits: 6 })} to that of the run with all heads.</caption>
    <thead><tr><th scope="col">moved most</th><th scope="col" class="num">by</th><th scope="col"><span class="hid">bar</span></th></tr></thead>
    <tbody>${ranked.map(
      (
        n,
      ) => html`<tr><th scope="row"><button type="button" class="link" @click=${() => session.set({ query: n })}>${token(query[n] ?? "", lang.query)}</button></th>
      <td class="num">${numeral(moved[n], "ablateHeads moved", { style: "percent" })}</td><td class="wide">${bar(moved[n] / (moved[ranked[0]] || 1))}</td></tr>`,
    )}</tbody></table>`;
}
