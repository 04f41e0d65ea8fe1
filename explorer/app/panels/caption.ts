/** The sentence under a picture: what the head does, what is shown of it, and whatever is not the plain value. */
import { html, nothing, type TemplateResult } from "lit";
import { describeHead } from "../../../src/store/measures/sentence.ts";
import type { Block, HeadMeasures } from "../../../src/store/types.ts";
import { badges } from "../../state/words.ts";
import type { Session } from "../session.ts";

/** More tokens than this do not fit a thumbnail one by one. */
const MERGED = 64;

const sentences = new WeakMap<HeadMeasures, string>();

/** The sentence of a head, made once. */
function sentence(block: Block, measures: HeadMeasures): string {
  let said = sentences.get(measures);
  if (said === undefined) {
    said = describeHead(block, measures);
    sentences.set(measures, said);
  }
  return said;
}

export function caption(session: Session, more: TemplateResult | typeof nothing = nothing): TemplateResult {
  const { block, state } = session;
  const measures = session.measures();
  if (block === undefined) return html``;
  return html`<p part="caption">
    ${state.view === "model" && !state.table ? html`One picture for each head, all on one color scale${Math.max(block.Nq, block.Nk) > MERGED ? "; where cells are merged, the largest is shown" : nothing}. ` : nothing}
    ${state.view === "head" && state.mode === "matrix" && !state.table ? "Each row is a query, each column a key. " : nothing}
    ${state.view === "model" ? html`Layer ${state.layer}, head ${state.head}: ` : nothing}
    ${measures ? sentence(block, measures) : "Measuring this head …"}
    ${more}
    ${badges(session).map((text) => html` <span class="badge">${text}</span>`)}
  </p>`;
}
