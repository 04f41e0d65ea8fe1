/** "Ask the heads": a ranked list of the heads that link the cursor's tokens. Each entry opens its head. */
import { html, nothing, type TemplateResult } from "lit";
import type { HeadAnswer } from "../../../src/store/measures/ask-heads.ts";
import type { ModelAnswers } from "../../../src/view/element.ts";
import { answersOf, askedCell, rankingOf } from "../../state/ask.ts";
import { logitsOf } from "../../state/causes/causes.ts";
import { bar, choice, numeral, quoted, token, type Ui } from "../ui.ts";
import { componentName } from "./causes/why.ts";

/** How many heads are listed. */
const LISTED = 10;

export function askPanel(ui: Ui): TemplateResult {
  const { session } = ui;
  const { state, block } = session;
  if (block === undefined) return html``;
  const { query, key } = askedCell(session);
  const names = session.labels(block);
  const from = quoted(names.query[query], names.lang.query);
  const to = quoted(names.key[key], names.lang.key);
  if (state.ask === "off")
    return html`<h2>Ask the heads</h2>
      <p><button type="button" class="bordered ask" title="Ranks all heads by this link (A)" @click=${() => session.set({ ask: "pair" })}>Which heads link ${from} to ${to}?</button></p>`;
  const ranking = rankingOf(session);
  const answers = answersOf(session);
  const first = answers?.[0];
  const logits = logitsOf(session)?.result;
  return html`<h2>Ask the heads</h2>
    <p>${choice(
      "Question",
      [
        ["pair", "this link", "The share that each head gives from the query to the key"],
        ["from", "from query", "The largest share that each head gives from the query to one word"],
        ["to", "to key", "The share that each head gives to the key, averaged over all queries"],
      ],
      state.ask as "pair",
      (ask) => session.set({ ask }),
    )}</p>
    <p class="asking"><span>${
      state.ask === "pair"
        ? html`Which heads link ${from} to ${to}?`
        : state.ask === "from"
          ? html`Which heads make ${from} attend to one word?`
          : html`Which heads attend to ${to}?`
    }</span> <button type="button" aria-label="Close the ranking" @click=${() => session.set({ ask: "off" })}>×</button></p>
    ${
      ranking?.error !== undefined
        ? html`<p class="warning" role="alert">${ranking.error}</p>`
        : answers === undefined
          ? html`<p class="quiet" role="status">Asking ${numeral(block.layers.length * block.heads, "heads")} heads … <progress max="1" value=${ranking?.result?.done ?? 0}></progress> <button type="button" @click=${() => session.set({ ask: "off" })}>Stop</button></p>`
          : html`<ol class="answers">${state.askBy === "logit" && logits ? byLogit(ui, answers, logits) : answers.slice(0, LISTED).map((answer) => headEntry(ui, answer, logits))}</ol>
        <p class="quiet">${choice(
          "Order",
          [
            [
              "contrast",
              "contrast",
              "First the heads that give this share here, and not from every token or at every offset",
            ],
            ["weight", "share", "Largest share of attention first"],
            ...(logits === undefined
              ? []
              : ([["logit", "logit", "First what adds most to the prediction, heads and MLPs"]] as const)),
          ],
          state.askBy,
          (askBy) => session.set({ askBy }),
        )} ${first?.contrast === undefined ? nothing : html`Gray: contrast.`} ${first === undefined ? nothing : html`even: ${numeral(first.even, "askHeads even", { digits: 2 })}.`} <kbd>.</kbd> <kbd>,</kbd> next, previous</p>
        ${
          logits === undefined
            ? nothing
            : html`<p class="quiet">“logit”: what each adds to ${quoted(logits.token.token)} minus ${quoted(logits.against.token)}, the most likely next tokens after ${quoted(names.query[logits.position] ?? "")}; together ${numeral(logits.difference, "attributeLogits difference", { style: "signed" })}, with the last norm frozen. Not a cause: later layers react.</p>`
        }`
    }`;
}

/** A head of the ranking: its share, its contrast, and what it adds to the prediction. */
function headEntry(
  { session }: Ui,
  { ref, weight, contrast, key: strongest }: HeadAnswer,
  logits: ModelAnswers["logits"] | undefined,
): TemplateResult {
  const { state, block } = session;
  const names = session.labels(block!);
  const current = ref.layer === state.layer && ref.head === state.head;
  const share = logits?.shares.find(
    ({ component }) =>
      component.kind === "head" && component.layer === ref.layer && component.head === ref.head,
  );
  return html`<li class=${current ? "current" : ""}><button type="button" class="link" aria-current=${current ? "true" : nothing}
    @click=${() => session.set({ layer: ref.layer, head: ref.head })}>L${ref.layer} H${ref.head}</button>
    ${bar(weight)}${numeral(weight, "askHeads")}
    ${contrast === undefined || Number.isNaN(contrast) ? nothing : html`<span class="quiet" title="Contrast: the weight minus what the head gives anyway, to the same key or at the same distance"><span class="hid">contrast </span>${numeral(contrast, "askHeads contrast", { digits: 2, style: "signed" })}</span>`}
    ${share === undefined ? nothing : html`<span class="quiet logit">logit ${numeral(share.value, "attributeLogits", { digits: 2, style: "signed" })}</span>`}
    ${strongest === undefined ? nothing : html`<span class="found">→ ${token(names.key[strongest], names.lang.key)}</span>`}</li>`;
}

/** Heads and feed-forward networks by what they add to the prediction. */
function byLogit(
  ui: Ui,
  answers: readonly HeadAnswer[],
  logits: ModelAnswers["logits"],
): readonly TemplateResult[] {
  return logits.shares.slice(0, LISTED).map(({ component, value }) => {
    const { kind, layer, head } = component;
    const answer =
      kind === "head" ? answers.find(({ ref }) => ref.layer === layer && ref.head === head) : undefined;
    if (answer) return headEntry(ui, answer, logits);
    return html`<li><span>${componentName(component)}</span><span></span><span></span><span class="quiet logit">logit ${numeral(value, "attributeLogits", { digits: 2, style: "signed" })}</span></li>`;
  });
}
