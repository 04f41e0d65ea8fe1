/**
 * "Why this weight": the score of the cell as a sum over pairs of components (words, places, earlier heads, feed-forward networks), each
 * against its mean over the row's other keys, which is all that softmax sees. From the model, or from the file if it has the sum.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { StoredComponent } from "../../../../src/store/formats/stored-evidence.ts";
import { scoreAt } from "../../../state/causes/causes.ts";
import type { Session } from "../../session.ts";
import { bar, numeral, quoted } from "../../ui.ts";

/** How many terms are listed. */
const LISTED = 8;

/** `word`, `L2 H8`, `MLP 2`: as `componentName` of heed/models. */
export const componentName = ({ kind, layer, head }: StoredComponent): string =>
  kind === "head"
    ? `L${layer} H${head}`
    : kind === "mlp"
      ? `MLP ${layer}`
      : kind === "position"
        ? "place"
        : kind;

export function whyPanel(session: Session): TemplateResult | typeof nothing {
  const { block, model, state } = session;
  if (block === undefined) return nothing;
  const answer = scoreAt(session);
  if (answer === undefined && model?.ask === undefined) return nothing;
  const { query, key } = session.hover === null ? session.shown : state;
  const names = session.labels(block);
  const heading = html`<h3 class="why-heading">why this score</h3>`;
  if (answer === undefined && !state.why)
    return html`${heading}<p><button type="button" class="bordered" @click=${() => session.set({ why: true })}>Split the score into words, places, heads</button></p>`;
  if (answer === undefined)
    return html`${heading}<p class="quiet" role="status">Running ${model!.name} …</p>`;
  if (answer.error !== undefined) return html`${heading}<p class="warning" role="alert">${answer.error}</p>`;
  const { score, terms, rest } = answer.result;
  const mods = "scoreMods" in answer.result ? answer.result.scoreMods : undefined;
  const listed = terms.slice(0, LISTED);
  const others = [...terms.slice(LISTED), rest, ...(mods ? [mods] : [])].reduce(
    (sum, { value, difference }) => ({ value: sum.value + value, difference: sum.difference + difference }),
    { value: 0, difference: 0 },
  );
  const largest = Math.max(...terms.map(({ difference }) => Math.abs(difference)), Number.MIN_VALUE);
  const row = (name: unknown, { value, difference }: { value: number; difference: number }, hasBar = true) =>
    html`<tr><th scope="row">${name}</th><td class="num">${numeral(value, "splitScore value")}</td><td class="num">${numeral(difference, "splitScore difference", { style: "signed" })}</td><td class="wide">${hasBar ? bar(difference / largest, difference < 0 ? "key" : "query", true) : nothing}</td></tr>`;
  return html`${heading}<p class="quiet">A sum over what made ${quoted(names.query[query], names.lang.query)} and ${quoted(names.key[key], names.lang.key)}, with norms frozen. Softmax sees only the difference from the row’s other keys.</p>
    <table class="why"><thead><tr><th scope="col">query · key</th><th scope="col" class="num">term</th><th scope="col" class="num">− others</th><th scope="col"><span class="hid">bar</span></th></tr></thead>
    <tbody>${listed.map((term) => row(html`${componentName(term.query)} · ${componentName(term.key)}`, term))}
    ${row("all others", others)}</tbody><tfoot>${row("score", score, false)}</tfoot></table>
    ${
      "command" in answer.result
        ? html`<details><summary>Computed by</summary><code>${answer.result.command}</code></details>`
        : html`<p><button type="button" @click=${() => session.set({ why: false })}>Close the sum</button></p>`
    }`;
}
