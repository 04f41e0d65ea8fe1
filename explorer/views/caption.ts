/** The sentence under a picture: what the head does, what is shown of it, and whatever is not the plain value. */
import { html, nothing, type TemplateResult } from "lit";
import { describeHead } from "../../src/view/store/sentence.ts";
import { badges } from "../model/words.ts";
import type { Session } from "../session.ts";

export function caption(session: Session, more: TemplateResult | typeof nothing = nothing): TemplateResult {
  const { block, state } = session;
  const measures = session.measures();
  if (block === undefined) return html``;
  return html`<p part="caption">
    ${state.view === "model" && !state.table ? "Each thumbnail keeps the largest weight of the cells it merges, on one scale for all heads. " : nothing}
    ${state.view === "model" ? html`Layer ${state.layer}, head ${state.head}: ` : nothing}
    ${measures ? describeHead(block, measures) : "Measuring this head …"}
    ${more}
    ${badges(session).map((text) => html` <span class="badge">${text}</span>`)}
  </p>`;
}
