/** Defines the elements where there is a page, and they are not defined yet: by another copy of the module, say. */
import { AttentionView } from "../app/element.ts";
import { AttentionRow } from "../app/row-element.ts";

if (typeof globalThis.document !== "undefined")
  for (const element of [AttentionView, AttentionRow])
    if (customElements.get(element.tag) === undefined) customElements.define(element.tag, element);

export { AttentionRow, AttentionView };
