/** The caption of a picture: the sentence of the view, the sentence of the head, and badges for changed values. */
import { html, type TemplateResult } from "lit";
import type { HeadMeasures } from "../../../src/store/measures/measures.ts";
import { describeHead } from "../../../src/store/sentences/sentence.ts";
import { cached } from "../../canvas/cached.ts";
import { badges } from "../../state/words.ts";
import { hiddenKeys, type Session } from "../session.ts";

const sentences = new WeakMap<HeadMeasures, string>();

/** @param first the sentence of the view */
export function caption(session: Session, first: unknown): TemplateResult {
  const { block, state } = session;
  const measures = session.measures();
  if (block === undefined) return html``;
  return html`<p part="caption">
    ${first}
    ${hiddenKeys(block, state).length > 0 ? "With all tokens: " : ""}${measures ? cached(sentences, measures, () => describeHead(block, measures)) : "Measuring this head …"}
    ${badges(session).map((text) => html` <span class="badge">${text}</span>`)}
  </p>`;
}
