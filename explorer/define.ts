/** Defines the element where there is a page, and it is not defined yet: by another copy of the module, say. */
import { AttentionView } from "./element.ts";

if (typeof globalThis.document !== "undefined" && customElements.get(AttentionView.tag) === undefined)
  customElements.define(AttentionView.tag, AttentionView);

export { AttentionView };
