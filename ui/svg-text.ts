/**
 * A picture that the SVG helpers wrote as text, in a template: `html`<div>${svgText(text)}</div>``. A later text changes the elements
 * that are there, so that the focus and the pointer stay on a mark that is redrawn while it is dragged.
 */

import { type ChildPart, Directive, directive } from "lit/directive.js";
import { noChange, nothing } from "lit/html.js";

class SvgText extends Directive {
  #text = "";
  #element: Element | undefined;

  /** The text; `textOf` writes it as it is. */
  render(text: string): unknown {
    return text;
  }

  override update(_part: ChildPart, [text]: [text: string]): unknown {
    if (text === this.#text) return noChange;
    this.#text = text;
    const template = document.createElement("template");
    template.innerHTML = text;
    const next = template.content.firstElementChild;
    if (next !== null && this.#element?.nodeName === next.nodeName) {
      patch(this.#element, next);
      return noChange;
    }
    this.#element = next ?? undefined;
    return next ?? nothing;
  }
}

/** One SVG element as text that was escaped where it was written. */
export const svgText = directive(SvgText);

/** Whether a template's value is a picture as text, and its text. */
export const svgTextOf = (type: unknown, values: readonly unknown[]): string | undefined =>
  type === SvgText ? (values[0] as string) : undefined;

/** Changes an element to be equal to `next`: attributes, then children in order. Elements of the same name stay. */
function patch(element: Element, next: Element): void {
  for (const { name } of [...element.attributes]) if (!next.hasAttribute(name)) element.removeAttribute(name);
  for (const { name, value } of next.attributes)
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  const [nodes, nextNodes] = [[...element.childNodes], [...next.childNodes]];
  for (const [i, node] of nextNodes.entries()) {
    const current = nodes[i];
    if (current === undefined) element.append(node);
    else if (current.nodeName !== node.nodeName) current.replaceWith(node);
    else if (node instanceof Element) patch(current as Element, node);
    else if (current.nodeValue !== node.nodeValue) current.nodeValue = node.nodeValue;
  }
  for (const node of nodes.slice(nextNodes.length)) node.remove();
}
