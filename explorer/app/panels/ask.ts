/** "Ask the heads": a ranked list of the heads that link the cursor's tokens. Each entry opens its head. */
import { html, nothing, type TemplateResult } from "lit";
import { answersOf, askedCell } from "../../state/ask.ts";
import { bar, choice, numeral, quoted, token, type Ui } from "../ui.ts";

/** How many heads are listed. */
const LISTED = 10;

export function askPanel({ session }: Ui): TemplateResult {
  const { state, block } = session;
  if (block === undefined) return html``;
  const { query, key } = askedCell(session);
  const names = session.labels(block);
  const from = quoted(names.query[query], names.lang.query);
  const to = quoted(names.key[key], names.lang.key);
  if (state.ask === "off")
    return html`<h2>Ask the heads</h2>
      <p><button type="button" class="bordered ask" title="Ranks all heads by this link (A)" @click=${() => session.set({ ask: "pair" })}>Which heads link ${from} to ${to}?</button></p>`;
  const answers = answersOf(session);
  const first = answers?.[0];
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
      answers === undefined
        ? html`<p class="quiet" role="status">Asking ${numeral(block.layers.length * block.heads, "heads")} heads …</p>`
        : html`<ol class="answers">${answers
            .slice(0, LISTED)
            .map(({ ref, weight, others, key: strongest }) => {
              const current = ref.layer === state.layer && ref.head === state.head;
              return html`<li class=${current ? "current" : ""}><button type="button" class="link" aria-current=${current ? "true" : nothing}
              @click=${() => session.set({ layer: ref.layer, head: ref.head })}>L${ref.layer} H${ref.head}</button>
              ${bar(weight)}${numeral(weight, "askHeads")}
              ${others === undefined || Number.isNaN(others) ? nothing : html`<span class="quiet" title="what the other tokens give the same key">others ${numeral(others, "askHeads others", { digits: 2 })}</span>`}
              ${strongest === undefined ? nothing : html`<span class="found">→ ${token(names.key[strongest], names.lang.key)}</span>`}</li>`;
            })}</ol>
        <p class="quiet">${choice(
          "Order",
          [
            [
              "contrast",
              "contrast",
              "First the heads that give this share here, and not from every token or at every offset",
            ],
            ["weight", "share", "Largest share of attention first"],
          ],
          state.askBy,
          (askBy) => session.set({ askBy }),
        )} ${first === undefined ? nothing : html`even: ${numeral(first.even, "askHeads even", { digits: 2 })}.`} <kbd>.</kbd> <kbd>,</kbd> next, previous</p>`
    }`;
}
