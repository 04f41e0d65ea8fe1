/** The sentence under a picture: what the head does, what is shown of it, and whatever is not the plain value. */
import { html, type TemplateResult } from "lit";
import { describeHead } from "../../../src/store/measures/sentence.ts";
import type { Block, HeadMeasures } from "../../../src/store/types.ts";
import { badges } from "../../state/words.ts";
import type { Session } from "../session.ts";

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

/** @param first what the view says before the head's own sentence */
export function caption(session: Session, first: unknown): TemplateResult {
  const { block } = session;
  const measures = session.measures();
  if (block === undefined) return html``;
  return html`<p part="caption">
    ${first}
    ${measures ? sentence(block, measures) : "Measuring this head …"}
    ${badges(session).map((text) => html` <span class="badge">${text}</span>`)}
  </p>`;
}
