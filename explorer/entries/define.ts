/** Defines the elements in a page, unless another copy of the module has defined them already. */
import { AttentionView } from "../app/element.ts";
import { AttentionRow } from "../app/row-element.ts";

if (typeof globalThis.document !== "undefined")
  for (const element of [AttentionView, AttentionRow])
    if (customElements.get(element.tag) === undefined) customElements.define(element.tag, element);

export { AttentionRow, AttentionView };
